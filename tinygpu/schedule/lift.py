"""What a thread has for itself alone, made less: loops become axes of the work object, and copies of inputs become the inputs.

    for v < 4: { c[v] = x[4·t + v];  y[4·t + v] = c[v] }   ↦   axis v:  y[4·t + v] = x[4·t + v]

Comes in: the body of a launch. Goes out: the same body without its register and vector loops (and without time loops that only stride over a grid),
their axes beside those of grid and block; and without arrays that only repeat an input. The one idea: a cell `acc[ri, rj]` that is only ever used at
its own loop variables is one scalar of a smaller thread, so a register tile and one element a thread are one program on a CPU; and inputs do not
change during a launch, so what was copied may be read where it lies, where no copy keeps a compiler from making vectors.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.category.term import TRUE, Axis, Read, Term, Var, substitute, variables
from tinygpu.program.step import Array, Assign, For, Ghost, Step, arrays_in
from tinygpu.program.traverse import map_steps, walk_steps
from tinygpu.record import replace
from tinygpu.schedule.nest import Body, Site, change_reads, loops_of, moved, sites


def lift(body: Body, outputs: frozenset[str]) -> tuple[tuple[Axis, ...], Body]:
    """`body → (axes, body without their loops)`; nothing is lifted where a thread reads what it has stored."""
    axes: list[Axis] = []
    for site in sites(body):
        if (site.step.update and site.step.target in outputs) or any(site.looks_at(name) for name in outputs):
            return (), body
    while True:  # again and again: a cell that has lost a dimension may free the loop around it
        names = dict.fromkeys(loop.axis.name for loop in loops_of(body))
        axis = next((axis for name in names if (axis := _liftable(body, name, outputs))), None)
        if axis is None:
            return tuple(axes), body
        axes.append(axis)
        body = _without(body, axis, {local: d for local, d in _dimensions(body, axis).items() if d is not None})


def _liftable(body: Body, name: str, outputs: frozenset[str]) -> Axis | None:
    """The axis, if its loops are independent: stores stand inside, cells are expanded, invariant or the iteration's own."""
    loops = [loop for loop in loops_of(body) if loop.axis.name == name]
    axis = loops[0].axis
    if any(other.axis.extent != axis.extent or (other.axis.sort == "time") != (axis.sort == "time") for other in loops):
        return None
    if any(inner.axis.name == name for loop in loops for inner in loops_of(loop.body)):
        return None
    for site in sites(body):
        if not site.within(name) and (axis.sort == "time" or site.step.target in outputs):
            return None
        if site.step.target in outputs and not any(name in variables(t) for t in site.step.index):
            return None  # stored again and again: the last one counts, so the order does
    around = (
        (loop, {loop.axis.name, *here.names, *(i.axis.name for i in loops_of(loop.body))})
        for loop, here, _ in walk_steps(body)
        if isinstance(loop, For)
    )
    if axis.sort != "time" and any(loop.axis.sort == "time" and name not in names for loop, names in around):
        return None  # a time loop that stands neither around nor inside would be run again for every iteration
    return axis if all(d is not None or _private(body, name, local) for local, d in _dimensions(body, axis).items()) else None


def _dimensions(body: Body, axis: Axis) -> dict[str, int | None]:
    """For each local array, the dimension that is only ever used at the axis, inside its loops."""
    out: dict[str, int | None] = {}
    for local in arrays_in(body, "thread"):
        used = [(i, site.within(axis.name)) for site in sites(body) for i in _accesses(site, local.name)]
        fits = (
            d
            for d, extent in enumerate(local.extents)
            if extent == axis.extent and all(inside and index[d] == Var(axis.name) for index, inside in used)
        )
        out[local.name] = next(fits, None)
    return out


def _accesses(site: Site, name: str) -> Iterator[tuple[Term, ...]]:
    if site.step.target == name:
        yield site.step.index
    yield from (read.index for read in site.reads if read.tensor == name)


