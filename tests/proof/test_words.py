"""Messages have the names of the spec, and what did not meet is shown.

Comes in: what is refuted and what stays open. Goes out: texts in which no name of the checker's stands. The one idea: such names are told by their form,
so every message is searched for them.
"""

from __future__ import annotations

import pytest

from tests.comments import wrongs
from tests.conftest import ROOT
from tests.program.library import loaded, program
from tinygpu.category.term import TRUE, Axis, Fold, Read, Var
from tinygpu.commands.beside import reasons
from tinygpu.commands.judged import judge
from tinygpu.model.op import Op
from tinygpu.obligations.obligation import Gap
from tinygpu.pipeline import load_text
from tinygpu.pipeline import program as derived
from tinygpu.proof import check
from tinygpu.proof.kernel import Proof, prove
from tinygpu.proof.why import why
from tinygpu.proof.words import INTERNAL, spoken

OPEN = ROOT / "tests" / "obligations" / "open"
UNKNOWN = {p.stem: p.read_text(encoding="utf-8") for p in sorted((ROOT / "tests" / "meaning" / "undecided").glob("*.tgpu"))}
UNKNOWN |= {f"{p.stem} {w.title}": w.text for p in sorted(OPEN.glob("*.tgpu")) for w in wrongs(p) if w.title != "hundreds"}
SAID = [*(ROOT / "tests" / "wrong").glob("*.txt"), *(ROOT / "tests" / "golden" / "report").glob("refuted.[ch]*.txt")]
SUM = Fold("sum", (Axis("-1.0.0", Var("K")),), TRUE, Read("x", (Var("-1.0.0"),), "f32"), "f32")


def test_messages_that_are_kept_have_no_name_of_the_checker() -> None:
    assert len(SAID) > 100
    found = {path.name: INTERNAL.search(path.read_text(encoding="utf-8")) for path in SAID}
    assert not {name: one[0] for name, one in found.items() if one}


@pytest.mark.parametrize("text", UNKNOWN.values(), ids=UNKNOWN)
def test_nor_have_those_of_what_is_open(text: str) -> None:
    one = program(text)
    left = prove(one)
    assert not isinstance(left, Proof)
    diagnostics = [check._unknown(one, o) for o in left]
    said = [t for d in diagnostics for t in (d.title, *d.notes, *d.helps)] + [*why(one, left)]
    assert not [t for t in said if INTERNAL.search(t)]


def test_nor_has_what_was_proved() -> None:
    machines = loaded("scan").machines
    one = judge("scan.tgpu", next(m for m in machines if m.name == "scan_three"))
    lines = reasons(one, "all")
    assert len(lines) > 100 and not [line for line in lines if INTERNAL.search(line)]


@pytest.mark.parametrize(
    ("said", "spec"),
    [
        ("the value is number 2.0", "the value is sum[k < K] x[k]"),
        ("fold 2.0 + 1 is number 2.0", "(sum[k < K] x[k]) + 1 is sum[k < K] x[k]"),
        ("every term of sum[4.0.0 < n] y[4.0.0] is read", "every term of sum[k < n] y[k] is read"),
        ("k*2 + sum[4.0.0 < n] y[4.0.0]", "k*2 + sum[j < n] y[j]"),
        ("acc@1 in![g, t] and acc? and acc@12![t]", "acc[g, t] and acc and acc[t]"),
        ("out of `x[1.5]`, 2.0.1 and x~", "out of `x[1.5]`, k and x'"),
        ("x made 0.1[i] + large 3![i]", "x[i] + (…)"),
        ("why? s[i] != 2! x[i, 0.5] is.", "why? s[i] != 2! x[i, 0.5] is."),
    ],
)
def test_words(said: str, spec: str) -> None:
    claim = Gap("body", "TG502", "", "", meant=(("fold 2.0", SUM),))
    assert spoken(said, claim, Op("o", ("K",), (), (), (), ())) == spec


PLACE = (
    "op look(x: f32[R, N], W: f32[N]) -> (y: f32[R]) where N >= 1 {{\n  k[r] = argmax[j] x[r, j]\n  y[r] = {}\n}}\n"
    "machine m : look {{ work grid = (g), block = (t: 128)\n compute r = (g, t)\n time j }}"
)


def test_a_place_that_may_be_none_is_spoken_of_by_its_name_and_the_help_is_right() -> None:
    (machine,) = load_text(PLACE.format("W[k[r]]")).machines
    left = prove(derived(machine))
    assert not isinstance(left, Proof)
    (found, *_) = [check._unknown(derived(machine), o) for o in left if o.claim.code == "TG203"]
    assert "W[k[r]]" in found.title and "where N <= 2147483647" in found.helps[0]
    assert isinstance(prove(program(PLACE.format("W[k[r]]").replace("N >= 1", "N >= 1, N <= 2147483647"))), Proof)
