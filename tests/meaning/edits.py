"""Random programs: `program(seed, number)` is a text, the same everywhere.

Comes in: a seed and a number. Goes out: a program of the collection with an edit or two: what a careless hand does, or trouble where a term stands.
The one idea: whatever the tests have of programs that are right, or wrong in one place, is where random programs begin; what they are worth is for
the judge to say.
"""

from __future__ import annotations

import random
import re
from pathlib import Path

from tests.meaning.trouble import TROUBLE
from tinygpu import pipeline
from tinygpu.diagnostic import TinygpuError

NAME = re.compile(r"(?<![\w.])[a-zA-Z]\w*")
NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")
SIGN = re.compile(r" (<=|>=|==|!=|<|>|\+|-|\*|and|or) |(?<=[\w\]])[*/](?=[\w\[])")
WORDS = """op machine program work grid block local shared workspace launch barrier warp for if else and or not where all any holds atomic monoid unit lift
    combine fold sum max min prod inf exp log sqrt rsqrt abs floor tanh sigmoid ceil index f16 bf16 f32 f64 i8 u8 i32 u32 i64 bool compute time register
    strided inplace stage at in vector simd cpu on cluster copy store by equations launch bitor bitand xor argmax argmin
    argmax_f32 scan_sum u16 u64 i16 round shuffle_up shuffle_down shuffle_xor shuffle_idx"""
KEPT = frozenset(re.findall(r"\w+", WORDS))
FRESH = ("{}_", "{}_1", "_{}", "{}0")
SIGNS = {
    "<": ("<=", ">"),
    "<=": ("<", "=="),
    ">": (">=", "<"),
    ">=": (">", "=="),
    "==": ("!=", "<="),
    "!=": ("==",),
    "and": ("or",),
    "or": ("and",),
}
WORDS_ALIKE = {  # what a careless hand takes for another, or leaves out
    "atomic ": ("",),
    " strided": ("",),
    "+=": ("=", "max="),
    "|=": ("^=", "=", "&="),
    "^=": ("|=", "="),
    "&=": ("|=",),
    "max=": ("min=", "="),
    "bitor": ("xor", "bitand"),
    "xor": ("bitor",),
    "argmax": ("argmin", "max"),
    "argmax_f32=": ("=",),
    " + 1]": ("]", " + 2]"),
    " holds ": (" = ",),
    " | 0]": ("]", " | 1]"),
    " by w": ("",),
    "store w": ("",),
    "<<": (">>",),
    ">>": ("<<",),
    "..": (".. 1 +",),
}
TRIES = 20
HERE = Path(__file__).parent
WRONG, *RIGHT = (  # blocks are large in the last two
    sorted((HERE / folder).glob("*.tgpu"))
    for folder in ("unsound", "right", "right", "seen", "../obligations/right", "../obligations/together")
)


def program(seed: int, number: int) -> str:
    """The text of one program. Trouble is put into what is right; a careless hand may also make what is wrong right."""
    chance = random.Random(f"{seed} {number}")
    kinds = chance.choice((TROUBLE, TROUBLE, TROUBLE + EDITS, EDITS))
    for _ in range(TRIES):
        path = chance.choice(WRONG if kinds is EDITS and chance.random() < 0.5 else chance.choice(RIGHT))
        found = old = single(path.read_text(encoding="utf-8"), chance)
        for _ in range(chance.choice((1, 1, 2))):
            try:
                found = chance.choice(kinds)(found, chance)
            except IndexError:
                continue  # there is no such place in it
        if found != old and is_program(found):
            return found.strip() + "\n"
    raise AssertionError(f"no program {number} of seed {seed}")


def single(text: str, chance: random.Random) -> str:
    """One machine of a text without its comments, with its op."""
    text = "\n".join(line for line in text.splitlines() if not line.startswith("#")).strip() + "\n"
    parts = re.split(r"\n+(?=(?:op|machine|monoid|def|param|import) )", text)
    machines = [part for part in parts if part.startswith("machine ")]
    if len(machines) < 2:
        return text
    one = chance.choice(machines)
    served = re.findall(r"\w+", one.partition(":")[2].partition("{")[0])
    ops = {part: re.findall(r"op (\w+)", part) for part in parts if part.startswith("op ")}
    return "\n\n".join(p for p in parts if p is one or (p not in machines and ops.get(p, served)[0] in served)) + "\n"


def is_program(text: str) -> bool:
    """Whether it can be read, and has one machine."""
    try:
        return len(pipeline.load_text(text).machines) == 1
    except TinygpuError:
        return False


def names(text: str, chance: random.Random) -> str:
    """A name becomes one that is there already, or one that a checker might make."""
    found = sorted({name for name in NAME.findall(text) if name not in KEPT})
    old, other = chance.choice(found), chance.choice(found)
    new = other if chance.random() < 0.6 else chance.choice(FRESH).format(other)
    return re.sub(rf"(?<![\w.]){old}\b", new, text)


def occurrence(text: str, chance: random.Random) -> str:
    """A name is another one at one place."""
    places = [found for found in NAME.finditer(text) if found[0] not in KEPT]
    one, other = chance.choice(places), chance.choice(places)
    return text[: one.start()] + other[0] + text[one.end() :]


def number(text: str, chance: random.Random) -> str:
    """A number is another one."""
    places = list(NUMBER.finditer(text))
    if not places:
        return text
    one = chance.choice(places)
    new = chance.choice((str(int(one[0]) + 1), str(max(0, int(one[0]) - 1)), "0", "1", chance.choice(places)[0]))
    return text[: one.start()] + new + text[one.end() :]


def sign(text: str, chance: random.Random) -> str:
    """An operation or a comparison is another one."""
    places = list(SIGN.finditer(text))
    if not places:
        return text
    one = chance.choice(places)
    old = one[0].strip()
    new = chance.choice(SIGNS.get(old, ("+", "-", "*")))
    return text[: one.start()] + one[0].replace(old, new) + text[one.end() :]


def word(text: str, chance: random.Random) -> str:
    """A word that says what is done is another one, at one place."""
    places = [(found, old) for old in WORDS_ALIKE for found in re.finditer(re.escape(old), text)]
    one, old = chance.choice(places)
    return text[: one.start()] + chance.choice(WORDS_ALIKE[old]) + text[one.end() :]


def lines(text: str, chance: random.Random) -> str:
    """A step is left out, stands twice, or after the next one."""
    every = text.splitlines()
    steps = [k for k, line in enumerate(every) if line.startswith("    ") and "{" not in line and "}" not in line]
    if len(steps) < 2:
        return text
    at = chance.choice(steps[:-1])
    match chance.randrange(3):
        case 0:
            del every[at]
        case 1:
            every.insert(at, every[at])
        case _:
            every[at], every[at + 1] = every[at + 1], every[at]
    return "\n".join(every) + "\n"


EDITS = (names, names, occurrence, number, sign, word, lines)
