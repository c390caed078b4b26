"""Whatever is written, the answer is a spec or messages with a place: never a traceback.

Comes in: shipped and wrong specs with words exchanged, dropped or repeated. Goes out: nothing but `Spec` or `TinygpuError`.
The one idea: mistakes that people make are small changes of right texts, so small changes of right texts are what is tried.
"""

from __future__ import annotations

import random
import re
import time
from pathlib import Path

import pytest

from tinygpu.catalogue import CATALOGUE
from tinygpu.derive.derive import derive
from tinygpu.diagnostic import TinygpuError
from tinygpu.model.elaborate import elaborate
from tinygpu.syntax.parse import parse

ROOT = Path(__file__).resolve().parents[2]
TEXTS = [p.read_text(encoding="utf-8") for p in sorted([*ROOT.glob("specs/*.tgpu"), *ROOT.glob("tests/wrong/TG1*.tgpu")])]
WORDS = re.compile(r"\s+|[A-Za-z_]\w*|\d+\.?\d*|//|==|<=|>=|!=|->|\S")
OTHERS = ["0", "1", "2.5", "inf", "true", "n", "i", "f16", "i32", "bool", "3000000000", "g", "t", "x"]

ARRAY = """op f(x: f32[n]) -> (y: f32[n]) { y[i] = x[i] }
machine m : f {
  work grid = (g: n), block = (t: 32)
  program {
    shared s: f32[AXES]
    y[g] = x[g] if t == 0
  }
}
"""


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


def test_thousands_of_axes_are_not_looked_at() -> None:
    sizes, indices = (", ".join(f"{letter}{k}" for k in range(4000)) for letter in "ni")
    declared = f"op f(x: f32[{sizes}]) -> (y: f32[{sizes}]) {{ z[{indices}] = x[{indices}]\n y[{indices}] = z[{indices}] }}"
    tree, start = parse(declared, "wide"), time.process_time()
    with pytest.raises(TinygpuError) as caught:
        elaborate(tree)
    assert [d.code for d in caught.value.diagnostics] == ["TG145"] * 3
    assert time.process_time() - start < 2
    (machine,) = elaborate(parse(ARRAY.replace("AXES", ", ".join("1" * 17)), "wide")).machines
    with pytest.raises(TinygpuError, match="TG145 a tensor has at most 16 axes, not 17"):
        derive(machine)
