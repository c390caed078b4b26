"""Proofs of lemmas: a fold of a monoid means what is said, over every finite set that is not empty.

    one element:   h(basic folds of {x})  =  lift(x)
    two sets:      combine(h(F), h(G))    =  h(F ⊕ G)          sums add up, a maximum is the larger one, counts add up

Comes in: a `Lemma` and the monoid that it is about. Goes out: a `Meaning`, which only this file makes, or what is not shown. The one idea: what is said is a function h of basic folds (a
sum or a maximum of what stands at one element), so the lemma says that h is a homomorphism, and that is a claim about numbers, as the laws of a monoid are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import reduce

from tinygpu.algebra.folds import is_sum
from tinygpu.algebra.laws import Equal, Side, applied, equation, same, then, under
from tinygpu.algebra.normal import normal
from tinygpu.algebra.polynomial import REAL, Monomial, Unfollowed, ring, term_of, written
from tinygpu.algebra.sides import above, enough
from tinygpu.category.carrier import combined
from tinygpu.category.monoid import Carrier, pack
from tinygpu.category.term import BOOL, INDEX, App, Const, Fold, Read, Term, Var, rebuild, substitute, text, variables, walk
from tinygpu.model.lemma import SIZE, Lemma
from tinygpu.model.op import put_in
from tinygpu.obligations.laws import same_values, stated_law
from tinygpu.obligations.obligation import Obligation
from tinygpu.proof.kernel import BUDGET, Open, discharge
from tinygpu.proof.kernel import Theorem as Held
from tinygpu.record import InitVar, dataclass, replace

_KEY = object()
COUNT = App("cast", (Var(SIZE),), REAL)
JOINED = {"sum": "add", "max": "max", "min": "min"}


@dataclass(frozen=True, slots=True)
class Meaning:
    """What each component of a fold of the monoid over something is; elements are read from arrays of `SIZE`, `places` says which component of what is lifted they are; by instances of `laws`, so many of each."""

    carrier: Carrier
    components: tuple[Term, ...]
    places: tuple[tuple[str, int], ...]
    claims: tuple[Held, ...] = ()
    laws: tuple[tuple[str, int], ...] = ()
    key: InitVar[object] = None

    def __post_init__(self, key: object) -> None:
        if key is not _KEY:
            raise TypeError("a Meaning is made by tinygpu.algebra.lemma.prove alone")

    @property
    def steps(self) -> int:
        """Instances of laws, in all."""
        return sum(n for _, n in self.laws)

    def at(self, fold: Fold, number: int) -> Term:
        """A component of a fold of this monoid. Raises Unfollowed for one of other values than elements."""
        lifted = tuple(self.carrier.parts(fold.body))
        elements = {name: lifted[place] for name, place in self.places}
        given: dict[str, Term] = {name: elements[mine] for (name, _), mine in zip(self.carrier.parameters, elements, strict=True)}
        if any(substitute(own, given) != one for own, one in zip(self.carrier.lift, lifted, strict=True)):
            raise Unfollowed(f"a fold of {fold.monoid} of what is no element")
        return _put(self.components[number], fold, elements)


def _put(term: Term, fold: Fold, elements: dict[str, Term]) -> Term:
    """A value of folds over all elements as one of folds over the box of a fold."""
    match term:
        case Fold(monoid, _, _, body):
            return Fold(monoid, fold.axes, fold.guard, _element(body, elements), REAL)
        case App("cast", (Var(name),)) if name == SIZE:
            return Fold("sum", fold.axes, fold.guard, Const(1.0, REAL), REAL)
        case Read():
            raise Unfollowed("an element outside of a fold")
    return rebuild(term, lambda t: _put(t, fold, elements))


def _element(term: Term, elements: dict[str, Term]) -> Term:
    if isinstance(term, Read):
        return elements[term.tensor]
    if isinstance(term, Fold):
        raise Unfollowed("a fold inside of a basic fold")
    return rebuild(term, lambda t: _element(t, elements))


def prove(lemma: Lemma, carrier: Carrier, budget: int = BUDGET) -> Meaning | str:
    """`Lemma → Meaning`, or what is not shown."""
    equations = {e.target: e for e in lemma.op.equations}
    try:
        forms = [normal(put_in(equations[t.name].value, equations)) for t in lemma.op.outputs]
        said = tuple(_typed(_basic(f.right), dtype) for f, (_, dtype) in zip(forms, carrier.components, strict=True))
        claims = (
            *(c for form in forms for c in map(_needed, sorted(form.sides, key=lambda s: s.place))),
            *_claims(lemma, carrier, said),
        )
    except Unfollowed as error:
        return str(error)
    held: list[Held] = []
    for claim in claims:
        shown = discharge(claim, budget)
        if isinstance(shown, Open):
            return claim.sentence
        held.append(shown)
    names = [t.name for t in lemma.op.inputs]
    places = tuple((n, carrier.lift.index(Var(p, dtype))) for n, (p, dtype) in zip(names, carrier.parameters, strict=True))
    laws = sum((Counter(dict(f.laws)) for f in forms), Counter[str]())
    return Meaning(carrier, said, places, tuple(held), tuple(sorted(laws.items())), _KEY)


def _needed(side: Side) -> Obligation:
    """What a law needed, where there is an element."""
    goal = enough(side)
    if goal is None:
        raise Unfollowed(f"{text(side.term)}, which may be 0,")
    return Obligation("theorem", "TG563", "a meaning has no value", text(side.term), (Var(SIZE) >= 1,), goal)


def opened(term: Term, meanings: Mapping[str, Meaning]) -> Equal:
    """A value with folds of monoids as what they mean."""
    match term:
        case App("part", (Fold(monoid) as fold, Const(int(number)))) if monoid in meanings:
            found = meant(fold, number, meanings[monoid])
            return then(found, opened(found.right, meanings))
        case Fold():
            return under(term, opened(term.body, meanings))
        case App() if term.dtype not in (INDEX, BOOL):
            return applied(term, [opened(a, meanings) for a in term.args])
    return same(term)


def meant(fold: Fold, number: int, meaning: Meaning) -> Equal:
    """A component of a fold over something is what the lemma says."""
    left = App("part", (fold, Const(number)), meaning.carrier.components[number][1])
    return equation(left, meaning.at(fold, number), "meant", sides=[Side("something", fold)])


def _typed(term: Term, dtype: str) -> Term:
    """The value as one of that type, which the claims of a monoid are about."""
    match term:
        case Const(value, kind) if kind == REAL:
            return Const(value, dtype)
        case App(op, args, kind) if kind == REAL and term != COUNT:
            return App(op, tuple(_typed(a, dtype) for a in args), dtype)
        case Fold(monoid, axes, guard, body, kind) if kind == REAL or body.dtype == REAL:
            return Fold(monoid, axes, guard, _typed(body, dtype), dtype)
    return term


def _basic(term: Term) -> Term:
    """A value of the elements as one of basic folds: what does not speak of an index stands in front of its sum, and sums over other indices are apart."""
    if is_sum(term):
        assert isinstance(term, Fold)
        (monomial,) = ring(term.body, set())
        return reduce(lambda a, b: App("mul", (a, b), REAL), _groups(term, monomial))
    if isinstance(term, Fold):
        return term
    return rebuild(term, _basic) if isinstance(term, App) and term.dtype not in (INDEX, BOOL) else term


def _groups(fold: Fold, monomial: Monomial) -> Iterator[Term]:
    """The factors of a sum: outside of it, then one sum for all that share indices."""
    names = {a.name for a in fold.axes}
    left = [(t, p) for t, p in monomial if names.isdisjoint(variables(t))]
    if left:
        yield _basic(term_of({tuple(left): 1}))  # type: ignore[dict-item]
    rest = [(t, p) for t, p in monomial if (t, p) not in left]
    while rest:
        mine, grown = [rest.pop(0)], True
        while grown:
            met = {n for t, _ in mine for n in variables(t)} & names
            more = [f for f in rest if met & {*variables(f[0])}]
            grown, mine, rest = bool(more), [*mine, *more], [f for f in rest if f not in more]
        axes = tuple(a for a in fold.axes if any(a.name in variables(t) for t, _ in mine))
        yield normal(Fold("sum", axes, fold.guard, written(tuple(mine)), REAL)).right


def _claims(lemma: Lemma, carrier: Carrier, said: tuple[Term, ...]) -> Iterator[Obligation]:
    """That it is a homomorphism."""
    basis = list(dict.fromkeys(t for term in said for t in walk(term) if isinstance(t, Fold) or t == COUNT))
    if any(len(t.axes) != 1 or t.axes[0].extent != Var(SIZE) or t.guard != Const(True, BOOL) for t in basis if isinstance(t, Fold)):
        raise Unfollowed("a basic fold over something else than the elements")

    def h(values: list[Term]) -> tuple[Term, ...]:
        to = dict(zip(basis, values, strict=True))

        def put(term: Term) -> Term:
            if term in to:
                return to[term]
            if isinstance(term, Read):
                raise Unfollowed("an element outside of a fold")
            return rebuild(term, put)

        return tuple(map(put, said))

    kind = carrier.components[0][1]
    elements: dict[str, Term] = {t.name: Var(p, dtype) for t, (p, dtype) in zip(lemma.op.inputs, carrier.parameters, strict=True)}
    one = [_element(t.body, elements) if isinstance(t, Fold) else Const(1.0, kind) for t in basis]
    a, b = ([Var(f"{side}.{n}", kind) for n in range(len(basis))] for side in "ab")
    both = [
        App(JOINED[str(t.monoid)] if isinstance(t, Fold) else "add", pair, kind)
        for t, pair in zip(basis, zip(a, b, strict=True), strict=True)
    ]
    known = [App("gt", (v, Const(0.0, kind)), BOOL) for side in (a, b) for t, v in zip(basis, side, strict=True) if _above(t)]
    one_element = stated_law(carrier, "lift", (), same_values(h(list(one)), carrier.lift, {}), {})
    two = combined(carrier, pack(h(list(a)), carrier), pack(h(list(b)), carrier))
    two_sets = stated_law(carrier, "associative", tuple(known), same_values(two, h(list(both)), {}), {})
    for claim, sentence in (
        (one_element, "one element means what it is lifted to"),
        (two_sets, "two sets mean what their meanings combine to"),
    ):
        yield replace(claim, kind="theorem", code="TG563", title="a fold does not mean this", sentence=sentence, help="")


def _above(term: Term) -> bool:
    """Whether a basic fold of something is above 0."""
    return term == COUNT or (isinstance(term, Fold) and str(term.monoid) == "sum" and above(term.body) == Const(True, BOOL))
