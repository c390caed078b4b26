"""`tinygpu check`: prove machines for all sizes.

Comes in: specs. Goes out: a line for each machine, and for what is not proved the whole message; the exit code is the verdict.
The one idea: nothing is shown as proved that is not a `Proof` of the kernel, and unknown is never success.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tinygpu.commands.common import Progress, add_format, add_machine, print_json, show, write
from tinygpu.commands.specs import Judged, chosen, exit_code, judge, judge_light, line, load_all, width_of
from tinygpu.commands.together import processes
from tinygpu.diagnostic import Diagnostic, TinygpuError
from tinygpu.hardware.arch import CPU
from tinygpu.record import parts, replace
from tinygpu.report import report, wants_color

if TYPE_CHECKING:
    from tinygpu.model.machine import Machine
    from tinygpu.pipeline import Loaded

EXAMPLE = "tinygpu check specs/"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files, folders, patterns, or - for standard input")
    add_machine(parser)
    parser.add_argument(
        "--why", metavar="PROPERTY", help="print what had to be proved for a property: bounds, cover, once, store, …"
    )
    parser.add_argument("--certify", metavar="FOLDER", help="write a certificate of each proof: FOLDER/SPEC/MACHINE.json")
    parser.add_argument("--smt2", action="store_true", help="with --certify: each formula too, as FOLDER/smt2/HASH.smt2")
    parser.add_argument(
        "--as-test", metavar="FILE", help="write what is refuted as a test for pytest, which fails until it is repaired"
    )
    parser.add_argument("--notes", action="store_true", help="say too what makes a machine slower than it need be (TG6)")
    parser.add_argument("--jobs", type=int, default=0, metavar="N", help="processes, on Linux (default: one a core)")
    parser.add_argument("--budget", type=int, default=None, metavar="STEPS", help="solver steps for one obligation")
    add_format(parser)


def run(arguments: argparse.Namespace) -> int:
    known_property(arguments.why)
    specs, sources, problems = load_all(arguments.paths, partly=True)
    style = arguments.output_format
    machines = among(specs, arguments.machine, problems)
    width = width_of(m for _, m in machines)
    keep = keeper(arguments)
    whole = keep is not None or arguments.notes or arguments.why is not None or arguments.as_test is not None
    judged: list[Judged] = []
    jobs, hashed = 1 if whole else processes(arguments.jobs), style == "json"
    light = judge_light(machines, arguments.budget, hashed, jobs)
    with Progress() as now:
        for number, (spec, machine) in enumerate(machines, 1):
            now(f"checking {machine.title} ({number} of {len(machines)})")
            judged.append(judge(spec.path, machine, arguments.budget, hashed) if whole else next(light))
            if arguments.notes:
                judged[-1] = noted(judged[-1])
            if keep is not None:
                keep(spec, judged[-1])
            if style == "human":
                tell(judged[-1], width, arguments.why, sources)
    finish(judged, problems, style, sources)
    if arguments.as_test is not None:
        reproduce(judged, Path(arguments.as_test))
    return exit_code([*(j.word for j in judged), *("error" for _ in problems)])


def among(specs: tuple[Loaded, ...], names: Sequence[str], problems: tuple[Diagnostic, ...]) -> tuple[tuple[Loaded, Machine], ...]:
    """The machines to look at; a name that is none of them may be that of one which is wrong."""
    try:
        return chosen(specs, names) if specs else ()
    except TinygpuError:
        if problems:
            return ()
        raise


def known_property(why: str | None) -> None:
    """Raises TinygpuError where nothing of that name is ever proved."""
    if why is None:
        return
    from tinygpu.obligations import PROPERTIES

    names = sorted({*(name for name, *_ in PROPERTIES), "body", "fold"})
    if why not in (*names, "all"):
        raise TinygpuError.of("TG905", f"{why} is no property", help=f"one of {', '.join(names)}; or all")


def noted(judged: Judged) -> Judged:
    """The same with the notes on what is proved; they change no verdict."""
    if judged.word != "proved" or judged.machine.arch == CPU:
        return judged
    from tinygpu.commands.costs import notes_of

    return replace(judged, diagnostics=tuple(notes_of(judged.machine)))


def keeper(arguments: argparse.Namespace) -> Callable[[Loaded, Judged], None] | None:
    """What writes a certificate of each proof, if that was asked for."""
    if arguments.certify is None:
        if arguments.smt2:
            raise TinygpuError.of("TG905", "--smt2 goes with --certify", help="say --certify FOLDER --smt2")
        return None
    from tinygpu.commands.certify import Folder

    return Folder(Path(arguments.certify), arguments.smt2).keep


def reproduce(judged: Sequence[Judged], target: Path) -> None:
    """Write the counterexamples as tests; nothing where there are none."""
    from tinygpu.commands.as_test import text

    written = text(judged, target)
    if written:
        write(target, written)
    else:
        print(f"{target}: not written, because nothing is refuted", file=sys.stderr)


def tell(judged: Judged, width: int, why: str | None, sources: dict[str, str]) -> None:
    """For a person: the line of a machine at once, and what is wrong with it."""
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    print(line(judged, width), flush=True)
    if judged.diagnostics:
        print(f"\n{report(judged.diagnostics, sources, 'human', wants_color(sys.stdout))}\n", flush=True)
    if why is not None:
        for sentence in reasons(judged, why):
            print(f"    {sentence}")


def reasons(judged: Judged, kind: str) -> list[str]:
    """The statements of one property and how each was settled; all properties for `all`."""
    from tinygpu.category.term import TRUE, conjunction, text
    from tinygpu.pipeline import Proof

    if not isinstance(judged.verdict, Proof):
        return []
    said = []
    for theorem in judged.verdict.theorems:
        claim = theorem.claim
        if kind in ("all", claim.kind):
            said.append(f"{getattr(claim, 'sentence', claim.title)}  [{theorem.method}]")
            goal = getattr(claim, "goal", TRUE)
            if goal != TRUE:
                said.append(f"  {text(conjunction(*getattr(claim, 'hypotheses', ())))}")
                said.append(f"  ⊢ {text(goal)}")
    return said or [f"nothing had to be proved about {kind}"]


def finish(judged: Sequence[Judged], problems: tuple[Diagnostic, ...], style: str, sources: dict[str, str]) -> None:
    """What comes after the last machine: the count for a person, the whole document for a machine."""
    found = (*problems, *(d for j in judged for d in j.diagnostics))
    match style:
        case "human":
            show(problems, style, sources)
            if len(judged) > 1:
                counts = {word: sum(j.word == word for j in judged) for word in ("proved", "refuted", "unknown", "error")}
                print(f"{len(judged)} machines: " + ", ".join(f"{n} {word}" for word, n in counts.items() if n))
        case "json":
            print_json({"machines": [as_row(j) for j in judged]}, found)
        case "concise":
            for j in judged:
                if j.word == "proved":
                    print(f"{j.path}: proved {j.machine.title} : {j.machine.op.name}")
            print(report(found, sources, style), end="\n" if found else "")
        case _:
            text = report(found, sources, style)
            print(text, end="\n" if text else "")


def as_row(judged: Judged) -> dict[str, object]:
    """A machine's verdict as plain data."""
    row: dict[str, object] = {
        "file": judged.path,
        "machine": judged.machine.title,
        "op": judged.machine.op.name,
        "verdict": judged.word,
        "seconds": round(judged.seconds, 4),
    }
    if judged.facts is not None:
        row |= parts(judged.facts)
    return row
