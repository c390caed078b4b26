"""Shuffles in closed form: the value of a thread and that of another one as a fold over the two.

    shuffle(v, f)(t) = v(f(t))          v ⊕ v∘(lane ^ 2ᵇ) = ⊕[e < 2] v(lane with its bit b replaced by e)        ⊕ commutative
    v ⊕ v∘(lane + d) = ⊕[e < 2] v(lane + e·d)    where lane + d is a lane

Comes in: a term over the threads in which every local cell is replaced by its value. Goes out: the term without shuffles. The one idea: a butterfly is
a fold over its bits, so that the result does not depend on the lane once every bit was met.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from tinygpu.category.cancel import cancel
from tinygpu.category.layout import PLAIN, address, strides
from tinygpu.category.monoid import of_op
from tinygpu.category.owner import cut
from tinygpu.category.term import (
    FLOATS,
    INTEGERS,
    SHUFFLES,
    TRUE,
    App,
    Axis,
    Const,
    Fold,
    Term,
    Var,
    lift,
    memoised,
    rebuild,
    select,
    shuffled,
    substitute,
    walk,
)
from tinygpu.obligations.made import known_as
from tinygpu.record import dataclass

WARP = 32
LONG = 500  # parts of a value


@dataclass(frozen=True, slots=True)
class Threads:
    """The threads of a block by their axes, slowest first: thread `Σ strideₐ · a`, lane `thread % 32`."""

    axes: tuple[Axis, ...]

    @property
    def places(self) -> tuple[tuple[Axis, int | None, int], ...]:
        """Each axis with its extent, and the distance of neighbours along it, in threads. The extent of the slowest one may be no number, None here;
        where that of another one is none, there are no places."""
        extents = [int(a.extent.value) if isinstance(a.extent, Const) else None for a in self.axes]
        if None in extents[1:]:
            return ()
        return tuple(zip(self.axes, extents, strides((Const(1), *self.extents[1:])), strict=True)) if self.axes else ()

    @property
    def extents(self) -> tuple[Term, ...]:
        """Of the axes."""
        return tuple(a.extent for a in self.axes)

    @property
    def flat(self) -> Term:
        """The number of the thread."""
        return address(self.extents, PLAIN, tuple(Var(a.name) for a in self.axes))

    @property
    def warps(self) -> tuple[Term, Term]:
        """The warp of a thread and its lane, by the axes that make them where whole axes do.

        >>> from tinygpu.category.term import text
        >>> [text(t) for t in Threads((Axis("w", lift(4)), Axis("lane", lift(32)))).warps], [text(t) for t in Threads((Axis("t", lift(64)),)).warps]
        (['w', 'lane'], ['t // 32', 't % 32'])
        """
        high: Term = lift(0)
        low: Term = lift(0)
        if self.axes and not self.places:
            return self.flat // WARP, self.flat % WARP
        for axis, extent, stride in self.places:
            if stride % WARP == 0:
                high = high + Var(axis.name) * (stride // WARP)
            elif extent is not None and WARP % stride == 0 and (stride * extent <= WARP or extent * stride % WARP == 0):
                lanes = WARP // stride
                low = low + (Var(axis.name) if extent <= lanes else Var(axis.name) % lanes) * stride
                high = high + (lift(0) if extent <= lanes else Var(axis.name) // lanes)
            else:
                return self.flat // WARP, self.flat % WARP
        return high, low

    def at(self, thread: Term) -> dict[str, Term]:
        """The axes of the thread with that number."""
        return dict(zip((a.name for a in self.axes), cut(thread, self.axes), strict=True))

    def bit(self, distance: int) -> tuple[Axis, int] | None:
        """The axis, and the distance along it, of the bit of the thread's number that is worth `distance`; None where no axis has it.

        >>> threads = Threads((Axis("w", lift(4)), Axis("lane", lift(32))))
        >>> [(a.name, d) for a, d in (threads.bit(16), threads.bit(32))]
        [('lane', 16), ('w', 1)]
        """
        for axis, extent, stride in self.places:
            if (
                extent is not None
                and stride <= distance < stride * extent
                and distance % stride == 0
                and extent % (2 * (distance // stride)) == 0
            ):
                below = distance // stride
                return (axis, below) if below & (below - 1) == 0 and stride & (stride - 1) == 0 else None
        return None


def distances(term: Term) -> Iterator[Term]:
    """How many lanes shuffles in a term go up, down, or across; the number of a lane is taken modulo 32."""
    yield from (t.args[1] for t in walk(term) if isinstance(t, App) and t.op in SHUFFLES and t.op != "shuffle_idx")


@memoised
def exchanged(term: Term, threads: Threads, around: frozenset[str]) -> Term:
    """The term with every shuffle replaced by the other thread's value. `around` are the axes on which a value there may depend: also on those
    of loops, since what a turn begins with is not known yet."""
    if not shuffled(term):
        return term
    match term:
        case App(op, (value, where)) if op in SHUFFLES:
            return moved(op, exchanged(value, threads, around), where, threads)
        case App("and", (*own, shuffle), dtype) if len(own) > 1 and _is_shuffle(
            shuffle
        ):  # conjunctions are flat, also where own is one
            if (pair := paired("and", App("and", tuple(own), dtype), shuffle, threads, around)) is not None:
                return pair
        case App(op, (a, b)) if (pair := paired(op, a, b, threads, around)) is not None:
            return known_as(pair, term, around)
    return rebuild(term, lambda t: exchanged(t, threads, around))


def moved(op: str, value: Term, where: Term, threads: Threads) -> Term:
    """The value of the lane that a shuffle names; the own value where there is none."""
    warp, lane = threads.warps
    match op, where:
        case "shuffle_xor", Const(int(distance)) if 0 < distance < WARP and (found := threads.bit(distance)) is not None:
            axis, below = found
            own = Var(axis.name)
            return substitute(value, {axis.name: own + below - own // below % 2 * (2 * below)})
        case "shuffle_xor", _:
            return substitute(value, threads.at(warp * WARP + (lane ^ where)))
        case "shuffle_idx", _:
            return substitute(value, threads.at(warp * WARP + where % WARP))
    far = lane + where if op == "shuffle_down" else lane - where
    exists = far < WARP if op == "shuffle_down" else far >= 0
    return select(exists, substitute(value, along(op, where, threads)), value)


def along(op: str, where: Term, threads: Threads) -> dict[str, Term]:
    """The thread `where` lanes up or down, by its axes; the last axis alone moves where it holds whole warps."""
    last = threads.axes[-1]
    if isinstance(last.extent, Const) and int(last.extent.value) % WARP == 0:
        own = Var(last.name)
        return {last.name: own + where if op == "shuffle_down" else own - where}
    return threads.at(threads.flat + where if op == "shuffle_down" else threads.flat - where)


def paired(op: str, a: Term, b: Term, threads: Threads, around: frozenset[str]) -> Term | None:
    """`v ⊕ shuffle(v, …)` as a fold over two threads, where the shuffle is one of a reduction."""
    monoid = of_op(op)
    other, own = (b, a) if _is_shuffle(b) else (a, b)
    if monoid is None or not _is_shuffle(other) or not monoid.accepts(own.dtype):
        return None
    assert isinstance(other, App)
    value, where = other.args
    if not alike(exchanged(value, threads, around), own := exchanged(own, threads, around)) or not isinstance(where, Const):
        return None
    distance = int(where.value)
    if other.op == "shuffle_xor" and monoid.commutative and (found := threads.bit(distance)) is not None:
        axis, below = found
        x, e = Var(axis.name), Var(f"{axis.name}.{distance}")
        flipped = substitute(own, {axis.name: x // (2 * below) * (2 * below) + e * below + x % below})
        return Fold(monoid, (Axis(e.name, lift(2), "block"),), TRUE, flipped, own.dtype)
    if other.op == "shuffle_down" and b is other:
        e = Var(f"{threads.axes[-1].name}.{distance}")
        there = substitute(own, along(other.op, e * distance, threads))
        both = Fold(monoid, (Axis(e.name, lift(2), "block"),), TRUE, there, own.dtype)
        alone = own if monoid.idempotent else Fold(monoid, both.axes, TRUE, own, own.dtype)
        return select(threads.warps[1] + distance < WARP, both, alone)
    return None


def alike(a: Term, b: Term) -> bool:
    """Whether two values are the same, integers also after something was added and taken away; that is not asked of long ones, nor where a
    float decides."""
    parts = [tuple(islice(walk(t), LONG + 1)) for t in (a, b)] if a != b and a.dtype in INTEGERS else []
    return a == b or (
        bool(parts) and all(len(p) <= LONG and not any(t.dtype in FLOATS for t in p) for p in parts) and cancel(a) == cancel(b)
    )


def _is_shuffle(term: Term) -> bool:
    return isinstance(term, App) and term.op in SHUFFLES
