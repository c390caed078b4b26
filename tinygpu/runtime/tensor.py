"""Tensor memory of a block, for kernels: columns of it taken and given back, groups of products that end and are waited for, and barriers that order it.

Comes in: a pointer to what a block keeps of it in its memory: its address, and for each warp a barrier of 8 bytes and how many groups it has ended, in 8 bytes each. Goes out: numba
intrinsics, `begin(kept, start)`, `commit(kept, start)`, …. The one idea: a warp ends a group only when the one before has landed, so a parity tells whether the last one has.
Nothing here has run on hardware: it goes through the assembler.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types

from tinygpu.runtime.kernel import _intrinsic
from tinygpu.runtime.ring import _BITS32, _WAIT, _hardware, _leads, _near, _together

_MOST_WARPS = 32
_FENCED = "tcgen05.fence::before_thread_sync; bar.sync 0; tcgen05.fence::after_thread_sync;"
_BEGIN = """{{ .reg .pred first, leads; setp.eq.u32 first, $3, 0; setp.ne.u32 leads, $4, 0;
@leads mbarrier.init.shared::cta.b64 [$1], 1; @leads st.shared.u32 [$2], 0;
@leads fence.mbarrier_init.release.cluster; @leads fence.proxy.async.shared::cta;
@!first bra begun; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [$0], {columns}; tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
begun: {meet} }}"""
_COMMIT = """{ .reg .pred leads; .reg .b32 next; setp.ne.u32 leads, $2, 0; add.u32 next, $3, 1; bar.warp.sync 0xffffffff;
@leads tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [$0]; @leads st.shared.u32 [$1], next; bar.warp.sync 0xffffffff; }"""
_END = """{{ .reg .pred first; setp.eq.u32 first, $1, 0; {meet}
@!first bra ended; tcgen05.dealloc.cta_group::1.sync.aligned.b32 $0, {columns};
ended: }}"""


def _word(builder: Any, address: Any) -> Any:
    """32 bits of the block's memory."""
    kind = ir.FunctionType(_BITS32, [_BITS32])
    return builder.call(ir.InlineAsm(kind, "ld.shared.u32 $0, [$1];", "=r,r,~{memory}", True), [address])


def _warp(builder: Any) -> Any:
    """The number of the warp in its block."""
    return builder.lshr(_hardware(builder, "tid.x"), _BITS32(5))


def _account(builder: Any, kept: Any, start: Any) -> tuple[Any, Any, Any]:
    """Where the address is, and of this warp the barrier and the count."""
    base = _near(builder, kept, start, 1)
    barrier = builder.add(base, builder.add(builder.shl(_warp(builder), _BITS32(3)), _BITS32(8)))
    return base, barrier, builder.add(barrier, _BITS32(8 * _MOST_WARPS))


def _tensor_begin(builder: Any, kept: Any, start: Any, columns: int) -> None:
    base, barrier, count = _account(builder, kept, start)
    text = _BEGIN.format(columns=columns, meet=_FENCED)
    _together(builder, text, base, barrier, count, _warp(builder), builder.zext(_leads(builder), _BITS32))


def _landed(builder: Any, barrier: Any, count: Any) -> Any:
    """Wait until the last group of this warp has landed; its groups."""
    groups = _word(builder, count)
    _together(builder, _WAIT, barrier, builder.and_(builder.sub(groups, _BITS32(1)), _BITS32(1)))
    return groups


def _tensor_commit(builder: Any, kept: Any, start: Any) -> None:
    _, barrier, count = _account(builder, kept, start)
    groups = _landed(builder, barrier, count)
    _together(builder, _COMMIT, barrier, count, builder.zext(_leads(builder), _BITS32), groups)


def _tensor_wait(builder: Any, kept: Any, start: Any, under_way: int) -> None:
    if not under_way:  # all but the last one have landed where that one ended
        _, barrier, count = _account(builder, kept, start)
        _landed(builder, barrier, count)
    _together(builder, "tcgen05.fence::after_thread_sync;")


def _tensor_barrier(builder: Any, kept: Any, start: Any) -> None:
    _together(builder, _FENCED)


def _tensor_end(builder: Any, kept: Any, start: Any, columns: int) -> None:
    _tensor_commit(builder, kept, start)
    _tensor_wait(builder, kept, start, 0)
    base, _, _ = _account(builder, kept, start)
    _together(builder, _END.format(columns=columns, meet=_FENCED), _word(builder, base), _warp(builder))


_TENSOR: dict[str, Any] = {
    "begin": _tensor_begin,
    "commit": _tensor_commit,
    "wait": _tensor_wait,
    "barrier": _tensor_barrier,
    "end": _tensor_end,
}


@_intrinsic
def tensor(step: str, *numbers: int) -> Any:
    """The intrinsic of a step of a block that has tensor memory, `step(kept, start)`. `tensor('begin', columns)` takes so many columns; `tensor('commit')` ends a group of the warp's
    products; `tensor('wait', n)` waits until at most n of them are under way; `tensor('barrier')` is the block's; `tensor('end', columns)` gives the columns back."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _TENSOR[step](builder, *arguments, *numbers)
        return context.get_dummy_value()

    return lambda context, kept, start: (types.void(kept, start), build)


def _cell(builder: Any, kept: Any, first: Any, rows: int, columns: int, own: bool) -> Any:
    """The address of a tile in tensor memory whose first element has that number in an array of so many rows and columns; a warp's `own` part of it."""
    number = builder.trunc(first, _BITS32) if first.type.width > 32 else first
    tile = builder.udiv(number, _BITS32(rows * columns))
    column = builder.add(builder.mul(tile, _BITS32(columns)), builder.urem(number, _BITS32(columns)))
    found = builder.add(_word(builder, _near(builder, kept, _BITS32(0), 1)), column)
    if own:  # lanes are in the upper 16 bits, and a warp reaches 32 of them
        found = builder.add(found, builder.shl(builder.and_(_warp(builder), _BITS32(3)), _BITS32(21)))
    return found
