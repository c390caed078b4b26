"""Proofs of theorems: two ops compute the same, for all sizes and inputs, over the reals.

    each output, each case of its cuts:    A ⟶ normal form ⟵ B        or        (A − B) · d ⟶ 0, where d is what is divided by
    each side:                             seen by its form, with what the solver shows of sizes and indices

Comes in: a `Theorem`. Goes out: `Proved`, or `Open` with the two short forms whose difference is the missing law. The one idea: nothing is searched; what the laws do not
reach is open, and who wants to know more evaluates both sides.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from string import ascii_lowercase

from tinygpu.algebra.laws import Equal, cleared, meet, then
from tinygpu.algebra.lemma import Meaning, opened
from tinygpu.algebra.lemma import prove as meaning
from tinygpu.algebra.normal import at_data, normal
from tinygpu.algebra.polynomial import REAL, Unfollowed, atom, bearable, is_truth, ring, term_of, times
from tinygpu.algebra.sides import HELPS, MEANT, enough, inhabited, needs
from tinygpu.category.monoid import Carrier
from tinygpu.category.term import FALSE, TRUE, App, Axis, Const, Fold, Term, Var, ceildiv, conjuncts, text, variables, walk
from tinygpu.diagnostic import Label
from tinygpu.model.op import Op, put_in
from tinygpu.model.theorem import Theorem
from tinygpu.obligations.facts import promised
from tinygpu.obligations.obligation import Claim, Gap, Inhabited, Obligation
from tinygpu.proof.kernel import BUDGET, Open, discharge
from tinygpu.proof.kernel import Theorem as Held
from tinygpu.record import dataclass, field

FEW = 8  # places of an axis each of which is a case
CASES = 64
MARK = "'"  # of an index of an output: no name in a text ends in it
CLEARED = 4  # what is multiplied with, one after the other


@dataclass(frozen=True, slots=True)
class Case:
    """An output at the points `index` of some axes, with what is known of them."""

    output: str
    index: tuple[Term, ...]
    axes: tuple[Axis, ...]
    facts: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Proved:
    """The theorem holds: `laws` counts the instances of each law, `claims` are what the kernel showed beside."""

    theorem: Theorem
    laws: tuple[tuple[str, int], ...]
    claims: tuple[Held, ...]

    @property
    def steps(self) -> int:
        """Instances of laws, in all."""
        return sum(n for _, n in self.laws)


@dataclass(frozen=True, slots=True)
class Missing:
    """What is not shown: that two forms are one, or a claim."""

    theorem: Theorem
    reason: str
    forms: tuple[Term, ...] = ()
    claim: Claim | None = field(default=None, repr=False)


def prove(theorem: Theorem, budget: int = BUDGET) -> Proved | Missing:
    """`Theorem → Proved or Missing`."""
    if theorem.left.states or theorem.right.states:
        return Missing(theorem, "an op that is defined by induction is not followed")
    laws, claims = Counter[str](), dict[Claim, None]()
    labels = (Label(theorem.span, "this theorem"),)
    try:
        for case in cases(theorem):
            values = [value(op, case) for op in (theorem.left, theorem.right)]
            meanings = meanings_of(theorem, values)
            a, b = (opened(v, meanings) for v in values)
            found = equal(a, b)
            if not isinstance(found, Equal):
                return Missing(theorem, "the two sides have other normal forms", found)
            laws.update(dict(found.laws))
            claims.update(dict.fromkeys(_claims(theorem, case, found, a.right, b.right, labels)))
    except Unfollowed as error:
        return Missing(theorem, f"{error} is not followed")
    held: list[Held] = []
    for claim in (*_about(theorem, labels), *(promised(c, theorem.left.promises) for c in claims)):
        shown = discharge(claim, budget)
        if isinstance(shown, Open):
            return Missing(theorem, getattr(claim, "sentence", claim.title), claim=claim)
        held.append(shown)
    return Proved(theorem, tuple(sorted(laws.items())), tuple(held))


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


def value(op: Op, case: Case) -> Term:
    """The output's value there, of inputs alone."""
    others = {e.target: e for e in op.equations if e.target != case.output}
    return bearable(put_in(op.equation(case.output).at(case.index), others))


def forms(theorem: Theorem) -> Iterator[tuple[str, str]]:
    """Of a theorem that is proved, each output at each case, and the form that the laws bring its left side to, as text."""
    for case in cases(theorem):
        first = value(theorem.left, case)
        other = value(theorem.right, case)
        found = normal(opened(first, meanings_of(theorem, (first, other))).right)
        yield f"{case.output}[{', '.join(map(text, case.index))}]".replace(MARK, ""), spoken(found.right)


def spoken(form: Term) -> str:
    """A form as text, with letters for the indices of its folds, which have no names.

    >>> spoken(Fold("sum", (Axis("#1.0", Var("n")),), TRUE, App("cast", (Var("#1.0") * Var("k'"),), REAL), REAL))
    'sum[a < n] f64(a*k)'
    """
    said = text(form).replace(MARK, "")
    marks = dict.fromkeys(re.findall(r"#\d+\.\d+", said))
    free = (letter for letter in (*ascii_lowercase, *marks) if letter not in re.findall(r"\w+", said))
    names = dict(zip(marks, free, strict=False))
    return re.sub(r"#\d+\.\d+", lambda mark: names[mark[0]], said)


