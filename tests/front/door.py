"""One input through every door: read, parse, format, elaborate, derive, check, show, explain; and what is said about it.

Comes in: bytes. Goes out: a `Finding` where something is wrong, else a word for the deepest stage. The one idea: an answer is a success or
a diagnostic whose code is known, whose place is in the text and whose words are for people; all else is a finding.
"""

from __future__ import annotations

import random
import re
import traceback
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tinygpu import pipeline
from tinygpu.commands.common import read_text
from tinygpu.commands.explain import pages
from tinygpu.commands.fmt import formatted
from tinygpu.commands.show import STAGES, stage_text
from tinygpu.commands.specs import judge
from tinygpu.diagnostic import Diagnostic, TinygpuError
from tinygpu.report import FORMATS, report

BUDGET = 20_000  # solver steps: enough for the easy claims
MACHINES = 2  # of one text
INTERNAL = re.compile(r"Traceback|object at 0x|NoneType|<class '|\bApp\(|\bVar\(|\bConst\(|\bSpan\(|dataclass|assert")


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong: `traceback`, `message`, `format`; with the last lines of it."""

    kind: str
    text: str

    @property
    def key(self) -> str:
        """What two findings of one cause have in common: where it was raised, or what was said."""
        places = re.findall(r"(tinygpu/\S+\.py)\", line (\d+)", self.text)
        return (
            f"{self.kind} {':'.join(places[-1])} {self.text.splitlines()[-1][:80]}" if places else f"{self.kind} {self.text[:100]}"
        )


def through(path: Path, seed: int = 0) -> tuple[str, Finding | None]:
    """`path of an input → how far it came, what is wrong`."""
    try:
        return walked(path, random.Random(seed))
    except Complaint as complaint:
        return "message", Finding("message", str(complaint))
    except Exception:  # noqa: BLE001 (that nothing gets here is what is tested)
        return "traceback", Finding("traceback", traceback.format_exc(limit=-12))


def walked(path: Path, chance: random.Random) -> tuple[str, Finding | None]:
    """All doors, as the commands open them."""
    try:
        text = read_text(str(path))
        formatted(text, str(path))
    except TinygpuError as error:
        said(error.diagnostics, "", path, chance)
        return "parse", None
    try:
        spec = pipeline.load_text(text, str(path))
    except TinygpuError as error:
        said(error.diagnostics, text, path, chance)
        return "elaborate", None
    deepest = "elaborated"
    for machine in chance.sample(spec.machines, min(MACHINES, len(spec.machines))):
        judged = judge(str(path), machine, BUDGET)
        said(judged.diagnostics, text, path, chance)
        deepest = judged.word
        for stage in STAGES:
            try:
                stage_text(machine, stage)
            except TinygpuError as error:
                said(error.diagnostics, text, path, chance)
        if isinstance(judged.verdict, pipeline.Proof):
            pipeline.module("made", [pipeline.built(judged.verdict, machine)])
    return deepest, None


@cache
def known() -> frozenset[str]:
    """The codes that have a page."""
    return frozenset(pages())


class Complaint(Exception):
    """A message that is not good enough."""


def said(diagnostics: tuple[Diagnostic, ...], text: str, path: Path, chance: random.Random) -> None:
    """Every message has a page, has its place in the text, and can be written in every form."""
    for one in diagnostics:
        if one.code == "TG901" or one.code not in known():
            raise Complaint(f"{one.code} has no page")
        words = " ".join((one.title, *one.notes, *one.helps, *(label.text for label in one.labels)))
        if not one.title or INTERNAL.search(words):
            raise Complaint(f"{one.code} says: {words[:300]}")
        for label in one.labels:
            if label.span.file == str(path) and text and not 0 <= label.span.start <= label.span.end <= len(text):
                raise Complaint(f"{one.code} {one.title}: {label.span} is not in the text")
        if not one.labels and text and one.verdict == "error":
            raise Complaint(f"{one.code} has no place: {one.title}")
    for style in FORMATS:
        report(diagnostics, {str(path): text}, style, color=chance.random() < 0.5)
