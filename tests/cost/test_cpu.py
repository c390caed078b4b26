"""What is counted of a program that a CPU runs: against walking through all of its points, against footprints, and by hand.

Comes in: machines on cpu of the library. Goes out: equality of elements and of loads and stores, pages, bounds. The one idea: the count never walks, the walk does nothing else, and they share the one rule of what stays in registers.
"""

from __future__ import annotations

import json
from math import prod
from pathlib import Path

import numpy as np
import pytest

from tests.program import library
from tinygpu import pipeline
from tinygpu.category.term import conjunction
from tinygpu.category.to_numpy import evaluate
from tinygpu.cli import main
from tinygpu.commands.specs import usual_sizes
from tinygpu.cost.bound import bound, bounds_on_cpu, issued
from tinygpu.cost.closed import shown
from tinygpu.cost.core_page import core_page
from tinygpu.cost.counted import Counter
from tinygpu.cost.least import instructions, operations
from tinygpu.cost.measure import Cost, measure
from tinygpu.cost.parts import enumerated, extents_of
from tinygpu.cost.sites import Access, sites
from tinygpu.cost.vectors import again, at_width, in_memory, made
from tinygpu.cost.whole import bytes_once
from tinygpu.derive.unpack import unpack
from tinygpu.hardware import processor
from tinygpu.hardware.arch import device_named
from tinygpu.hardware.processor import overruled, processor_named
from tinygpu.model.machine import Machine
from tinygpu.program.step import Program

WIDE, NARROW = processor_named("cpu-avx512"), processor_named("cpu-avx2")
MACHINES = [
    ("matmul_cpu", "matmul_core", {"M": 9, "N": 50, "K": 3}),
    ("matmul_cpu", "matmul_core_6", {"M": 7, "N": 19, "K": 66}),
    ("softmax_cpu", "softmax_core", {"R": 5, "N": 70}),
    ("softmax_cpu", "softmax_kept", {"R": 3, "N": 133}),
    ("norm_cpu", "norm_core[op=layernorm]", {"R": 5, "N": 67}),
    ("norm_cpu", "norm_four[op=rmsnorm]", {"R": 6, "N": 40}),
    ("online", "online_core", {"R": 3, "N": 40}),
    ("views", "product_core", {"M": 9, "N": 20, "K": 8}),
]


def as_run(one: Machine) -> Program:
    return pipeline.on_core(next(pipeline.singles(one), pipeline.program(one)))


def cost_of(spec: str, name: str, sizes: dict[str, int], cpu: processor.Processor = WIDE) -> Cost:
    one = library.machine(spec, name)
    return measure(as_run(one), {n: sizes[n] for n in one.op.sizes}, cpu)


# ── counted and walked ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("cpu", [WIDE, NARROW], ids=["avx512", "avx2"])
@pytest.mark.parametrize(("spec", "name", "sizes"), MACHINES, ids=[f"{s}-{m}" for s, m, _ in MACHINES])
def test_what_is_counted_is_what_is_walked(spec: str, name: str, sizes: dict[str, int], cpu: processor.Processor) -> None:
    """Elements are the different points of the loops that stay, loads and stores those of them in groups along the innermost loop."""
    for program in (pipeline.program(library.machine(spec, name)), as_run(library.machine(spec, name))):
        program = unpack(at_width(program, cpu))
        at = {n: sizes[n] for n in program.op.sizes}
        counter, seen = Counter(program, at), 0
        for site in sites(program, memory=in_memory(program, cpu)):
            if not isinstance(site, Access):
                continue
            _, elements, lanes, found = made(site, cpu, counter)
            walked = points_of(program, site, at, cpu, lanes)
            if walked is None:
                continue
            assert found is not None and found.exact, site
            assert (elements.number, found.requests) == walked, (site.array.name, site.index, lanes)
            seen += 1
        assert seen > 1


