"""Rings of tiles between warps, for kernels: some fill a slot, others use it, and each waits for the other by a barrier in the block's memory.

Comes in: how many slots, arrivals and bytes; a pointer to the barriers, `full` of each slot and then `empty` of each, 8 bytes each; the number of the turn. Goes out: numba
intrinsics, `begin(tiles, start)`, `fill(tiles, turn)`, …, `copy(near, to, tiles, turn, map, c0, …)`. The one idea: turn t is round t // slots of slot t % slots, a
phase of a barrier is a round, and a parity tells a round from the one before; so a wait holds nothing. All lanes wait; one of a warp does what is done once.
"""

from __future__ import annotations

import functools
from typing import Any

from llvmlite import ir
from numba import types

from tinygpu.runtime.kernel import _intrinsic

_BITS32 = ir.IntType(32)
_WAIT = "{ .reg .pred p; wait: mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1; @!p bra wait; }"  # names in braces are of each copy alone
_ARRIVE = "{ .reg .pred p; setp.ne.u32 p, $1, 0; bar.warp.sync 0xffffffff; @p mbarrier.arrive.shared::cta.b64 _, [$0]; }"
_ARRIVE_FAR = "{ .reg .pred p; .reg .b32 far; setp.ne.u32 p, $1, 0; bar.warp.sync 0xffffffff; @p mapa.shared::cluster.u32 far, $0, $2; @p mbarrier.arrive.release.cluster.shared::cluster.b64 _, [far]; }"  # at the block of that number
_MEET = "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;"


def _together(builder: Any, text: str, *operands: Any) -> None:
    """One text of the assembler, which no access may pass, and to which all lanes come that came before."""
    kind = ir.FunctionType(ir.VoidType(), [o.type for o in operands])
    marks = [{32: "r", 64: "l"}[o.type.width] for o in operands]
    builder.call(ir.InlineAsm(kind, text, ",".join([*marks, "~{memory}"]), True), list(operands), attrs=("convergent",))


def _hardware(builder: Any, name: str) -> Any:
    """A register that the hardware sets: `laneid`, `tid.x`."""
    called = f"llvm.nvvm.read.ptx.sreg.{name}"
    read = builder.module.globals.get(called) or ir.Function(builder.module, ir.FunctionType(_BITS32, []), called)
    return builder.call(read, [])


def _leads(builder: Any, name: str = "laneid") -> Any:
    """Whether this is the first lane of its warp, or the first thread of its block."""
    return builder.icmp_unsigned("==", _hardware(builder, name), _BITS32(0))


def _narrow(builder: Any, number: Any) -> Any:
    """A number in 32 bits."""
    return builder.trunc(number, _BITS32) if number.type.width > 32 else number


def _near(builder: Any, pointer: Any, offset: Any, size: int) -> Any:
    """The address of element `offset` in the block's memory."""
    near = builder.ptrtoint(builder.addrspacecast(pointer, ir.PointerType(pointer.type.pointee, 3)), _BITS32)
    return builder.add(near, builder.mul(_narrow(builder, offset), _BITS32(size)))


def _barrier(builder: Any, tiles: Any, turn: Any, slots: int, which: str) -> Any:
    """The address of the barrier `full` or `empty` of a turn's slot."""
    slot = _narrow(builder, builder.urem(turn, turn.type(slots)))
    return _near(builder, tiles, slot if which == "full" else builder.add(slot, _BITS32(slots)), 8)


def _awaited(builder: Any, tiles: Any, turn: Any, slots: int, which: str, blocks: int = 1) -> None:
    """Wait until the round of `full`, or the one before of `empty`, is over; to the latter several blocks may come."""
    rounds = _narrow(builder, builder.udiv(turn, turn.type(slots)))
    parity = builder.and_(rounds if which == "full" else builder.add(rounds, _BITS32(1)), _BITS32(1))
    how = _WAIT if blocks == 1 else _WAIT.replace("parity", "parity.acquire.cluster")
    _together(builder, how, _barrier(builder, tiles, turn, slots, which), parity)


def _ring_begin(builder: Any, tiles: Any, start: Any, slots: int, fill: int, use: int, blocks: int = 1) -> None:
    """The first thread makes the barriers, for threads and units; then all go on, also those of other blocks that come to them."""
    counts = [fill] * slots + [use * blocks] * slots
    made = [f"@p mbarrier.init.shared::cta.b64 [$0 + {8 * n}], {count};" for n, count in enumerate(counts)]
    fences = "@p fence.mbarrier_init.release.cluster; @p fence.proxy.async.shared::cta;"
    text = f"{{ .reg .pred p; setp.ne.u32 p, $1, 0; {' '.join(made)} {fences} {'bar.sync 0;' if blocks == 1 else _MEET} }}"
    _together(builder, text, _near(builder, tiles, start, 8), builder.zext(_leads(builder, "tid.x"), _BITS32))


