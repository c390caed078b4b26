"""Verdicts kept on disk, by what they are verdicts on.

    key  =  hash (tinygpu, what a machine says with all that it names, budget)          kept  =  word, sizes, counts, hash of the proof, messages

Comes in: a spec and one of what it states, with a verdict or to look for one. Goes out: a file in the cache folder; the verdict of an earlier process. The one idea: what a machine
says is its key, so an edit elsewhere changes nothing; messages point into declarations and name lines, so they are kept relative to declarations, under a key that has the texts of
these and their lines too. A file that is not whole is none. What is kept is no `Proof`: nothing is built of it, and whoever shows it says that it is kept.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from tinygpu.diagnostic import Case, Diagnostic, Fix, Label, Span
from tinygpu.model.choice import Choice
from tinygpu.model.free import Skeleton
from tinygpu.model.imports import Files
from tinygpu.model.machine import Machine
from tinygpu.model.pipeline import Claimed, Pipeline
from tinygpu.model.problems import Problems
from tinygpu.model.source import said
from tinygpu.record import dataclass, parts
from tinygpu.run.load import digest
from tinygpu.runtime.cubins import _cache_folder, _store, _stored
from tinygpu.syntax import tree
from tinygpu.syntax.files import read_text
from tinygpu.syntax.grammar import source
from tinygpu.syntax.lexer import Source
from tinygpu.syntax.node import This

if TYPE_CHECKING:
    from tinygpu.pipeline import Loaded

Subject: TypeAlias = "Machine | Claimed | Skeleton"
Relative: TypeAlias = tuple[int, int, int, Any]  # which declaration, characters from its start, and the origin in the same way
OF_TIME = "TG515"  # what is said where there was no time: another run may say something else
MAKES = ("z3-solver", "numpy", "sympy")


@dataclass(frozen=True, slots=True)
class Kept:
    """A verdict: its word, for which `sizes`, `counts` of laws and obligations, the hash of the `proof`, how long it took, and what is said."""

    word: str
    seconds: float
    sizes: str = ""
    counts: tuple[int, ...] = ()
    proof: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()


def recall(spec: Loaded, one: Subject, budget: int | None) -> Kept | None:
    """The verdict of an earlier process on exactly this, with places in the text as it is now; None where there is none."""
    key = key_of(spec, one, budget)
    plain = _read(key)
    if plain is not None:
        return _made(plain, ())
    anchors = anchors_of(spec, one)
    found = _read(exact(key, anchors))
    return _made(found, anchors) if found is not None else None


def remember(spec: Loaded, one: Subject, budget: int | None, verdict: Kept) -> None:
    """Keeps a verdict, but not one that is for want of time, nor messages that point elsewhere than into declarations."""
    if verdict.word == "error" or any(d.code == OF_TIME for d in verdict.diagnostics):
        return
    key, anchors = key_of(spec, one, budget), tuple[Anchor, ...]()
    if verdict.diagnostics:
        anchors = anchors_of(spec, one)
        key = exact(key, anchors)
    try:
        row = parts(verdict) | {"diagnostics": [_plain(d, anchors) for d in verdict.diagnostics]}
    except LookupError:
        return
    _store(_path(key), json.dumps(row, ensure_ascii=False).encode())


# ── keys ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def key_of(spec: Loaded, one: Subject, budget: int | None) -> str:
    """Of what it says, whatever stands around it in the text."""
    text = _said(This(spec.spec.tree), one.name) if isinstance(one, Machine | Skeleton) else one.text(spec.spec.tree)
    op = one.op.name if isinstance(one, Machine | Skeleton | Choice | Pipeline) else one.said
    return digest("\0".join((version(), str(budget), type(one).__name__, one.title, op, text)))


@lru_cache(maxsize=64)  # machines of several dtypes are one text
def _said(file: This[tree.File], name: str) -> str:
    return said(file.node, name)


def exact(key: str, anchors: tuple[Anchor, ...]) -> str:
    """The key with the texts and lines of the declarations, which messages point into and take words from."""
    return digest("\0".join((key, *(f"{anchor.span.line} {anchor.text}" for anchor in anchors))))


@cache
def version() -> str:
    """What makes verdicts: tinygpu's own files, and what it asks."""
    here, grammar = Path(__file__).resolve().parents[1], source()
    found = [p for folder in (here, grammar) for p in folder.rglob("*") if p.suffix in (".py", ".toml", ".json", ".lark", ".tgpu")]
    whole = hashlib.sha256()
    for path in sorted(found):
        whole.update(path.name.encode() + path.read_bytes())
    return " ".join((whole.hexdigest(), platform.python_version(), *(f"{name} {metadata.version(name)}" for name in MAKES)))


