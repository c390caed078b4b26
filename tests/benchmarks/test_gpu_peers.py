"""What the peers of the GPU benchmark compute, where their libraries are installed: on the CPU, small, against numpy in float64.

Comes in: torch, and Triton's own interpreter. Goes out: a failure for a peer that computes something else than its case.
The one idea: a peer that is wrong would be beaten for nothing, so it is held to the equation as ours is.
"""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchmarks.gpu.cases import CASES
from benchmarks.gpu.peers import libraries
from benchmarks.gpu.race import EPS
from benchmarks.gpu.ready import machines
from tests.conftest import ROOT
from tinygpu.simulate.reference import reference
from tinygpu.simulate.tolerance import compare, tolerance

SIZES = {"n": 1000, "R": 5, "M": 40, "N": 33, "K": 17, "B": 16}


def judged(torch: Any, forms: Any) -> int:
    """Every case of these forms, once; how many there were."""
    count = 0
    for case in CASES:
        form = forms.get(case.peers)
        op = next(m.op for t, m in machines(case.spec).items() if case.takes(t, m.op.name))
        if form is None:
            continue
        chance = np.random.default_rng(1)
        sizes = {name: SIZES[name] for name in op.sizes}
        kinds = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
        inputs: dict[str, Any] = {}
        for t in op.inputs:
            shape = tuple(sizes[str(e.name)] for e in t.shape)
            inputs[t.name] = torch.tensor(chance.standard_normal(shape), dtype=kinds[t.dtype]) if shape else EPS
        outputs = [torch.zeros(tuple(sizes[e.name] for e in t.shape), dtype=kinds[t.dtype]) for t in op.outputs]
        gave = form(inputs, outputs)()
        written = bool(outputs[0].abs().sum())
        gave = outputs if written else list(gave) if isinstance(gave, tuple) else [gave]
        host = {n: v.float().numpy() if hasattr(v, "numpy") else np.float32(v) for n, v in inputs.items()}
        want = reference(op, sizes, host)
        relative, absolute = tolerance(op, sizes)
        got = {t.name: v.float().numpy() for t, v in zip(op.outputs, gave, strict=True)}
        differs = compare(op, got, want, rtol=relative, atol=absolute + 1e-5)
        assert not differs, f"{case.name}: {differs[0]}"
        count += 1
    return count


def test_torch_computes_the_cases():
    torch = pytest.importorskip("torch", reason="torch is a peer, and not needed")
    from benchmarks.gpu.peers_torch import forms, functions

    assert judged(torch, forms(torch)) >= 20
    assert judged(torch, {n: (lambda i, o, f=f: lambda: f(i)) for n, f in functions(torch).items()}) >= 19


def test_triton_computes_the_cases():
    pytest.importorskip("triton", reason="Triton is a peer, and not needed")
    code = "import torch; from benchmarks.gpu.peers_triton import forms; from tests.benchmarks.test_gpu_peers import judged; print(judged(torch, forms()))"
    env = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, timeout=300)
    assert done.returncode == 0 and int(done.stdout) >= 9, done.stdout + done.stderr


def test_a_library_that_is_not_there_is_said():
    """Nothing here has a GPU, or nothing is installed: either way there is a reason for each, and no error."""
    found, absent = libraries(SimpleNamespace(ordinal=0, stream=7))
    assert {*absent} <= {"torch", "triton", "cupy"} and len(found) + len(absent) == 3 and all(absent.values())
