"""The text of CPU kernels is proved, and one that was changed is not accepted.

Comes in: kernels of the library, of every kind that the emitter has. Goes out: that they are proved; that edits by hand are not, with a
diagnostic that names a line of the kernel; that mutants which are accepted compute the same.
"""

from __future__ import annotations

import random

import pytest

from tests.validate.cpu_modules import differs, kernel, mutated
from tinygpu.obligations.width import cpu_limits
from tinygpu.validate.cpu import validate
from tinygpu.validate.cpu_driver import chosen
from tinygpu.validate.module import read
from tinygpu.validate.typed import Differs

KINDS = {  # one kernel of each kind
    "a map": ("saxpy", "saxpy_scalar"),
    "16-bit floats": ("cast", "cast_scalar[op=narrow, T=f16]"),
    "rows": ("elementwise", "rows_v4[op=affine]"),
    "a border": ("convolution", "conv1d_scalar[op=conv1d_same]"),
    "a fold, two launches": ("dot", "dot_two"),
    "a maximum in parts": ("softmax", "softmax_warp"),
    "a fold in pieces": ("argmax", "arg_thread[op=argmax_rows]"),
    "a ragged fold in pieces": ("causal", "causal_thread[op=causal_argmax]"),
    "components": ("welford", "welford_thread"),
    "strips": ("online_softmax", "attend_thread[op=attend]"),
    "tiles in vectors": ("matmul", "matmul_naive"),
    "vectors of a program": ("attention_cpu", "causal_core"),
    "registers that go elsewhere": ("attention_cpu", "flash_core"),
    "a turned tile": ("transpose", "transpose_naive"),
    "a copy for each part": ("histogram", "histogram_shared"),
    "threads of a block in turn": ("embedding", "scatter_add_atomic"),
    "threads in phases": ("mlp", "mlp_fused", True),
    "a ring of tiles": ("by_hand", "matmul_by_hand", True),
    "an equation after another": ("mlp", "mlp_fused"),
    "lanes that hand values on": ("scan", "scan_three"),
    "a strip with a border": ("convolution", "conv2d_channels_scalar"),
    "halves of a row": ("rotary", "rotary_scalar[op=rotary_halves]"),
    "a maximum of maxima": ("total", "total_parts[op=largest]"),
    "a scan of components": ("recurrence", "recurrence_thread"),
    "components of three launches": ("recurrence", "recurrence_three"),
    "rows in turn": ("scan", "scan_warp_v4"),
    "a stride over the sizes": ("softmax", "softmax_two"),
    "launches in a loop": ("launches", "ways_grid"),
    "strides that are often 1": ("level1/convolutions", "filters_1d[op=conv_1d]"),
    "views": ("views", "product_tile"),
    "views of 16-bit floats": ("views", "scale_rows[T=f16]"),
}


def checked(text: str, name: str, program: object) -> Differs | None:
    """Where the text of a kernel is not its program."""
    try:
        validate(read(text, "m.py"), name, program, cpu_limits(program))  # type: ignore[arg-type]
    except Differs as difference:
        return difference
    return None


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", KINDS)
def test_the_text_of_a_kernel_is_its_program(kind):
    text, name, program = kernel(*KINDS[kind])
    found = checked(text, name, program)
    assert found is None, (found.says, found.wants)


