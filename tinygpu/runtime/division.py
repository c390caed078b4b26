"""Division of indices, for kernels: `div(i, n)`, `mod(i, n)`, `ceil(n, 4)`, one unsigned instruction each and nothing else.

Comes in: which of the three. Goes out: a numba intrinsic of two indices. The one idea: what is divided is not negative and a divisor is
positive, which is proved, so numba's own `//` has nothing to ask: its question is a branch, out of which no compiler takes a division.
Each function imports what it needs when it is called.
"""

from __future__ import annotations

import functools
from typing import Any


@functools.cache
def division(what: str) -> Any:
    """The intrinsic `div`, `mod`, or `ceil`, which rounds up: of two indices, or of one and a number."""
    from llvmlite import ir
    from numba.cuda.extending import intrinsic

    def divided(typingctx: Any, a: Any, b: Any) -> Any:
        def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            number, by = arguments
            if what == "ceil":
                number = builder.add(number, builder.sub(by, ir.Constant(by.type, 1)))
            return builder.urem(number, by) if what == "mod" else builder.udiv(number, by)

        kind = min(a, b, key=lambda t: t.bitwidth)  # of a number in the text numba thinks as of 64 bits
        return kind(kind, kind), build

    return intrinsic(divided)
