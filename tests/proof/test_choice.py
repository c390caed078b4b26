"""Choices: what is read of a text, which claims it makes, and the smallest sizes at which one is false.

Comes in: an op with two machines, and cases. Goes out: whether they are proved, or the sizes. The one idea: an evaluation at every small size says what the prover has to say.
"""

from __future__ import annotations

from itertools import product

import pytest

from tinygpu.algebra.verdict import judged
from tinygpu.diagnostic import Diagnostic, TinygpuError
from tinygpu.model.choice import Choice
from tinygpu.pipeline import believed, load_text
from tinygpu.proof.choice import Covered, agrees, cases_at, covered
from tinygpu.record import replace
from tinygpu.syntax.format import format_file
from tinygpu.syntax.parse import parse

OP = "op copy{of}(x: {T}[m, n]) -> (z: {T}[m, n]){where} {{ z[j, i] = x[j, i] }}"
MACHINES = """
param EDGE = 8
def short(k) = k <= EDGE
machine plain : copy {
  work    grid = (j, g), block = (t: 32)
  compute i = (g, t)
}
machine fours : copy where n % 4 == 0 {
  work    grid = (j, g), block = (t: 32)
  compute i = (g, t, v: 4)
  vector  v
}
machine rows : copy {
  work    grid = (j), block = (t: 32)
  compute i = (c, t)
  time    c
}
"""


def spec(*cases: str, where: str = "", of: str = "", T: str = "f32") -> str:
    lines = "".join(f"  {case}\n" for case in cases)
    return f"{OP.format(where=where, of=of, T=T)}\n{MACHINES}\nchoice best : copy {{\n{lines}}}\n"


def choice(*cases: str, where: str = "") -> Choice:
    (found,) = load_text(spec(*cases, where=where)).spec.choices
    return found


RIGHT = (
    ("plain where n <= 8", "rows where n > 8"),
    ("plain where short(n)", "rows where not short(n)"),
    ("fours", "plain where n % 4 != 0"),
    ("fours where n % 4 == 0, n > EDGE", "plain where n % 4 != 0, m < 3", "rows where n % 4 != 0 and m >= 3 or n % 4 == 0 and n <= EDGE"),
    ("plain where m*n <= 6", "rows where m*n > 6"),
    ("plain where m >= 1, n % 4 == 0, n // 4 < m", "rows where m < 1 or n % 4 != 0 or n // 4 >= m"),
    ("rows",),
)  # fmt: skip


@pytest.mark.parametrize("cases", RIGHT)
def test_cases_that_are_all_sizes_each_once(cases: tuple[str, ...]) -> None:
    found = choice(*cases)
    proof = covered(found)
    assert isinstance(proof, Covered) and not proof.dead and {c.claim.code for c in proof.claims} <= {"TG551", "TG552", "TG553"}
    tried = [*cases_at(found)]
    assert len(tried) >= 18 and all(agrees(found, point) for point in tried)


WRONG = (
    (("plain where n < 8", "rows where n > 8"), "TG551", {"n": 8}),
    (("plain where n <= 8", "rows where n >= 8"), "TG552", {"n": 8}),
    (("plain where n >= 1",), "TG551", {"n": 0}),
    (("plain where m >= 1", "rows where m == 0, n >= 1"), "TG551", {"m": 0, "n": 0}),
    (("plain where n <= 8", "fours where n > 8"), "TG553", {"n": 9}),
    (("plain where m*n <= 6", "rows where m*n > 7"), "TG551", {"m": 1, "n": 7}),
    (("fours", "rows where n % 4 == 3", "plain where n % 4 == 1 or n % 4 == 2, n > 5"), "TG551", {"n": 1}),
    (("plain where n % m == 0", "rows where n % m != 0"), "TG551", {"m": 0, "n": 1}),
    (("plain where n <= 1000000", "rows where n > 1000001"), "TG551", {"n": 1000001}),
)  # fmt: skip


@pytest.mark.parametrize(("cases", "code", "sizes"), WRONG)
def test_the_smallest_sizes_at_which_they_are_not(cases: tuple[str, ...], code: str, sizes: dict[str, int]) -> None:
    found = choice(*cases)
    message = covered(found)
    assert isinstance(message, Diagnostic) and (message.code, message.verdict) == (code, "refuted")
    assert message.case is not None and {name: int(value) for name, (value,) in message.case.rows} == sizes
    point = {"m": 1, "n": 1} | sizes
    assert not agrees(found, point)
    smaller = ({"m": a, "n": b} for a, b in product(range(1, point["m"] + 1), range(1, min(point["n"], 99) + 1)))
    assert 0 in sizes.values() or all(agrees(found, one) for one in smaller if sum(one.values()) < sum(point.values()))


