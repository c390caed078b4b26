"""Values that grow as powers of two are not followed for ever: the verdict is unknown, soon, and says why."""

from __future__ import annotations

from tests.obligations.texts import program
from tinygpu.proof.check import Unknown, check
from tinygpu.proof.kernel import Proof

TREE = """local p: f32[8]
for u < 8 in register { p[u] = x[ROW, u] }
for d in (4, 2, 1) { for u < 4 in register { p[u] += p[u + d] if u < d } }
s[ROW] = p[0]"""


def test_a_tree_of_conditional_sums() -> None:
    """Its conditions decide each other, so it stays small."""
    made = program("op tree(x: f32[R, 8]) -> (s: f32[R]) { s[r] = sum[j] x[r, j] }", TREE)
    assert isinstance(check(made), Proof)


def test_a_mean_of_thousands() -> None:
    big = "local p: f32[]\np[] = x[ROW]\n" + "p[] = p[]*0.5 + p[]*0.5\n" * 13 + "s[ROW] = p[]"
    verdict = check(program("op copy(x: f32[R]) -> (s: f32[R]) { s[r] = x[r] }", big))
    assert isinstance(verdict, Unknown)
    assert verdict.diagnostics[0].code == "TG501" and "too large" in verdict.diagnostics[0].title
