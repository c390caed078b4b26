"""`tinygpu rewrite`: what is equal to an op and cheaper, as `.tgpu` text, each with its proof.

Comes in: a spec, which ops, and the sizes at which they are costed. Goes out: ops with the monoids and lemmas that they need, and theorems that say that they are the same. The one idea: whatever was
found, and however, it is text like any other, and what is printed has been proved like any other.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tinygpu.category.deadline import within
from tinygpu.commands.common import PROVED, UNKNOWN, add_format, add_time, print_json, show, write
from tinygpu.commands.specs import load_sound, text_of, words
from tinygpu.commands.theorems import judge
from tinygpu.commands.together import Progress
from tinygpu.diagnostic import Diagnostic, TinygpuError
from tinygpu.model.source import words as names
from tinygpu.record import dataclass

if TYPE_CHECKING:
    from tinygpu.model.op import Op
    from tinygpu.pipeline import Loaded
    from tinygpu.rewrite.propose import Found

EXAMPLE = "tinygpu rewrite specs/theorems.tgpu attention --at Q=4096 K=4096 D=64 E=64"
USUAL = 1024  # of a size of which nothing is said


@dataclass(frozen=True, slots=True)
class Answer:
    """What was found for an op, if anything was, with its theorem; and what is said where that is not proved, or the op is none that laws speak of."""

    op: Op
    sizes: dict[str, int]
    found: Found | None
    text: str
    seconds: float
    diagnostics: tuple[Diagnostic, ...] = ()


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", metavar="PATH", help="a spec, or - for standard input")
    parser.add_argument("ops", nargs="*", metavar="OP", help="which ops (all)")
    parser.add_argument(
        "--at", nargs="+", default=[], metavar="SIZE=VALUE", help=f"the sizes at which costs are counted ({USUAL} each)"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write the spec with what was found to this file")
    parser.add_argument(
        "--nodes", type=int, default=400, metavar="N", help="how many ways to compute something are looked at (400)"
    )
    add_time(parser)
    add_format(parser)


def run(arguments: argparse.Namespace) -> int:
    (spec,), sources = load_sound([arguments.path])
    sizes, rest = words(arguments.at)
    if rest:
        raise TinygpuError.of("TG905", f"{rest[0]} is no size", help="write NAME=NUMBER, as in --at M=512")
    answers, taken = list[Answer](), names(spec.spec.tree) | names(spec.tree)
    with Progress() as now:
        for op in _asked(spec, arguments.ops, sizes):
            at = {name: sizes.get(name, USUAL) for name in op.sizes}
            answers.append(answer(op, at, taken, arguments.nodes, arguments.time, lambda said, op=op: now(f"{op.family}: {said}")))  # type: ignore[misc]
    problems = [d for a in answers for d in a.diagnostics]
    if arguments.output is not None:
        write(Path(arguments.output), "\n\n".join([spec.text.rstrip(), *(a.text.rstrip() for a in answers if a.text)]) + "\n")
    if arguments.output_format == "json":
        print_json({"ops": [as_row(a) for a in answers]}, problems)
    else:
        print("\n\n".join(told(a) for a in answers))
        show(problems, arguments.output_format, sources)
    return UNKNOWN if any(a.diagnostics for a in answers) else PROVED


def _asked(spec: Loaded, names: Sequence[str], sizes: dict[str, int]) -> tuple[Op, ...]:
    """The ops of these names, one of each family. Raises TG905 for a name or a size that none has."""
    ops = {op.family: op for op in reversed(spec.spec.ops)}
    for name in names:
        if name not in ops:
            raise TinygpuError.of(
                "TG905", f"there is no op {name} in {spec.path}", help=f"the ops are {', '.join(reversed([*ops]))}"
            )
    chosen = tuple(ops[name] for name in (names or [*reversed([*ops])]))
    known = {size for op in chosen for size in op.sizes}
    if unknown := sorted(sizes.keys() - known):
        raise TinygpuError.of(
            "TG905", f"there is no size {', '.join(unknown)}", help=f"the sizes are {', '.join(sorted(known)) or 'none'}"
        )
    return chosen


def answer(op: Op, sizes: dict[str, int], taken: Collection[str], nodes: int, limit: float, now: Callable[[str], None]) -> Answer:
    """What is found for one op, proved. No name in it is one that is taken."""
    from tinygpu.algebra.polynomial import Unfollowed
    from tinygpu.proof.check import bounded
    from tinygpu.rewrite.propose import propose

    start = time.perf_counter()
    try:
        with within(limit):
            found = bounded(op, lambda: propose(op, sizes, taken, now, nodes))
    except Unfollowed as error:
        said = Diagnostic("TG566", f"{op.family} is not rewritten: {error} is not followed", verdict="unknown")
        return Answer(op, sizes, None, "", time.perf_counter() - start, (said,))
    except TinygpuError as error:
        return Answer(op, sizes, None, "", time.perf_counter() - start, error.diagnostics)
    if found is None:
        return Answer(op, sizes, None, "", time.perf_counter() - start)
    now("proving what was found")
    text, problems = _proved(op, found, limit)
    return Answer(op, sizes, found, text, time.perf_counter() - start, problems)


def _proved(op: Op, found: Found, limit: float) -> tuple[str, tuple[Diagnostic, ...]]:
    """The declarations with their theorem, and what is said where they are not proved; then there is no text."""
    text = f"{found.text}\n\ntheorem {found.name} : {op.family} == {found.name}\n"
    try:
        text = _short(op, text, found.name)
        stated = _beside(op, text).spec.stated
    except TinygpuError as error:
        title = f"what was found for {op.family} is no spec: {error.diagnostics[0].title}"
        return "", (Diagnostic("TG566", title, verdict="unknown", notes=tuple(text.rstrip().split("\n"))),)
    for one in stated:
        if (judged := judge("", one, limit=limit)).word != "proved":
            title = f"what was found for {op.family} is not proved: {judged.diagnostics[0].title}"
            return "", (Diagnostic("TG566", title, verdict="unknown", notes=tuple(text.rstrip().split("\n"))),)
    return text, ()


def _beside(op: Op, text: str) -> Loaded:
    """The op, with whatever it was made of, and more declarations. Raises TinygpuError."""
    from tinygpu import pipeline

    return pipeline.load_text(f"{text_of(op)}\n{text}")


def _short(op: Op, text: str, name: str) -> str:
    """The text without the ranges that follow from what is read, where all of them do. Raises TinygpuError for a text that is no spec."""
    from tinygpu.syntax import tree
    from tinygpu.syntax.format import format_file
    from tinygpu.syntax.node import rewritten
    from tinygpu.syntax.parse import parse

    def change(node: Any) -> Any:
        return tree.Binder(node.name, span=node.span) if isinstance(node, tree.Binder) and node.relation == "<" else node

    written = parse(text)
    whole, short = format_file(written), format_file(rewritten(written, change))
    meant = _beside(op, whole).spec.op(name)
    try:
        same = _beside(op, short).spec.op(name).equations == meant.equations
    except TinygpuError:
        same = False
    return short if same else whole


def told(one: Answer) -> str:
    """For a person: what it costs, and the text."""
    at = ", ".join(f"{name} = {n}" for name, n in one.sizes.items()) or "its one size"
    if one.found is None:
        said = "not rewritten" if one.diagnostics else "nothing that the laws reach is cheaper"
        return f"# {one.op.family} at {at}: {said}"
    reached = "all laws used up" if one.found.complete else "the limit of nodes reached"
    best = "nothing cheaper among them" if one.found.exact else "the cheapest by itself of each value"
    lines = [
        f"# {one.op.family} at {at}:",
        f"#   {one.found.before}",
        f"#   {one.found.after}",
        f"# {one.found.nodes} ways to compute something, {reached}, {best}; {'proved' if one.text else 'not proved'} in {one.seconds:.1f} s",
    ]
    return "\n".join([*lines, "", one.text.rstrip()]).rstrip()


def as_row(one: Answer) -> dict[str, object]:
    """As plain data."""
    from tinygpu.record import parts

    row: dict[str, object] = {
        "op": one.op.family,
        "sizes": one.sizes,
        "seconds": round(one.seconds, 3),
        "proved": bool(one.text),
        "text": one.text,
    }
    if one.found is not None:
        row |= {"before": parts(one.found.before), "after": parts(one.found.after), "nodes": one.found.nodes}
        row |= {"name": one.found.name, "exact": one.found.exact, "complete": one.found.complete}
    return row
