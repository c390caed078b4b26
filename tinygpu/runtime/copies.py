"""Copies that land later, for kernels: from global to a block's memory without registers, in groups that a thread waits for.

Comes in: counts. Goes out: numba intrinsics, `copy(near, to, far, start, inside)`, `commit()`, `wait()`. The one idea: a copy is begun and forgotten, so it stands where the
text has it, and nothing is moved across it. Architectures before sm_80 have no such copies: there the elements pass registers, and have landed at once.
"""

from __future__ import annotations

import functools
from typing import Any

from llvmlite import ir
from numba import types

from tinygpu.runtime.kernel import _intrinsic
from tinygpu.runtime.memory import wide_place, wide_shape
from tinygpu.runtime.ring import _near


@functools.cache
def _flags() -> Any:
    """What numba compiles a kernel for at the moment, by a call."""
    from numba.cuda.core.targetconfig import ConfigStack

    return ConfigStack().top


def _later() -> bool:
    """Whether the architecture has copies that land later."""
    return bool(_flags()().compute_capability >= (8, 0))


def _said(builder: Any, text: str, operands: tuple[Any, ...] = (), constraints: str = "") -> None:
    """One instruction of the assembler, which no access may pass."""
    kind = ir.FunctionType(ir.VoidType(), [o.type for o in operands])
    builder.call(ir.InlineAsm(kind, text, f"{constraints}~{{memory}}", True), list(operands))


@_intrinsic
def wide_copy(count: int) -> Any:
    """The intrinsic `copy(near, to, far, start, inside)`: `count` elements of the block's memory, from global memory, 4, 8 or 16 bytes at once; zeros,
    and nothing is read, where they are not `inside`."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        inside = arguments[4]
        accesses, words, bits = wide_shape(count, signature.args[0].dtype.bitwidth)
        move, size = ir.VectorType(ir.IntType(bits), words), words * bits // 8
        for access in range(accesses):
            far = wide_place(builder, arguments[2], arguments[3], move, access, "global")
            if _later() and size >= 4:
                start = _near(builder, arguments[0], arguments[1], signature.args[0].dtype.bitwidth // 8)
                places = builder.add(start, ir.IntType(32)(access * size)), builder.ptrtoint(far, ir.IntType(64))
                read = builder.select(inside, ir.IntType(32)(size), ir.IntType(32)(0))
                text = f"cp.async.{'cg' if size == 16 else 'ca'}.shared.global [$0], [$1], {size}, $2;"
                _said(builder, text, (*places, read), "r,l,r,")
            else:
                near = wide_place(builder, arguments[0], arguments[1], move, access, "shared")
                with builder.if_else(inside) as (there, beyond):
                    with there:
                        builder.store(builder.load(far, align=size), near, align=size)
                    with beyond:
                        builder.store(ir.Constant(move, None), near, align=size)
        return context.get_dummy_value()

    return lambda context, near, to, far, start, inside: (types.void(near, to, far, start, types.boolean), build)


@_intrinsic
def copies(what: str, count: int = 0) -> Any:
    """The intrinsic `commit()`, or `wait()` until at most `count` groups are under way."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if _later():
            _said(builder, "cp.async.commit_group;" if what == "commit" else f"cp.async.wait_group {count};")
        return context.get_dummy_value()

    return lambda context: (types.void(), build)
