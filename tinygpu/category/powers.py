"""Products of exponentials of numbers: one exponential.

    exp u · exp v = exp(u + v)      a / exp u = a · exp(−u)

Comes in: a value over the real numbers, nothing in it infinite. Goes out: the same value. The one idea: exponentials are the units of a monomial, so that what is
scaled to one base and then to another is what is scaled at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import TypeAlias

from tinygpu.category.cancel import cancel
from tinygpu.category.term import FLOATS, App, Const, Term, memoised, rebuild

BASES = ("exp", "exp2")
Factor: TypeAlias = tuple[Term, bool]  # and whether it is divided by


@memoised
def joined(term: Term) -> Term:
    """The value with one exponential, of each base, in each product.

    >>> from tinygpu.category.term import Read, text
    >>> x, m, n = (Read(name, (), "f32") for name in "xmn")
    >>> exp, mul, sub = (lambda *args, op=op: App(op, args, "f32") for op in ("exp", "mul", "sub"))
    >>> text(joined(mul(mul(exp(sub(x, m)), n), exp(sub(m, n)))))
    'n*exp(x - n)'
    """
    inner = rebuild(term, joined)
    if not (isinstance(inner, App) and inner.op in ("mul", "div") and inner.dtype in FLOATS):
        return inner
    above, below, dtype = list[Term](), list[Term](), inner.dtype
    raised: dict[str, list[Term]] = {}
    for factor, over in factors(inner):
        if isinstance(factor, App) and factor.op in BASES:
            (power,) = factor.args
            raised.setdefault(factor.op, []).append(App("neg", (power,), dtype) if over else power)
        else:
            (below if over else above).append(factor)
    if sum(map(len, raised.values())) == len(raised) and not any(
        isinstance(p, App) and p.op == "neg" for (p, *_) in raised.values()
    ):
        return inner
    sums = {op: cancel(reduce(lambda a, b: App("add", (a, b), dtype), powers)) for op, powers in raised.items()}
    above += [cancel(App(op, (power,), dtype)) for op, power in sums.items()]
    whole = product(above, dtype)
    return App("div", (whole, product(below, dtype)), dtype) if below else whole


def factors(term: Term, over: bool = False) -> Iterator[Factor]:
    """The factors of a product or a quotient."""
    match term:
        case App("mul" | "div" as op, (a, b)):
            yield from factors(a, over)
            yield from factors(b, over != (op == "div"))
        case _:
            yield term, over


def product(parts: list[Term], dtype: str) -> Term:
    """Their product, 1 of none."""
    kept = [p for p in parts if p != Const(1.0, dtype)] or [Const(1.0, dtype)]
    return reduce(lambda a, b: App("mul", (a, b), dtype), kept)
