"""Which index terms fit 64 bits by the limits of the sizes alone, so that nothing is asked of them: no more of them than do.

Comes in: terms over an axis and sizes. Goes out: whether a claim is made of each. The one idea: a limit of a size n says n ≤ 2⁶³ − 1, so −n fits, and neither −n − 2
nor −2·n does.
"""

from __future__ import annotations

import pytest

from tinygpu.category.known import Known
from tinygpu.category.term import App, Const, Read, Term, Var
from tinygpu.model.op import Op
from tinygpu.obligations.width import bounded
from tinygpu.program.step import Program

i, m, n = map(Var, "imn")
PROGRAM = Program("none", Op("none", ("m", "n"), (), (), (), ()), ())
FAR = App("cast", (Read("x", (i,), "i64"),))


@pytest.mark.parametrize("term", [i - n, i * 2 + m - n, i - 1, i - n - 1, n * m + i, i - Const(2**63)])
def test_a_term_no_more_than_a_size_below_nothing_fits(term: Term) -> None:
    assert bounded(term, PROGRAM, Known.of({"i": n}))


@pytest.mark.parametrize("term", [i - n * 2, i - n - 2, i - n - m, i - n * m, i - Const(2**63) - 1, i - Var("other"), FAR, i - FAR])
def test_what_may_be_further_below_is_asked(term: Term) -> None:
    assert not bounded(term, PROGRAM, Known.of({"i": n}))
