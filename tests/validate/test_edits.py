"""Modules that were edited by hand are refused, at the line of the edit.

Comes in: edits of modules of the library, one for each way in which a text can say something else. Goes out: the code and the line of the
first diagnostic, and words of what it says.
"""

from __future__ import annotations

import pytest

from tests.validate.modules import edited, emitted, found

TILE = ("matmul_shared", "matmul_128x128")
KERNEL = "def matmul_128x128(A, B, C"
LAUNCHER = "matmul_128x128_spec = {"
MEAN = ("optimisers", "running_mean_columns")
WAYS = ("launches", "ways_grid")
RING, COPIED = ("tensor_cores", "half_ring[T=f16, MI=2]"), "def half_ring"
INSIDE, FAR = "i < M and ix(k0 + 7) < K", "ix(ix(i*K) + k0), "
ROWS, ROW = ("csr", "csr_warp"), "def csr_warp(val, col"
VIEW, LIES = ("views", "product_tile"), "def product_tile(A, B, C"
EDITS = {  # name: spec and machine, behind what, what is changed, to what, the code, words of the message
    "an index off by one": (TILE, KERNEL, "ix(ko*8) + B_tile0)", "ix(ko*8) + ix(B_tile0 + 1))", "TG820", "may not be"),
    "a stride": (TILE, KERNEL, "ix(ix(A_tile0*132) + A_tile1)", "ix(ix(A_tile0*131) + A_tile1)", "TG820", "is element"),
    "swapped names": (TILE, KERNEL, "a[ri]*b[rh, rj]", "b[rh, rj]*a[rh]", "TG820", "gives"),
    "a guard dropped": (TILE, KERNEL, "if j_2 < N:", "if True:", "TG820", "is done"),
    "a guard too wide": (TILE, KERNEL, "if i_2 < M:", "if i_2 <= M:", "TG820", ""),
    "a condition too wide": (TILE, KERNEL, "wide and ix(j_20 + 3) < N", "wide and ix(j_20 + 3) <= ix(N + 1)", "TG820", ""),
    "a barrier removed": (TILE, "acc[ri, rh, rj] += ", "cuda.syncthreads()", "pass", "TG820", ""),
    "a barrier of the warp": (TILE, KERNEL, "cuda.syncthreads()", "cuda.syncwarp()", "TG820", "calls cuda.syncwarp"),
    "a loop bound": (TILE, KERNEL, "for ri in upto(ix(8))", "for ri in upto(ix(7))", "TG820", "makes 7"),
    "no accumulation": (TILE, KERNEL, "acc[ri, rh, rj] += ", "acc[ri, rh, rj] = ", "TG820", "gives"),
    "where a wide load starts": (TILE, KERNEL, "load4(A_v, A, ix(ix(i*K) + k0))", "load4(A_v, A, ix(ix(i*K) + i))", "TG820", ""),
    "how much a wide load moves": (TILE, KERNEL, "load4(A_v, A,", "shared_load8(A_v, A,", "TG820", "instruction"),
    "another instruction": (TILE, "B_tile_v[v] = B_v[v]", "shared_store4(B_tile,", "streaming_store4(B_tile,", "TG820", "instruction"),
    "where a shared array starts": (TILE, KERNEL, "shared(f32, 4224)", "shared(f32, 4208)", "TG820", "lies at"),
    "a shared array that is not aligned": (TILE, KERNEL, "shared(f32, 4224)", "shared(f32, 4220)", "TG820", "begins at"),
    "too little shared memory": (TILE, "def matmul_128x128_kernel", "shared_memory(8320)", "shared_memory(8192)", "TG820", "ends at"),
    "a decoded block": (TILE, KERNEL, "bx = mod(block, ceil(N, 128))", "bx = mod(block, ceil(N, 64))", "TG820", "divides"),
    "a decoded thread": (TILE, KERNEL, "tx = mod(thread, 16)", "tx = mod(thread, 8)", "TG820", "divides"),
    "an index that wraps": (TILE, KERNEL, "ix(ix(by*128) + ix(ty*8))", "ix(ix(by*128)*128 + ix(ty*8))", "TG820", "may not be"),
    "cells that were not loaded": (TILE, KERNEL, "A_v[v]", "B_v[v]", "TG820", "holds nothing"),
    "a shuffle's distance": (("scan", "scan_warp"), "", "shuffle_up(v, 2)", "shuffle_up(v, 3)", "TG820", "gives"),
    "a shuffle that is too far": (("scan", "scan_warp"), "", "shuffle_up(v, 2)", "shuffle_up(v, 32)", "TG820", "may not be"),
    "a shuffle that some lanes leave out": (("scan", "scan_warp"), "", "u = shuffle_up(v, 2)", "u = shuffle_up(v, 2) if lane >= 2 else u", "TG820", "some lanes"),
    "an atomic update": (("histogram", "histogram_atomic"), "", "atomic_sum(h,", "atomic_max(h,", "TG823", ""),
    "a division of Python": (TILE, KERNEL, "B_tile0 = div(ty, 2)", "B_tile0 = ix(ty // 2)", "TG823", "may be negative"),
    "a division of what may be negative": (TILE, KERNEL, "B_tile0 = div(ty, 2)", "B_tile0 = div(ix(ty - 1), 2)", "TG820", "at least 0"),
    "a division by what may be 0": (TILE, KERNEL, "B_tile0 = div(ty, 2)", "B_tile0 = div(ty, tx)", "TG820", "at least 1"),
    "rounded down": (TILE, KERNEL, "bx = mod(block, ceil(N, 128))", "bx = mod(block, div(N, 128))", "TG820", "divides"),
    "an array that is written under another name": (MEAN, "def running_mean_columns_kernel", "constant(f32), pointer(f32), pointer(f32)", "constant(f32), constant(f32), pointer(f32)", "TG820", "nobody writes r"),
    "outputs that lie elsewhere": (MEAN, "running_mean_columns_spec", "((0, 1, False),)", "((0, 0, False),)", "TG822", "inplace is"),
    "a loop that data begin": (ROWS, ROW, "between(ceil(ix(ix(max(ix(ix(begin)), ix(lane))) - lane), 32)", "between(ix(0)", "TG820", "is an assignment"),
    "a loop that data end": (ROWS, ROW, "ix(min(ix(ceil(Z, 32)), ", "ix(max(ix(ceil(Z, 32)), ", "TG820", "is an assignment"),
    "a loop that another end begins": (ROWS, ROW, "between(ceil(ix(ix(max(ix(ix(begin)),", "between(ceil(ix(ix(max(ix(ix(end)),", "TG820", "is an assignment"),
    "an end that memory tells": (ROWS, ROW, "ix(max(ix(ix(end)), ix(lane)))", "ix(max(ix(ix(off[r])), ix(lane)))", "TG820", "others may change"),
    "an end that the loop moves": (ROWS, ROW, "acc += val[z]", "end = i32(0)\n                acc += val[z]", "TG820", "others may change"),
    "strides that change places": (VIEW, LIES, "i64(i)*A_stride_0 + i64(k)*A_stride_1", "i64(i)*A_stride_1 + i64(k)*A_stride_0", "TG820", "is not the stride of axis 0 of A"),
    "the stride of another array": (VIEW, LIES, "i64(i_2)*C_stride_0", "i64(i_2)*A_stride_0", "TG820", "is not the stride of axis 0 of C"),
    "indices that change places": (VIEW, LIES, "i64(i)*A_stride_0 + i64(k)*A_stride_1", "i64(k)*A_stride_0 + i64(i)*A_stride_1", "TG820", "gives"),
    "an axis that is left out": (VIEW, LIES, "i64(i)*A_stride_0 + i64(k)*A_stride_1", "i64(i)*A_stride_0", "TG820", "has 2 axes"),
    "an axis too many": (VIEW, LIES, "i64(i)*A_stride_0 +", "i64(i)*A_stride_0 + i64(i)*A_stride_0 +", "TG823", "times a stride"),
    "a stride of 32 bits": (VIEW, LIES, "i64(i)*A_stride_0", "i64(i)*i64(i32(A_stride_0))", "TG823", "is not read here"),
    "an index of 32 bits": (VIEW, LIES, "i64(i)*A_stride_0", "ix(i)*A_stride_0", "TG823", "times a stride"),
    "rows of what is strided": (VIEW, LIES, "i64(i)*A_stride_0 + i64(k)*A_stride_1", "ix(ix(i*K) + k)", "TG823", "times a stride"),
    "stored elsewhere": (VIEW, LIES, "C[i64(i_2)*C_stride_0 + i64(j_2)*C_stride_1]", "C[i64(i_2)*C_stride_0 + i64(i_2)*C_stride_1]", "TG820", "is element"),
    "strides of another type": (VIEW, LIES, "ix, i64, i64, i64, i64)", "ix, i64, ix, i64, i64)", "TG820", "is of type ix"),
    "strides that nobody passes": (VIEW, "product_tile_spec", '"strided": ("A", "C")', '"strided": ("A",)', "TG822", "strided is"),
    "a loop of Python": (TILE, KERNEL, "for ri in upto(ix(8))", "for ri in range(ix(8))", "TG823", "no loop"),
    "a loop that ends sooner": (TILE, KERNEL, "for ko in upto(ceil(K, 8))", "for ko in upto(div(K, 8))", "TG820", "only where ko < K // 8"),
    "an output that nobody writes": (TILE, KERNEL, "constant(f32), constant(f32), pointer(f32)", "constant(f32), constant(f32), constant(f32)", "TG820", "nobody writes C"),
    "elements of another type": (TILE, KERNEL, "constant(f32), constant(f32), pointer(f32)", "constant(f32), constant(ix), pointer(f32)", "TG820", "of type constant ix"),
    "memory of another kind": (TILE, "def matmul_128x128_kernel", "shared_load8 = wide_load(8, 'shared')", "shared_load8 = wide_load(8)", "TG820", "other memory"),
    "a type": (("saxpy", "saxpy_scalar"), "def saxpy_scalar(x", "ix(ix(g*256) + t)", "u32(ix(g*256) + t)", "TG823", ""),
    "what is read before it is asked for": (("saxpy", "saxpy_scalar"), "def saxpy_scalar(x", "        if i < n:", "        early = x[i]\n        if i < n:", "TG820", "reads memory"),
    "a row beyond its array": (TILE, KERNEL, "C[ix(ix(i_2*N) + j_2)]", "C[ix(ix(ix(i_2 + ix(M*N))*N) + j_2)]", "TG820", "is element"),
    "a function": (("gelu", ""), "", "tanhf(", "expf(", "TG823", ""),
    "turns of a launch": (WAYS, "ways_grid_spec = {", '(("k", "n"),)', '(("k", "n - 1"),)', "TG822", "turns is"),
    "a turn that is a size": (WAYS, "ways_grid_kernel_1", "def ways_grid(w, d, new, n, k)", "def ways_grid(w, d, new, k, n)", "TG820", ""),
    "threads of a launch": (TILE, LAUNCHER, "256, (0, 0)", "128, (0, 0)", "TG822", "blocks of 128 threads"),
    "the architecture of a launch": (TILE, LAUNCHER, "256, (0, 0)", "256, (7, 0)", "TG822", "is for GPUs of"),
    "a copy from a row too far": (RING, COPIED, INSIDE, "i <= M and ix(k0 + 7) < K", "TG820", "may not be"),
    "a copy of zeros for what is inside": (RING, COPIED, INSIDE, "i < M and ix(k0 + 8) < K", "TG820", "leaves 0 where"),
    "a copy of nothing": (RING, COPIED, INSIDE, "False", "TG820", "leaves 0 where"),
    "a copy that asks data": (RING, COPIED, INSIDE, f"A[ix(i*K)] == A[ix(i*K)] and {INSIDE}", "TG823", "asks data"),
    "a copy that divides where it is outside": (RING, COPIED, FAR + INSIDE, f"ix(ix(ix(i*K) + k0) + ix(mod(ix(0), ix(M - i))*8)), {INSIDE}", "TG820", "at least 1"),
    "a part of no whole period": (RING, COPIED, "ix(wx*256)) + ix(ix(ix(div(lane, 4)", "ix(wx*128)) + ix(ix(ix(div(lane, 4)", "TG820", "is element"),
    "another swizzle": (RING, COPIED, "sA2_20), 64), 4)*8", "sA2_20), 32), 4)*8", "TG820", "is element"),
    "the slot of another turn": (RING, COPIED, "mod(ko, 3)*2048", "mod(ix(ko + 1), 3)*2048", "TG820", "is element"),
    "blocks of a launch": (TILE, LAUNCHER, '"ceil(M / 128)*ceil(N / 128)", 256', '"ceil(M / 64)*ceil(N / 128)", 256', "TG822", "launches ceil(M / 64)"),
    "another kernel": (TILE, LAUNCHER, '("matmul_128x128_kernel"', '("matmul_128x128_cpu"', "TG822", "launches matmul_128x128_cpu"),
    "memory of a launch": (TILE, '"launches": (', '", 0),', '", 65536),', "TG822", "gives a block 65536 bytes"),
    "arrays that change places": (TILE, LAUNCHER, '"A": ("f32", ("M", "K")), "B": ("f32", ("K", "N"))', '"B": ("f32", ("M", "K")), "A": ("f32", ("K", "N"))', "TG822", "inputs is"),
    "a size of another extent": (TILE, LAUNCHER, '"K": ("A", 1, "0", "1")', '"K": ("A", 0, "0", "1")', "TG822", "solved is"),
    "rows that are not aligned": (TILE, LAUNCHER, '"K % 4 == 0"', '"K % 2 == 0"', "TG822", "wide is"),
    "a limit that is not asked": (TILE, LAUNCHER, '"K*N", ', "", "TG822", "limits is"),
    "what a CPU counts to": (TILE, LAUNCHER, '"counted": (', '"counted": (), "more": (', "TG822", "counted is"),
    "an entry too many": (TILE, LAUNCHER, '"name": ', '"more": (), "name": ', "TG823", "no entry"),
    "an entry twice": (TILE, LAUNCHER, '"where": ()', '"where": (), "where": ("false",)', "TG823", "once"),
    "an entry too few": (TILE, LAUNCHER, '"where": (),', "", "TG822", "says nothing of where"),
    "a table that runs": (TILE, LAUNCHER, '"where": ()', '"where": print()', "TG823", "a literal"),
    "a precondition": (("saxpy", "saxpy_whole"), "saxpy_whole_spec", '"n % 4 == 0",', "", "TG822", "where is"),
    "arguments that change places": (TILE, "def matmul_128x128(A: Array", "launch(A, B,", "launch(B, A,", "TG822", "returns"),
    "another table": (TILE, "matmul_128x128_launch = ", "matmul_128x128_spec", "{}", "TG822", "made otherwise"),
    "a helper": (TILE, "", "wide_store = runtime.wide_store", "wide_store = runtime.wide_load", "TG821", "not the helper"),
    "a helper of CPU kernels": (TILE, "", "quotient = runtime.quotient", "quotient = runtime.remainder", "TG821", "not the helper"),
    "another runtime": (TILE, "", "import tinygpu_runtime as runtime", "import numpy as runtime", "TG821", "another runtime"),
    "any runtime": (TILE, "", 'getattr(runtime, "VERSION", "") !=', 'getattr(runtime, "VERSION", "") ==', "TG821", "another runtime"),
    "a name given twice": (TILE, "", "Array: TypeAlias", "cuda_names = None\nArray: TypeAlias", "TG821", ""),
    "something else at the top": (TILE, "", "Array: TypeAlias", "print(1)\nArray: TypeAlias", "TG823", ""),
    "no Python": (TILE, KERNEL, "def ", "deff ", "TG823", ""),
}  # fmt: skip


ELSEWHERE = {  # edits that show at another line: where what was changed is needed, or at the whole of what lacks it
    "memory of another kind", "a guard dropped", "a guard too wide", "a loop bound", "a turn that is a size", "too little shared memory", "an entry too few",
    "a loop that data begin", "a loop that data end", "a loop that another end begins", "an end that the loop moves",
    "a loop that ends sooner", "an entry twice", "a precondition", "a limit that is not asked", "another runtime", "a name given twice", "a table that runs",
}  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", EDITS)
def test_an_edit_is_refused_at_its_line(name):
    (spec, machine), after, old, new, code, words = EDITS[name]
    text, expected = emitted(spec, machine) if machine else emitted(spec)
    changed, line = edited(text, old, new, after)
    diagnostics = found(changed, expected)
    assert diagnostics, f"{name} is not seen"
    first = diagnostics[0]
    assert first.code == code
    assert first.span.line == line or name in ELSEWHERE, (first.span.line, line, first.labels)
    assert words in first.labels[0].text
