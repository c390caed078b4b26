"""`tinygpu init`: a project to start from.

Comes in: a folder, the name of an op, a kind. Goes out: a spec that is proved, its test, the project's settings, a workflow and hooks. The one idea:
nothing that is there is changed, but that a pyproject.toml without settings gets them at its end; where anything else is in the way nothing is written.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from tinygpu.commands.common import PROVED, write
from tinygpu.commands.new import KINDS, name_of_op, template
from tinygpu.commands.project import HOOKS, PROJECT, files
from tinygpu.commands.settings import settings_in, settings_of
from tinygpu.diagnostic import Diagnostic, TinygpuError
from tinygpu.syntax.files import read_text

EXAMPLE = "tinygpu init my_kernels --name my_op"
SPECS = "specs"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", nargs="?", default=".", metavar="FOLDER", help="the project, which may be there already (here)")
    parser.add_argument("--name", default="saxpy", metavar="OP", help="the name of its first operation (saxpy)")
    parser.add_argument("--kind", choices=KINDS, default="elementwise", help="what to start from (elementwise)")


def run(arguments: argparse.Namespace) -> int:
    from tinygpu import __version__

    folder, name = Path(arguments.folder), name_of_op(arguments.name)
    wanted = {f"{SPECS}/{name}.tgpu": template(arguments.kind, name), **files(name, arguments.kind, SPECS, __version__)}
    texts = {path: text for path, text in wanted.items() if path not in (PROJECT, HOOKS) or not os.path.lexists(folder / path)}
    free(folder, texts)
    if PROJECT not in texts:
        texts[PROJECT] = extended(folder / PROJECT, wanted[PROJECT])
    for path, text in texts.items():
        home = (folder / path).parent
        try:
            home.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise TinygpuError.of("TG904", f"{home} cannot be made: {(error.strerror or '').lower()}") from None
        write(folder / path, text)
        print(f"{folder / path}: {'written' if path != PROJECT or text == wanted[PROJECT] else 'settings added at its end'}")
    if HOOKS not in texts:
        print(f"{folder / HOOKS}: left as it is; for hooks add\n\n{wanted[HOOKS].split(chr(10), 1)[1]}")
    there = "" if folder == Path(".") else f"cd {folder} && "
    print(f"next: {there}tinygpu check, then pytest, and tinygpu build")
    return PROVED


def free(folder: Path, paths: dict[str, str]) -> None:
    """Raises TG904 with all files that are in the way."""
    taken = [path for path in paths if os.path.lexists(folder / path)]
    if taken:
        help = "nothing was written: choose another folder or --name, or remove it first"
        raise TinygpuError(*(Diagnostic("TG904", f"{folder / path} is there already", helps=(help,)) for path in taken))


def extended(file: Path, settings: str) -> str:
    """The text of a pyproject.toml as it is, and settings at its end. Raises TG904 where it has some, TG945 where it is or would be no TOML."""
    if settings_in(file) is not None:
        raise TinygpuError.of(
            "TG904", f"{file} has [tool.tinygpu] already", help="this is a project of tinygpu: tinygpu new adds a spec"
        )
    read_text(str(file))  # raises TG903 where it is no text
    text = file.read_bytes().decode("utf-8")
    lines = "\r\n" if "\r\n" in text else "\n"
    text += lines * (not text.endswith("\n")) + f"\n{settings}".replace("\n", lines)
    settings_of(file, text)
    return text
