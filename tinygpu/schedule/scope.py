"""Where the cells of a program that was read are declared, and under which names.

Comes in: cells and steps. Goes out: steps with each cell declared around all of its uses, or in each loop that uses it for itself; steps
with other places or guards. The one idea: what a cell held before, nobody may see, which is proved of a declared one; so a narrow scope
hides nothing, and loops that carry nothing from one to the other are seen to.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from typing import TypeAlias

from tinygpu.category.term import Axis, Read, Term, conjunction, reads, rebuild
from tinygpu.diagnostic import Span
from tinygpu.program.step import Assign, For, If, Local, Step, steps
from tinygpu.record import replace

Rename: TypeAlias = Callable[[str, tuple[Term, ...]], tuple[str, tuple[Term, ...]]]


def declared(body: tuple[Step, ...], fresh: Callable[[str], str]) -> tuple[Step, ...]:
    """`body → body` with each of its cells declared where all of its uses are."""
    cells = {s.name: s for s in steps(body) if isinstance(s, Local)}
    return scoped(cells, _bare(body), fresh)


def _bare(body: tuple[Step, ...]) -> tuple[Step, ...]:
    return tuple(replace(s, body=_bare(s.body)) if isinstance(s, For | If) else s for s in body if not isinstance(s, Local))


def scoped(cells: dict[str, Local], body: tuple[Step, ...], fresh: Callable[[str], str] = lambda name: name) -> tuple[Step, ...]:
    """Each array declared where all of its uses are: what it held before, nobody sees, which is proved of a declared one.

    One that several loops use, each for itself, is declared in each of them, under names of their own.
    """
    here = dict(cells)
    out: list[Step] = []
    for name in cells:
        users = [n for n, step in enumerate(body) if name in used(step) or name in _named(step)]
        if len(users) > 1 and all(begins(body[n], name) for n in users):
            body, more = _each_its_own(name, users, body, here, fresh)
            here |= more
    for number, step in enumerate(body):
        if isinstance(step, For | If):
            elsewhere = {n for i, s in enumerate(body) if i != number for n in used(s)}
            elsewhere |= _named(step)
            inside = {n: c for n, c in here.items() if n in set(used(step)) and n not in elsewhere}
            here = {n: c for n, c in here.items() if n not in inside}
            step = replace(step, body=scoped(inside, step.body, fresh))
        out.append(step)
    return (*here.values(), *out)


def _named(step: Step) -> set[str]:
    """The arrays that a loop's or a choice's own head reads."""
    match step:
        case For(Axis(extent=term)) | If(term):
            return {r.tensor for r in reads(term)}
    return set()


def begins(step: Step, name: str) -> bool:
    """Whether a loop or a choice first writes an array before it looks at it."""
    while isinstance(step, For | If):
        if name in _named(step):
            return False
        step = next((s for s in step.body if name in used(s) or name in _named(s)), step.body[0])
        if isinstance(step, Assign):
            seen = {r.tensor for t in (*step.index, step.value, step.guard) for r in reads(t)}
            return step.target == name and not step.update and name not in seen
    return False


def _each_its_own(
    name: str, users: list[int], body: tuple[Step, ...], cells: dict[str, Local], fresh: Callable[[str], str]
) -> tuple[tuple[Step, ...], dict[str, Local]]:
    """The body in which each user but the first has an array of its own in the place of one that they all use."""
    out, more = list(body), {}
    for count, number in enumerate(users[1:], 2):
        own = fresh(f"{name}{count}") if fresh(name) != name else f"{name} {count}"
        while own in cells or own in more:
            own += "'"
        more[own] = replace(cells[name], name=own)
        out[number] = changed(out[number], _called(name, own))
    return tuple(out), more


def _called(name: str, own: str) -> Rename:
    """A place in an array of another name."""
    return lambda n, index: (own if n == name else n, index)


def changed(step: Step, place: Rename) -> Step:
    """A step with other places in the place of those that it reads and writes."""

    def put(term: Term) -> Term:
        match term:
            case Read(name, index):
                name, index = place(name, index)
                return replace(term, tensor=name, index=tuple(map(put, index)))
        return rebuild(term, put)

    match step:
        case Assign(target, index, value, _, guard):
            target, index = place(target, index)
            return replace(step, target=target, index=tuple(map(put, index)), value=put(value), guard=put(guard))
        case For(axis, inner):
            axis = replace(axis, extent=put(axis.extent))
            return replace(step, axis=axis, body=tuple(changed(s, place) for s in inner))
        case If(guard, inner):
            return replace(step, guard=put(guard), body=tuple(changed(s, place) for s in inner))
    return step


def guarded(guard: Term, body: tuple[Step, ...], arrays: Container[str], span: Span) -> tuple[Step, ...]:
    """The body where a guard over indices holds: at each write, if all writes are to arrays of cells; else around all."""
    if not any(reads(guard)) and all(_to_arrays(s, arrays) for s in body):
        return tuple(_under(guard, s) for s in body)
    return (If(guard, body, span),)


def _to_arrays(step: Step, arrays: Container[str]) -> bool:
    match step:
        case Assign():
            return step.target in arrays
        case For(_, body) | If(_, body):
            return all(_to_arrays(s, arrays) for s in body)
    return False


def _under(guard: Term, step: Step) -> Step:
    match step:
        case Assign():
            return replace(step, guard=conjunction(guard, step.guard))
        case For(_, body) | If(_, body):
            return replace(step, body=tuple(_under(guard, s) for s in body))
    return step


def used(step: Step) -> Iterator[str]:
    """The arrays that a step reads or writes."""
    match step:
        case Assign():
            yield step.target
            yield from (r.tensor for t in (*step.index, step.value, step.guard) for r in reads(t))
        case For(_, body):
            yield from (name for s in body for name in used(s))
        case If(guard, body):
            yield from (r.tensor for r in reads(guard))
            yield from (name for s in body for name in used(s))
