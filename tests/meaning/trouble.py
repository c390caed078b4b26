"""Trouble: terms that are what they stand for wherever they have a value, or seem to be.

Comes in: the text of a program, a chance. Goes out: the text with trouble in it. The one idea: a right program becomes another right one, or one that
is wrong where something is undefined, infinite, unwritten, wrapped, rounded or empty; which of the two is for the judge to say.
"""

from __future__ import annotations

import random
import re

WORD = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789."
WHOLE = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64")
READ = re.compile(r"\b([A-Za-z]\w*)\[[^\[\]]*\](?! *(?:[+*a-z]*=(?!=)|holds))")  # and no target
DECLARED = re.compile(r"\b(\w+): ([iu]?(?:bf|f)?\d+)\[")
GUARD = re.compile(r"\bif ((?:(?!else)[^{}\n])*?)(?= \{| \}|\n)")
BODY = re.compile(r"launch \([^{]*\{|program \{(?!\s*(?:workspace|launch))")
BESIDE = "a_"  # a scalar of the call, of which nothing is known

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
    "({e} < 0 or {e} // 2 <= {e})", "({e} | {w}) == ({w} | {e})", "({e} & {e} | {w} & 0) == {e}", "{e} & 7 < 8", "{e} ^ ~{e} == -1",
    "({e} & 7 | {e} & ~7) == {e}", "{e} << 1 == {e}*2",
)  # fmt: skip
INTEGERS_AT_TIMES = (
    "{e} // {e} == {e} // {e}", "{e} % {e} == 0", "{e} + 1 > {e}", "{e}*2 // 2 == {e}", "abs({e}) >= 0", "{e}*{e} >= 0", "{e} // 2 <= {e}",
    "{e} % 2 < 2", "{e} - 1 < {e}", "{e}*2 != 1 + {e}*2", "({e} >= 0 or -{e} > 0)", "{e} // {w} == {e} // {w}", "{e} % {w} <= {e} % {w}",
    "{e} + {w} >= {e}", "({e} + {w}) // 2 <= max({e}, {w})", "{e} // {e}*0 == 0", "f32({e}) + 1 > f32({e})", "{e} // 1 == {e}", "({e} == 0 or {e} % {e} == 0)",
    "{e} ^ {w} >= 0", "f32({e}) == f32({e})", "i64({e})*2 // 2 == i64({e})", "{e}*{w} // {w} == {e}", "{e} >> 1 << 1 == {e}", "{e} << 1 >> 1 == {e}", "{e} >> {w} <= {e}", "{e} & {w} <= {e}", "({e} | {w}) >= {e}",
    "{e} << {w} >= {e}",
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
    "(max({e}, {w}) + min({e}, {w}) - {w})", "(({e} + {w})*1 - {w})", "~~{e}", "({e} & ~0)", "({e} | {e} & {w})", "({e} << 0)",
)  # fmt: skip
WHOLE_AT_TIMES = (
    "({e}*2 // 2)", "({e} // 1)", "({e} + {w} // {w} - {w} // {w})", "({e} % 100)", "(max({e} + 1, {e}) - 1)", "({e} // {w}*{w} + {e} % {w})", "({e} + {e} % 2 - {e} % 2)",
    "({e} + {w} // {w}*0)", "({e} if {e} + 1 > {e} else {e} + 0)", "(({e} + {w}) // 2*2 - {w})", "({e}*{w} // {w})", "max({e} - 1, {e} - 1) + 1", "min({e}, {e} + 1)",
    "abs({e})", "(({e} + {e}) // 2)", "({e} + 0*({w} % {w}))", "({e} << 2 >> 2)", "({e} + ({w} >> {w} & 0))", "({e} & 100)", "({e} >> {w} << {w} | {e})",
)  # fmt: skip
NEVER = (
    "{e} < {e}", "{e} != {e}", "{e}/{e} != {e}/{e}", "log({e}) < log({e})", "1/{w} > 1/{w}", "sqrt({e}) < 0", "{e} > inf", "{e} == -inf",
)  # fmt: skip
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
    ("({e} & {w})", "({e} + {w} - ({e} | {w}))"), ("({e} >> 1)", "({e} // 2)"), ("({e} & 3)", "({e} % 4)"), ("({e} << {w})", "({e} * (1 << {w}))"),
    ("({e} // {w} if {w} > 0 and {e} >= 0 else 0)", "(max({e}, 0) // max({w}, 1)*(1 if {w} > 0 else 0))"),
    ("({e} // {w} if {w} > 0 and {e} >= 0 else 0)", "({e} // {w}*(1 if {w} > 0 and {e} >= 0 else 0))"),
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


