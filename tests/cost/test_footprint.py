"""Footprints against counts: what the model of a state says is loaded and stored, and what its program says.

Comes in: machines on cpu as a person writes them. Goes out: loads, and stores to tensors, within a factor. The one idea: a model that orders candidates may be wrong, but where it is right is said, and it is a test.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import pytest

from tests.conftest import ROOT
from tinygpu import pipeline
from tinygpu.cost import footprint
from tinygpu.cost.footprint import Loop, Touched
from tinygpu.cost.measure import measure
from tinygpu.hardware.processor import Processor, processor_named
from tinygpu.model.machine import Machine
from tinygpu.program.step import Program
from tinygpu.record import replace
from tinygpu.syntax import tree
from tinygpu.tune import predict
from tinygpu.tune.state import State, state_of

FACTOR = 1.3  # between the model and what is counted
WIDE, NARROW = processor_named("cpu-avx512"), processor_named("cpu-avx2")
ROWS = {"R": 512, "N": 1024}
OTHERS = """
op transpose(x: f32[M, N]) -> (y: f32[N, M]) { y[j, i] = x[i, j] }
op row_sum(x: f32[R, N]) -> (s: f32[R]) where N >= 1 { s[r] = sum[j] x[r, j] }
machine read_across : transpose on cpu { work core = (jb, ib)
  compute j = (jb, jt: 32), i = (ib, it: 2, is: 16)
  time jt, it
  simd is }
machine squares : transpose on cpu { work core = (jb, ib)
  compute j = (jb, jr: 8), i = (ib, is: 16)
  register jr
  simd is }
machine a_row : row_sum on cpu { work core = (r)
  compute j = (c, u: 4, v: 16)
  time c
  register u
  simd v }
machine rows_at_once : row_sum on cpu { work core = (g)
  compute r = (g, four: 4), j = (c, v: 16)
  time c
  register four
  simd v }
machine not_in_vectors : row_sum on cpu { work core = (r)
  time j }
machine scattered : transpose on cpu { work core = (jb, i)
  compute j = (jb, js: 16)
  simd js }
machine beyond : transpose on cpu { work core = (j, ib, ic: 512)
  compute i = (ib, ic, is: 16)
  simd is }
machine again : product on cpu { work core = (i, jb)
  compute j = (jb, jt: 4)
  time k, jt }
op product(A: f32[M, K], B: f32[K, N]) -> (C: f32[M, N]) { C[i, j] = sum[k] A[i, k] * B[k, j] }
"""
MACHINES = [
    ("specs/matmul_cpu.tgpu", "matmul_core", {"M": 512, "N": 480, "K": 512}, WIDE),
    ("specs/matmul_cpu.tgpu", "matmul_core_6", {"M": 384, "N": 480, "K": 512}, NARROW),
    ("specs/softmax_cpu.tgpu", "softmax_core", ROWS, WIDE),
    ("specs/norm_cpu.tgpu", "norm_core[op=layernorm]", ROWS, WIDE),
    ("specs/norm_cpu.tgpu", "norm_core[op=rmsnorm]", ROWS, WIDE),
    ("specs/norm_cpu.tgpu", "norm_four[op=layernorm]", ROWS, WIDE),
    ("specs/norm_cpu.tgpu", "norm_four[op=rmsnorm]", ROWS, WIDE),
    ("", "read_across", {"M": 1024, "N": 512}, WIDE),
    ("", "squares", {"M": 1024, "N": 512}, WIDE),
    ("", "a_row", ROWS, WIDE),
    ("", "rows_at_once", ROWS, WIDE),
    ("", "scattered", {"M": 256, "N": 512}, WIDE),
    ("", "beyond", {"M": 1024, "N": 64}, WIDE),
    ("", "again", {"M": 64, "N": 64, "K": 64}, WIDE),
]


def loaded(path: str, title: str) -> tuple[Machine, State]:
    """A machine, and the state that it is."""
    spec = pipeline.load(ROOT / path) if path else pipeline.load_text(OTHERS)
    machine = next(m for m in spec.machines if m.title == title)
    (said,) = (d for d in spec.tree.declarations if isinstance(d, tree.Machine) and d.name == machine.name)
    state = state_of(replace(said, ops=(tree.Name(machine.op.name),)))
    assert state is not None
    return machine, state


def modelled(state: State, machine: Machine, sizes: Mapping[str, int], monkeypatch: pytest.MonkeyPatch) -> tuple[float, float]:
    """Loads and stores to tensors, as footprints have them; what they call a load is half a clock."""
    seen: list[tuple[list[Loop], list[Touched]]] = []
    monkeypatch.setattr(predict, "cycles", lambda loops, accesses, *_: float(len(seen.append((loops, accesses)) or "")))
    predict.predicted(state, machine.op, sizes)
    outputs, loads, stores = {t.name for t in machine.op.outputs}, 0.0, 0.0
    for loops, accesses in seen:
        wide = [one for one in loops if one.level == "simd"]
        whole, lanes = prod(one.extent for one in loops), prod(one.extent for one in wide)
        for a in accesses:
            issued = footprint._issued(a, loops, whole, wide, lanes)
            loads += 0 if a.stores else 2 * issued
            stores += issued if a.stores and a.name in outputs else 0
    return loads, stores


def counted(program: Program, sizes: Mapping[str, int], cpu: Processor) -> tuple[int, int]:
    lines = measure(program, sizes, cpu).lines
    assert all(one.tally is not None for one in lines)
    loads = sum(one.tally.requests for one in lines if one.tally and not one.access.stores)
    return loads, sum(one.tally.requests for one in lines if one.tally and one.access.stores and not one.shared)


@pytest.mark.parametrize(("path", "title", "sizes", "cpu"), MACHINES, ids=[m[1] for m in MACHINES])
def test_a_footprint_is_what_the_program_says(
    path: str, title: str, sizes: dict[str, int], cpu: Processor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Loads, and both together: sums of rows that lie side by side are stored as vectors, which is not seen, and they are few."""
    machine, state = loaded(path, title)
    model = modelled(state, machine, sizes, monkeypatch)
    found = counted(pipeline.program(machine), sizes, cpu)
    for said, there in ((model[0], found[0]), (sum(model), sum(found))):
        assert there / FACTOR <= said <= there * FACTOR, (model, found)


@pytest.mark.parametrize(
    ("title", "sizes", "loads", "stores"),
    [
        ("not_in_vectors", ROWS, 4, 1),  # a plain loop along memory: a compiler makes vectors of it, longer ones than is said
    ],
)
def test_where_a_footprint_is_wrong(
    title: str, sizes: dict[str, int], loads: float, stores: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By which factor, so that whoever mends it finds it here."""
    machine, state = loaded("", title)
    model = modelled(state, machine, sizes, monkeypatch)
    found = counted(pipeline.program(machine), sizes, WIDE)
    assert (model[0] / found[0], model[1] / found[1]) == pytest.approx((loads, stores), rel=0.05)
