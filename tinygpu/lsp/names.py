"""What each word of a text is: the table of names that definition, references, rename, hover and colours read.

    word of a declaration  ⟼  (who declares it, its name)

Comes in: a text and its tree. Goes out: a `Table`. The one idea: nothing hides anything in this language, so within a declaration a name is one thing, and a machine speaks of the names of
the ops that it computes; what is left is to say, of each word, which declaration it is of.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from tinygpu.diagnostic import TinygpuError
from tinygpu.lsp.words import Word, calls, header, locals_of, words_of
from tinygpu.model.binders import wholes
from tinygpu.model.imports import Files
from tinygpu.model.problems import Problems
from tinygpu.model.source import computed
from tinygpu.record import dataclass
from tinygpu.syntax import tree

Key: TypeAlias = tuple[int, str]  # which declaration, and the name in it; FILE for what a file declares
FILE = -1
USED = "used"


@dataclass(frozen=True, slots=True)
class Named:
    """A word that is a name: where it stands, what it is of, what it is, and where the declaration that it is of declares it: -1 where another file does."""

    start: int
    end: int
    key: Key
    kind: str
    home: int = -1


@dataclass(frozen=True, slots=True)
class Table:
    """The names of a text in their order, where each is declared, and what every file that is read declares."""

    named: tuple[Named, ...]
    defined: Mapping[Key, int]
    declared: Mapping[str, tree.Declaration]
    declarations: tuple[tree.Declaration, ...]

    def at(self, offset: int) -> Named | None:
        """The name at an offset, or just before it."""
        place = bisect_right(self.named, offset, key=lambda one: one.start) - 1
        found = self.named[place] if place >= 0 else None
        return found if found is not None and offset <= found.end else None

    def all(self, key: Key) -> tuple[Named, ...]:
        """Every place of a name."""
        return tuple(one for one in self.named if one.key == key)

    def around(self, offset: int) -> tree.Declaration | None:
        """The declaration that an offset is in."""
        return next((d for d in self.declarations if d.span.start <= offset <= d.span.end), None)


def table(text: str, file: tree.File) -> Table:
    """`text, tree → Table`."""
    own, beside = file.declarations, others(file)
    declared = {d.name: d for d in (*beside, *own) if not isinstance(d, tree.Import)}
    made = Maker(text, own, declared, [locals_of(d) for d in own], {})
    named = tuple(one for number in range(len(own)) for one in made.names(number))
    homes, kinds = dict[Key, int](), dict[Key, str]()  # before names are joined: go-to-definition stays within an op
    for one in named:
        if one.kind != USED:
            homes.setdefault(one.key, one.start)
            kinds.setdefault(one.key, one.kind)
    defined: dict[Key, int] = {}
    for key, start in homes.items():
        defined[made.root(key)] = min(start, defined.get(made.root(key), start))
    found = (
        Named(n.start, n.end, made.root(n.key), kinds.get(n.key) or kind_of(declared.get(n.key[1])), homes.get(n.key, -1))
        for n in named
    )
    return Table(tuple(found), defined, declared, own)


def others(file: tree.File) -> tuple[tree.Declaration, ...]:
    """What other files declare."""
    try:
        every = tuple(Files(Problems()).declarations(file, file.span.file, ()))
    except TinygpuError:  # a file that cannot be read is said elsewhere
        return ()
    return tuple(d for d in every if d.span.file != file.span.file)


def kind_of(declaration: tree.Declaration | None) -> str:
    """What a declaration is, in words."""
    word = type(declaration).__name__.lower() if declaration is not None else "name"
    return f"{'an' if word[0] in 'aeiou' else 'a'} {word}"


@dataclass(slots=True)
class Maker:
    """The declarations of a file with what each declares, and which of these are one thing."""

    text: str
    own: tuple[tree.Declaration, ...]
    declared: Mapping[str, tree.Declaration]
    locals: list[dict[str, str]]
    one: dict[Key, Key]

    def __post_init__(self) -> None:
        for theorem in self.own:
            if isinstance(theorem, tree.Theorem | tree.Gradient):  # what is the same is called alike
                sides = self.around(theorem)
                names = {name for n in sides for name, kind in self.locals[n].items() if kind in ("a tensor", "a size")}
                for name in names:
                    self.join([(n, name) for n in sides if name in self.locals[n]])

    def root(self, key: Key) -> Key:
        """What stands for all that is the same."""
        while key in self.one:
            key = self.one[key]
        return key

    def join(self, keys: list[Key]) -> Key:
        """They are one thing; the first of them."""
        first = self.root(keys[0])
        for other in map(self.root, keys[1:]):
            if other != first:
                self.one[max(first, other)] = min(first, other)
                first = min(first, other)
        return keys[0]

    def names(self, number: int) -> Iterator[Named]:
        """The names of a declaration."""
        one = self.own[number]
        if isinstance(one, tree.Import):
            return
        words = list(words_of(self.text, one))
        head, reached = header(words, one), calls(words, one)
        around, beside = self.around(one), self.beside(words, number)
        for word in words:
            if word.start == head:
                yield Named(word.start, word.end, (FILE, word.text), kind_of(one))
            elif key := self.key(word, number, reached.get(word.start, ""), around, beside):
                yield Named(word.start, word.end, key, self.locals[number][word.text] if key[0] == number else USED)

    def key(self, word: Word, number: int, reached: str, around: list[int], beside: list[int]) -> Key | None:
        """What a word is of; None for one of the language."""
        name = word.text
        if reached == "name" and name in self.declared:
            return FILE, name
        if word.dotted or reached == "key":
            found = [(n, name) for n in beside if name in self.locals[n]]
            return self.join(found) if found else None
        if isinstance(self.declared.get(name), tree.Param):
            return FILE, name
        found = [(n, name) for n in around if name in self.locals[n]]
        if found or name in self.locals[number]:
            return self.join(found) if found else (number, name)
        return (FILE, name) if isinstance(self.declared.get(name), tree.Def | tree.Monoid) else None

    def around(self, one: tree.Declaration) -> list[int]:
        """The declarations whose names another one speaks of."""
        match one:
            case tree.Machine():
                names = {n.name for n in one.ops} | {op.name for op in computed(one, self.own)}
            case tree.Theorem() | tree.Gradient() | tree.Choice():
                names = {n.name for n in wholes(one)}
            case tree.Lemma(name):
                return [n for n, d in enumerate(self.own) if isinstance(d, tree.Monoid) and d.name == name]
            case _:
                return []
        return [n for n, d in enumerate(self.own) if isinstance(d, tree.Op | tree.Pipeline) and d.name in names]

    def beside(self, words: list[Word], number: int) -> list[int]:
        """The monoids and instructions that a declaration names, whose parts stand behind a dot; the ops that it calls."""
        texts = {word.text for word in words}
        kinds = tree.Op if isinstance(self.own[number], tree.Pipeline) else tree.Monoid | tree.Instruction
        return [n for n, d in enumerate(self.own) if isinstance(d, kinds) and (n == number or d.name in texts)]
