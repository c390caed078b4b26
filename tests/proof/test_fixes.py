"""What a machine that is not proved says to write instead, done: then it is proved, or fails in another way.

Comes in: wrong specs, whose machines give their programs. Goes out: the same with the fix of their message.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import ROOT
from tinygpu import pipeline
from tinygpu.commands.judged import judge

WRONG = sorted((ROOT / "tests" / "wrong").glob("*.txt"))
SAID = ("would do", "then it is proved", "write `atomic`")
EXPECTED = [p.with_suffix(".tgpu") for p in WRONG if any(one in p.read_text(encoding="utf-8") for one in SAID)]


@pytest.mark.sampled
@pytest.mark.parametrize("path", EXPECTED, ids=lambda p: p.stem)
def test_what_is_to_be_written_repairs(path: Path):
    text = path.read_text(encoding="utf-8")
    spec = pipeline.load_text(text, str(path))
    for machine in spec.machines:
        for one in judge(str(path), machine).diagnostics:
            for fix in one.fixes:
                start, end = fix.place(text) or (0, 0)
                new = pipeline.load_text(text[:start] + fix.text + text[end:], str(path))
                again = judge(str(path), next(m for m in new.machines if m.title == machine.title))
                assert again.word == "proved" or again.diagnostics[0].code != one.code, (fix, again.diagnostics)


RACE = """op shifted(x: f32[n]) -> (y: f32[n]) { y[i] = x[n - 1 - i] }

machine turned : shifted where n == 64 {
  work grid = (g: 1), block = (t: 64)
  program {
    shared s: f32[64]
    s[t] = x[t]
    y[t] = s[63 - t]
  }
}
"""


def test_a_barrier_is_put_where_it_is_missing():
    (one,) = judge("r.tgpu", pipeline.load_text(RACE, "r.tgpu").machines[0]).diagnostics
    (fix,) = one.fixes
    start, end = fix.place(RACE) or (0, 0)
    new = RACE[:start] + fix.text + RACE[end:]
    assert "s[t] = x[t]\n    barrier\n" in new
    assert judge("r.tgpu", pipeline.load_text(new, "r.tgpu").machines[0]).word == "proved"
