"""Tensor memory and what multiplies there: where elements lie is what the manual says, descriptors are its tables, and the assembler takes every instruction.

Comes in: the shipped declarations of the fifth generation, and tables of the PTX ISA typed anew. Goes out: every element of every operand compared, every field of
every descriptor decoded. Nothing of it has run on hardware: what is tested is that the data are the manual's, and that the assembler takes them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tests.hardware.test_instructions import EVERY, assembled, places, title
from tinygpu.category.layout import Layout
from tinygpu.category.term import Var
from tinygpu.category.to_numpy import evaluate
from tinygpu.diagnostic import TinygpuError
from tinygpu.model.collective import Instruction, Operand
from tinygpu.model.instruction import shipped
from tinygpu.pipeline import load_text
from tinygpu.program.descriptor import descriptor

FIFTH = [one for one in EVERY if one.name.startswith("tcgen05")]
PRODUCTS = [one for one in FIFTH if one.unit]
MOVES = [one for one in FIFTH if not one.unit]
FEW = [one for one in PRODUCTS if one.operand("c").shape[1] in (8, 16, 24, 256)]


def lies(operand: Operand) -> tuple[Any, Any]:
    """The lane and the column of tensor memory of each element."""
    i, j = np.ogrid[: operand.shape[0], : operand.shape[1]]
    where = {"i": i, "j": j}
    found = (evaluate(term([Var("i"), Var("j")]), where) for term in (operand.row_of, operand.cell))
    lane, column = (np.broadcast_to(one, operand.shape) for one in found)
    return lane, column


# "Data path layout organization": M = 128, layout D, is row i in lane i; M = 64 without .ws, layout F, has half of the data path: rows 0 to 15 in lanes 0 to
# 15, 16 to 31 in lanes 32 to 47, 32 to 47 in lanes 64 to 79, 48 to 63 in lanes 96 to 111.
LAYOUT = {128: [*range(128)], 64: [*range(16), *range(32, 48), *range(64, 80), *range(96, 112)]}


@pytest.mark.parametrize("one", FEW + MOVES, ids=title)
def test_elements_lie_where_the_manual_says(one: Instruction) -> None:
    (operand,) = (o for o in one.operands if o.kind == "tensor")
    lane, column = lies(operand)
    rows, columns = operand.shape
    assert (lane == np.array(LAYOUT[rows])[:, None]).all()
    assert (column == np.arange(columns)).all()
    assert len({*zip(lane.ravel().tolist(), column.ravel().tolist(), strict=True)}) == math.prod(operand.shape)


@pytest.mark.parametrize("one", FEW, ids=title)
def test_each_element_is_one_threads(one: Instruction) -> None:
    shared_out = one.operand("c").shared_out
    found = places(shared_out, 32)
    assert len({*map(tuple, found.reshape(2, -1).T.tolist())}) == math.prod(shared_out.shape)


@pytest.mark.parametrize("one", MOVES, ids=title)
def test_registers_have_what_the_figures_show(one: Instruction) -> None:
    """32x32b: a lane each, a register for each column. 16x256b: of eight columns registers 0 and 1 are of lane t / 4, 2 and 3 of that plus 8, at columns t % 4 * 2."""
    operand = one.operand("f")
    found = places(operand, 128)
    for thread in range(128):
        warp, t = divmod(thread, 32)
        for register in range(operand.count):
            if "32x32b" in one.name:
                wanted = (warp * 32 + t, register)
            else:
                wanted = (warp * 16 + t // 4 + register // 2 % 2 * 8, register // 4 * 8 + t % 4 * 2 + register % 2)
            assert tuple(found[:, thread, register].tolist()) == wanted
    there, columns = lies(one.operand("s"))
    reached = there[found[0], found[1]] // 32  # a warp reaches the lanes of its own number
    assert (reached == np.arange(128)[:, None] // 32).all() and columns.max() < 512


# ── descriptors, decoded as the manual's tables have their bits ────────────────────────────────────────────────────
ATYPE = {
    "f16": {0: "f16", 1: "bf16"},
    "tf32": {2: "tf32"},
    "f8f6f4": {0: "e4m3", 1: "e5m2", 3: "e2m3", 4: "e3m2", 5: "e2m1"},
    "i8": {0: "u8", 1: "i8"},
}
DTYPE = {"f16": {0: "f16", 1: "f32"}, "tf32": {1: "f32"}, "f8f6f4": {0: "f16", 1: "f32"}, "i8": {2: "i32"}}
DEPTH = {"f16": 16, "tf32": 8, "f8f6f4": 32, "i8": 32}


def field(word: int, first: int, last: int) -> int:
    """The bits `first` to `last` of a word."""
    return word >> first & (1 << last - first + 1) - 1


@pytest.mark.parametrize("one", PRODUCTS, ids=title)
def test_instruction_descriptors_say_what_the_instruction_computes(one: Instruction) -> None:
    kind, word = one.ptx.split("kind::")[1].split()[0], int(one.ptx.split()[-2].rstrip(","), 16)
    c, a, b = (one.operand(name) for name in "cab")
    assert field(word, 0, 3) == 0 == field(word, 13, 14)  # dense, does not saturate, negates nothing
    assert (DTYPE[kind][field(word, 4, 5)], ATYPE[kind][field(word, 7, 9)], ATYPE[kind][field(word, 10, 12)]) == (
        c.dtype,
        a.dtype,
        b.dtype,
    )
    assert (field(word, 15, 15), field(word, 16, 16)) == (a.beside == 0, b.beside == 1)  # a: i, k and b: k, j
    assert (field(word, 24, 28) * 16, field(word, 17, 22) * 8) == c.shape == (a.shape[0], b.shape[1])
    assert (word & 1 << 6, word & 1 << 23, word >> 29) == (0, 0, 0)
    assert a.shape[1] == b.shape[0] == DEPTH[kind]
    rows, columns = c.shape
    assert columns <= 256 and columns % (16 if rows == 128 or (kind == "i8" and columns > 24) else 8) == 0


SWIZZLE = {128: 2, 64: 4, 32: 6}  # bits 61 to 63, "swizzling mode"


@pytest.mark.parametrize("width", SWIZZLE)
@pytest.mark.parametrize("turned", [False, True])
def test_shared_memory_descriptors_are_those_of_the_fifth_generation(width: int, turned: bool) -> None:
    one = shipped("tcgen05_m128n256k16_mn" if turned else "tcgen05_m128n256k16")[0]
    layout = Layout(swizzle=({128: 3, 64: 2, 32: 1}[width], 3, 3), panels=width // 2 if turned else 0)
    extents = (16, 128) if turned else (128, width // 2)
    word = descriptor(one, one.operand("a"), extents, layout)
    assert isinstance(word, int)
    assert field(word, 46, 48) == 0b001 and field(word, 49, 60) == 0  # the fixed numbers, base offset and stride mode
    assert field(word, 61, 63) == SWIZZLE[width]
    assert field(word, 32, 45) * 16 == 8 * width  # the next eight rows
    assert field(word, 16, 29) * 16 == (16 * width if turned else 16)  # the next panel; along the rows it is not read
    assert field(word, 0, 13) == 0


ACCEPTED = {"i8": {"sm_100a"}}  # of kinds and of anything else; sm_103a has no integers, and neither has the family of sm_100


@pytest.mark.parametrize("arch", ["sm_100a", "sm_103a", "sm_100", "sm_90a", "sm_120a"])
def test_the_assembler_takes_each_for_the_architectures_that_it_names_and_for_no_other(arch: str) -> None:
    every = FEW + MOVES
    mine = [one for one in every if arch in one.archs]
    assert bool(mine) == (arch in ("sm_100a", "sm_103a"))
    if mine:
        assembled(mine, arch)
    kinds = {one.ptx.split()[0]: one for one in every if arch not in one.archs}
    for one in kinds.values():
        with pytest.raises(Exception, match="not supported"):
            assembled([one], arch)


# ── what is said of a declaration that cannot be, and of a use ─────────────────────────────────────────────────────
MOVE = """
instruction my_load(f: f32[128, 8], s: f32[128, 8]) by warpgroup on sm_100a {
  f[i, j] = s[i, j]
  lane (w: 4, l: 32)
  fragment f i = (w, l), j = (n: 8) in (n)
  tensor s i = (w, l), j = (n: 8) in (w, l), (n)
  ptx "tcgen05.ld.sync.aligned.32x32b.x8.b32 {f}, [{s}];"
}
"""
SUM = """
instruction my_sum(c: f32[128, 16], a: f16[128, 16], b: f16[16, 16]) by warp on sm_100a async tcgen05 {
  c[i, j] += sum[k] f32(a[i, k]) * f32(b[k, j])
  lane (l: 32)
  tensor c i = (w: 4, l), j = (n: 16) in (w, l), (n)
  descriptor a by k
  descriptor b by k
  ptx "tcgen05.mma.cta_group::1.kind::f16 [{c}], {a}, {b}, {idesc}, 1;"
}
"""
NOTHING = "\nop o(x: f32[n]) -> (y: f32[n]) { y[i] = x[i] }\nmachine m : o { work grid = (i) }\n"
WRONG = {
    "fewer lanes": (SUM.replace("in (w, l), (n)", "in (l), (n)"), "are only on one side|is only on one side"),
    "a quarter of the lanes": (MOVE.replace("s i = (w, l), j = (n: 8) in (w, l)", "s i = (w, l), j = (n: 8) in (w, l, h: 2)"), "number 256"),
    "columns of 16 bits": (MOVE.replace("f32", "f16"), "32 bits"),
    "another quarter": (MOVE.replace("in (w, l), (n)", "in (l, w), (n)"), "only in 32 lanes"),
    "a warp alone": (
        MOVE.replace("128, 8", "32, 8").replace("warpgroup", "warp").replace("w: 4, ", "").replace("(w, l)", "(l)").replace("in (l)", "in (w: 4, l)"),
        "only in 32 lanes",
    ),
    "nobody's elements": (SUM.replace("(l: 32)", "(l: 16, v: 2)").replace("w: 4, l", "w: 8, l").replace("(w, l)", "(w, l)"), "which thread does which"),
    "a digit twice": (SUM.replace("in (w, l), (n)", "in (w, l), (n, n)"), "stands twice"),
    "a descriptor of no product": (MOVE.replace("[{s}];", "[{s}], {idesc};"), "does not take each operand"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_declarations_are_told(name: str) -> None:
    text, said = WRONG[name]
    with pytest.raises(TinygpuError, match=said):
        load_text(text + NOTHING)


def test_right_ones_are_taken() -> None:
    found = load_text(MOVE + SUM + NOTHING).machines[0].instructions
    assert [one.name for one in found] == ["my_load", "my_sum"] and found[1].ptx.endswith("0x8040010, 1;")
