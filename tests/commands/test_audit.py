"""`tinygpu audit`: what is listed is what the machine really rests on."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.program.library import proof_of, shipped
from tinygpu.pipeline import load_text, program
from tinygpu.proof.assumed import numerics_of
from tinygpu.proof.axioms import AXIOMS, axioms
from tinygpu.proof.certificate import read
from tinygpu.proof.summary import sizes
from tinygpu.record import replace


def test_every_axiom_has_a_source() -> None:
    assert all(a.sentence and a.source for a in AXIOMS.values())


@pytest.mark.parametrize(
    ("name", "machine", "outputs"),
    [
        ("copy", "copy_scalar", "bitwise"),
        ("saxpy", "saxpy_v4", "in order"),
        ("matmul", "matmul_tile", "over the reals"),
        ("rows", "rows_thread[op=row_max]", "bitwise"),
        ("rows", "rows_thread[op=row_sum]", "over the reals"),
        ("argmax", "arg_warp[op=argmin_rows]", "bitwise"),
        ("histogram", "histogram_atomic", "bitwise"),
    ],
)
def test_what_is_bitwise_and_what_is_not(name: str, machine: str, outputs: str) -> None:
    found = numerics_of(shipped(name, machine))
    assert set(found.outputs.values()) == {outputs}
    assert ("to the bit" in found.sentence or "exact" in found.sentence) == (outputs == "bitwise")


BY_HAND = """op o(INPUTS) -> (z: f32[n]) { z[i] = EQUATION }
machine m : o {
  work grid = (g: ceil(n / 64)), block = (t: 64)
  program {
    shared s: f32[66]
    s[t + 1] = x[g*64 + t] if g*64 + t < n
    barrier
    z[g*64 + t] = (PROGRAM) if g*64 + t < n
  }
}
"""


@pytest.mark.parametrize(
    ("equation", "written", "word"),
    [
        ("a*x[i] + a*y[i]", "a*x[E] + a*y[E]", "in order"),
        ("a*x[i] + a*y[i]", "a*s[t + 1] + a*y[E]", "in order"),
        ("a*x[i] + a*y[i]", "a*(x[E] + y[E])", "over the reals"),
        ("a*x[i] + a*y[i]", "a*y[E] + a*x[E]", "over the reals"),
        ("x[i] + x[i + 1 | 0]", "x[E] + (x[E + 1] if E + 1 < n else 0)", "in order"),
        ("x[i] + x[i + 1 | 0]", "(x[E + 1] if E + 1 < n else 0) + x[E]", "over the reals"),
        ("(x[i] if i > 0 else 0) * a", "x[E] * a if E > 0 else 0", "over the reals"),
        ("x[i]", "x[E]", "bitwise"),
        ("x[i]", "s[t + 1]", "bitwise"),
        ("x[i]", "x[E]*3 / 3", "over the reals"),
        ("x[i]", "x[E] + s[t + 1] - x[E]", "over the reals"),
        ("x[i]", "f32(near_bf16(x[E]))", "over the reals"),
        ("x[i] + x[i + 1 | 0]", "f32(near_bf16(x[E])) + (x[E + 1] if E + 1 < n else 0)", "over the reals"),
    ],
)
def test_what_is_said_of_numbers_follows_from_the_program(equation: str, written: str, word: str) -> None:
    inputs = ", ".join(t for t in ("x: f32[n]", "y: f32[n]", "a: f32") if t[0] in equation)
    text = BY_HAND.replace("INPUTS", inputs).replace("EQUATION", equation).replace("PROGRAM", written.replace("E", "g*64 + t"))
    found = numerics_of(proof_of(text).program)
    assert found.outputs == {"z": word}
    assert ("as the equation is written" in found.sentence) == (word == "in order")
    assert ("as the program is written" in found.sentence) == (word == "over the reals")
    assert ("rounded to bf16 on their way" in found.sentence) == ("near" in written)


@pytest.mark.parametrize(("name", "machine"), [("saxpy", "saxpy_v4"), ("stencil_shared", "jacobi_twice_shared")])
def test_of_a_program_as_text_the_same_is_said(name: str, machine: str) -> None:
    from tinygpu.program.render import standalone

    derived = shipped(name, machine)
    (given,) = load_text(standalone(derived)).machines
    assert numerics_of(program(given)) == numerics_of(derived) and {*numerics_of(derived).outputs.values()} == {"in order"}


def test_sums_of_floats_by_atomics_and_functions_are_said() -> None:
    assert numerics_of(shipped("dot", "dot_atomic")).atomic
    assert not numerics_of(shipped("histogram", "histogram_atomic")).atomic
    assert "exp" in numerics_of(shipped("online_softmax", "attend_thread[op=attend]")).functions


@pytest.mark.parametrize("name", ["my_mma", "mma_m16n8k16"])  # also by the name of one that is shipped
def test_an_instruction_that_a_spec_declares_is_believed_and_that_is_said(name: str) -> None:
    page = (ROOT / "docs/language.md").read_text(encoding="utf-8")
    blocks = [part.partition("```")[0] for part in page.split("```tgpu\n")[1:]]
    (own,) = (block for block in blocks if block.startswith("instruction my_mma"))
    (use,) = (block for block in blocks if "machine half_warp : " in block)
    in_turn = own.replace("in (s, r, u)", "in (r, s, u)").replace("my_mma", name)  # no hardware has registers in this order
    machine = load_text(in_turn + use.replace("mma_m16n8k16", name)).machines[0]
    said = sizes(program(machine))
    assert said == f"all M, K, N, where {name} does what its declaration says"
    assert "declared instruction" in axioms(program(machine))
    shipped_one = program(load_text(use).machines[0])
    assert sizes(shipped_one) == "all M, K, N" and "declared instruction" not in axioms(shipped_one)


def test_the_ledger_as_data(run: Callable[..., tuple[int, str, str]]) -> None:
    code, out, _ = run("audit", "specs/saxpy.tgpu", "--machine", "saxpy_scalar", "--replay", "--output-format", "json")
    found = json.loads(out)
    (row,) = found["machines"]
    assert code == 0 and (row["one_solver_only"] == [] or "by z3" in row["one_solver_only"][0])
    assert row["outputs"] == {"z": "in order"} and row["run"] is True and found["trusted_by_all"]


def test_a_certificate_is_taken_at_its_word_and_that_is_said(run: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    """One that lists less than its program needs is a certificate to whoever asks nothing again."""
    whole = read((ROOT / "proofs/saxpy/saxpy_scalar.json").read_text(encoding="utf-8"))
    forged = tmp_path / "saxpy_scalar.json"
    forged.write_text(replace(whole, obligations=whole.obligations[:3]).text(), encoding="utf-8")
    code, out, _ = run("audit", str(forged))
    assert code == 0 and "as its certificate says" in out and "1 are taken from certificates at their word" in out
    code, out, err = run("audit", str(forged), "--replay")
    assert code == 3 and "the certificate of saxpy_scalar is not one of its program" in err and "at their word" not in out
