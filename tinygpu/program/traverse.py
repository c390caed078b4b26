"""Through the steps of a program, whatever their kinds: what a step evaluates, what is inside of it, and both of them changed.

Comes in: steps. Goes out: their terms and reads, the places they stand at, or other steps. The one idea: who only wants to get through asks
here, and a new kind of step is known by the types of its fields; only those who give it a meaning have a case for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias, TypeVar, get_args

from tinygpu.category.fields import HOLD_TERMS, fields_of, terms_of, with_terms
from tinygpu.category.region import Region
from tinygpu.category.term import Read, Term, reads, shuffled
from tinygpu.program.call import Sync
from tinygpu.program.step import Array, Assign, Fact, For, If, Step, body_of, steps
from tinygpu.record import replace

Body: TypeAlias = tuple[Step, ...]
Path: TypeAlias = tuple[int, ...]  # the position in a body, then in that of the step there, …
S = TypeVar("S", bound=Step)
ANYWHERE = Region()
TERMED = {**fields_of(get_args(Step), *HOLD_TERMS), Array: ()}  # what declares evaluates nothing
TARGETS = fields_of(get_args(Step), "Target")


def terms(step: Step, facts: bool = False) -> tuple[Term, ...]:
    """What a step evaluates itself, not what is inside of it; `facts` evaluate nothing, but speak of terms too."""
    if isinstance(step, Fact) and not facts:
        return ()
    return terms_of(step, TERMED[type(step)])


def map_terms(step: S, change: Callable[[Term], Term]) -> S:
    """The step with another term for each of its own.

    >>> from tinygpu.category.term import Axis, Const, Var, substitute
    >>> map_terms(For(Axis("i", Var("n")), ()), lambda term: substitute(term, {"n": Const(3)})).axis.extent
    Const(value=3, dtype='index')
    """
    if isinstance(step, Sync) and step.begins:
        return replace(step, begins=step.begins.mapped(change))
    return with_terms(step, TERMED[type(step)], change)


def map_steps(body: Iterable[Step], change: Callable[[Step], Iterable[Step]]) -> Body:
    """The body with other steps for each of its steps, what is inside of them changed before.

    >>> from tinygpu.category.term import Axis, Var
    >>> loop = For(Axis("i", Var("n")), (Sync("warp"),))
    >>> map_steps((Sync(), loop), lambda step: [] if isinstance(step, Sync) else [step]) == (For(loop.axis, ()),)
    True
    """
    return tuple(new for step in body for new in change(with_body(step, map_steps(body_of(step), change))))


def in_calls(body: Iterable[Step]) -> Iterator[Step]:
    """Steps in order, as a text has them: of an instruction that step which begins it, without what its lanes do.

    >>> [one.word for one in in_calls((Sync("warp"), Sync()))]
    ['warp barrier', 'barrier']
    """
    rest = iter(body)
    for step in rest:
        yield step
        if isinstance(step, Sync) and step.begins:
            next((one for one in rest if isinstance(one, Sync)), None)


def map_every(body: Iterable[Step], change: Callable[[Term], Term]) -> Body:
    """The body with another term for each of all its steps."""
    return map_steps(body, lambda step: (map_terms(step, change),))


def with_body(step: S, body: Body) -> S:
    """The step with other steps inside."""
    return replace(step, body=body) if isinstance(step, For | If) else step


def at(body: Body, path: Path) -> Iterator[tuple[Body, int]]:
    """The bodies around a place, outermost first, and the position in each."""
    for position in path:
        yield body, position
        body = body_of(body[position])


def walk_steps(body: Body, region: Region = ANYWHERE, path: Path = ()) -> Iterator[tuple[Step, Region, Path]]:
    """Every step, in order, with the region that it is in, and its path."""
    for position, step in enumerate(body):
        here = (*path, position)
        yield step, region, here
        match step:
            case For(axis, inner):
                yield from walk_steps(inner, region.inside(axis), here)
            case If(guard, inner):
                yield from walk_steps(inner, region.under(guard), here)


def reads_of(step: Step) -> tuple[Read, ...]:
    """Every element that a step itself reads, in order."""
    return tuple(read for term in terms(step) for read in reads(term))


def written(body: Iterable[Step], facts: bool = False) -> set[str]:
    """The arrays that the steps of a body write; or that its `facts` speak of, too."""
    found = (step for step in steps(tuple(body)) if facts or not isinstance(step, Fact))
    return {getattr(step, name) for step in found for name in TARGETS[type(step)]}


def chosen_by_data(body: Body) -> bool:
    """Whether data says which steps are done, or how often."""
    guards = (g for s, region, _ in walk_steps(body) for g in (*region.facts, *([s.guard] if isinstance(s, Assign) else ())))
    return any(map(reads, guards))


def shuffles(step: Step) -> bool:
    """Whether lanes exchange values in the step itself."""
    return isinstance(step, Assign) and shuffled(step.value)


def meets(step: Step) -> bool:
    """Whether threads do something together in the step itself."""
    return isinstance(step, Sync) or shuffles(step)