def truth(chance: random.Random, dtype: str) -> str:
    """A condition that is always true, or seems to be."""
    tables = (TRUE_OF_INTEGERS, INTEGERS_AT_TIMES) if dtype in WHOLE else (TRUE_OF_FLOATS, TRUE_AT_TIMES)
    return chance.choice(tables[chance.random() < 0.55])


def same(chance: random.Random, dtype: str) -> str:
    """A value that is another, or seems to be."""
    if chance.random() < 0.15:
        return f"({{e}} if {truth(chance, dtype)} {chance.choice(('else {e} + 0', 'else 7', 'or {w} == {w} else 3'))})"
    tables = (INTEGERS, WHOLE_AT_TIMES) if dtype in WHOLE else (FLOATS, FLOATS_AT_TIMES)
    return chance.choice(chance.choice(tables))


def reads(text: str) -> list[tuple[re.Match[str], str]]:
    """The reads of a text whose arrays it declares, each with its dtype."""
    dtypes = dict(DECLARED.findall(text))
    return [(found, dtypes[found[1]]) for found in READ.finditer(text) if found[1] in dtypes]


def put(text: str, start: int, end: int, new: str) -> str:
    return text[:start] + new + text[end:]


def value(text: str, chance: random.Random) -> str:
    """A read is another value, beside another read, or beside a cell of the thread's own that holds 1, an infinity, or nothing."""
    one, dtype = chance.choice(reads(text))
    other = chance.choice([found[0] for found, of in reads(text) if of == dtype])
    text = put(text, *one.span(), wrap(same(chance, dtype).format(e=one[0], w=other)))
    return with_cell(text, other, dtype, chance) if chance.random() < 0.25 else text


def with_cell(text: str, other: str, dtype: str, chance: random.Random) -> str:
    """The text with a cell in the place of one read."""
    ends = ("1",) if dtype in WHOLE else ("1", "inf", "-inf")
    first = chance.choice(("", "", *(f"u_[] = {end}" for end in ends), "u_[] = 1 if t < 2", "if t > 9 { u_[] = 1 }"))
    begun = BODY.search(text)
    place = text.rfind(other)
    if begun is None or place < begun.end():
        return text
    text = put(text, place, place + len(other), "u_[]")
    return put(text, begun.end(), begun.end(), f"\nlocal u_: {dtype}[]\n{first}\n")


def both(text: str, chance: random.Random) -> str:
    """Every read of one array is another value: the same in the equation and in the program, or two that a law says are one."""
    name, dtype = chance.choice([(found[1], dtype) for found, dtype in reads(text)])
    sides = list(chance.choice(WHOLE_LAWS if dtype in WHOLE else LAWS))
    chance.shuffle(sides)
    mine, theirs = sides if chance.random() < 0.5 else [same(chance, dtype)] * 2
    beside = chance.choice((BESIDE, BESIDE, ""))

    def changed(part: str, template: str) -> str:
        return READ.sub(lambda m: wrap(template.format(e=m[0], w=beside or m[0])) if m[1] == name else m[0], part)

    equation, machine, program = text.partition("\nmachine ")
    made = changed(equation, mine) + machine + changed(program, theirs)
    return re.sub(r"\bop (\w+)\(", rf"op \1({BESIDE}: {dtype}, ", made) if BESIDE in made else made


def guard(text: str, chance: random.Random) -> str:
    """A condition and another one that is always true, or without one that never is, or so it seems."""
    one = chance.choice(list(GUARD.finditer(text)))
    read, dtype = chance.choice(reads(text))
    other = chance.choice([found[0] for found, of in reads(text) if of == dtype])
    extra = truth(chance, dtype) if (seems := chance.random() < 0.8) else chance.choice(WHOLE_NEVER if dtype in WHOLE else NEVER)
    extra = extra.format(e=read[0], w=other)
    pairs = ((one[1], extra), (extra, one[1]))
    joined = (
        " and ".join(chance.choice(pairs)) if seems else chance.choice((f"({one[1]} or {extra})", f"{one[1]} and not ({extra})"))
    )
    return put(text, *one.span(1), joined)


TROUBLE = (value, value, both, both, guard)