def _private(body: Body, name: str, local: str) -> bool:
    """Whether a cell without that dimension may be copied for each iteration: never written inside, or only used inside
    one loop whose first touch is a plain write."""
    everywhere = [site for site in sites(body) if site.touches(local)]
    inside = [site for site in everywhere if site.within(name)]
    if not any(site.step.target == local for site in inside):
        return all(name not in variables(t) for site in inside for i in _accesses(site, local) for t in i)
    loops = {id(loop): loop for site in inside for loop in site.loops if loop.axis.name == name}
    if len(loops) != 1 or len(everywhere) != len(inside):
        return False
    (loop,) = loops.values()
    first = inside[0]
    return any(s.name == local for s in arrays_in(loop.body)) or (
        first.sets(local) and all(_begins(first, site) for site in inside)
    )


def _begins(first: Site, site: Site) -> bool:
    """Whether one site stands in the loops and under the guards of another."""
    around = [id(loop) for loop in first.loops]
    return [id(loop) for loop in site.loops[: len(around)]] == around and site.guards[: len(first.guards)] == first.guards


def _without(body: Body, axis: Axis, dimensions: dict[str, int]) -> Body:
    """The body with the axis's loops opened and the dimensions that it ran over gone."""

    def cut(name: str, items: tuple[Term, ...]) -> tuple[Term, ...]:
        dimension = dimensions.get(name)
        return items if dimension is None else items[:dimension] + items[dimension + 1 :]

    def each(step: Step) -> Body:
        match step:
            case For(own, inner) if own.name == axis.name:
                return inner
            case Array(name, _, extents):
                return (replace(step, extents=cut(name, extents)),)
        return (step,)

    return map_steps(moved(body, lambda name, index: (name, cut(name, index))), each)


def without_copies(body: Body, inputs: frozenset[str]) -> Body:
    """`body → body` without the local arrays that are written once, from inputs, before every read."""
    for local in [s for s in arrays_in(body, "thread") if s.extents]:
        writer = _only_writer(body, local, inputs)
        if writer is not None:
            body = _replaced(body, local.name, writer)
    return body


def _only_writer(body: Body, local: Array, inputs: frozenset[str]) -> Assign | None:
    """The one plain assignment that fills the array before every read, if its value is the same wherever it is read."""
    users = [site for site in sites(body) if site.touches(local.name)]
    if sum(site.step.target == local.name for site in users) != 1 or users[0].step.target != local.name:
        return None
    writer, *readers = users
    step = writer.step
    if step.update or step.guard != TRUE or any(read.tensor not in inputs for read in writer.reads):
        return None
    if any(not isinstance(t, Var) for t in step.index) or len(set(step.index)) != len(step.index):
        return None
    return step if all(_same(writer, site, local) for site in readers) else None


def _same(writer: Site, reader: Site, local: Array) -> bool:
    """Whether the writer ran for this reader: under no guard of its own, and in no loops of its own but those over the array."""
    if reader.guards[: len(writer.guards)] != writer.guards:
        return False
    common = {id(loop) for loop in reader.loops}
    own = {loop.axis.name: loop.axis.extent for loop in writer.loops if id(loop) not in common}
    filled = {t.name: extent for t, extent in zip(writer.step.index, local.extents, strict=True) if isinstance(t, Var)}
    return own == filled


def _replaced(body: Body, name: str, writer: Assign) -> Body:
    """The body without the array: reads become the value at their index."""

    def value(read: Read) -> Term:
        if read.tensor != name:
            return read
        return substitute(writer.value, {v.name: i for v, i in zip(writer.index, read.index, strict=True) if isinstance(v, Var)})

    def each(step: Step) -> Body:
        match step:
            case Array(own) | Assign(own) | Ghost(own) if own == name:
                return ()
            case For(_, ()):
                return ()
        return (step,)

    return map_steps(change_reads(body, value), each)
