"""`tinygpu puzzle 3`: learn by repairing machines, with answers that are proved.

Comes in: a number, or a file. Goes out: a file to edit; of an answer what is left to do, or a kind word and the next one. The one idea: what is solved is what lies in the folder and is right,
so there is nothing to lose and nothing hidden.
"""

from __future__ import annotations

import argparse
import os
import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

from tinygpu.commands.common import BAD, PROVED, add_format, print_json, show, write
from tinygpu.commands.judged import exit_code
from tinygpu.commands.specs import load_sound
from tinygpu.diagnostic import TinygpuError

if TYPE_CHECKING:
    from tinygpu.puzzles.puzzle import Puzzle

EXAMPLE = "tinygpu puzzle 1        # then edit puzzle_1.tgpu, and tinygpu puzzle 1 check"
SHORT = 72  # columns of what is left


def configure(parser: argparse.ArgumentParser) -> None:
    help = "nothing: the list; 3: write puzzle_3.tgpu; 3 check: whether it is solved; check FILE: the same of any file"
    parser.add_argument("words", nargs="*", metavar="WORD", help=help)
    parser.add_argument("--hint", action="store_true", help="print the hints of a puzzle")
    parser.add_argument("--solution", action="store_true", help="print one answer of many")
    parser.add_argument("-o", "--output", metavar="FOLDER", default=".", help="where the files are (here)")
    add_format(parser)


def run(arguments: argparse.Namespace) -> int:
    from tinygpu.puzzles.judge import numbered

    folder, style = Path(arguments.output), arguments.output_format
    match arguments.words:
        case [] if arguments.hint or arguments.solution:
            raise TinygpuError.of("TG953", "of which puzzle?", help="say its number: tinygpu puzzle 3 --hint")
        case []:
            return listing(folder)
        case ["check", path]:
            return checked(path, None, style)
        case [number] if re.fullmatch(r"\d{1,9}", number):
            return given(numbered(int(number)), folder, arguments)
        case [number, "check"] if re.fullmatch(r"\d{1,9}", number):
            one = numbered(int(number))
            return checked(str(folder / one.file), one, style)
        case words:
            said = " ".join(words)
            raise TinygpuError.of(
                "TG953", f"{said!r} is no puzzle", help="say tinygpu puzzle 3, tinygpu puzzle 3 check, or tinygpu puzzle check FILE"
            )


def listing(folder: Path) -> int:
    """Each puzzle, with what became of it in a folder."""
    from tinygpu.puzzles.puzzle import puzzles

    every = puzzles()
    width = max(len(one.title) for one in every)
    for one in every:
        print(f"{one.number:>2}  {one.title:<{width}}  {state(one, folder)}".rstrip(), flush=True)
    print("\ntinygpu puzzle 1 writes puzzle_1.tgpu; edit it, then tinygpu puzzle 1 check")
    return PROVED


def state(one: Puzzle, folder: Path) -> str:
    """`solved`, `begun` with what is left, or nothing where there is no file."""
    from tinygpu.puzzles.judge import left

    path = folder / one.file
    if not os.path.exists(path):
        return ""
    try:
        (spec,), _ = load_sound([str(path)])
        found = left(one, spec)
    except TinygpuError as error:
        found = error.diagnostics
    return f"begun: {textwrap.shorten(found[0].headline, SHORT, placeholder=' …')}" if found else "solved"


def given(one: Puzzle, folder: Path, arguments: argparse.Namespace) -> int:
    """The file of a puzzle, its hints, or one answer."""
    if arguments.hint:
        for number, hint in enumerate(one.hints, 1):
            print(f"{number}. {hint}")
    if arguments.solution:
        print(one.answer.rstrip())
    if arguments.hint or arguments.solution:
        return PROVED
    path = folder / one.file
    if os.path.exists(path):
        raise TinygpuError.of(
            "TG904", f"{path} is there already", help=f"tinygpu puzzle {one.number} check; or remove it to begin again"
        )
    write(path, one.text)
    print(f"{path}: {one.title}. Edit it; then tinygpu puzzle {one.number} check")
    return PROVED


def checked(path: str, one: Puzzle | None, style: str) -> int:
    """Whether an answer is right: the exit code of `check`, and 2 where it is proved and something is wanted yet."""
    from tinygpu.puzzles.judge import left, puzzle_of
    from tinygpu.puzzles.puzzle import puzzles

    (spec,), sources = load_sound([path])
    one = one or puzzle_of(spec)
    found = left(one, spec)
    if style == "json":
        print_json({"puzzle": one.number, "solved": not found}, found)
    elif found:
        show(found, style, sources)
    if found:
        return exit_code(d.verdict for d in found) or BAD
    if style == "json":
        return PROVED
    following = f" Next: tinygpu puzzle {one.number + 1}" if one.number < len(puzzles()) else ""
    print(f"solved   puzzle {one.number}, {one.title}: {one.target} is proved, and does what is wanted\n{one.word}{following}")
    return PROVED
