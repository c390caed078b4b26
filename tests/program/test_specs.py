"""Every machine of `specs/`: it derives, and its program reads back from its own text. That it computes its equation is its certificate."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.program.library import SPECS, machines, reread
from tinygpu import pipeline
from tinygpu.derive.derive import derive
from tinygpu.program.render import render_machine
from tinygpu.syntax.format import format_file
from tinygpu.syntax.parse import parse

NEEDED = "copy saxpy elementwise gelu silu_mul relu cast slice reverse stencil convolution rotary rows matvec matmul batched_matmul by_hand"


def test_the_library_is_complete() -> None:
    assert {path.stem for path in SPECS} >= set(NEEDED.split())


@pytest.mark.parametrize("path", SPECS, ids=lambda p: p.stem)
def test_a_spec_opens_with_its_equation_has_the_one_style_and_serves_every_op(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# ")
    assert format_file(parse(text)) == text
    spec = pipeline.load(path)
    said = {op.name for theorem in spec.spec.theorems for op in (theorem.left, theorem.right)}
    served = {machine.op.name for machine in spec.machines} | {one.name for one in spec.spec.pipelines}
    assert {op.name for op in spec.spec.ops} == said | served
    assert said or len({machine.title for machine in spec.machines}) >= 2, "two machines or more, or theorems"


@pytest.mark.sampled
@pytest.mark.parametrize("path", SPECS, ids=lambda p: p.stem)
def test_programs_read_back(path: Path) -> None:
    for machine in machines(path.read_text(encoding="utf-8")).values():
        program = derive(machine)
        again = reread(program, machine)
        assert again.launches == program.launches
        assert again == program
        parse(render_machine(program))
