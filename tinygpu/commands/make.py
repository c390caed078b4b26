"""One spec made a module: its machines proved, what is built of them, the text, and what is said of that.

Comes in: a path and machines. Goes out: the text of a module with its name, or why there is none. The one idea: whatever goes wrong is said of this spec
and the machine that was at work, as others are built beside it.
"""

from __future__ import annotations

import keyword
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar

from tinygpu import runtime
from tinygpu.category.deadline import TIME
from tinygpu.commands import theorems
from tinygpu.commands.common import bug
from tinygpu.commands.judged import Judged, judge
from tinygpu.diagnostic import Diagnostic, TinygpuError
from tinygpu.record import dataclass, replace

if TYPE_CHECKING:
    from tinygpu.emit.module import Built
    from tinygpu.model.choice import Choice
    from tinygpu.model.gradient import Gradient
    from tinygpu.model.machine import Machine
    from tinygpu.model.pipeline import Pipeline
    from tinygpu.pipeline import Each

T = TypeVar("T")
SOON = 0.5  # seconds


@dataclass(frozen=True, slots=True)
class Made:
    """What came of a spec: the titles of its machines that were asked for, each with a word for what came of it, what is said of them, and where
    all are proved the text of the module and what is said of that."""

    verdicts: tuple[tuple[str, str], ...]
    diagnostics: tuple[Diagnostic, ...]
    text: str = ""
    found: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """What came of a machine: a word, what is said of it, and where it is proved what the emitter takes."""

    title: str
    word: str
    diagnostics: tuple[Diagnostic, ...]
    built: Built | None = None


@dataclass(frozen=True, slots=True)
class Wrong:
    """What could not be done, the word for that, and what is said of it."""

    title: str
    word: str
    diagnostics: tuple[Diagnostic, ...]


def make(
    path: str,
    machines: Sequence[Machine],
    output: str,
    limit: float = TIME,
    raising: bool = True,
    each: Each = map,
    joined: Sequence[Choice | Pipeline | Gradient] = (),
) -> Made:
    """One spec proved, printed and read back, its machines by `each`, with choices and pipelines of them; nothing is printed of it where one of these is not proved, or cannot be
    built, which is said of it. With `raising` a bug of tinygpu is raised, else it is said of this spec, and the others are built."""
    from tinygpu import pipeline
    from tinygpu.algebra.theorem import Proved
    from tinygpu.proof.choice import Covered
    from tinygpu.proof.pipeline import Linked

    found, start = dict[int, Part](), perf_counter()
    for number, part in begun(partial(prove, path, limit, raising), machines, each):
        if isinstance(part, Wrong):
            return unmade([*found.values()], part)
        found[number] = part
    parts = [part for _, part in sorted(found.items())]
    decided = [theorems.judge(path, one, limit=limit) for one in joined]
    verdicts = (*((p.title, p.word) for p in parts), *((c.theorem.title, c.word) for c in decided))
    said = (*(d for p in parts for d in p.diagnostics), *(d for c in decided for d in c.diagnostics))
    made = Made(tuple(dict.fromkeys(verdicts)), tuple(dict.fromkeys(said)))  # of a family dtypes say the same
    ready, fitting = (
        [p.built for p in parts if p.built is not None],
        [c.found for c in decided if isinstance(c.found, Covered | Linked | Proved)],
    )
    if not parts or len(ready) < len(parts) or len(fitting) < len(decided):
        return made
    place = "the module" if output == "-" else str(target(path, output))
    read = partial(pipeline.read_back, titled(path), ready, place, each if perf_counter() - start > SOON else map, fitting)
    whole = attempt(path, raising, partial(pipeline.timely, limit * len(ready), machines[-1], read))
    if isinstance(whole, Wrong):
        return unmade(parts, whole)
    text, said = whole
    return replace(made, text=text, found=said)


def begun(run: Callable[[Machine], T], machines: Sequence[Machine], each: Each) -> Iterator[tuple[int, T]]:
    """What comes of each machine, by its number; of those of a family, which have much in common, the first one before the others, so that
    whichever process does these knows what was found of it. What is done soon is done here: another process would find all of it again."""
    first = {machine.name: number for number, machine in reversed([*enumerate(machines)])}
    shared = sorted(first.values()) if len(first) < len(machines) else []
    rest, start = deque(number for number in range(len(machines)) if number not in shared), perf_counter()
    yield from ((number, run(machines[number])) for number in shared)
    while rest and perf_counter() - start < SOON:
        yield rest[0], run(machines[rest.popleft()])
    yield from zip(rest, each(run, [machines[number] for number in rest]), strict=True)


def prove(path: str, limit: float, raising: bool, machine: Machine) -> Part | Wrong:
    """One machine, proved and made ready to be printed."""
    from tinygpu import pipeline
    from tinygpu.emit.module import surprises

    def run() -> Part:
        judged = judge(path, machine, limit=limit)
        proof = judged.verdict
        if not isinstance(proof, pipeline.Proof):
            return Part(machine.title, judged.word, judged.diagnostics)
        built = pipeline.timely(limit, machine, partial(pipeline.built, proof, machine))
        return Part(machine.title, judged.word, (*judged.diagnostics, *surprises(built)), built)

    return attempt(f"{machine.title} of {path}", raising, run)


def attempt(title: str, raising: bool, run: Callable[[], T]) -> T | Wrong:
    """What is done for a module, or what is wrong with it."""
    try:
        return run()
    except TinygpuError as error:
        wrong, word = error.diagnostics, "unknown" if all(d.verdict == "unknown" for d in error.diagnostics) else "error"
    except Exception as error:
        if raising:
            raise
        wrong, word = (bug(error),), "error"
    return Wrong(title, word, tuple(replace(d, notes=(*d.notes, f"while building {title}")) for d in wrong))


def unmade(parts: Sequence[Part], wrong: Wrong) -> Made:
    """A spec of which something could not be done."""
    return Made(((wrong.title, wrong.word),), (*(d for p in parts for d in p.diagnostics), *wrong.diagnostics))


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
