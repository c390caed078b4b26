"""The library of theorems, and what a theorem says of itself.

Comes in: `specs/theorems.tgpu`, and small pairs. Goes out: verdicts, counts of laws, refusals. The one idea: a theorem is proved by the laws alone, and nobody but them makes an equation.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.program.library import loaded
from tinygpu.algebra.laws import Equal, same, then
from tinygpu.algebra.lemma import Meaning
from tinygpu.algebra.normal import normal
from tinygpu.algebra.polynomial import Unfollowed
from tinygpu.algebra.theorem import Missing, Proved, prove
from tinygpu.algebra.verdict import judged
from tinygpu.category.term import App, Axis, Const, Fold, Read, Term, Var, text
from tinygpu.cli import main
from tinygpu.diagnostic import Diagnostic
from tinygpu.pipeline import load_text

LIBRARY = loaded("theorems").spec
K = Axis("k", Var("n"))
X, Y = (Read(name, (Var("k"),), "f32") for name in "xy")


@pytest.mark.sampled(5)
@pytest.mark.parametrize("name", [t.name for t in LIBRARY.theorems])
def test_the_library_is_proved(name: str) -> None:
    (theorem,) = (t for t in LIBRARY.theorems if t.name == name)
    found = judged(theorem)
    assert isinstance(found, Proved) and found.steps > 0


@pytest.mark.parametrize("name", [lemma.name for lemma in LIBRARY.lemmas])
def test_its_lemmas_are_proved(name: str) -> None:
    (lemma,) = (one for one in LIBRARY.lemmas if one.name == name)
    assert isinstance(judged(lemma), Meaning)


def test_flash_attention_is_found_by_its_laws() -> None:
    (flash,) = (t for t in LIBRARY.theorems if t.name == "flash")
    found = prove(flash)
    assert isinstance(found, Proved) and {"meant", "gathered", "hoisted", "shifted"} - dict(found.laws).keys() == {"shifted"}


def test_without_its_lemma_a_fold_is_not_looked_into() -> None:
    from tinygpu.record import replace

    (flash,) = (t for t in LIBRARY.theorems if t.name == "flash")
    found = prove(replace(flash, lemmas=()))
    assert isinstance(found, Missing) and "no lemma says" in found.reason


def test_nobody_else_makes_an_equation() -> None:
    with pytest.raises(TypeError):
        Equal(X, Y, frozenset(), ())
    with pytest.raises(ValueError, match="is not"):
        then(same(X), same(Y))


@pytest.mark.parametrize(
    ("value", "form"),
    [
        (
            Fold("sum", (K,), Const(True, "bool"), App("add", (X, Y), "f32"), "f32"),
            "sum[#1.0 < n] x[#1.0] + sum[#1.0 < n] y[#1.0]",
        ),
        (Fold("sum", (K,), Var("k") < 3, X, "f32"), "sum[#1.0 < n] (1 if 0 <= 2 - #1.0 else 0)*x[#1.0]"),
        (App("div", (X, X), "f32"), "1"),
        (App("exp", (App("log", (App("exp", (X,), "f32"),), "f32"),), "f32"), "exp(x[k])"),
        (
            Fold("max", (K,), Const(True, "bool"), App("add", (X, Read("c", (), "f32")), "f32"), "f32"),
            "c + max[#1.0 < n] x[#1.0]",
        ),
    ],
)
def test_normal_forms(value: Term, form: str) -> None:
    assert text(normal(value).right) == form


@pytest.mark.parametrize("value", [App("add", (Read("x", (), "i32"), Read("y", (), "i32")), "i32"), Const(float("inf"), "f32")])
def test_what_is_no_number_of_the_reals_is_not_followed(value: Term) -> None:
    with pytest.raises(Unfollowed):
        normal(App("add", (value, X), "f32"))


def test_a_name_does_not_decide_what_is_equal() -> None:
    one, other = (
        load_text(
            f"op a(A: f32[n, n]) -> (s: f32[]) {{\n  t[{i}] = sum[{j} <= {i}] A[{i}, {j}]\n  s[] = sum[{i}] t[{i}]\n}}"
        ).spec.ops[0]
        for i, j in ("ij", "ba")
    )
    forms = [normal(op.equation("t").at((Var("w"),))).right for op in (one, other)]
    assert forms[0] == forms[1]


@pytest.mark.parametrize(("shape", "at"), [("[n]", "i"), ("[]", "")])
def test_what_cancels_is_no_difference(shape: str, at: str) -> None:
    text = f"op a(x: f32{shape}) -> (y: f32{shape}) {{ y[{at}] = (x[{at}] + 1e12) - 1e12 }}\nop b(x: f32{shape}) -> (y: f32{shape}) {{ y[{at}] = x[{at}] }}\ntheorem same : a == b\n"
    assert isinstance(judged(load_text(text).spec.theorems[0]), Proved)
    other = judged(load_text(text.replace(f"= x[{at}] }}", f"= x[{at}] * 1.001 }}")).spec.theorems[0])
    assert isinstance(other, Diagnostic) and other.verdict == "refuted"


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("x[i] * 1000", "log(exp(x[i] * 1000))"),
        ("exp(0 - 1 / x[i])", "exp(0 - 1 / x[i]) * (x[i] / x[i])"),
        ("x[i] / log(max[j < n] f32(j))", "x[i] / log(max[j < n] f32(j)) * ((max[j < n] f32(j)) / (max[j < n] f32(j)))"),
    ],
)
def test_what_f64_has_not_and_what_has_no_value_is_no_difference(left: str, right: str) -> None:
    text = f"op a(x: f32[n]) -> (y: f32[n]) where n >= 1 {{ y[i] = {left} }}\nop b(x: f32[n]) -> (y: f32[n]) where n >= 1 {{ y[i] = {right} }}\ntheorem same : a == b\n"
    assert isinstance(judged(load_text(text).spec.theorems[0]), Proved)


def test_the_command_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = tmp_path / "same.tgpu"
    spec.write_text(
        "op a(x: f32[n]) -> (y: f32[n]) {\n  y[i] = 2 * x[i]\n}\n\nop b(x: f32[n]) -> (y: f32[n]) {\n  y[i] = x[i] + x[i]\n}\n\ntheorem same : a == b\n"
    )
    assert main(["check", str(spec)]) == 0
    assert capsys.readouterr().out.startswith("proved   same : a == b  all n  (")
    assert main(["check", str(spec), "--output-format", "json"]) == 0
    assert '"theorem": "same"' in capsys.readouterr().out
    spec.write_text(spec.read_text().replace("2 * x", "3 * x"))
    assert main(["check", str(spec)]) == 1
