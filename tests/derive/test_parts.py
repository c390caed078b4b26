"""Parts of programs that are derived: they are the steps that the whole machine would have, and what is by hand around them is proved with them.

Comes in: machines with clauses and a program. Goes out: their programs beside derived ones, and verdicts. The one idea: a part is put in before the
proof, so it is enough to look at the program; what cannot be derived in parts is in `tests/wrong`.
"""

from __future__ import annotations

import pytest

from tests.program.library import machines
from tinygpu.derive.derive import derive
from tinygpu.pipeline import Proof, load_text
from tinygpu.pipeline import check as checked
from tinygpu.program.read import reread
from tinygpu.program.render import render_machine
from tinygpu.program.step import Program

PRODUCT = """op product(A: f32[M, K], B: f32[K, N]) -> (C: f32[M, N]) {
  acc[i, j] = sum[k] A[i, k] * B[k, j]
  C[i, j]   = max(acc[i, j], 0)
}
"""
TILED = """
  work     grid = (by, bx), block = (ty: 16, tx: 16)
  compute  i = (by, ty, ri: 4), j = (bx, tx, rj: 4), k = (ko, ki: 16)
  time     ko, ki
  register ri
  vector   rj
  stage A[i, k] at ko in shared { layout (k, i) pad 4 }
  stage B[k, j] at ko in shared
"""
WALK = """
  work     grid = (gy: 12, gx: 11), block = (ty: 16, tx: 16)
  compute  i = (cy, gy, ty, ri: 4), j = (cx, gx, tx, rj: 4), k = (ko, ki: 16)
  time     cy, cx, ko, ki
  register ri
  vector   rj
  stage A[i, k] at ko in shared { layout (k, i) pad 4 }
  stage B[k, j] at ko in shared
"""
ROWS = "op rows(x: f32[R, N]) -> (y: f32[R, N]) where N >= 1 {\n s[r] = sum[j] x[r, j]\n y[r, j] = x[r, j] / s[r]\n}\n"
SCAN = "op scan(x: f32[n]) -> (y: f32[n]) {\n p[i] = scan_sum[k <= i] x[k]\n y[i] = p[i] * 2\n}\n"


def program(text: str) -> Program:
    (machine,) = machines(text).values()
    made = derive(machine)
    assert reread(made).launches == made.launches
    return made


def proved(text: str) -> bool:
    (machine,) = load_text(text).machines
    return isinstance(checked(machine), Proof)


@pytest.mark.parametrize("names", ["C", "acc, C"])
def test_what_computes_all_is_what_is_derived(names: str) -> None:
    whole = program(f"{PRODUCT}machine m : product {{{TILED}}}")
    (made,) = program(f"{PRODUCT}machine m : product {{{TILED}\nprogram {{ compute {names} }} }}").launches
    assert made.body == whole.launches[0].body or names != "C"
    assert proved(f"{PRODUCT}machine m : product {{{TILED}\nprogram {{ compute {names} }} }}")


def test_an_element_at_its_own_indices_is_the_cell() -> None:
    store = "for ri < 4 in register { for rj < 4 in vector { C[i, j] = max(acc[i, j], 0) if i < M and j < N } }"
    by_hand = store.replace("acc[i, j]", "acc[ri, rj]").replace("[i, j]", "[by*64 + ty*4 + ri, bx*64 + tx*4 + rj]")
    by_hand = by_hand.replace("i < M and j < N", "by*64 + ty*4 + ri < M and bx*64 + tx*4 + rj < N")
    made = program(f"{PRODUCT}machine m : product {{{TILED}\nprogram {{\ncompute acc\n{store}\n}} }}")
    text = render_machine(made)
    at = text.index("  for ri < 4 in register {\n      for rj < 4 in vector {\n        C[")
    assert program(PRODUCT + text[:at] + by_hand + "\n}\n}\n").launches == made.launches


WRITTEN = (
    "for ri < 4 in register { for rj < 4 in vector { acc[i, j] = max(acc[i, j], 0)\nC[i, j] = acc[i, j] if i < M and j < N } }"
)
WALKED = "for cy < ceil(M / 768) { for cx < ceil(N / 704) { compute acc\nfor ri < 4, rj < 4 in register { C[i, j] = max(acc[i, j], 0) if i < M and j < N } } }"


@pytest.mark.parametrize(
    "text",
    [
        f"{PRODUCT}machine m : product {{{TILED}\nprogram {{\ncompute acc\n{WRITTEN}\n}} }}",
        f"{PRODUCT}machine m : product {{{WALK}\nprogram {{\n{WALKED}\n}} }}",
        f"{SCAN}machine m : scan {{\nwork block = (t: 256)\ncompute i = (c, t, v: 4)\ntime c\nvector v\n"
        f"program {{ for c < ceil(n / 1024) {{ compute p\nfor v < 4 in vector {{ y[i] = p[i] * 2 if i < n }} }} }} }}",
        f"{ROWS}machine m : rows {{\nwork grid = (g), block = (w: 4, lane: 32)\ncompute r = (g, w), j = (c, lane)\ntime c\n"
        "program { compute s\nfor q < ceil(N / 32) { y[r, q*32 + lane] = x[r, q*32 + lane] / s[r] if r < R and q*32 + lane < N } } }",
        f"{ROWS}machine m : rows on cpu {{\nwork core = (r)\ntime j\nprogram {{ compute s\nfor q < N {{ y[r, q] = x[r, q] / s[r] }} }} }}",
        f"{ROWS}machine m : rows {{ program {{\nlaunch sums {{\nequations s\nwork grid = (r), block = (t: 64)\ncompute j = (c, t)\ntime c\n}}\n"
        "launch (grid = (r: R), block = (t: 64)) { for q < ceil(N / 64) { y[r, q*64 + t] = x[r, q*64 + t] / s[r] if q*64 + t < N } }\n} }",
        f"{ROWS}machine m : rows {{ program {{\nworkspace s: f32[R]\n"
        "launch (grid = (r: R), block = (one: 1)) { local a: f32[]\na[] = 0\nfor k < N { a[] += x[r, k] }\ns[r] = a[] }\n"
        "launch rest {\nequations y\nwork grid = (r, g), block = (t: 64)\ncompute j = (g, t)\n}\n} }",
        f"{ROWS}machine m : rows {{ program {{\nlaunch sums {{\nwork grid = (r), block = (t: 64)\ncompute j = (c, t)\ntime c\n"
        "program { compute s\nfor q < ceil(N / 64) { y[r, q*64 + t] = x[r, q*64 + t] / s[r] if q*64 + t < N } }\n}\n} }",
    ],
    ids=["written", "walk", "scan", "combined", "core", "before", "behind", "alone"],
)
def test_with_steps_around_it_is_proved(text: str) -> None:
    assert reread(program(text))
    assert proved(text)


def test_names_of_the_text_are_left_to_it() -> None:
    """A cell, a tile or a loop that derivation makes takes a name that the text does not have."""
    made = program(
        f"{PRODUCT}machine m : product {{{TILED}\nprogram {{\nlocal a: f32[], lane: f32[]\nshared A_tile: f32[4]\ncompute acc\na[] = 0\nlane[] = 0\n"
        "for ri < 4, rj < 4 in register { C[i, j] = max(acc[i, j], 0) if i < M and j < N } } }"
    )
    assert {"a", "A_tile", "A_tile2", "acc", "lane"} <= {*made.locals, *made.shared}
