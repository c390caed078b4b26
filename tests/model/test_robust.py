"""Whatever is written, the answer is a spec or messages with a place: never a traceback.

Comes in: shipped and wrong specs with words exchanged, dropped or repeated. Goes out: nothing but `Spec` or `TinygpuError`.
The one idea: mistakes that people make are small changes of right texts, so small changes of right texts are what is tried.
"""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from tinygpu.catalogue import CATALOGUE
from tinygpu.diagnostic import TinygpuError
from tinygpu.model.elaborate import elaborate
from tinygpu.program.derive import derive
from tinygpu.syntax.parse import parse

ROOT = Path(__file__).resolve().parents[2]
TEXTS = [p.read_text(encoding="utf-8") for p in sorted([*ROOT.glob("specs/*.tgpu"), *ROOT.glob("tests/wrong/TG1*.tgpu")])]
WORDS = re.compile(r"\s+|[A-Za-z_]\w*|\d+\.?\d*|//|==|<=|>=|!=|->|\S")
OTHERS = ["0", "1", "2.5", "inf", "true", "n", "i", "f16", "i32", "bool", "3000000000", "g", "t", "x"]


def mutated(text: str, chance: random.Random) -> str:
    """The text with one to three words exchanged for others of it, for numbers, or dropped."""
    words = WORDS.findall(re.sub(r"#.*", "", text))
    names = [i for i, word in enumerate(words) if re.match(r"\w", word)]
    for _ in range(chance.choice((1, 1, 2, 3))):
        place = chance.choice(names)
        words[place] = chance.choice((words[chance.choice(names)], words[chance.choice(names)], chance.choice(OTHERS), ""))
    return "".join(words)


@pytest.mark.parametrize("seed", range(8))
def test_a_mutated_spec_is_elaborated_or_refused(seed: int) -> None:
    chance = random.Random(seed)
    refused = taken = 0
    for _ in range(60):
        text = mutated(chance.choice(TEXTS), chance)
        try:
            for machine in elaborate(parse(text, "mutated")).machines[:2]:
                derive(machine)
            taken += 1
        except TinygpuError as error:
            refused += 1
            for found in error.diagnostics:
                assert found.code in CATALOGUE and found.title
                assert 0 <= found.span.start <= found.span.end <= len(text), (found, text)
    assert refused > taken