EDITS = {  # kind, what is changed, to what
    "a turn too few": ("launches in a loop", "for k in range(n):", "for k in range(n - 1):"),
    "another turn": ("launches in a loop", "new, n, k)", "new, n, n)"),
    "a constant, one more": ("a map", "i_chunk * 8192 + i_in", "i_chunk * 8193 + i_in"),
    "a wrong bound": ("a map", "n - i_chunk * 8192)", "n - 1 - i_chunk * 8192)"),
    "beyond the end": ("a map", "range(min(8192, n - i_chunk * 8192))", "range(8192)"),
    "swapped indices": ("rows", "y[at(i * N + j)]", "y[at(j * N + i)]"),
    "a row too far": ("rows", "quotient(item, ", "1 + quotient(item, "),
    "a shorter fold": ("a fold, two launches", "for g in range(128):", "for g in range(127):"),
    "no accumulation": ("a fold, two launches", "acc = acc + ", "acc = "),
    "a guard dropped": ("a border", "x0 >= 0 and ", ""),
    "a border too narrow": ("a border", "max(0, 2 - i_chunk * 8192)", "max(0, 1 - i_chunk * 8192)"),
    "no remainder": ("a maximum in parts", "m = larger(m, x[", "m = larger(m, m + 0 * x["),
    "a part left out": ("a maximum in parts", "for turn in range(8):", "for turn in range(7):"),
    "a piece left out": ("a fold in pieces", "for piece in range(64):", "for piece in range(63):"),
    "another piece": ("a fold in pieces", "turn * 16 + piece", "turn * 16 + piece - 1"),
    "components that do not belong together": ("components", "acc_n_out = acc_n + np", "acc_n_out = acc_mean + np"),
    "another accumulator": ("tiles in vectors", "acc_cells_1_0 = lanes_add_f32(acc_cells_1_0", "acc_cells_1_0 = lanes_add_f32(acc_cells_1_1"),
    "another row": ("tiles in vectors", "i_tile * 252 + group * 6 + 3, M - 1", "i_tile * 252 + group * 6 + 2, M - 1"),
    "stored elsewhere": ("tiles in vectors", "lanes_store_f32(acc_cells, at(group * 6 * (2 * LANES_f32) + LANES_f32)", "lanes_store_f32(acc_cells, at(group * 6 * (2 * LANES_f32))"),
    "a lane too many": ("tiles in vectors", "for j_in in range(min(2 * LANES_f32, N - LANES_f32 * j_tile * 2)):", "for j_in in range(min(2 * LANES_f32, N + 1 - LANES_f32 * j_tile * 2)):"),
    "a tile's pitch": ("a turned tile", "i_in * 65", "i_in * 64"),
    "a row of a tile": ("threads in phases", "h_tile[at(ty * 16 + li)]", "h_tile[at(li * 16 + tx)]"),
    "a tile before it is there": ("a ring of tiles", "sA0_2 = remainder(ko, 2)", "sA0_2 = remainder(ko + 1, 2)"),
    "another lane": ("lanes that hand values on", "remainder(thread, 32) ^ 8", "remainder(thread, 32) ^ 4"),
    "a value of before": ("lanes that hand values on", "exchange_1[at(thread)] = acc[at(thread)]", "exchange_1[at(thread)] = exchange_0[at(thread)]"),
    "a part twice": ("a maximum of maxima", "for turn in range(8):", "for turn in range(9):"),
    "a component of before": ("a scan of components", "carry_b = carry_a_in * carry_b + carry_b_in", "carry_b = carry_a_in * carry_b_in + carry_b_in"),
    "items left out": ("a map", "items * (part + 1) // parts", "items * part // parts + 1"),
    "a unit of the copies": ("a copy for each part", "np.full(parts * h.size, np.int32(0))", "np.full(parts * h.size, np.int32(1))"),
    "a view": ("16-bit floats", ".view(np.uint16)", ""),
    "a flag": ("a map", 'nogil=True, fastmath={"contract"}', "nogil=True, fastmath=True"),
    "a vector of another type": ("tiles in vectors", "lanes_add_f32(acc_cells_1_0", "lanes_add_f64(acc_cells_1_0"),
    "a vector of half as many": ("vectors of a program", "lanes_load_f32x16(kp", "lanes_load_f32x8(kp"),
    "a vector of as many as there are": ("vectors of a program", "lanes_mul_f32(lanes_spread_f32x16(q", "lanes_mul_f32(lanes_spread_f32(q"),
    "half of an accumulator": ("vectors of a program", "x_0_1 = lanes_load_f32x16(x", "x_0_1 = lanes_load_f32x8(x"),
    "a vector of later": ("vectors of a program", "lanes_load_f32x16(kp, at((c * D + d) * 64 + (n * 32 + 16)))", "lanes_load_f32x16(kp, at((c * D + d) * 64 + (n * 32 + 17)))"),
    "accumulators that overlap": ("vectors of a program", "x_0_1 = lanes_load_f32x16(x, at(t * 8 * 64 + (n * 32 + 16)))", "x_0_1 = lanes_load_f32x16(x, at(t * 8 * 64 + (n * 32 + 8)))"),
    "other lanes": ("tiles in vectors", "at(group * 6 * (2 * LANES_f32) + LANES_f32)", "at(group * 6 * (2 * LANES_f32) + LANES_f64)"),
    "a register elsewhere": ("registers that go elsewhere", "(z_tile, at(a * 8 * 64 + n * 32), acc_0_0)", "(z_tile, at(a * 8 * 64 + n * 32 + 1), acc_0_0)"),
    "another register": ("registers that go elsewhere", "(n * 32 + 16)), acc_0_1)\n", "(n * 32 + 16)), acc_0_0)\n"),
    "a register over another": ("registers that go elsewhere", "lanes_store_f32(z_tile, at(a * 8 * 64 + n * 32), acc_0_0)", "lanes_store_f32(acc, at(0), acc_0_1)"),
    "a register twice": ("registers that go elsewhere", "lanes_store_f32(z_tile, at(a * 8 * 64 + n * 32), acc_0_0)", "lanes_store_f32(z_tile, at(a * 8 * 64 + n * 32), acc_0_0); lanes_store_f32(z_tile, at(a * 8 * 64 + n * 32), acc_0_0)"),
    "a register less": ("registers that go elsewhere", "lanes_store_f32(z_tile, at(a * 8 * 64 + n * 32), acc_0_0)", "pass"),
    "registers of half a tile": ("registers that go elsewhere", "if K - jo * 64 - n * 32 - 31 > 0:", "if K - jo * 64 - n * 32 - 30 > 0:"),
    "nothing in the last tile": ("registers that go elsewhere", "if not K - jo * 64 - n * 32 - 31 > 0:", "if not K - jo * 64 - n * 32 - 30 > 0:"),
    "a register when its loop is over": ("registers that go elsewhere", "                    m_before[at(", "                    lanes_store_f32(z_tile, at(0), acc_0_0)\n                    m_before[at("),
    "a view by columns": ("views", "C[at(i_2), at(j)] = ", "C[at(j), at(i_2)] = "),
    "a view's element": ("views", "at(k_block * 512 + k_in)])", "at(k_in)])"),
    "a view's axis": ("views", "C[at(i_2), at(j)] = ", "C[at(i_2)] = "),
    "a view as rows": ("views", "C[at(i_2), at(j)] = ", "C[at(i_2 * N + j)] = "),
    "a view that wraps": ("views", "C[at(i_2), at(j)] = ", "C[at(i_2), j] = "),
    "a view made flat": ("views", "    B = B.reshape(-1)", "    A = A.reshape(-1)\n    B = B.reshape(-1)"),
    "a view of other bits": ("views of 16-bit floats", "x = x.view(np.uint16)", "x = x.view(np.int16)"),
    "another number for a stride": ("strides that are often 1", "KL, PL, DL, 1)", "KL, PL, DL, 2)"),
    "a stride that is not asked for": ("strides that are often 1", "if SL == 1:", "if DL == 1:"),
    "a 1 in another place": ("strides that are often 1", "KL, PL, DL, 1)", "KL, PL, 1, SL)"),
    "other items where a stride is 1": ("strides that are often 1", "        filters_1d_op_conv_1d_items(first, last, ", "        filters_1d_op_conv_1d_items(first, last - 1, "),
    "nothing where a stride is not 1": ("strides that are often 1", "    else:\n        filters_1d_op_conv_1d_items(first,", "    else:\n        filters_1d_op_conv_1d_items(last,"),
    "sizes in another order": ("rows", "_work(0, items, ", "_work(1, items, "),
}  # fmt: skip


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_kernel_is_refused(edit):
    kind, old, new = EDITS[edit]
    text, name, program = kernel(*KINDS[kind])
    assert old in text
    found = checked(text.replace(old, new, 1), name, program)
    assert found is not None and getattr(found.node, "lineno", 0) > 0, found


