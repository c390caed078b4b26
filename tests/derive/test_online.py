"""Folds that go on side by side: what is derived, in which loops it stands, and that every factor in it is needed.

Comes in: the shipped machines that have such folds, and small ones. Goes out: programs, proved or with one step changed; runs. The one idea: nobody
believes the factor, so a program with another one is not proved.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.program.library import agrees, edges, library, machine, machines
from tinygpu import pipeline
from tinygpu.category.term import App, Const, exchange, reads
from tinygpu.program.step import Assign, For, Program, Step, steps
from tinygpu.program.traverse import map_steps
from tinygpu.proof.kernel import Proof, prove
from tinygpu.record import replace

PLACES = [("online", m.title) for m in library("online")] + [("attention_cpu", "flash_core"), ("attention_cpu", "causal_tiles")]


@pytest.mark.sampled(5)
@pytest.mark.parametrize(("spec", "title"), PLACES)
def test_it_computes_the_equations_in_one_loop(spec: str, title: str) -> None:
    program = pipeline.program(machine(spec, title))
    assert isinstance(prove(program), Proof)
    for seed, sizes in enumerate(edges(program, 3)):
        assert not agrees(program, sizes, seed)
    body = program.launches[-1].body
    names = {m for m in ("m", "s", "acc", "y") if any(isinstance(s, Assign) and s.target == m for s in steps(body))}
    names -= (
        {a.name for a in program.op.outputs} | {"acc"} if spec == "attention_cpu" else {"y"}
    )  # where y is an output, and acc of a stage
    loops = [s for s in steps(body) if isinstance(s, For) and s.axis.name in ("j", "c", "jo")]
    inside = {s.target for s in steps(loops[0].body) if isinstance(s, Assign)}
    assert names <= inside, "the folds stand in the first loop over the index, all of them"


def changed(program: Program, change: Callable[[Step], tuple[Step, ...]]) -> Program:
    return replace(program, launches=tuple(replace(one, body=map_steps(one.body, change)) for one in program.launches))


def without_factor(step: Step) -> tuple[Step, ...]:
    return () if isinstance(step, Assign) and step.update == "prod" else (step,)


def other_way_round(step: Step) -> tuple[Step, ...]:
    match step:
        case Assign(target, value=App("exp", (App("sub", (a, b), dtype),))) if target.endswith("_factor"):
            return (replace(step, value=App("exp", (App("sub", (b, a), dtype),), dtype)),)
        case Assign(target, value=App("select", (c, App("exp", (App("sub", (a, b), dtype),)), rest))) if target.endswith("_factor"):
            return (replace(step, value=App("select", (c, App("exp", (App("sub", (b, a), dtype),), dtype), rest), dtype)),)
    return (step,)


def one_short(step: Step) -> tuple[Step, ...]:
    if isinstance(step, For) and step.axis.name in ("ji", "v") and isinstance(step.axis.extent, Const):
        return (replace(step, axis=replace(step.axis, extent=Const(int(step.axis.extent.value) - 1))),)
    return (step,)


def never_before(step: Step) -> tuple[Step, ...]:
    return () if isinstance(step, Assign) and step.target.endswith("_before") else (step,)


def stale(step: Step) -> tuple[Step, ...]:
    """A tile of exponentials of the maximum before the turn."""
    match step:
        case Assign("p_tile", value=value):
            before = {r: replace(r, tensor="m_before") for r in reads(value) if r.tensor == "m"}
            return (replace(step, value=exchange(value, before)),)
    return (step,)


CHANGES = [without_factor, other_way_round, one_short, never_before]
CHANGED = [(spec, title, change) for change in CHANGES for spec, title in (*PLACES[1:4], PLACES[-2])]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("spec", "title", "change"), [*CHANGED, (*PLACES[-2], stale)])
def test_each_step_of_it_is_needed(spec: str, title: str, change: Callable[[Step], tuple[Step, ...]]) -> None:
    program = pipeline.program(machine(spec, title))
    wrong = changed(program, change)
    assert wrong != program and not isinstance(prove(wrong, enough=1), Proof)


OP = """op weighted(x: f32[R, N], v: f32[R, N]) -> (top: f32[R], b: f32[R]) where N >= 1 {
  m[r]   = max[j] x[r, j]
  top[r] = m[r]
  b[r]   = sum[j] v[r, j] * exp2(x[r, j] - m[r] - m[r])
}
"""


def test_outputs_go_on_too_and_exponents_may_be_sums() -> None:
    text = f"{OP}machine one : weighted {{\n  work grid = (g), block = (t: 32)\n  compute r = (g, t)\n  time j\n  online m, b over j\n}}\n"
    (one,) = machines(text).values()
    program = pipeline.program(one)
    assert isinstance(prove(program), Proof)
    for seed, sizes in enumerate(edges(program, 2)):
        assert not agrees(program, sizes, seed)
