"""A thread's own loops made into axes of the work object, wherever the iterations do not know of each other.

Comes in: the body of a launch. Goes out: the same body without its register and vector loops (and without time loops that only
stride over a grid), their axes beside those of grid and block. The one idea: a cell `acc[ri, rj]` that is only ever used at its
own loop variables is one scalar of a smaller thread, so a register tile and one element a thread are one program on a CPU.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.category.term import TRUE, Axis, Read, Term, Var, rebuild, variables, walk
from tinygpu.program.step import Array, Assign, For, Ghost, If, Step, arrays_in, steps
from tinygpu.record import dataclass, replace


@dataclass(frozen=True, slots=True)
class Site:
    """An assignment, the loops around it and the guards over it, outermost first."""

    step: Assign
    loops: tuple[For, ...]
    guards: tuple[Term, ...]

    @property
    def terms(self) -> tuple[Term, ...]:
        """Everything that is evaluated for it, the target's own index included."""
        return (*self.guards, self.step.guard, *self.step.index, self.step.value)

    def within(self, name: str) -> bool:
        return any(loop.axis.name == name for loop in self.loops)


def sites(body: tuple[Step, ...], loops: tuple[For, ...] = (), guards: tuple[Term, ...] = ()) -> Iterator[Site]:
    """Every assignment of a body, in order."""
    for step in body:
        match step:
            case Assign():
                yield Site(step, loops, guards)
            case For(_, inner):
                yield from sites(inner, (*loops, step), guards)
            case If(guard, inner):
                yield from sites(inner, loops, (*guards, guard))


def tensor_reads(site: Site) -> Iterator[Read]:
    """Every read of a site, of tensors and of cells."""
    for term in site.terms:
        yield from (t for t in walk(term) if isinstance(t, Read))


def lift(body: tuple[Step, ...], outputs: frozenset[str]) -> tuple[tuple[Axis, ...], tuple[Step, ...]]:
    """`body → (axes, body without their loops)`; nothing is lifted where a thread reads what it has stored.

    >>> from tinygpu.category.term import Const, text
    >>> v, x = Var("v"), Read("x", (Var("v"),), "f32")
    >>> axes, rest = lift((For(Axis("v", Const(4), "vector"), (Assign("z", (v,), x),)),), frozenset({"z"}))
    >>> [(a.name, text(a.extent)) for a in axes], rest == (Assign("z", (v,), x),)
    ([('v', '4')], True)
    """
    axes: list[Axis] = []
    if any(read.tensor in outputs for site in sites(body) for read in tensor_reads(site)):
        return (), body
    if any(site.step.update and site.step.target in outputs for site in sites(body)):
        return (), body
    while True:  # again and again: a cell that has lost a dimension may free the loop around it
        names = dict.fromkeys(s.axis.name for s in steps(body) if isinstance(s, For))
        axis = next((axis for name in names if (axis := _liftable(body, name, outputs))), None)
        if axis is None:
            return tuple(axes), body
        axes.append(axis)
        body = _drop(body, axis, {local: d for local, d in _dimensions(body, axis).items() if d is not None})


def _liftable(body: tuple[Step, ...], name: str, outputs: frozenset[str]) -> Axis | None:
    """The axis, if its loops are independent: stores stand inside, cells are expanded, invariant or the iteration's own."""
    loops = [s for s in steps(body) if isinstance(s, For) and s.axis.name == name]
    axis = loops[0].axis
    if any(other.axis.extent != axis.extent or (other.axis.sort == "time") != (axis.sort == "time") for other in loops):
        return None
    if any(isinstance(s, For) and s.axis.name == name for loop in loops for s in steps(loop.body)):
        return None
    for site in sites(body):
        if not site.within(name) and (axis.sort == "time" or site.step.target in outputs):
            return None
        if site.step.target in outputs and not any(name in variables(t) for t in site.step.index):
            return None  # stored again and again: the last one counts, so the order does
    if axis.sort != "time" and _repeats_time(body, name):
        return None
    return axis if all(d is not None or _private(body, name, local) for local, d in _dimensions(body, axis).items()) else None


def _repeats_time(body: tuple[Step, ...], name: str) -> bool:
    """Whether a time loop would be run again for every iteration of the lifted loop: one that stands neither around nor inside it."""
    for step in body:
        match step:
            case For(axis, _) if axis.name == name:
                continue
            case For(axis, inner):
                if axis.sort == "time" and not any(isinstance(s, For) and s.axis.name == name for s in steps(inner)):
                    return True
                if _repeats_time(inner, name):
                    return True
            case If(_, inner):
                if _repeats_time(inner, name):
                    return True
    return False


def _dimensions(body: tuple[Step, ...], axis: Axis) -> dict[str, int | None]:
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
    yield from (read.index for read in tensor_reads(site) if read.tensor == name)


def _private(body: tuple[Step, ...], name: str, local: str) -> bool:
    """Whether a cell without that dimension may be copied for each iteration: never written inside, or only used inside
    one loop whose first touch is a plain write."""
    inside = [site for site in sites(body) if site.within(name) and any(True for _ in _accesses(site, local))]
    if not any(site.step.target == local for site in inside):
        return not inside or all(name not in variables(t) for site in inside for i in _accesses(site, local) for t in i)
    everywhere = [site for site in sites(body) if any(True for _ in _accesses(site, local))]
    loops = {id(loop): loop for site in inside for loop in site.loops if loop.axis.name == name}
    if len(loops) != 1 or len(everywhere) != len(inside):
        return False
    (loop,) = loops.values()
    if any(s.name == local for s in arrays_in(loop.body)):
        return True
    first = inside[0]
    plain = first.step.target == local and not first.step.update and first.step.guard == TRUE and not first.step.index
    around = [id(loop) for loop in first.loops]
    always = all(
        [id(loop) for loop in site.loops[: len(around)]] == around and site.guards[: len(first.guards)] == first.guards
        for site in inside
    )
    return plain and always and all(read.tensor != local for read in tensor_reads(first))


def _drop(body: tuple[Step, ...], axis: Axis, dimensions: dict[str, int]) -> tuple[Step, ...]:
    """The body with the axis's loops opened and the dimensions that it ran over gone."""

    def term(t: Term) -> Term:
        t = rebuild(t, term)
        return replace(t, index=_cut(t.index, dimensions.get(t.tensor))) if isinstance(t, Read) else t

    out: list[Step] = []
    for step in body:
        match step:
            case For(own, inner) if own.name == axis.name:
                out.extend(_drop(inner, axis, dimensions))
            case For(own, inner):
                out.append(replace(step, body=_drop(inner, axis, dimensions)))
            case If(guard, inner):
                out.append(replace(step, guard=term(guard), body=_drop(inner, axis, dimensions)))
            case Array(name, _, extents, owner="thread"):
                out.append(replace(step, extents=_cut(extents, dimensions.get(name))))
            case Assign(target, index, value, _, guard):
                cut = _cut(tuple(map(term, index)), dimensions.get(target))
                out.append(replace(step, index=cut, value=term(value), guard=term(guard)))
            case Ghost():
                pass
    return tuple(out)


def _cut(items: tuple[Term, ...], dimension: int | None) -> tuple[Term, ...]:
    return items if dimension is None else items[:dimension] + items[dimension + 1 :]
