"""What numpy itself would call for an op, where it has a call for it: the yardstick of `tinygpu run`.

Comes in: an op. Goes out: a function of its inputs that writes into `out`, with its text, or None.
The one idea: a sum of products of plain reads is an `einsum`, and the matrix product is the one everybody knows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tinygpu.category.term import TRUE, App, Fold, Read, Term, Var
from tinygpu.model.op import Op
from tinygpu.record import dataclass


@dataclass(frozen=True, slots=True)
class Baseline:
    """`text` for people, and the call: `run(inputs, out)`."""

    text: str
    run: Callable[[Mapping[str, Any], Any], Any]


def baseline(op: Op) -> Baseline | None:
    """`op → numpy's own call`, for one f32 or f64 output that is a sum of products of its inputs; None for anything else."""
    if len(op.outputs) != 1 or op.outputs[0].dtype not in ("f32", "f64") or len(op.equations) != 1:
        return None
    equation = op.equations[0]
    match equation.value:
        case Fold("sum", axes, guard, body) if guard == TRUE:
            factors = _product(body)
        case _:
            return None
    if factors is None or len(factors) != 2:
        return None
    letters = {a.name: chr(ord("a") + n) for n, a in enumerate((*equation.axes, *axes))}
    target = "".join(letters[a.name] for a in equation.axes)
    subscripts = [_letters(f, letters) for f in factors]
    if None in subscripts or len(letters) > 20:
        return None
    left, right = factors[0].tensor, factors[1].tensor
    plain = f"{subscripts[0]},{subscripts[1]}->{target}"
    if plain in ("ac,cb->ab", "abd,adc->abc", "ab,b->a"):
        return Baseline(f"{left} @ {right}", lambda inputs, out: np.matmul(inputs[left], inputs[right], out=out))
    return Baseline(
        f'einsum("{plain}", {left}, {right})',
        lambda inputs, out: np.einsum(plain, inputs[left], inputs[right], out=out, optimize=True),
    )


def _product(term: Term) -> list[Read] | None:
    """The reads of a product, if it is one of nothing else."""
    match term:
        case Read():
            return [term]
        case App("mul", (a, b)):
            left, right = _product(a), _product(b)
            return None if left is None or right is None else left + right
    return None


def _letters(read: Read, letters: Mapping[str, str]) -> str | None:
    names = [t.name for t in read.index if isinstance(t, Var)]
    return "".join(letters[n] for n in names) if len(names) == len(read.index) and all(n in letters for n in names) else None


def blas() -> str:
    """The BLAS that numpy was built with, `scipy-openblas 0.3.30`."""
    config: Any = np.show_config(mode="dicts")
    found = config.get("Build Dependencies", {}).get("blas", {})
    return f"{found.get('name', 'unknown')} {found.get('version', '')}".strip()


def best_seconds(call: Callable[[], Any], total: float = 0.5, most: int = 200) -> float:
    """The shortest of repeated calls, for about `total` seconds, at least three calls; one call is made first and not counted."""
    call()
    best, began, count = float("inf"), time.perf_counter(), 0
    while count < 3 or (time.perf_counter() - began < total and count < most):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
        count += 1
    return best
