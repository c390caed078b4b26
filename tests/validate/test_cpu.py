"""The text of CPU kernels is proved, and one that was changed is not accepted.

Comes in: kernels of the library, of every kind that the emitter has. Goes out: that they are proved; that edits by hand are not, with a
diagnostic that names a line of the kernel; that mutants which are accepted compute the same.
"""

from __future__ import annotations

import ast
import random

import pytest

from tests.validate.cpu_modules import differs, kernel, mutants
from tinygpu.emit.cpu_lanes import OPERATIONS, lanes_source
from tinygpu.emit.cpu_prelude import HEADER, TEXT, prelude
from tinygpu.validate.cpu import Same, Unsure, Wrong, validate
from tinygpu.validate.cpu_helpers import DIGESTS
from tinygpu.validate.cpu_support import digest, given
from tinygpu.validate.module import read

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
    "a turned tile": ("transpose", "transpose_naive"),
    "a copy for each part": ("histogram", "histogram_shared"),
    "threads of a block in turn": ("embedding", "scatter_add_atomic"),
    "threads in phases": ("mlp", "mlp_fused", True),
    "a ring of tiles": ("matmul_ring", "matmul_ring_three", True),
    "an equation after another": ("mlp", "mlp_fused"),
    "lanes that hand values on": ("scan", "scan_three"),
    "a strip with a border": ("convolution", "conv2d_channels_scalar"),
    "halves of a row": ("rotary", "rotary_scalar[op=rotary_halves]"),
    "a maximum of maxima": ("total", "total_parts[op=largest]"),
    "a scan of components": ("recurrence", "recurrence_thread"),
    "components of three launches": ("recurrence", "recurrence_three"),
    "rows in turn": ("scan", "scan_warp_v4"),
    "a stride over the sizes": ("softmax", "softmax_two"),
}


def checked(text: str, name: str, program: object, search: bool = False) -> object:
    return validate(read(text, "m.py"), name, program, search=search)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS)
def test_the_text_of_a_kernel_is_proved(kind):
    text, name, program = kernel(*KINDS[kind])
    assert isinstance(checked(text, name, program), Same), checked(text, name, program)


