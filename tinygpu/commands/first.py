"""Machines for a file that has none: by rules, as text, and proved before anybody uses them.

Comes in: a spec. Goes out: the spec with a machine for each of its ops, and the text that was added. The one idea: rules propose and the checker decides, so what is added is what could be written
into the file.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tinygpu.category.deadline import TIME
from tinygpu.category.text import claimed
from tinygpu.commands.common import read_text, write
from tinygpu.commands.specs import op_named, text_of
from tinygpu.diagnostic import Diagnostic, TinygpuError

if TYPE_CHECKING:
    from tinygpu.model.op import Op
    from tinygpu.pipeline import Loaded

MADE = "# The file has no machine. This one is made by rules and proved; tinygpu new --for writes it down."


def with_machines(
    spec: Loaded, limit: float = TIME, now: Callable[[str], None] = lambda _: None, device: str = ""
) -> tuple[Loaded, str]:
    """A spec without machines with one for each op, for a device or for any, and their text; any other spec as it is. Raises TinygpuError for an op that no rule serves."""
    from tinygpu import pipeline

    if spec.machines or spec.spec.families or not spec.spec.ops:
        return spec, ""
    texts = []
    for op in {op.family: op for op in spec.spec.ops}.values():
        now(f"a machine for {op.family}")
        texts.append(machine_for(spec, op, limit, device))
    added = "\n".join(texts)
    return pipeline.load_text(f"{spec.text.rstrip()}\n\n{added}", spec.path), added


def machine_for(spec: Loaded, op: Op, limit: float = TIME, device: str = "") -> str:
    """The text of a machine of an op: of those that rules propose for a device, the first that is proved. Raises TinygpuError, TG912."""
    from tinygpu import pipeline
    from tinygpu.tune.first import first

    name = fresh_name(spec, f"{op.family}_machine")
    end = time.monotonic() + limit
    why: tuple[Diagnostic, ...] = ()
    for state in first(op, device):
        text = state.text(name)
        try:
            made = [m for m in pipeline.load_text(f"{spec.text.rstrip()}\n\n{text}", spec.path).machines if m.name == name]
            left = max(1.0, min(end - time.monotonic(), limit / 3))
            if made and all(isinstance(pipeline.check(one, time=left), pipeline.Proof) for one in made):
                return text
        except TinygpuError as error:
            why = why or error.diagnostics
        if time.monotonic() > end:
            break
    notes = tuple(f"the first one that was tried: {d.title}" for d in why[:1])
    help = "write one: how, docs/tour.md shows; tinygpu new makes a spec with a machine to start from"
    raise TinygpuError(Diagnostic("TG912", f"no machine that rules make of {op.family} is proved", notes=notes, helps=(help,)))


def fresh_name(spec: Loaded, base: str) -> str:
    """A name that nothing in the spec has."""
    return claimed(base, {d.name for d in spec.tree.declarations if hasattr(d, "name")}, "")


def receiver(path: str, op: Op) -> Loaded:
    """The spec to which machines of an op are added: a file that has it, or a new one with it. Raises TinygpuError for what is neither."""
    from tinygpu import pipeline

    if path == "-":
        raise TinygpuError.of("TG905", "a machine cannot be added to standard input", help="name a file, with -o")
    if not Path(path).exists():
        return pipeline.load_text(text_of(op), path)
    spec = pipeline.load_text(read_text(path), path)
    op_named(spec, op.family)
    return spec


def add_machine(spec: Loaded, text: str) -> None:
    """Write a machine at the end of a spec. Raises TinygpuError where that is no spec, and nothing is written."""
    from tinygpu import pipeline

    whole = f"{spec.text.rstrip()}\n\n{text}"
    pipeline.load_text(whole, spec.path)
    write(Path(spec.path), whole)
    print(f"{spec.path}: proved, and written\n\n{text.rstrip()}")
