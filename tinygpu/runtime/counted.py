"""Counted loops, for kernels: `for k in upto(K)`, without what numba's `range` does in every turn.

Comes in: nothing. Goes out: the numba intrinsic `upto(stop)`. The one idea: a counter that is compared and then raised by one in every case
is the form in which compilers know a loop; numba's own keeps a second count under a condition, which stays in the machine code.
Each function imports what it needs when it is called.
"""

from __future__ import annotations

import functools
from typing import Any


@functools.cache
def counted() -> Any:
    """The intrinsic `upto(stop)`: 0, 1, … below `stop`, in its type."""
    from llvmlite import ir
    from numba import types
    from numba.cuda import cgutils
    from numba.cuda.core.imputils import RefType, iternext_impl
    from numba.cuda.cudaimpl import registry
    from numba.cuda.extending import core_models, intrinsic, register_model

    class Turns(types.SimpleIteratorType):  # type: ignore[misc]
        def __init__(self, kind: Any):
            super().__init__(f"turns of {kind}", kind)

    class Upto(types.SimpleIterableType):  # type: ignore[misc]
        def __init__(self, kind: Any):
            super().__init__(f"upto {kind}", Turns(kind))

    @register_model(Upto)
    class Stop(core_models.PrimitiveModel):  # type: ignore[misc]
        def __init__(self, manager: Any, kind: Any):
            super().__init__(manager, kind, ir.IntType(kind.iterator_type.yield_type.bitwidth))

    @register_model(Turns)
    class State(core_models.StructModel):  # type: ignore[misc]
        def __init__(self, manager: Any, kind: Any):
            super().__init__(manager, kind, [("stop", kind.yield_type), ("turn", types.CPointer(kind.yield_type))])

    def start(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        state = cgutils.create_struct_proxy(signature.return_type)(context, builder)
        state.turn = cgutils.alloca_once(builder, arguments[0].type)
        state.stop = arguments[0]
        builder.store(ir.Constant(arguments[0].type, 0), state.turn)
        return state._getvalue()

    def step(context: Any, builder: Any, signature: Any, arguments: Any, result: Any) -> None:
        state = cgutils.create_struct_proxy(signature.args[0])(context, builder, arguments[0])
        turn = builder.load(state.turn)
        result.set_valid(builder.icmp_signed("<", turn, state.stop))
        result.yield_(turn)
        builder.store(builder.add(turn, ir.Constant(turn.type, 1), flags=["nsw"]), state.turn)  # the last turn's is never used

    registry.lower("getiter", Upto)(start)
    registry.lower("iternext", Turns)(iternext_impl(RefType.UNTRACKED)(step))

    def upto(typingctx: Any, stop: Any) -> Any:
        return Upto(stop)(stop), lambda context, builder, signature, arguments: arguments[0]

    return intrinsic(upto)
