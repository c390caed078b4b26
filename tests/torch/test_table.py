"""The table of the backend: its patterns and the shipped machines that are to serve them.

Comes in: the rows. Goes out: a failure for a row that could never be taken. The one idea: a row is data, so what it names is looked up where it has to be.
"""

from __future__ import annotations

import pytest

from tinygpu import pipeline
from tinygpu.torch.match import names_of, pattern
from tinygpu.torch.shipped import specs
from tinygpu.torch.table import ROWS, Row


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.pattern)
def test_the_names_of_a_pattern_are_the_inputs_of_the_op(row: Row) -> None:
    for spec, title in row.machines.values():
        found = pipeline.load(specs() / f"{spec}.tgpu")
        (one,) = [one for one in (*found.machines, *found.spec.choices) if one.title == title]
        assert {t.name for t in one.op.inputs} <= {*names_of(pattern(row.pattern))}
        assert len(one.op.outputs) == 1 and not one.op.outputs[0].inplace


def test_a_machine_for_gpus_is_none_on_cpu() -> None:
    for spec, title in (row.machines["cuda"] for row in ROWS if "cuda" in row.machines):
        found = pipeline.load(specs() / f"{spec}.tgpu")
        cases = [branch.machine for one in found.spec.choices if one.title == title for branch in one.branches]
        assert all(one.arch != "cpu" for one in cases or [m for m in found.machines if m.title == title])


def test_no_row_hides_one_behind_it() -> None:
    """A pattern that is a part of another one stands behind it, as the first that fits is taken."""
    texts = [row.pattern for row in ROWS]
    for number, text in enumerate(texts):
        assert not any(text in later and text != later for later in texts[number + 1 :]), text


def test_what_is_read_is_what_is_written() -> None:
    assert list(names_of(pattern("mul(_, flat(mm(A, t(w))))"))) == ["A", "w"]
    with pytest.raises(ValueError, match="malformed"):
        pattern("x.t()")
