"""Memory that nobody writes while a kernel runs, for kernels: a pointer whose elements are read through the read-only cache.

Comes in: nothing. Goes out: the numba type `constant(dtype)`, a pointer that is only read. The one idea: the type says it, so `x[i]` stays
`x[i]`, and the compiler may fetch it before stores and barriers that stand in front of it.
Each function imports what it needs when it is called.
"""

from __future__ import annotations

import functools
from typing import Any


@functools.cache
def constant_memory() -> Any:
    """The type `constant(dtype)`: a pointer to global memory, whose loads are `ld.global.nc`."""
    import operator

    from llvmlite import ir
    from numba import types
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
