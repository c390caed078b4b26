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
from tinygpu.category.term import text
from tinygpu.diagnostic import TinygpuError
from tinygpu.model.elaborate import Spec, elaborate
from tinygpu.model.machine import Machine
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


def test_the_extent_that_is_inferred() -> None:
    made = machine(COPY, "work grid = (g), block = (t: 256)\ncompute i = (g, t, v: 4)\nvector v")
    (launch,) = made.launches
    assert [(a.name, text(a.extent), a.sort) for a in launch.grid + launch.block] == [
        ("g", "ceil(n / 1024)", "grid"),
        ("t", "256", "block"),
    ]
    (phase,) = launch.phases
    assert text(phase.owner.terms[0]) == "(g*256 + t)*4 + v"
    assert [text(g) for g in phase.owner.domain.guard] == ["(g*256 + t)*4 + v < n"]


def test_a_precondition_takes_the_tail_away() -> None:
    made = machine(COPY, "work grid = (g), block = (t: 256)\ncompute i = (g, t)\nwhere n % 256 == 0")
    assert not made.launches[0].phases[0].owner.domain.guard and [text(w) for w in made.where] == ["n % 256 == 0"]


def test_factors_stand_in_the_order_of_their_sorts() -> None:
    made = machine(
        MATMUL, "work grid = (bx, by), block = (tx: 2)\ncompute i = (by, ri: 2), j = (bx, tx, v: 2)\nvector v\nregister ri\ntime k"
    )
    (phase,) = made.launches[0].phases
    assert [(a.name, a.sort) for a in phase.owner.domain.axes] == [
        ("bx", "grid"), ("by", "grid"), ("tx", "block"), ("k", "time"), ("ri", "register"), ("v", "vector")
    ]  # fmt: skip
    assert [(a.name, a.sort) for a in phase.owner.codomain] == [("i", "data"), ("j", "data"), ("k", "reduction")]


def test_time_is_the_nesting_order() -> None:
    made = machine(MATMUL, "work grid = (), block = ()\ntime j, i\ntime k")
    assert made.launches[0].time == ("j", "i", "k")


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


def test_params_make_one_machine_for_each_choice() -> None:
    clauses = "param B in {32, 48, 64}\nparam V = B // 16\nwhere B % 32 == 0\nwork grid = (g), block = (t: B)\ncompute i = (g, t, v: V)\nvector v"
    made = spec(f"{COPY}machine m : copy on sm_90a {{\n{clauses}\n}}").machines
    assert [(m.title, m.constants, m.arch) for m in made] == [
        ("m[B=32]", (("B", 32), ("V", 2)), "sm_90a"),
        ("m[B=64]", (("B", 64), ("V", 4)), "sm_90a"),
    ]
    assert [text(m.launches[0].grid[0].extent) for m in made] == ["ceil(n / 64)", "ceil(n / 256)"] and made[0].where == ()


def test_one_machine_for_each_op_and_dtype() -> None:
    ops = COPY + "op relu[T in {f16, f32}](x: T[n]) -> (z: T[n]) { z[i] = max(x[i], 0) }\n"
    clauses = "work grid = (g), block = (t: 32)\ncompute i = (g, t)"
    assert [(m.title, m.op.name) for m in spec(f"{ops}machine one : relu {{\n{clauses}\n}}").machines] == [
        ("one[T=f16]", "relu[f16]"),
        ("one[T=f32]", "relu[f32]"),
    ]
    titles = [m.title for m in spec(f"{ops}machine many : copy, relu {{\n{clauses}\n}}").machines]
    assert titles == ["many[op=copy]", "many[op=relu, T=f16]", "many[op=relu, T=f32]"]


def test_a_machine_with_a_program_has_a_work_object_and_no_phases() -> None:
    made = machine(
        COPY, "param B = 64\nwork grid = (g: ceil(n / B)), block = (t: B)\nprogram {\n z[g*B + t] = x[g*B + t] if g*B + t < n\n}"
    )
    (launch,) = made.launches
    assert made.program is not None and launch.phases == () and made.constants == (("B", 64),)
    assert [text(a.extent) for a in launch.grid + launch.block] == ["ceil(n / 64)", "64"]


def test_one_named_launch_is_opened() -> None:
    made = machine(COPY, "param B = 64\nlaunch only {\nwork grid = (g), block = (t: B)\ncompute i = (g, t)\nequations z\n}")
    assert made.launches[0].name == "only" and len(made.launches[0].phases) == 1


def test_spans_point_at_the_declarations_and_the_assignment() -> None:
    source = COPY + "machine m : copy {\n  work grid = (g), block = (t: 64)\n  compute i = (g, t)\n}"
    (made,) = spec(source).machines
    (phase,) = made.launches[0].phases
    cut = [source[a.span.start : a.span.end] for a in (*phase.owner.domain.axes, *phase.owner.codomain)]
    assert cut == ["g", "t: 64", "i = (g, t)"] and source[phase.span.start : phase.span.end] == "compute i = (g, t)"


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


def test_extents_of_the_work_object_can_be_evaluated() -> None:
    made = machine(COPY2, "work grid = (g), block = (t: 4)\ncompute (i, j) = (g, t)")
    assert evaluate(made.launches[0].grid[0].extent, {"M": 3, "N": 5}) == 4
