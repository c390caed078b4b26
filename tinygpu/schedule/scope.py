"""Where the cells of a program are declared, and where conditions stand.

    local s; for i { s = …; … }   ↦   for i { local s; s = …; … }

Comes in: steps. Goes out: steps with each cell declared around all of its uses, or in each loop that uses it for itself.
The one idea: what a cell held before, nobody may see, which is proved of a declared one; so a narrow scope hides nothing, and loops that
carry nothing from one to the other are seen to.
"""

from __future__ import annotations

from collections.abc import Callable, Container

from tinygpu.category.term import Term, conjunction, reads
from tinygpu.program.step import Array, Assign, For, Ghost, If, Step, arrays_in, steps
from tinygpu.program.traverse import map_steps, reads_of, written
from tinygpu.record import replace
from tinygpu.schedule.nest import Body, moved


def declared(body: Body, fresh: Callable[[str], str]) -> Body:
    """`body → body` with each of its cells declared where all of its uses are. One that several loops use, each for itself, is declared in
    each of them, under `fresh` names."""
    cells = {s.name: s for s in arrays_in(body, "thread")}
    return _scoped(cells, map_steps(body, lambda step: () if isinstance(step, Array) else (step,)), fresh)


def _scoped(cells: dict[str, Array], body: Body, fresh: Callable[[str], str]) -> Body:
    here = dict(cells)
    out: list[Step] = []
    for name in cells:
        users = [n for n, step in enumerate(body) if name in used(step)]
        if len(users) > 1 and all(_begins(body[n], name) for n in users):
            body, more = _each_its_own(name, users, body, here, fresh)
            here |= more
    for number, step in enumerate(body):
        if isinstance(step, For | If):
            elsewhere = {n for i, s in enumerate(body) if i != number for n in used(s)} | {r.tensor for r in reads_of(step)}
            inside = {n: c for n, c in here.items() if n in used(step) and n not in elsewhere}
            here = {n: c for n, c in here.items() if n not in inside}
            step = replace(step, body=_scoped(inside, step.body, fresh))
        out.append(step)
    return (*here.values(), *out)


def _begins(step: Step, name: str) -> bool:
    """Whether a loop or a choice first writes an array before it looks at it."""
    while isinstance(step, For | If):
        if name in {read.tensor for read in reads_of(step)}:
            return False
        step = next((s for s in step.body if name in used(s)), step.body[0])
        if isinstance(step, Assign):
            return step.target == name and not step.update and name not in {read.tensor for read in reads_of(step)}
    return False


def _each_its_own(
    name: str, users: list[int], body: Body, cells: dict[str, Array], fresh: Callable[[str], str]
) -> tuple[Body, dict[str, Array]]:
    """The body in which each user but the first has an array of its own in the place of one that they all use."""
    out, more = list(body), {}
    for count, number in enumerate(users[1:], 2):
        own = fresh(f"{name}{count}")
        more[own] = replace(cells[name], name=own)
        (out[number],) = moved((out[number],), lambda array, index, own=own: (own if array == name else array, index))  # type: ignore[misc]
    return tuple(out), more


def guarded(guard: Term, body: Body, arrays: Container[str]) -> Body:
    """The body where a guard over indices holds: at each write, if all writes are to arrays of cells, which a prover follows more easily;
    else around all."""
    writes = [s for s in steps(body) if isinstance(s, Assign)]
    if any(reads(guard)) or not all(s.target in arrays for s in writes):
        return (If(guard, body),)

    def each(step: Step) -> Body:
        if isinstance(step, Ghost):
            return (If(guard, (step,)),)
        return (replace(step, guard=conjunction(guard, step.guard)) if isinstance(step, Assign) else step,)

    return map_steps(body, each)


def used(step: Step) -> set[str]:
    """The arrays that a step reads or writes."""
    inner = tuple(steps((step,)))
    return written(inner) | {read.tensor for s in inner for read in reads_of(s)}
