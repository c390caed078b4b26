"""Modules to validate: the texts of specs, made without a proof, and edits of them.

Comes in: the name of a spec, and of machines in it. Goes out: the text that is emitted, and what is to stand behind its names; the text with
one place changed. The one idea: validation compares a text with programs, so that these are proved is another test's business.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from tinygpu import pipeline
from tinygpu.derive.unpack import unpack
from tinygpu.diagnostic import Diagnostic
from tinygpu.emit.module import Built, emit, launcher_names
from tinygpu.obligations.width import cpu_limits, limits
from tinygpu.validate.check import validate
from tinygpu.validate.launcher import Expected

SPECS = Path(__file__).resolve().parents[2] / "specs"


@cache
def emitted(spec: str, *machines: str) -> tuple[str, tuple[Expected, ...]]:
    """The module of a spec, or of some of its machines."""
    loaded = pipeline.load(SPECS / f"{spec}.tgpu")
    chosen = [m for m in loaded.machines if not machines or m.title in machines]
    programs = [pipeline.program(m) for m in chosen]
    built = [Built(m, unpack(p), (), limits(p), cpu_limits=cpu_limits(unpack(p))) for m, p in zip(chosen, programs, strict=True)]
    expected = [Expected(n, b.program, None, b.limits) for n, b in zip(launcher_names(chosen), built, strict=True)]
    return emit(f"{spec}.tgpu", built), tuple(expected)


def edited(text: str, old: str, new: str, after: str = "") -> tuple[str, int]:
    """The text with one place changed, the first one behind a line that holds `after`; and the number of the line."""
    start = text.index(after) if after else 0
    place = text.index(old, start)
    return text[:place] + new + text[place + len(old) :], text.count("\n", 0, place) + 1


def found(text: str, expected: Sequence[Expected]) -> tuple[Diagnostic, ...]:
    """What is wrong with a text, but for keys: they are of the text that was emitted."""
    return tuple(d for d in validate(text, expected, "m.py") if "is no key of the text" not in d.labels[0].text)
