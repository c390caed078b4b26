"""`tinygpu replay`: prove again what certificates, specs and emitted modules say was proved, with both z3 and cvc5.

Comes in: paths. Goes out: for each machine whether its certificate is one of its program, which solver proves its obligations again, and
what runs of it on real numbers say. The one idea: nothing that was proved before is believed; the program's text is all that counts.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tinygpu.commands.common import BAD, add_format, add_jobs, add_machine, add_paths, print_json, show
from tinygpu.commands.judged import exit_code
from tinygpu.commands.together import Progress
from tinygpu.diagnostic import Diagnostic
from tinygpu.recheck import Agreement, Disagreement

if TYPE_CHECKING:
    from tinygpu.commands.again import Replayed
    from tinygpu.commands.subjects import Shard

EXAMPLE = "tinygpu replay proofs/"
MISSING = "cvc5 is not installed, so only z3 proved these again; get it with: pip install 'tinygpu[replay]'"


def configure(parser: argparse.ArgumentParser) -> None:
    add_paths(parser, "specs, certificates, emitted modules, or folders of them")
    add_machine(parser)
    parser.add_argument("--proofs", default="proofs", metavar="FOLDER", help="where the certificates of specs lie (proofs)")
    add_jobs(parser, "how many processes (one for each core)")
    parser.add_argument("--quick", action="store_true", help="without runs on real numbers")
    of = "only that part of the files, of several that together are all: for several machines, or one after another"
    parser.add_argument("--shard", type=shard, metavar="K/N", help=of)
    parser.add_argument("--strict", action="store_true", help="fail too where nothing is small enough to be run")
    add_format(parser)


def shard(text: str) -> Shard:
    """`3/10`. Raises ValueError, which argparse makes a message of."""
    from tinygpu.commands.subjects import Shard

    one, several = map(int, text.split("/"))
    if not 1 <= one <= several:
        raise ValueError(text)
    return Shard(one, several)


def run(arguments: argparse.Namespace) -> int:
    from tinygpu.commands.again import failures, replay_all
    from tinygpu.commands.modules import validated
    from tinygpu.commands.subjects import WHOLE, subjects
    from tinygpu.recheck.solve import cvc5_module

    style = arguments.output_format
    with Progress() as now:
        now("reading")
        found = subjects(arguments.paths, Path(arguments.proofs), arguments.machine, arguments.shard or WHOLE)
        replayed = replay_all(found, arguments.jobs, not arguments.quick, now)
        now("reading kernels")
        kernels = validated(found)
    problems = [d for r in replayed for d in (*r.problems, *failures(r))] + [d for several in kernels.values() for d in several]
    if style == "human":
        tell(replayed, cvc5_module() is None)
        for path, several in kernels.items():
            said = "are not shown to do what these programs say" if several else "do what these programs say, for all sizes"
            print(f"{path}: the kernels {said}")
    if style == "json":
        print_json({"machines": [as_row(r) for r in replayed]}, problems)
    else:
        show(problems, style)
    return code_of(replayed, problems, arguments.strict)


def code_of(replayed: Sequence[Replayed], problems: Sequence[Diagnostic], strict: bool = False) -> int:
    """Refuted where something is false or does not agree, unknown where something was not proved again.

    That nothing is small enough to be run takes nothing from what was proved again, unless that is asked for.
    """
    if not replayed:
        return BAD
    left = ["unknown"] * (strict and any(r.unrun for r in replayed))
    return exit_code([*left, *("unknown" if d.verdict == "unknown" else "refuted" for d in problems)])


def tell(replayed: Sequence[Replayed], lacking: bool) -> None:
    """A line for each machine, below it what only one solver could do, and a count."""
    width = max(len(f"{r.subject.machine} : {r.subject.op}") for r in replayed)
    for r in replayed:
        name = f"{r.subject.machine} : {r.subject.op}"
        print(f"{r.word:<9} {name:<{width}}  {counts(r)}")
        for o, by in r.obligations:
            if by in ("z3", "cvc5") and not lacking:
                print(f"    by {by} alone: {o.kind} ({o.code}): {o.sentence}")
    if lacking:
        print(MISSING, file=sys.stderr)
    if len(replayed) > 1:
        print(total(replayed))


def counts(r: Replayed) -> str:
    """`certificate valid; 28 obligations: 27 by both, 1 by z3 alone; 61 runs at 24 sizes agree`."""
    said = f"certificate {r.certificate}; {len(r.obligations)} obligations: {shares(by for _, by in r.obligations)}"
    if r.runs is not None:
        said += f"; {r.runs}" if isinstance(r.runs, Agreement) else "; a run differs"
    return said


def shares(who: Iterable[str]) -> str:
    """How many were proved by whom.

    >>> shares(["both", "both", "z3"])
    '2 by both, 1 by z3 alone'
    """
    words = list(who)
    names = (
        ("both", "by both"),
        ("laws", "by laws"),
        ("z3", "by z3 alone"),
        ("cvc5", "by cvc5 alone"),
        ("", "by neither"),
        ("false", "false"),
    )
    return ", ".join(f"{words.count(key)} {name}" for key, name in names if words.count(key))


def total(replayed: Sequence[Replayed]) -> str:
    """The last line."""
    every = [by for r in replayed for _, by in r.obligations]
    said = f"{len(replayed)} machines: {len(every)} obligations: {shares(every)}"
    return f"{said}; {ran(replayed)}" if any(r.runs is not None for r in replayed) else said


def ran(replayed: Sequence[Replayed]) -> str:
    """`16093 runs of 259 machines agree, 0 differ, and 0 are too large to run`."""
    agree = [r.runs for r in replayed if isinstance(r.runs, Agreement) and r.runs.runs]
    differ = sum(isinstance(r.runs, Disagreement) for r in replayed)
    return f"{sum(a.runs for a in agree)} runs of {len(agree)} machines agree, {differ} differ, and {sum(r.unrun for r in replayed)} are too large to run"


def as_row(r: Replayed) -> dict[str, object]:
    """A machine as plain data."""
    row: dict[str, object] = {"file": r.subject.path, "machine": r.subject.machine, "op": r.subject.op, "verdict": r.word}
    row["certificate"] = r.certificate
    row["obligations"] = [
        {"kind": o.kind, "code": o.code, "sentence": o.sentence, "formula": o.formula, "proved_by": by} for o, by in r.obligations
    ]
    match r.runs:
        case Agreement(runs, sizes):
            row["runs"] = {"count": runs, "sizes": sizes, "differs": False}
        case Disagreement(where):
            row["runs"] = {"differs": True, "at": where, "what": str(r.runs)}
    return row