EDITS = {  # kind, what is changed, to what; whether a case is found in which it goes wrong
    "a constant, one more": ("a map", "item * 8192", "item * 8193", True),
    "a wrong bound": ("a map", "min(start + 8192, n)", "min(start + 8192, n - 1)", True),
    "beyond the end": ("a map", "min(start + 8192, n)", "start + 8192", True),
    "swapped indices": ("rows", "y[at(i * N + j)]", "y[at(j * N + i)]", True),
    "a row too far": ("rows", "quotient(item, ", "1 + quotient(item, ", True),
    "a shorter fold": ("a fold, two launches", "for g in range(128):", "for g in range(127):", True),
    "no accumulation": ("a fold, two launches", "acc = acc + ", "acc = ", True),
    "a guard dropped": ("a border", "i + r - 2 >= 0 and ", "", True),
    "a border too narrow": ("a border", "max(low, 2)", "max(low, 1)", True),
    "no remainder": ("a maximum in parts", "larger(m, x[", "larger(m, m + 0 * x[", False),
    "a part left out": ("a maximum in parts", "m_parts[at(part + 112)]", "m_parts[at(part + 96)]", False),
    "a piece left out": ("a fold in pieces", "for part in range(32):", "for part in range(31):", False),
    "another piece": ("a fold in pieces", "acc_v_parts[at(part + 16)]", "acc_v_parts[at(part + 15)]", False),
    "components that do not belong together": ("components", "acc_n_out = acc_n + np", "acc_n_out = acc_mean + np", False),
    "another accumulator": ("tiles in vectors", "acc_1_0 = lanes_add(acc_1_0", "acc_1_0 = lanes_add(acc_1_1", False),
    "another row": ("tiles in vectors", "i_3 = min(row + 3, M - 1)", "i_3 = min(row + 2, M - 1)", False),
    "stored elsewhere": ("tiles in vectors", "lanes_store(acc_cells, at((row - row_start)*2*LANES + LANES), acc_0_1)", "lanes_store(acc_cells, at((row - row_start)*2*LANES + 3*LANES), acc_0_1)", False),
    "a lane too many": ("tiles in vectors", "lane_count = min(2*LANES, N - lane_start)", "lane_count = min(2*LANES, N - lane_start + 1)", True),
    "a tile's pitch": ("a turned tile", "(i - start)*65", "(i - start)*64", False),
    "a row of a tile": ("threads in phases", "h_tile[at(ty * 16 + li)]", "h_tile[at(li * 16 + tx)]", False),
    "a tile before it is there": ("a ring of tiles", "sA[at((remainder(ko, 3) * 16", "sA[at((remainder(ko + 2, 3) * 16", False),
    "another lane": ("lanes that hand values on", "remainder(t, 32) ^ 8", "remainder(t, 32) ^ 4", False),
    "a value of before": ("lanes that hand values on", "exchange_1[at(t)] = acc[at(thread)]", "exchange_1[at(t)] = exchange_0[at(t)]", False),
    "a shorter maximum": ("a maximum of maxima", "// 512 * 512, max(0", "// 512 * 512 + 128, max(0", False),
    "a component of before": ("a scan of components", "carry_b = carry_a_in * carry_b + carry_b_in\n                prefix_a = carry_a\n                prefix_b = carry_b", "prefix_b = carry_b\n                carry_b = carry_a_in * carry_b + carry_b_in\n                prefix_a = carry_a", False),
    "items left out": ("a map", "items * (part + 1) // parts", "items * part // parts + 1", False),
    "a unit of the copies": ("a copy for each part", "np.full(parts * h.size, np.int32(0))", "np.full(parts * h.size, np.int32(1))", False),
    "a view": ("16-bit floats", ".view(np.uint16)", "", False),
    "a flag": ("a map", 'nogil=True, fastmath={"contract"}', "nogil=True, fastmath=True", False),
    "a helper": ("tiles in vectors", "np.uint64(a) // np.uint64(b)", "np.uint64(b) // np.uint64(a)", False),
    "sizes in another order": ("rows", "_work(0, items, ", "_work(1, items, ", False),
}  # fmt: skip


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_kernel_is_refused(edit):
    kind, old, new, shown = EDITS[edit]
    text, name, program = kernel(*KINDS[kind])
    assert old in text
    found = checked(text.replace(old, new, 1), name, program, search=True)
    assert isinstance(found, Wrong if shown else Wrong | Unsure), found
    label = found.diagnostic.labels[0].span
    assert label.line > 0 and label.file == "m.py", found.diagnostic


SIZES = {
    "a map": ({"n": 1}, {"n": 8193}),
    "a border": ({"n": 1}, {"n": 4}, {"n": 8195}),
    "a fold in pieces": ({"R": 5, "N": 7}, {"R": 2, "N": 322}),
    "tiles in vectors": ({"M": 8, "K": 5, "N": 18}, {"M": 255, "K": 3, "N": 2}, {"M": 2, "K": 515, "N": 3}),
    "a copy for each part": ({"n": 5}, {"n": 4500}),
}


@pytest.mark.parametrize("kind", SIZES)
def test_a_mutant_that_is_accepted_computes_the_same(kind):
    text, name, program = kernel(*KINDS[kind])
    accepted = 0
    tried = list(mutants(text, name, random.Random(f"mutants of {kind}"), 24))
    for mutant in tried:
        if isinstance(checked(mutant.text, name, program), Same):
            accepted += 1
            sizes = differs(text, mutant.text, name, program, SIZES[kind])
            assert sizes is None, f"{mutant.done} in line {mutant.line} is accepted, and is another kernel at {sizes}"
    assert accepted <= len(tried) // 3


def test_the_helpers_are_those_that_are_shipped():
    made: dict[str, set[str]] = {}
    lanes = (lanes_source(dtype, set(OPERATIONS)) for dtype in ("f32", "f64"))
    for source in (HEADER, prelude(TEXT), *lanes):
        for name, node in given(ast.parse(source)):
            if not isinstance(node, ast.Import | ast.ImportFrom):
                made.setdefault(name, set()).add(digest(node))
    assert {name: set(known) for name, known in DIGESTS.items()} == made


def test_parts_share_the_items_out():
    for items in range(40):
        for parts in range(1, min(items, 9) + 1):
            taken = [i for part in range(parts) for i in range(items * part // parts, items * (part + 1) // parts)]
            assert taken == list(range(items))
