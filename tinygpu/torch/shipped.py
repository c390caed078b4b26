"""Launchers of machines that tinygpu ships, built at their first use: proved once for all processes of a host.

    launcher("softmax_cpu", "softmax_cores")        the spec, and a machine, a choice or a pipeline of it, as they are called there

Comes in: names. Goes out: a launcher. The one idea: the text of a module follows from the text of its spec and from tinygpu's own, so it is kept under the hash of these,
and a process that finds it there proves nothing; one byte of either is another, and what is kept bears its checksum.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

from tinygpu.category.deadline import TIME
from tinygpu.run.load import load as load_module
from tinygpu.runtime.cubins import _cache_folder, _store, _stored

HERE = Path(__file__).resolve()
FOLDERS = tuple(folder / "specs" for folder in HERE.parents[1:3])  # of an installed tinygpu, of a checkout
Launcher = Callable[..., Any]


def specs() -> Path:
    """The folder of the shipped specs."""
    return next(folder for folder in FOLDERS if folder.is_dir())


@cache
def sources() -> str:
    """The hash of tinygpu's own text: of all that reads a spec, proves it and writes a module."""
    package = HERE.parents[1]
    grammar = [file for folder in HERE.parents[1:3] for file in (folder / "grammar").rglob("*.tgpu")]
    kept = hashlib.sha256()
    for file in sorted([*package.rglob("*.py"), *package.rglob("*.json"), *grammar]):
        kept.update(file.read_bytes())
    return kept.hexdigest()


@cache
def launcher(spec: str, name: str) -> Launcher:
    """The launcher of a machine, a choice or a pipeline of a shipped spec, by its title. Raises TinygpuError where it is not proved, or not what was proved; KeyError for a name
    that the spec does not have."""
    path = specs() / f"{spec}.tgpu"
    key = hashlib.sha256("\0".join((sources(), path.read_text(encoding="utf-8"), name)).encode()).hexdigest()
    kept = _cache_folder() / "shipped" / key
    held = _stored(kept)
    if held is None:
        held = made(path, name).encode()
        _store(kept, held)
    called, _, text = held.decode().partition("\n")
    return getattr(load_module(text, spec), called)  # type: ignore[no-any-return]


def made(path: Path, name: str) -> str:
    """The name of the launcher, and behind it the text of a module that has it: of a machine, a choice or a pipeline, proved, written and read back."""
    from tinygpu import pipeline
    from tinygpu.emit.module import launcher_names
    from tinygpu.whole import Whole, check, insisted, module

    spec = pipeline.load(path)
    one = next((one for one in (*spec.spec.joined, *spec.machines) if one.title == name), None)
    if one is None:
        raise KeyError(f"{path.name} has no machine, choice or pipeline {name!r}")
    proof = insisted(check(one))
    if isinstance(proof, Whole):
        return "\n".join(module(proof, path.name))
    machine = next(m for m in spec.machines if m.title == name)
    ready = pipeline.timely(TIME, machine, partial(pipeline.built, proof, machine))
    return f"{launcher_names([machine])[-1]}\n{pipeline.timely(TIME, machine, partial(pipeline.sound, path.name, [ready]))}"
