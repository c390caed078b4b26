"""Small specs whose launchers show one thing each, and their modules.

Comes in: a name of `launchers/`. Goes out: the module, emitted and loaded once. The one idea: launchers are tested as users get them.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from types import ModuleType

from tests.program.library import unproved
from tinygpu.emit.module import Built, emit
from tinygpu.pipeline import load_text
from tinygpu.run.load import load

WORK = "work grid = (g), block = (t: 64)\n  compute i = (g, t)"
SPECS = {path.stem: path.read_text(encoding="utf-8") for path in sorted((Path(__file__).parent / "launchers").glob("*.tgpu"))}


def built(spec: str, file: str = "names.tgpu") -> list[Built]:
    """What the machines of a text are emitted from; nothing is proved."""
    return unproved(load_text(spec, file).machines)


def text(name: str) -> str:
    """The module's source."""
    return emit(f"{name}.tgpu", built(SPECS[name], f"{name}.tgpu"))


@cache
def module(name: str) -> ModuleType:
    """The module, loaded."""
    return load(text(name), name)
