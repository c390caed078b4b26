"""The ends of index terms are ends: no point of a place has a higher or a lower value.

Comes in: terms, axes and guards. Goes out: their ends, and all their values at small sizes. The one idea: a bound that is too low would let an index wrap,
so every rule is compared with all points.
"""

from __future__ import annotations

from itertools import product

import pytest

from tinygpu.category.evaluate import evaluate
from tinygpu.category.known import Known
from tinygpu.category.linear import as_written
from tinygpu.category.region import Region
from tinygpu.category.term import INDEX, App, Axis, Const, Term, Var, ceildiv
from tinygpu.validate.ends import Ends, upper_guards

B, H, P, by, ty, j = (Var(n) for n in ("B", "H", "P", "by", "ty", "j"))
I = by * 4 + ty
TILED = (Axis("by", ceildiv(P, 4)), Axis("ty", Const(4)))
CASES: dict[str, tuple[Term, tuple[Axis, ...], tuple[Term, ...], Term | None]] = {
    "a part of a size": (I * H // P, TILED, (I < P, H >= 1), H - 1),
    "written apart": ((by * H * 4 + ty * H) // P, TILED, (I < P, H >= 1), H - 1),
    "of one that may be nothing": (I * H // P, TILED, (I < P,), None),
    "two parts": (I * H * 2 // P, TILED, (I < P, H >= 1), H * 2 - 1),
    "half, from 0 on": (App("max", (I - 1, Const(0)), INDEX) // 2, TILED, (I < P * 2, P >= 1), P - 1),
    "a third": ((I + 1) // 3, TILED, (I < P * 3,), P),
    "as far as another index": (j, (*TILED, Axis("j", P + 9)), (I < P, j <= I), P - 1),
    "in a row": (j * H + by, (Axis("by", H), Axis("j", P + 9), Axis("ty", P)), (j < ty + 1,), P * H - 1),
    "each of the other": (j, (Axis("j", P + 9), Axis("ty", P + 9)), (j <= ty, ty <= j), None),
    "several": (by * H + ty * H, (Axis("by", P), Axis("ty", P)), (), P * H * 2 - H * 2),
}


@pytest.mark.parametrize(("term", "axes", "guards", "top"), CASES.values(), ids=CASES)
def test_no_point_is_beyond_an_end(term: Term, axes: tuple[Axis, ...], guards: tuple[Term, ...], top: Term | None) -> None:
    ends = Ends(Known.at(Region(axes, guards)), upper_guards(guards))
    high, low = ends.high(term), ends.low(term)
    for h, p in product(range(4), range(8)):
        sizes = {"H": h, "P": p}
        for point in product(*(range(evaluate(a.extent, sizes)) for a in axes)):
            env = {**sizes, **dict(zip((a.name for a in axes), point, strict=True))}
            if all(evaluate(g, env) for g in guards):
                value = evaluate(term, env)
                assert high is None or value <= evaluate(as_written(high), env)
                assert low is None or evaluate(as_written(low), env) <= value
    if top is not None:
        assert high is not None
        assert all(evaluate(as_written(high), {"H": h, "P": p}) == evaluate(top, {"H": h, "P": p}) for h, p in ((1, 1), (3, 7)))
