"""`tinygpu check`: prove machines for all sizes.

Comes in: specs. Goes out: a line for each machine, and for what is not proved the whole message; the exit code is the verdict.
The one idea: nothing is shown as proved that is not a `Proof` of the kernel, and unknown is never success.
"""

from __future__ import annotations

import argparse
import glob
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tinygpu.commands import theorems
from tinygpu.commands.beside import Asked, Formulas
from tinygpu.commands.common import add_format, add_jobs, add_machine, add_paths, add_time, place, print_json, show, write
from tinygpu.commands.families import Proved, check_family, families, family_line, pinned_specs, settled_words
from tinygpu.commands.judged import Judged, exit_code, judge, judge_light, line, width_of
from tinygpu.commands.specs import among, load_all
from tinygpu.commands.theorems import Believed
from tinygpu.commands.together import CLEAR, Progress, processes
from tinygpu.commands.watch import is_news, store_of, watch
from tinygpu.diagnostic import Diagnostic, TinygpuError
from tinygpu.record import parts, replace
from tinygpu.report import at_terminal, report, wants_color

if TYPE_CHECKING:
    from tinygpu.pipeline import Loaded

EXAMPLE = "tinygpu check specs/"


def configure(parser: argparse.ArgumentParser) -> None:
    add_paths(parser, many="*")
    add_machine(parser)
    help = "of what is not proved, print the forms that did not meet; of a property (bounds, store, …), what had to be proved"
    parser.add_argument("--why", nargs="?", const="", metavar="PROPERTY", help=help)
    parser.add_argument("--certify", metavar="FOLDER", help="write a certificate of each proof: FOLDER/SPEC/MACHINE.json")
    parser.add_argument("--smt2", action="store_true", help="with --certify: each formula too, as FOLDER/smt2/HASH.smt2")
    parser.add_argument(
        "--as-test", metavar="FILE", help="write what is refuted as a test for pytest, which fails until it is repaired"
    )
    parser.add_argument(
        "--changed", action="store_true", help="prove what has no verdict yet; those of earlier runs are shown as kept"
    )
    parser.add_argument("--watch", action="store_true", help="as --changed, again whenever a file changes, until Ctrl-C")
    parser.set_defaults(again=False)
    parser.add_argument("--notes", action="store_true", help="say too what makes a machine slower than it need be (TG6)")
    add_jobs(parser)
    parser.add_argument("--budget", type=int, default=None, metavar="STEPS", help="solver steps for one obligation")
    add_time(parser)
    add_format(parser)


def run(arguments: argparse.Namespace) -> int:
    known_property(arguments)
    if not arguments.paths:
        raise TinygpuError.of("TG905", "the following arguments are required: PATH", help=EXAMPLE)
    return watch(arguments, check_all) if arguments.watch else check_all(arguments)


def check_all(arguments: argparse.Namespace) -> int:
    """All once: `arguments → exit code`."""
    paths, named, numbers = settled_words(arguments.paths)
    specs, sources, problems = load_all(paths)
    arguments.machine = [*arguments.machine, *named]
    specs = pinned_specs(specs, numbers, arguments.machine)
    style, hashed = arguments.output_format, arguments.output_format == "json"
    stated = theorems.stated(specs, arguments.machine)
    free = families(specs, arguments.machine)
    rest = [name for name in arguments.machine if name not in (*theorems.alone(stated), *(f.name for _, f in free))]
    none = not any(s.machines for s in specs) or (arguments.machine and not rest)
    machines = () if (stated or free) and none else among(specs, rest, problems)
    headings = (*(theorems.heading(t) for _, t in stated), *(f.heading for _, f in free))
    width = max(width_of(m for _, m in machines), *map(len, headings), 0)
    keep = keeper(arguments)
    whole = arguments.as_test is not None  # which needs the verdict itself
    store = store_of(arguments, keep is not None or arguments.why is not None or whole)
    judged, believed, proved = list[Judged](), list[Believed](), list[Proved]()
    jobs, limits = 1 if whole else processes(arguments.jobs), (arguments.budget, arguments.time)
    asked = Asked(keep is not None, arguments.smt2, arguments.why, arguments.notes, arguments.time)
    light = store.machines(machines, jobs) if store else judge_light(machines, limits[0], hashed, jobs, limits[1], asked)
    with Progress() as now:
        for spec, theorem in stated:
            now(f"checking {theorem.name}")
            believed.append(store.stated(spec, theorem) if store else theorems.judge(spec.path, theorem, *limits))
            if keep is not None:
                keep(spec, believed[-1], *asked.certified(spec, believed[-1]))
            if style == "human" and is_news(arguments, believed[-1]):
                told(theorems.line(believed[-1], width), believed[-1].diagnostics, sources)
                because(theorems.reasons(believed[-1]) if arguments.why in (believed[-1].kind, "all") else ())
        for spec, family in free:
            now(f"checking {family.title}")
            proved.append(store.family(spec, family) if store else check_family(spec.path, family, *limits))
            if style == "human" and is_news(arguments, proved[-1]):
                told(family_line(proved[-1], width), proved[-1].diagnostics, sources)
        for number, (spec, machine) in enumerate(machines, 1):
            now(f"checking {machine.title} ({number} of {len(machines)})")
            one = judge(spec.path, machine, limits[0], hashed, limits[1]) if whole and not store else next(light)
            beside = one.beside or asked.of(spec, one)
            judged.append(replace(one, diagnostics=beside.notes) if beside.notes else one)
            if keep is not None:
                keep(spec, one, beside.certificate, beside.formulas)
            if style == "human" and is_news(arguments, one):
                told(line(judged[-1], width), judged[-1].diagnostics, sources)
                because(beside.reasons)
    finish(judged, believed, proved, problems, style, sources, arguments.again)
    if arguments.as_test is not None:
        reproduce(judged, Path(arguments.as_test))
    return exit_code(
        [*(t.word for t in believed), *(f.word for f in proved), *(j.word for j in judged), *(d.verdict for d in problems)]
    )


