"""Right machines are proved a second time, each of another kind."""

from __future__ import annotations

import pytest

from tests.replay.library import explicit, library
from tinygpu.replay.check import replay
from tinygpu.replay.solve import cvc5_module

KINDS = (  # a machine of each kind: elementwise, folds in a thread, in a warp, in a block, tiles, carriers, atomics, launches, rings, scans
    "saxpy: saxpy_v4",
    "elementwise: rows_flat[op=affine]",
    "cast: cast_v8[op=narrow, T=f16]",
    "rows: rows_stride[op=row_moments]",
    "row_sum: rows_warp[op=row_max]",
    "row_sum: rows_apart[op=row_max_i32]",
    "softmax: softmax_block",
    "norm: norm_kept[op=layernorm]",
    "transpose: transpose_swizzled",
    "stencil_shared: jacobi_twice_shared",
    "matmul_shared: matmul_64x64",
    "matmul_half: half_64x64[T=bf16]",
    "matmul_ring: matmul_ring_three",
    "convolution_shared: conv_nhwc_4x4x64",
    "causal: causal_warp[op=causal_argmax]",
    "welford: welford_block[op=layernorm_one_pass]",
    "online_softmax: attend_split[op=attend_causal]",
    "histogram: histogram_shared",
    "embedding: scatter_add_atomic",
    "logsumexp: logsumexp_split",
    "scan: scan_block",
    "scan: scan_three",
    "by_hand: row_sum_by_hand",
)
SOLVERS = ("z3", "cvc5") if cvc5_module() else ("z3",)
MACHINES = {title: (path, machine) for title, path, machine in library(*{k.partition(":")[0] for k in KINDS})}


@pytest.mark.parametrize("title", KINDS)
def test_a_right_machine_is_proved_again(title: str) -> None:
    (report,) = replay(explicit(*MACHINES[title]))
    assert not report.open, report.open
    wrong = [c for c in report.claims if any(getattr(c, s) != "proved" for s in SOLVERS)]
    assert not wrong, wrong
    assert {"bounds", "store", "once"} <= {c.kind for c in report.claims}
    assert report.proved(*SOLVERS)
