"""The gallery: every shipped machine with its op, its verdict, its cost, its measured time, and its picture.

    specs/*.tgpu, proofs/, benchmarks/results/cpu.json   ⟼   Markdown, a page for each spec, and one that lists them

Comes in: the specs of the checkout. Goes out: the texts of pages, and pictures, by their path in the site. The one idea: nothing of it is written down, so nothing of it can be old: a verdict is that of a certificate whose
text is the spec's, or else of a check made here.

    python -m docs.site.gallery -o FOLDER [SPEC …]        writes the pages of some specs, or of all
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from io import StringIO
from pathlib import Path

from tinygpu import cli, pipeline
from tinygpu.commands.common import place
from tinygpu.commands.costs import MOST, USUAL
from tinygpu.commands.specs import usual_sizes
from tinygpu.cost.bound import bounds_on_cpu
from tinygpu.cost.counted import added
from tinygpu.cost.measure import Cost, measure
from tinygpu.cost.on_device import bounds
from tinygpu.cost.table import amount, bytes_of, ratio, seconds_of
from tinygpu.hardware.arch import CPU, device_named
from tinygpu.hardware.processor import processor_named
from tinygpu.model.machine import Machine
from tinygpu.model.source import said
from tinygpu.pipeline import Loaded, Proof, Refutation
from tinygpu.proof.certificate import read, sha
from tinygpu.proof.summary import sizes

ROOT = Path(__file__).resolve().parents[2]
SPECS = ROOT / "specs"
DEVICE, PROCESSOR = "h100", "cpu-avx512"  # for which costs are predicted
DRAWS = "tinygpu.commands.draw"  # what draws, where it is installed


@dataclass(frozen=True)
class Row:
    """A machine of an op: what is said of it, in words."""

    machine: Machine
    verdict: str
    holds_for: str
    obligations: str
    at: str
    moved: str
    bound: str
    measured: str


@dataclass(frozen=True)
class Page:
    """A spec in the gallery: how it opens, what is said of its machines, its files by their path."""

    stem: str
    opening: str
    rows: tuple[Row, ...]
    files: Mapping[str, str | bytes]


def specs() -> list[Path]:
    """The shipped specs, in the order of their names; those that a search found are last."""
    return [*sorted(SPECS.glob("*.tgpu")), *sorted((SPECS / "tuned").glob("*.tgpu"))]


def verdict(path: str, loaded: Loaded, machine: Machine) -> tuple[str, str]:
    """The verdict, and by how many obligations: of the certificate of this text, or else checked here."""
    committed = place(ROOT / "proofs", path, machine.title)
    with suppress(OSError, ValueError):
        certificate = read(committed.read_text(encoding="utf-8"))
        if certificate.source == sha(said(loaded.spec.tree, machine.name)):
            return "proved", str(len(certificate.obligations))
    match found := pipeline.check(machine):
        case Proof():
            return "proved", str(len(found.theorems))
        case Refutation():
            return "refuted", ""
    return "unknown", ""


def predicted(machine: Machine) -> tuple[str, str, str]:
    """At which sizes what is moved and computed, and the time that no run beats on the device, or, of a machine `on cpu`, on the CPU."""
    op, program = machine.op, pipeline.program(machine)
    at = usual_sizes(op, {}, USUAL.get(len(op.sizes), 128), MOST)
    if machine.arch == CPU:
        processor = processor_named(PROCESSOR)
        cost = measure(pipeline.on_core(next(pipeline.singles(machine), program)), at, processor)
        every, device = bounds_on_cpu(cost, processor) if processor else (), PROCESSOR
    else:
        found = device_named(DEVICE)
        cost = measure(program, at)
        every, device = bounds(cost, found) if found else (), DEVICE
    bound = f"{seconds_of(every[0].seconds)} on `{device}`: {every[0].what}" if every else ""
    return ", ".join(f"{name} = {number}" for name, number in cost.sizes.items()), moved(cost), bound


def moved(cost: Cost) -> str:
    """Bytes, how often each is moved, operations; of a core what it loads and stores."""
    asked = added(flow.asked * flow.item for flow in cost.flows).number
    total = asked if cost.program.arch == CPU else cost.moved
    if total is None or not cost.once:
        return "as data say"
    flops = f"; {amount(cost.flops.number)}flop" if cost.flops.number else ""
    return f"{bytes_of(total)} (× {ratio(total / cost.once)}){flops}"


@cache
def measurements() -> Mapping[tuple[str, str], str]:
    """`(spec, machine) → how a call compares with numpy's`, where it was measured."""
    cases = json.loads((ROOT / "benchmarks" / "results" / "cpu.json").read_text(encoding="utf-8"))["cases"]
    found: dict[tuple[str, str], str] = {}
    for case in cases:
        at = ", ".join(f"{name} = {number}" for name, number in case["sizes"].items())
        words = f"{case['ratio']:.3g} × `{case['against']}`, at {at}"
        key = case["spec"], case["machine"]
        found[key] = f"{found[key]}; {words}" if key in found else words
    return found


def row(path: str, loaded: Loaded, machine: Machine) -> Row:
    """What is said of a machine."""
    word, obligations = verdict(path, loaded, machine)
    measured = measurements().get((Path(path).stem, machine.title), "")
    return Row(machine, word, sizes(pipeline.program(machine)), obligations, *predicted(machine), measured)


def picture(path: Path, machine: Machine) -> bytes | None:
    """The picture of a machine, as SVG; None where nothing draws, or it cannot be drawn."""
    if find_spec(DRAWS) is None:
        return None
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        target = Path(folder) / "picture.svg"
        with suppress(SystemExit):
            cli.main(["draw", str(path), machine.title, "-o", str(target)])
        return target.read_bytes() if target.is_file() else None


def declared(text: str, start: int, end: int) -> tuple[str, str]:
    """`(comment, declaration)`: the text of a declaration, and the lines of comment right above it."""
    above = []
    for line in reversed(text[:start].rstrip(" \t").removesuffix("\n").splitlines()):
        if not line.startswith("#"):
            break
        above.append(line.removeprefix("#").strip())
    return " ".join(reversed(above)), text[start:end]


def cell(words: str) -> str:
    """Words that may stand in a table."""
    return words.replace("|", "\\|").replace("\n", " ")


def block(text: str) -> str:
    return f"```tgpu\n{text.rstrip()}\n```\n"


def opening(text: str) -> str:
    """The first paragraph of the comment that a spec begins with: its equation."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("#") or not line.removeprefix("#").strip():
            break
        lines.append(line.removeprefix("#").strip())
    return " ".join(lines)