def points_of(
    program: Program, site: Access, sizes: dict[str, int], cpu: processor.Processor, lanes: int
) -> tuple[int, int] | None:
    """By walking; None where that takes too long."""
    launch = program.launches[site.where.launch]
    dropped = {a.name for a in again(site, {a.name for a in launch.turns}, cpu)}
    axes = (*launch.grid, *site.where.axes)
    extents, guards = extents_of(axes, sizes)
    if (many := prod(extents.values())) > 1 << 20:
        return None
    values = enumerated(extents)
    inside = np.broadcast_to(np.asarray(evaluate(conjunction(*guards, site.where.guard), {**sizes, **values}), bool), (many,))
    kept = [a.name for a in axes if a.name not in dropped]
    at = [values[n][inside] // (lanes if n == kept[-1] else 1) for n in kept]
    alone = [values[n][inside] for n in kept]
    shape = tuple(extents[n] for n in kept)
    elements, groups = (np.unique(np.ravel_multi_index(one, shape)) if kept else inside.nonzero()[0][:1] for one in (alone, at))
    return len(elements), len(groups)


# ── by hand ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_product_by_hand() -> None:
    """A core loads a number of A for 48 columns, and a vector of its panel for 8 rows; it packs B once for 256 rows, and C goes out once."""
    cost = cost_of("matmul_cpu", "matmul_core", {"M": 1024, "N": 960, "K": 512})
    found = {(one.array, one.access.stores): (one.access.lanes, one.tally.requests) for one in cost.lines if one.tally}
    assert found["A", False] == (1, 1024 * 512 * 960 // 48) and found["panel", False] == (16, 1024 * 960 * 512 // 16 // 8)
    assert found["B", False] == (16, 4 * 512 * 960 // 16) and found["C", True] == (16, 1024 * 960 // 16)
    assert [shown(one.asked.closed) for one in cost.flows if one.array == "C"] == ["M·N"]
    assert cost.launches[0].blocks.number == 4 * 20 and cost.flops.number == 2 * 1024 * 960 * 512


def test_a_gathered_element_is_no_vector() -> None:
    """Columns of a matrix that is stored by rows: of a transpose on cpu one side is in vectors, and not both, unless it goes through squares."""
    one = library.machine("transpose", "transpose_naive")
    cost = measure(pipeline.program(one), {"M": 64, "N": 64}, WIDE)
    assert {line.access.lanes for line in cost.lines} == {1}  # a point of the grid has no loop


# ── bounds ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("spec", "name", "sizes"), MACHINES, ids=[f"{s}-{m}" for s, m, _ in MACHINES])
def test_no_bound_is_above_what_the_program_says(spec: str, name: str, sizes: dict[str, int]) -> None:
    """Of an op no more than any machine of it says, and of a machine neither; of sums in parts the first of each part is left out."""
    one = library.machine(spec, name)
    at = {n: 8 * sizes[n] for n in one.op.sizes}
    needs = sum(instructions(operations(one.op, at)).values())
    for program in (at_width(pipeline.program(one), WIDE), at_width(as_run(one), WIDE)):
        runs = sum(instructions(operations(program, at)).values())
        said = sum(
            count.number or 0 for kind, _, count in measure(program, at, WIDE).operations if kind not in ("compare", "convert")
        )
        assert needs <= said and 0.9 * needs <= runs <= said
    assert needs > 0


@pytest.mark.parametrize("stem", ["scan", "embedding", "append", "pooling", "softmax", "rows", "matmul"])
def test_no_machine_does_less_than_its_op(stem: str) -> None:
    """Prefixes, sums of what data choose, windows and elements that stay are no operations of every machine."""
    for one in library.library(stem):
        at = usual_sizes(one.op, {}, 96, 1 << 20)
        needs, runs = (sum(instructions(operations(what, at)).values()) for what in (one.op, pipeline.program(one)))
        assert 0.7 * needs <= runs, one.title


def test_what_is_the_same_in_every_turn_is_computed_once() -> None:
    (one,) = pipeline.load_text(HOISTED).machines
    found = operations(pipeline.program(one), {"R": 10, "N": 100})
    assert found == {(0, "special", "f32"): 10, (0, "add", "f32"): 10, (0, "divide", "f32"): 1000}
    assert operations(one.op, {"R": 10, "N": 100}) == found


HOISTED = """op f(x: f32[R, N], v: f32[R]) -> (y: f32[R, N]) { y[r, j] = x[r, j] / sqrt(v[r] + 1.0) }
machine m : f on cpu { work core = (r)
  time j }
"""


def test_an_op_of_which_data_choose_promises_little() -> None:
    """Rows that indices name, and values under a condition on data, may be few."""
    text = "op f(x: f32[V, D], i: i32[n]) -> (y: f32[n, D]) where V >= 1 promise all[t] 0 <= i[t] and i[t] < V { y[t, d] = exp(x[i[t], d]) if i[t] > 3 else 0 }"
    try:
        (op,) = pipeline.load_text(text).spec.ops
    except Exception:  # noqa: BLE001
        (op,) = pipeline.load_text(text.replace(" promise all[t] 0 <= i[t] and i[t] < V", "")).spec.ops
    at = {"V": 1000, "D": 8, "n": 5}
    assert operations(op, at) == {} and bytes_once(op, at) == 4 * (5 + 5 * 8)


def test_a_core_without_a_turn_does_nothing() -> None:
    """One turn of a core is a core's work, however many there are; and what caches keep is not asked of memory again."""
    one = library.machine("softmax_cpu", "softmax_core")
    at = {"R": 1, "N": 1 << 16}
    eight, single = overruled(WIDE, {"cores": 8}), overruled(WIDE, {"cores": 1})
    assert bound(pipeline.program(one), at, eight) == bound(pipeline.program(one), at, single) > bound(one.op, at, eight)
    big = {"R": 1 << 14, "N": 1 << 12}
    once = 2 * (1 << 26) * 4
    assert bound(one.op, big, WIDE) == pytest.approx((once - WIDE.cache_bytes) / WIDE.memory_bytes_per_second)
    h100 = device_named("h100")
    assert h100 is not None and bound(one.op, big, h100) == pytest.approx((once - h100.l2_bytes) / h100.memory_bytes_per_second)


def test_the_bounds_of_a_page_by_hand() -> None:
    cost = cost_of("matmul_cpu", "matmul_core", {"M": 1024, "N": 960, "K": 512})
    found = {b.what: b.seconds for b in bounds_on_cpu(cost, WIDE)}
    assert found["arithmetic"] == pytest.approx(1024 * 960 * 512 / (8 * 4e9 * 2 * 16))
    assert found["memory, each element once"] == pytest.approx(4 * (1024 * 512 + 512 * 960 + 1024 * 960) / 76.8e9)
    loads = sum(one.tally.requests for one in cost.lines if one.tally and not one.access.stores)
    assert issued(cost, WIDE)["loads"] == pytest.approx(loads / (8 * 4e9 * 2))


# ── pages, data, peaks ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("spec", "name", "sizes", "cpu"),
    [
        ("matmul_cpu", "matmul_core", {"M": 1024, "N": 1024, "K": 1024}, WIDE),
        ("softmax_cpu", "softmax_kept", {"R": 4096, "N": 4096}, NARROW),
        ("transpose", "transpose_naive", {"M": 4096, "N": 4095}, None),
    ],
)
def test_a_page_of_a_cpu(spec: str, name: str, sizes: dict[str, int], cpu: processor.Processor | None, golden) -> None:
    golden(f"cost/{name}_on_cpu.txt", core_page(cost_of(spec, name, sizes, cpu or WIDE), name, cpu or WIDE, cpu) + "\n")


def test_a_machine_on_cpu_has_a_cost(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["show", "specs/softmax_cpu.tgpu", "softmax_core", "--cost", "R=64", "N=64"]
    assert main([*asked, "--device", "cpu-avx2", "--peaks", "cores=2", "clock_hertz=3e9", "--output-format", "json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["costs"]
    assert found["machine"] == "softmax_core" and found["vector_bytes"] == 32 and found["arch"] == "cpu"
    assert found["bounds"][0]["seconds"] == pytest.approx(2 * 64 * 64 * 4 / 51.2e9)
    assert {a["thread_bytes"][0] for a in found["accesses"]} == {32}
    assert main(asked) == 0 and "no faster" not in capsys.readouterr().out
    assert main([*asked, "--device", "h100"]) == 0 and "does not run on NVIDIA H100" in capsys.readouterr().out


def test_a_machine_of_any_device_is_shown_as_a_cpu_runs_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "specs/row_sum.tgpu", "--cost", "R=64", "N=64", "--device", "cpu"]) == 0
    assert "in vectors of 64 bytes, as a CPU runs it" in capsys.readouterr().out
    assert main(["show", "specs/histogram.tgpu", "histogram_shared", "--cost", "--device", "cpu-avx512"]) == 0
    assert "a CPU runs in turn" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "title"),
    [
        (["--device", "cpu-z80"], "there is no CPU cpu-z80"),
        (["--device", "cpu-avx2", "--peaks", "speed=3"], "a CPU has no peak speed"),
        (["--device", "cpu-avx2", "--peaks", "cores=none"], "the peak cores is none"),
        (["--device", "cpu-avx2", "--peaks", "cores=0"], "the peak cores is 0"),
        (["--device", "h100", "--peaks", "cores=2"], "--peaks goes with a CPU"),
        (["--device", "nowhere.toml"], "nowhere.toml says nothing of a CPU"),
    ],
)
def test_a_cpu_that_is_none(words: list[str], title: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "specs/softmax_cpu.tgpu", "softmax_core", "--cost", *words]) == 2
    assert "TG905" in (said := capsys.readouterr().err) and title in said


