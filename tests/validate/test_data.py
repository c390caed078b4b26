"""What a launcher checks of its data on request is what is promised, and an edit of it is refused.

Comes in: modules of ops with promises, and edits of the lines that check them. Goes out: no word of what is emitted; of an edit the code, and
words of what is said. The one idea: a check that lets data pass which breaks a promise is as wrong as a kernel.
"""

from __future__ import annotations

import re
from functools import cache

import pytest

from tests.emit.test_check_data import BODY, BROKEN, HEAD, ONE
from tests.validate.modules import edited, emitted, found
from tinygpu.diagnostic import Diagnostic
from tinygpu.emit.module import Built, emit
from tinygpu.obligations.width import cpu_limits, limits
from tinygpu.pipeline import load_text, program
from tinygpu.program.unpack import unpack
from tinygpu.validate.check import Expected

NEXT = "all[t < n] (r[t] <= r[t + 1])"
FURTHER = "all[t < n] (r[t + 2] >= 0)"
QUOTIENT = "all[t] (w[t] // k >= 0)"
TWO = "k > 0 and all[t] (u[t] < 4)"


@cache
def promising(promise: str) -> tuple[str, tuple[Expected, ...]]:
    """The module of an op that promises that; `embedding` is the one of the library."""
    if promise == "embedding":
        return emitted("embedding")
    (machine,) = load_text(HEAD.replace("PROMISE", promise) + BODY + f"machine pick_m : pick {ONE}", "pick.tgpu").machines
    numbers = unpack(program(machine))
    return emit("pick.tgpu", [Built(machine, numbers, (), limits(numbers), cpu_limits=cpu_limits(numbers))]), (
        Expected("pick_m", numbers),
    )


def of_launchers(text: str, expected: tuple[Expected, ...]) -> tuple[Diagnostic, ...]:
    return tuple(d for d in found(text, expected) if d.code != "TG820")


@pytest.mark.parametrize("promise", ["embedding", *dict.fromkeys(p for p, *_ in BROKEN)])
def test_what_is_promised_is_what_is_checked(promise):
    assert of_launchers(*promising(promise)) == ()


EDITS = {  # promise, what is changed, to what, the code, words of the message
    "one too many": ("embedding", "idx[t] < _cast", "idx[t] <= _cast", "TG822", "checks"),
    "one too few": ("embedding", "(0 <= idx[t])", "(1 <= idx[t])", "TG822", "checks"),
    "no lower bound": ("embedding", "(0 <= idx[t]) & ", "", "TG822", "checks"),
    "either": ("embedding", "(0 <= idx[t]) & ", "(0 <= idx[t]) | ", "TG822", "checks"),
    "another size": ("embedding", "_cast(V, np.int32)", "_cast(T, np.int32)", "TG822", "checks"),
    "a size that is cut": ("embedding", "_cast(V, np.int32)", "_cast(V, np.int8)", "TG822", "checks"),
    "not all elements": ("embedding", "_holds, (T,),", "_holds, (T - 1,),", "TG822", "checks"),
    "the first element alone": ("embedding", "_holds, (T,),", "_holds, (),", "TG823", "something else than a point"),
    "another element": ("embedding", "(0 <= idx[t])", "(0 <= idx[t - 1])", "TG822", "checks"),
    "nothing": ("embedding", "return (0 <= idx[t]) & (idx[t] < _cast(V, np.int32))", "return True", "TG822", "checks"),
    "another dtype": ("embedding", '_idx, "i32", stream)}', '_idx, "i64", stream)}', "TG822", "looks at"),
    "where it is not asked": ("embedding", "if check_data:", "if not check_data:", "TG823", "no check"),
    "the next but one": (NEXT, "r[t + 1]", "r[t + 2]", "TG822", "checks"),
    "what is outside": (FURTHER, "(t + 2 < n + 1) & ", "", "TG822", "checks"),
    "a divisor of any sign": (QUOTIENT, "(k[()] > 0) & ", "", "TG822", "checks"),
    "a divisor as it is": (QUOTIENT, "np.maximum(_cast(k[()], np.int64), 1)", "_cast(k[()], np.int64)", "TG823", "a division"),
}  # fmt: skip


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_of_a_check_is_refused(name):
    promise, old, new, code, words = EDITS[name]
    text, expected = promising(promise)
    first = of_launchers(edited(text, old, new, "" if old.startswith("if") else "if check_data:")[0], expected)[0]
    assert first.code == code and words in first.labels[0].text, (first.code, first.labels)


def without(text: str, first: str, last: str) -> str:
    """The text without the lines from one that holds a word to one that holds another."""
    lines = text.split("\n")
    start = next(n for n, line in enumerate(lines) if first in line)
    stop = next(n for n in range(start, len(lines)) if last in lines[n])
    return "\n".join(lines[:start] + lines[stop + 1 :])


@pytest.mark.parametrize(
    ("first", "said"),
    [("if True:", "does not check k > 0"), ("if check_data:", "does not check t >= 0"), ("def _holds(", "does not check")],
)
def test_a_promise_that_is_not_checked_is_missed(first, said):
    text, expected = promising(TWO)
    last = "(n,)" if first == "if check_data:" else "_promised("
    changed = of_launchers(without(text, first, last), expected)[0]
    assert changed.code == "TG822" and said in changed.labels[0].text, changed.labels


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("if True:", "if check_data:", "does not check its data"),  # two branches that are asked for
        ("if True:", "if False:", "no statement of a launcher|cannot be read|is no"),
        ("if True:", "if k > 0:", ""),
        ("k[()] > 0", "k[()] > -1", "checks"),
        ("k[()] > 0", "k[()] > 1", "checks"),
        ("if check_data:", "if True:", "does not check its data"),
    ],
)
def test_a_check_of_scalars_is_made_in_every_call(old, new, said):
    text, expected = promising(TWO)
    assert not of_launchers(text, expected)
    first = of_launchers(text.replace(old, new, 1), expected)[0]
    assert first.code in ("TG822", "TG823") and re.search(said, first.labels[0].text), (first.code, first.labels)


def test_what_is_checked_in_every_call_is_of_scalars_alone():
    text, expected = promising("all[t] (u[t] < 4)")
    first = of_launchers(text.replace("if check_data:", "if True:", 1), expected)[0]
    assert first.code == "TG822" and "checks" in first.labels[0].text
