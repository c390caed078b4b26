"""`tinygpu fmt`: specs in the one style.

Comes in: files. Goes out: the same files, rewritten where they differ. The one idea: nothing is written unless the new text
parses to the same tree.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tinygpu.commands.common import PROVED, REFUTED, add_format, add_paths, find, read_text, write

EXAMPLE = "tinygpu fmt specs/        # with --check nothing is written, and the exit code is 1 if a file differs"


def configure(parser: argparse.ArgumentParser) -> None:
    add_paths(parser, "files, folders, patterns, or - for standard input to standard output")
    parser.add_argument("--check", action="store_true", help="write nothing; name the files that differ")
    add_format(parser)


def formatted(text: str, path: str) -> str:
    """`text → the same in the one style`. Raises TG0xx for a text that does not parse."""
    from tinygpu.syntax.format import format_file
    from tinygpu.syntax.parse import parse

    tree = parse(text, path)
    new = format_file(tree)
    if parse(new, path) != tree:
        raise AssertionError(f"formatting {path} would change its meaning")
    return new


def run(arguments: argparse.Namespace) -> int:
    differing = []
    for path in find(arguments.paths):
        text = read_text(path)
        new = formatted(text, path)
        if path == "-" and not arguments.check:
            sys.stdout.write(new)
        elif new != text:
            differing.append(path)
            if not arguments.check:
                write(Path(path), new)
    for path in differing:
        print(f"{'would change' if arguments.check else 'changed'} {path}")
    return REFUTED if arguments.check and differing else PROVED
