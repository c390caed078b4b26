"""Proofs of theorems: two ops compute the same, for all sizes and inputs, over the reals.

    each output, each case of its cuts:    A ⟶ normal form ⟵ B        or        (A − B) · d ⟶ 0, where d is what is divided by
    each side:                             seen by its form, with what the solver shows of sizes and indices

Comes in: a `Theorem`. Goes out: `Proved`, or `Open` with the two short forms whose difference is the missing law. The one idea: nothing is searched; what the laws do not
reach is open, and who wants to know more evaluates both sides.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from string import ascii_lowercase

from tinygpu.algebra.beside import MARK, OTHER, Case, about, claims_of
from tinygpu.algebra.laws import BY_FORMULA, Equal, Side, cleared, formulas, meet, then
from tinygpu.algebra.lemma import Meaning, opened
from tinygpu.algebra.lemma import prove as meaning
from tinygpu.algebra.masks import numbers
from tinygpu.algebra.normal import aligned, normal
from tinygpu.algebra.polynomial import REAL, Unfollowed, atom, bearable, is_truth, ring, rounds, term_of, times
from tinygpu.algebra.ranges import vanished
from tinygpu.algebra.sides import needs
from tinygpu.category.monoid import Carrier
from tinygpu.category.region import Region
from tinygpu.category.term import (
    FLOATS,
    App,
    Axis,
    Const,
    Fold,
    Term,
    Var,
    ceildiv,
    memoised,
    rebuild,
    text,
    walk,
)
from tinygpu.diagnostic import Label
from tinygpu.model.gradient import Gradient
from tinygpu.model.lemma import Lemma
from tinygpu.model.op import Op, put_in
from tinygpu.model.theorem import Theorem
from tinygpu.obligations.facts import promised
from tinygpu.obligations.obligation import Claim, Gap
from tinygpu.proof.kernel import BUDGET, Open, discharge
from tinygpu.proof.kernel import Theorem as Held
from tinygpu.record import dataclass, field

FEW = 8  # places of an axis each of which is a case
CASES = 64
CLEARED = 4  # what is multiplied with, one after the other


@dataclass(frozen=True, slots=True)
class Proved:
    """The theorem, or the gradient, holds: `laws` counts the instances of each law, `claims` are what the kernel showed beside."""

    theorem: Theorem | Gradient
    laws: tuple[tuple[str, int], ...]
    claims: tuple[Held, ...]

    @property
    def steps(self) -> int:
        """Instances of laws, in all."""
        return sum(n for _, n in self.laws)


@dataclass(frozen=True, slots=True)
class Missing:
    """What is not shown: that two forms are one, or a claim."""

    theorem: Theorem | Gradient
    reason: str
    forms: tuple[Term, ...] = ()
    claim: Claim | None = field(default=None, repr=False)


def prove(theorem: Theorem, budget: int = BUDGET) -> Proved | Missing:
    """`Theorem → Proved or Missing`."""
    if theorem.left.states or theorem.right.states:
        return Missing(theorem, "an op that is defined by induction is not followed")
    labels = (Label(theorem.span, "this theorem"),)
    laws, claims = Counter[str](), dict[Claim, tuple[Term, ...]](dict.fromkeys(about(theorem, labels), ()))
    try:
        for case in cases(theorem):
            values = [numbers(value(op, case)) for op in (theorem.left, theorem.right)]
            meanings = meanings_of(theorem.lemmas, [v.right for v in values])
            a, b = (then(v, opened(v.right, meanings)) for v in values)
            found = equal(a, b)
            if not isinstance(found, Equal):
                return Missing(theorem, OTHER, found)
            laws.update(dict(found.laws))
            sides = (normal(a.right).right, normal(b.right).right)
            claims.update(dict.fromkeys(claims_of(theorem, case, *asked(found, a.right, b.right), labels), sides))
    except Unfollowed as error:
        return Missing(theorem, f"{error} is not followed")
    return settle(theorem, laws, claims, theorem.left.promises, budget)


def asked(found: Equal, a: Term, b: Term) -> tuple[list[Side], tuple[Side, ...]]:
    """What is wanted beside an equation of two values: what its laws need, what the right one needs, and a part of what the left one does; and all that this one asks for."""
    known = tuple(needs(a))
    return [*sides_of(found), *needs(b), *of_boxes(known)], known


def sides_of(found: Equal) -> list[Side]:
    """What the laws of an equation need."""
    return sorted(found.sides, key=lambda side: side.place)


def of_boxes(known: Iterable[Side]) -> list[Side]:
    """What sizes say of what the left side asks for: that folds are of something, and reads inside."""
    return [side for side in known if side.kind in ("something", "inside")]


def settle(
    of: Theorem | Gradient,
    laws: Mapping[str, int],
    claims: Mapping[Claim, tuple[Term, ...]],
    promises: tuple[Term, ...],
    budget: int,
) -> Proved | Missing:
    """Proved by laws, as soon as the claims beside them are, each with the two forms that it is about."""
    held: list[Held] = []
    for claim, both in claims.items():
        found = discharge(promised(claim, promises), budget)
        if isinstance(found, Open):
            if claim.title == OTHER:
                return Missing(of, OTHER, both)
            return Missing(of, claim.reason if isinstance(claim, Gap) else claim.sentence, claim=claim)
        held.append(found)
    return Proved(of, tuple(sorted(laws.items())), tuple(held))


def cases(theorem: Theorem) -> Iterator[Case]:
    """Every output, and of its short axes and its cuts every case."""
    cuts = dict(theorem.cuts)
    for tensor in theorem.left.outputs:
        choices: list[list[tuple[Term, tuple[Axis, ...], tuple[Term, ...]]]] = []
        count = 1
        for axis in theorem.left.equation(tensor.name).axes:
            here, by = Var(f"{axis.name}{MARK}"), cuts.get(axis.name, 1)
            if isinstance(axis.extent, Const) and axis.extent.value <= FEW and count * axis.extent.value <= CASES:
                choices.append([(Const(n), (), ()) for n in range(int(axis.extent.value))])
                count *= int(axis.extent.value)
                continue
            outer = Axis(here.name, ceildiv(axis.extent, by) if by > 1 else axis.extent)
            choices.append([(i, (outer,), (i < axis.extent,)) for i in (here * by + n for n in range(by))])
        for chosen in product(*choices):
            axes = tuple(a for _, some, _ in chosen for a in some)
            yield Case(tensor.name, tuple(i for i, _, _ in chosen), axes, tuple(f for _, _, facts in chosen for f in facts))


def value(op: Op, case: Case, kept: Callable[[Term], bool] = rounds) -> Term:
    """The output's value there, of inputs alone, with those casts of floats that are kept; what its place decides is decided."""
    others = {e.target: e for e in op.equations if e.target != case.output}
    return Region(case.axes, case.facts).settled(bare(put_in(op.equation(case.output).at(case.index), others), kept))