def test_what_the_op_wants_is_known_of_every_call() -> None:
    assert isinstance(covered(choice("plain where n <= 8", "rows where n > 8", where=" where n >= 1, n <= 8 or m == 2")), Covered)
    assert isinstance(covered(choice("plain where n <= 8", where=" where n <= 8")), Covered)
    assert isinstance(covered(choice("plain where n <= 8", where=" where n <= 9")), Diagnostic)


def test_a_case_that_is_never_taken_is_said_and_stops_nothing() -> None:
    found = covered(choice("plain where n <= 8", "rows where n > 8", "fours where n > 8, n < 9"))
    assert isinstance(found, Covered) and [(d.code, d.verdict) for d in found.dead] == [("TG554", "warning")]


def test_what_the_budget_is_not_enough_for_is_unknown() -> None:
    message = covered(choice("plain where m*n*n*m <= 600*n", "rows where m*n*m > 599, n > 0"), 1)
    assert isinstance(message, Diagnostic) and message.verdict == "unknown" and "not enough" in message.title


def test_only_the_proof_makes_one() -> None:
    found = choice("rows")
    with pytest.raises(TypeError, match="covered alone"):
        Covered(found, ())
    assert isinstance(believed(found), Covered)


def test_of_a_family_there_is_one_for_each_dtype_and_one_statement() -> None:
    text = spec("plain where n <= 8", "rows where n > 8", of="[T in {f16, f32}]", T="T")
    found = load_text(text).spec
    assert [(c.name, c.op.name) for c in found.choices] == [("best", "copy[f16]"), ("best", "copy[f32]")]
    assert [one.name for one in found.stated] == ["best"]
    assert all(b.machine.op is c.op for c in found.choices for b in c.branches)


def test_a_text_with_a_choice_is_written_in_the_one_style_and_said_again() -> None:
    text = spec("plain where   short( n )", "rows where not short(n)  # long", where=" where n >= 1")
    assert parse(format_file(parse(text))) == parse(text) and "rows where not short(n)  # long" in format_file(parse(text))
    found = load_text(text).spec
    (one,) = found.choices
    again = load_text(one.text(found.tree)).spec
    assert again.about == one and again.about.text(again.tree) == one.text(found.tree)
    whole = f"{spec('plain', where=' where n >= 1').partition('choice')[0]}\n{one.spelled}\n"
    assert load_text(whole).spec.choices == (one,)


def test_a_choice_stands_where_its_machines_stand(tmp_path) -> None:
    (tmp_path / "one.tgpu").write_text(spec("plain where n <= 8", "rows where n > 8"))
    (tmp_path / "two.tgpu").write_text('import "one"\nchoice second : copy {\n  plain\n}\n')
    with pytest.raises(TinygpuError, match="there is no machine plain"):
        load_text((tmp_path / "two.tgpu").read_text(), str(tmp_path / "two.tgpu"))
    (tmp_path / "three.tgpu").write_text('import "one"\nop twice = copy then copy\ndef small(n) = short(n)\n')
    assert not load_text((tmp_path / "three.tgpu").read_text(), str(tmp_path / "three.tgpu")).spec.choices


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("choice best", "choice plain", "TG102"),
        (": copy {\n  plain where", ": copi {\n  plain where", "TG105"),
        ("short(n)", "short(q)", "TG101"),
        ("where short(n)", "where n + 1", "TG123"),
        ("  compute i = (g, t)\n", "  compute i = (q, t)\n", None),
    ],
)
def test_what_is_wrong_is_said_once(old: str, new: str, code: str | None) -> None:
    text = spec("plain where short(n)", "rows where not (short(n))")
    assert old in text
    with pytest.raises(TinygpuError) as error:
        load_text(text.replace(old, new, 1))
    codes = [d.code for d in error.value.diagnostics]
    assert len(codes) == 1 and code in (None, *codes) and not codes[0].startswith("TG19")


def test_a_choice_that_was_changed_is_another_one() -> None:
    one = choice("plain where n <= 8", "rows where n > 8")
    less = replace(one, branches=one.branches[:1])
    assert isinstance(judged(one), Covered) and isinstance(judged(less), Diagnostic)
