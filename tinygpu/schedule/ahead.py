"""Rows on their way: what the next point reads comes nearer while a core works on this one, and what is written goes past its caches.

    for j < N: y[r, j] = f(j)   ↦   for b < N // B: { prefetch x[r + 1, b·B + q·L] for q < B // L;  for v < B: y[r, b·B + v] = f(b·B + v) }
                                    for j < N % B: …
                                ↦   for b < N // B: { for v < B: t[v] = f(b·B + v);  for v < B past the caches: y[r, b·B + v] = t[v] };  …

Comes in: what is done at a point, and the tensors that are wanted, and those that leave. Goes out: the same, with hints, or with rows that are made in
pieces. The one idea: the first loop along a row waits for memory, those behind it for arithmetic; so one of these has the time to ask for what the
next point waits for. And a line of memory that is written whole has not to be read before.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from tinygpu.category.dtype import BYTES
from tinygpu.category.term import TRUE, App, Axis, Const, Read, Term, Var, reads, substitute
from tinygpu.program.call import Prefetch, Stream
from tinygpu.program.space import LOCAL
from tinygpu.program.step import Array, Assign, For, If, Launch, Step
from tinygpu.program.traverse import map_steps
from tinygpu.record import dataclass, replace
from tinygpu.schedule.nest import SIDE_BY_SIDE, Body, Shapes, heavy, is_long, loops_of, pace, sites, substituted, where

LINE = 64  # bytes that come at once
LINES = 16  # so many are asked for at a time
STORED = "streaming_store"  # the sort of a loop of stores past the caches
WHOLE = ("f32", "f64")  # in memory as they are in registers


@dataclass(frozen=True, slots=True)
class Ahead:
    """What is fetched: of which tensors, which have these shapes, for the point that comes after one along an axis, if there is one; and what is `leaving`."""

    tensors: Collection[str]
    leaving: Collection[str]
    shapes: Shapes
    axis: str
    more: Term
    fresh: Callable[[str], str]

    def moved(self, body: Body) -> Body:
        """`body → body`, each tensor's hints in the first loop along its row that has the time for them, and loops that make a row in pieces."""
        asked: dict[For, list[Read]] = {}
        for tensor in sorted(self.tensors):
            if found := self._place(body, tensor):
                asked.setdefault(found[0], []).append(found[1])

        def each(step: Step) -> Body:
            if isinstance(step, For) and (step in asked or self._leaves(step)):
                return self._in_pieces(step, asked.get(step, ()))
            return (step,)

        return map_steps(body, each)

    def _place(self, body: Body, tensor: str) -> tuple[For, Read] | None:
        """A loop along a row that does not wait for it, and which element of the row its turns are at."""
        inner = [site for site in sites(body) if site.loops and is_long(site.loops[-1].axis) and not heavy(site.loops[-1].body)]
        for number, site in enumerate(inner):
            along = site.loops[-1]
            read = next((r for r in site.reads if r.tensor == tensor and self._rows(r, along.axis)), None)
            later = (s.loops[-1] for s in inner[number + 1 :] if s.step.index)
            if read and (loop := next((one for one in later if one != along and _alike(one, along)), None)):
                own = {along.axis.name: Var(loop.axis.name)}
                return loop, replace(read, index=tuple(substitute(i, own) for i in read.index))
        return None

    def _rows(self, read: Read, along: Axis) -> bool:
        return pace(read, along.name, self.shapes) == SIDE_BY_SIDE and pace(read, self.axis, self.shapes) not in ({}, None)

    def _leaves(self, loop: For) -> bool:
        """Whether it writes a row of what leaves, as long as it likes, and does nothing else."""
        match loop.body:
            case (Assign(target, index, value, "", guard),) if target in self.leaving and guard == TRUE and value.dtype in WHOLE:
                along = pace(Read(target, index, value.dtype), loop.axis.name, self.shapes) == SIDE_BY_SIDE
                return along and loop.start == Const(0) and not isinstance(loop.axis.extent, Const)
        return False

    def _in_pieces(self, loop: For, elements: Sequence[Read]) -> tuple[Step, ...]:
        """A loop in pieces, each of which first asks for what lies there in the next row, and is made before it leaves."""
        axis, piece = loop.axis, LINES * LINE // max((BYTES[e.dtype] for e in elements), default=4)
        extent = axis.extent if isinstance(axis.extent, Var | Const) else App("max", (axis.extent, Const(0)))
        block, begin = Axis(self.fresh("ahead"), extent // piece, "time"), extent // piece * piece
        own = replace(axis, name=self.fresh(f"{axis.name}_in"), extent=Const(piece))
        hints = tuple(self._hints(e, axis.name, Var(block.name) * piece, piece) for e in elements)
        inner = tuple(substituted(s, {axis.name: Var(block.name) * piece + Var(own.name)}) for s in loop.body)
        rest = tuple(substituted(s, {axis.name: begin + Var(axis.name)}) for s in loop.body)
        made = self._leaving(own, inner) if self._leaves(loop) else (For(own, inner),)
        pieces = For(block, (*where(self.more, hints), *made))
        return pieces, For(replace(axis, extent=extent - begin), rest)

    def _leaving(self, own: Axis, inner: Body) -> Body:
        """A piece, made in a row of its own, and then stored."""
        (step,) = inner
        assert isinstance(step, Assign), "it leaves"
        made, at = self.fresh(f"{step.target}_piece"), (Var(own.name),)
        array = Array(made, step.value.dtype, (own.extent,), LOCAL)
        stored = For(replace(own, sort=STORED), (replace(step, value=Read(made, at, step.value.dtype)),))
        return array, For(own, (Assign(made, at, step.value, span=step.span),)), stored

    def _hints(self, element: Read, along: str, begin: Term, piece: int) -> Step:
        """What the next point reads of so many elements, line by line."""
        line = LINE // BYTES[element.dtype]
        asked = Axis(self.fresh("asked"), Const(piece // line), "time")
        there = {along: begin + Var(asked.name) * line, self.axis: Var(self.axis) + 1}
        return For(asked, (Prefetch(replace(element, index=tuple(substitute(i, there) for i in element.index))),))


def without_hints(launch: Launch) -> tuple[frozenset[str], frozenset[str], Launch]:
    """The tensors of which a point asks for its row before it does anything, those that leave, and the launch without hints: where they stand is for a layout to say."""

    def said(body: Body) -> Iterator[Prefetch | Stream]:
        for step in body:
            match step:
                case Prefetch() | Stream():
                    yield step
                case If(_, inner):
                    yield from said(inner)

    def plain(step: Step) -> Body:
        empty = isinstance(step, If | For) and not step.body
        return () if empty or isinstance(step, Prefetch | Stream) else (step,)

    hints = tuple(said(launch.body))
    asked = frozenset(read.tensor for one in hints if isinstance(one, Prefetch) for read in reads(one.element))
    leaving = frozenset(one.tensor for one in hints if isinstance(one, Stream))
    return asked, leaving, replace(launch, body=map_steps(launch.body, plain))


def past_caches(body: Body) -> bool:
    """Whether some loop stores past the caches."""
    return any(loop.axis.sort == STORED for loop in loops_of(body))


def _alike(loop: For, along: For) -> bool:
    """Whether a loop goes as far as another one, from 0."""
    return loop.axis.extent == along.axis.extent and loop.start == along.start == Const(0)
