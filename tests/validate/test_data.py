"""What a launcher checks of its data on request is what is promised, and an edit of it is refused.

Comes in: modules of ops with promises, and edits of the lines that check them. Goes out: no word of what is emitted; of an edit that
it is another promise. The one idea: a check that lets data pass which breaks a promise is as wrong as a kernel.
"""

from __future__ import annotations

from functools import cache

import pytest

from tests.emit.test_check_data import BROKEN, spec
from tests.validate.modules import edited, emitted, found, module
from tinygpu.diagnostic import Diagnostic
from tinygpu.pipeline import load_text
from tinygpu.validate.launcher import Expected

NEXT = "all[t < n] (r[t] <= r[t + 1])"
FURTHER = "all[t < n] (r[t + 2] >= 0)"
QUOTIENT = "all[t] (w[t] // k >= 0)"
TWO = "k > 0 and all[t] (u[t] < 4)"


@cache
def promising(promise: str) -> tuple[str, tuple[Expected, ...]]:
    """The module of an op that promises that; `embedding` is the one of the library."""
    if promise == "embedding":
        return emitted("embedding")
    return module("pick.tgpu", load_text(spec(promise), "pick.tgpu").machines)


def of_launchers(text: str, expected: tuple[Expected, ...]) -> tuple[Diagnostic, ...]:
    return tuple(d for d in found(text, expected) if d.code != "TG820")


@pytest.mark.parametrize("promise", ["embedding", *dict.fromkeys(p for p, *_ in BROKEN)])
def test_what_is_promised_is_what_is_checked(promise):
    assert of_launchers(*promising(promise)) == ()


EDITS = {  # promise, what is changed, to what
    "one too many": ("embedding", "idx[t] < i32(V)", "idx[t] <= i32(V)"),
    "one too few": ("embedding", '"0 <= index(idx[t])', '"1 <= index(idx[t])'),
    "no lower bound": ("embedding", '"0 <= index(idx[t]) and ', '"'),
    "either": ("embedding", '"0 <= index(idx[t]) and ', '"0 <= index(idx[t]) or '),
    "another size": ("embedding", "index(i32(V))\"", "index(i32(T))\""),
    "a size that is cut": ("embedding", "index(i32(V))\"", "index(i8(V))\""),
    "not all elements": ("embedding", '{"t": "T"}', '{"t": "T - 1"}'),
    "the first element alone": ("embedding", '{"t": "T"}', "{}"),
    "nothing": ("embedding", '"promises": (', '"promises": (), "more": ('),
    "where it is not asked": ("embedding", '"arrays")', '"scalars")'),
    "never": ("embedding", '"arrays")', '"nothing")'),
    "the next but one": (NEXT, 'r[t + 1])", ', 'r[t + 2])", '),
    "a divisor of any sign": (QUOTIENT, "// index(k)", "// 1"),
    "of scalars where it is asked": (TWO, '"scalars")', '"arrays")'),
    "of arrays in every call": (TWO, '"arrays")', '"scalars")'),
}  # fmt: skip


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_of_a_check_is_refused(name):
    promise, old, new = EDITS[name]
    text, expected = promising(promise)
    first = of_launchers(edited(text, old, new, '"promises": ')[0], expected)[0]
    assert first.code == "TG822" and first.labels[0].text.startswith("promises is"), (first.code, first.labels)
