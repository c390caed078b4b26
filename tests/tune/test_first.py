"""Machines by rules: a state is its text, and what rules make of the ops of the library is proved.

Comes in: the ops of the library. Goes out: states, there and back; verdicts; what the commands say. The one idea: who wrote a machine is of no matter to its proof.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.program.library import loaded
from tinygpu import pipeline
from tinygpu.cli import main
from tinygpu.commands.first import machine_for, with_machines
from tinygpu.commands.specs import text_of
from tinygpu.diagnostic import TinygpuError
from tinygpu.model.op import Op
from tinygpu.record import replace
from tinygpu.syntax import tree
from tinygpu.syntax.format import format_file
from tinygpu.tune.facts import groups
from tinygpu.tune.first import first
from tinygpu.tune.scatter import found_in
from tinygpu.tune.sides import side, with_inverses
from tinygpu.tune.state import Nest, State, read_back, state_of

SOFTMAX = """op softmax(x: f32[R, N]) -> (y: f32[R, N]) where N >= 1 {
  m[r]    = max[j] x[r, j]
  s[r]    = sum[j] exp(x[r, j] - m[r])
  y[r, j] = exp(x[r, j] - m[r]) / s[r]
}
"""
FEW = ("matmul", "row_sum", "scan", "transpose", "total", "convolution", "histogram", "norm", "batched_matmul", "welford")


def ops(stem: str) -> dict[str, Op]:
    spec = loaded(stem).spec
    return {op.family: op for op in spec.ops if not op.states}


def sorted_cuts(state: State) -> tuple[Nest, ...]:
    return tuple(replace(n, cuts=tuple(sorted(n.cuts))) for n in state.nests)


@pytest.mark.sampled
@pytest.mark.parametrize("stem", sorted(p.stem for p in (ROOT / "specs").glob("*.tgpu")))
def test_a_state_is_its_text(stem: str) -> None:
    for op in ops(stem).values():
        for state in (s for device in ("", "cpu", "sm_80", "sm_90a") for s in first(op, device)):
            back = read_back(state.text("m"))
            assert back is not None and back.text("m") == state.text("m")
            assert replace(back, nests=sorted_cuts(back)) == replace(state, nests=sorted_cuts(state))


@pytest.mark.parametrize(
    "stem",
    [
        pytest.param(n, marks=pytest.mark.sampled)
        for n in ("matmul_cpu", "matmul_ring", "matmul_shared", "softmax_cpu", "tensor_cores", "transpose", "scan")
    ],
)
def test_what_people_wrote_is_a_state(stem: str) -> None:
    """A machine, as data, and as text again, is the machine that was written."""
    spec = loaded(stem)
    states = {d.name: state_of(d) for d in spec.tree.declarations if isinstance(d, tree.Machine) and len(d.ops) == 1}
    again = tuple(
        s.tree(d.name) if isinstance(d, tree.Machine) and (s := states.get(d.name)) else d for d in spec.tree.declarations
    )
    back = pipeline.load_text(format_file(replace(spec.tree, declarations=again, comments=()))).machines
    assert any(states.values())
    for one, other in zip(spec.machines, back, strict=True):
        assert one == other


@pytest.mark.parametrize("name", ["attention", pytest.param("attention_causal", marks=pytest.mark.sampled)])
def test_attention_goes_through_its_keys_once(name: str) -> None:
    (op,) = (o for o in loaded("attention_cpu").spec.ops if o.family == name)
    spec = pipeline.load_text(text_of(op))
    said = machine_for(spec, spec.spec.op(name), device="cpu")
    assert f"theorem {name}_64_256_padded : {name} == {name}_64_256" in said and "online m, s, yp over jo" in said


def test_what_is_divided_by_one_number_a_row_is_multiplied_by_its_inverse() -> None:
    op = pipeline.load_text(SOFTMAX).spec.op("softmax")
    beside = with_inverses(op)
    assert beside is not None and "inverse[r] = 1 / s[r]" in format_file(tree.File(beside))
    state = next(s for s in first(op, "cpu") if s.via == "softmax_by_inverses_are_the_same")
    (machine,) = pipeline.load_text(f"{text_of(op)}\n{state.text('m')}").machines
    assert isinstance(pipeline.check(machine), pipeline.Proof)
    assert [t.name for t in side(op, beside, state.via).intermediates] == ["m", "s", "inverse"]
    assert with_inverses(ops("matmul")["matmul"]) is None and with_inverses(ops("elementwise")["axpby"]) is None


def test_a_sum_that_chooses_where_it_goes_is_a_program() -> None:
    for stem, name in (("histogram", "histogram_bytes"), ("embedding", "scatter_add")):
        spec = loaded(stem)
        assert "atomic" in machine_for(spec, spec.spec.op(name))
    assert found_in(ops("theorems")["attention"].equations[0]) is None
    with_bias = "op f(x: i32[n]) -> (h: i32[B]) where B <= 1000 { h[b] = sum[i] (1 if x[i] == i32(b) else 2) }"
    assert found_in(pipeline.load_text(with_bias).spec.ops[0].equations[0]) is None


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("op", "device", "says"),
    [
        ("matmul_half", "sm_80", "use mma_m16n8k16"),
        ("matmul_half", "sm_90", "use wgmma_m64n128k16_n"),
        ("tt", "sm_90a", "use wgmma_m64n128k16_m"),
        ("scaled", "sm_80", "use mma_m16n8k32"),
        ("scaled_float8", "sm_120", "use mma_m16n8k32"),
        ("matmul_f64", "sm_80", "use mma_m8n8k4"),
        ("matmul_half", "sm_75", "block = (it: 16, jt: 16)"),
        ("matmul_half", "cpu", "stage B[k, j] at ko in core"),
    ],
)
def test_a_device_has_machines_of_its_own(op: str, device: str, says: str) -> None:
    spec = loaded("tensor_cores")
    assert says in machine_for(spec, next(o for o in spec.spec.ops if o.family == op), device=device)


@pytest.mark.parametrize(
    "stem",
    [*FEW, *(pytest.param(n, marks=pytest.mark.sampled) for n in ("theorems", "gradients", "norm_cpu", "parts", "views", "rows"))],
)
def test_what_rules_make_is_proved(stem: str) -> None:
    spec = loaded(stem)
    hard = {"attention_split", "prefixes_of_chunks"}  # which are the other sides of theorems, cut as a machine is
    for name, op in ops(stem).items():
        if name not in hard:
            assert "machine" in machine_for(spec, op)


def test_rows_go_together_and_products_alone() -> None:
    spec = pipeline.load_text(SOFTMAX).spec
    assert [g.names for g in groups(spec.op("softmax"))] == [("m", "s", "y")]
    theorems = ops("theorems")
    assert [g.names for g in groups(theorems["attention"])] == [("z",), ("m", "s"), ("p", "o")]
    assert [g.names for g in groups(theorems["rmsnorm_product"])] == [("ms",), ("t", "y")]


@pytest.mark.parametrize(
    ("stem", "name", "fetched"),
    [("norm", "layernorm", ["x"]), ("norm", "mean_variance", []), ("gradients", "softmax_grad", ["y", "dy"]), ("relu", "relu", [])],
)
def test_a_core_fetches_the_rows_that_it_reads_again_and_writes_along(stem: str, name: str, fetched: list[str]) -> None:
    """Of a row that is read once, or by sums alone, a processor fetches by itself what comes next."""
    from tinygpu.emit.module import surprises

    op = ops(stem)[name]
    state = next(iter(first(op, "cpu")))
    assert [c.tensor for n in state.nests for c in n.said if isinstance(c, tree.Prefetch)] == fetched
    (machine,) = pipeline.load_text(f"{text_of(op)}\n{state.text('m')}").spec.machines
    proof = pipeline.check(machine)
    assert isinstance(proof, pipeline.Proof) and not surprises(pipeline.built(proof, machine))


def test_a_file_without_machines_is_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "softmax.tgpu"
    path.write_text(SOFTMAX)
    assert main(["run", str(path), "R=9", "N=40"]) == 0
    said = capsys.readouterr().out
    assert "made by rules" in said and "proved   softmax_machine" in said and "agrees" in said
    assert main(["new", str(path), "--for", "softmax"]) == 0 and main(["check", str(path)]) == 0
    assert "machine softmax_machine : softmax {" in path.read_text() and path.read_text().startswith(SOFTMAX)
    assert with_machines(pipeline.load(path))[1] == ""


def test_what_no_rule_serves_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = loaded("steps")
    with pytest.raises(TinygpuError, match="no machine that rules make of orbit") as found:
        machine_for(spec, spec.spec.op("orbit"))
    assert found.value.diagnostics[0].code == "TG912"
    path = tmp_path / "softmax.tgpu"
    path.write_text(SOFTMAX)
    assert main(["new", str(path), "--for", "softmin"]) == 2
    assert "did you mean softmax?" in capsys.readouterr().err


def test_a_machine_in_the_words_of_other_schedulers(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(ROOT / "specs" / "matmul_shared.tgpu"), "matmul_64x64", "--view"]) == 0
    words = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines() if not line.startswith("staged"))
    assert words == {
        "global": "by: ceil(M / 64), bx: ceil(N / 64)",
        "local": "ty: 16, tx: 16",
        "reduce": "ko: ceil(K / 16), ki: 16",
        "upcast": "ri: 4, rj: 4",
    }
