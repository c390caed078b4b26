"""Who wrote a cell: the inverse of the index that is written, and the claims that make it one.

    index⁻¹(index(w)) = w   for every writer w         or      index(w) = index(w'), both write  ⊢  w = w'

Comes in: an assignment, a cell. Goes out: the axes of its only possible writer. The one idea: how an inverse is found does not matter, as it
is claimed to give back every writer; that the writer does write the cell is asked where it is used.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tinygpu.replay.cells import Path, Text
from tinygpu.replay.inverse import equations_in, inverse
from tinygpu.replay.ir import FALSE, Axis, Env, Num, Term, Var, both, compare, conjuncts, free, put
from tinygpu.replay.judge import Place, Stuck
from tinygpu.replay.linear import Ranges
from tinygpu.replay.program import Assign

if TYPE_CHECKING:
    from tinygpu.replay.execute import Execution


def writer(
    run: Execution, text: Text, path: Path, index: tuple[Term, ...], over: tuple[Axis, ...], env: Env, *turns: tuple[str, Term]
) -> dict[str, Term]:
    """The axes of the one writer of a cell, by the inverse of the index that is written; that there is no other one is claimed."""
    step = text.step(path)
    assert isinstance(step, Assign)
    own = {a.name for a in over}
    around = text.around(path)
    plain = {a.name: Var(a.name) for a in around}
    shape = extents(run, text, step.target)
    cells = tuple(Axis(run.judge.names.fresh("cell"), e) for e in shape)
    targets = run.target(text, path, step, plain)
    equations: list[tuple[Term, Term]] = [(t, Var(c.name)) for t, c in zip(targets, cells, strict=True)]
    equations += equations_in(conjuncts(run.condition(text, path, plain)), own)
    ranges = Ranges.of((*(a for a in around if a.name not in own), *cells), run.judge.machine.op.sizes)
    found = only(run, text, path, step, over, cells, guesses(run, text, over, equations, ranges))
    values = {**env, **{c.name: i for c, i in zip(cells, index, strict=True)}}
    return {name: put(term, {n: values[n] for n in free(term) & set(values)}) for name, term in found.items()}


def extents(run: Execution, text: Text, array: str) -> tuple[Term, ...]:
    """The shape of an array."""
    machine = run.judge.machine
    shapes = {a.name: a.extents for a in (*machine.workspaces, *text.launch.arrays)}
    return shapes[array] if array in shapes else next(t.shape for t in machine.op.outputs if t.name == array)


def guesses(
    run: Execution, text: Text, over: tuple[Axis, ...], equations: list[tuple[Term, Term]], ranges: Ranges
) -> Iterator[Env]:
    """Inverses: with the threads as one number, alone or with loops around or inside as its slower or faster digits."""
    block = tuple(a for a in text.launch.block if a in over)
    loops = tuple(a for a in over if a not in text.launch.block and isinstance(a.extent, Num))
    for number in range(len(loops) + 1):
        found = inverse(over, equations, (*loops[:number], *block), ranges)
        if found is not None:
            yield found


def only(
    run: Execution, text: Text, path: Path, step: Assign, over: tuple[Axis, ...], cells: tuple[Axis, ...], guesses: Iterator[Env]
) -> Env:
    """The inverse that gives back every writer: so there is one for each cell, which is claimed."""
    key = (path, text.launch.number, over)
    if key not in run.unique:
        kind = run.judge.kind, run.judge.code, run.judge.sentence
        run.judge.about("once", "TG202", f"no two workers or turns write one cell of {step.target}", step.span)
        plain = {a.name: Var(a.name) for a in text.around(path)}
        place = Place(text.around(path))
        place = place.under(run.resolve(run.condition(text, path, plain), place))
        written = run.target(text, path, step, plain)
        values = {c.name: run.resolve(i, place) for c, i in zip(cells, written, strict=True)}
        first: Env | None = None
        for found in guesses:
            first = first or found
            goal = both(*(compare("eq", put(found[a.name], values), Var(a.name)) for a in over))
            if run.judge.decide(place, goal):
                first = found
                run.judge.best((place, goal), twice(run, text, path, over, place, written))
                break
        else:
            run.judge.state(
                place, both(*(compare("eq", put(first[a.name], values), Var(a.name)) for a in over)) if first else FALSE
            )
        if first is None:
            raise Stuck(f"no inverse was found of the index at which {step.target} is written")
        run.judge.kind, run.judge.code, run.judge.sentence = kind
        run.unique[key] = first, cells
    known, names = run.unique[key]
    return {n: put(t, {old.name: Var(new.name) for old, new in zip(names, cells, strict=True)}) for n, t in known.items()}


def twice(
    run: Execution, text: Text, path: Path, over: tuple[Axis, ...], place: Place, written: tuple[Term, ...]
) -> tuple[Place, Term]:
    """The same said of two writers of one cell: they are one."""
    axes, other = run.fresh(over, {a.name: Var(a.name) for a in text.around(path)})
    there = place.inside(*axes)
    guard = run.resolve(run.condition(text, path, other), there)
    step = text.step(path)
    assert isinstance(step, Assign)
    cells = (run.resolve(i, there) for i in run.target(text, path, step, other))
    met = [compare("eq", run.resolve(a, there), b) for a, b in zip(written, cells, strict=True)]
    return there.under(guard, *met), both(*(compare("eq", Var(a.name), other[a.name]) for a in over))
