"""`check --watch` and `check --changed`: what is proved again, and when.

Comes in: the arguments of a check, and what does one. Goes out: a check whenever a file changes that it reads, until somebody ends it. The one idea: files are looked at a few
times a second, those that are imported too; what did not change has a verdict that is kept, and is not shown a second time unless something is wrong with it.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from tinygpu.commands.common import BAD, find, nearby, read_text, show
from tinygpu.commands.families import settled_words
from tinygpu.diagnostic import TinygpuError

if TYPE_CHECKING:
    from tinygpu.commands.families import Proved
    from tinygpu.commands.judged import Judged
    from tinygpu.commands.kept import Store
    from tinygpu.commands.theorems import Believed

TURN = 0.2  # seconds from one look at the files to the next
Stamps = dict[str, tuple[int, int]]  # when each file was written, and its length


def store_of(arguments: argparse.Namespace, proofs: bool) -> Store | None:
    """Where verdicts are kept, if that was asked for. Raises TG905 where `proofs` are asked for too, which nobody keeps."""
    if not (arguments.changed or arguments.watch):
        return None
    if proofs:
        title = "a verdict that is kept has no proof: --certify, --why and --as-test need one"
        raise TinygpuError.of("TG905", title, help="say these without --changed and --watch")
    from tinygpu.commands.kept import Store

    return Store(arguments.budget, arguments.time)


def is_news(arguments: argparse.Namespace, one: Judged | Believed | Proved) -> bool:
    """Whether a verdict is to be shown: the second time only what is new, or wrong."""
    return not (one.kept and one.word == "proved" and arguments.again)


def watch(arguments: argparse.Namespace, check: Callable[[argparse.Namespace], int]) -> int:
    """Checks, again whenever something changes. Gives the last exit code where it is interrupted."""
    if "-" in arguments.paths:
        raise TinygpuError.of("TG905", "the standard input does not change", help="name files or folders to watch")
    code = BAD
    seen: Stamps = {}
    try:
        while True:
            now = stamps(arguments.paths, seen)
            if now != seen or not arguments.again:
                changed = sorted(name for name in now.keys() | seen.keys() if now.get(name) != seen.get(name))
                if arguments.again:
                    print(f"\n{', '.join(map(nearby, changed))} changed", flush=True)
                seen, code = now, _checked(arguments, check)
                if not arguments.again:
                    print(f"watching {len(seen)} files; Ctrl-C ends it", file=sys.stderr, flush=True)
                arguments.again = True
            time.sleep(TURN)
    except KeyboardInterrupt:
        return code


def _checked(arguments: argparse.Namespace, check: Callable[[argparse.Namespace], int]) -> int:
    """One check; what is wrong with its input is said, and may be right the next time."""
    try:
        return check(argparse.Namespace(**vars(arguments)))
    except TinygpuError as error:
        show(error.diagnostics, arguments.output_format, error.texts)
        return BAD


def stamps(paths: list[str], before: Stamps) -> Stamps:
    """When the files of some paths were written, and those that they import, which are looked for where a file is new or has changed."""
    try:
        files = find(settled_words(paths)[0])
    except TinygpuError:  # said by the check; until a file is there again
        files = ()
    found = {name: stamp(name) for name in (*files, *before)}
    for name in files:
        if found[name] != before.get(name):
            found |= {other: stamp(other) for other in imported(name)}
    return {name: one for name, one in found.items() if one != (0, 0)}


def stamp(name: str) -> tuple[int, int]:
    """When a file was written, and how long it is; nothing for one that is not there."""
    try:
        found = os.stat(name)
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


def imported(name: str) -> set[str]:
    """What a file imports, as far as it can be read."""
    from tinygpu.model.imports import Files
    from tinygpu.model.problems import Problems
    from tinygpu.syntax.parse import parse

    files = Files(Problems())
    with suppress(TinygpuError):
        list(files.declarations(parse(read_text(name), name), name, ()))
    return files.read - {os.path.realpath(name)}
