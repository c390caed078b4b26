"""Schedules are decided a second time: by counting barriers. Right programs pass, and each wrong one is left open at the claim that it breaks."""

from pathlib import Path

import pytest

from tinygpu.replay.ir import Open
from tinygpu.replay.read import Unread, read
from tinygpu.replay.schedule import stated
from tinygpu.replay.smt import text
from tinygpu.replay.solve import answer

TESTS = Path(__file__).resolve().parents[1]
TOGETHER = sorted((TESTS / "obligations" / "together").glob("*.tgpu"))
WRONG = sorted(
    p for code in ("TG302", "TG303", "TG304", "TG305", "TG306", "TG154", "TG159") for p in (TESTS / "wrong").glob(f"{code}_*.tgpu")
)
NOW = {"TG306": "TG305", "TG154": "the loop over j is not of the same length for all threads"}  # how this checker says the same
DERIVED = ("TG302_copy",)  # no program is given there


def open_codes(spec):
    """The codes of the claims that are not proved by both solvers."""
    found = set()
    for machine in read(spec):
        if isinstance(machine, Unread):
            return {machine.reason}
        for claim in stated(machine):
            if isinstance(claim, Open) or not answer(text(claim)).both:
                found.add(claim.code)
    return found


@pytest.mark.parametrize("path", TOGETHER, ids=lambda p: p.stem)
def test_programs_whose_threads_cooperate_are_proved_by_both(path):
    pytest.importorskip("cvc5")
    assert open_codes(path.read_text(encoding="utf-8")) == set()


@pytest.mark.parametrize("path", [p for p in WRONG if p.stem not in DERIVED], ids=lambda p: p.stem)
def test_wrong_programs_are_open_where_they_are_wrong(path):
    code = path.stem[:5]
    wanted = {"TG302_workspace": "TG202"}.get(path.stem, NOW.get(code, code))
    assert wanted in open_codes(path.read_text(encoding="utf-8"))


REVERSE = """op flip(x: f32[R, N]) -> (y: f32[R, N]) where N % 64 == 0 {{
  y[r, i] = x[r, i // 64 * 64 + 63 - i % 64]
}}

machine ring : flip {{
  work grid = (r: R), block = (t: 64)
  program {{
    shared s: f32[{slots}, 64]
    for c < N // 64 {{
      s[c % {slots}, t] = x[r, c*64 + t]
      {middle}
      y[r, c*64 + t] = s[c % {slots}, 63 - t]
      {end}
    }}
  }}
}}
"""


@pytest.mark.parametrize(
    ("slots", "middle", "end", "wrong"),
    [
        (1, "barrier", "barrier", set()),
        (2, "barrier", "", set()),  # the next turn's writes go to the other slot
        (3, "barrier", "", set()),
        (1, "barrier", "", {"TG302"}),  # a slot short
        (1, "", "barrier", {"TG302"}),  # dropped
        (2, "", "barrier", {"TG302"}),  # moved
        (1, "warp barrier", "barrier", {"TG302"}),  # narrowed
        (1, "barrier", "warp barrier", {"TG302"}),
        (1, "if t < 32 { barrier }", "barrier", {"TG302", "TG303"}),  # divergent
        (1, "barrier", "if (c + 1)*64 < N { barrier }", set()),  # nobody writes after the last turn
        (2, "if c % 2 == 0 { barrier }", "", {"TG302"}),  # every other turn
        (1, "if x[r, c] > 0 { barrier }", "barrier", {"TG302"}),  # the same for all, but not always there
        (1, "if s[0, t] > 0 { barrier }", "barrier", {"TG302", "TG303"}),  # a cell may differ
        (1, "for d < 2 { barrier }", "barrier", set()),
        (1, "for d < N // 64 { barrier }", "barrier", set()),
        (1, "for d < N // 128 { barrier }", "barrier", {"TG302"}),  # none for N = 64
        (1, "for d < 0 - N // 64 { barrier }", "barrier", {"TG302"}),  # below 0 is no turn, and no barrier taken back
        (1, "barrier", "for d < 1 - N // 64 - 2 { barrier }", {"TG302"}),
        (1, "for d < N // 64 { if d == c { barrier } }", "barrier", {"TG302"}),  # true, and more than this checker sees
        (1, "for d < N // 64 { if d == 0 { barrier } }", "barrier", set()),
    ],
)
def test_barriers_of_a_ring(slots, middle, end, wrong):
    pytest.importorskip("cvc5")
    assert open_codes(REVERSE.format(slots=slots, middle=middle, end=end)) == wrong


