"""What the benchmarks measure: nothing is forgotten, and what they compare with is right.

Comes in: the cases, the specs. Goes out: a failure for a machine that nobody times, or for a peer that computes something else.
The one idea: numpy's form in float64 is compared with the equation, so that a kernel may be compared with numpy's form.
"""

from __future__ import annotations

import doctest
import importlib
from typing import Any

import numpy as np
import pytest

from benchmarks import broken, cases, cpu, gate, peers_torch, rounds
from benchmarks.case import Case, arrays, differs, exact, machines
from tests.program.library import SPECS, works_alone
from tinygpu import pipeline
from tinygpu.model.machine import Machine
from tinygpu.model.op import Op
from tinygpu.program.call import Sync
from tinygpu.program.step import steps
from tinygpu.simulate.reference import reference


def cooperates(machine: Machine) -> bool:
    """Whether threads or launches of the machine work together."""
    program = pipeline.program(machine)
    return len(program.launches) > 1 or not works_alone(program)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("path", SPECS, ids=lambda p: p.stem)
def test_every_machine_whose_threads_cooperate_is_timed(path: Any) -> None:
    for machine in machines(path):
        timed = any(case.spec == path.stem and case.takes(machine) for case in cases.CASES)
        assert timed or not cooperates(machine), f"no case times {machine.title}"


def small(case: Case) -> tuple[Op, dict[str, int], dict[str, Any], Any]:
    """The op of a case, with few elements, and what is right of them."""
    op = next(m for m in machines(case.path()) if case.takes(m)).op
    sizes = dict(zip(case.sizes, (6, 5, 4, 3, 2, 3, 2), strict=False))
    inputs, outputs = arrays(op, case, sizes)
    return op, sizes, inputs, exact(op, case, inputs, outputs)


@pytest.mark.parametrize("case", cases.CASES, ids=lambda c: c.name)
def test_peers_compute_the_equation(case: Case) -> None:
    op, sizes, inputs, right = small(case)
    assert {*op.sizes} == {*case.sizes}
    want = reference(op, sizes, inputs)
    assert not differs(tuple(want[t.name] for t in op.outputs), right)
    if case.plain is not None:
        made = case.plain(inputs)
        assert not differs(made if isinstance(made, tuple) else (made,), right)


def test_torch_computes_the_equation() -> None:
    torch = pytest.importorskip("torch", reason="torch is a peer, and not needed")
    known = peers_torch.functions(torch)
    timed = [case for case in cases.CASES if case.op in known]
    assert {*known} == {case.op for case in timed}
    for case in timed:
        _, sizes, inputs, right = small(case)
        made = known[case.op]({n: torch.from_numpy(a) if getattr(a, "shape", ()) else a for n, a in (inputs | sizes).items()})
        made = made if isinstance(made, tuple) else (made,)
        assert not differs(tuple(m.numpy() for m in made), right), case.name


def test_names_of_cases_are_different_and_reasons_are_of_machines() -> None:
    names = [case.name for case in cases.CASES]
    assert len(set(names)) == len(names)
    assert {*cases.WHY} <= {title for case in cases.CASES for title in case.titles()}


def test_what_is_wrong_is_seen() -> None:
    right = np.linspace(1, 2, 5)
    assert not differs((right.astype(np.float32),), (right,))
    assert "1 of 5 elements are wrong, the first at (2,)" in differs((np.where(right == 1.5, np.nan, right),), (right,))
    assert "the first at (0,): -1, not 3" in differs((np.array(-1),), (np.array(3),))


def test_a_table_says_what_is_low_and_what_is_wrong() -> None:
    common = {"case": "c", "machine": "m", "against": "a + b", "goal": 0.5, "note": ""}
    low = {
        "ours_ms": 9.0,
        "numpy_ms": 1.0,
        "ours_spread": 0.1,
        "numpy_spread": 0.0,
        "ratio": 0.11,
        "ratio_of_best": 0.1,
        "reached": False,
    }
    found = cpu.with_reasons([{**common, **low}, {**common, "wrong": "all of it"}])
    facts = {"processor": "p", "cores": 1, "load": 0.0, "numpy": "2", "blas": "b", "numba": "1"}
    text = cpu.table(found, facts)
    assert "<0.50" in text and "m is at 0.11: not looked into yet" in text and "WRONG: all of it" in text


@pytest.mark.parametrize("variant", broken.VARIANTS, ids=lambda v: v.name)
def test_broken_programs_parse_and_differ_by_little(variant: broken.Variant) -> None:
    whole, wrong = (pipeline.program(pipeline.load_text(text).machines[0]) for text in broken.texts(variant))
    assert whole.launches != wrong.launches
    counts = [sum(isinstance(s, Sync) for launch in p.launches for s in steps(launch.body)) for p in (whole, wrong)]
    assert counts[0] == counts[1] + (variant.pattern == broken.BARRIER)


@pytest.mark.parametrize("name", ["broken", "case", "cases", "check", "cpu", "gate", "peers", "plain", "rounds"])
def test_examples_in_docstrings(name: str) -> None:
    assert not doctest.testmod(importlib.import_module(f"benchmarks.{name}")).failed


def test_a_race_ends_in_time() -> None:
    assert len(rounds.race(lambda: None, lambda: None, rounds=30, seconds=0.0).ours) == rounds.FEWEST
    assert len(rounds.race(lambda: None, lambda: None, rounds=7).theirs) == 7


def test_the_gate_of_one_spec() -> None:
    pytest.importorskip("numba_cuda", reason="numba-cuda is not installed: pip install 'tinygpu[cuda]'")
    from benchmarks.machine_code import disassembler

    found = {r["machine"]: r for r in gate.rows("transpose", (8, 0))}
    assert found["transpose_tiled"]["bank_ways"] == 1 and found["transpose_tiled"]["shared_bytes"] == 32 * 33 * 4
    assert not any(r["refused"] for r in found.values())
    if disassembler():
        assert found["transpose_wide"]["stg_128"] == 1 and found["transpose_tiled"]["bar"] == 1
    assert "transpose_wide 1" in gate.table([*found.values()])
