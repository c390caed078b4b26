"""What a program's term means on the machine: offsets in memory, and numbers as registers hold them.

    x[i, k]  ↦  x[i·K + k]          a + b : f16  ↦  round_f16(a + b : f32)

Comes in: a term of a program. Goes out: the same value in what hardware has: flat memory, 8-bit truth values, 16-bit floats as their
bits in memory and as f32 in registers. The one idea: this is the statement of what a kernel's text has to say, made without the emitter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from tinygpu.category.bits import nibble
from tinygpu.category.dtype import COMPUTED, LONG, MEMORY, NARROW, NIBBLES, PACKED, RANGE, REGISTER, ROUNDED, contains, nearest
from tinygpu.category.layout import address as shared_address
from tinygpu.category.operation import EXACT, FUNCTION, SHUFFLES, expanded
from tinygpu.category.term import BOOL, FLOATS, INDEX, INTEGERS, App, Const, Read, Term, rebuild, select
from tinygpu.program.arrays import address as row_major
from tinygpu.program.arrays import arrays
from tinygpu.program.space import INPUT
from tinygpu.program.step import Array, Program
from tinygpu.record import dataclass, field, replace


def in_memory(dtype: str) -> str:
    """The type of an element in memory."""
    return MEMORY.get(dtype, dtype)


def in_register(dtype: str) -> str:
    """The type of a thread's cell."""
    return REGISTER.get(dtype, dtype)


@dataclass(slots=True)
class Meaning:
    """The machine's reading of the terms of one program."""

    arrays: Mapping[str, Array]
    known: dict[Term, Term] = field(default_factory=dict)

    @classmethod
    def of(cls, program: Program) -> Self:
        return cls(arrays(program))

    def place(self, name: str, index: tuple[Term, ...]) -> tuple[Term, ...]:
        """Where an element lies: a thread's own cell and an element of a strided array have coordinates, another one in memory an offset, one that
        lanes hold the number of a cell."""
        array = self.arrays[name]
        if array.owner == "thread" or array.strided or (array.space == INPUT and not array.extents):
            return tuple(map(self.term, index))
        index = tuple(map(self.term, index))
        if array.held is not None:
            return (array.held.cell(index),)
        return (shared_address(array.extents, array.layout, index) if array.owner == "block" else row_major(array.extents, index),)

    def axes(self, name: str) -> int:
        """How many indices the memory of an array takes, where it is strided; of all others it takes one offset."""
        return len(self.arrays[name].extents) if self.arrays[name].strided else 0

    def stored(self, name: str, value: Term) -> Term:
        """A value as a cell of that array takes it: bits in memory, a number in a register."""
        number = self.term(value)
        if value.dtype == BOOL:
            return App("cast", (number,), "u8")
        return bits(value.dtype, number) if value.dtype in PACKED and not self.held(name) else number

    def held(self, name: str) -> bool:
        """Whether an array has numbers as registers do: those of 16 bits as f32."""
        return self.arrays[name].owner == "thread"

    def term(self, term: Term) -> Term:
        """`term → term of the machine`, each once."""
        if term not in self.known:
            self.known[term] = self._term(term)
        return self.known[term]

    def _term(self, term: Term) -> Term:
        match term:
            case Const(value, dtype) if dtype in ROUNDED:
                near = nearest(float(value), dtype)
                overflown = float("inf") if value > 0 else -float("inf")
                return Const(overflown if near is None else float(near), "f32")
            case Const(value, dtype) if dtype in NIBBLES:
                return Const(value, in_register(dtype))
            case Read(tensor, index, dtype):
                return self._element(Read(tensor, self.place(tensor, index), dtype), tensor)
            case App("cast", (inner,), dtype):
                return self._cast(inner, self.term(inner), dtype)
            case App(op, (x,), dtype) if op in FUNCTION and not FUNCTION[op].cuda:
                return self.term(expanded(op, dtype, x, App, Const))
            case App(op, (value, lane), "bool") if op in SHUFFLES:
                byte = App(op, (App("cast", (self.term(value),), "u8"), self.term(lane)), "u8")
                return App("ne", (byte, Const(0, "u8")), BOOL)
            case App("select", (c, a, b)):
                return select(self.term(c), self.term(a), self.term(b))
            case App("table", (place, *entries)):
                out = self.term(entries[-1])
                for number, entry in reversed(list(enumerate(entries[:-1]))):
                    out = select(App("eq", (self.term(place), Const(number)), BOOL), self.term(entry), out)
                return out
            case App("ceildiv", (a, b), dtype) if dtype in INTEGERS:
                more = App("ne", (App("mod", (a, b), dtype), Const(0, dtype)), BOOL)
                up = App("select", (more, Const(1, dtype), Const(0, dtype)), dtype)
                return self.term(App("add", (App("floordiv", (a, b), dtype), up), dtype))
            case App(op, args, dtype):
                made = replace(term, args=tuple(map(self.term, args)), dtype=COMPUTED.get(dtype, dtype))
                return made if dtype not in ROUNDED or op in EXACT else App(f"round_{dtype}", (made,), "f32")
        return rebuild(term, self.term)

    def _element(self, read: Read, name: str) -> Term:
        """An element as a register has it."""
        if read.dtype == BOOL:
            return App("ne", (replace(read, dtype="u8"), Const(0, "u8")), BOOL)
        if read.dtype in PACKED and not self.held(name):
            return App(f"{read.dtype}_value", (replace(read, dtype=in_memory(read.dtype)),), "f32")
        return replace(read, dtype=COMPUTED.get(read.dtype, read.dtype))

    def _cast(self, inner: Term, value: Term, target: str) -> Term:
        """A conversion: to fewer bits it rounds once, from floats to integers it cuts off and saturates."""
        source = inner.dtype
        if source == target or (source != BOOL and value.dtype == target):
            return value
        if target == BOOL:
            return App("ne", (value, Const(0.0 if source in FLOATS else 0, value.dtype)), BOOL)
        if target in NIBBLES:
            return self.term(nibble(inner, target))
        if target in ROUNDED:
            if contains(target, source):
                return value if value.dtype == "f32" else App("cast", (value,), "f32")
            wide = value if source in (*FLOATS, *LONG) else App("cast", (value,), "i64")
            return App(f"round_{target}", (wide,), "f32")
        if source in FLOATS and target in NARROW:
            low, high = (Const(end, "i32") for end in RANGE[target])
            cut = App("trunc_i32", (value,), "i32")
            return App("cast", (App("min", (App("max", (cut, low), "i32"), high), "i32"),), target)
        if source in FLOATS and target in (*INTEGERS, INDEX):
            return App(f"trunc_{target}", (value,), target)
        return App("cast", (value,), target)


def bits(half: str, number: Term) -> Term:
    """The bits of a number that is rounded to so few here, or was before, or was read from them."""
    match number:
        case App(op, (inner,)) if op == f"{half}_value":
            return inner
        case App(op, (inner,)) if op == f"round_{half}":
            number = inner
    match number:
        case App("select", (condition, a, b)):  # a choice is rounded as what is chosen is
            return select(condition, bits(half, a), bits(half, b))
    return App(f"{half}_bits", (number,), in_memory(half))
