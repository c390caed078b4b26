"""Every construct of a program on the CPU against the simulator, and the form that the text takes where speed depends on it.

Comes in: `cpu/NAME.tgpu`, with what their comments say (`tests/comments.py`; `# one text`: all its machines have it); programs of threads that
work together. Goes out: their texts, followed; of some of each shape outputs, compared. The one idea: what is computed is what the program says, and the text shows why it is fast.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import njit

from tests.comments import has_pieces, sizes_of
from tests.emit.cpu_harness import called, kernel, laid, laid_kernels, programs, run
from tests.emit.hand_programs import PROGRAMS
from tests.program.library import TEXTS, program
from tinygpu.emit.cpu import cpu_kernels, cpu_name
from tinygpu.obligations.width import cpu_limits
from tinygpu.program.step import Program
from tinygpu.record import replace
from tinygpu.simulate.inputs import random_inputs
from tinygpu.simulate.simulate import simulate
from tinygpu.validate.cpu import validate
from tinygpu.validate.module import read
from tinygpu.validate.typed import Differs

RUN = (
    "by_hand",
    "causal",
    "convolution",
    "convolution_of_channels",
    "floats",
    "integers",
    "product_f64",
    "product_of_few",
    "shuffles",
    "cut_at_barriers",
    "turned_cast",
)  # one of each shape
FILES = sorted((Path(__file__).parent / "cpu").glob("*.tgpu"))
SOME = [pytest.param(path, marks=() if path.stem in RUN else pytest.mark.sampled, id=path.stem) for path in FILES]
REFUSED = "changed_data"  # it is right, and not seen to be
SLACK = {"f32": 2e-5, "f64": 1e-12}  # integers and 16 bits are compared exactly


def agree(built: Program, sizes: dict[str, int], inputs: dict[str, Any]) -> dict[str, Any]:
    """The outputs, after the simulator has given the same without a fault."""
    outcome = simulate(built, sizes, inputs)
    assert not outcome.faults, outcome.faults
    got = run(built, sizes, inputs)
    for tensor in built.op.outputs:
        mine, want = got[tensor.name].astype(np.float64), np.asarray(outcome.outputs[tensor.name]).astype(np.float64)
        slack = SLACK.get(tensor.dtype, 0.0)
        assert np.allclose(mine, want, rtol=slack, atol=slack, equal_nan=True), f"{tensor.name} at {sizes}"
    return got


@pytest.mark.sampled(3)
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_its_text_does_what_the_program_does_and_is_the_fast_one(path: Path) -> None:
    """The first for all sizes, since it is a proof."""
    spec, texts = path.read_text(encoding="utf-8"), set()
    for title, built in programs(spec).items():
        made = replace(laid(built), name="made")
        texts.add(cpu_kernels(made))
        if title != REFUSED:
            validate(read(cpu_kernels(made), path.name), "made", made, cpu_limits(made))
    assert "# one text\n" not in spec or len(texts) == 1
    for text in texts:
        has_pieces(path, text)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("path", SOME)
def test_it_computes_what_the_simulator_does(path: Path) -> None:
    for built in programs(path.read_text(encoding="utf-8")).values():
        for sizes in sizes_of(path):
            agree(built, sizes, random_inputs(built.op, sizes))


def test_numbers_at_the_ends_of_their_types() -> None:
    x = np.array([1e30, -1e30, np.inf, -np.inf, 127.9, 128.0, -128.9, -129.0, 0.5, -0.5], np.float32)
    built = program(
        "op made(a: bf16, x: f32[n]) -> (z: i8[n], y: f32[n]) {\n  z[i] = i8(x[i])\n  y[i] = f32(a)\n}\n"
        "machine plain : made {\n  work grid = (g), block = (t: 64)\n  compute i = (g, t)\n}\n"
    )
    got = run(built, {"n": len(x)}, {"a": 1.0 + 2.0**-9, "x": x})
    assert got["z"].tolist() == [127, -128, 127, -128, 127, 127, -128, -128, 0, 0]
    assert (got["y"] == 1).all(), "a scalar of 16 bits is rounded"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    settled()\n", "    pass\n"),
        ("streamed(z, at(r * N + ahead * 256)", "streamed(z, at(r * N + ahead * 255)"),
        ("streamed(z, ", "streamed(x, "),
        (", z_piece, 256)", ", w, 256)"),
        (", z_piece, 256)", ", z_piece, 255)"),
    ],
)
def test_what_goes_past_the_caches_is_what_the_program_stores(old: str, new: str) -> None:
    spec = (Path(__file__).parent / "cpu" / "past_caches.tgpu").read_text(encoding="utf-8")
    (made,) = (replace(laid(built), name="made") for built in programs(spec).values())
    text = cpu_kernels(made)
    assert text.count(old) == 1
    with pytest.raises(Differs):
        validate(read(text.replace(old, new), "past"), "made", made, cpu_limits(made))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_lines_go_past_the_caches_wherever_they_begin(dtype: Any) -> None:
    from tinygpu.runtime.lanes import streamed

    made = np.arange(70).astype(dtype)
    for place, count in ((0, 64), (1, 64), (3, 70), (15, 20), (16, 3), (2, 0), (31, 69)):
        array = np.full(128, 7).astype(dtype)
        njit(lambda a, p, m, n: streamed(a, np.uintp(p), m, n))(array, place, made, count)
        want = np.full(128, 7).astype(dtype)
        want[place : place + count] = made[:count]
        assert (array == want).all(), (place, count)


def test_a_hint_of_a_program_is_where_it_is_until_it_is_laid_out() -> None:
    built = program(
        "op twice(x: f32[R, N]) -> (y: f32[R, N]) { y[r, j] = 2 * x[r, j] }\nmachine core : twice on cpu {\n  work core = (r: R)\n"
        "  program { for j < N {\n    if r + 1 < R { prefetch x[r + 1, j] }\n    y[r, j] = 2 * x[r, j]\n  } }\n}\n"
    )
    text = cpu_kernels(replace(built, name="made"))
    assert "prefetch(x, at((r + 1) * N + j))" in text and "prefetch" not in laid_kernels(built)
    validate(read(text, "core"), "made", replace(built, name="made"), cpu_limits(built))
    agree(built, {"R": 5, "N": 40}, random_inputs(built.op, {"R": 5, "N": 40}))
    for wrong in ("x, at(r * N + j)", "y, at((r + 1) * N + j)"):
        with pytest.raises(Differs):
            other = text.replace("x, at((r + 1) * N + j)", wrong)
            validate(read(other, "core"), "made", replace(built, name="made"), cpu_limits(built))


Inputs = dict[str, Any]
TOGETHER: dict[str, tuple[Callable[[Inputs], Any], dict[str, int]]] = {  # what they compute, and sizes for which threads are woken
    "row_max_warp": (lambda i: i["x"].max(1), {"R": 500, "N": 130}),
    "total_two": (lambda i: i["x"].sum(), {"n": 8449}),
    "histogram_atomic": (lambda i: np.bincount(i["x"], minlength=i["m"]), {"n": 200000, "m": 5}),
    "matmul_tiled": (lambda i: i["A"] @ i["B"], {"M": 64, "N": 80, "K": 32}),
}
PIECES = {
    "histogram_atomic": (
        "h_copies = np.full(parts * h.size, np.int32(0))",
        "prange(parts)",
    ),  # what many update is combined in order
    "row_max_warp": (  # `x[…, c*32 + lane]`: the loop over c is taken out of the threads, and the tail bounds the lanes
        "        for c in range((N + 31) // 32):\n            for w in range(min(4, R - g * 4)):\n",
        "for lane in range(min(32, N - c * 32)):\n",
    ),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", TOGETHER)
def test_threads_that_work_together_also_in_parallel(name: str) -> None:
    built = program(TEXTS[name])
    meaning, sizes = TOGETHER[name]
    inputs = random_inputs(built.op, sizes)
    names = called()
    exec(laid_kernels(built), names)
    for entry in (kernel(built), names[cpu_name(built)]):
        got = run(built, sizes, inputs, entry)[built.op.outputs[0].name]
        assert np.allclose(got, meaning({**inputs, **sizes}), rtol=1e-4, atol=1e-3)
    assert all(piece in laid_kernels(built) for piece in PIECES.get(name, ()))


def test_the_parallel_driver_gives_what_one_thread_gives() -> None:
    built, names = PROGRAMS["matmul_tile"], called()
    exec(laid_kernels(built), names)
    for sizes in ({"M": 70, "K": 19, "N": 300}, {"M": 0, "K": 1, "N": 3}, {"M": 3, "K": 0, "N": 2}):
        inputs = random_inputs(built.op, sizes)
        both = [run(built, sizes, inputs, entry)["C"] for entry in (names[cpu_name(built)], kernel(built))]
        assert np.array_equal(both[0], both[1])
    assert laid_kernels(built) == cpu_kernels(laid(built)) and cpu_name(replace(built, name="two[n=4]")) == "two_n_4_cpu"
