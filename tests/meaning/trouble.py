"""Trouble: terms that are what they stand for wherever they have a value, or seem to be.

Comes in: a term as text, another one beside it, a chance. Goes out: a text in its place. The one idea: a right program becomes another right one,
or one that is wrong where something is undefined, infinite, unwritten, wrapped, rounded or empty; which of the two is for the judge to say.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TypeVar

T = TypeVar("T")
WORD = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789."
WHOLE = ("i8", "u8", "i32", "u32", "i64")

TRUE_OF_FLOATS = (
    "{e} == {e}", "{e} <= {e}", "{e} < inf", "-inf < {e}", "not ({e} < {e})", "({e} >= 0 or {e} < 0)", "abs({e}) >= 0", "max({e}, {w}) >= {e}",
    "max({e}, -inf) == {e}", "min({e}, inf) == {e}", "({e} < {w} or {e} >= {w})", "-(-{e}) == {e}", "{e} != inf", "{e} >= min({e}, {w})",
)  # fmt: skip
TRUE_AT_TIMES = (
    "{e}/{e} == {e}/{e}", "1/{e} == 1/{e}", "log({e}) == log({e})", "log({e}) <= log({e})", "sqrt({e}) >= 0", "{e}/{e} == 1", "{e} - {e} == 0",
    "{e} + 1 > {e}", "{e}*{e} >= 0", "exp({e}) > 0", "0*{e} == 0", "rsqrt({e}) > 0", "{e}/2*2 == {e}", "(1/{e} < 0 or 1/{e} >= 0)",
    "{e}/{w} == {e}/{w}", "not (1/{w} < 1/{w})", "{e}*inf == {e}*inf", "{e} + {w} - {w} == {e}", "max(1/{e}, {w}) >= {w}", "0/{e} == 0",
    "sqrt({e}) == sqrt({e})", "{e} - {e} <= 0", "log({e}) - log({e}) == 0", "f32(f16({e})) == {e}", "{e} - inf < 0", "({e} if {e} > 0 else 0/{e}) == {e}",
    "exp(log({e})) == {e}", "abs({e}/{w}) >= 0", "{w}/{w} > 0", "floor({e}) <= {e}", "max({e}, {e}/{e}) >= {e}", "{e} > inf or {e}/{e} == {e}/{e}",
)  # fmt: skip
TRUE_OF_INTEGERS = (
    "{e} == {e}", "{e} <= {e}", "{e} - {e} == 0", "{e} ^ {e} == 0", "{e}*0 == 0", "{e} + 1 != {e}", "max({e}, 0) // 2 >= 0", "max({e}, 0) % 3 < 3",
    "{e} + {w} == {w} + {e}", "-(-{e}) == {e}", "max({e}, {w}) >= {e}", "(max({e}, 1) // max({e}, 1) == 1)", "{e} + {w} - {w} == {e}",
    "({e} < 0 or {e} // 2 <= {e})",
)  # fmt: skip
INTEGERS_AT_TIMES = (
    "{e} // {e} == {e} // {e}", "{e} % {e} == 0", "{e} + 1 > {e}", "{e}*2 // 2 == {e}", "abs({e}) >= 0", "{e}*{e} >= 0", "{e} // 2 <= {e}",
    "{e} % 2 < 2", "{e} - 1 < {e}", "{e}*2 != 1 + {e}*2", "({e} >= 0 or -{e} > 0)", "{e} // {w} == {e} // {w}", "{e} % {w} <= {e} % {w}",
    "{e} + {w} >= {e}", "({e} + {w}) // 2 <= max({e}, {w})", "{e} // {e}*0 == 0", "f32({e}) + 1 > f32({e})", "{e} // 1 == {e}", "({e} == 0 or {e} % {e} == 0)",
    "{e} ^ {w} >= 0", "f32({e}) == f32({e})", "i64({e})*2 // 2 == i64({e})", "{e}*{w} // {w} == {e}",
)  # fmt: skip
FLOATS = (
    "({e} + 0)", "({e}*1)", "-(-{e})", "max({e}, {e})", "min({e}, inf)", "max(-inf, {e})", "({e} - {w} + {w})", "({e}*2/2)", "({e} + {e})/2", "({e} + 0*{w})",
    "({e} + exp(-inf))", "log(exp({e}))", "({e} + ({w} - {w}))", "({e} if {w} < {w} + 1 else 7)", "({e}*(1 + 0*{w}))", "(max({e}, {w}) + min({e}, {w}) - {w})",
)  # fmt: skip
FLOATS_AT_TIMES = (
    "({e}/{w}*{w})", "({e} + ({w}/{w} - {w}/{w}))", "exp(log({e}))", "(sqrt({e})*sqrt({e}))", "(1/(1/{e}))", "({e} + 0*log({w}))", "({e} + 0/{w})",
    "({e} + inf - inf)", "({e}*{w}/{w})", "({e} + 0*inf)", "({e} + 1/{w} - 1/{w})", "(({e}*{e})/{e})", "({e} + exp(log({w})) - {w})", "sqrt({e}*{e})",
    "({e}*max(-inf, {w})/{w})", "({e} + log({w}/{w}))", "({e} + max(0/{w}, 0))", "min({e}, {e}/0 if {w} == {w} else 0)", "({e}*exp({w} - {w}))", "({e}*exp(-inf)*0 + {e})",
    "max({e}, {w} - inf)", "({e} + 1/(1/{w} - 1/{w}))", "({e} + (0 if 1/{w} == 1/{w} else 1))", "({e}*rsqrt({w}*{w})*abs({w}))", "({e} + min(inf, {w}) - {w})",
    "(inf if {e}*{e} < 0 else {e})", "({e} + 1/inf)", "({e} + tanh(0*{w}))", "log(exp({e}/{w}*{w}))", "({e}*sigmoid(0*(1/{w}))*2)", "({e} - floor(0*{w}))",
)  # fmt: skip
INTEGERS = (
    "({e} + 1 - 1)", "({e} ^ {w} ^ {w})", "-(-{e})", "({e}*3 - {e}*2)", "({e} + {w} - {w})", "({e} + 0*{w})", "max({e}, {e})", "({e} + max({w}, 0) // 2*0)",
    "(max({e}, {w}) + min({e}, {w}) - {w})", "(({e} + {w})*1 - {w})",
)  # fmt: skip
WHOLE_AT_TIMES = (
    "({e}*2 // 2)", "({e} // 1)", "({e} + {w} // {w} - {w} // {w})", "({e} % 100)", "(max({e} + 1, {e}) - 1)", "({e} // {w}*{w} + {e} % {w})", "({e} + {e} % 2 - {e} % 2)",
    "({e} + {w} // {w}*0)", "({e} if {e} + 1 > {e} else {e} + 0)", "(({e} + {w}) // 2*2 - {w})", "({e}*{w} // {w})", "max({e} - 1, {e} - 1) + 1", "min({e}, {e} + 1)",
    "abs({e})", "(({e} + {e}) // 2)", "({e} + 0*({w} % {w}))",
)  # fmt: skip
NEVER = (
    "{e} < {e}",
    "{e} != {e}",
    "{e}/{e} != {e}/{e}",
    "log({e}) < log({e})",
    "1/{w} > 1/{w}",
    "sqrt({e}) < 0",
    "{e} > inf",
    "{e} == -inf",
)
LAWS = (  # of the reals, where both sides have a value; some sides have one where the other has none
    ("({e} if {w} > 0 else 0)", "({e}*(1 if {w} > 0 else 0))"), ("({e} if {w} > 0 else 0)", "({e} + (0 if {w} > 0 else -{e}))"),
    ("({e}*({e} + {w}))", "({e}*{e} + {e}*{w})"), ("(({e} + {w})/2)", "({e}/2 + {w}/2)"), ("({e}/{w})", "({e}*(1/{w}))"),
    ("exp({e} + {w})", "(exp({e})*exp({w}))"), ("exp({e} - {w})", "(exp({e})/exp({w}))"), ("min({e}, {w})", "-max(-{e}, -{w})"),
    ("abs({e})", "max({e}, -{e})"), ("(1/({e}*{w}))", "(1/{e}/{w})"), ("({e}*{w} if {w} != 0 else 0)", "({e}*{w})"), ("log({e}*{w})", "(log({e}) + log({w}))"),
    ("sqrt({e}*{w})", "(sqrt({e})*sqrt({w}))"), ("({e}/({w}/{e}))", "({e}*{e}/{w})"), ("({e} - {w} if {e} > {w} else 0)", "max({e} - {w}, 0)"),
    ("max({e} + {w}, {w})", "(max({e}, 0) + {w})"), ("({e}/{w} if {w} != 0 else 0)", "({e}/{w}*(1 if {w} != 0 else 0))"), ("({e} - {w})", "-({w} - {e})"),
    ("(0*{e} + {w})", "({w} + 0)"), ("(max({e}, {w})*2)", "max(2*{e}, 2*{w})"), ("({e} if {w} > 0 else {e} + 1)", "({e} + (0 if {w} > 0 else 1))"),
)  # fmt: skip
WHOLE_LAWS = (
    ("({e} if {w} > 0 else 0)", "({e}*(1 if {w} > 0 else 0))"), ("({e}*({e} + {w}))", "({e}*{e} + {e}*{w})"), ("min({e}, {w})", "-max(-{e}, -{w})"),
    ("max({e} + {w}, {w})", "(max({e}, 0) + {w})"), ("(max({e}, {w})*2)", "max(2*{e}, 2*{w})"), ("(({e} + {w}) ^ {e})", "({e} ^ ({e} + {w}))"),
    ("abs({e})", "max({e}, -{e})"), ("({e}*{w} if {w} != 0 else 0)", "({e}*{w})"), ("(({e} + {w}) - {e})", "({w}*1)"),
    ("({e} // {w} if {w} > 0 and {e} >= 0 else 0)", "(max({e}, 0) // max({w}, 1)*(1 if {w} > 0 else 0))"),
    ("({e} // {w} if {w} > 0 and {e} >= 0 else 0)", "({e} // {w}*(1 if {w} > 0 and {e} >= 0 else 0))"),
)  # fmt: skip
FUNCTIONS = (  # what is true by a law of functions, which are uninterpreted: a proof of it is not promised
    *(side for sides in LAWS for side in sides if any(f in side for f in ("exp", "log", "sqrt"))), "({e}*rsqrt({w}*{w})*abs({w}))", "sqrt({e}*{e})",
    "({e}*sigmoid(0*(1/{w}))*2)", "log(exp({e}))", "exp(log({e}))", "({e} + exp(log({w})) - {w})", "log(exp({e}/{w}*{w}))", "exp(log({e})) == {e}",
)  # fmt: skip
WHOLE_NEVER = ("{e} < {e}", "{e} != {e}", "{e} // {e} != {e} // {e}", "{e} + 1 < {e}", "{e} % 2 > 1", "{e} + 1 == {e}")


def wrap(text: str) -> str:
    """The text as one operand: in parentheses, unless it is.

    >>> wrap("(a) + (b)"), wrap("(a + b)"), wrap("x[i]"), wrap("a if c else b")
    ('((a) + (b))', '(a + b)', 'x[i]', '(a if c else b)')
    """
    deep = 0
    for place, sign in enumerate(text):
        deep += (sign in "([") - (sign in ")]")
        if deep == 0 and place < len(text) - 1 and sign not in WORD:
            return f"({text})"
    return text


@dataclass
class Trouble:
    """What is drawn for one program. `often` is the chance that a term is changed; `header` are steps that cells need."""

    chance: random.Random
    often: float = 0.2
    header: list[str] = field(default_factory=list)
    done: list[str] = field(default_factory=list)
    count: int = 0
    lawful: bool = False

    @property
    def beyond(self) -> bool:
        """Whether a law of functions was used."""
        return self.lawful or any(said.partition(" ")[2] in FUNCTIONS for said in self.done)

    def one(self, *of: T) -> T:
        return self.chance.choice(of)

    def of(self, many: str) -> str:
        """One of the texts, which `;` stands between."""
        return self.chance.choice(many.split("; "))

    def now(self, times: float = 1.0) -> bool:
        return self.chance.random() < self.often * times

    def put(self, kind: str, template: str, e: str, w: str) -> str:
        self.done.append(kind + " " + template)
        return template.format(e=wrap(e), w=wrap(w))

    def truth(self, dtype: str) -> str:
        """A condition that is always true, or seems to be."""
        good = self.chance.random() < 0.45
        if dtype in WHOLE:
            return self.one(*(TRUE_OF_INTEGERS if good else INTEGERS_AT_TIMES))
        return self.one(*(TRUE_OF_FLOATS if good else TRUE_AT_TIMES))

    def same(self, dtype: str) -> str:
        """A value that is another, or seems to be."""
        if self.now(0.5):
            inner = self.truth(dtype)
            return self.one(
                "({e} if " + inner + " else {e} + 0)",
                "({e} if " + inner + " else 7)",
                "({e} if " + inner + " or {w} == {w} else 3)",
            )
        good = self.chance.random() < 0.5
        if dtype in WHOLE:
            return self.one(*(INTEGERS if good else WHOLE_AT_TIMES))
        return self.one(*(FLOATS if good else FLOATS_AT_TIMES))

    def cell(self, dtype: str) -> str:
        """A cell of the thread's own that holds 1, an infinity, or nothing."""
        name = f"u{self.count}"
        self.count += 1
        self.header.append(f"local {name}: {dtype}[]")
        ends = ("1",) if dtype in WHOLE else ("1", "inf", "-inf")
        first = self.one("", "", *(f"{name}[] = {end}" for end in ends), f"{name}[] = 1 if t < 2", f"if t > 9 {{ {name}[] = 1 }}")
        if first:
            self.header.append(first)
        return f"{name}[]"

    def value(self, e: str, dtype: str, w: str = "", cells: bool = True) -> str:
        """A value in its place."""
        if cells and self.now(0.25):
            other = self.cell(dtype)
            return self.put(
                "cell",
                self.one("({e} + {w} - {w})", "({e} + 0*{w})", "({e} if {w} == {w} else 7)", "max({e}, min({w}, {e}))"),
                e,
                other,
            )
        return self.put("value", self.same(dtype), e, w or e) if self.now() else e

    def pair(self, mine: str, theirs: str, dtype: str, w: str = "", v: str = "") -> tuple[str, str]:
        """A value of the equation and the program's: either, none, or both changed in one way."""
        if self.now(0.5):
            sides = list(self.one(*(WHOLE_LAWS if dtype in WHOLE else LAWS)))
            self.chance.shuffle(sides)
            return self.put("law", sides[0], mine, w or mine), sides[1].format(e=wrap(theirs), w=wrap(v or theirs))
        if self.now(0.6):
            template = self.same(dtype)
            return self.put("both", template, mine, w or mine), template.format(e=wrap(theirs), w=wrap(v or theirs))
        if self.now(0.25):
            return self.put("equation", self.same(dtype), mine, w or mine), theirs
        return mine, self.value(theirs, dtype, v)

    def guard(self, condition: str, e: str, dtype: str, w: str = "", cells: bool = True) -> str:
        """A condition in its place."""
        if not self.now(1.5):
            return condition
        other = w or e
        if cells and self.now():
            e = other = self.cell(dtype)
        if self.chance.random() < 0.2:
            never = self.one(*(WHOLE_NEVER if dtype in WHOLE else NEVER))
            both = (f"({condition} or {never})", f"{condition} and not ({never})") if condition else (f"not ({never})",)
            return self.put("guard", self.one(*both), e, other)
        truth = self.truth(dtype)
        if not condition:
            return self.put("guard", truth, e, other)
        return self.put(
            "guard", self.one(f"{condition} and {truth}", f"{condition} and {truth}", f"{truth} and {condition}"), e, other
        )

    def store(self, target: str, value: str, condition: str, e: str, dtype: str, update: str = "=") -> str:
        """A store, whose condition stands beside it, around it, or in two places."""
        value = wrap(value)
        decorated = self.guard(condition, e, dtype)
        match self.chance.randrange(3):
            case 0:
                return f"{target} {update} {value} if {decorated}"
            case 1:
                return f"if {decorated} {{ {target} {update} {value} }}"
        inner = self.guard("", e, dtype)
        return f"if {condition} {{ {target} {update} {value}{f' if {inner}' if inner else ''} }}"
