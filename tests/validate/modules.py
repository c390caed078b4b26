"""Modules to validate: the texts of specs, made without a proof, and edits of them.

Comes in: the name of a spec, and of machines in it. Goes out: the text that is emitted, and what is to stand behind its names; the text with
one place changed. The one idea: validation compares a text with programs, so that these are proved is another test's business.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from tests.conftest import ROOT
from tests.program.library import library, unproved
from tinygpu.diagnostic import Diagnostic
from tinygpu.emit.module import emit, launcher_names
from tinygpu.model.machine import Machine
from tinygpu.validate.check import validate
from tinygpu.validate.launcher import Expected

SPECS = ROOT / "specs"


@cache
def emitted(spec: str, *machines: str) -> tuple[str, tuple[Expected, ...]]:
    """The module of a spec, or of some of its machines."""
    chosen = [m for m in library(spec) if not machines or m.title in machines]
    return module(f"{spec}.tgpu", chosen)


def module(file: str, machines: Sequence[Machine]) -> tuple[str, tuple[Expected, ...]]:
    """The module of machines, and what is to stand in it."""
    built = unproved(machines)
    expected = (Expected(n, b.program, None, b.limits, b.cpu_limits) for n, b in zip(launcher_names(machines), built, strict=True))
    return emit(file, built), tuple(expected)


def edited(text: str, old: str, new: str, after: str = "") -> tuple[str, int]:
    """The text with one place changed, the first one behind a line that holds `after`; and the number of the line."""
    start = text.index(after) if after else 0
    place = text.index(old, start)
    return text[:place] + new + text[place + len(old) :], text.count("\n", 0, place) + 1


def found(text: str, expected: Sequence[Expected]) -> tuple[Diagnostic, ...]:
    """What is wrong with a text, but for keys: they are of the text that was emitted."""
    return tuple(d for d in validate(text, expected, "m.py") if "is no key of the text" not in d.labels[0].text)
