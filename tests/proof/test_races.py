"""Counterexamples about threads that meet: both of them, what is missing between, and where a barrier would do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.program.cooperation_texts import TEXTS
from tests.simulate.test_simulate_races import one_block
from tests.simulate.test_simulate_together import program
from tinygpu import pipeline
from tinygpu.diagnostic import Diagnostic
from tinygpu.program.step import For, Program, Step, Sync
from tinygpu.proof import check as check_module
from tinygpu.proof import counterexample
from tinygpu.proof.check import Refutation, Unknown, check
from tinygpu.proof.kernel import Proof, Result, moot, prove
from tinygpu.proof.rows import by_hand


def refuted(made: Program) -> Diagnostic:
    verdict = check(made)
    assert isinstance(verdict, Refutation)
    return verdict.diagnostic


def cut(name: str, old: str, new: str) -> Program:
    assert old in TEXTS[name]
    return program(TEXTS[name].replace(old, new))


MISSING = {  # the program without one barrier: what both threads do, what is missing, what helps
    "ring": (
        cut("ring_difference", "    barrier\n", ""),
        ("line 10 writes s[1]", "line 11 reads s[1]"),
        "no barrier between line 10 and line 11",
        "a barrier after line 10 would do",
    ),
    "transpose": (
        cut("transpose_padded", "    barrier\n", ""),
        ("line 8 writes s[1, 0]", "line 11 reads s[1, 0]"),
        "no barrier between line 8 and line 11",
        "a barrier after the loop over h (line 7) would do",
    ),
    "before the readers": (
        cut("matmul_tiled", "else 0\n      barrier", "else 0"),
        ("line 11 writes a[0, 0]", "line 13 reads a[0, 0]"),
        "no barrier between line 11 and line 13",
        "a barrier before the loop over ki (line 13) would do",
    ),
    "after the readers": (
        cut("matmul_tiled", "< K }\n      barrier", "< K }"),
        ("line 14 reads a[0, 0]", "line 11 writes a[0, 0]"),
        "no barrier between line 14 and line 11 when ko goes from 0 to 1",
        "a barrier after the loop over ki (line 14) would do",
    ),
    "inside the tree": (
        cut("total_block", "if t < d\n      barrier", "if t < d"),
        ("line 13 writes p[64]", "line 13 reads p[64]"),
        "no barrier between line 13 and its next turn",
        "a barrier after line 13 would do",
    ),
}


@pytest.mark.parametrize("name", MISSING)
def test_both_threads_the_missing_edge_and_what_would_do(name: str) -> None:
    made, steps, note, help = MISSING[name]
    found = refuted(made)
    assert found.code == "TG302" and found.case is not None and len(found.labels) in (1, 2)
    rows = dict(found.case.rows)
    assert rows["step"] == steps and rows["thread"][0] != rows["thread"][1]
    assert found.notes[0] == note and found.helps == (help,)


def test_what_one_barrier_does_not_mend_has_the_claims_own_help() -> None:
    both = TEXTS["matmul_tiled"].replace("else 0\n      barrier", "else 0").replace("< K }\n      barrier", "< K }")
    found = refuted(program(both))
    assert found.code == "TG302" and found.helps and "would do" not in found.helps[0]
    one_step = refuted(one_block("p[t // 2] = 1"))
    assert (
        one_step.code == "TG302" and one_step.notes[0] == "line 10 is one step for both threads: nothing orders what they do in it"
    )
    assert "would do" not in "".join(one_step.helps)
    assert refuted(one_block("p[t // 2] += 1")).helps == (
        "write `atomic` before the update: updates of one kind may meet, in any order",
    )


def test_a_race_is_shown_before_anything_else_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bool] = []
    whole = check_module.prove

    def counted(made: Program, budget: int, hasty: bool = False) -> Result:
        asked.append(hasty)
        return whole(made, budget, hasty)

    monkeypatch.setattr(check_module, "prove", counted)
    made = MISSING["before the readers"][0]
    assert refuted(made).code == "TG302" and asked == [True]
    left = prove(made, hasty=True)
    assert not isinstance(left, Proof) and moot(left[-1]) and sum(map(moot, left)) == 1
    monkeypatch.setattr(counterexample, "misbehaviour", lambda *_, **__: None)  # nothing misbehaves: then everything is asked
    asked.clear()
    verdict = check(made)
    assert isinstance(verdict, Unknown) and asked == [True, False]


def test_an_array_of_several_components_has_its_own_name() -> None:
    """What is run has a cell for each component, which nobody has written in a text."""
    monoid = "monoid both(a: f32, b: f32) { unit (0, 0)\n lift (x) = (x, x)\n combine (p, q) = (p.a + q.a, p.b + q.b) }"
    op = "op o(x: f32[64]) -> (y: f32[64]) { y[i] = x[i] }"
    body = """
      shared p: both[2]
      p[t // 32] = both(x[t], x[t])
      barrier
      y[t] = p[t // 32].a
    """
    made = program(f"{monoid}\n{op}\nmachine m : o {{ work grid = (), block = (t: 64)\n program {{ {body} }} }}")
    found = refuted(made)
    assert found.code == "TG302" and found.title == "two threads write one cell of p"
    assert found.case is not None and dict(found.case.rows)["step"][0].endswith("writes p[0]")


@pytest.mark.parametrize(
    ("made", "code", "rows"),
    [
        (one_block("if t < 40 { barrier }"), "TG303", {"comes", "does not", "step"}),
        (one_block("a[] = 0\na[] = shuffle_xor(a[], 1) if t % 32 < 7"), "TG303", {"comes", "does not"}),
        (cut("total_two", "part[g] = a[] if t < 1", "part[g] = a[] if t < 1\n a[] = part[g]"), "TG305", {"thread", "step"}),
        (cut("histogram_atomic", "atomic h[x[g*256", "h[0] = 0 if g*256 + t < 1\n atomic h[x[g*256"), "TG306", set()),
        (cut("histogram_atomic", "atomic h[", "h["), "TG202", {"thread", "element"}),
    ],
)
def test_other_ways(made: Program, code: str, rows: set[str]) -> None:
    found = refuted(made)
    assert found.code == code and found.case is not None
    assert rows <= {name for name, _ in found.case.rows}


def without_barriers(body: tuple[Step, ...]) -> tuple[Step, ...]:
    kept = (s for s in body if not isinstance(s, Sync))
    return tuple(replace(s, body=without_barriers(s.body)) if isinstance(s, For) else s for s in kept)


def test_steps_of_a_derived_program_are_shown_themselves() -> None:
    made = next(
        p
        for p in map(pipeline.program, pipeline.load("specs/transpose.tgpu").machines)
        if any(isinstance(s, Sync) for s in p.launches[0].body)
    )
    bare = replace(made, launches=tuple(replace(one, body=without_barriers(one.body)) for one in made.launches))
    assert not by_hand(bare) and by_hand(MISSING["ring"][0])
    found = refuted(bare)
    assert found.code == "TG302" and found.case is not None and "line" not in found.notes[0]
    note = found.notes[0].split("\n")
    assert len(note) == 3 and note[1].startswith("`x_tile[") and "= x_tile[" in note[2]
    assert [value.split()[0] for value in dict(found.case.rows)["step"]] == ["writes", "reads"]
    assert found.helps and found.helps[0].startswith("a barrier after ")
