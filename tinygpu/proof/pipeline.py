"""The verdict on a pipeline: its calls fit, and what is live at one time lies apart.

Comes in: a `Pipeline`. Goes out: `Linked`, or a message with the smallest sizes at which that is not so. The one idea: a composition of proved machines is proved where each gets what it was proved for;
that its values keep what was written to them is looked at once more, in numbers, at small sizes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from tinygpu.category.evaluate import evaluate
from tinygpu.derive.arena import Arena, Buffer, arena_of
from tinygpu.diagnostic import Diagnostic
from tinygpu.model.pipeline import Pipeline
from tinygpu.obligations.pipeline import claims_of_pipeline
from tinygpu.obligations.values import doubtful
from tinygpu.proof.choice import points, refused
from tinygpu.proof.kernel import BUDGET, Theorem, discharge
from tinygpu.record import InitVar, dataclass

CALLS = "Its calls fit, for all sizes, which is proved:"  # in a module, before the text of a pipeline
_KEY = object()
FEW = 200  # points


@dataclass(frozen=True, slots=True)
class Linked:
    """The calls of `pipeline` fit, and its values lie apart in `arena`: `claims` are what the kernel showed. Only `linked` makes one."""

    pipeline: Pipeline
    arena: Arena
    claims: tuple[Theorem, ...]
    key: InitVar[object] = None

    def __post_init__(self, key: object) -> None:
        if key is not _KEY:
            raise TypeError("a Linked is made by tinygpu.proof.pipeline.linked alone")

    @property
    def about(self) -> Pipeline:
        """What is proved."""
        return self.pipeline

    @property
    def laws(self) -> tuple[tuple[str, int], ...]:
        """None: as theorems have them."""
        return ()


def linked(pipeline: Pipeline, budget: int = BUDGET) -> Linked | Diagnostic:
    """`Pipeline → Linked`, or the message of a refutation or of what is missing. Raises TinygpuError where a machine that it calls has no program."""
    arena, held = arena_of(pipeline), list[Theorem]()
    for claim in claims_of_pipeline(pipeline, arena):
        match discharge(claim, budget):
            case Theorem() as theorem:
                held.append(theorem)
            case open:
                return refused(pipeline.op, claim, open, budget)
    if any(not keeps(pipeline, arena, point) for point in looked_at(pipeline)):
        raise AssertionError(f"the values of {pipeline.name} are proved to lie apart, and do not")
    return Linked(pipeline, arena, tuple(held), _KEY)


def taken_for_numbers(pipeline: Pipeline) -> tuple[str, ...]:
    """What stands between the calls and may be infinite, or have no value: inputs are numbers, so nothing is proved of what is made of these there."""
    later = {one for call in pipeline.calls for one in call.given}
    own = doubtful(pipeline.op, (name for call in pipeline.calls for name in call.made if name in later))
    called = (call.to for call in pipeline.calls if isinstance(call.to, Pipeline))
    return (*own, *dict.fromkeys(f"{name} of {one.name}" for one in called for name in taken_for_numbers(one)))


def looked_at(pipeline: Pipeline) -> Iterator[dict[str, int]]:
    """Sizes at which the values are looked at."""
    return islice(points(pipeline.op, ()), FEW)


def keeps(pipeline: Pipeline, arena: Arena, sizes: Mapping[str, int]) -> bool:
    """Whether every call finds in each of its inputs what was written there: who writes writes over nobody that is read later."""
    owners, end = dict[tuple[str, int], range](), int(evaluate(arena.bytes, sizes))
    every = {(b.name, b.owner): b for b in arena.buffers}
    places = {key: _bytes(arena, b, sizes) for key, b in every.items()}
    for number, call in enumerate(pipeline.calls):
        for name in (n for n in call.given if isinstance(n, str) and (n, -1) in places):
            if (name, -1) not in owners:
                return False
        mine = [*((name, -1) for name in call.made), *(key for key, b in every.items() if b.owner == number)]
        for key in (key for key in mine if key in places):
            place = places[key]
            beside = (k for k in owners if k[0] in call.given or (k in mine and not every[k].instead(every[key])))
            if place.stop > end or any(_meet(place, owners[k]) for k in beside):
                return False
            owners = {k: there for k, there in owners.items() if not _meet(place, there)} | {key: place}
    return True


def _meet(one: range, other: range) -> bool:
    return max(one.start, other.start) < min(one.stop, other.stop)


def _bytes(arena: Arena, buffer: Buffer, sizes: Mapping[str, int]) -> range:
    begin = int(evaluate(arena.at(buffer), sizes))
    return range(begin, begin + int(evaluate(buffer.bytes, sizes)))
