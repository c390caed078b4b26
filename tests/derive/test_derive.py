"""Derivation: the shapes that programs get, their values against the equations, and what is refused with which words."""

from __future__ import annotations

import pytest

from tests.program.library import agrees, edges, here, machines, reread
from tinygpu.category.term import Var
from tinygpu.derive.derive import derive
from tinygpu.diagnostic import TinygpuError
from tinygpu.program.render import render
from tinygpu.program.step import For, If, steps

HARD = here("hard")
MATMUL = "op matmul(A: f32[M, K], B: f32[K, N]) -> (C: f32[M, N]) { C[i, j] = sum[k] A[i, k] * B[k, j] }\n"
SAXPY = "op saxpy(a: f32, x: f32[n], y: f32[n]) -> (z: f32[n]) { z[i] = a * x[i] + y[i] }\n"


def text_of(source: str) -> str:
    (machine,) = machines(source).values()
    return render(derive(machine))


def refused(source: str) -> tuple[str, str]:
    """The code and the help of the one message."""
    (machine,) = machines(source).values()
    with pytest.raises(TinygpuError) as caught:
        derive(machine)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.span.line > 0, "it points at a place"
    return diagnostic.code, " ".join(diagnostic.helps)


def test_elementwise_is_one_vector_loop() -> None:
    source = SAXPY + "machine m : saxpy { work grid = (g), block = (t: 256)\n compute i = (g, t, v: 4)\n vector v }"
    assert text_of(source) == (
        "program {\n  for v < 4 in vector {\n"
        "    z[g*1024 + t*4 + v] = a * x[g*1024 + t*4 + v] + y[g*1024 + t*4 + v] if g*1024 + t*4 + v < n\n"
        "  }\n}\n"
    )


def test_one_element_a_thread_asks_its_guard_once() -> None:
    source = (
        MATMUL
        + "machine m : matmul { work grid = (by, bx), block = (ty: 16, tx: 16)\n compute i = (by, ty), j = (bx, tx)\n time k }"
    )
    assert text_of(source) == (
        "program {\n  local acc: f32[]\n  if by*16 + ty < M and bx*16 + tx < N {\n    acc[] = 0\n"
        "    for k < K { acc[] += A[by*16 + ty, k] * B[k, bx*16 + tx] }\n    C[by*16 + ty, bx*16 + tx] = acc[]\n  }\n}\n"
    )


def test_a_register_tile_reads_operands_once_and_accumulates_without_a_guard() -> None:
    source = MATMUL + (
        "machine m : matmul { work grid = (by, bx), block = (ty: 8, tx: 8)\n compute i = (by, ty, ri: 8), j = (bx, tx, rj: 8)\n"
        " time k\n register ri\n vector rj }"
    )
    lines = [line.strip() for line in text_of(source).splitlines()]
    assert "for ri < 8 in register { a[ri] = A[by*64 + ty*8 + ri, k] if by*64 + ty*8 + ri < M else 0 }" in lines
    assert "for rj < 8 in vector { b[rj] = B[k, bx*64 + tx*8 + rj] if bx*64 + tx*8 + rj < N else 0 }" in lines
    assert "for ri < 8 in register { for rj < 8 in register { acc[ri, rj] += a[ri] * b[rj] } }" in lines


def test_a_grid_stride_loop_stands_outside() -> None:
    source = (
        SAXPY + "machine m : saxpy { work grid = (g: 264), block = (t: 256)\n compute i = (c, g, t, v: 4)\n time c\n vector v }"
    )
    program = derive(next(iter(machines(source).values())))
    (outer,) = program.launches[0].body
    assert isinstance(outer, For) and (outer.axis.name, outer.axis.sort) == ("c", "time")
    (inner,) = outer.body
    assert isinstance(inner, For) and (inner.axis.name, inner.axis.sort) == ("v", "vector")


def test_equations_over_the_same_rows_share_their_guard_and_their_loop() -> None:
    body = derive(HARD["softmax_thread"]).launches[0].body
    assert len([s for s in steps(body) if isinstance(s, If)]) == 1
    loops = [s for s in steps(derive(HARD["several_thread"]).launches[0].body) if isinstance(s, For)]
    assert [s.axis.name for s in loops] == ["j", "k"], "three folds over j, one loop"


