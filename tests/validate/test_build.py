"""`tinygpu build` reads what it is about to write, and writes nothing that says something else than what was proved."""

from __future__ import annotations

import numpy as np
import pytest

from tests.program.cooperation_texts import RING
from tests.validate.modules import SPECS, edited
from tinygpu import pipeline
from tinygpu.category.term import text as text_of
from tinygpu.cli import main
from tinygpu.commands.rewritten import differs
from tinygpu.diagnostic import TinygpuError
from tinygpu.record import replace

RIGHT = {
    "a number in a choice of a wide loop": """
op leaky(x: f32[n], a: f32) -> (y: f32[n]) { y[i] = x[i] if x[i] > 0 else a * x[i] }
machine m : leaky {
  work grid = (g), block = (t: 96)
  compute i = (g, t, v: 4)
  vector v
}
""",
    "a workspace of rounded rows": """
op cp(x: f32[R, N]) -> (y: f32[R, N]) { y[r, j] = x[r, j] }
machine m : cp {
  program {
    workspace w: f32[R, ceil(N / 4)]
    launch (grid = (r: R, g: ceil(N / 4)), block = (t: 256)) { w[r, g] = x[r, g * 4] if t == 0 }
    launch (grid = (r: R, g: ceil(N / 256)), block = (t: 256)) { y[r, g * 256 + t] = x[r, g * 256 + t] if g*256 + t < N }
  }
}
""",
    "as many blocks as fit": RING,
    "a scalar as an index": """
op column(x: f32[M, N], k: i32) -> (y: f32[M]) { y[i] = x[i, k | 0] }
machine m : column {
  work grid = (g), block = (t: 128)
  compute i = (g, t)
}
op after(x: f32[N], k: i64) -> (y: f32[N]) where k >= 0 { y[i] = x[i + k | 0] }
machine later : after {
  work grid = (g), block = (t: 128)
  compute i = (g, t)
}
""",
    "one step of Floyd and Warshall": """
op fw_step(D: f32[n, n], k: i32) -> (E: f32[n, n]) where 0 <= k, k < i32(n), n <= 2147483647 {
  E[i, j] = min(D[i, j], D[i, k] + D[k, j])
}
machine fw_rows : fw_step {
  work     grid = (i, g), block = (t: 128)
  compute  j = (g, t, v: 4)
  vector   v
}
""",
    "warps of one factor": """
op f(x: f32[n]) -> (y: f32[n]) { y[i] = x[i // 2 * 2 + 1 - i % 2 | 0] }
machine m : f {
  work grid = (g: ceil(n / 128)), block = (t: 128)
  program {
    local v: f32[]
    v[] = x[g*128 + t] if g*128 + t < n else 0
    v[] = shuffle_xor(v[], 1)
    y[g*128 + t] = v[] if g*128 + t < n
  }
}
machine w : f {
  work grid = (g: ceil(n / 128)), block = (t: 128)
  program {
    shared s: f32[128]
    s[t] = x[g*128 + t] if g*128 + t < n else 0
    warp barrier
    y[g*128 + t] = s[t // 2 * 2 + 1 - t % 2] if g*128 + t < n
  }
}
""",
    "numbers of u32 beside literals": """
op least(x: u32[n]) -> (y: u32[n]) { y[i] = min(x[i], 1) + (1 if x[i] + 1 > x[i] else u32(i) * 2654435761) }
machine m : least {
  work grid = (g), block = (t: 128)
  compute i = (g, t)
}
""",
    "updates of several lanes that are derived": """
op matmul(A: f32[M, K], B: f32[K, N]) -> (C: f32[M, N]) { C[i, j] = sum[k] A[i, k] * B[k, j] }
machine m : matmul {
  work     grid = (s: 8, by, bx), block = (ty: 16, tx: 16)
  compute  i = (by, ty), j = (bx, tx, rj: 4), k = (ko, s)
  time     ko
  vector   rj
  reduce C over s by atomic
}
""",
    "updates of several lanes": """
op hist(x: f32[n], id: i32[n]) -> (y: f32[S]) where S <= 2147483647, n % 4 == 0, all[i] (0 <= id[i] and id[i] < i32(S)) {
  y[s] = sum[i] (x[i] if id[i] == i32(s) else 0)
}
machine m : hist {
  program {
    launch (grid = (k: ceil(S / 128)), block = (dz: 128)) { y[k*128 + dz] = 0 if k*128 + dz < S }
    launch (grid = (t: ceil(n / 512)), block = (d: 128)) {
      for v < 4 in vector { atomic y[id[t*512 + d*4 + v]] += x[t*512 + d*4 + v] if t*512 + d*4 + v < n }
    }
  }
}
""",
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_was_proved_is_built_without_a_word(name, tmp_path, capsys):
    path = tmp_path / "spec.tgpu"
    path.write_text(RIGHT[name])
    assert main(["build", str(path), "-o", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert "TG" not in said.err + said.out, said.err + said.out
    module = next(tmp_path.rglob("spec.py"))
    assert differs(module.read_text(), str(module)) is None, "the programs in it are others"


@pytest.fixture
def emitter(monkeypatch):
    """An emitter with one mistake: a change of its text."""
    module = pipeline.module

    def mistaken(old, new, after=""):
        monkeypatch.setattr(pipeline, "module", lambda title, machines: edited(module(title, machines), old, new, after)[0])

    return mistaken


def built(folder, *arguments):
    return main(["build", str(SPECS / "saxpy.tgpu"), "--machine", "saxpy_scalar", "-o", str(folder), *arguments])


def test_a_module_that_is_right_is_written(tmp_path):
    assert built(tmp_path) == 0 and (tmp_path / "saxpy.py").exists()


def test_a_module_that_is_wrong_is_not_written(tmp_path, emitter, capsys):
    emitter("ix(ix(g*256) + t)", "ix(ix(t*256) + g)")
    assert built(tmp_path) == 1 and not (tmp_path / "saxpy.py").exists()
    said = capsys.readouterr()
    assert "TG820" in said.err + said.out and "saxpy.py:" in said.err + said.out and "not built" in said.err


def test_a_module_of_which_not_all_was_shown_is_written_and_is_no_success(tmp_path, emitter):
    emitter("ix(ix(g*256) + t)", "ix(ix(ix(g*512) + t) - ix(g*256))")  # which fits, unless indices have 32 bits and n is large
    text = (tmp_path / "saxpy.py") if built(tmp_path) == 3 else None
    assert text is not None and text.exists()


def test_nobody_is_handed_a_module_that_is_wrong(emitter):
    """The API builds as the command does: what is read back and found wrong is an error, of the CUDA kernels and of those for CPUs."""
    machine = pipeline.load(SPECS / "saxpy.tgpu").saxpy_scalar
    proof = pipeline.check(machine)
    assert isinstance(proof, pipeline.Proof) and pipeline.build(proof, machine)
    for right, wrong, code in (
        ("ix(ix(g*256) + t)", "ix(ix(t*256) + g)", "TG820"),
        ("a * x[at(i)] + y", "a * y[at(i)] + y", "TG820"),
    ):
        emitter(right, wrong)
        with pytest.raises(TinygpuError) as caught:
            pipeline.build(proof, machine)
        assert code in str(caught.value)


def test_a_proof_builds_no_other_machine():
    """Names, docstrings and the CPU's program come from the machine: it has to be the one that was proved, or one with its program."""
    spec = pipeline.load(SPECS / "saxpy.tgpu")
    proof = pipeline.check(spec.saxpy_scalar)
    assert isinstance(proof, pipeline.Proof) and pipeline.built(proof, pipeline.load(SPECS / "saxpy.tgpu").saxpy_scalar)
    with pytest.raises(TinygpuError, match="TG905 the proof is of saxpy_scalar, and says nothing of the program of saxpy_v4"):
        pipeline.build(proof, spec.saxpy_v4)


def test_what_is_run_is_read_back_too(emitter, capsys):
    emitter("a * x[at(i)] + y", "a * y[at(i)] + y")
    assert main(["run", str(SPECS / "saxpy.tgpu")]) != 0
    said = capsys.readouterr()
    assert "TG820" in said.err and "agrees" not in said.out


def test_a_scalar_says_which_kernel_is_taken():
    """The 32-bit kernel is taken where the index fits with this scalar; a launcher that does not ask is refused."""
    (machine,) = pipeline.load_text(RIGHT["a scalar as an index"].partition("op after")[2].join(("op after", ""))).machines
    proof = pipeline.check(machine)
    assert isinstance(proof, pipeline.Proof)
    ready = pipeline.built(proof, machine)
    text = pipeline.module("later", [ready])
    asked = '"ceil(N / 128)*128 + k - 1", '
    assert asked in text.partition('"limits"')[2].partition("\n")[0] and pipeline.validate(text, [ready]) == ()
    first, last = text.split('"limits"')
    less = replace(ready, limits=tuple(t for t in ready.limits if text_of(t) not in asked))
    assert [d.code for d in pipeline.validate(f'{first}"limits"{last.replace(asked, "", 1)}', [ready])] == ["TG822"]
    assert [d.code for d in pipeline.validate(pipeline.module("later", [less]), [less])] == ["TG820"]
    x = np.arange(5, dtype=np.float32)
    call = pipeline.build(proof, machine)
    assert call(x, 2).tolist() == [2, 3, 4, 0, 0] and call(x, 2**62).tolist() == [0] * 5
