"""Modules that were edited by hand are refused, at the line of the edit.

Comes in: edits of modules of the library, one for each way in which a text can say something else. Goes out: the code and the line of the
first diagnostic, and words of what it says.
"""

from __future__ import annotations

import pytest

from tests.validate.modules import edited, emitted, found

TILE = ("matmul_shared", "matmul_128x128")
KERNEL = "def matmul_128x128(A, B, C"
LAUNCHER = "def matmul_128x128(A: Array"
EDITS = {  # name: spec and machine, behind what, what is changed, to what, the code, words of the message
    "an index off by one": (TILE, KERNEL, "ix(ko*8) + B_tile0)", "ix(ko*8) + ix(B_tile0 + 1))", "TG820", "may not be"),
    "a stride": (TILE, KERNEL, "ix(ix(A_tile0*132) + A_tile1)", "ix(ix(A_tile0*131) + A_tile1)", "TG820", "is element"),
    "swapped names": (TILE, KERNEL, "a[ri]*b[rh, rj]", "b[rh, rj]*a[rh]", "TG820", "gives"),
    "a guard dropped": (TILE, KERNEL, "if j_2 < N:", "if True:", "TG820", "is done"),
    "a guard too wide": (TILE, KERNEL, "if i_2 < M:", "if i_2 <= M:", "TG820", ""),
    "a condition too wide": (TILE, KERNEL, "wide and ix(j_20 + 3) < N", "wide and ix(j_20 + 3) <= ix(N + 1)", "TG820", ""),
    "a barrier removed": (TILE, "acc[ri, rh, rj] += ", "cuda.syncthreads()", "pass", "TG820", ""),
    "a barrier of the warp": (TILE, KERNEL, "cuda.syncthreads()", "cuda.syncwarp()", "TG820", "is a barrier of the warp"),
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
    "a loop of Python": (TILE, KERNEL, "for ri in upto(ix(8))", "for ri in range(ix(8))", "TG823", "no loop"),
    "a loop that ends sooner": (TILE, KERNEL, "for ko in upto(ceil(K, 8))", "for ko in upto(div(K, 8))", "TG820", "turns"),
    "an output that nobody writes": (TILE, KERNEL, "constant(f32), constant(f32), pointer(f32)", "constant(f32), constant(f32), constant(f32)", "TG820", "nobody writes C"),
    "elements of another type": (TILE, KERNEL, "constant(f32), constant(f32), pointer(f32)", "constant(f32), constant(ix), pointer(f32)", "TG820", "of type constant ix"),
    "memory of another kind": (TILE, "def matmul_128x128_kernel", "shared_load8 = wide_load(8, 'shared')", "shared_load8 = wide_load(8)", "TG820", "other memory"),
    "a type": (("saxpy", "saxpy_scalar"), "def saxpy_scalar(x", "ix(ix(g*256) + t)", "u32(ix(g*256) + t)", "TG823", ""),
    "a function": (("gelu", ""), "", "tanhf(", "expf(", "TG823", ""),
    "threads of a launch": (TILE, '    "matmul_128x128", matmul_128x128_kernel', "256", "128", "TG822", "blocks of 128 threads"),
    "the key of a kernel": (TILE, '    "matmul_128x128", matmul_128x128_kernel', "(0, 0)", "(7, 0)", "TG822", "is for GPUs of"),
    "blocks of a launch": (TILE, LAUNCHER, "_blocks = -(-M // 128)*", "_blocks = -(-M // 64)*", "TG822", "launches"),
    "arguments of a launch": (TILE, LAUNCHER, "_A.pointer, _B.pointer", "_B.pointer, _A.pointer", "TG820", ""),
    "sizes of a launch": (TILE, LAUNCHER, "_index(M), _index(K)", "_index(K), _index(M)", "TG822", "other sizes"),
    "a shape that is not compared": (TILE, LAUNCHER, "if _B.shape != (K, N):", "if False:", "TG822", ""),
    "an array that fits": (TILE, LAUNCHER, "if _B.shape != (K, N):", "if _B.shape != (N, K):", "TG822", "refuses"),
    "a dtype that is not compared": (TILE, LAUNCHER, 'B, "f32", "[K, N]"', 'B, "f64", "[K, N]"', "TG822", "takes B as"),
    "memory that is shared": (TILE, LAUNCHER, '_distinct("matmul_128x128", (_C,), (_A, _B))', '_distinct("matmul_128x128", (_C,), (_A,))', "TG822", "may share"),
    "alignment that is not looked at": (TILE, LAUNCHER, "_aligned((_A, 16), ", "_aligned((_A, 8), ", "TG820", "at once"),
    "rows that are not aligned": (TILE, LAUNCHER, "_wide = K % 4 == 0", "_wide = K % 2 == 0", "TG820", "no multiple"),
    "a limit that is too high": (TILE, LAUNCHER, "if K <= 2147483647 and K*N <= 2147483647 and", "if K <= 2147483647 and", "TG820", "may not be"),
    "an early return": (TILE, LAUNCHER, "if not _C.nbytes:", "if not _A.nbytes:", "TG822", "returns"),
    "a helper": (TILE, "def wide_store(", "count // accesses", "count", "TG821", ""),
    "a helper of the launcher": (TILE, "def _view(", "readonly", "writable", "TG821", ""),
    "a name given twice": (TILE, "def _need_cuda", "def _need_cuda", "cuda_names = None\n\n\ndef _need_cuda", "TG821", "second time"),
    "something else at the top": (TILE, "Array: TypeAlias", "Array: TypeAlias", "print(1)\nArray: TypeAlias", "TG823", ""),
    "no Python": (TILE, KERNEL, "def ", "deff ", "TG823", ""),
}  # fmt: skip


ELSEWHERE = {  # edits that show at another line: where what was changed is needed, or at the whole of what lacks it
    "memory of another kind", "a guard dropped", "a guard too wide", "a loop bound", "too little shared memory", "arguments of a launch",
    "sizes of a launch", "a shape that is not compared", "alignment that is not looked at", "rows that are not aligned",
    "a limit that is too high", "blocks of a launch",
}  # fmt: skip


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