def test_a_file_of_ones_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (processor.HERE / "processor_avx2.toml").read_text(encoding="utf-8")
    (tmp_path / "mine.toml").write_text(
        text.replace("x86-64 with AVX2", "Mine").replace("cores = 8", "cores = 3"), encoding="utf-8"
    )
    asked = ["show", "specs/softmax_cpu.tgpu", "softmax_core", "--cost", "R=64", "N=64", "--device", str(tmp_path / "mine.toml")]
    assert main(asked) == 0 and "on Mine" in (said := capsys.readouterr().out) and "3 cores at 4 GHz" in said
    (tmp_path / "mine.toml").write_text("[processor]\nname = 'Mine'\ncores = 3\n", encoding="utf-8")
    processor._read.cache_clear()
    assert main(asked) == 2 and "the peak clock_hertz is not given" in capsys.readouterr().err


def test_no_cpu_does_more_than_any() -> None:
    """What candidates are dropped by is above what the others are assumed to do."""
    most = processor_named("cpu-any")
    for name in processor.processors():
        one = processor_named(name)
        assert all(getattr(one, peak) <= getattr(most, peak) for peak in processor.PEAKS)


def test_a_cpu_of_another_kind_bounds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processor.platform, "machine", lambda: "riscv64")
    assert processor.here() is None
    monkeypatch.setattr(processor.platform, "machine", lambda: "x86_64")
    assert (found := processor.here()) is not None and found.cores >= 1