def _path(key: str) -> Path:
    return _cache_folder() / "verdicts" / f"{key}.json"


def _read(key: str) -> dict[str, Any] | None:
    """What is kept under a key; None where there is nothing, or nothing that is whole."""
    content = _stored(_path(key))
    return json.loads(content) if content is not None else None


# ── places ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Anchor:
    """A declaration, its text, and the text that it stands in."""

    span: Span
    text: str
    within: Source

    def holds(self, span: Span) -> bool:
        """Whether a place is one of it."""
        return self.span.file == span.file and self.span.start <= span.start and span.end <= self.span.end


def anchors_of(spec: Loaded, one: Subject) -> tuple[Anchor, ...]:
    """The declarations that a message may point into: of a machine no other machine, of what calls machines all."""
    return tuple(
        _anchors(
            spec.tree, spec.path, {spec.path: Source(spec.text, spec.path)}, "" if isinstance(one, Choice | Pipeline) else one.name
        )
    )


def _anchors(file: tree.File, path: str, texts: dict[str, Source], only: str) -> Iterator[Anchor]:
    for one in Files(Problems()).declarations(file, path, ()):
        if only and isinstance(one, tree.Machine | tree.Choice | tree.Pipeline) and one.name != only:
            continue
        name = one.span.file
        if name not in texts:
            texts[name] = Source(read_text(name), name)
        within = texts[name]
        yield Anchor(one.span, within.text[one.span.start : one.span.end], within)


def _relative(span: Span, anchors: tuple[Anchor, ...]) -> Relative:
    """A place within its declaration. Raises LookupError where it is in none."""
    at = next((n for n, anchor in enumerate(anchors) if anchor.holds(span)), -1)
    if at < 0:
        raise LookupError(span)
    start = anchors[at].span.start
    return at, span.start - start, span.end - start, span.origin and _relative(span.origin, anchors)


def _absolute(place: Relative, anchors: tuple[Anchor, ...]) -> Span:
    at, start, end, origin = place
    anchor = anchors[at]
    found = anchor.within.span(anchor.span.start + start, anchor.span.start + end)
    return Span(**parts(found) | {"origin": origin and _absolute(origin, anchors)})


def _plain(one: Diagnostic, anchors: tuple[Anchor, ...]) -> dict[str, Any]:
    """A message as plain data."""
    labels = [(_relative(label.span, anchors), label.text) for label in one.labels]
    fixes = [(fix.title, _relative(fix.span, anchors), fix.text, fix.word) for fix in one.fixes]
    return parts(one) | {"labels": labels, "fixes": fixes, "case": one.case and one.case.rows}


def _made(row: Mapping[str, Any], anchors: tuple[Anchor, ...]) -> Kept:
    said = []
    for one in row["diagnostics"]:
        labels = tuple(Label(_absolute(place, anchors), text) for place, text in one["labels"])
        case = one["case"] and Case(tuple((name, tuple(values)) for name, values in one["case"]))
        lists = {name: tuple(one[name]) for name in ("notes", "helps")}
        fixes = tuple(Fix(title, _absolute(place, anchors), text, word) for title, place, text, word in one["fixes"])
        said.append(Diagnostic(**{**one, **lists, "labels": labels, "fixes": fixes, "case": case}))
    return Kept(**{**row, "counts": tuple(row["counts"]), "diagnostics": tuple(said)})
