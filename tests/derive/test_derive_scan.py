"""Scans on many shapes of a block: each is proved, for a GPU and for one thread of a CPU, and reads back from its own text.

The one idea: one equation on many shapes of a block; what is exclusive, guarded, of pairs, or followed by something is the same program.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.program.library import machines, reread
from tinygpu.derive.derive import derive
from tinygpu.derive.sequential import sequential
from tinygpu.proof.check import Proof, check

TEXT = (Path(__file__).parent / "scans.tgpu").read_text(encoding="utf-8")
WARP = "work grid = (g), block = (w: 4, lane: 32)\n compute r = (g, w), i = (c, lane, v: 2)\n time c\n vector v"
BLOCK = "work grid = (r), block = (t: 64)\n compute i = (c, t, v: 2)\n time c\n vector v"
PLACES = {
    "warp": WARP,
    "block": BLOCK,
    "thread": "work grid = (g), block = (t: 32)\n compute r = (g, t)\n time i",
    "half": "work grid = (g), block = (e: 2, lane: 16)\n compute r = (g, e), i = (c, lane)\n time c",
    "slow": "work grid = (r), block = (u: 4, w: 24)\n compute i = (c, u, w)\n time c",
    "cells": "work grid = (g), block = (w: 2, lane: 32)\n compute r = (g, w, u: 2), i = (c, lane)\n time c\n register u",
    "once": "work grid = (r), block = (lane: 32)\n compute i = (lane, v: 4)\n register v\n where N <= 128",
    "turns": "work grid = (g), block = (lane: 32)\n compute r = (g, q: 2), i = (c, lane)\n time q, c",
}
ORDERED = {
    "warp": "work grid = (g), block = (w: 4, lane: 32)\n compute r = (g, w), k = (lane, c)\n time c",
    "block": "work grid = (r), block = (t: 64)\n compute k = (t, c: 4, v: 2)\n time c\n vector v\n where N <= 512",
    "half": "work grid = (g), block = (e: 2, lane: 16)\n compute r = (g, e), k = (lane, c)\n time c",
}


MADE = [("sums", PLACES), ("states", PLACES), ("state", ORDERED)]
CASES = machines(
    TEXT + "".join(f"machine {op}_{name} : {op} {{ {text} }}\n" for op, places in MADE for name, text in places.items())
)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CASES)
def test_it_is_proved_for_a_gpu_and_for_a_cpu(name: str) -> None:
    for one in (CASES[name], sequential(CASES[name])):
        program = derive(one)
        assert isinstance(check(program), Proof) and reread(program, one).launches == program.launches
