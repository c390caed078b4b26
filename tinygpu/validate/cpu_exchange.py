"""Arrays through which the lanes of a warp hand a value on, read as the shuffle that they stand for.

    E[t] = v;  barrier;  … E[warp·32 + (lane ^ d)] …        is        … shuffle_xor(v, d) …       where v is not written in between

Comes in: the body of a launch of blocks, with barriers between its phases. Goes out: the body with such reads as shuffles, and without the
arrays that nobody reads any more. The one idea: a butterfly of shuffles is a fold over the bits of a lane, which a tree of reads is not.
"""

from __future__ import annotations

from collections.abc import Mapping

from tinygpu.category.linear import polynomial
from tinygpu.category.term import INDEX, TRUE, App, Axis, Const, Read, Term, reads, rebuild
from tinygpu.obligations.exchange import WARP, Threads
from tinygpu.program.step import Assign, Barrier, For, If, Shared, Step, steps
from tinygpu.record import dataclass, replace

DISTANCES = (16, 8, 4, 2, 1)


@dataclass(frozen=True, slots=True)
class Handed:
    """An array that each thread puts one value of its own into, once: what it is read for at a distance."""

    array: Shared
    value: Read
    threads: Threads

    def put(self, term: Term) -> Term:
        """A term with every read of the array that is a shuffle in its place."""
        match term:
            case Read(name, index) if name == self.array.name:
                number = flat(index, self.array.extents)
                for distance in DISTANCES:
                    warp, lane = self.threads.warps
                    other = warp * WARP + App("xor", (lane, Const(distance)), INDEX)
                    if polynomial(number) == polynomial(other):
                        return App("shuffle_xor", (self.value, Const(distance)), self.value.dtype)
        return rebuild(term, self.put)


def flat(index: tuple[Term, ...], extents: tuple[Term, ...]) -> Term:
    """The number of a cell: `x // n` and `x % n` are together x."""
    out: Term = Const(0)
    for place, extent in zip(index, extents, strict=True):
        match out, place:
            case App("floordiv", (x, n)), App("mod", (y, m)) if x == y and n == m == extent:
                out = x
            case _:
                out = out * extent + place
    return out


def shuffled(
    body: tuple[Step, ...], shared: Mapping[str, Shared], own: set[str], block: tuple[Axis, ...]
) -> tuple[tuple[Step, ...], set[str]]:
    """The body, and the arrays that are gone from it. `own` are the cells that each thread has for itself."""
    gone: set[str] = set()
    threads = Threads(block)
    for name, array in shared.items():
        uses = [s for s in steps(body) if isinstance(s, Assign) and s.target == name]
        if len(uses) != 1 or not _one_each(uses[0], array, own, threads):
            continue
        assert isinstance(uses[0].value, Read)
        made = _in(body, uses[0], Handed(array, uses[0].value, threads))
        if not any(name in mentioned(s) for s in made):
            body = made
            gone.add(name)
    return body, gone


def _one_each(step: Assign, array: Shared, own: set[str], threads: Threads) -> bool:
    """Whether a step puts a cell of each thread where the thread's number says: whole warps, all of them inside."""
    size, count = 1, 1
    for extent in array.extents:
        size *= int(extent.value) if isinstance(extent, Const) else 0
    for axis in threads.axes:
        count *= int(axis.extent.value) if isinstance(axis.extent, Const) else 0
    plain = step.guard == TRUE and not step.update and isinstance(step.value, Read)
    if not plain or not isinstance(step.value, Read) or step.value.tensor not in own or step.value.index:
        return False
    return 0 < count <= size and count % WARP == 0 and polynomial(flat(step.index, array.extents)) == polynomial(threads.flat)


def _in(body: tuple[Step, ...], write: Assign, handed: Handed) -> tuple[Step, ...]:
    """The body in which the step and the reads in the phase behind it are replaced: the reads up to the first write of the value."""
    at = next((n for n, s in enumerate(body) if s is write), None)
    if at is None:
        return tuple(replace(s, body=_in(s.body, write, handed)) if isinstance(s, For | If) else s for s in body)
    out, barriers, written = list(body[:at]), 0, False
    for step in body[at + 1 :]:
        barriers += isinstance(step, Barrier)
        if isinstance(step, Assign) and step.guard == TRUE and barriers == 1 and not written:
            step = replace(step, value=handed.put(step.value))
        elif barriers == 0 and writes(step, handed.value.tensor):
            return body
        out.append(step)
        written = written or writes(step, handed.value.tensor)
    return tuple(out)


def writes(step: Step, name: str) -> bool:
    """Whether a step writes an array, or one inside it does."""
    return any(isinstance(s, Assign) and s.target == name for s in steps((step,)))


def mentioned(step: Step) -> set[str]:
    """The arrays that a step reads or writes, those of the steps inside it included."""
    out: set[str] = set()
    for one in steps((step,)):
        match one:
            case Assign(target, index, value, _, guard):
                out |= {target, *(r.tensor for t in (*index, value, guard) for r in reads(t))}
            case For(Axis(extent=term)) | If(term):
                out |= {r.tensor for r in reads(term)}
    return out
