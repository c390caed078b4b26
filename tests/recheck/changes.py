"""Changes of right programs, each of which makes one wrong: what is changed in the text of a machine of `programs.tgpu`."""

from __future__ import annotations

import re
from pathlib import Path

from tinygpu.syntax import tree
from tinygpu.syntax.format import format_file
from tinygpu.syntax.parse import parse

WRONG = (  # a machine, what stands in its text, and what is put there
    ("saxpy_v4", "x[g*1024 + t*4 + v]", "x[g*1024 + t*4 + v - 1]"),
    ("saxpy_v4", "x[g*1024 + t*4 + v]", "x[g*1024 + t*4]"),
    ("saxpy_v4", "if g*1024 + t*4 + v < n", "if g*1024 + t*4 + v <= n"),
    ("saxpy_v4", "if g*1024 + t*4 + v < n", "if g*1024 + t*4 + v + 1 < n"),
    ("saxpy_v4", "ceil(n / 1024)", "n // 1024"),
    ("saxpy_v4", "z[g*1024 + t*4 + v]", "z[g*1024 + t*4]"),
    ("rows_thread_op_row_sum", "acc[] = 0", "acc[] = 1"),
    ("rows_thread_op_row_max", "acc[] = -inf", "acc[] = 0"),
    ("rows_thread_op_row_sum", "acc[] = 0", "acc[] = 0 if t > 0"),
    ("rows_warp_op_row_sum", "acc[] += shuffle_xor(acc[], 4)", ""),
    ("rows_warp_op_row_sum", "shuffle_xor(acc[], 8)", "shuffle_xor(acc[], 16)"),
    ("rows_warp_op_row_sum", " and lane == 0", ""),
    ("rows_block_op_row_sum", "barrier", ""),
    ("rows_block_op_row_sum", "t2 < 8", "t2 < 7"),
    ("rows_block_op_row_sum", "acc_parts[t // 32] = acc[] if t % 32 == 0", "acc_parts[t // 32] = acc[]"),
    ("transpose_tiled", "x_tile[tx, u*8 + ty]", "x_tile[u*8 + ty, tx]"),
    ("transpose_tiled", "barrier", ""),
    ("matmul_64x64", "a[ri] * b[rj]", "a[rj] * b[ri]"),
    ("matmul_ring", "ko*16 + 16 + tx", "ko*16 + tx"),
    ("matmul_ring", "sA[ko % 2,", "sA[(ko + 1) % 2,"),
    ("scan_block", "carry[] += a[255]", "carry[] += a[254]"),
    ("scan_block", "b[t] + b[t - 2] if t >= 2", "b[t] + b[t - 1] if t >= 2"),
    ("total_atomic", "s[] = 0", "s[] = 1"),
    ("total_parts_op_total", "s_part[g] = acc[] if t == 0", "s_part[g] = acc[] if t == 0 and g > 0"),
    ("histogram_shared", "+= 1 if", "+= 2 if"),
    ("causal_warp_op_causal_sum", "<= g*4 + w", "< g*4 + w"),
    ("cast_scalar_op_narrow__T_f16", "f16(", "bf16("),
    ("norm_warp_op_layernorm", "sqrt(", "rsqrt("),
    ("welford_thread", "acc[] = welford_f32(0, 0, 0)", "acc[] = welford_f32(1, 0, 0)"),
    ("online_thread", "acc[] lse= lse(x[g*128 + t, j], 1)", "acc[] lse= lse(x[g*128 + t, j], 2)"),
    (
        "row_sum_by_hand",
        "even[] holds sum[c < ceil(N / 2)] x[g*128 + t, 2*c]",
        "even[] holds sum[c < ceil(N / 2)] x[g*128 + t, c]",
    ),
)
PROGRAMS = parse((Path(__file__).parent / "programs.tgpu").read_text(encoding="utf-8")).declarations
MACHINES = {one.name: one for one in PROGRAMS if isinstance(one, tree.Machine)}


def text_of(name: str) -> str:
    """The text of one machine, with its op and the monoids of the file."""
    machine = MACHINES[name]
    others = [
        one for one in PROGRAMS if isinstance(one, tree.Monoid) or (isinstance(one, tree.Op) and one.name == machine.ops[0].name)
    ]
    return format_file(tree.File((*others, machine)))


def changed(text: str, old: str, new: str, most: int = 0) -> str:
    """The text with one piece for another, wherever it stands, or at the first so many places."""
    pattern = r"\s*".join(re.escape(c) for c in old if not c.isspace())  # a text breaks its lines where they are full
    found, count = re.subn(pattern, lambda _: new, text, count=most)
    assert count
    return found
