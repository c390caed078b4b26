"""What a CUDA kernel's text takes for granted: its names, loops that count, indices that are divided, memory that nobody writes.

Comes in: the bits of an index, the name of a division. Goes out: a namespace, numba intrinsics, and the type of a pointer that is only read. The
one idea: numba's own loops and divisions ask what is proved already, and what they ask stays in the machine code; these ask nothing.
"""

from __future__ import annotations

import functools
import re
from typing import Any

from llvmlite import ir
from numba import types


@functools.cache
def cuda_names(bits: int) -> Any:
    """What kernels call things: `cuda`, the dtypes, `ix` (indices of that many bits), libdevice's functions."""
    import math
    from types import SimpleNamespace

    import numpy

    if not hasattr(numpy, "row_stack"):  # numba-cuda asks for a name that numpy 2.5 dropped
        numpy.row_stack = numpy.vstack  # type: ignore[attr-defined]
    from numba import cuda
    from numba.cuda import libdevice

    ix = types.int32 if bits == 32 else types.int64
    names = SimpleNamespace(**vars(libdevice))
    names.cuda, names.ix, names.inf, names.pointer, names.void = cuda, ix, math.inf, types.CPointer, types.void
    names.f64, names.f32 = types.float64, types.float32
    for width in (8, 16, 32, 64):
        setattr(names, f"i{width}", getattr(types, f"int{width}"))
        setattr(names, f"u{width}", getattr(types, f"uint{width}"))
    return names


def _intrinsic(make: Any) -> Any:
    """A function whose result gives the signature of types, and what builds it, as one whose result is an intrinsic of CUDA kernels, made once."""

    @functools.cache
    def made(*names: Any) -> Any:
        from numba.cuda.extending import intrinsic

        return intrinsic(make(*names))

    return made


