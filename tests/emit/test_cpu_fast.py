"""Sequential programs of blocks that would cooperate: what the text is made of where speed depends on it, and that it means the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.emit.cpu_harness import laid_kernels, program, programs
from tests.emit.test_cpu import agree

SPECS = Path(__file__).resolve().parents[2] / "specs"
PRODUCT = """
op made(A: f32[M, K], B: f32[K, N]) -> (C: f32[M, N]) { C[i, j] = sum[k] A[i, k] * B[k, j] }
machine tile : made {
  work     grid = (by, bx), block = (ty: 4, tx: 4)
  compute  i = (by, ty, ri: 2), j = (bx, rh: 2, tx, rj: 4), k = (ko, ki: 8)
  time     ko, ki
  register ri, rh, rj
}
"""
CONVOLUTION = """
op made(x: f32[N, H + 2, W + 2, C], w: f32[3, 3, C, K]) -> (y: f32[N, H, W, K]) {
  y[n, p, q, k] = sum[r, s, c] x[n, p + r, q + s, c] * w[r, s, c, k]
}
machine direct : made {
  work grid = (n, p, g), block = (t: 32)
  compute q = (g, u: 4), k = (b, t)
  time b, r, s, c
  register u
}
"""


def test_a_loop_in_factors_ends_where_the_fold_ends() -> None:
    """`k = (ko, ki)` with a guard: one loop to K, and the tile of a plain product."""
    built = program(PRODUCT)
    assert "lanes_load" in (text := laid_kernels(built).text) and "for k_block in range((K + 511) // 512):" in text
    for m, n, k in ((0, 3, 2), (3, 0, 2), (3, 2, 0), (1, 1, 1), (7, 33, 5), (13, 17, 513)):
        agree(built, {"M": m, "N": n, "K": k})


def test_a_convolution_is_a_tile_around_loops() -> None:
    built = program(CONVOLUTION)
    text = laid_kernels(built).text
    assert "lanes_load" in text and "for q_in in range(min(252, W - q_tile * 252))" in text
    for sizes in ((1, 1, 1, 1, 1), (2, 3, 7, 5, 33), (1, 2, 260, 3, 2), (2, 2, 2, 0, 4), (0, 2, 2, 2, 2)):
        agree(built, dict(zip("NHWCK", sizes, strict=True)))


def test_a_panel_serves_all_short_loops_around_it() -> None:
    """`c = (co, ci: 8)` outside of the window: seven times 3 × 3 × 8 steps have room, and the accumulators are loaded once for all."""
    built = program(CONVOLUTION.replace("t)\n  time b,", "t), c = (co, ci: 8)\n  time b, co,").replace("r, s, c\n", "r, s, ci\n"))
    text = laid_kernels(built).text
    assert (
        "for co_block in range(((C + 7) // 8 + 6) // 7)" in text
        and "panel[at((((co_in * 3 + r) * 3 + s) * 8 + ci) * (2 * LANES) + k_in)]" in text
    )
    for sizes in ((1, 1, 2, 57, 3), (2, 3, 7, 5, 33), (1, 2, 2, 56, 2), (1, 1, 3, 113, 1), (2, 2, 2, 0, 4)):
        agree(built, dict(zip("NHWCK", sizes, strict=True)))


TURNS = {
    "plain": ("x: f32[M, N]", "f32", "x[i, j]", 1),
    "half": ("x: f16[M, N]", "f16", "x[i, j]", 1),
    "two": ("x: f32[M, N], z: f32[M, N], w: f32[M]", "f32", "x[i, j] * 2 + z[i, j] - w[i]", 2),
    "both ways": ("x: f32[M, N], z: f32[N, M]", "f32", "x[i, j] + z[j, i]", 1),
    "cast": ("x: bf16[M, N]", "f32", "f32(x[i, j])", 1),
    "in a branch": ("x: f32[M, N], z: f32[M, N]", "f32", "x[i, j] if z[i, j] > 0 else 0", 1),
}


@pytest.mark.parametrize("name", TURNS)
def test_what_is_read_across_is_turned_in_tiles(name: str) -> None:
    inputs, dtype, value, tiles = TURNS[name]
    built = program(
        f"op made({inputs}) -> (y: {dtype}[N, M]) {{ y[j, i] = {value} }}\n"
        "machine a : made {\n  work grid = (bi, bj), block = (ty: 8, tx: 32)\n  compute i = (bi, h: 4, ty), j = (bj, tx)\n  register h\n}\n"
    )
    text = laid_kernels(built).text
    assert f"square_{tiles - 1} = np.empty" in text and f"square_{tiles} " not in text
    for m, n in ((0, 3), (3, 0), (1, 1), (63, 65), (64, 64), (130, 70)):
        agree(built, {"M": m, "N": n})


def test_turned_batches_keep_their_other_axes() -> None:
    built = program(
        "op made(x: f32[B, M, N, 3]) -> (y: f32[3, B, N, M]) { y[c, b, j, i] = x[b, i, j, c] * 2 }\n"
        "machine a : made {\n  work grid = (b, c, j, g), block = (t: 64)\n  compute i = (g, t)\n}\n"
    )
    for sizes in ((1, 1, 1), (2, 65, 3), (3, 5, 70)):
        agree(built, dict(zip("BMN", sizes, strict=True)))


def test_a_row_in_factors_is_one_loop() -> None:
    """Lanes in time, inside a strided loop, with a tail: each of the three loops runs over `j < N`."""
    loop = (
        "for c < ceil(N / 128) {{ for lane < 32 {{ for v < 4 in vector {{ {} if g*4 + w < R and (c*32 + lane)*4 + v < N }} }} }}\n"
    )
    j = "(c*32 + lane)*4 + v"
    built = program(
        "op made(x: f32[R, N]) -> (y: f32[R, N]) where N >= 1 {\n"
        "  m[r] = max[j] x[r, j]\n  s[r] = sum[j] exp(x[r, j] - m[r])\n  y[r, j] = exp(x[r, j] - m[r]) / s[r]\n}\n"
        "machine a : made {\n  program {\n    launch (grid = (g: ceil(R / 4)), block = (w: 4)) {\n"
        "local m: f32[]\nlocal s: f32[]\nm[] = -inf\n"
        + loop.format(f"m[] max= x[g*4 + w, {j}]")
        + "s[] = 0\n"
        + loop.format(f"s[] += exp(x[g*4 + w, {j}] - m[])")
        + loop.format(f"y[g*4 + w, {j}] = exp(x[g*4 + w, {j}] - m[]) / s[]")
        + "    }\n  }\n}\n"
    )
    assert laid_kernels(built).text.count("for j in range(N):") == 2
    for rows, n in ((0, 1), (1, 1), (5, 127), (4, 128), (3, 300)):
        agree(built, {"R": rows, "N": n})


def test_work_that_depends_on_the_point_counts() -> None:
    """A chunk's loop ends where the array does; how long it is at most still says whether other threads are worth waking."""
    built = program(
        "op made(x: f32[n]) -> (s: f32[]) { s[] = sum[i] x[i] }\nmachine a : made {\n  program {\n    workspace part: f32[8]\n"
        "    launch (grid = (g: 8), block = ()) { local a: f32[]\na[] = 0\n"
        "for c < ceil(n / 8192) { for t < 1024 { a[] += x[(c*8 + g)*1024 + t] if (c*8 + g)*1024 + t < n } }\npart[g] = a[] }\n"
        "    launch (grid = (), block = ()) { local b: f32[]\nb[] = 0\nfor g < 8 { b[] += part[g] }\ns[] = b[] }\n  }\n}\n"
    )
    assert "if 8 * ((n + 8191) // 8192) * 1024 < 65536" in laid_kernels(built).text


