"""What the names of a kernel's text stand for at the statement at hand, and what statements change: names, arrays, and whether threads wait.

Comes in: statements that give names, and what statements write. Goes out: readers of expressions, and names that are not known any more.
The one idea: a name stands for its term until something that the term was read from is written; then nobody may use it. What a loop may change
is not known in any of its turns before it is given again, so it is looked for first.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from tinygpu.category.dtype import NATIVE
from tinygpu.category.linear import as_written, joined, polynomial
from tinygpu.category.term import App, Read, Term, reads, variables, walk
from tinygpu.record import dataclass, field, replace
from tinygpu.validate.expression import Reader
from tinygpu.validate.flat import Flat
from tinygpu.validate.inside import changing, names_in
from tinygpu.validate.meaning import Meaning
from tinygpu.validate.same import Here
from tinygpu.validate.typed import Atom, Cells, Differs, Loaded, Number, Pointer, Stale, Thing, Value, unread
from tinygpu.validate.width import Width

NAMED = ("ix", "bool", *NATIVE)  # types that a name of the text may have


@dataclass(frozen=True, slots=True)
class Effects:
    """`assigned` are names of the text, `written` arrays of the program."""

    assigned: frozenset[str] = frozenset()
    written: frozenset[str] = frozenset()
    barriers: bool = False


def _array(thing: Thing | None) -> set[str]:
    return {thing.array} if isinstance(thing, Number | Pointer | Cells) and thing.array else set()


@dataclass(slots=True)
class Scope:
    """Of one kernel. `cells` are those of wide accesses, `pending` shuffles whose value is to be used at once."""

    meaning: Meaning
    names: dict[str, Thing]
    width: Width
    flat: Flat
    inputs: frozenset[str]
    cells: dict[str, Cells]
    kinds: dict[str, str] = field(default_factory=dict)
    pending: dict[str, ast.stmt] = field(default_factory=dict)

    def reader(self, here: Here) -> Reader:
        """A reader of expressions of a place."""
        return Reader(self.names, here, self.width, self.flat.digit, self.flat.rests.keys())

    def effects(self, *body: ast.stmt) -> Effects:
        """What statements may change."""
        assigned: set[str] = set()
        written: set[str] = set()
        barriers = False
        for node in (n for stmt in body for n in changing(stmt)):
            match node:
                case ast.Name(id=name, ctx=ast.Store()):
                    assigned.add(name)
                    written |= _array(self.names.get(name))
                case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store()):
                    written |= _array(self.names.get(name))
                case ast.Call(func=ast.Name(id=name), args=[ast.Name(id=first), *_]):
                    atom = self.names.get(name)
                    if isinstance(atom, Atom) and atom.what in ("store", "copy", "atomic"):
                        written |= _array(self.names.get(first))
                    if isinstance(atom, Atom) and atom.what == "load":
                        assigned.add(first)
                    if isinstance(atom, Atom) and atom.what == "matrix":
                        written.update(*(_array(self.names.get(name)) for name in names_in(node)))
                        barriers |= atom.waits
                case ast.Call(func=ast.Name(id=name), args=[]) if isinstance(atom := self.names.get(name), Atom) and (
                    atom.what == "call" or atom.waits
                ):
                    barriers = True  # it waits
                case ast.Attribute(attr="syncthreads" | "syncwarp"):
                    barriers = True
        return Effects(frozenset(assigned), frozenset(written), barriers)

    def given(self, stmt: ast.stmt, here: Here) -> bool:
        """Whether a statement only gives a name to a number; the name stands for its term from here on."""
        match stmt:
            case ast.Assign(targets=[ast.Name(id=name)], value=node):
                if isinstance(self.names.get(name), Number | Pointer | Cells | Atom):
                    return False
                reader = self.reader(here)
                value = reader.value(node)
                if value.kind not in NAMED:
                    raise unread(stmt, f"a name of type {value.kind}")
                self.kind(stmt, name, value.kind)
                if reader.shuffles:
                    self.pending[name] = stmt
                elif any(r.index for r in reads(value.term)):
                    raise Differs(stmt, "reads memory, wherever its value is used", "an element is read where the program reads it")
                self.names[name] = replace(value, term=simple(value.term))
                return True
        return False

    def kind(self, stmt: ast.stmt, name: str, kind: str) -> None:
        """A name has one type in a kernel: of several numba would make a wider one."""
        if self.kinds.setdefault(name, kind) != kind:
            raise unread(stmt, f"{name} is of type {self.kinds[name]} elsewhere, and of {kind} here")

    def counts(self, stmt: ast.stmt, name: str, term: Term) -> None:
        """The variable of a loop."""
        self.kind(stmt, name, "ix")
        self.names[name] = Value(term, "ix")

    def used(self, names: Iterable[str] = ()) -> None:
        """That an assignment uses every shuffle that was made for it; without one, that none waits for its use."""
        for name, given in self.pending.items():
            if name not in names:
                raise Differs(given, "is a shuffle whose value is not used at once")
        self.pending.clear()

    def written(self, array: str) -> None:
        """An array of the program was written."""
        self.forget(Effects(written=frozenset((array,))))

    def forget(self, what: Effects) -> None:
        """Names that stand for what was read before a write, or is made old by a barrier."""
        for name, thing in self.names.items():
            seen = {r.tensor for r in reads(thing.term)} if isinstance(thing, Value) else set()
            seen |= {thing.pointer.array} if isinstance(thing, Loaded) else set()
            if seen & what.written:
                self.names[name] = Stale(f"{', '.join(sorted(seen & what.written))} was written since it was given")
            elif what.barriers and seen & self.flat.shared:
                self.names[name] = Stale("a barrier was passed since it was given")

    def ended(self, stmt: ast.stmt, why: str) -> None:
        """What a loop or a choice gives names to is not known elsewhere."""
        for name in self.effects(stmt).assigned:
            if not isinstance(self.names.get(name), Number | Pointer | Cells):
                self.names[name] = Stale(why)


def simple(term: Term) -> Term:
    """An index term with its digits put together, where it has some."""
    if not isinstance(term, Read) and variables(term) and any(isinstance(t, App) and t.op == "mod" for t in walk(term)):
        form = polynomial(term)
        whole = joined(form)
        return term if whole == form else as_written(whole)
    return term