CHOOSING = """
@njit(error_model="numpy", nogil=True, fastmath={"contract"})
def m_work(first, last, x, a, S):
    if WHAT == 1:
        m_items(first, last, x, KNOWN)
    else:
        m_items(first, last, x, a, S)


def m_items(first, last, x, a, S):
    pass
"""


@pytest.mark.parametrize(
    ("what", "known", "fine"), [("S", "a, 1", True), ("a", "1, S", False), ("x", "a, S", False), ("S", "a, S", False)]
)
def test_only_a_size_may_be_known_to_be_1(what, known, fine):
    module = read(CHOOSING.replace("WHAT", what).replace("KNOWN", known), "m.py")
    if fine:
        assert chosen(module, module.functions["m_work"], {"S"}).name == "m_items"
        return
    with pytest.raises(Differs):
        chosen(module, module.functions["m_work"], {"S"})


SIZES = {
    "a map": ({"n": 1}, {"n": 8193}),
    "a border": ({"n": 1}, {"n": 4}, {"n": 8195}),
    "a fold in pieces": ({"R": 5, "N": 7}, {"R": 2, "N": 322}),
    "tiles in vectors": ({"M": 8, "K": 5, "N": 18}, {"M": 255, "K": 3, "N": 2}, {"M": 2, "K": 515, "N": 3}),
    "a copy for each part": ({"n": 5}, {"n": 4500}),
    "registers that go elsewhere": ({"Q": 3, "D": 2, "K": 70, "E": 5},),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", SIZES)
def test_a_mutant_that_is_accepted_computes_the_same(kind):
    text, name, program = kernel(*KINDS[kind])
    accepted, tried = 0, list(mutated(text, name, random.Random(f"mutants of {kind}"), 24))
    for done, mutant in tried:
        if checked(mutant, name, program) is None:
            accepted += 1
            sizes = differs(text, mutant, name, program, SIZES[kind])
            assert sizes is None, f"{done} is accepted, and is another kernel at {sizes}"
    assert accepted <= len(tried) // 3