@functools.cache
def constant_memory() -> Any:
    """The type `constant(dtype)`: a pointer to global memory, whose loads are `ld.global.nc`."""
    import operator

    from numba.cuda.cudaimpl import registry
    from numba.cuda.extending import core_models, register_model

    class Constant(types.CPointer):  # type: ignore[misc]
        mutable = False

        def __init__(self, dtype: Any):
            super().__init__(dtype)
            self.name: str = f"constant {dtype}*"

        @property
        def key(self) -> Any:
            return self.name

    register_model(Constant)(core_models.PointerModel)

    def element(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        item = context.get_data_type(signature.args[0].dtype)
        place = builder.gep(builder.addrspacecast(arguments[0], ir.PointerType(item, 1)), [arguments[1]])
        value = builder.load(place)
        value.set_metadata("invariant.load", builder.module.add_metadata([]))
        return value

    registry.lower(operator.getitem, Constant, types.Integer)(element)
    return Constant


_UNROLLED = "unrolled"  # a comment in the first block of a loop


@functools.cache
def counted(what: str = "upto") -> Any:
    """The intrinsic `upto(stop)`: 0, 1, … below `stop`, in its type; `unrolled(stop)`, a number, whose turns the compiler writes one after the
    other; or `between(start, stop)`, which begins elsewhere."""
    from numba.cuda import cgutils
    from numba.cuda.core.imputils import RefType, iternext_impl
    from numba.cuda.cudaimpl import registry
    from numba.cuda.extending import core_models, intrinsic, register_model

    class Turns(types.SimpleIteratorType):  # type: ignore[misc]
        def __init__(self, kind: Any):
            super().__init__(f"turns {what} of {kind}", kind)

    class Counted(types.SimpleIterableType):  # type: ignore[misc]
        def __init__(self, kind: Any):
            super().__init__(f"{what} {kind}", Turns(kind))

    @register_model(Counted)
    class Ends(core_models.StructModel):  # type: ignore[misc]
        def __init__(self, manager: Any, kind: Any):
            index = kind.iterator_type.yield_type
            super().__init__(manager, kind, [("start", index), ("stop", index)])

    @register_model(Turns)
    class State(core_models.StructModel):  # type: ignore[misc]
        def __init__(self, manager: Any, kind: Any):
            super().__init__(manager, kind, [("stop", kind.yield_type), ("turn", types.CPointer(kind.yield_type))])

    def start(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        ends = cgutils.create_struct_proxy(signature.args[0])(context, builder, arguments[0])
        state = cgutils.create_struct_proxy(signature.return_type)(context, builder)
        state.turn = cgutils.alloca_once(builder, ends.stop.type)
        state.stop = ends.stop
        builder.store(ends.start, state.turn)
        return state._getvalue()

    def step(context: Any, builder: Any, signature: Any, arguments: Any, result: Any) -> None:
        state = cgutils.create_struct_proxy(signature.args[0])(context, builder, arguments[0])
        if what == "unrolled":
            builder.comment(_UNROLLED)
        turn = builder.load(state.turn)
        result.set_valid(builder.icmp_signed("<", turn, state.stop))
        result.yield_(turn)
        builder.store(builder.add(turn, ir.Constant(turn.type, 1), flags=["nsw"]), state.turn)  # the last turn's is never used

    def made(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        ends = cgutils.create_struct_proxy(signature.return_type)(context, builder)
        ends.stop = arguments[-1]
        ends.start = arguments[0] if len(arguments) > 1 else ir.Constant(arguments[0].type, 0)
        return ends._getvalue()

    registry.lower("getiter", Counted)(start)
    registry.lower("iternext", Turns)(iternext_impl(RefType.UNTRACKED)(step))

    def upto(typingctx: Any, stop: Any) -> Any:
        return Counted(stop)(stop), made

    def between(typingctx: Any, start: Any, stop: Any) -> Any:
        return Counted(stop)(stop, stop), made

    return intrinsic(between if what == "between" else upto)


def _unrolled(text: str) -> str:
    """A text of LLVM with what has its compiler unroll loops, whatever that takes: else an array that they index is no registers. A loop is a block with
    the comment, and jumps back to it or to a block that only jumps there."""
    blocks = re.split(r"(?m)^(?=\w+:$)", text)
    heads = {block.partition(":")[0] for block in blocks if f"; {_UNROLLED}" in block}
    if not heads:
        return text
    heads |= {m[1] for block in blocks if (m := re.fullmatch(r'(\w+):\n  br label %"(\w+)"\n', block)) and m[2] in heads}
    number, seen, made = 1 + max(map(int, re.findall(r"!(\d+)", text)), default=0), set[str](), list[str]()
    first = number
    for block in blocks:
        seen.add(block.partition(":")[0])
        jump = re.search(r'(?m)^  br label %"(\w+)"$', block)
        if jump and jump[1] in heads & seen:
            number += 1
            block = f"{block[: jump.end()]}, !llvm.loop !{number}{block[jump.end() :]}"
        made.append(block)
    loops = "".join(f"!{n} = distinct !{{!{n}, !{first}}}\n" for n in range(first + 1, number + 1))
    return f'{"".join(made)}\n!{first} = !{{!"llvm.loop.unroll.full"}}\n{loops}'


def _library(kernel: Any, signature: Any, arch: Any, threads: int, name: str = "") -> Any:
    """What numba makes of a kernel, under a name: `get_asm_str(cc=arch)` is the PTX, as `cuda.compile_ptx` gives it, `get_ltoir` is what comes before that."""
    from numba.cuda import compiler

    library, _ = compiler._compile_pyfunc_with_fixup(kernel, signature, device=False, abi="numba", cc=arch, launch_bounds=threads)
    texts = [_unrolled(text) for text in library.llvm_strs]
    library._llvm_strs = [text.replace(library._entry_name, name or library._entry_name) for text in texts]
    return library


@_intrinsic
def division(what: str) -> Any:
    """The intrinsic `div`, `mod`, or `ceil`, which rounds up: of two indices, or of one and a number."""

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number, by = arguments
        if what == "ceil":
            number = builder.add(number, builder.sub(by, ir.Constant(by.type, 1)))
        return builder.urem(number, by) if what == "mod" else builder.udiv(number, by)

    def typed(context: Any, a: Any, b: Any) -> Any:
        kind = min(a, b, key=lambda t: t.bitwidth)  # of a number in the text numba thinks as of 64 bits
        return kind(kind, kind), build

    return typed
