"""`tinygpu rewrite`: what is printed is a spec whose theorems are proved, and nothing else is written.

Comes in: small ops, right ones and such as no law speaks of. Goes out: exit codes, texts, messages. The one idea: what was found goes through `check` as anybody's text does.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., tuple[int, str, str]]
TEXT = """op scaled(x: f32[R, N], g: f32[R]) -> (y: f32[R]) {
  y[r] = sum[j] x[r, j] * g[r]
}

op soft(x: f32[R, N]) -> (y: f32[R, N]) where N >= 1 {
  m[r]    = max[j] x[r, j]
  s[r]    = sum[j] exp(x[r, j] - m[r])
  y[r, j] = exp(x[r, j] - m[r]) / s[r]
}

op counts(k: i32[N]) -> (y: i32[]) {
  y[] = sum[j] k[j] * 2
}

op going(x: f32[T], c: f32) -> (y: f32[T]) {
  h[0]     = f32(0)
  h[t + 1] = h[t] * c + x[t]
  y[t]     = h[t + 1]
}
"""


@pytest.fixture(autouse=True)
def spec(run: Run) -> None:
    Path("a.tgpu").write_text(TEXT)


def test_what_is_found_is_written_and_checked(run: Run) -> None:
    code, out, _ = run("rewrite", "a.tgpu", "scaled", "soft", "-o", "found.tgpu")
    assert code == 0 and "theorem scaled_found : scaled == scaled_found" in out and "monoid soft_found_fold" in out
    assert Path("found.tgpu").read_text().startswith(TEXT)
    assert run("check", "found.tgpu")[0] == 0 and run("fmt", "--check", "found.tgpu")[0] == 0
    assert (
        run("rewrite", "found.tgpu", "scaled_found")[1]
        == "# scaled_found at R = 1024, N = 1024: nothing that the laws reach is cheaper\n"
    )


def test_as_data(run: Run) -> None:
    code, out, _ = run("rewrite", "a.tgpu", "scaled", "--at", "N=8", "R=4", "--output-format", "json")
    (row,) = json.loads(out)["ops"]
    assert code == 0 and row["proved"] and row["sizes"] == {"R": 4, "N": 8}
    assert (row["before"]["operations"], row["after"]["operations"]) == (64, 36)


def test_what_no_law_speaks_of_is_unknown_and_the_rest_is_found(run: Run) -> None:
    code, out, err = run("rewrite", "a.tgpu")
    assert code == 3 and err.count("TG566 counts is not rewritten") == err.count("TG566 going is not rewritten") == 1
    assert "scaled_found" in out and "# counts at N = 1024: not rewritten" in out


@pytest.mark.parametrize(
    "arguments",
    [
        ["a.tgpu", "other"],
        ["a.tgpu", "--at", "X=3"],
        ["a.tgpu", "--at", "3"],
        ["b.tgpu"],
        ["a.tgpu", "-o", "a.tgpu/x"],
        [],
    ],
)
def test_bad_input(run: Run, arguments: list[str]) -> None:
    assert run("rewrite", *arguments)[0] == 2
