"""Points that run long loops, many of them side by side: a strip of lanes steps through each loop together.

    for lane: { s = 0; for k: s += x[k, lane]; y[lane] = s }   ↦   for lane: s[lane] = 0;  for k: for lane: s[lane] += x[k, lane];  …

Comes in: the body of a point, the axis of lanes. Goes out: steps in which a cell of the point is an array over the strip.
The one idea: points are independent, so the long loop may be outermost and the lanes innermost, where memory is contiguous.
"""

from __future__ import annotations

from tinygpu.category.term import TRUE, Axis, Read, Term, Var, conjunction, rebuild, variables
from tinygpu.program.step import Array, Assign, For, If, Step, arrays_in, steps
from tinygpu.record import dataclass, replace
from tinygpu.schedule.access import SIDE_BY_SIDE, Shapes, heavy, is_long, memory_reads, pace
from tinygpu.schedule.lift import sites, tensor_reads
from tinygpu.schedule.scope import guarded

STRIP = 64


def strips(body: tuple[Step, ...], lane: Axis, shapes: Shapes) -> bool:
    """Whether the long loops read along the lane, and all cells are scalars."""
    if any(s.extents for s in arrays_in(body)):
        return False
    if any(lane.name in variables(s.axis.extent) for s in steps(body) if isinstance(s, For)):
        return False  # the lanes of a strip step together
    long = [site for site in sites(body) if any(is_long(loop.axis) for loop in site.loops)]
    paces = [pace(r, lane.name, shapes) for site in long for r in dict.fromkeys(memory_reads(site.terms, shapes))]
    moving = [p for p in paces if p != {}]
    return bool(moving) and all(p in (SIDE_BY_SIDE, {(): -1}) for p in moving)


@dataclass(frozen=True, slots=True)
class Strip:
    """The axis over the lanes of a strip, the conditions that each point is under, and the cells that are arrays over it."""

    lane: Axis
    guard: Term
    cells: frozenset[str]

    def steps(self, body: tuple[Step, ...]) -> tuple[Step, ...]:
        """Long loops around loops over the strip; what runs short stands together in one."""
        out: list[Step] = []
        together: list[Step] = []

        def close() -> None:
            if any(isinstance(s, Assign | For | If) for s in together):
                out.append(For(self.lane, guarded(self.guard, tuple(map(self._own, together)), self.cells)))
            together.clear()

        for step in body:
            match step:
                case Array(owner="thread"):
                    continue
                case For(_, inner) if heavy((step,)):
                    close()
                    out.append(replace(step, body=self.steps(inner)))
                case If(guard, inner) if heavy((step,)):
                    close()
                    out.extend(replace(self, guard=conjunction(self.guard, guard)).steps(inner))
                case _:
                    together.append(step)
        close()
        return tuple(out)

    def _own(self, step: Step) -> Step:
        """The step at the lane's cells."""
        match step:
            case Assign(target, _, value, _, guard):
                index = (Var(self.lane.name),) if target in self.cells else tuple(map(self._term, step.index))
                return replace(step, index=index, value=self._term(value), guard=self._term(guard))
            case For(_, inner):
                return replace(step, body=tuple(map(self._own, inner)))
            case If(guard, inner):
                return replace(step, guard=self._term(guard), body=tuple(map(self._own, inner)))
        return step

    def _term(self, term: Term) -> Term:
        term = rebuild(term, self._term)
        return replace(term, index=(Var(self.lane.name),)) if isinstance(term, Read) and term.tensor in self.cells else term


def lasting(body: tuple[Step, ...]) -> frozenset[str]:
    """All cells but those that one innermost long loop writes before it reads, and nothing else uses."""
    cells = {s.name for s in arrays_in(body, "thread")}
    for name in sorted(cells):
        users = [s for s in sites(body) if s.step.target == name or any(r.tensor == name for r in tensor_reads(s))]
        around = {tuple(id(loop) for loop in s.loops if is_long(loop.axis)) for s in users}
        if len(around) != 1 or around == {()}:
            continue
        loop = [loop for loop in users[0].loops if is_long(loop.axis)][-1]
        first = users[0].step
        plain = first.target == name and not first.update and first.guard == TRUE and not users[0].guards
        if plain and not heavy(loop.body):
            cells.discard(name)
    return frozenset(cells)
