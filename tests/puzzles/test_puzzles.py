"""Puzzles can be solved, and are not solved as they are given.

Comes in: the puzzles, our answers, other answers, answers that fall short. Goes out: failures. The one idea: a condition is asked of what a machine does, so other texts that do the same are right, and
what is proved and does not do it is not.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.program.library import loaded
from tinygpu.cost.measure import measure
from tinygpu.diagnostic import TinygpuError
from tinygpu.pipeline import load_text, program
from tinygpu.puzzles.conditions import CONDITIONS, unmet
from tinygpu.puzzles.judge import left, numbered, puzzle_of
from tinygpu.puzzles.puzzle import Puzzle, Want, puzzles

ROOT = Path(__file__).resolve().parents[2]


def codes(puzzle: Puzzle, text: str) -> list[str]:
    """What is said of an answer."""
    try:
        return [d.code for d in left(puzzle, load_text(text, puzzle.file))]
    except TinygpuError as error:
        return [d.code for d in error.diagnostics]


def named(one: Puzzle) -> str:
    return str(one.number)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("one", puzzles(), ids=named)
def test_our_answer_is_right_and_the_puzzle_as_given_is_not(one: Puzzle) -> None:
    assert codes(one, one.answer) == []
    assert codes(one, one.text) != []
    assert puzzle_of(load_text(one.text)) == puzzle_of(load_text(one.answer)) == one


@pytest.mark.parametrize("one", puzzles(), ids=named)
def test_a_puzzle_says_what_is_wanted_and_which_it_is(one: Puzzle) -> None:
    assert one.text.startswith(f"# Puzzle {one.number}: {one.title}\n") and f"# Wanted: {one.target}" in one.text
    assert one.hints and one.word and not any(one.answer.splitlines()[-2].strip() in hint for hint in one.hints)


def test_every_condition_is_wanted_somewhere() -> None:
    assert {want.what for one in puzzles() for want in one.wants} == CONDITIONS.keys()


_COPIED = (  # the tiles come from a copy in a workspace, and each thread fetches all of it
    "machine matmul_tiled : matmul {",
    """machine matmul_tiled : matmul {
  program {
    workspace a: f32[M, K]
    launch (grid = (r: M, c: ceil(K / 256)), block = (u: 256)) { a[r, c*256 + u] = A[r, c*256 + u] if c*256 + u < K }
    launch (grid = (i: M, g: ceil(N / 256)), block = (t: 256)) {
      local s: f32[]
      s[] = 0
      for k < K { s[] += a[i, k] * B[k, g*256 + t] if g*256 + t < N }
      C[i, g*256 + t] = s[] if g*256 + t < N
    }
  }
}

machine other : matmul {""",
)
OTHER = [  # texts that put something else in the place of a part of our answer, and are right too
    (5, "layout   pad 1", "layout   swizzle"),
    (
        6,
        "tile[t] =",
        "tile[c % 2, t] =",
        "tile[255 - t]",
        "tile[c % 2, 255 - t]",
        "f32[256]",
        "f32[2, 256]",
        " < N\n      barrier",
        " < N",
    ),
    (7, "ki: 16)", "ki: 32)"),
    (8, "block = (w: 4, lane: 32)", "block = (w: 8, lane: 16)"),
    (3, "p % 2 == 0", "p % 2 == 1"),
    (10, "K <= 1024", "K <= 2000", "K > 1024", "K > 2000"),
    (2, "t*4", "4*t"),
]
SHORT = [  # the same, and something is wanted yet
    (1, "TG955", "op relu(x: f32[n]) -> (y: f32[n]) {", "op relu(x: f32[n]) -> (y: f32[n]) where n >= 1 {"),
    (1, "TG954", "machine relu_guarded", "machine another"),
    (1, "TG956", "work grid = (g: ceil(n / 256)), block = (t: 256)", "work grid = (g: 1), block = (t: 256)", "relu {", "relu where n <= 256 {", "g*256 + t", "t"),
    (2, "TG956", "in vector", "in register"),
    (2, "TG203", " if i + v < n", ""),
    (4, "TG956", "j = (c, lane)", "j = (lane, c)"),
    (4, "TG956", "time    c", "time    c\n  reduce s over lane by shared"),
    (5, "TG956", "layout   pad 1", "layout   pad 2"),
    (6, "TG956", "barrier\n      y", "barrier\n      barrier\n      y"),
    (6, "TG302", "tile[255 - t] if c*256 + t < N\n      barrier", "tile[255 - t] if c*256 + t < N"),
    (7, "TG956", "\n  stage B[k, j] at ko in shared", ""),
    (7, "TG956", "ty: 16, tx: 16", "ty: 8, tx: 8"),
    (7, "TG956", *_COPIED),
    (9, "TG956", "wait 1", "wait 0"),
    (9, "TG310", "wait 1", "wait 2"),
    (10, "TG956", "K <= 1024", "K < 32", "K > 1024", "K >= 32"),
    (10, "TG552", "K <= 1024", "K <= 2000"),
]  # fmt: skip


def changed(text: str, *pairs: str) -> str:
    for old, new in zip(pairs[::2], pairs[1::2], strict=True):
        assert old in text, old
        text = text.replace(old, new)
    return text


@pytest.mark.parametrize(("number", "pairs"), [(n, pairs) for n, *pairs in OTHER], ids=lambda v: str(v)[:40])
def test_another_answer_is_as_good(number: int, pairs: list[str]) -> None:
    one = numbered(number)
    assert codes(one, changed(one.answer, *pairs)) == []


@pytest.mark.parametrize(("number", "code", "pairs"), [(n, c, pairs) for n, c, *pairs in SHORT], ids=lambda v: str(v)[:40])
def test_an_answer_that_falls_short_is_told_what_is_wanted(number: int, code: str, pairs: list[str]) -> None:
    one = numbered(number)
    assert code in codes(one, changed(one.answer, *pairs))


def test_launches_and_atomic_updates_are_counted() -> None:
    counted = measure(program(loaded("histogram").machines[0]), {"n": 4096, "B": 64})
    assert "2 launches" in unmet(counted, Want("launches", most=1)) and "atomic" in unmet(counted, Want("no_atomics"))
    assert unmet(counted, Want("launches", most=2)) == ""


def test_a_machine_for_a_cpu_is_no_answer() -> None:
    one = numbered(1)
    core = "machine relu_guarded : relu on cpu {\n  work    core = (g)\n  compute i = (g, s: 8)\n  simd    s\n}\n"
    assert codes(one, one.text[: one.text.index("machine relu")] + core) == ["TG956"]
