"""Random programs with trouble in them: `program(seed, number)` is a text, the same everywhere.

Comes in: a seed and a number. Goes out: the text of an op and of a machine. The one idea: a right program of some kind is drawn, and trouble is put
wherever a term may stand: in the equation, in the program, or in both, so that about half of what comes out is right; some are edited after that.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.meaning import alone, clashes, corners, edges, mixed, together
from tests.meaning.edits import base, edited
from tests.meaning.trouble import Trouble

BEYOND = "# by a law of functions"
KINDS: tuple[Callable[[Trouble], str], ...] = (
    *alone.KINDS,
    *edges.KINDS,
    *together.KINDS,
    *mixed.KINDS,
    *clashes.KINDS,
    *corners.KINDS,
)
EDITED = 0.25


def program(seed: int, number: int) -> str:
    """The text of one program."""
    chance = random.Random(f"{seed} {number}")
    trouble = Trouble(chance, chance.choice((0.1, 0.2, 0.2, 0.35)))
    if chance.random() < EDITED:
        text = edited(base(chance) if chance.random() < 0.5 else chance.choice(KINDS)(trouble), chance)
    else:
        text = chance.choice(KINDS)(trouble)
    return f"{BEYOND}\n{text}" if trouble.beyond else text
