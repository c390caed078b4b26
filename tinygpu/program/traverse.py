"""Through the steps of a program, whatever their kinds: what a step evaluates, what is inside of it, and both of them changed.

Comes in: steps. Goes out: their terms and reads, the places they stand at, or other steps. The one idea: who only wants to get through asks
here, so a new kind of step is a case of `terms`, `map_terms` and `body_of`, and of those who give it a meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeAlias, TypeVar

from tinygpu.category.region import Region
from tinygpu.category.term import Read, Term, reads, shuffled
from tinygpu.program.step import Assign, For, Ghost, If, Step, Sync, body_of, steps
from tinygpu.record import replace

Body: TypeAlias = tuple[Step, ...]
Path: TypeAlias = tuple[int, ...]  # the position in a body, then in that of the step there, …
S = TypeVar("S", bound=Step)


ANYWHERE = Region()


def terms(step: Step, ghosts: bool = False) -> tuple[Term, ...]:
    """What a step evaluates itself, not what is inside of it; `ghosts` evaluate nothing, but speak of terms too."""
    match step:
        case Assign(_, index, value, _, guard):
            return (*index, value, guard)
        case For(axis):
            return (axis.extent,)
        case If(guard):
            return (guard,)
        case Ghost(_, index, value) if ghosts:
            return (*index, value)
    return ()


def map_terms(step: S, change: Callable[[Term], Term]) -> S:
    """The step with another term for each of its own.

    >>> from tinygpu.category.term import Axis, Const, Var, substitute
    >>> map_terms(For(Axis("i", Var("n")), ()), lambda term: substitute(term, {"n": Const(3)})).axis.extent
    Const(value=3, dtype='index')
    """
    match step:
        case Assign(_, index, value, _, guard):
            return replace(step, index=tuple(map(change, index)), value=change(value), guard=change(guard))
        case For(axis):
            return replace(step, axis=replace(axis, extent=change(axis.extent)))
        case If(guard):
            return replace(step, guard=change(guard))
        case Ghost(_, index, value):
            return replace(step, index=tuple(map(change, index)), value=change(value))
    return step


def map_steps(body: Iterable[Step], change: Callable[[Step], Iterable[Step]]) -> Body:
    """The body with other steps for each of its steps, what is inside of them changed before.

    >>> from tinygpu.category.term import Axis, Var
    >>> map_steps((Sync(), For(Axis("i", Var("n")), (Sync("warp"),))), lambda step: [] if isinstance(step, Sync) else [step])
    (For(axis=Axis(name='i', extent=Var(name='n', dtype='index'), sort='data'), body=()),)
    """
    return tuple(new for step in body for new in change(with_body(step, map_steps(body_of(step), change))))


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


def written(body: Iterable[Step]) -> set[str]:
    """The arrays that the steps of a body write."""
    return {step.target for step in steps(tuple(body)) if isinstance(step, Assign)}


def shuffles(step: Step) -> bool:
    """Whether lanes exchange values in the step itself."""
    return isinstance(step, Assign) and shuffled(step.value)


def meets(step: Step) -> bool:
    """Whether threads do something together in the step itself."""
    return isinstance(step, Sync) or shuffles(step)
