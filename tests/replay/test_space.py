"""Room, addresses, widths and alignment a second time: right programs pass, and each wrong one is open at the claim that it breaks."""

from pathlib import Path

import pytest

from tinygpu.replay import space, wide, width
from tinygpu.replay.ir import Inhabited, Num, Open, Var
from tinygpu.replay.program import Array
from tinygpu.replay.read import Unread, read
from tinygpu.replay.smt import text
from tinygpu.replay.solve import answer

TESTS = Path(__file__).resolve().parents[1]
TOGETHER = sorted((TESTS / "obligations" / "together").glob("*.tgpu"))
WRONG = ("TG155_cells_of_a_size", "TG155_shared_of_a_size", "TG403_width", "TG404_negative_division", "TG406_shared_memory",
         "TG406_two_tiles", "TG512_never_reached")  # fmt: skip


@pytest.fixture(autouse=True)
def _both_solvers():
    pytest.importorskip("cvc5")


def open_claims(spec):
    """The codes and sentences of what is not proved by both solvers."""
    for machine in read(spec):
        assert not isinstance(machine, Unread), machine.reason
        for claim in (c for module in (space, width, wide) for c in module.stated(machine)):
            if isinstance(claim, Open):
                yield claim.code, claim.reason
            elif not answer(text(claim), isinstance(claim, Inhabited)).both:
                yield claim.code, claim.sentence


@pytest.mark.parametrize("path", TOGETHER[::3], ids=lambda p: p.stem)
def test_right_programs_have_room(path):
    assert list(open_claims(path.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("name", WRONG)
def test_wrong_programs_are_open_where_they_are_wrong(name):
    spec = (TESTS / "wrong" / f"{name}.tgpu").read_text(encoding="utf-8")
    assert name[:5] in {code for code, _ in open_claims(spec)}


COPY = """op copy(x: f32[n]) -> (y: f32[n]) {where} {{ y[i] = x[i] }}

machine m : copy {{
  work grid = (b: ceil(n / {block})), block = (t: {block})
  program {{
    {body}
    y[b*{block} + t] = x[b*{block} + t] if b*{block} + t < n
  }}
}}
"""


@pytest.mark.parametrize(
    ("where", "block", "body", "wrong"),
    [
        ("", 256, "", set()),
        ("", 2048, "", {"TG401"}),
        ("", 256, "local v: f32[255]", set()),
        ("", 256, "local v: f32[256]", {"TG402"}),
        ("", 256, "local v: f64[128]", {"TG402"}),
        ("", 256, "shared s: f32[64, 256]", set()),
        ("", 256, "shared s: f32[64, 256] pad 1", {"TG406"}),
        ("", 256, "shared s: f32[33, 65] swizzle(1, 0, 5)", set()),
        ("", 256, "shared s: f32[32, 32] swizzle(5, 0, 5)", set()),
        ("", 256, "shared s: f32[32, 32] swizzle(5, 0, 2)", set()),
        ("", 256, "shared s: f32[32, 32] swizzle(5, 0, 0)", {"TG307"}),  # bits added to themselves are lost
        ("where n < 0", 256, "", {"TG511", "TG512", "TG403"}),
        ("where n % 4 == 1, n % 2 == 0", 256, "", {"TG511", "TG512", "TG403"}),
        ("", 256, "y[b*256 + t] = 0 if b*256 + t < n and n < b", {"TG512"}),
        ("", 256, "local k: i32[4]\n k[(t + 4) // 2 % 4] = 0", set()),
        ("", 256, "local k: i32[4]\n k[(t - 4) // 2 % 4] = 0", {"TG404"}),
        ("", 256, "local k: i32[4]\n k[t % 4] = 0 if (t - 1) % 2 == 0", {"TG404"}),
        ("", 256, "local k: i32[4]\n k[t % 4] = 0 if t > 0 and (t - 1) % 2 == 0", set()),
        ("where n >= 1", 256, "local k: i32[4]\n k[t // n % 4] = 0", set()),
        ("", 256, "local k: i32[4]\n k[t // n % 4] = 0", {"TG403", "TG404"}),
    ],
)  # fmt: skip
def test_room(where, block, body, wrong):
    assert {code for code, _ in open_claims(COPY.format(where=where, block=block, body=body))} == wrong


def test_a_condition_around_a_guard_is_computed_without_it():
    """`i < n` does not bound the `i` that it compares: the bound is that of the whole grid."""
    spec = COPY.format(where="", block=256, body="")
    (machine,) = read(spec)
    bounds = {c.sentence for c in width.stated(machine) if c.code == "TG403"}
    assert any("where (ceil(n / 256) - 1)*256 + 255 does" in b for b in bounds), bounds


def test_a_bound_that_is_too_small_is_not_believed(monkeypatch):
    """The bounds only choose hypotheses: a wrong one leaves its claim open."""
    monkeypatch.setattr(width, "upper", lambda term, extents: Num(5))
    assert "TG403" in {code for code, _ in open_claims(COPY.format(where="", block=256, body=""))}


def test_limits_are_those_of_the_architecture():
    assert space.allowed("sm_90a")["shared_bytes_per_block_opt_in"] == 232448
    assert space.allowed("")["shared_bytes_per_block_opt_in"] == min(
        space.allowed(a)["shared_bytes_per_block_opt_in"] for a in ("sm_75", "sm_80", "sm_90", "sm_120")
    )
    assert space.allowed("sm_1") == {}


def test_a_pad_of_fewer_than_no_elements_is_open():
    """A row that begins before the last one ends has its cells twice."""
    array = Array("shared", "s", "f32", (Num(8), Num(8)), -1)
    assert not all(answer(text(c)).both for c in space.storage(array))


VECTOR = """op copy(x: f32[M, N]) -> (y: f32[M, N]) {{ y[i, j] = x[i, j] }}

machine m : copy {{
  work grid = (i: M, g: ceil(N / 256)), block = (t: 64)
  program {{
    for v < 4 in vector {{ y[i, {first} + v] = x[i, {first} + v] if {first} + v < N }}
  }}
}}
"""


def test_wide_accesses_begin_at_multiples():
    """What is a multiple by its form is one for the solvers, what is not is never moved at once."""
    (machine,) = read(VECTOR.format(first="g*256 + t*4"))
    claims = list(wide.stated(machine))
    assert len(claims) == 2 and all(answer(text(c)).both for c in claims)
    assert {c.facts[-1] for c in claims} == {wide.divisible(Var("N"), 4)}
    (machine,) = read(VECTOR.format(first="g*256 + t*4 + 2"))
    assert [c.sentence for c in wide.stated(machine)] == []


def test_a_form_that_only_looks_like_a_multiple_is_found(monkeypatch):
    (machine,) = read(VECTOR.format(first="g*256 + t*4 + 2"))
    monkeypatch.setattr(wide, "multiple", lambda term, facts: 4)
    assert [answer(text(c)).z3 for c in wide.stated(machine)] == ["false", "false"]