def _ring_fill(builder: Any, tiles: Any, turn: Any, slots: int, blocks: int = 1) -> None:
    _awaited(builder, tiles, turn, slots, "empty", blocks)


def _ring_filled(builder: Any, tiles: Any, turn: Any, slots: int) -> None:
    _together(builder, _ARRIVE, _barrier(builder, tiles, turn, slots, "full"), builder.zext(_leads(builder), _BITS32))


def _ring_use(builder: Any, tiles: Any, turn: Any, slots: int) -> None:
    _awaited(builder, tiles, turn, slots, "full")


def _ring_used(builder: Any, tiles: Any, turn: Any, slots: int, behind: int, blocks: int = 1) -> None:
    """The first lane of a warp arrives; of a cluster so many, each at the barrier of a block."""
    lane = _hardware(builder, "laneid")
    arrives = builder.icmp_unsigned("<", lane, _BITS32(blocks))
    if behind:
        arrives = builder.and_(arrives, builder.icmp_unsigned(">=", turn, turn.type(behind)))
        turn = builder.sub(turn, turn.type(behind))
    at, far = _barrier(builder, tiles, turn, slots, "empty"), (lane,) if blocks > 1 else ()
    _together(builder, _ARRIVE_FAR if far else _ARRIVE, at, builder.zext(arrives, _BITS32), *far)


_RING: dict[str, Any] = {"begin": _ring_begin, "fill": _ring_fill, "filled": _ring_filled, "use": _ring_use, "used": _ring_used}


@_intrinsic
def ring(step: str, slots: int, *counts: int) -> Any:
    """The intrinsic of a step of a ring of `slots`. `ring('begin', slots, fill, use)` is `begin(tiles, start)`: the barriers, from number `start` on; a slot is full when
    so many warps have filled it, and empty when so many have used it. Of the others, `step(tiles, turn)`: `ring('fill', slots)` waits until it is empty;
    `filled`; `use` waits until it is full; `ring('used', slots, behind)` gives back the slot of the turn so many before. One more number, of `begin`, `fill` and `used`,
    says that so many blocks of a cluster fill slots of each other, so each is empty when the warps of all have used it."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _RING[step](builder, *arguments, slots, *counts)
        return context.get_dummy_value()

    return lambda context, tiles, turn: (types.void(tiles, turn), build)


@_intrinsic
def registers(count: int, way: str) -> Any:
    """The intrinsic `registers()`: from here on the warpgroup has so many registers a thread, more than before by `inc`, fewer by `dec`."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _together(builder, f"setmaxnreg.{way}.sync.aligned.u32 {count};")
        return context.get_dummy_value()

    return lambda context: (types.void(), build)


@functools.cache
def tensor_copy(rank: int, slots: int, bytes: int, mask: int = 0) -> Any:
    """The intrinsic `copy(near, to, tiles, turn, map, c0, …)`: a box of a tensor, from these coordinates on, the slowest first, to the block's memory; the barrier `full` of the
    turn expects so many bytes, and counts them when they have landed. It is of one lane of a warp; the others go on. With a mask it is `copy(near, to, tiles, turn, map, first, c0, …)`:
    the box is a part of what the block expects, and goes to that place in the memory of all blocks of the mask, counted from `first`; so does its count."""
    from numba.cuda.extending import intrinsic

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        near, to, tiles, turn, described, *corner = arguments
        first, corner = (corner[:1], corner[1:]) if mask else ((), corner)
        at = _near(builder, near, to, context.get_abi_sizeof(near.type.pointee))
        full = _barrier(builder, tiles, turn, slots, "full")
        listed = ", ".join(f"${4 + n}" for n in range(rank))
        what = f"cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        expects = f"@p mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [$2], {bytes};"
        sends = f"@p {what} [$0], [$1, {{{listed}}}], [$2];"
        begins = ".reg .pred p; setp.ne.u32 p, $3, 0;"
        fastest = [_narrow(builder, c) for c in reversed(corner)]
        if mask:
            begins += f" .reg .b16 to; cvt.u16.u32 to, ${4 + rank};"
            sends = f"@p {what}.multicast::cluster [$0], [$1, {{{listed}}}], [$2], to;"
            fastest.append(builder.shl(_BITS32(mask), _narrow(builder, *first)))
        text = f"{{ {begins} {expects} {sends} }}"
        _together(builder, text, at, described, full, builder.zext(_leads(builder), _BITS32), *fastest)
        return context.get_dummy_value()

    names = ", ".join(["near", "to", "tiles", "turn", "described", *["first"] * bool(mask), *(f"c{n}" for n in range(rank))])
    space: dict[str, Any] = {"void": types.void, "build": build}
    exec(f"def instruction(context, {names}):\n    return void({names}), build", space)
    return intrinsic(space["instruction"])
