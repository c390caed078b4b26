"""Where one barrier would do: a race is mended on trial, and run again.

Comes in: a program and a race that was seen. Goes out: a help that names the place of one barrier, or nothing.
The one idea: candidates are few (after the first step, at the end of a loop around both, before the second); those that lie between the
two steps are run, until one is clean, and every race on the way is one more that the next has to part.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.category.monoid import has_atomic
from tinygpu.obligations.barriers import loops, ways
from tinygpu.program.step import Assign, For, If, Program, Step, Sync, body_of
from tinygpu.program.traverse import Body, Path, at, reads_of, walk_steps, with_body
from tinygpu.proof.replay import meetings
from tinygpu.proof.rows import by_hand, named
from tinygpu.record import replace
from tinygpu.simulate.fault import Divergent, Race, SimulationBudget
from tinygpu.simulate.sizes import admitted

BUDGET = 1 << 18  # lane-steps of one trial
LARGER = 33  # what all sizes are set to in the trial that follows: more than one block, more than one turn, and a tail


def mend(program: Program, sizes: dict[str, int], seen: Race) -> str:
    """A place where one barrier removes every race of the runs at these and some other sizes, as a help; or an empty text."""
    if seen.scope != "block" or seen.at.step is None or seen.first.step is None:
        return ""
    if seen.first.step is seen.at.step and _counts(seen.at.step):
        return "write `atomic` before the update: updates of one kind may meet, in any order"
    tried, races = set(), [seen]
    for place, candidate in _candidates(program, seen):
        if place not in tried and all(_parted(candidate, race) for race in races):
            more = _wrong(candidate, sizes)
            if not more:
                return f"a barrier {place} would do"
            races += [fault for fault in more if isinstance(fault, Race)]
        tried.add(place)
    return ""


def _counts(step: Step) -> bool:
    """Whether a step is an update that reads nothing of its target by itself, and that may be atomic."""
    if not isinstance(step, Assign) or step.atomic or not has_atomic(step.update, step.value.dtype):
        return False
    return all(read.tensor != step.target for read in reads_of(step))


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
    """What the first run shows that has a race, or a barrier that some threads miss."""
    trials = (sizes, dict.fromkeys(sizes, LARGER))
    return next((found for one in trials if admitted(program, one) and (found := _faults(program, one))), ())


def _faults(program: Program, sizes: dict[str, int]) -> tuple[Race | Divergent, ...]:
    try:
        return meetings(program, sizes, BUDGET)  # in lockstep: a race is seen in any order
    except (SimulationBudget, ZeroDivisionError, IndexError):
        return ()  # nothing was seen


def _candidates(program: Program, seen: Race) -> Iterator[tuple[str, Program]]:
    """Places in words, nearest to the steps first, and the program with a barrier there."""
    body = program.launches[seen.at.launch].body
    firsts, seconds = (list(_paths(body, step, by_hand(program))) for step in (seen.first.step, seen.at.step))
    if not firsts or not seconds:  # steps that stand for others, as those of components do, are in no text
        return
    apart = min((_common(a, b) for a in firsts for b in seconds if a != b), default=min(map(len, firsts)) - 1) + 1
    deepest = min(map(len, firsts))
    for depth in (*range(apart, 0, -1), *range(apart + 1, deepest + 1)):  # first where a barrier runs least often
        yield (
            f"after {_named(program, _at(body, firsts[0][:depth]))}",
            _with(program, seen, {_next(path[:depth]) for path in firsts}),
        )
    for path in (*firsts, *seconds):
        for depth in range(len(path) - 1, 0, -1):
            loop = _at(body, path[:depth])
            if isinstance(loop, For):
                yield f"at the end of the loop over {loop.axis.name}", _with(program, seen, {(*path[:depth], len(loop.body))})
    for depth in range(1, min(map(len, seconds)) + 1):
        yield f"before {_named(program, _at(body, seconds[0][:depth]))}", _with(program, seen, {path[:depth] for path in seconds})


def _with(program: Program, seen: Race, paths: set[Path]) -> Program:
    """The program with barriers at these paths of the launch."""
    launch = program.launches[seen.at.launch]
    body = launch.body
    for path in sorted(paths, reverse=True):  # the last first, so that the others stay where they are
        body = _insert(body, path)
    launches = tuple(replace(one, body=body) if one is launch else one for one in program.launches)
    return replace(program, launches=launches)


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


def _common(a: Path, b: Path) -> int:
    """How many steps two paths go together."""
    return next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def _at(body: Body, path: Path) -> Step:
    *_, (inner, position) = at(body, path)
    return inner[position]


def _next(path: Path) -> Path:
    return (*path[:-1], path[-1] + 1)


def _insert(body: Body, path: Path) -> Body:
    """The body with a barrier at the path."""
    here, *rest = path
    if not rest:
        return (*body[:here], Sync(), *body[here:])
    inner = with_body(body[here], _insert(body_of(body[here]), tuple(rest)))
    return (*body[:here], inner, *body[here + 1 :])
