"""What a machine serves: ops, each with its dtypes; by a theorem, the op of one side, by the equations of the other.

    machine M : A via T,  T : A == B        ⟼        M computes B, and is called A

Comes in: a machine's tree, the ops and the theorems of its file. Goes out: for each op and dtype an `Instance`. The one idea: an op that is computed by a theorem is the other
side with this one's name, so who derives, proves and emits a machine of it has nothing to know of theorems.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from tinygpu.model.op import Op
from tinygpu.model.problems import Problems
from tinygpu.model.source import Variant
from tinygpu.model.theorem import Theorem
from tinygpu.record import dataclass, replace
from tinygpu.syntax import tree


@dataclass(frozen=True, slots=True)
class Instance:
    """An op to serve, and the variant that names it."""

    op: Op
    variant: Variant


Served: TypeAlias = Mapping[str, list[Instance] | None]  # None: an op that is wrong
Stated: TypeAlias = Mapping[str, Theorem | None]  # None: a theorem that is wrong


def instances_of(machine: tree.Machine, served: Served, theorems: Stated, file: tree.File, problems: Problems) -> list[Instance]:
    """The ops that a machine serves; the op is part of the variant where there are several."""
    found: list[Instance] = []
    for place, name in enumerate(machine.ops):
        if name.name in (other.name for other in machine.ops[:place]):
            problems.say("TG102.operation", name.span, name=name.name)
            continue
        if name.name not in served:
            message = "TG105.operation" if served else "TG105.none"
            problems.say(message, name.span, near=served, name=name.name, known=sorted(served))
        for instance in served.get(name.name) or ():
            choice = (("op", name.name),) if len(machine.ops) > 1 else ()
            found.append(Instance(instance.op, (*choice, *instance.variant)))
    if machine.via is None:
        return found
    theorem = _theorem(machine, machine.via, theorems, problems)
    return _by(theorem, found, served[theorem.right.family] or [], machine, file, problems) if theorem and found else []


def _theorem(machine: tree.Machine, via: tree.Name, theorems: Stated, problems: Problems) -> Theorem | None:
    """The theorem that a machine names, with the op that the machine serves on its left side; None after a message."""
    if via.name not in theorems:
        problems.say("TG565.theorem", via.span, near=theorems, name=via.name, known=sorted(theorems) or ["none"])
    theorem, called = theorems.get(via.name), machine.ops[0].name
    if theorem is None:
        return None
    theorem = mirrored(theorem) if theorem.right.family == called else theorem
    if theorem.left.family == called and len(machine.ops) == 1:
        return theorem
    problems.say("TG565.side", via.span, name=via.name, about=theorem.said, op=called)
    return None


def _by(
    theorem: Theorem, found: list[Instance], other: list[Instance], machine: tree.Machine, file: tree.File, problems: Problems
) -> list[Instance]:
    """The other side of a theorem, for each choice of dtypes for which callers see the same of both."""
    pairs = [(a, b) for a in found for b in other if a.op.tensors == b.op.tensors]
    if not pairs:
        problems.say("TG565.dtypes", machine.ops[0].span, left=theorem.left.family, right=theorem.right.family)
    variants = [tuple(dict((*a.variant, *b.variant)).items()) for a, b in pairs]
    return [
        Instance(one_of(replace(theorem, left=a.op, right=b.op), v, file), v) for (a, b), v in zip(pairs, variants, strict=True)
    ]


def one_of(theorem: Theorem, variant: Variant, file: tree.File) -> Op:
    """The right side, called as the left one. It wants what either of them wants, and what it says that it was made of has the theorem in it."""
    left, right = theorem.left, theorem.right
    sides = tuple(dict.fromkeys(d for op in (left, right) for d in op.source if isinstance(d, tree.Op)))
    meant = tuple(d for d in file.declarations if isinstance(d, tree.Lemma) and d.name in [one.name for one in theorem.lemmas])
    stated = tuple(d for d in file.declarations if isinstance(d, tree.Theorem) and d.name == theorem.name)
    dtypes = ", ".join(dtype for _, dtype in variant)
    return replace(
        right,
        name=f"{left.family}[{dtypes}]" if dtypes else left.family,
        where=tuple(dict.fromkeys((*left.where, *theorem.where, *right.where))),
        promises=tuple(dict.fromkeys((*left.promises, *right.promises))),
        source=(*right.source[:-1], *meant, *sides, *stated),
        via=theorem,
    )


def mirrored(theorem: Theorem) -> Theorem:
    """The same, said from right to left."""
    left, right = theorem.left, theorem.right
    pairs = [(left.equation(t.name).axes, right.equation(t.name).axes) for t in left.outputs]
    other = {a.name: b.name for here, there in pairs for a, b in zip(here, there, strict=True)}
    return replace(theorem, left=right, right=left, cuts=tuple((other[name], by) for name, by in theorem.cuts))
