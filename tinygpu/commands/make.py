"""One spec made a module: its machines proved, what is built of them, the text, and what is said of that.

Comes in: a path and machines. Goes out: the text of a module with its name, or why there is none. The one idea: whatever goes wrong is said of this spec
and the machine that was at work, as others are built beside it.
"""

from __future__ import annotations

import keyword
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tinygpu import runtime
from tinygpu.category.deadline import TIME
from tinygpu.commands.common import bug
from tinygpu.commands.specs import Judged, judge
from tinygpu.diagnostic import Diagnostic, TinygpuError
from tinygpu.record import dataclass, replace

if TYPE_CHECKING:
    from tinygpu.emit.module import Built
    from tinygpu.model.machine import Machine


@dataclass(frozen=True, slots=True)
class Made:
    """What came of a spec: the titles of its machines that were asked for, each with a word for what came of it, what is said of them, and where
    all are proved the text of the module and what is said of that."""

    verdicts: tuple[tuple[str, str], ...]
    diagnostics: tuple[Diagnostic, ...]
    text: str = ""
    found: tuple[Diagnostic, ...] = ()


def make(path: str, machines: Sequence[Machine], output: str, limit: float = TIME, raising: bool = True) -> Made:
    """One spec proved, printed and read back; nothing is printed of it where a machine is not proved, or cannot be built, which is said of it. With
    `raising` a bug of tinygpu is raised, else it is said of this spec, and the others are built."""
    from tinygpu import pipeline

    found: list[Judged] = []
    ready: list[Built] = []
    title = path
    try:
        for machine in machines:
            title = f"{machine.title} of {path}"
            found.append(judge(path, machine, limit=limit))
            if isinstance(proof := found[-1].verdict, pipeline.Proof):
                ready.append(pipeline.timely(limit, machine, partial(pipeline.built, proof, machine)))
        made = Made(tuple((j.machine.title, j.word) for j in found), tuple(d for j in found for d in j.diagnostics))
        if not found or len(ready) < len(found):
            return made
        title, place = path, "the module" if output == "-" else str(target(path, output))
        text, said = pipeline.timely(limit * len(ready), machine, partial(pipeline.read_back, titled(path), ready, place))
        return replace(made, text=text, found=said)
    except TinygpuError as error:
        wrong, word = error.diagnostics, "unknown" if all(d.verdict == "unknown" for d in error.diagnostics) else "error"
    except Exception as error:
        if raising:
            raise
        wrong, word = (bug(error),), "error"
    said = tuple(replace(d, notes=(*d.notes, f"while building {title}")) for d in wrong)
    return Made(((title, word),), (*(d for j in found for d in j.diagnostics), *said))


def module_text(path: str, judged: list[Judged]) -> str:
    """`proved machines of one spec → text of its module`. Raises TinygpuError where it is not what was proved."""
    from tinygpu import pipeline

    return pipeline.sound(titled(path), ready(judged))


def titled(path: str) -> str:
    """What a module says that it is made of."""
    return Path(path).name if path != "-" else "the standard input"


def ready(judged: list[Judged]) -> list[Built]:
    """The machines that are proved, as the emitter takes them."""
    from tinygpu import pipeline

    return [pipeline.built(j.verdict, j.machine) for j in judged if isinstance(j.verdict, pipeline.Proof)]


def module_name(path: str) -> str:
    """The file of a spec's module: `matmul.py`, and `_2d.py` of a spec that begins with a digit. Raises TG905 for a name that Python cannot
    import.

    >>> module_name("specs/matmul.tgpu"), module_name("100_relu.tgpu")
    ('matmul.py', '_100_relu.py')
    """
    stem = "kernels" if path == "-" else Path(path).stem
    stem = f"_{stem}" if stem[:1].isdigit() else stem
    if not stem.isidentifier() or keyword.iskeyword(stem):
        title = f"{path} cannot be a module: {stem!r} is no name in Python"
        raise TinygpuError.of("TG905", title, help="rename the file, or print the module with -o -")
    if stem in ("numba", "numpy", runtime.NAME):  # which the module itself imports
        title = f"{path} cannot be a module: {stem}.py would stand before the {stem} that it imports itself"
        raise TinygpuError.of("TG905", title, help="rename the file")
    return f"{stem}.py"


def target(path: str, output: str) -> Path:
    """Where the module of a spec is written."""
    return Path(output) / module_name(path)
