"""Where one barrier would do: a race is mended on trial, and run again.

Comes in: a program and a race that was seen. Goes out: a help that names the place of one barrier, or nothing.
The one idea: candidates are few (after the first step, at the end of a loop around both, before the second); those that lie between the
two steps are run, until one is clean, and every race on the way is one more that the next has to part.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import takewhile

from tinygpu.category.monoid import has_atomic
from tinygpu.diagnostic import Fix
from tinygpu.obligations.barriers import loops, ways
from tinygpu.program.call import Sync
from tinygpu.program.ring import sections
from tinygpu.program.step import Assign, For, If, Program, Step, body_of
from tinygpu.program.traverse import Body, Path, at, reads_of, walk_steps, with_body
from tinygpu.proof.replay import meetings
from tinygpu.proof.rows import by_hand, named
from tinygpu.record import replace
from tinygpu.simulate.fault import Divergent, Race, SimulationBudget
from tinygpu.simulate.sizes import admitted

BUDGET = 1 << 18  # lane-steps of one trial
LARGER = 33  # what all sizes are set to in the trial that follows: more than one block, more than one turn, and a tail


def mend(program: Program, sizes: dict[str, int], seen: Race) -> tuple[str, tuple[Fix, ...]]:
    """A place where one barrier removes every race of the runs at these and some other sizes, as a help and as edits; or an empty text."""
    if seen.scope != "block" or seen.at.step is None or seen.first.step is None:
        return "", ()
    step, body = seen.at.step, program.launches[seen.at.launch].body
    if all(any(one is s for part in sections(body) for s in part.steps(body)) for one in (step, seen.first.step)):
        return "", ()  # of a ring, in whose loop there is no barrier
    if seen.first.step is step and isinstance(step, Assign) and not step.atomic and has_atomic(step.update, step.value.dtype):
        if all(read.tensor != step.target for read in reads_of(step)):  # it reads nothing of its target by itself
            help = "write `atomic` before the update: updates of one kind may meet, in any order"
            return help, (Fix("write `atomic`", replace(step.span, end=step.span.start), "atomic "),) * by_hand(program)
    tried, races = set(), [seen]
    for place, paths in _candidates(program, seen):
        launch = program.launches[seen.at.launch]
        mended = replace(launch, body=_barred(launch.body, paths))
        candidate = replace(program, launches=tuple(mended if one is launch else one for one in program.launches))
        if place not in tried and all(_parted(candidate, race) for race in races):
            more = _wrong(candidate, sizes)
            if not more:
                return f"a barrier {place} would do", _barrier(program, body, place, paths)
            races += [fault for fault in more if isinstance(fault, Race)]
        tried.add(place)
    return "", ()


def _barrier(program: Program, body: Body, place: str, paths: set[Path]) -> tuple[Fix, ...]:
    """A barrier behind or before a step, as a line of the text; nothing where it would be several, or at the end of a loop."""
    (*around, last), *others = sorted(paths)
    behind = place.startswith("after")
    if others or not by_hand(program) or not (behind or place.startswith("before")):
        return ()
    span = _at(body, (*around, last - behind)).span
    indent, at = " " * (span.column - 1), span.end if behind else span.start
    title, new = f"insert a barrier {place}", f"\n{indent}barrier" if behind else f"barrier\n{indent}"
    return (Fix(title, replace(span, start=at, end=at), new),) if span.line else ()


def _parted(program: Program, seen: Race) -> bool:
    """Whether a barrier may lie between the two steps, in the turns in which they met."""
    if seen.scope != "block":
        return False  # no barrier is between two blocks
    body = program.launches[seen.at.launch].body
    paths = [list(_paths(body, step, by_hand(program))) for step in (seen.first.step, seen.at.step)]
    if any(len(found) != 1 for found in paths):
        return True  # a loop over listed values has become copies of its body: the run will tell
    (one,), (other,) = paths
    apart = {n: v < w for (n, v), (m, w) in zip(seen.first.loops, seen.at.loops, strict=False) if n == m and v != w}
    around, onward = next(
        ((loop.axis.name, apart[loop.axis.name]) for _, loop in loops(body, one) if loop.axis.name in apart), ("", one < other)
    )
    earlier, later = (one, other) if onward else (other, one)
    return all(way.block for way in ways(body, earlier, later) if way.around == around)


def _wrong(program: Program, sizes: dict[str, int]) -> tuple[Race | Divergent, ...]:
    """What the first run shows that has a race, or a barrier that some threads miss; in lockstep, as a race is seen in any order."""
    for one in (sizes, dict.fromkeys(sizes, LARGER)):
        with suppress(SimulationBudget, ZeroDivisionError, IndexError):  # then nothing was seen
            if admitted(program, one) and (found := meetings(program, one, BUDGET)):
                return found
    return ()


def _candidates(program: Program, seen: Race) -> Iterator[tuple[str, set[Path]]]:
    """Places in words, nearest to the steps first, and the paths of a barrier there."""
    body = program.launches[seen.at.launch].body
    firsts, seconds = (list(_paths(body, step, by_hand(program))) for step in (seen.first.step, seen.at.step))
    if not firsts or not seconds:  # steps that stand for others, as those of components do, are in no text
        return
    pairs = [zip(a, b, strict=False) for a in firsts for b in seconds if a != b]  # how far two of them go together
    deepest = min(map(len, firsts))
    apart = min((sum(1 for _ in takewhile(lambda both: both[0] == both[1], pair)) for pair in pairs), default=deepest - 1) + 1
    for depth in (*range(apart, 0, -1), *range(apart + 1, deepest + 1)):  # first where a barrier runs least often
        after = {(*around, last + 1) for *around, last in (path[:depth] for path in firsts)}
        yield f"after {_named(program, _at(body, firsts[0][:depth]))}", after
    for path in (*firsts, *seconds):
        for depth in range(len(path) - 1, 0, -1):
            loop = _at(body, path[:depth])
            if isinstance(loop, For):
                yield f"at the end of the loop over {loop.axis.name}", {(*path[:depth], len(loop.body))}
    for depth in range(1, min(map(len, seconds)) + 1):
        yield f"before {_named(program, _at(body, seconds[0][:depth]))}", {path[:depth] for path in seconds}


def _barred(body: Body, paths: set[Path], here: Path = ()) -> Body:
    """The body with barriers before what stands at these paths."""
    found: list[Step] = []
    for position in range(len(body) + 1):
        found += [Sync()] if (*here, position) in paths else []
        for step in body[position : position + 1]:
            found.append(with_body(step, _barred(body_of(step), paths, (*here, position))))
    return tuple(found)


def _paths(body: Body, step: Step | None, copies: bool) -> Iterator[Path]:
    """Where a step stands: in several places, where a loop over listed values has become copies of its body."""
    for one, _, path in walk_steps(body):
        if one is step or (step is not None and copies and one.span == step.span):
            yield path


def _named(program: Program, step: Step) -> str:
    """A step with its body in a few words."""
    line = f" (line {step.span.line})" if by_hand(program) else ""
    match step:
        case For(axis):
            return f"the loop over {axis.name}{line}"
        case If() if line:
            return f"the `if`{line}"
    return named(program, step)


def _at(body: Body, path: Path) -> Step:
    *_, (inner, position) = at(body, path)
    return inner[position]
