"""Texts to throw at the front door: the shipped ones, changed word by word and byte by byte, and what the grammar alone would write.

Comes in: a seed. Goes out: one input, as bytes, the same for the same seed. The one idea: whatever a seed gives can be made again, so a
finding is a number.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

from tests.front.grown import grown

ROOT = Path(__file__).resolve().parents[2]
WORDS = re.compile(r"\s+|[A-Za-z_]\w*|\d+\.?\d*|//|==|<=|>=|!=|->|\S")
NAMES = [
    "n", "m", "k", "i", "j", "x", "y", "z", "g", "t", "acc", "__class__", "__import__", "eval", "lambda", "None", "self",
    "print", "é", "sum", "if", "where", "barrier",
]  # fmt: skip
NUMBERS = ("0", "1", "2", "3", "7", "16", "32", "33", "1024", "65536", "2147483648", "18446744073709551616", "1" + "0" * 40)
FLOATS = ("0.5", "1e308", "1e999", "1e-999", "2.5E+4", "1" + "0" * 400 + ".5")
SIGNS = [
    "+", "-", "*", "/", "//", "%", "^", "<", "<=", ">", ">=", "==", "!=", "=", "+=", "|=", "max=", "(", ")", "[", "]", "{", "}", ",",
    ":", ".", "->", "|", "-1", "-n", "2*n", "n*n", "n/0", "n%0", "n//0",
]  # fmt: skip
KINDS = ["f32", "f64", "f16", "bf16", "i32", "i64", "i8", "u8", "i16", "u64", "bool", "f8", "index", "argmax", "lse"]
ODD = ["\0", "\ufeff", "\r\n", "\r", "\t", "\u2028", "\u202e", "\u00a0", "\x1b[31m", *"'\"\\#`;", "\U0001f600", "\ud7ff"]
OTHERS = (NAMES, NUMBERS, FLOATS, SIGNS, KINDS, ODD)


@cache
def corpus() -> tuple[str, ...]:
    """All specs, and the small ones that are wrong on purpose."""
    paths = [*sorted(ROOT.glob("specs/*.tgpu")), *sorted(ROOT.glob("tests/wrong/*.tgpu"))]
    return tuple(path.read_text(encoding="utf-8") for path in paths)


def text_of(seed: int) -> bytes:
    """The input with that number."""
    chance = random.Random(seed)
    (way,) = chance.choices([*WAYS], weights=[*WAYS.values()])
    return way(chance)


def words(chance: random.Random) -> bytes:
    """Words exchanged for words of their own kind (a name for a name, a sign for a sign) or of any other, for numbers near and huge; dropped, doubled."""
    parts = WORDS.findall(re.sub(r"#.*", "", chance.choice(corpus())))
    for _ in range(chance.choice((1, 1, 2, 3, 6))):
        place = chance.choice([n for n, part in enumerate(parts) if part.strip()] or [0])
        part = parts[place]
        alike = [p for p in parts if p[:1].isalpha() == part[:1].isalpha() and p[:1].isdigit() == part[:1].isdigit() and p.strip()]
        near = [str(int(part) + step) for step in (-1, 1, 2)] + [*NUMBERS] if part.isdigit() else alike or [part]
        parts[place] = chance.choice(
            (*[chance.choice(alike or [part])] * 4, *[chance.choice(near)] * 3, chance.choice(chance.choice(OTHERS)), "", part * 2)
        )
    return "".join(parts).encode()


def lines(chance: random.Random) -> bytes:
    """Lines moved, doubled, dropped, or taken from another text."""
    rows = chance.choice(corpus()).split("\n")
    for _ in range(chance.choice((1, 1, 2, 4))):
        place = chance.randrange(len(rows))
        away = chance.choice(corpus()).split("\n")
        rows[place : place + chance.randrange(3)] = chance.choice(
            ([], [rows[place]] * 2, [chance.choice(away)], [chance.choice(rows)])
        )
        rows = rows or [""]
    return "\n".join(rows).encode()


def damaged(chance: random.Random) -> bytes:
    """Bytes changed, cut off, put in, moved."""
    data = bytearray(chance.choice(corpus()).encode())
    for _ in range(chance.choice((1, 1, 2, 3, 8, 30))):
        place = chance.randrange(len(data)) if data else 0
        match chance.randrange(5):
            case 0:
                data[place : place + 1] = bytes([chance.randrange(256)])
            case 1:
                del data[place : place + chance.choice((1, 1, 3, 20))]
            case 2:
                data[place:place] = chance.choice(ODD).encode()
            case 3:
                data[place:place] = data[place : place + chance.choice((1, 5, 40))] * chance.choice((1, 2, 20))
            case 4 if chance.random() < 0.1:
                del data[place:]
    return bytes(data)


def pieces(chance: random.Random) -> bytes:
    """An expression or a line of a shipped spec exchanged for what the grammar gives; or a whole text of it."""
    text, rule = chance.choice(corpus()), chance.choice(("expr", "expr", "_clause", "_statement", "equation", "start"))
    made = grown(chance, rule, chance.choice((2, 4, 6)))
    if rule == "start":
        return made.encode()
    form = r"[\[(=]\s*([^\[\](){}=#\n]+?)\s*(?=[\])\n])" if rule == "expr" else r"(?m)^(.*)$"
    start, end = chance.choice([m.span(1) for m in re.finditer(form, text)] or [(0, 0)])
    return (text[:start] + made + text[end:]).encode()


WAYS: dict[Callable[[random.Random], bytes], int] = {words: 13, lines: 3, damaged: 2, pieces: 5}
