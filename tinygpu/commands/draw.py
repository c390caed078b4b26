"""`tinygpu draw`: a picture of a machine, as SVG.

Comes in: a spec, a machine, sizes, what to draw. Goes out: a file, or SVG on standard output. The one idea: the picture is made by `tinygpu.pictures`, as from Python; here are only words and files.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tinygpu.commands.common import PROVED, add_format, write
from tinygpu.commands.families import pointed
from tinygpu.commands.first import with_machines
from tinygpu.commands.specs import chosen, load_sound, words
from tinygpu.diagnostic import TinygpuError

EXAMPLE = "tinygpu draw specs/transpose.tgpu transpose_swizzled --what banks -o banks.svg"
WHAT = ("partition", "banks", "fragments", "timeline", "roofline", "counterexample")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", help="a spec, or - for standard input")
    parser.add_argument(
        "words",
        nargs="*",
        metavar="MACHINE SIZE=VALUE",
        help="the machine, and sizes (M=96), or small ones are chosen; with --what fragments also an instruction (mma_m16n8k16)",
    )
    parser.add_argument(
        "--what",
        choices=WHAT,
        default="partition",
        help="who has which element (the default), banks of shared memory, fragments of instructions, the order of a pipeline, the roofline, what goes wrong",
    )
    parser.add_argument("--device", metavar="NAME", help="with --what roofline: h100, a100, …, cpu-avx512, … (h100)")
    parser.add_argument("-o", "--output", metavar="FILE", help="where the SVG goes (standard output)")
    add_format(parser)


def run(arguments: argparse.Namespace) -> int:
    from tinygpu.model.instruction import library
    from tinygpu.pictures import draw
    from tinygpu.pictures.drawn import DEVICE
    from tinygpu.pictures.fragments import of_instruction

    if arguments.device and arguments.what != "roofline":
        raise TinygpuError.of(
            "TG905", "--device goes with --what roofline", help=f"say --what roofline --device {arguments.device}"
        )
    specs, _ = load_sound([arguments.path])
    given, names = words(arguments.words)
    specs, given = pointed([with_machines(spec)[0] for spec in specs], given, names)
    if arguments.what == "fragments" and len(names) == 1 and names[0] in library():
        picture = of_instruction(names[0])
    else:
        picture = draw([machine for _, machine in chosen(specs, names)], arguments.what, arguments.device or DEVICE, **given)
    if arguments.output is None or arguments.output == "-":
        sys.stdout.write(picture.svg)
        return PROVED
    write(Path(arguments.output), picture.svg)
    print(f"{arguments.output}: {picture.name}, {picture.width:.0f} × {picture.height:.0f}")
    return PROVED
