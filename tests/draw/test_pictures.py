"""Pictures as a whole: well-formed, the same each time, small, for every machine; fragments, rooflines, counterexamples; what cannot be drawn; notebooks.

Comes in: shipped machines and wrong ones. Goes out: SVG, HTML, messages. The one idea: whoever asks for a picture gets one that is true, or is told by name why there is none.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import tinygpu
from tests.conftest import ROOT
from tests.draw.watched import watched
from tests.program import library
from tinygpu.category.evaluate import evaluate
from tinygpu.category.term import Var
from tinygpu.cli import main
from tinygpu.commands.draw import WHAT
from tinygpu.cost.measure import measure
from tinygpu.derive.unpack import unpack
from tinygpu.diagnostic import Diagnostic, TinygpuError
from tinygpu.hardware.arch import device_named
from tinygpu.model.instruction import shipped
from tinygpu.pictures import KINDS, draw, html
from tinygpu.pictures.drawn import outputs
from tinygpu.pictures.fragments import held
from tinygpu.pictures.paper import COLOURS, STYLE, inscribed, painted
from tinygpu.pictures.refuted import cells, refuted, storing, threads
from tinygpu.pictures.roofline import roofline
from tinygpu.pictures.roofs import point, roofs
from tinygpu.pipeline import Proof, Refutation, Unknown, check, load, program
from tinygpu.simulate.fault import DoubleStore, Race
from tinygpu.simulate.tolerance import Mismatch

LARGEST = 2_500_000  # characters of an SVG
WRONG = ROOT / "tests" / "wrong"
FILES = [path.relative_to(ROOT / "specs").with_suffix("").as_posix() for path in sorted((ROOT / "specs").rglob("*.tgpu"))]


def sound(svg: str) -> ElementTree.Element:
    """The root of a drawing that is one, and no giant."""
    assert len(svg) < LARGEST
    root = ElementTree.fromstring(svg)
    assert root.tag == "{http://www.w3.org/2000/svg}svg" and root.get("aria-label")
    assert "nan" not in svg and "inf" not in re.sub(r"info|infl|-inf|inf[a-z]", "", svg.split("</style>")[1])
    for text in root.iter("{http://www.w3.org/2000/svg}text"):
        assert 8 <= float(text.get("font-size", 0)) <= 16
    return root


@pytest.mark.sampled
@pytest.mark.parametrize("part", [f"{path}/{quarter}" for path in FILES for quarter in range(4)])
def test_every_machine_has_a_picture_of_its_partition(part: str) -> None:
    path, _, quarter = part.rpartition("/")
    machines = {m.name: m for m in reversed(library.loaded(path).machines)}
    for machine in [*machines.values()][::-1][int(quarter) :: 4]:
        sound(draw(machine).svg)


@pytest.mark.parametrize(
    ("spec", "name", "kind"),
    [
        ("transpose", "transpose_swizzled", "banks"),
        ("attention", "flash_mma", "fragments"),
        ("tensor_cores", "half_roles", "timeline"),
        ("matmul_shared", "matmul_64x64", "roofline"),
        ("matmul_cpu", "matmul_core", "partition"),
    ],
)
def test_a_picture_is_well_formed_and_the_same_each_time(spec: str, name: str, kind: str) -> None:
    machine = library.machine(spec, name)
    first = draw(machine, kind)
    sound(first.svg)
    assert draw(machine, kind).svg == first.svg == first._repr_svg_()


def test_a_picture_is_the_same_in_every_process() -> None:
    code = "from tinygpu import draw, load; print(draw(load('specs/transpose.tgpu').transpose_tiled).svg)"
    texts = {
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            capture_output=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(texts) == 1


def test_colours_are_read_by_light_and_by_dark() -> None:
    light, _, dark = STYLE.partition("prefers-color-scheme: dark")
    for text, part in ((0x1C2127, light), (0xEEF1F4, dark)):
        found = re.findall(r"\.c(\d+)\{fill:#(\w{6})\}", part.split("}}")[0] if part is dark else part)
        assert len({c for _, c in found}) == len({n for n, _ in found}) == COLOURS
        for number, fill in found:
            assert contrast(text, int(fill, 16)) >= 4.5, (number, fill)  # WCAG AA


def contrast(a: int, b: int) -> float:
    def luminance(rgb: int) -> float:
        parts = [(rgb >> shift & 255) / 255 for shift in (16, 8, 0)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_cells_of_one_colour_are_one_rectangle() -> None:
    marks = [*painted(np.array([[3, 3, 5], [5, 5, 5]]), 10, 20)]
    assert marks == ['<path class="c3" d="M0 0h20v20H0z"/>', '<path class="c5" d="M20 0h10v20H20zM0 20h30v20H0z"/>']
    assert [*inscribed([[("a<",), ()]], 10, 20, 9)] == ['<text class="m" y="13.24" font-size="9"><tspan x="5">a&lt;</tspan></text>']


# ── fragments ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_lanes_of_a_fragment_are_those_that_a_run_shows() -> None:
    made = unpack(program(library.machine("attention", "flash_mma")))
    (mma,) = {i for i in shipped("mma_m16n8k16") if i.operand("a").dtype == "f16" and i.operand("c").dtype == "f32"}
    lane, cell = held(mma.operand("a"))
    sizes = {"B": 1, "H": 1, "S": 5, "D": 32, "T": 3}
    seen = [t for t in watched(made, sizes, {"q"}) if t.stores and t.thread < 32]
    assert len(seen) == 16 * 32
    for touch in seen:
        i, k = divmod(touch.element, 32)
        assert lane[i, k % 16] == touch.thread
        assert cell[i, k % 16] == (touch.turn["s2"] * 2 + touch.turn["r2"]) * 2 + touch.turn["u"]


def test_a_fragment_is_one_to_one_and_is_drawn_with_its_numbers() -> None:
    (mma,) = {i for i in shipped("mma_m16n8k16") if i.operand("a").dtype == "f16" and i.operand("c").dtype == "f32"}
    for operand in mma.operands:
        lane, cell = held(operand)
        assert len({*zip(lane.flat, cell.flat, strict=True)}) == lane.size == 32 * operand.count
    said = draw(library.machine("attention", "flash_mma"), "fragments").svg
    assert (
        "mma_m16n8k16" in said
        and "c[i, j]: f32[16, 8], written" in said
        and "in registers: 8 elements a lane, 2 in a register of 32 bits" in said
    )
    assert str(mma.operand("a").index(Var("lane"), Var("r")))


def test_an_instruction_is_drawn_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    out = tmp_path / "wgmma.svg"
    assert main(["draw", "specs/tensor_cores.tgpu", "wgmma_m64n16k16", "--what", "fragments", "-o", str(out)]) == 0
    said = out.read_text(encoding="utf-8")
    sound(said)
    assert said.count("wgmma_m64n16k16, on sm_90a") == 1  # whatever the dtypes
    assert "by the 128 lanes of a warpgroup" in said


# ── rooflines ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_machines_lie_under_the_roofs() -> None:
    device = device_named("a100")
    assert device
    for spec, name in (("matmul_shared", "matmul_128x128"), ("softmax", "softmax_warp"), ("tensor_cores", "half_ring")):
        cost = measure(program(library.machine(spec, name)), dict.fromkeys(program(library.machine(spec, name)).op.sizes, 1024))
        one, peaks = point(name, cost, device), roofs(device, [cost])
        assert one and one.worst
        for intensity, speed in (one.best, one.worst):
            assert speed <= 1.0001 * min(max(peaks.values()), intensity * device.memory_bytes_per_second)
        assert one.worst[0] <= one.best[0] and one.worst[1] <= one.best[1]
        assert cost.flops.number == pytest.approx(one.best[1] * one.seconds[0])
        sound(roofline([(name, cost)], device).svg)


def test_a_roofline_says_that_nothing_is_measured() -> None:
    said = draw(library.loaded("matmul_shared"), "roofline", device="rtx4090", M=512, N=512, K=512, G=2).svg
    assert "roofline, predicted" in said and "nothing here is measured" in said and "matmul_128x128" in said


def test_a_roofline_says_other_sizes_beside_the_machine() -> None:
    said = draw(library.loaded("matmul_shared"), "roofline").svg
    assert (
        "at M = 4096, K = 4096, N = 4096;" in said and "batched_64x64 at G = 128, M = 128" in said and "matmul_16x16 at" not in said
    )


def test_a_cpu_has_a_roofline_too() -> None:
    said = draw(library.loaded("norm_cpu"), "roofline", device="cpu-avx2").svg
    sound(said)
    assert "roofline, predicted" in said and "memory, each element once" in said
    assert refusal(library.machine("norm_cpu", library.library("norm_cpu")[0].name), "roofline").startswith("TG930 ")


# ── counterexamples ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "name",
    [
        "TG202_two_threads",
        "TG203_no_guard",
        "TG302_no_barrier",
        "TG303_divergent_barrier",
        "TG502_swapped_axes",
        "TG520_not_associative",
    ],
)
def test_a_counterexample_is_drawn(name: str) -> None:
    verdicts = [check(m) for m in load(WRONG / f"{name}.tgpu").machines]
    wrong = next(v for v in verdicts if isinstance(v, Refutation))
    picture = draw(wrong)
    sound(picture.svg)
    assert name[:5] in picture.svg and picture.svg == refuted(wrong).svg
    assert wrong.diagnostic.case and wrong.diagnostic.case.rows[0][0] in picture.svg


def test_the_threads_and_the_cell_are_those_of_the_fault() -> None:
    (machine,) = load(WRONG / "TG202_two_threads.tgpu").machines
    wrong = check(machine)
    assert isinstance(wrong, Refutation) and isinstance(wrong.seen, DoubleStore)
    block = wrong.program.launches[0].block
    for at in (wrong.seen.at, wrong.seen.first):
        plane, spot = threads(block, dict(wrong.sizes), at, [wrong.seen.at, wrong.seen.first])
        assert spot == (dict(at.lane)["ty"], dict(at.lane)["tx"])
        assert plane.low[0] <= spot[0] < plane.high[0] and plane.low[1] <= spot[1] < plane.high[1]


def test_a_wrong_value_shows_who_stores_it() -> None:
    (machine,) = load(WRONG / "TG502_swapped_axes.tgpu").machines
    wrong = check(machine)
    assert isinstance(wrong, Refutation) and isinstance(wrong.seen, Mismatch)
    sizes = dict(wrong.sizes)
    (at,) = storing(wrong.program, sizes, wrong.seen.tensor, wrong.seen.index)
    touches = watched(wrong.program, sizes, {wrong.seen.tensor})
    flat = int(np.ravel_multi_index(wrong.seen.index, [int(evaluate(e, sizes)) for e in wrong.program.op.outputs[0].shape]))
    launch = wrong.program.launches[0]
    number = [
        int(np.ravel_multi_index([dict(at.lane)[a.name] for a in axes], [int(evaluate(a.extent, sizes)) for a in axes]))
        for axes in (launch.grid, launch.block)
    ]
    assert {(t.block, t.thread) for t in touches if t.element == flat and t.stores} == {tuple(number)}
    assert "stored by thread" in refuted(wrong).svg


def test_a_cell_outside_is_drawn_outside() -> None:
    plane, spot = cells("x", (1,), (1,))
    assert plane.inside == (1, 1) and spot == (0, 1) and plane.high == (1, 2)
    plane, spot = cells("x", (4, 8), (-1, 3))
    assert plane.low == (-1, 0) and spot == (-1, 3)
    plane, spot = cells("s", (256,), (70,))
    assert spot == (2, 6)


def test_a_race_has_two_threads() -> None:
    verdicts = [check(m) for m in load(WRONG / "TG302_no_barrier.tgpu").machines]
    wrong = next(v for v in verdicts if isinstance(v, Refutation))
    assert isinstance(wrong.seen, Race)
    said = refuted(wrong).svg
    assert 'class="in-bad"' in said and 'class="in-other"' in said


# ── what cannot be drawn ───────────────────────────────────────────────────────────────────────────────────────────


def refusal(what: object, kind: str = "", **sizes: int) -> str:
    with pytest.raises(TinygpuError) as error:
        draw(what, kind, **sizes)  # type: ignore[arg-type]
    return "\n".join((error.value.diagnostics[0].headline, *error.value.diagnostics[0].helps))


def test_what_is_not_there_is_said_by_name() -> None:
    naive = library.machine("transpose", "transpose_naive")
    assert (
        refusal(naive, "banks")
        == "TG930 transpose_naive has no shared memory: there is no picture of its banks\nthe other pictures are partition, fragments, timeline, roofline, counterexample"
    )
    for kind in ("fragments", "timeline", "roofline", "counterexample"):
        assert refusal(naive, kind).startswith("TG930 transpose_naive has no ")
    assert refusal(naive, "flames").startswith("TG931 there is no picture flames\nthe pictures are partition, banks")
    assert refusal(library.machine("copy", "copy_v4"), n=100_000_000).startswith("TG932 there is too much to draw of ")
    assert refusal(naive, Q=3) == "TG933 transpose has no size Q\nits sizes are M, N"
    assert refusal(library.machine("softmax", "softmax_warp"), R=8, N=0).startswith(
        "TG933 softmax_warp asks for N >= 1, and R=8, N=0 breaks it"
    )
    assert refusal(library.loaded("transpose")).startswith(
        "TG934 one machine is drawn, and there are 4\nsay which: transpose_naive"
    )


def test_the_kinds_of_the_command_are_those_of_the_library() -> None:
    assert tuple(KINDS) == WHAT


# ── the command, and Python ────────────────────────────────────────────────────────────────────────────────────────


def test_the_command_writes_what_python_draws(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    out = tmp_path / "y.svg"
    assert main(["draw", "specs/transpose.tgpu", "transpose_tiled", "M=40", "-o", str(out)]) == 0
    machine = load("specs/transpose.tgpu").transpose_tiled
    assert out.read_text(encoding="utf-8") == tinygpu.draw(machine, M=40).svg
    assert "the partition of transpose_tiled" in capsys.readouterr().out
    assert main(["draw", "specs/transpose.tgpu", "transpose_tiled", "M=40"]) == 0
    assert capsys.readouterr().out == out.read_text(encoding="utf-8")
    tinygpu.draw(machine, M=40).save(tmp_path / "z.svg")
    assert (tmp_path / "z.svg").read_bytes() == out.read_bytes()


def test_the_command_says_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    for words, code in (
        (["transpose_naive", "--what", "banks"], "TG930"),
        (["nobody"], "TG905"),
        (["transpose_naive", "Q=3"], "TG933"),
        ([], "TG934"),
        (["transpose_naive", "--device", "h100"], "TG905"),
        (["transpose_naive", "--what", "roofline", "--device", "abacus"], "TG905"),
        (["transpose_naive", "-o", str(tmp_path)], "TG904"),
    ):
        assert main(["draw", "specs/transpose.tgpu", *words]) == 2
        said = capsys.readouterr().err
        assert said.startswith(code) and "Traceback" not in said


# ── notebooks ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_notebooks_show_pictures() -> None:
    spec = library.loaded("transpose")
    assert "transpose_tiled : transpose" in spec._repr_html_()
    assert outputs(spec.transpose_tiled).svg in spec.transpose_tiled._repr_html_()
    assert "y[j, i]: who stores it" in outputs(spec.transpose_tiled).svg and "who reads it" not in outputs(spec.transpose_tiled).svg
    proof = check(spec.transpose_tiled)
    assert isinstance(proof, Proof)
    assert "<b>proved</b>" in proof._repr_html_() and "all M, N" in proof._repr_html_() and "<svg" in proof._repr_html_()
    (machine,) = load(WRONG / "TG202_two_threads.tgpu").machines
    wrong = check(machine)
    assert isinstance(wrong, Refutation)
    assert "<b>refuted</b>" in wrong._repr_html_() and refuted(wrong).svg in wrong._repr_html_()


def test_notebooks_show_choices_and_pipelines() -> None:
    spec = library.loaded("softmax_cpu")
    assert "<li><code>softmax_cores : softmax</code></li>" in spec._repr_html_()
    assert "softmax_kept where N &lt;= 4096" in spec.softmax_cores._repr_html_()
    whole = tinygpu.check(spec.softmax_cores)
    assert "<b>proved</b> <code>softmax_cores</code>, all R, N with N &gt;= 1 (" in whole._repr_html_()  # type: ignore[union-attr]
    assert re.fullmatch(r"<Whole of softmax_cores: \d+ obligations>", repr(whole))
    assert repr(spec.softmax_cores) == "<Choice softmax_cores : softmax>" and {*tinygpu.__all__} <= {*dir(tinygpu)}


def test_what_is_unknown_is_shown_as_unknown() -> None:
    machine = library.machine("transpose", "transpose_tiled")
    unknown = Unknown(program(machine), (Diagnostic("TG515", "not decided <in time>", notes=("it took long",)),))
    said = unknown._repr_html_()
    assert (
        said == html(unknown)
        and "<b>unknown</b>" in said
        and "TG515 not decided &lt;in time&gt;" in said
        and "note: it took long" in said
    )


def test_a_repr_is_a_line() -> None:
    spec = library.loaded("transpose")
    assert repr(spec).endswith("transpose.tgpu: transpose_naive, transpose_tiled, transpose_swizzled, transpose_wide>")
    assert repr(spec.transpose_tiled) == "<Machine transpose_tiled : transpose>"
    assert repr(draw(spec.transpose_tiled)).startswith("<Picture of the partition of transpose_tiled: ")
