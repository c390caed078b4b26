"""What is touched once, and the stores that say so.

Comes in: machines of the library. Goes out: the arrays that caches need not keep, and those that the kernels store so. The one idea: a table.
"""

from __future__ import annotations

import re

import pytest

from tests.program.library import shipped
from tinygpu.derive.unpack import unpack
from tinygpu.emit.cuda import cuda_source
from tinygpu.program.arrays import once

ONCE = {
    ("matmul_shared", "matmul_128x128"): [{"C"}],
    ("elementwise", "rows_v4[op=bias_rows]"): [{"x", "y"}],
    ("norm", "norm_warp[op=add_rmsnorm]"): [{"y", "z"}],  # x and residual are read once for each of three sums
    ("norm", "norm_kept[op=rmsnorm]"): [{"x", "y"}],  # the row stays in registers
    ("saxpy", "saxpy_v4"): [set()],  # there is nothing else to keep
    ("softmax", "softmax_two"): [set(), {"y"}],  # what the first launch leaves, the second reads
    ("histogram", "histogram_atomic"): [set(), set()],  # updates read
}


@pytest.mark.parametrize(("spec", "machine"), ONCE)
def test_what_is_touched_once(spec: str, machine: str) -> None:
    program = unpack(shipped(spec, machine))
    assert [once(program, number) for number in range(len(program.launches))] == ONCE[spec, machine]
    stored = set(re.findall(r"streaming_store\d+\((\w+)", cuda_source(program)))
    assert stored == set().union(*ONCE[spec, machine]) & {t.name for t in program.op.outputs}
