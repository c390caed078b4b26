"""What a program's terms mean where a CPU runs them, and what the text of a work function calls the program's cells.

    x[i, k]  ↦  x[i·K + k]        acc of a thread  ↦  acc[thread]        shuffle_xor(v, 1)  ↦  exchange[thread ^ 1]

Comes in: terms, and names as the text writes them for the first time. Goes out: terms over flat memory. The one idea: a cell gets its name where
it is written for the first time; which names an emitter would give is nobody's business.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Sequence

from tinygpu.category.dtype import COMPUTED, PACKED, ROUNDED, SMALL
from tinygpu.category.operation import FUNCTION
from tinygpu.category.owner import row_major
from tinygpu.category.term import BOOL, FLOATS, INDEX, INTEGERS, App, Axis, Const, Read, Term, text, walk
from tinygpu.program.arrays import address
from tinygpu.program.space import INPUT
from tinygpu.program.step import Assign, For, If, Step, steps
from tinygpu.record import dataclass, field
from tinygpu.schedule.threads import source_lane, threads_of
from tinygpu.validate.meaning import Meaning, in_memory
from tinygpu.validate.same import canonical
from tinygpu.validate.typed import Differs, Number, Pointer, Thing, unread


@dataclass(slots=True)
class CpuMeaning(Meaning):
    """Of one work function. `made` are the arrays that the text makes, by name, each with its size and type; `cells` what the program's cells
    are called, `each` those of which every thread has its own; `shuffled` where a value is that a shuffle takes, and in which region it was left."""

    block: tuple[Axis, ...] = ()
    made: dict[str, tuple[Term, str]] = field(default_factory=dict)
    names: dict[str, Thing] = field(default_factory=dict)
    cells: dict[str, str] = field(default_factory=dict)
    each: set[str] = field(default_factory=set)
    shuffled: dict[Term, tuple[str, int]] = field(default_factory=dict)
    region: int = 0  # how many loops over all threads have begun

    def item(self, name: str) -> str:
        """The type of a cell or of an element: 16-bit floats are their bits in memory, and numbers of f32 in cells and scalars."""
        dtype = self.arrays[name].dtype
        return in_memory(dtype) if dtype in PACKED and not self.held(name) else COMPUTED.get(dtype, dtype)

    def held(self, name: str) -> bool:
        """Numbers are so in cells, and scalars."""
        array = self.arrays[name]
        return array.owner != "grid" or (array.space == INPUT and not array.extents)

    def place(self, name: str, index: tuple[Term, ...]) -> tuple[Term, ...]:
        """The number of an element; a cell that is one variable has none."""
        array = self.arrays[name]
        if array.owner != "grid" and not isinstance(self.names.get(self.cells.get(name, "")), Pointer):
            return ()
        if array.space == INPUT and not array.extents:
            return ()
        if array.strided:
            return tuple(map(self.term, index))
        number = address(array.extents, tuple(map(self.term, index)))
        return (number * threads_of(self.block) + row_major(self.block) if name in self.each else number,)

    def stored(self, name: str, value: Term) -> Term:
        """A value as it is put into a cell or an element."""
        return self.term(value) if value.dtype == BOOL else Meaning.stored(self, name, value)

    def _element(self, read: Read, name: str) -> Term:
        return read if read.dtype == BOOL else Meaning._element(self, read, name)

    def _term(self, term: Term) -> Term:
        """Shuffles are what another thread has left for this one; functions of 16-bit floats are rounded."""
        if term in self.shuffled:
            name, region = self.shuffled[term]
            if region >= self.region:
                where = ast.Pass(lineno=1, col_offset=0)
                raise Differs(where, "takes the value of a thread that has not come", "all lanes come to a shuffle")
            place = self.term(source_lane(term.op, term.args[1], self.block))  # type: ignore[union-attr]
            return Read(name, (place,), COMPUTED.get(term.dtype, term.dtype))
        match term:
            case App(op, (x,), dtype) if op in FUNCTION and op != "abs":
                made = App(op, (self.term(x),), COMPUTED.get(dtype, dtype))
                return App(f"round_{dtype}", (made,), "f32") if dtype in ROUNDED else made
        return Meaning._term(self, term)

    def _cast(self, inner: Term, value: Term, target: str) -> Term:
        """To 16 bits it rounds once, from wherever; from floats to integers it cuts off and saturates."""
        if target in ROUNDED and target != inner.dtype:
            narrow = inner.dtype in SMALL
            return App(f"round_{target}", (App("cast", (value,), "f32") if narrow else value,), "f32")
        if inner.dtype in FLOATS and target in INTEGERS:
            return App(f"trunc_{target}", (value,), target)
        return Meaning._cast(self, inner, value, target)

    def bind(self, node: ast.AST, cell: str, name: str, whole: bool) -> None:
        """`name` is what the text calls a cell of the program, from here on: an array (`whole`) or a variable."""
        if self.cells.setdefault(cell, name) != name or list(self.cells.values()).count(name) > 1:
            raise Differs(node, f"writes {name}", f"the program writes {cell}")
        if isinstance(self.names.get(name), Number | Pointer):
            return
        if name in self.names or (name in self.made) != whole:
            raise unread(node, f"gives {name} another meaning")
        self.known.clear()
        array, item = self.arrays[cell], self.item(cell)
        if not whole:
            self.names[name] = Number(cell, item)
            return
        size, kind = self.made[name]
        count, parts = canonical(math.prod(array.extents, start=Const(1))), threads_of(self.block)
        each = size != count or (not array.extents and parts > 1)
        if size != (canonical(count * parts) if each else count) or kind != item or (each and array.owner == "block"):
            raise Differs(node, f"{name} has {text(size)} cells of {kind}", f"{cell} has {text(count)} of {item}")
        self.each |= {cell} if each else set()
        self.names[name] = Pointer(cell, item)

    def computed(self, body: Sequence[Step]) -> Iterator[Term]:
        """The index terms that the program computes, which its proof has shown to fit: those of addresses too."""
        for step in steps(tuple(body)):
            match step:
                case Assign(target, index, value, _, guard):
                    found: tuple[Term, ...] = (*self.place(target, index), self.term(value), self.term(guard))
                case For(axis):
                    found = (self.term(axis.extent),)
                case If(guard):
                    found = (self.term(guard),)
                case _:
                    found = ()
            yield from (canonical(t) for term in found for t in walk(term) if t.dtype == INDEX)
