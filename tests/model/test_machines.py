"""What an elaborated machine assigns: every point of the compute box to exactly one active point of the factors.

Comes in: texts of machines. Goes out: their owner arrows, compared by brute force with what "each point once" means.
The one idea: structure claims (iso, inverse) are claims about finite sets, so for small sizes they are simply counted.
"""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tests.laws.points import points
from tinygpu.category.evaluate import evaluate
from tinygpu.category.region import Region
from tinygpu.diagnostic import TinygpuError
from tinygpu.model.elaborate import elaborate
from tinygpu.model.machine import Machine
from tinygpu.model.spec import Spec
from tinygpu.syntax.parse import parse

COPY = "op copy(x: f32[n]) -> (z: f32[n]) { z[i] = x[i] }\n"
COPY2 = "op copy(x: f32[M, N]) -> (z: f32[M, N]) { z[i, j] = x[i, j] }\n"
MATMUL = "op matmul(A: f32[M, K], B: f32[K, N]) -> (C: f32[M, N]) { C[i, j] = sum[k] A[i, k] * B[k, j] }\n"


def spec(source: str) -> Spec:
    return elaborate(parse(source, "test.tgpu"))


def machine(op: str, clauses: str, head: str = "") -> Machine:
    name = op.split("(")[0].split()[1]
    (made,) = spec(f"{op}machine m : {name}{head} {{\n{clauses}\n}}").machines
    return made


def each_point_once(made: Machine, sizes: dict[str, int]) -> None:
    for phase in made.launches[0].phases:
        owner = phase.owner
        hit = Counter(tuple(evaluate(t, at) for t in owner.terms) for at in points(owner.domain, sizes))
        everywhere = points(Region(owner.codomain), sizes)
        assert hit == Counter(tuple(at[a.name] for a in owner.codomain) for at in everywhere), f"{owner} at {sizes}"


MACHINES = [
    (COPY, "work grid = (g), block = (t: 4)\ncompute i = (g, t, v: 2)\nvector v"),
    (COPY, "work grid = (g: 2), block = (t: 4)\ncompute i = (c, g, t)\ntime c"),
    (COPY, "work grid = (i), block = ()"),
    (COPY, "work grid = (), block = ()\ntime i"),
    (COPY, "work grid = (g: ceil(n / 8)), block = (t: 4)\ncompute i = g*8 + v*4 + t\nregister v: 2"),
    (COPY, "work grid = (), block = (t: 4)\ncompute i = (i, t)\ntime i"),
    (COPY2, "work grid = (by, bx), block = (ty: 2, tx: 4)\ncompute i = (by, ty), j = (bx, u: 2, tx)\nregister u"),
    (COPY2, "work grid = (g), block = (t: 4)\ncompute (i, j) = (g, t, v: 2)\nvector v"),
    (COPY2, "work grid = (g), block = (t: 4)\ncompute (j, i) = (g, t)"),
    (
        MATMUL,
        "work grid = (by, bx), block = (ty: 2, tx: 2)\ncompute i = (by, ty, ri: 2), j = (bx, tx), k = (ko, ki: 3)\ntime ko, ki\nregister ri",
    ),
]


@pytest.mark.parametrize(("op", "clauses"), MACHINES, ids=range(len(MACHINES)))
def test_each_point_has_one_owner(op: str, clauses: str) -> None:
    made = machine(op, clauses)
    for values in product((0, 1, 3, 5, 8), repeat=len(made.op.sizes)):
        each_point_once(made, dict(zip(made.op.sizes, values, strict=True)))


@given(some.lists(some.integers(1, 4), min_size=1, max_size=4), some.data(), some.integers(0, 23))
def test_any_product_of_factors_with_one_inferred_covers(extents: list[int], data: some.DataObject, n: int) -> None:
    sorts = [data.draw(some.sampled_from(["block", "time", "register"])) for _ in extents]
    place = data.draw(some.integers(0, len(extents)))
    names = [f"f{k}" for k in range(len(extents))]
    digits = [f"{name}: {extent}" if sort != "block" else name for name, extent, sort in zip(names, extents, sorts, strict=True)]
    digits.insert(place, "g")
    block = ", ".join(f"{name}: {extent}" for name, extent, sort in zip(names, extents, sorts, strict=True) if sort == "block")
    own = [f"{sort} {name}" for name, sort in zip(names, sorts, strict=True) if sort != "block"]
    each_point_once(
        machine(COPY, "\n".join([f"work grid = (g), block = ({block})", f"compute i = ({', '.join(digits)})", *own])), {"n": n}
    )


def test_a_work_factor_that_an_equation_does_not_mention_replicates_it() -> None:
    made = machine(
        "op center(x: f32[R, N]) -> (y: f32[R, N]) {\n m[r] = sum[k] x[r, k]\n y[r, j] = x[r, j] - m[r]\n}\n",
        "work grid = (r), block = (t: 4)\ncompute j = (c, t)\ntime k, c",
    )
    first, second = made.launches[0].phases
    assert first.owner.domain.names == {"r", "k"} and second.owner.domain.names == {"r", "t", "c"}
    each_point_once(made, {"R": 3, "N": 5})


def test_two_folds_of_one_name_share_their_factors() -> None:
    made = machine("op f(x: f32[n]) -> (y: f32[]) { y[] = (max[k] x[k]) + (min[k] x[k]) }\n", "work grid = (), block = ()\ntime k")
    assert [a.name for a in made.launches[0].phases[0].owner.codomain] == ["k"]


def test_an_equation_may_have_an_assignment_of_its_own() -> None:
    op = "op both(x: f32[n]) -> (y: f32[n], s: f32[]) {\n y[i] = x[i]\n s[] = sum[i] x[i]\n}\n"
    common = "work grid = (g), block = (t: 4)\ncompute y: i = (g, t)\n"
    for clauses in ("compute s: i = (c, u: 2)\ntime c\nregister u", "for s {\n compute i = (c, u: 2)\n time c\n register u\n}"):
        made = machine(op, common + clauses)
        assert [p.owner.domain.names for p in made.launches[0].phases] == [{"g", "t"}, {"c", "u"}]
        each_point_once(made, {"n": 7})


def test_all_mistakes_are_found_at_once() -> None:
    source = (
        "op f(x: f32[n], y: f16[n]) -> (z: f32[n]) { z[i] = x[i] + y[i] + w[i] }\n"
        "op g(x: f32[n]) -> (z: f32[n]) { z[i] = foo(x[i]) }\n"
        "machine a : h {\n work grid = (g), block = (t: 32)\n compute i = (g, t)\n}\n" + COPY + "machine b : copy on sm_1 {\n"
        " work grid = (g), block = (t: 32)\n compute i = (g, t, v)\n}\n"
    )
    with pytest.raises(TinygpuError) as caught:
        spec(source)
    found = caught.value.diagnostics
    assert [d.code for d in found] == ["TG120", "TG101", "TG107", "TG105", "TG106", "TG130"]
    assert [d.span.start for d in found] == sorted(d.span.start for d in found)
