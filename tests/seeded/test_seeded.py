"""The seeded defects still fit the code, and the tests that see them are there. That they do see them is `python -m tests.seeded`, which takes minutes.

Comes in: `DEFECTS`. Goes out: a failure where code moved and its defect did not. The one idea: a list that nobody keeps says nothing.
"""

from __future__ import annotations

import pytest

from tests.conftest import ROOT
from tests.seeded.defects import DEFECTS

LEAST = 30


def test_there_are_enough_and_no_two_alike():
    assert len(DEFECTS) >= LEAST
    assert len({d.title for d in DEFECTS}) == len({(d.file, d.old, d.new) for d in DEFECTS}) == len(DEFECTS)


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda d: d.title)
def test_a_defect_stands_where_it_says(defect):
    text = (ROOT / "tinygpu" / defect.file).read_text(encoding="utf-8")
    assert text.count(defect.old) == 1 and defect.old != defect.new, f"{text.count(defect.old)} times in {defect.file}"
    path, _, name = defect.test.partition("::")
    tests = (ROOT / path).read_text(encoding="utf-8")
    assert f"def {name.partition('[')[0]}(" in tests if name else ">>>" in tests or "def test_" in tests, defect.test