def known_property(arguments: argparse.Namespace) -> None:
    """Raises TinygpuError where nothing of that name is ever proved; `--why PATH` is a path after a `--why` that names none."""
    why = arguments.why
    if not why:
        return
    from tinygpu.obligations import PROPERTIES

    names = sorted({*(name for name, *_ in PROPERTIES), "body", "fold", "theorem", "choice", "pipeline"})
    if why in (*names, "all"):
        return
    if why == "-" or glob.glob(why):
        arguments.why, arguments.paths = "", [why, *arguments.paths]
        return
    raise TinygpuError.of("TG905", f"{why} is no property", help=f"one of {', '.join(names)}; or all")


def keeper(arguments: argparse.Namespace) -> Callable[[Loaded, Judged | Believed, str, Formulas], None] | None:
    """What writes a certificate of each proof, if that was asked for: its place follows from names alone, and its content from the proof
    alone. Raises TG904 where two machines would have one place."""
    if arguments.certify is None:
        if arguments.smt2:
            raise TinygpuError.of("TG905", "--smt2 goes with --certify", help="say --certify FOLDER --smt2")
        return None
    folder, owners = Path(arguments.certify), dict[Path, str]()

    def keep(spec: Loaded, one: Judged | Believed, certificate: str, formulas: Formulas) -> None:
        title = one.theorem.title if isinstance(one, Believed) else one.machine.title
        target, owner = place(folder, spec.path, title), f"{title} of {spec.path}"
        if one.word != "proved":
            return
        if owners.setdefault(target, owner) != owner:
            said = f"{target} would be the certificate of {owners[target]} and of {owner}"
            raise TinygpuError.of("TG904", said, help="certify them into two folders")
        write(target, certificate)
        for name, text in formulas:
            if not (there := folder / "smt2" / f"{name}.smt2").exists():
                write(there, text)

    return keep


def reproduce(judged: Sequence[Judged], target: Path) -> None:
    """Write the counterexamples as tests; nothing where there are none. Raises TG905 for a spec that is in no file."""
    from tinygpu.pipeline import Refutation
    from tinygpu.testing import as_tests

    found = [(j.path, j.machine.title, j.verdict) for j in judged if isinstance(j.verdict, Refutation)]
    if any(path == "-" for path, *_ in found):
        raise TinygpuError.of("TG905", "a test needs a spec that lies in a file, not on the standard input")
    if found:
        write(target, as_tests(found, target.parent))
    else:
        print(f"{target}: not written, because nothing is refuted", file=sys.stderr)


def because(sentences: Iterable[str]) -> None:
    """Below a line, why."""
    for sentence in sentences:
        print(f"    {sentence}")


def told(said: str, diagnostics: Sequence[Diagnostic], sources: dict[str, str]) -> None:
    """A line, and messages behind it."""
    if at_terminal(sys.stderr):
        print(CLEAR, end="", file=sys.stderr, flush=True)
    print(said, flush=True)
    if diagnostics:
        print(f"\n{report(diagnostics, sources, 'human', wants_color(sys.stdout))}\n", flush=True)


def finish(
    judged: Sequence[Judged],
    believed: Sequence[Believed],
    proved: Sequence[Proved],
    problems: tuple[Diagnostic, ...],
    style: str,
    sources: dict[str, str],
    again: bool,
) -> None:
    """What comes after the last machine: the count for a person, `again` of one too, the whole document for a machine."""
    every: tuple[Believed | Proved | Judged, ...] = (*believed, *proved, *judged)
    found = (*problems, *(d for one in every for d in one.diagnostics))
    match style:
        case "human":
            show(problems, style, sources)
            kinds = ("lemmas and theorems", "theorem"), ("choices", "choice"), ("pipelines", "pipeline")
            rows: tuple[tuple[str, Sequence[Believed | Proved | Judged]], ...] = (
                *((what, [t for t in believed if t.kind == kind]) for what, kind in kinds),
                ("families", proved),
                ("machines", judged),
            )
            for what, ones in rows:
                words, kept = [one.word for one in ones], sum(one.kept for one in ones)
                if len(words) > 1 or (kept and again):
                    head = f"{len(words)} {what}" if len(words) > 1 else ones[0].path
                    said = ", ".join(f"{n} {w}" for w in ("proved", "refuted", "unknown", "error") if (n := words.count(w)))
                    print(f"{head}: {said}{f' ({kept} of these kept)' if kept else ''}")
        case "json":
            named = ((f"{kind}s", [t.row for t in believed if t.kind == kind]) for kind in ("theorem", "choice", "pipeline"))
            others = {name: several for name, several in named if several}
            others |= {"families": [one.row for one in proved]} if proved else {}
            print_json({**others, "machines": [as_row(j) for j in judged]}, found)
        case "concise":
            for one in every:
                if one.word == "proved":
                    print(
                        f"{one.path}: proved {one.machine.heading if isinstance(one, Judged) else one.heading}{' (kept)' * one.kept}"
                    )
            print(report(found, sources, style), end="\n" if found else "")
        case _:
            show(found, style, sources)


def as_row(judged: Judged) -> dict[str, object]:
    """A machine's verdict as plain data."""
    machine, facts = judged.machine, parts(judged.facts) if judged.facts else {}
    row = {"file": judged.path, "machine": machine.title, "op": machine.op.name, "verdict": judged.word}
    row |= {"via": machine.op.via.name} if machine.op.via else {}
    return {**row, **({"kept": True} if judged.kept else {}), "seconds": round(judged.seconds, 4), **facts}
