"""Programs of threads that work together, on the CPU, against the equation as numpy computes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.emit.cpu_harness import kernel, laid, laid_kernels, program, run
from tests.program.cooperation_texts import TEXTS
from tinygpu.emit.cpu import cpu_name, cpu_source

Inputs = dict[str, Any]
LINES = ({"n": 0}, {"n": 256}, {"n": 1024}, {"n": 256 * 300})
MEANING: dict[str, tuple[Callable[[Inputs], Any], tuple[dict[str, int], ...]]] = {
    "ring_difference": (lambda i: i["x"] - np.roll(i["x"].reshape(-1, 256), -1, 1).reshape(-1), LINES),
    "transpose_padded": (lambda i: i["x"].T, ({"M": 1, "N": 1}, {"M": 33, "N": 31}, {"M": 100, "N": 130})),
    "row_max_warp": (lambda i: i["x"].max(1), ({"R": 1, "N": 1}, {"R": 6, "N": 31}, {"R": 50, "N": 130})),
    "total_block": (lambda i: i["x"].sum(), LINES),
    "total_two": (lambda i: i["x"].sum(), (*LINES, {"n": 8449})),
    "histogram_atomic": (lambda i: np.bincount(i["x"], minlength=i["m"]), ({"n": 0, "m": 5}, {"n": 999, "m": 300}, {"n": 200000, "m": 5})),
    "matmul_tiled": (lambda i: i["A"] @ i["B"], ({"M": 1, "N": 1, "K": 0}, {"M": 33, "N": 31, "K": 17}, {"M": 64, "N": 80, "K": 32})),
}  # fmt: skip


def made(shape: tuple[int, ...], dtype: str, sizes: dict[str, int]) -> Any:
    chance = np.random.default_rng(len(shape))
    return chance.integers(0, sizes["m"], shape).astype(np.int32) if dtype == "i32" else chance.standard_normal(shape, np.float32)


@pytest.mark.parametrize("name", MEANING)
def test_what_cooperating_programs_compute(name: str) -> None:
    built = program(TEXTS[name])
    meaning, every = MEANING[name]
    names: dict[str, Any] = {}
    exec(cpu_source(laid(built)), names)
    for sizes in every:
        given = {size: sizes[size] for size in built.op.sizes}
        shapes = {t.name: tuple(given[e.name] for e in t.shape) for t in built.op.inputs}  # type: ignore[union-attr]
        inputs = {t.name: made(shapes[t.name], t.dtype, sizes) for t in built.op.inputs}
        for entry in (kernel(built), names[cpu_name(built)]):
            got = run(built, given, inputs, entry)[built.op.outputs[0].name]
            assert np.allclose(got, meaning({**inputs, **sizes}), rtol=1e-4, atol=1e-3), f"{name} at {sizes}"


SHUFFLES: dict[str, Callable[[int], int]] = {
    "shuffle_xor(v[], 5)": lambda lane: lane ^ 5,
    "shuffle_up(v[], 3)": lambda lane: lane - 3 if lane >= 3 else lane,
    "shuffle_down(v[], 7)": lambda lane: lane + 7 if lane + 7 < 32 else lane,
    "shuffle_idx(v[], 9)": lambda lane: 9,
    "shuffle_idx(v[], t + 33)": lambda lane: (lane + 33) % 32,
    "shuffle_up(v[], t % 4)": lambda lane: lane - lane % 4,
    "shuffle_xor(shuffle_up(v[], 1), 1)": lambda lane: max((lane ^ 1) - 1, 0),
}


@pytest.mark.parametrize("text", SHUFFLES)
def test_whose_value_a_shuffle_takes(text: str) -> None:
    built = program(
        "op made(x: f32[n]) -> (z: f32[n]) { z[i] = x[i] }\nmachine a : made {\n  work grid = (g: ceil(n / 64)), block = (t: 64)\n  program {\n"
        f"    local v: f32[]\n    v[] = x[g*64 + t] if g*64 + t < n else 0\n    v[] = {text}\n    z[g*64 + t] = v[] if g*64 + t < n\n  }}\n}}\n"
    )
    x = np.arange(192, dtype=np.float32)
    want = [x[i - i % 32 + SHUFFLES[text](i % 32)] for i in range(192)]
    assert run(built, {"n": 192}, {"x": x})["z"].tolist() == want


BODIES = {
    "conditions around barriers": (
        "shared s: f32[64]\nlocal v: f32[]\nv[] = 0\nif n > 100 { s[t] = x[g*64 + t]\nbarrier\nv[] = s[63 - t] }\n"
        "for k < 3 { if n > 100 { barrier\ns[t] = v[] + f32(k)\nbarrier\nv[] = s[(t + 1) % 64] } }\nz[g*64 + t] = v[]"
    ),
    "cells of an array over barriers": (
        "shared s: f32[64]\nlocal c: f32[3]\nfor u < 3 in register { c[u] = x[g*64 + t] * f32(u + 1) }\n"
        "for u < 3 { s[t] = c[u]\nbarrier\nc[u] += s[(t + 5) % 64]\nbarrier }\nz[g*64 + t] = c[0] + c[1] + c[2]"
    ),
    "a condition on the warp": (
        "shared s: f32[64]\nlocal v: f32[]\nv[] = x[g*64 + t]\n"
        "if t // 32 == 0 { v[] += shuffle_xor(v[], 16)\nv[] += shuffle_xor(v[], 1) }\ns[t] = v[]\nbarrier\nz[g*64 + t] = s[(t + 32) % 64]"
    ),
}


@pytest.mark.parametrize("name", BODIES)
def test_bodies_cut_at_barriers(name: str) -> None:
    built = program(
        "op made(x: f32[n]) -> (z: f32[n]) where n % 64 == 0 { z[i] = x[i] }\n"
        f"machine a : made {{\n  work grid = (g: n // 64), block = (t: 64)\n  program {{\n{BODIES[name]}\n  }}\n}}\n"
    )
    for n in (0, 64, 256):
        x = np.arange(n, dtype=np.float32)
        assert np.array_equal(run(built, {"n": n}, {"x": x})["z"], by_numpy(name, x)), n


def by_numpy(name: str, x: Any) -> Any:
    """What the bodies mean, in lockstep."""
    v = x.reshape(-1, 64)
    if name.startswith("conditions"):
        out = np.zeros_like(v)
        if x.size > 100:
            out = v[:, ::-1]
            for k in range(3):
                out = np.roll(out + np.float32(k), -1, 1)
    elif name.startswith("cells"):
        out = sum((u + 1) * v + np.roll((u + 1) * v, -5, 1) for u in range(3))
    else:
        lane, out = np.arange(32), v.copy()
        out[:, :32] += out[:, lane ^ 16]
        out[:, :32] += out[:, lane ^ 1]
        out = np.roll(out, -32, 1)
    return out.reshape(-1)


def test_copies_of_what_many_update_are_combined_in_order() -> None:
    text = laid_kernels(program(TEXTS["histogram_atomic"])).text
    assert "h_copies = np.full(parts * h.size, np.int32(0))" in text and "prange(parts)" in text


def test_threads_are_the_inner_loop_where_they_are_closer_in_memory() -> None:
    """`x[…, c*32 + lane]`: the loop over c is taken out of the threads, and the tail bounds the lanes."""
    text = laid_kernels(program(TEXTS["row_max_warp"])).text
    assert "        for c in range((N + 31) // 32):\n            for w in range(min(4, R - g * 4)):\n" in text
    assert "for lane in range(min(32, N - c * 32)):\n" in text


def test_a_condition_of_data_that_the_body_changes() -> None:
    """The condition is asked once, before what it guards is done; only where those around it hold."""
    built = program(
        "op made(x: f32[n]) -> (z: f32[n]) where n % 64 == 0 { z[i] = x[i] }\n"
        "machine a : made {\n  work grid = (g: n // 64), block = (t: 64)\n  program {\n"
        "    local v: f32[]\n    v[] = x[g*64 + t]\n"
        "    if t < 32 { if x[g*64 + 33] > 0 { if v[] >= f32(t // 32) { v[] = -1\n v[] += shuffle_xor(v[], 1) } } }\n"
        "    z[g*64 + t] = v[]\n  }\n}\n"
    )
    x = np.ones(128, np.float32)
    x[64 + 33] = -1
    want = x.copy()
    want[:32] = -2
    assert np.array_equal(run(built, {"n": 128}, {"x": x})["z"], want)
