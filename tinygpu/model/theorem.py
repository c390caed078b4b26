"""Theorems, from the tree: two ops that are said to compute the same.

Comes in: a declaration `theorem NAME : A == B by i = (t, r: 2) where …` and the ops of its file. Goes out: a `Theorem`, whose ops have the same inputs, outputs and sizes.
The one idea: dtypes of a family say how values are stored, and a theorem is about numbers, so one of each family stands for all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from tinygpu.category.term import Const, Term, conjuncts, text
from tinygpu.diagnostic import Span
from tinygpu.model.extent import with_divisors
from tinygpu.model.lemma import Lemma, of_folds
from tinygpu.model.monoid import Monoids
from tinygpu.model.op import Op
from tinygpu.model.problems import Problems, head
from tinygpu.model.scope import Scope
from tinygpu.model.source import stated
from tinygpu.model.value import condition, index
from tinygpu.record import dataclass, field
from tinygpu.syntax import tree

CASES = 64  # of one cut


@dataclass(frozen=True, slots=True)
class Theorem:
    """`left` and `right` give the same for all inputs and all sizes with `where`; each of the `cuts`, an index of an output of the left one and a number, is proved
    residue by residue. The right one's bound of rounding is at most `within` times the left one's. `lemmas` say what folds of monoids mean."""

    name: str
    left: Op
    right: Op
    where: tuple[Term, ...] = ()
    cuts: tuple[tuple[str, int], ...] = ()
    within: Fraction | None = None
    lemmas: tuple[Lemma, ...] = ()
    span: Span = field(default=Span(), compare=False, repr=False)

    @property
    def title(self) -> str:
        """As machines have one."""
        return self.name

    def text(self, file: tree.File) -> str:
        """With whatever it names, as a spec of its own; `file` declares it."""
        return stated(file, tree.Theorem, self.name)

    @property
    def said(self) -> str:
        """What it is about, `A == B`."""
        return f"{self.left.family} == {self.right.family}"

    @property
    def sizes(self) -> str:
        """For what it holds."""
        where = (*self.left.where, *self.where)
        sizes = f"all {', '.join(self.left.sizes)}" if self.left.sizes else "its one size"
        said = sizes + (f" with {' and '.join(map(text, where))}" if where else "")
        return said + (f", assuming {' and '.join(map(text, self.left.promises))}" if self.left.promises else "")


def theorem_of(
    declared: tree.Theorem, served: Mapping[str, Sequence[Op] | None], lemmas: Iterable[Lemma], problems: Problems
) -> Theorem | None:
    """`tree.Theorem → Theorem`, with those of the lemmas that it needs; None after a message, or where an op is wrong."""
    before, place = len(problems), head(declared.span, f"theorem {declared.name}")
    sides: list[Op] = []
    for name in (declared.left, declared.right):
        if name.name not in served:
            message = "TG105.operation" if served else "TG105.none"
            problems.say(message, name.span, near=served, name=name.name, known=sorted(served))
        sides += (served.get(name.name) or ())[:1]
    if len(sides) < 2:
        return None
    left, right = sides
    for what, (a, b) in _shapes(left, right).items():
        if a != b:
            span = declared.right.span
            problems.say("TG562.differ", span, what=what, left=left.name, right=right.name, a=_listed(a), b=_listed(b))
    scope = Scope(problems, dict.fromkeys(left.sizes, Span()), {}, {}, monoids=Monoids()).inside_brackets()
    where = with_divisors((part for expr in declared.where for part in conjuncts(condition(expr, scope))), left.where)
    cuts = [cut for binding in declared.cases if (cut := _cut(binding, left, scope)) is not None]
    within = None if declared.within is None else _times(declared.within, problems)
    if len(problems) > before:
        return None
    return Theorem(declared.name, left, right, where, tuple(cuts), within, of_folds(lemmas, left, right), place)


def _times(said: tree.Expr, problems: Problems) -> Fraction | None:
    """How often; None after a message."""
    if isinstance(said, tree.Number) and (times := Fraction(said.text)) > 0:
        return times
    problems.say("TG562.within", said.span)
    return None


def _shapes(a: Op, b: Op) -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    """What two ops of a theorem have in common: names and shapes, of what comes in and of what goes out. Dtypes are how these are stored."""

    def said(op: Op, role: str) -> tuple[str, ...]:
        found = op.inputs if role == "inputs" else op.outputs
        return tuple(f"{t.name}[{', '.join(map(text, t.shape))}]" for t in found)

    return {role: (said(a, role), said(b, role)) for role in ("inputs", "outputs")}


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "nothing"


def _cut(binding: tree.Binding, op: Op, scope: Scope) -> tuple[str, int] | None:
    """`i = (t, r: 2)` is the cut of i by 2."""
    known = [a.name for t in op.outputs for a in op.equation(t.name).axes]
    match binding:
        case tree.Binding((name,), tree.Group((tree.Name(), tree.Sized(_, extent)))):
            if name not in known:
                scope.problems.say("TG562.index", binding.span, near=known, name=name, op=op.name, known=sorted({*known}))
                return None
            count = index(extent, scope)
            if isinstance(count, Const) and 1 < count.value <= CASES:
                return name, int(count.value)
            scope.problems.say("TG562.cut", extent.span, name=name, most=CASES)
            return None
    scope.problems.say("TG562.cut", binding.span, name=binding.indices[0], most=CASES)
    return None
