"""`tinygpu new my_op`: a spec to start from.

Comes in: a name and a kind. Goes out: a file that is proved as it stands. The one idea: change a working spec, a step at a time.
"""

from __future__ import annotations

import argparse
import os
import re
from keyword import iskeyword
from pathlib import Path

from tinygpu.commands.common import PROVED, write
from tinygpu.commands.first import add_machine, machine_for, receiver
from tinygpu.commands.specs import load_sound, op_named
from tinygpu.diagnostic import Diagnostic, TinygpuError
from tinygpu.hardware.arch import ARCHITECTURES
from tinygpu.syntax.grammar import read_grammar_file, shipped_parser

EXAMPLE = "tinygpu new my_op --kind elementwise"

KINDS = ("elementwise", "matmul", "rows")  # specs in `grammar/`, whose operation is NAME


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", help="the name of the operation; the file is NAME.tgpu; with --for, a spec that is there")
    parser.add_argument(
        "--for", dest="op", metavar="OP", help="write a machine of this op into the spec: made by rules, and proved"
    )
    parser.add_argument("--on", metavar="NAME", default="", help="with --for: a machine for cpu, or for an architecture (any GPU)")
    parser.add_argument("--kind", choices=KINDS, default="elementwise", help="what to start from (elementwise)")
    parser.add_argument("-o", "--output", metavar="FOLDER", default=".", help="where to put it (here)")


def run(arguments: argparse.Namespace) -> int:
    if arguments.op is not None:
        return add(arguments.name, arguments.op, arguments.on)
    name = name_of_op(arguments.name.removesuffix(".tgpu"))
    path = Path(arguments.output) / f"{name}.tgpu"
    if os.path.exists(path):  # a name that is too long is none; then it cannot be written
        raise TinygpuError.of("TG904", f"{path} is there already", help="choose another name, or remove it first")
    write(path, template(arguments.kind, name))
    print(f"{path}: next, tinygpu check {path}")
    return PROVED


def name_of_op(name: str) -> str:
    """A name that an operation may have. Raises TG905."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        title = f"{name!r} cannot be the name of an operation"
        raise TinygpuError.of("TG905", title, help="letters, digits and _, not beginning with a digit")
    if name in shipped_parser().reserved | shipped_parser().folds or iskeyword(name):
        helps = (f"choose another name, such as {name}_rows: it is a word of the language, or of Python",)
        raise TinygpuError(Diagnostic("TG905", f"{name} cannot be the name of an operation", helps=helps))
    return name


def template(kind: str, name: str) -> str:
    """A spec of that kind, whose operation is called so."""
    return read_grammar_file(f"{kind}.tgpu").replace("NAME", name)


def add(path: str, name: str, device: str) -> int:
    """A machine at the end of a spec. Raises TG905 where the spec has no such op, or there is no such device."""
    if device and device != "cpu" and device.rstrip("af") not in ARCHITECTURES:
        raise TinygpuError.of(
            "TG905",
            f"there is no architecture {device}",
            help=f"name cpu, or one of {', '.join(name for name in ARCHITECTURES if name)}",
        )
    (spec,), _ = load_sound([path])
    op = op_named(spec, name)
    into = receiver(path, op)
    add_machine(into, machine_for(into, op, device=device))
    return PROVED