def test_an_intermediate_bears_its_name_and_a_value_without_a_fold_is_gone() -> None:
    program = derive(HARD["layernorm_thread"])
    assert {"mu", "va"} <= set(program.locals) and "d" not in program.locals


def test_only_one_replica_stores() -> None:
    program = derive(HARD["shared_loop_first"])
    guards = [s.guard for s in steps(program.launches[0].body) if isinstance(s, If)]
    assert [sorted(v.name for v in g.args[0].args if isinstance(v, Var)) for g in guards] == [["g"]]


def test_a_fold_without_a_unit_starts_from_the_first_element() -> None:
    assert "acc[] = x[g*32 + t, 0]" in render(derive(HARD["largest_thread"]))


@pytest.mark.parametrize("title", sorted(HARD))
def test_hard_machines_compute_their_equations(title: str) -> None:
    program = derive(HARD[title])
    assert reread(program, HARD[title]) == program
    for seed, sizes in enumerate(edges(program, 12)):
        assert not agrees(program, sizes, seed)


def test_every_step_points_at_the_text() -> None:
    for machine in HARD.values():
        assert all(step.span.line > 0 for step in steps(derive(machine).launches[0].body))


def test_a_loop_over_outputs_inside_of_a_fold_is_refused() -> None:
    source = "op s(x: f32[R, N]) -> (y: f32[R]) { y[r] = sum[j] x[r, j] }\n"
    machine = "machine m : s { work grid = (g: 4), block = (t: 32)\n compute r = (a, g, t)\n time j, a }"
    code, help = refused(source + machine)
    assert code == "TG531" and "time a, j" in help


def test_a_fold_without_a_unit_needs_an_element() -> None:
    source = "op s(x: i32[R, N]) -> (y: i32[R]) { y[r] = min[j] x[r, j] }\n"
    code, help = refused(source + "machine m : s { work grid = (g), block = (t: 32)\n compute r = (g, t)\n time j }")
    assert code == "TG532" and "where N >= 1" in help


def test_an_intermediate_of_another_thread_must_be_staged() -> None:
    source = (
        "op s(x: f32[R, N]) -> (y: f32[R]) {\n m[r] = sum[j] x[r, j]\n y[r] = m[r] + m[r - 1 | 0]\n}\n"
        "machine m : s { work grid = (g), block = (t: 32)\n compute r = (g, t)\n time j }"
    )
    code, help = refused(source)
    assert code == "TG530" and "same factors" in help


def test_an_intermediate_of_another_turn_must_be_staged() -> None:
    source = (
        "op s(x: f32[R, N], z: f32[K]) -> (y: f32[R], w: f32[], v: f32[R]) where R >= 1 {\n"
        " m[r] = sum[j] x[r, j]\n y[r] = m[r]\n w[] = sum[k] z[k]\n v[r] = 2 * m[r]\n}\n"
        "machine m : s { work grid = (g: 2), block = (t: 32)\n compute r = (a, g, t)\n time a, j, k }"
    )
    code, help = refused(source)
    assert code == "TG530" and "next to each other" in help


def test_a_factor_of_the_output_that_is_a_factor_of_the_fold_is_refused() -> None:
    source = (
        "op s(x: f32[R, N]) -> (y: f32[R]) { y[r] = sum[j] x[r, j] }\n"
        "machine m : s { work grid = (g: ceil(R / 4)), block = ()\n compute r = g*4 + u, j = c*4 + u\n time c: ceil(N / 4)\n register u: 4 }"
    )
    code, help = refused(source)
    assert code == "TG131" and "separate factors" in help


def test_wrong_programs_are_seen_by_these_tests() -> None:
    """The runs above can fail: one constant changed in the tile is a wrong value."""
    source = MATMUL + (
        "machine m : matmul { work grid = (by, bx), block = (ty: 2, tx: 2)\n compute i = (by, ty, ri: 2), j = (bx, tx, rj: 2)\n"
        " time k\n register ri, rj }"
    )
    (machine,) = machines(source).values()
    program = derive(machine)
    broken = reread(
        program, machine, lambda text: text.replace("tx*2 + rj, k", "tx*2, k").replace("a[ri] * b[rj]", "a[rj] * b[rj]")
    )
    assert broken != program
    assert any(agrees(broken, sizes, 0) for sizes in edges(broken, 8))
