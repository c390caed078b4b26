"""Layouts that are not one to one are never proved."""

from __future__ import annotations

import pytest

from tinygpu import pipeline
from tinygpu.obligations import storage
from tinygpu.obligations.obligation import Obligation
from tinygpu.obligations.trace import Trace
from tinygpu.program.layout import Layout
from tinygpu.program.space import SHARED
from tinygpu.program.step import Array, Launch, Program
from tinygpu.proof.kernel import Theorem, discharge

TEXT = """
op copy(x: f32[n]) -> (y: f32[n]) { y[i] = x[i] }
machine m : copy {
  work grid = (g: ceil(n / 64)), block = (t: 64)
  program {
    shared s: f32[8, 8]
    s[t // 8, t % 8] = x[g*64 + t] if g*64 + t < n else 0
    y[g*64 + t] = s[t // 8, t % 8] if g*64 + t < n
  }
}
"""


def with_layout(layout: Layout) -> Program:
    """The program above with another layout of its array."""
    made = pipeline.program(pipeline.load_text(TEXT).machines[0])
    launch = made.launches[0]
    first = launch.body[0]
    assert isinstance(first, Array) and first.owner == "block"
    body = (Array(first.name, first.dtype, first.extents, SHARED, layout), *launch.body[1:])
    return Program(made.name, made.op, (Launch(launch.grid, launch.block, body),), made.where)


def held(layout: Layout) -> bool:
    """Whether every claim about where cells lie is a theorem."""
    claims = list(storage.storage(with_layout(layout), Trace()))
    assert claims and all(isinstance(c, Obligation) for c in claims)
    return all(isinstance(discharge(c), Theorem) for c in claims)


GOOD = [Layout(), Layout(pad=1), Layout(swizzle=(3, 0, 3)), Layout(swizzle=(2, 1, 3)), Layout(swizzle=(4, 3, 1))]


@pytest.mark.parametrize("layout", GOOD, ids=repr)
def test_layouts_that_are_one_to_one(layout: Layout) -> None:
    assert held(layout)


@pytest.mark.parametrize("layout", [Layout(pad=-1), Layout(swizzle=(3, 0, 0)), Layout(swizzle=(0, 3, 1))], ids=repr)
def test_layouts_that_are_not(layout: Layout) -> None:
    assert not held(layout)


def test_fewer_elements_than_a_swizzle_needs_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """What sets elements aside is not trusted: with 64 instead of 128 some cells lie outside of the array."""
    layout = Layout(swizzle=(4, 3, 1))
    assert held(layout)
    monkeypatch.setattr("tinygpu.program.layout.whole", lambda elements, swizzle: elements)
    assert not held(layout)
