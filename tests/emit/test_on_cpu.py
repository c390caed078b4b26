"""Machines on cpu: their kernels have the shape that the machine says, are proved, are made of vector instructions, and may be called by threads.

Comes in: the shipped machines on cpu. Goes out: text, machine code, results. The one idea: what the machine says of registers is seen in the
machine code, where the processor has such registers.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from llvmlite.binding import get_host_cpu_features

from tests.emit.test_cuda_call import OnGpu
from tests.program.library import library, proof_of
from tinygpu import pipeline
from tinygpu.emit.module import launcher_names
from tinygpu.run.load import load

ON_CPU = ("matmul_cpu", "softmax_cpu", "norm_cpu")


def built(spec: str, title: str = "") -> list[Any]:
    """The proved machines of a spec, or one of them, with what the emitter needs."""
    return [pipeline.built(proof_of(m), m) for m in library(spec) if title in ("", m.title)]


@pytest.fixture(scope="module")
def matmul() -> ModuleType:
    machines = built("matmul_cpu")
    assert launcher_names([m.machine for m in machines]) == ["matmul_core", "matmul_core_6"]
    return load(pipeline.module("matmul_cpu", machines), "matmul_cpu")


@pytest.mark.parametrize("spec", ON_CPU)
def test_modules_are_for_a_cpu_alone_and_are_proved(spec: str) -> None:
    machines = built(spec)
    text = pipeline.module(spec, machines)
    assert "cuda.jit" not in text and "what CUDA kernels call" not in text
    assert "_kernel" not in text and '"launches": ()' in text
    assert pipeline.validate(text, machines) == ()
    assert pipeline.validate_cpu(text, machines) == ()


def test_accumulators_are_in_vector_registers(matmul: ModuleType) -> None:
    """One fused instruction for each accumulator, and none of them in memory; on processors that have such instructions."""
    features = get_host_cpu_features()
    name, rows = ("zmm", 8) if features.get("avx512f") else ("ymm", 6)
    if not features.get("fma"):
        pytest.skip("the processor has no fused instructions")
    cached = matmul.matmul_core_work if rows == 8 else matmul.matmul_core_6_work
    one = np.ones((3, 3), np.float32)
    (matmul.matmul_core if rows == 8 else matmul.matmul_core_6)(one, one)
    kernel = type(cached)(cached.py_func, targetoptions=cached.targetoptions)  # compiled anew: what comes from a cache has no text
    for signature in cached.signatures:
        kernel.compile(signature)
    code = "\n".join(kernel.inspect_asm().values())
    fused = [line for line in code.splitlines() if "vfmadd" in line and name in line]
    assert len(fused) >= (24 if rows == 8 else 12)
    assert all(line.split(",")[-1].strip().startswith(f"%{name}") for line in fused)


ONE_NUMBER = """op longest(x: f32[R, N]) -> (m: f32[R]) { m[r] = max[j] x[r, j] }
machine in_turn : longest on cpu { work core = (rg, rc: 4)
  compute r = (rg, rr: 8, rc), j = (jc, ju: 16, jt: 2, jv: 16)
  time jc, jt
  register rr, ju
  simd jv }
"""


def test_one_number_is_no_vector() -> None:
    """What all lanes are combined into, one after another, is a number, whatever the loop over lanes reads."""
    (machine,) = pipeline.load_text(ONE_NUMBER).machines
    made = pipeline.built(pipeline.check(machine), machine)
    assert pipeline.validate_cpu(pipeline.module("longest", [made]), [made]) == ()


def test_arrays_on_a_gpu_are_refused(matmul: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matmul.runtime, "_device_of", lambda pointer: 0)
    with pytest.raises(TypeError, match=r"TG818.*is written for a CPU"):
        matmul.matmul_core(OnGpu((4, 4)), OnGpu((4, 4), 8192), out=OnGpu((4, 4), 12288))


THREADS = """
import sys, threading
import numpy as np
from tinygpu.run.load import load

module = load(open(sys.argv[1]).read(), "matmul_cpu")
one = np.ones((300, 300), np.float32)
wrong = []

def calls():
    for _ in range(5):
        wrong.extend([] if (module.matmul_core(one, one) == 300).all() else [1])

threads = [threading.Thread(target=calls) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
import numba
print(len(wrong), numba.threading_layer())
"""


@pytest.mark.parametrize("layer", ["workqueue", "default"])
def test_python_threads_call_at_once(tmp_path: Path, layer: str) -> None:
    """numba's own layer aborts where two threads launch at once; there calls wait for each other."""
    text = tmp_path / "matmul_cpu.txt"
    text.write_text(pipeline.module("matmul_cpu", built("matmul_cpu", "matmul_core")), encoding="utf-8")
    env = {**os.environ, "NUMBA_THREADING_LAYER": layer, "NUMBA_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", THREADS, str(text)], capture_output=True, text=True, env=env, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] == "0"
    assert layer == "default" or done.stdout.split()[1] == layer