def meanings_of(theorem: Theorem, values: Sequence[Term]) -> dict[str, Meaning]:
    """What the folds of monoids in some values mean. Raises Unfollowed where no lemma says so, or a lemma is not proved."""
    found: dict[str, Meaning] = {}
    for carrier in {t.monoid for v in values for t in walk(v) if isinstance(t, Fold) and isinstance(t.monoid, Carrier)}:
        lemma = next((one for one in theorem.lemmas if one.of(carrier)), None)
        if lemma is None:
            raise Unfollowed(f"a fold of {carrier}, of which no lemma says what it means,")
        made = meaning(lemma, carrier)
        if isinstance(made, str):
            raise Unfollowed(f"a fold of {carrier}, whose lemma is not proved ({made}),")
        found[carrier] = made
    return found


def equal(a: Equal, b: Equal) -> Equal | tuple[Term, Term]:
    """That both are one, as far as they are followed, or their two forms."""
    left, right = (then(first, normal(first.right)) for first in (a, b))
    if left.right != right.right:
        left, right = at_data(left), at_data(right)
    if left.right == right.right:
        return meet(left, right)
    nought = _nought(App("sub", (left.right, right.right), REAL), CLEARED)
    return (left.right, right.right) if nought is None else meet(left, right, nought)


def _nought(term: Term, left: int) -> Equal | None:
    """That a value is 0: as it is, or multiplied with what is divided by."""
    found = normal(term)
    if found.right == term_of({}):
        return found
    form = ring(found.right, set())
    below = sorted({t for m in form for t, p in m if p < 0 and not is_truth(t)}, key=text)
    if not below or not left:
        return None
    by = below[0]
    power = max(-p for m in form for t, p in m if t == by)
    whole = term_of(times(form, atom(by, power), set()))
    rest = _nought(whole, left - 1)
    return None if rest is None else then(found, cleared(found.right, by, power, rest))


# ── what has to be shown beside ────────────────────────────────────────────────────────────────────────────────────


def _about(theorem: Theorem, labels: tuple[Label, ...]) -> Iterator[Claim]:
    """There are such sizes, and what the right side wants holds for them."""
    given = (*theorem.left.where, *theorem.where)
    title = "no sizes satisfy the preconditions"
    yield Inhabited("theorem", "TG561", title, "some sizes satisfy the preconditions", given, labels)
    known = {part for guard in given for part in conjuncts(guard)}
    for guard in theorem.right.where:
        if not set(conjuncts(guard)) <= known:
            title = f"{theorem.right.name} wants more than {theorem.left.name}"
            help = f"say it of the theorem: where {text(guard)}"
            yield Obligation("theorem", "TG561", title, text(guard), given, guard, labels, help)
    if set(theorem.right.promises) - set(theorem.left.promises):
        yield Gap(
            "theorem", "TG561", "other promises", f"{theorem.right.name} promises more of its data than {theorem.left.name}", labels
        )


def _claims(theorem: Theorem, case: Case, found: Equal, a: Term, b: Term, labels: tuple[Label, ...]) -> Iterator[Claim]:
    """What the laws need, and that the right side has a value where the left one has."""
    given = (*theorem.left.where, *theorem.where, *_range(case.axes), *case.facts)
    theirs = {(s.kind, form): s for s in needs(a) if (form := _form(s.term)) is not None}
    shapes = {t.name: t.shape for t in theorem.left.inputs}
    for side in (
        *sorted(found.sides, key=lambda s: s.place),
        *needs(b),
        *(s for s in needs(a) if s.kind in ("something", "inside")),
    ):
        facts = (*given, *_range(side.axes), *conjuncts(side.guard))
        goal = enough(side, shapes)
        followed = variables(side.term) & {a.name for a in side.axes}
        form = _form(side.term) if goal is None and not followed else None
        other = theirs.get((side.kind, form)) if form is not None else None
        if other is not None:
            goal = inhabited(other.axes, other.guard)  # it is asked for on the left side, too
        sentence = MEANT[side.kind].format(text(side.term)).replace(MARK, "")
        title = "a side of the theorem may have no value where the other one has"
        if goal is None:
            yield Obligation("theorem", "TG561", title, sentence, facts, FALSE, labels, HELPS[side.kind])
        elif goal != TRUE:
            yield Obligation("theorem", "TG561", title, sentence, facts, goal, labels, HELPS[side.kind])


def _range(axes: tuple[Axis, ...]) -> tuple[Term, ...]:
    return tuple(c for a in axes for c in (Var(a.name) >= 0, Var(a.name) < a.extent))


def _form(term: Term) -> Term | None:
    """What a value is told by; nothing of one that is not followed."""
    if isinstance(term, Fold) and str(term.monoid) not in ("sum", "max", "min"):
        return None
    try:
        return normal(term).right
    except Unfollowed:
        return None
