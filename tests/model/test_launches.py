"""Machines of several launches: which equations each evaluates, what is left in memory, and how a fold goes on.

Comes in: texts of machines. Goes out: their launches, compared with what the text says.
The one idea: a fold that goes on is an ordinary equation with an ordinary owner, so the same counting shows that nothing is lost.
"""

from __future__ import annotations

import pytest

from tests.model.test_machines import spec
from tinygpu.category.term import App, Read, outer_folds, text, walk
from tinygpu.diagnostic import TinygpuError

TOTAL = "op total(x: f32[n]) -> (s: f32[]) { s[] = sum[i] x[i] }\n"
CHAIN = (
    "op chain(x: f32[R, N]) -> (y: f32[R, N]) where N >= 1 {\n a[r, j] = 2 * x[r, j]\n m[r] = max[j] a[r, j]\n"
    " s[r] = (sum[j] a[r, j] - m[r]) / f32(N)\n y[r, j] = a[r, j] + s[r]\n}\n"
)
PARTIAL = "launch one { work grid = (g), block = (t: 8)\n compute i = (g, t, v: 2)\n vector v }\n"


def test_an_intermediate_without_a_fold_is_put_in_where_no_launch_evaluates_it() -> None:
    (made,) = spec(
        CHAIN + "machine m : chain {\n launch one { equations m\n work grid = (r), block = (t: 8)\n compute j = (c, t)\n time c }\n"
        " launch two { equations s, y\n work grid = (r), block = (t: 8)\n compute j = (c, t)\n time c }\n}"
    ).machines
    assert [[p.equation.target for p in one.phases] for one in made.launches] == [["m"], ["s", "y"]]
    assert [one.leaves for one in made.launches] == [("m",), ()]
    values = [p.equation.value for one in made.launches for p in one.phases]
    assert not any(isinstance(t, Read) and t.tensor == "a" for value in values for t in walk(value))


def test_a_value_beside_a_fold_over_the_grid_waits_for_it() -> None:
    source = (
        "op mean(x: f32[n]) -> (s: f32[]) where n >= 1 { s[] = (sum[i] x[i]) / f32(n) }\n"
        "machine m : mean {\n launch one { work grid = (g: 4), block = (t: 8)\n compute i = (c, g, t)\n time c }\n"
        " launch two { work block = (g: 4) }\n}"
    )
    first, second = (one.phases[0].equation.value for one in spec(source).machines[0].launches)
    assert isinstance(first, App) and isinstance(second, App) and first.op == second.op == "div" and first.args[1] == second.args[1]
    assert [text(fold) for value in (first, second) for fold in outer_folds(value)] == ["sum[i < n] x[i]", "sum[g < 4] s_part[g]"]


def test_two_launches_have_two_names() -> None:
    with pytest.raises(TinygpuError) as caught:
        spec(TOTAL + f"machine m : total {{\n{PARTIAL}{PARTIAL}}}")
    assert "TG102" in {d.code for d in caught.value.diagnostics}