def page(path: Path) -> Page:
    """The page of a spec, with its pictures."""
    text, shown = path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix()
    loaded = pipeline.load_text(text, shown)
    files: dict[str, str | bytes] = {}
    rows: list[Row] = []
    parts = [f"# {path.stem}\n\n{opening(text)}\n\nThe file is `{shown}`, one of the [gallery](index.md).\n"]
    spans = sorted({machine.op.meant.span for machine in loaded.machines if machine.op.meant.span.file == shown})
    parts += [block(text[span.start : span.end]) for span in spans if span.end]
    for name in dict.fromkeys(machine.name for machine in loaded.machines):
        mine = [row(shown, loaded, machine) for machine in loaded.machines if machine.name == name]
        comment, declaration = declared(text, mine[0].machine.span.start, mine[0].machine.span.end)
        parts.append(f"## {name}\n\n{comment}\n\n{block(declaration)}")
        parts.append("\n".join(table(mine)) + "\n")
        if (drawn := picture(path, mine[0].machine)) is not None:
            file = f"{path.stem}/{name}.svg"
            files[file] = drawn
            parts.append(f"[![{name}]({file}){{ loading=lazy }}]({file})\n")
        rows += mine
    parts += [f"## {one.name}\n\n{block(one.spelled)}" for one in loaded.spec.joined]
    return Page(path.stem, opening(text), tuple(rows), {f"{path.stem}.md": "\n".join(parts), **files})


def table(rows: Sequence[Row]) -> Iterator[str]:
    """A machine's rows, one for each op, dtype or number that it is for; without the columns that have nothing to say."""
    columns = {
        "op": [one.machine.op.name if one.machine.title == one.machine.name else one.machine.title for one in rows],
        "verdict": [f"**{one.verdict}**" for one in rows],
        "for": [one.holds_for for one in rows],
        "obligations": [one.obligations for one in rows],
        "moved": [one.moved for one in rows],
        "no faster than, predicted": [one.bound for one in rows],
        "at": [one.at for one in rows],
        "measured on a CPU, times numpy": [one.measured for one in rows],
    }
    taken = {name: cells for name, cells in columns.items() if any(cells)}
    yield f"| {' | '.join(taken)} |"
    yield "|---" * len(taken) + "|"
    for cells in zip(*taken.values(), strict=True):
        yield f"| {' | '.join(map(cell, cells))} |"


def index(pages: Sequence[Page]) -> str:
    """The list of all specs, each with its equation, how many machines it has, and for how many ops and dtypes they are proved."""
    found = [
        "# Gallery\n",
        "Every shipped machine, from its spec. The verdict is that of its certificate in `proofs/`. What is moved, with how often each byte is, and what is computed "
        f"are counted; no run on the device, `{DEVICE}` or of machines for a CPU `{PROCESSOR}`, is faster than the time beside them, which is predicted and was not measured. What was measured are whole calls on a CPU, "
        "beside numpy's: `benchmarks/results/cpu.json`.\n",
        "| | | machines | proved |",
        "|---|---|---|---|",
    ]
    for one in pages:
        names, proved = {r.machine.name for r in one.rows}, sum(r.verdict == "proved" for r in one.rows)
        found.append(f"| [{one.stem}]({one.stem}.md) | {cell(one.opening)} | {len(names)} | {proved} of {len(one.rows)} |")
    return "\n".join(found) + "\n"


@cache
def gallery(paths: tuple[Path, ...]) -> Mapping[str, str | bytes]:
    """All of it, by path."""
    pages = [page(path) for path in paths]
    return {"index.md": index(pages), **{name: content for one in pages for name, content in one.files.items()}}


def main(argv: Sequence[str] | None = None) -> int:
    """Write the pages of some specs into a folder."""
    parser = argparse.ArgumentParser(prog="python -m docs.site.gallery", description="Write the gallery.")
    parser.add_argument("specs", nargs="*", type=Path, metavar="SPEC")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER")
    given = parser.parse_args(argv)
    for name, content in gallery(tuple(path.resolve() for path in given.specs) or tuple(specs())).items():
        target = given.output / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content if isinstance(content, bytes) else content.encode())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
