"""`tinygpu replay`: what is right is proved again; what was changed, left out, or is of another program is not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tinygpu.category.smtlib import name_of
from tinygpu.obligations import claims_of
from tinygpu.pipeline import load_text, program
from tinygpu.proof.certificate import Certificate, Entry, formula, read
from tinygpu.record import replace

FILE = Path("proofs/good/scale_m.json")
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def certified(run: Run) -> None:
    assert run("check", "good.tgpu", "--certify", "proofs", "--smt2")[0] == 0


def changed(change: Callable[[Certificate], Certificate]) -> None:
    """Write the certificate again, with hashes that agree."""
    FILE.write_text(change(read(FILE.read_text())).text())


def about(text: str) -> tuple[Entry, ...]:
    """Entries that say that every obligation of a program was proved."""
    claims = claims_of(program(load_text(text).machines[0]))
    return tuple(Entry(c.kind, c.code, getattr(c, "sentence", ""), name_of(formula(c)), "z3") for c in claims)


def test_runs_say_at_how_many_sizes_they_agree(run: Run) -> None:
    code, out, _ = run("replay", "good.tgpu", "--output-format", "json")
    (row,) = json.loads(out)["machines"]
    assert code == 0 and row["runs"]["count"] >= row["runs"]["sizes"] > 5 and row["runs"]["differs"] is False
    assert {o["proved_by"] for o in row["obligations"]} <= {"both", "z3"} and row["certificate"] == "valid"


def test_an_obligation_that_was_left_out_is_missed(run: Run) -> None:
    changed(lambda c: replace(c, obligations=tuple(e for e in c.obligations if e.kind != "bounds")))
    code, out, err = run("replay", "proofs", "--quick")
    assert code == 1 and out.startswith("invalid") and "TG910" in err and "the program needs bounds (TG203)" in err


@pytest.mark.parametrize(
    ("change", "says"),
    [(lambda e: e + e[:1], "or once too often"), (lambda e: e[::-1], "are in another order")],
    ids=["twice", "order"],
)
def test_obligations_are_listed_once_and_in_order(run: Run, change: Callable[..., tuple[Entry, ...]], says: str) -> None:
    changed(lambda c: replace(c, obligations=change(c.obligations)))
    code, out, err = run("replay", "proofs", "--quick")
    assert code == 1 and out.startswith("invalid") and "TG910" in err and says in err


def test_a_wrong_program_is_not_proved_again_whatever_its_certificate_says(run: Run) -> None:
    wrong = read(FILE.read_text()).program.replace("if g*64 + t < n", "if g*64 + t <= n")
    changed(lambda c: replace(c, program=wrong, obligations=about(wrong)))
    code, _, err = run("replay", "proofs", "--quick")
    assert code == 1 and "TG911" in err and "a solver has a counterexample to bounds (TG203) of scale_m" in err
    code, _, err = run("replay", "good.tgpu", "--quick")
    assert code == 1 and "certificate of another program" in err


def test_the_formulas_are_files_named_by_their_hashes() -> None:
    listed = {e.formula for e in read(FILE.read_text()).obligations}
    files = {p.stem: p.read_text() for p in Path("proofs/smt2").glob("*.smt2")}
    assert set(files) == listed and all(name_of(text) == name for name, text in files.items())


def test_parts_are_all_of_the_files_and_each_once(run: Run) -> None:
    for name in ("a", "b", "c"):
        Path(f"proofs/good/{name}.json").write_text(FILE.read_text())
    counts = [
        len(json.loads(run("replay", "proofs", "--quick", "--shard", f"{k}/3", "--output-format", "json")[1])["machines"])
        for k in (1, 2, 3)
    ]
    assert sorted(counts) == [1, 1, 2]


@pytest.mark.parametrize("text", ["0/3", "4/3", "3", "a/b"])
def test_a_part_is_one_of_several(run: Run, text: str) -> None:
    code, _, err = run("replay", "proofs", "--shard", text)
    assert code == 2 and f"invalid shard value: '{text}'" in err
