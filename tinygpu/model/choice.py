"""Choices, from the tree: machines of one op that go by one name, each for some sizes.

    choice C : A { M₁ where g₁  …  Mₙ where gₙ }        ⟼        C(x) = Mᵢ(x), where gᵢ holds of the sizes of x

Comes in: a choice's tree, and the ops and machines of its file. Goes out: a `Choice` for each dtype of its op. The one idea: who calls sees one launcher, so a case speaks of what
a call tells before anything is read, which is its sizes; a case that says nothing is where its machine may be called.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from tinygpu.category.term import BOOL, INDEX, Fold, Term, conjuncts, text, variables, walk
from tinygpu.diagnostic import Span
from tinygpu.model.extent import with_divisors
from tinygpu.model.machine import Machine
from tinygpu.model.monoid import Monoids
from tinygpu.model.op import Op
from tinygpu.model.problems import Problems, head
from tinygpu.model.scope import Scope
from tinygpu.model.served import Served
from tinygpu.model.source import Variant, chosen, words
from tinygpu.model.value import condition
from tinygpu.record import Pictured, dataclass, field
from tinygpu.syntax import tree


@dataclass(frozen=True, slots=True)
class Branch:
    """A case: the machine that is called where `where` holds."""

    machine: Machine
    where: tuple[Term, ...]
    span: Span = field(default=Span(), compare=False, repr=False)

    @property
    def needs(self) -> tuple[Term, ...]:
        """What the machine wants of the sizes."""
        return tuple(dict.fromkeys((*self.machine.op.where, *self.machine.where)))


class Launched(Pictured):
    """What choices and pipelines share: each is one launcher of machines."""

    __slots__ = ()
    if TYPE_CHECKING:
        name: str
        op: Op

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name} : {self.op.name}>"

    @property
    def machines(self) -> tuple[Machine, ...]:
        """All that may be called."""
        raise NotImplementedError

    @property
    def title(self) -> str:
        """As machines have one."""
        return self.name

    @property
    def sizes(self) -> str:
        """For what it holds."""
        sizes = f"all {', '.join(self.op.sizes)}" if self.op.sizes else "its one size"
        sizes += f" with {' and '.join(map(text, self.op.where))}" if self.op.where else ""
        return sizes + (f", assuming {' and '.join(map(text, self.op.promises))}" if self.op.promises else "")

    def among(self, machines: Iterable[Machine]) -> bool:
        """Whether these are among some machines."""
        return {(m.title, m.op.name) for m in self.machines} <= {(m.title, m.op.name) for m in machines}


@dataclass(frozen=True, slots=True, repr=False)
class Choice(Launched):
    """One launcher for an op: of several machines the one whose case the sizes are. `variant` are the dtypes of a family."""

    name: str
    op: Op
    branches: tuple[Branch, ...]
    variant: Variant = ()
    span: Span = field(default=Span(), compare=False, repr=False)

    @property
    def said(self) -> str:
        """What it is about."""
        return self.op.family

    @property
    def machines(self) -> tuple[Machine, ...]:
        """Those of its cases."""
        return tuple(b.machine for b in self.branches)

    @property
    def spelled(self) -> str:
        """As a text of its own, every case with what it says of sizes."""
        said = (f"  {b.machine.name}{' where ' * bool(b.where)}{', '.join(map(text, b.where))}" for b in self.branches)
        return "\n".join([f"choice {self.name} : {self.op.family} {{", *said, "}"])

    def text(self, file: tree.File) -> str:
        """With its machines and whatever they name, as a spec of its own; `file` declares it."""
        return chosen(file, self.name)


def choices_of(
    declared: tree.Choice,
    served: Served,
    machines: Iterable[Machine],
    tried: Collection[str],
    constants: Mapping[str, int],
    problems: Problems,
) -> list[Choice]:
    """`tree.Choice → Choice` for each dtype of its op; none after a message. `tried` are the machines of the file, also those that are wrong."""
    before, op = len(problems), declared.op
    if op.name not in served:
        problems.say("TG105.operation" if served else "TG105.none", op.span, near=served, name=op.name, known=sorted(served))
    by_name: dict[str, list[Machine]] = {}
    for machine in machines:
        by_name.setdefault(machine.name, []).append(machine)
    _named(declared, by_name, tried, op.name in served, problems)
    made: list[Choice] = []
    for instance in served.get(op.name) or ():
        branches = [_branch(one, instance.op, by_name.get(one.machine.name, ()), constants, problems) for one in declared.branches]
        place = head(declared.span, f"choice {declared.name}")
        made.append(Choice(declared.name, instance.op, tuple(b for b in branches if b), instance.variant, place))
    complete = all(len(one.branches) == len(declared.branches) for one in made)
    return made if len(problems) == before and complete else []


def _named(
    declared: tree.Choice, machines: Mapping[str, list[Machine]], tried: Collection[str], known: bool, problems: Problems
) -> None:
    """Says which names are not those of machines of the op, each once; whose op is `known`."""
    op, first = declared.op.name, dict[str, Span]()
    right = sorted(name for name, several in machines.items() if any(m.op.family == op for m in several))
    for branch in declared.branches:
        name, span = branch.machine.name, branch.machine.span
        if name in first:
            problems.say("TG190.twice", span, first[name], name=name)
        elif name not in tried:
            problems.say("TG190.machine", span, near=right, name=name, op=op, known=right or ["none"])
        elif name in machines and name not in right and known:
            ops = dict.fromkeys(m.op.family for m in machines[name])
            problems.say("TG190.op", span, name=name, op=op, ops=ops, known=right or ["none"])
        first.setdefault(name, span)


def _branch(
    branch: tree.Branch, op: Op, machines: Iterable[Machine], constants: Mapping[str, int], problems: Problems
) -> Branch | None:
    """A case for an op of some dtypes; None after a message, or where its machine is wrong."""
    before, name, span = len(problems), branch.machine.name, branch.machine.span
    where = _guards(branch, op, constants, problems)
    found, family = [m for m in machines if m.op.name == op.name], [m.op.name for m in machines if m.op.family == op.family]
    if len(found) > 1:
        problems.say("TG190.several", span, name=name, titles=[m.title for m in found])
    elif family and not found:
        problems.say("TG190.dtype", span, name=name, op=op.name, ops=family)
    if len(found) != 1 or len(problems) > before:
        return None
    return Branch(found[0], where if branch.where else found[0].where, branch.span)


def whole(guard: Term) -> bool:
    """Whether a guard compares numbers without a width, as sizes are, and folds none."""
    return all(t.dtype in (INDEX, BOOL) and not isinstance(t, Fold) for t in walk(guard))


def _guards(branch: tree.Branch, op: Op, constants: Mapping[str, int], problems: Problems) -> tuple[Term, ...]:
    """What a case says of the sizes."""
    scope = Scope(problems, dict.fromkeys(op.sizes, Span()), {}, constants, monoids=Monoids()).inside_brackets()
    data, found = {t.name: t for t in (*op.tensors, *op.intermediates)}, list[Term]()
    for expr in branch.where:
        before = len(problems)
        if names := sorted(words(expr) & data.keys()):
            problems.say("TG191.data", expr.span, data[names[0]].span, name=names[0])
            continue
        guard = condition(expr, scope)
        if len(problems) == before and not whole(guard):
            problems.say("TG191.whole", expr.span, guard=guard)
        elif len(problems) == before and not variables(guard):
            problems.say("TG191.size", expr.span, known=op.sizes or ["none"], guard=guard)
        found += conjuncts(guard)
    return with_divisors(found, op.where)
