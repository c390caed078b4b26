"""An op is a machine already: a thread for each point of each equation. Proved for every shipped op, and what CPU kernels are made of
where a program is given, or shares what it computes, and the op is a tile of products."""

from __future__ import annotations

import pytest

from tests.program.library import STEMS, agrees, edges, library, machine, works_alone
from tinygpu import pipeline
from tinygpu.derive.sequential import pointwise
from tinygpu.emit.cpu import cpu_kernels
from tinygpu.proof.kernel import Proof, prove
from tinygpu.schedule.cpu import on_cpu, tiled

TILES = [("by_hand", "matmul_by_hand"), ("mlp", "mlp_fused")]


@pytest.mark.sampled
@pytest.mark.parametrize("spec", STEMS)
def test_every_op_is_a_machine(spec: str) -> None:
    for given in {m.op.name: m for m in library(spec) if not m.op.states}.values():
        program = pipeline.program(pointwise(given))
        assert works_alone(program) and isinstance(prove(program), Proof), given.op.name


@pytest.mark.parametrize(("spec", "title"), TILES)
def test_products_that_give_their_program_are_tiles_on_a_cpu(spec: str, title: str) -> None:
    given = machine(spec, title)
    (single,) = pipeline.singles(given)
    assert not works_alone(pipeline.program(given)) and tiled(single) and isinstance(prove(single), Proof)
    assert "lanes_add_f32(acc" in cpu_kernels(next(on_cpu(single)))
    assert single.op == given.op and single.workspaces == pipeline.program(pointwise(given)).workspaces
    for seed, sizes in enumerate(edges(single, 3)):
        assert not agrees(single, sizes, seed)


def test_what_is_no_product_is_run_as_it_is_given_and_so_are_threads_that_work_alone() -> None:
    given = (("histogram", "histogram_atomic"), ("scan", "scan_three"), ("by_hand", "row_sum_by_hand"), ("matmul", "matmul_tile"))
    assert not any([*pipeline.singles(machine(*names))] for names in given)