def bare(term: Term, kept: Callable[[Term], bool]) -> Term:
    """A value without casts of floats to floats, but for those that are kept."""

    @memoised
    def change(t: Term) -> Term:
        match new := rebuild(t, change):
            case App("cast", (a,), dtype) if a.dtype in FLOATS and dtype in FLOATS and not kept(new):
                return a
        return new

    return change(bearable(term))


def forms(theorem: Theorem) -> Iterator[tuple[str, str]]:
    """Of a theorem that is proved, each output at each case, and the form that the laws bring its left side to, as text."""
    for case in cases(theorem):
        first, other = (numbers(value(op, case)).right for op in (theorem.left, theorem.right))
        found = normal(opened(first, meanings_of(theorem.lemmas, (first, other))).right)
        yield f"{case.output}[{', '.join(map(text, case.index))}]".replace(MARK, ""), spoken(found.right)


def spoken(form: Term) -> str:
    """A form as text, with letters for the indices of its folds, which have no names.

    >>> from tinygpu.category.term import TRUE
    >>> spoken(Fold("sum", (Axis("#1.0", Var("n")),), TRUE, App("cast", (Var("#1.0") * Var("k'"),), REAL), REAL))
    'sum[a < n] f64(a*k)'
    """
    said = text(form).replace(MARK, "")
    marks = dict.fromkeys(re.findall(r"#\d+\.\d+", said))
    free = (letter for letter in (*ascii_lowercase, *marks) if letter not in re.findall(r"\w+", said))
    names = dict(zip(marks, free, strict=False))
    return re.sub(r"#\d+\.\d+", lambda mark: names[mark[0]], said)


def meanings_of(lemmas: Sequence[Lemma], values: Sequence[Term]) -> dict[str, Meaning]:
    """What the folds of monoids in some values mean. Raises Unfollowed where no lemma says so, or a lemma is not proved."""
    found: dict[str, Meaning] = {}
    for carrier in {t.monoid for v in values for t in walk(v) if isinstance(t, Fold) and isinstance(t.monoid, Carrier)}:
        lemma = next((one for one in lemmas if one.of(carrier)), None)
        if lemma is None:
            raise Unfollowed(f"a fold of {carrier}, of which no lemma says what it means,")
        made = meaning(lemma, carrier)
        if isinstance(made, str):
            raise Unfollowed(f"a fold of {carrier}, whose lemma is not proved ({made}),")
        found[carrier] = made
    return found


def equal(a: Equal, b: Equal) -> Equal | tuple[Term, Term]:
    """That both are one, as far as they are followed, or their two forms; where it helps, by the formulas of functions."""
    found = _equal(a, b)
    if isinstance(found, Equal) or not any(isinstance(t, App) and t.op in BY_FORMULA for v in (a, b) for t in walk(v.right)):
        return found
    other = _equal(*(then(value, formulas(value.right)) for value in (a, b)))
    return other if isinstance(other, Equal) else found


def _equal(a: Equal, b: Equal) -> Equal | tuple[Term, Term]:
    left, right = (then(first, normal(first.right)) for first in (a, b))
    if left.right == right.right:
        return meet(left, right)
    less = App("sub", (left.right, right.right), REAL)
    nought: Equal | None = _nought(less, CLEARED) or _nought(less, CLEARED, truths=True)
    return (left.right, right.right) if nought is None else meet(left, right, nought)


def _nought(term: Term, left: int, truths: bool = False) -> Equal | None:
    """That a value is 0: as it is, or multiplied with what is divided by, or for what its truths say."""
    found = normal(term)
    if found.right == term_of({}):
        return found
    form = ring(found.right, set())
    below = sorted({t for m in form for t, p in m if p < 0 and not is_truth(t)}, key=text)
    if not below or not left:
        wide = aligned(found) if truths else found
        last = vanished(wide.right) if truths else None
        return None if last is None else then(wide, last)
    by = below[0]
    power = max(-p for m in form for t, p in m if t == by)
    whole = term_of(times(form, atom(by, power), set()))
    rest = _nought(whole, left - 1, truths)
    return None if rest is None else then(found, cleared(found.right, by, power, rest))
