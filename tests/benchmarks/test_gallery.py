"""The gallery: each operation has a machine, each machine an operation, and what is built of them computes the equation.

Comes in: the rows, `specs/level1`, `specs/level2`. Goes out: a failure for a machine that is in no row, is not proved, or differs at odd sizes. The one idea: the command
judges all of them; here a few are, by the same functions.
"""

from __future__ import annotations

import doctest
import importlib

import pytest

from benchmarks.gallery import judge
from benchmarks.gallery.chains import SLOW
from benchmarks.gallery.rows import ROWS
from tests.conftest import ROOT, Share
from tinygpu import pipeline

SPECS = sorted({row.spec for row in ROWS})


def test_rows_and_machines_belong_together() -> None:
    wanted = {(row.level, row.spec, row.machine, row.op) for row in ROWS}
    paths = [(level, path) for level in (1, 2) for path in sorted((ROOT / "specs" / f"level{level}").glob("*.tgpu"))]
    found = {(level, path.stem, m.name, m.op.name) for level, path in paths for m in pipeline.load(path).machines}
    assert wanted == found
    assert [sum(row.level == level for row in ROWS) for level in (1, 2)] == [101, 62]
    assert len(ROWS) == len({row.name for row in ROWS})


@pytest.mark.sampled
@pytest.mark.parametrize("spec", SPECS)
def test_what_is_built_computes_the_equation(spec: str, share: Share) -> None:
    for row in share(r for r in ROWS if r.spec == spec and r.op not in SLOW):
        ready = judge.made(row)
        assert ready.text, f"{row.name}: {ready.verdict}, {ready.problem}"
        assert not judge.equal_to_equation(row, ready), row.name


def test_what_is_wrong_is_said() -> None:
    row = next(r for r in ROWS if r.op == "sum_over")
    op = judge.machine_of(row).op
    right = [judge.inputs_of(op, row, row.small())["x"].sum(1)]
    assert not judge.compared(op, right[0], right)
    assert "shapes" in judge.compared(op, right[0].T[:1], right) and "elements are wrong" in judge.compared(op, right[0] + 1, right)


@pytest.mark.parametrize("name", ["chains", "convolutions", "judge", "rows"])
def test_examples_in_docstrings(name: str) -> None:
    assert not doctest.testmod(importlib.import_module(f"benchmarks.gallery.{name}")).failed
