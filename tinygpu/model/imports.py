"""Imports: the declarations of other files, in the place of `import "…"`.

Comes in: the tree of a file, with the path that it was read from. Goes out: the tree with everything that it imports; a file's machines, and choices
among them, are its own, and stay there, unless a pipeline says that it calls them. The one idea: names are one flat space, also across files; a declaration's span says which file it is of.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias

from tinygpu.diagnostic import TinygpuError
from tinygpu.model.problems import Problems
from tinygpu.model.ranks import without_ranks
from tinygpu.model.source import words
from tinygpu.record import dataclass, field, replace
from tinygpu.syntax import tree
from tinygpu.syntax.files import LIBRARY, beside, meant, place, read_text
from tinygpu.syntax.parse import parse

Declared: TypeAlias = (
    tree.Op
    | tree.Machine
    | tree.Choice
    | tree.Pipeline
    | tree.Theorem
    | tree.Gradient
    | tree.Lemma
    | tree.Scheme
    | tree.Monoid
    | tree.Param
    | tree.Def
    | tree.Instruction
)


def with_imports(file: tree.File, problems: Problems) -> tree.File:
    """`tree.File → tree.File` without imports and families over ranks: with the defs of the files that it imports, and of their ops, monoids,
    params and theorems those that it needs. Mistakes are added to `problems`."""
    if not any(isinstance(d, tree.Import) for d in file.declarations):
        return replace(file, declarations=without_ranks(file.declarations, problems))
    every = without_ranks(Files(problems).declarations(file, file.span.file, ()), problems)
    called = called_by([d for d in every if own(d, file)], every)
    every = tuple(
        d if own(d, file) else serving(d, called) for d in every if own(d, file) or not isinstance(d, CALLEES) or d.name in called
    )
    speaking = (d if isinstance(d, tree.Gradient) else replace(d, name="") for d in every if own(d, file) or isinstance(d, CALLEES))
    wanted = {word for d in speaking for word in words(d)}
    by = {d.via.name for d in every if isinstance(d, tree.Machine) and d.via}

    def needed(one: Declared) -> bool:
        return isinstance(one, CALLEES) or one.name in (by if isinstance(one, tree.Theorem) else wanted)

    while more := {word for d in every if needed(d) for word in words(d)} - wanted:
        wanted |= more
    return replace(file, declarations=tuple(d for d in every if own(d, file) or isinstance(d, tree.Def) or needed(d)))


CALLEES = (tree.Machine, tree.Choice, tree.Pipeline)


def called_by(callers: Sequence[Declared], declared: Sequence[Declared]) -> dict[str, set[str]]:
    """The machines, choices and pipelines that pipelines say they call, and those that these call, with the ops for which: those of other files are there for nobody else."""
    by_name, found = {d.name: d for d in declared if isinstance(d, CALLEES)}, dict[str, set[str]]()
    waiting: list[tree.Choice | tree.Pipeline] = [d for d in callers if isinstance(d, tree.Pipeline)]
    while waiting:
        calls: list[tuple[str, str]] = []
        match waiting.pop():
            case tree.Pipeline(calls=turned):
                calls = [(one.by.name, one.op.name) for one in turned if one.by]
            case tree.Choice(branches=branches, op=op):
                calls = [(one.machine.name, op.name) for one in branches]
        waiting += [
            one for name, _ in calls if name not in found and isinstance(one := by_name.get(name), tree.Choice | tree.Pipeline)
        ]
        for name, served in calls:
            found.setdefault(name, set()).add(served)
    return found


def serving(one: Declared, called: Mapping[str, set[str]]) -> Declared:
    """A machine of another file, for the ops alone for which it is called."""
    return replace(one, ops=tuple(op for op in one.ops if op.name in called[one.name])) if isinstance(one, tree.Machine) else one


@lru_cache(maxsize=32)
def read_once(text: str, path: str) -> tree.File:
    """The tree of a file that several others import. Raises TinygpuError."""
    return parse(text, path)


def own(declaration: tree.Declaration, file: tree.File) -> bool:
    """Whether a declaration is of the file itself."""
    return declaration.span.file == file.span.file


@dataclass(slots=True)
class Files:
    """The files that were read, by where they lie."""

    problems: Problems
    read: set[str] = field(default_factory=set)

    def declarations(self, file: tree.File, path: str, importing: tuple[str, ...]) -> Iterator[Declared]:
        """What a file declares and imports; `importing` are the files, from the outermost, that are being read."""
        here = os.path.realpath(place(path)) if path else ""
        self.read.add(here)
        for one in file.declarations:
            if isinstance(one, tree.Import):
                yield from self.imported(one, path, (*importing, here))
            else:
                yield one

    def imported(self, one: tree.Import, path: str, importing: tuple[str, ...]) -> Iterator[Declared]:
        """What an import brings, unless another one has brought it; nothing after a message."""
        say, found = self.problems.say, meant(one.path, path)
        real = os.path.realpath(place(found))
        if not path and not one.path.startswith(LIBRARY):
            say("TG170.nowhere", one.span, path=one.path)
        elif real in importing:
            say("TG170.circle", one.span, path=one.path)
        elif not os.path.isfile(real):
            say(
                "TG170.missing",
                one.span,
                near=beside(found),
                name=os.path.basename(found),
                found=found,
                known=beside(found) or "none",
            )
        elif real not in self.read:
            yield from self.declarations(self.tree(found, one), found, importing)

    def tree(self, path: str, one: tree.Import) -> tree.File:
        """The tree of a file; an empty one after a message."""
        try:
            return read_once(read_text(path), path)
        except TinygpuError as error:
            for diagnostic in error.diagnostics:
                if diagnostic.labels:
                    self.problems.take(diagnostic)
                else:
                    self.problems.say("TG170.unreadable", one.span, reason=diagnostic.title)
        return tree.File(())
