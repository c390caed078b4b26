"""Wrong programs are not proved, and what fails is what is wrong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tinygpu.replay.check import state
from tinygpu.replay.ir import Claim, Inhabited, Open
from tinygpu.replay.read import Unread, read
from tinygpu.replay.smt import Written, text
from tinygpu.replay.solve import ask_z3, numbered
from tinygpu.syntax import tree
from tinygpu.syntax.format import format_file
from tinygpu.syntax.parse import parse_file

WRONG = (  # a machine, what is changed in its text, and a code that is not proved then
    ("saxpy_v4", "x[g*1024 + t*4 + v]", "x[g*1024 + t*4 + v - 1]", "TG203"),
    ("saxpy_v4", "x[g*1024 + t*4 + v]", "x[g*1024 + t*4]", "TG502"),
    ("saxpy_v4", "if g*1024 + t*4 + v < n", "if g*1024 + t*4 + v <= n", "TG203"),
    ("saxpy_v4", "if g*1024 + t*4 + v < n", "if g*1024 + t*4 + v + 1 < n", "TG201"),
    ("saxpy_v4", "ceil(n / 1024)", "n // 1024", "TG201"),
    ("saxpy_v4", "z[g*1024 + t*4 + v]", "z[g*1024 + t*4]", "TG202"),
    ("rows_thread_op_row_sum", "acc[] = 0", "acc[] = 1", "TG502"),
    ("rows_thread_op_row_max", "acc[] = -inf", "acc[] = 0", "TG502"),
    ("rows_thread_op_row_sum", "acc[] = 0", "acc[] = 0 if t > 0", "TG301"),
    ("rows_warp_op_row_sum", "acc[] += shuffle_xor(acc[], 4)", "", "TG502"),
    ("rows_warp_op_row_sum", "shuffle_xor(acc[], 8)", "shuffle_xor(acc[], 16)", "TG502"),
    ("rows_warp_op_row_sum", " and lane == 0", "", "TG202"),
    ("rows_block_op_row_sum", "barrier", "", "TG302"),
    ("rows_block_op_row_sum", "t2 < 8", "t2 < 7", "TG502"),
    ("rows_block_op_row_sum", "acc_parts[t // 32] = acc[] if t % 32 == 0", "acc_parts[t // 32] = acc[]", "TG202"),
    ("transpose_tiled", "x_tile[tx, u*8 + ty]", "x_tile[u*8 + ty, tx]", "TG502"),
    ("transpose_tiled", "barrier", "", "TG302"),
    ("matmul_64x64", "a[ri] * b[rj]", "a[rj] * b[ri]", "TG502"),
    ("matmul_ring", "ko*16 + 16 + tx", "ko*16 + tx", "TG502"),
    ("matmul_ring", "sA[ko % 2,", "sA[(ko + 1) % 2,", "TG502"),
    ("scan_block", "carry[] += a[255]", "carry[] += a[254]", "TG502"),
    ("scan_block", "b[t] + b[t - 2] if t >= 2", "b[t] + b[t - 1] if t >= 2", "TG502"),
    ("total_atomic", "s[] = 0", "s[] = 1", "TG502"),
    ("total_parts_op_total", "s_part[g] = acc[] if t == 0", "s_part[g] = acc[] if t == 0 and g > 0", "TG301"),
    ("histogram_shared", "+= 1 if", "+= 2 if", "TG502"),
    ("causal_warp_op_causal_sum", "<= g*4 + w", "< g*4 + w", "TG502"),
    ("cast_scalar_op_narrow__T_f16", "f16(", "bf16(", "unread"),
    ("norm_warp_op_layernorm", "sqrt(", "rsqrt(", "TG502"),
    ("welford_thread", "acc[] = welford_f32(0, 0, 0)", "acc[] = welford_f32(1, 0, 0)", "TG502"),
    ("online_thread", "acc[] lse= lse(x[g*128 + t, j], 1)", "acc[] lse= lse(x[g*128 + t, j], 2)", "TG502"),
    (
        "row_sum_by_hand",
        "even[] holds sum[c < ceil(N / 2)] x[g*128 + t, 2*c]",
        "even[] holds sum[c < ceil(N / 2)] x[g*128 + t, c]",
        "TG509",
    ),
)
PROGRAMS = parse_file(Path(__file__).parent / "programs.tgpu").declarations
MACHINES = {one.name: one for one in PROGRAMS if isinstance(one, tree.Machine)}


def text_of(name: str) -> str:
    """The text of one machine, with its op and the monoids of the file."""
    machine = MACHINES[name]
    others = [
        one for one in PROGRAMS if isinstance(one, tree.Monoid) or (isinstance(one, tree.Op) and one.name == machine.ops[0].name)
    ]
    return format_file(tree.File((*others, machine)))


def unproved(text: str) -> set[str]:
    """The codes of what z3 does not prove, and of what is open."""
    (machine,) = read(text)
    if isinstance(machine, Unread):
        return {"unread"}
    said = tuple(dict.fromkeys(state(machine)))
    return {s.code for s in said if isinstance(s, Open)} | {
        s.code for s in said if not isinstance(s, Open) and z3_says(s) != ("sat" if isinstance(s, Inhabited) else "unsat")
    }


def z3_says(claim: Claim | Inhabited | Written) -> str:
    return ask_z3(numbered(text(claim)))


@pytest.mark.parametrize("name", sorted({w[0] for w in WRONG}))
def test_the_program_is_right_before_it_is_changed(name: str) -> None:
    assert unproved(text_of(name)) == set()


@pytest.mark.parametrize(("name", "old", "new", "code"), WRONG, ids=[f"{w[0]} {n}" for n, w in enumerate(WRONG)])
def test_a_wrong_program_is_not_proved(name: str, old: str, new: str, code: str) -> None:
    right = text_of(name)
    pattern = r"\s*".join(re.escape(c) for c in old if not c.isspace())  # a text breaks its lines where they are full
    assert re.search(pattern, right)
    assert code in unproved(re.sub(pattern, lambda _: new, right, count=1))
