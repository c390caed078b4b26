"""What an op, a machine or a theorem was made of, said again: so that a proof says what it is a proof of.

Comes in: the declarations of a file. Goes out: those that one of them needs, with dtypes for the variables of a family, and their text in the one style. The one idea: what
one needs is what it names, and what that names.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

from tinygpu.model.binders import wholes
from tinygpu.model.op import Declared
from tinygpu.record import fields, replace
from tinygpu.syntax import tree
from tinygpu.syntax.format import format_file
from tinygpu.syntax.node import nodes, rewritten

Variant = tuple[tuple[str, str], ...]  # what a variable of a family, or a param, is


def variants(op: tree.Op) -> tuple[Variant, ...]:
    """A dtype for the variable of each family: every choice, the last variable's first.

    >>> from tinygpu.syntax.parse import parse
    >>> file = parse("op f[S in {f16, f32}, T in {f64}](x: S[n]) -> (y: T[n]) { y[i] = T(x[i]) }")
    >>> variants(file.declarations[0])
    ((('S', 'f16'), ('T', 'f64')), (('S', 'f32'), ('T', 'f64')))
    """
    names = [family.variable for family in op.families]
    choices = product(*(family.choices for family in op.families))
    return tuple(tuple(zip(names, dtypes, strict=True)) for dtypes in choices)


def source(file: tree.File, op: tree.Op, variant: Variant = ()) -> tuple[Declared, ...]:
    """The params, monoids and instructions of the file, and the op with dtypes for the variables of its families.

    >>> from tinygpu.syntax.parse import parse
    >>> file = parse("op f[T in {f16, f32}](x: T[n]) -> (y: f32[n]) { y[i] = f32(x[i]) }")
    >>> (plain,) = source(file, file.declarations[0], (("T", "f16"),))
    >>> plain.families, plain.inputs[0].dtype
    ((), 'f16')
    """
    beside = (d for d in file.declarations if isinstance(d, tree.Param | tree.Monoid | tree.Instruction))
    shared = [d for d in beside if not isinstance(d, tree.Param) or d.value is not None]
    if not op.families:
        return (*shared, op)
    dtypes = dict(variant)

    def change(node: Any) -> Any:
        match node:
            case tree.TensorDecl(dtype=name) if name in dtypes:
                return replace(node, dtype=dtypes[name])
            case tree.Call(function=name) if name in dtypes:
                return replace(node, function=dtypes[name])
        return node

    return (*shared, replace(rewritten(op, change), families=()))


def needed(declared: tuple[Declared, ...], *users: object) -> tuple[Declared, ...]:
    """Those of the declarations that are ops or theorems, that `users` name, or that one of these names."""
    used = words((*users, *(d for d in declared if isinstance(d, tree.Op))))
    found: list[Declared] = []
    while more := [d for d in declared if d not in found and (isinstance(d, tree.Op | tree.Theorem) or d.name in used)]:
        found += more
        used |= words(tuple(more))
    return tuple(d for d in declared if d in found)


def declares(declared: tuple[Declared, ...], dtype: str) -> bool:
    """Whether a dtype stands in the op of these declarations: its tensors have it, or it converts to it."""
    return any(dtype in words(d) for d in declared if isinstance(d, tree.Op))


def said(file: tree.File, name: str) -> str:
    """The text of a machine with its ops and whatever they name, in the one style, without comments."""
    return format_file(tree.File(around(file, name)))


def around(file: tree.File, name: str) -> tuple[Declared | tree.Machine | tree.Choice | tree.Pipeline, ...]:
    """A machine, behind its ops and whatever they name."""
    return _served(file, next(d for d in file.declarations if isinstance(d, tree.Machine) and d.name == name))


def chosen(file: tree.File, name: str) -> str:
    """The text of a choice with its machines, as `said` of one."""
    choice = next(d for d in file.declarations if isinstance(d, tree.Choice) and d.name == name)
    names = [one.machine.name for one in choice.branches]
    machines = (d for d in file.declarations if isinstance(d, tree.Machine) and d.name in names)
    return format_file(tree.File(_served(file, *machines, last=(choice,))))


def calling(file: tree.File, name: str) -> str:
    """The text of a pipeline with all that it calls, as `said` of a machine."""
    by_name = {d.name: d for d in file.declarations if isinstance(d, tree.Machine | tree.Choice | tree.Pipeline)}
    called, waiting = dict[str, tree.Machine | tree.Choice | tree.Pipeline](), [name]
    while waiting:
        one = by_name[waiting.pop()]
        called[one.name] = one
        names = {n.name for n in nodes(one) if isinstance(n, tree.Name)} if not isinstance(one, tree.Machine) else set()
        waiting += [n for n in by_name if n in names and n not in called]
    every = [d for d in file.declarations if isinstance(d, tree.Machine | tree.Choice | tree.Pipeline) and d.name in called]
    machines = (d for d in every if isinstance(d, tree.Machine))
    last = tuple(d for d in every if not isinstance(d, tree.Machine))
    return format_file(tree.File(_served(file, *machines, last=last)))


def _served(
    file: tree.File, *machines: tree.Machine, last: tuple[tree.Choice | tree.Pipeline, ...] = ()
) -> tuple[Declared | tree.Machine | tree.Choice | tree.Pipeline, ...]:
    theorems = tuple(one for machine in machines if (one := via(machine, file.declarations)))
    ops = {op.name for op in (*(op for m in machines for op in m.ops), *(side for t in theorems for side in (t.left, t.right)))}
    declared = (d for d in file.declarations if isinstance(d, Declared) and (theorems or not isinstance(d, tree.Lemma)))
    own = tuple(d for d in declared if d in theorems or not isinstance(d, tree.Op | tree.Theorem) or d.name in ops)
    return (*needed(own, *machines, *last), *machines, *last)


def stated(file: tree.File, kind: type[tree.Theorem | tree.Gradient | tree.Lemma], name: str) -> str:
    """The text of a theorem, a gradient or a lemma with whatever it names, as `said` of a machine."""
    one = next(d for d in file.declarations if isinstance(d, kind) and d.name == name)
    ops = {n.name for n in wholes(one)}
    declared = (d for d in file.declarations if isinstance(d, Declared) and d is not one)
    own = tuple(d for d in declared if d.name in ops or not isinstance(d, tree.Op | tree.Theorem))
    return format_file(tree.File((*needed(own, one), one)))


def via(machine: tree.Machine, declared: Iterable[tree.Declaration]) -> tree.Theorem | None:
    """The theorem whose other side a machine computes."""
    theorems = (d for d in declared if isinstance(d, tree.Theorem) and machine.via and d.name == machine.via.name)
    return next(theorems, None)


def computed(one: tree.Declaration, declared: Iterable[tree.Declaration]) -> tuple[tree.Op, ...]:
    """The ops whose equations a machine computes: those that it serves, or the other side of a theorem. Other declarations compute none."""
    if not isinstance(one, tree.Machine):
        return ()
    declared = tuple(declared)
    theorem = via(one, declared)
    sides = (theorem.left, theorem.right) if theorem else one.ops
    names = [n.name for n in sides if theorem is None or n not in one.ops]
    ops = {d.name: d for d in reversed(declared) if isinstance(d, tree.Op)}
    return tuple(ops[name] for name in names if name in ops)


def words(tree_: object) -> set[str]:
    """Every name in a tree."""
    values = [getattr(node, field.name) for node in nodes(tree_) for field in fields(node)]
    return {word for value in values for word in (value if isinstance(value, tuple) else (value,)) if isinstance(word, str)}