def test_loops_whose_order_does_not_matter_become_one() -> None:
    """`j = (c, t, v)` walked with t outside: sums and stores of their own elements may be taken in the order of memory."""
    loop = "for t < 32 {{ for c < 4 {{ for v < 2 {{ {} if c*64 + t*2 + v < N }} }} }}\n"
    built = program(
        "op made(x: f32[R, N]) -> (y: f32[R, N]) where N <= 256 {\n  s[r] = sum[j] x[r, j]\n  y[r, j] = x[r, j] - s[r]\n}\n"
        "machine a : made {\n  program {\n    launch (grid = (r: R), block = ()) {\nlocal s: f32[]\ns[] = 0\n"
        + loop.format("s[] += x[r, c*64 + t*2 + v]")
        + loop.format("y[r, c*64 + t*2 + v] = x[r, c*64 + t*2 + v] - s[]")
        + "    }\n  }\n}\n"
    )
    assert laid_kernels(built).text.count("for j in range(N):") == 2
    for rows, n in ((0, 1), (3, 1), (1, 1), (5, 255), (4, 256)):
        agree(built, {"R": rows, "N": n})


@pytest.mark.parametrize(
    "spec, machine", [("argmax", "arg_thread"), ("welford", "welford_thread"), ("logsumexp_one_pass", "one_pass_thread")]
)
def test_a_long_fold_of_components_is_taken_in_pieces(spec: str, machine: str) -> None:
    """Shorter and longer than where pieces begin, and with what is left over."""
    found = programs((SPECS / f"{spec}.tgpu").read_text(encoding="utf-8"))
    built = next(p for title, p in found.items() if title.startswith(machine))
    assert "for piece in range(64):" in laid_kernels(built).text
    for rows, n in ((3, 1), (1, 255), (2, 256), (5, 300), (1, 640)):
        agree(built, {"R": rows, "N": n})
