"""Exchanges between lanes: the value of another thread is the value with the thread replaced.

    T is the number of a thread in its block, its lane is T % 32:      xor d:  T ± d        up d, down d:  T ∓ d, the own value at the end

Comes in: an exchange, and the axes of the thread that asks. Goes out: the value for the thread that is asked.
The one idea: a step `v ⊕ v∘(T ^ 2ᵇ)` is the fold of v over the two values of bit b of T.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tinygpu.replay.ir import BOOL, INDEX, Axis, Env, Num, Op, Term, Unsupported, Var, num, put

if TYPE_CHECKING:
    from tinygpu.replay.cells import Path, Text

WARP = 32


def flat(block: tuple[Axis, ...]) -> Term:
    """The number of a thread in its block, row-major."""
    total: Term = num(0)
    for axis in block:
        total = Op("add", (Op("mul", (total, axis.extent), INDEX), Var(axis.name)), INDEX)
    return total


def thread(block: tuple[Axis, ...], number: Term) -> dict[str, Term]:
    """The axes of the thread with that number."""
    found: dict[str, Term] = {}
    stride = 1
    for axis in reversed(block):
        if not isinstance(axis.extent, Num):
            raise Unsupported("an axis of the block is no number")
        cut = number if stride == 1 else Op("floordiv", (number, num(stride)), INDEX)
        found[axis.name] = cut if axis is block[0] else Op("mod", (cut, axis.extent), INDEX)
        stride *= int(axis.extent.value)
    return found


def with_bit(number: Term, distance: int, bit: Term) -> Term:
    """A number with the bit of that distance, a power of two, replaced.

    >>> from tinygpu.replay.linear import Ranges
    >>> Ranges.of((Axis("t", num(32)),)).simplify(with_bit(Var("t"), 16, num(0)))
    Op(op='mod', args=(Var(name='t', dtype='index'), Num(value=16, dtype='index')), dtype='index')
    """
    upper = Op("mul", (Op("floordiv", (number, num(2 * distance)), INDEX), num(2 * distance)), INDEX)
    lower = Op("mod", (number, num(distance)), INDEX)
    return Op("add", (Op("add", (upper, Op("mul", (bit, num(distance)), INDEX)), INDEX), lower), INDEX)


def power(term: Term) -> int | None:
    """A power of two below the width of a warp."""
    if isinstance(term, Num) and term.value in (1, 2, 4, 8, 16):
        return int(term.value)
    return None


def moved(text: Text, env: Env, number: Term) -> dict[str, Term]:
    """The axes of another thread of the block: `number` is its number, over the block's axes."""
    return {**env, **{name: put(term, env) for name, term in thread(text.launch.block, number).items()}}


def exchanged(term: Term, text: Text, path: Path, env: Env) -> Term | None:
    """The value that an exchange delivers; None if the term is no exchange."""
    if not isinstance(term, Op) or not term.op.startswith("shuffle."):
        return None
    value, other = term.args
    own = flat(text.launch.block)
    distance = power(other)
    match term.op.removeprefix("shuffle."):
        case "xor" if distance is not None:
            bit = Op("mod", (Op("floordiv", (own, num(distance)), INDEX), num(2)), INDEX)
            there = with_bit(own, distance, Op("sub", (num(1), bit), INDEX))
            return text.cells(value, path, moved(text, env, there))
        case "idx" if isinstance(other, Num) and 0 <= other.value < WARP:
            first = Op("mul", (Op("floordiv", (own, num(WARP)), INDEX), num(WARP)), INDEX)
            return text.cells(value, path, moved(text, env, Op("add", (first, other), INDEX)))
        case "up" | "down" if distance is not None:
            last = text.launch.block[-1]
            if not isinstance(last.extent, Num) or int(last.extent.value) % WARP:
                raise Unsupported("a shift of lanes that lie in several axes")
            up = term.op.endswith("up")
            lane = Var(last.name) if last.extent == num(WARP) else Op("mod", (Var(last.name), num(WARP)), INDEX)
            inside = Op("ge", (lane, other), BOOL) if up else Op("lt", (Op("add", (lane, other), INDEX), num(WARP)), BOOL)
            there = Op("sub" if up else "add", (Var(last.name), other), INDEX)
            shifted = {**env, last.name: put(there, env)}
            return Op("select", (put(inside, env), text.cells(value, path, shifted), text.cells(value, path, env)), term.dtype)
    raise Unsupported("an exchange of this kind")
