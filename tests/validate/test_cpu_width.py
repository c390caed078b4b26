"""What a CPU counts to: 64 bits are enough for its text wherever the launcher calls it, and it says so where they are not.

Comes in: machines on a CPU whose indices go far beyond their arrays. Goes out: results, an error of the launcher, and a text that is refused.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.program.library import proof_of
from tinygpu import pipeline
from tinygpu.emit.module import Built
from tinygpu.run.load import load

WRAPS = """op twice(x: f32[n]) -> (y: f32[n]) { y[i] = 2*x[i] }
machine m : twice on cpu {
  work core = (g: ceil(n / 32))
  program { for t < 32 { if g*32 + t < n { y[g*32 + t] = 2*x[((g*32 + t)*FACTOR) // FACTOR] } } }
}"""


def built(factor: int) -> tuple[str, list[Built]]:
    ready = [pipeline.built(proof_of(WRAPS.replace("FACTOR", str(factor))))]
    text, said = pipeline.read_back("m.tgpu", ready)
    assert not said
    return text, ready


@pytest.mark.parametrize("power, most", [(40, 1 << 22), (58, 32), (62, 0)])
def test_what_wraps_is_refused_by_the_launcher(power: int, most: int) -> None:
    call = load(built(2**power)[0], "m").m
    x = np.arange(40, dtype=np.float32)
    if len(x) <= most:
        assert (call(x) == 2 * x).all()
    else:
        with pytest.raises(ValueError, match="TG810 m: too large"):
            call(x)


def test_a_launcher_that_does_not_ask_is_refused() -> None:
    text, ready = built(2**62)
    asked = re.search(r'^    "counted": .*$', text, re.MULTILINE)
    assert asked is not None
    for less in ('    "counted": (),', asked[0].replace("4611686018427387904", "2")):
        (found,) = pipeline.validate(text.replace(asked[0], less), ready)
        assert found.code == "TG822" and "counted is" in found.labels[0].text


def test_a_text_that_counts_further_than_its_program_is_refused() -> None:
    text, ready = built(3)
    edited = text.replace("i_chunk * 8192 + i_in", "i_chunk * 8192 * 4611686018427387904 // 4611686018427387904 + i_in")
    assert edited != text and not pipeline.validate_cpu(text, ready)
    (found,) = pipeline.validate_cpu(edited, ready)
    assert found.code in ("TG820", "TG823")
