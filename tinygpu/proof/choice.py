"""The verdict on a choice: its cases are all sizes, each once, and each machine is called where it was proved.

Comes in: a `Choice`. Goes out: `Covered`, or a message with the smallest sizes at which that is not so. The one idea: every claim is over sizes alone, so a point of the solver is tried by
evaluating it, and is the counterexample.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice, product

from tinygpu.category.evaluate import evaluate
from tinygpu.category.term import Const, Term, variables, walk
from tinygpu.diagnostic import Case, Diagnostic
from tinygpu.model.choice import Choice, whole
from tinygpu.model.op import Op
from tinygpu.obligations.choice import claims_of_choice, given, taken
from tinygpu.obligations.obligation import Inhabited, Obligation
from tinygpu.proof.kernel import BUDGET, Open, Theorem, discharge
from tinygpu.proof.replay import evaluates_false
from tinygpu.proof.suggestion import least
from tinygpu.record import InitVar, dataclass

CASES = "The cases are all sizes, each once, which is proved:"  # in a module, before the text of a choice
_KEY = object()
MANY = 2000  # points
SMALL = 18  # sizes that are tried wherever the cases speak of others
FEW = 10  # sizes of which all corners are tried


@dataclass(frozen=True, slots=True)
class Covered:
    """The cases of `choice` are all sizes, each once: `claims` are what the kernel showed, `dead` is said of cases that are never taken. Only `covered`
    makes one."""

    choice: Choice
    claims: tuple[Theorem, ...]
    dead: tuple[Diagnostic, ...] = ()
    key: InitVar[object] = None

    def __post_init__(self, key: object) -> None:
        if key is not _KEY:
            raise TypeError("a Covered is made by tinygpu.proof.choice.covered alone")

    @property
    def about(self) -> Choice:
        """What is proved."""
        return self.choice

    @property
    def laws(self) -> tuple[tuple[str, int], ...]:
        """None: as theorems have them."""
        return ()


def covered(choice: Choice, budget: int = BUDGET) -> Covered | Diagnostic:
    """`Choice → Covered`, or the message of a refutation or of what is missing."""
    held: list[Theorem] = []
    for claim in claims_of_choice(choice):
        match discharge(claim, budget):
            case Theorem() as theorem:
                held.append(theorem)
            case open:
                return refused(choice.op, claim, open, budget)
    if any(not agrees(choice, point) for point in cases_at(choice)):
        raise AssertionError(f"the cases of {choice.name} are proved, and false")
    shown = ((claim, discharge(claim, budget)) for claim in taken(choice))
    dead = (claim for claim, found in shown if isinstance(found, Open) and found.model is not None)
    said = (Diagnostic(one.code, one.title, one.labels, "warning", helps=(one.help,)) for one in dead)
    return Covered(choice, tuple(held), tuple(said), _KEY)


def cases_at(choice: Choice) -> Iterator[dict[str, int]]:
    """Sizes at which the cases are evaluated."""
    return points(choice.op, [g for b in choice.branches for g in b.where])


def points(op: Op, spoken: Iterable[Term]) -> Iterator[dict[str, int]]:
    """Sizes of calls at which what is claimed is evaluated: small ones, and those around the numbers that some terms speak of."""
    terms = [t for guard in (*given(op), *spoken) for t in walk(guard)]
    around = {int(t.value) + n for t in terms if isinstance(t, Const) for n in (-1, 0, 1)}
    if not all(map(whole, given(op))):
        return  # an op may want what no case may say
    most = int(MANY ** (1 / max(1, len(op.sizes))))
    some = sorted({*range(SMALL), *(n for n in around if n >= 0)})
    some = some if len(some) <= most else some[: most // 2] + some[-(most - most // 2) :]
    for values in islice(product(some, repeat=len(op.sizes)), MANY):
        point = dict(zip(op.sizes, values, strict=True))
        if hold(given(op), point):
            yield point


def agrees(choice: Choice, point: Mapping[str, int]) -> bool:
    """Whether there is one case at some sizes, of a machine that may be called there."""
    found = [b for b in choice.branches if hold(b.where, point)]
    return len(found) == 1 and hold(filter(whole, found[0].needs), point)


def hold(guards: Iterable[Term], point: Mapping[str, int]) -> bool:
    """Whether all are true; one that divides by 0 is not, and stands behind one that says so."""
    return all(evaluate(guard, point) for guard in guards)


def refused(op: Op, claim: Obligation | Inhabited, open: Open, budget: int) -> Diagnostic:
    """A refutation by the smallest sizes of an op, or what is not known."""
    if isinstance(claim, Inhabited):
        never, helps = open.model is not None, (claim.help,) if claim.help else ()
        title = claim.title if never else f"not proved that {claim.sentence}: {open.reason}"
        return Diagnostic(claim.code, title, claim.labels, "refuted" if never else "unknown", helps=helps)
    sizes = _smallest(op, claim, open, budget)
    if sizes is None:
        reason = open.reason or "the sizes that the solver has against it cannot be evaluated"
        return Diagnostic(claim.code, f"not proved that {claim.sentence}: {reason}", claim.labels, "unknown")
    ours = {v for t in (claim.goal, *claim.hypotheses[len(given(op)) :]) for v in variables(t)}
    told = {name: value for name, value in sizes.items() if name in ours}
    case = Case(tuple((name, (str(value),)) for name, value in told.items())) if told else None
    at = ", ".join(f"{name} = {value}" for name, value in told.items()) or "all sizes"
    return Diagnostic(claim.code, f"{claim.title} {at}", claim.labels, "refuted", case, helps=(claim.help,))


def _smallest(op: Op, claim: Obligation, open: Open, budget: int) -> dict[str, int] | None:
    """The smallest sizes at which a claim is false; one is 0 only where it has to be."""
    names = op.sizes
    corners = sorted(product((1, 0), repeat=len(names)), key=lambda point: point.count(0)) if len(names) <= FEW else []
    points = [dict(zip(names, corner, strict=True)) for corner in corners]
    points += [least(claim, names, open.model, budget), open.model] if open.model is not None else []
    return next((point for point in points if evaluates_false(claim, point)), None)
