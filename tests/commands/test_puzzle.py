"""`tinygpu puzzle` in a folder: what it writes, lists and says."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tinygpu.puzzles.puzzle import puzzles

Run = Callable[..., tuple[int, str, str]]


def test_a_puzzle_from_the_list_to_the_next_one(run: Run) -> None:
    code, out, _ = run("puzzle")
    assert code == 0 and all(one.title in out for one in puzzles()) and "solved" not in out
    assert run("puzzle", "1") == (0, "puzzle_1.tgpu: one thread too many. Edit it; then tinygpu puzzle 1 check\n", "")
    code, out, _ = run("puzzle")
    assert "begun: TG203" in out
    assert run("puzzle", "1", "check")[0] == 1
    assert run("puzzle", "1")[0] == 2  # what somebody wrote is not overwritten
    assert "guard" in run("puzzle", "1", "--hint")[1]
    Path("puzzle_1.tgpu").write_text(run("puzzle", "1", "--solution")[1])
    code, out, _ = run("puzzle", "1", "check")
    assert code == 0 and out.startswith("solved   puzzle 1") and out.endswith("Next: tinygpu puzzle 2\n")
    assert "solved" in run("puzzle")[1]


@pytest.mark.sampled(3)
def test_an_answer_may_lie_in_any_file(run: Run) -> None:
    Path("mine.tgpu").write_text(puzzles()[3].answer)
    assert run("puzzle", "check", "mine.tgpu")[0] == 0
    assert json.loads(run("puzzle", "check", "mine.tgpu", "--output-format", "json")[1])["solved"] is True
    Path("mine.tgpu").write_text(puzzles()[3].text)
    assert json.loads(run("puzzle", "check", "mine.tgpu", "--output-format", "json")[1])["diagnostics"][0]["code"] == "TG956"
    code, _, err = run("puzzle", "check", "mine.tgpu")
    assert code == 2 and "TG956" in err and "tinygpu puzzle 4 --hint" in err
    Path("mine.tgpu").write_text(puzzles()[7].text)
    assert run("puzzle", "check", "mine.tgpu")[0] == 3


def test_odd_input_gets_a_message(run: Run) -> None:
    for words in (["0"], ["11"], ["x"], ["1", "2"], ["--hint"], ["check", "good.tgpu"], ["-1"]):
        code, _, err = run("puzzle", *words)
        assert code == 2 and ("TG953" in err or "usage" in err), words
    assert "TG902" in run("puzzle", "check", "nowhere.tgpu")[2]
    assert "TG902" in run("puzzle", "2", "check")[2]
    Path("puzzle_2.tgpu").write_text("op (")
    code, out, _ = run("puzzle")
    assert code == 0 and "begun: TG0" in out
    Path("puzzle_2.tgpu").write_text(puzzles()[0].answer)
    assert "TG954" in run("puzzle", "2", "check")[2]
    assert "TG955" in run("puzzle", "check", str(_other_op()))[2]


def _other_op() -> Path:
    path = Path("other.tgpu")
    path.write_text(
        puzzles()[0].answer.replace("max(x[i], 0)", "min(x[i], 0)").replace("max(x[g*256 + t], 0)", "min(x[g*256 + t], 0)")
    )
    return path