ONE = """op flip(x: f32[n]) -> (y: f32[n]) where n % 64 == 0 {{
  y[i] = x[i // 64 * 64 + 63 - i % 64]
}}

machine m : flip {{
  work grid = (b: n // 64), block = (t: 64)
  program {{
    {body}
  }}
}}
"""


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        ("shared s: f32[64]\n s[t] = x[b*64 + t]\n barrier\n y[b*64 + t] = s[63 - t]", set()),
        ("shared s: f32[64]\n s[63 - t] = x[b*64 + t]\n y[b*64 + t] = s[t]", {"TG302"}),
        ("shared s: f32[64]\n s[t // 2] = x[b*64 + t]\n barrier\n y[b*64 + t] = s[63 - t]", {"TG302"}),
        # lanes of one warp are in order after a warp barrier, those of two are not
        ("shared s: f32[64]\n s[t] = x[b*64 + t]\n warp barrier\n y[b*64 + t] = s[t // 32 * 32 + 31 - t % 32]", set()),
        ("shared s: f32[64]\n s[t] = x[b*64 + t]\n warp barrier\n y[b*64 + t] = s[63 - t]", {"TG302"}),
        # a shuffle orders no memory
        ("shared s: f32[64]\n local v: f32[]\n v[] = x[b*64 + t]\n s[t] = v[]\n v[] += shuffle_xor(v[], 1)\n"
         " y[b*64 + t] = s[t // 32 * 32 + 31 - t % 32]", {"TG302"}),
        # two turns of a loop that keeps nobody together
        ("shared s: f32[64]\n for u < 2 in register { s[(t + u) % 64] = x[b*64 + t] }\n barrier\n y[b*64 + t] = s[t]", {"TG302"}),
        ("shared s: f32[64]\n for u < 2 in register { s[(t + u*64) % 64] = x[b*64 + t] }\n barrier\n y[b*64 + t] = s[t]", set()),
        # a cell read in an index may be anything, and so may what it was at an earlier condition
        ("shared s: i32[64]\n local k: i32[]\n k[] = i32(t)\n if k[] == i32(t) { k[] = 0\n s[k[]] = 1 }\n y[b*64 + t] = 0", {"TG302"}),
        ("shared s: i32[64]\n local k: i32[]\n k[] = i32(t)\n atomic s[k[]] += 1\n y[b*64 + t] = 0", set()),
        ("shared s: i32[64]\n local k: i32[]\n k[] = i32(t)\n atomic s[k[]] += 1\n s[k[]] = 0\n y[b*64 + t] = 0", {"TG302"}),
        ("shared s: i32[64]\n atomic s[0] += 1\n atomic s[0] max= 1\n y[b*64 + t] = 0", {"TG302"}),
        # a read under a condition is made only there
        ("shared s: f32[64]\n s[t] = 1\n y[b*64 + t] = s[t] if t >= 0 else s[0]", set()),
        ("shared s: f32[64]\n s[t] = 1\n y[b*64 + t] = s[t] if t > 0 else s[1]", {"TG302"}),
        ("shared s: f32[64]\n s[t] = 1\n y[b*64 + t] = 1 if t == 0 and s[0] > 0 else 0", set()),
        ("shared s: f32[64]\n s[t] = 1\n y[b*64 + t] = 1 if t == 0 or s[0] > 0 else 0", {"TG302"}),
        ("y[b*64 + t // 2] = x[b*64 + t]", {"TG202"}),
        ("y[b*64 + t] = x[b*64 + t]\n y[b*64 + 63 - t] = x[b*64 + t]", {"TG202"}),
        ("y[b*64 + t] = x[b*64 + t]\n y[b*64 + t] = 0", set()),  # one thread's: its own order
        ("y[b*64 + t] = x[b*64 + t]\n atomic y[b*64 + t] += 1", {"TG305"}),
        ("y[b*64 + t] = x[b*64 + t]\n y[b*64 + t] = y[b*64 + t] + 1", {"TG305"}),
    ],
)  # fmt: skip
def test_two_events(body, wrong):
    pytest.importorskip("cvc5")
    assert open_codes(ONE.format(body=body)) == wrong
