"""Terms as the text of kernels: what CUDA's numba needs of the functor to source text, in three tables.

Comes in: a term and what the names around it are. Goes out: one Python expression that numba types as the proof did.
The one idea: numba widens `int32 + int32` to 64 bits, so the form of every operation of integers casts back with `ix(…)` or its dtype;
a 16-bit float is its bits in memory and the f32 of the same value in registers, so its operations are lowered to those of f32, rounded.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from tinygpu.category.bits import nibble
from tinygpu.category.dtype import COMPUTED, LONG, MEMORY, NARROW, NIBBLES, PACKED, RANGE, REGISTER, ROUNDED, contains, nearest
from tinygpu.category.layout import Layout
from tinygpu.category.layout import address as shared_address
from tinygpu.category.operation import EXACT, FUNCTION, SHUFFLES, expanded
from tinygpu.category.term import BOOL, FLOATS, FUNCTIONS, INDEX, INTEGERS, SYMBOL, App, Const, Read, Term
from tinygpu.category.to_source import ATOM, Form, Source, called, plain, rounded_up
from tinygpu.program.arrays import address
from tinygpu.program.instruction import CONVERSIONS
from tinygpu.record import dataclass, field, replace

INDICES: Mapping[str, Form] = {  # what the proof says of indices: a divisor is positive, what is divided is not negative
    "floordiv": ("div({0}, {1})", ATOM, (0, 0)),
    "mod": ("mod({0}, {1})", ATOM, (0, 0)),
    "ceildiv": ("ceil({0}, {1})", ATOM, (0, 0)),
    "min": ("ix(min(ix({0}), ix({1})))", ATOM, (0, 0)),
    "max": ("ix(max(ix({0}), ix({1})))", ATOM, (0, 0)),
}
WRAPPING: Mapping[
    str, Form
] = {  # of two int64 numba makes what is undefined where it does not fit; narrower ones it computes in 64 bits
    op: (f"i64(u64({{0}}){SYMBOL[op][0]}u64({{1}}))", ATOM, (0, 0)) for op in ("add", "sub", "mul")
}


def held(dtype: str) -> str:
    """The type of a cell in registers, or of an index."""
    return "ix" if dtype == INDEX else REGISTER[dtype]


@dataclass(frozen=True, slots=True)
class Scope:
    """What the names around a term are: Python names, shapes of arrays in memory, local cells, raw cells of wide accesses, named index
    terms, the layouts of those arrays that are a block's, and the names of the strides of those that are strided."""

    names: Mapping[str, str]
    shapes: Mapping[str, tuple[Term, ...]]
    locals: frozenset[str] = frozenset()
    raw: frozenset[str] = frozenset()
    bound: Mapping[Term, str] = field(default_factory=dict)
    layouts: Mapping[str, Layout] = field(default_factory=dict)
    strides: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def binding(self, term: Term, name: str) -> Scope:
        """The scope in which an index term has a name."""
        return replace(self, bound={**self.bound, term: name})

    def with_locals(self, cells: Mapping[str, str]) -> Scope:
        """The scope with more variables of the thread, by Python's names."""
        return replace(self, names={**self.names, **cells}, locals=self.locals | frozenset(cells))

    def offset(self, array: str, index: tuple[Term, ...]) -> Term:
        """Where an element lies, in elements from the start of its array."""
        if array in self.layouts:
            return shared_address(self.shapes[array], self.layouts[array], index)
        return address(self.shapes[array], index)

    def text(self, term: Term, level: float = 0) -> str:
        """An index term, a guard or a value, as it is held in registers.

        >>> scope = Scope({"g": "g", "t": "t", "n": "n"}, {})
        >>> from tinygpu.category.term import Var
        >>> scope.text((Var("g") * 256 + Var("t")) // Var("n"))
        'div(ix(ix(g*256) + t), n)'
        >>> scope.text(App("and", (Var("t") < Var("n"), App("not", (Var("t") < 1,), BOOL)), BOOL))
        't < n and not t < 1'
        """
        return Source(self.names, self.bound, self.lower, form, self.element, literal).term(term, level)

    def element(self, read: Read) -> str:
        """The Python text of a cell: a variable, a local array's cell, or a tensor's element through its pointer. What is added up of strides has 64
        bits."""
        at = read.index
        if read.tensor in self.strides:
            parts = [f"i64({self.text(i)})*{pace}" for i, pace in zip(at, self.strides[read.tensor], strict=True)]
            return f"{self.names[read.tensor]}[{' + '.join(parts)}]"
        if read.tensor in self.shapes and read.tensor not in self.locals | self.raw:
            at = (self.offset(read.tensor, at),)
        inside = ", ".join(map(self.text, at))
        return f"{self.names[read.tensor]}[{inside}]" if at else self.names[read.tensor]

    def lower(self, term: Term) -> Term:
        """16-bit floats and truth values by what holds them: their operations and their elements in memory."""
        match term:
            case Read(dtype="bool"):
                return App("ne", (replace(term, dtype="u8"), Const(0)), BOOL)
            case Read(tensor, _, dtype) if dtype in PACKED and tensor not in self.locals:
                return App(f"{dtype}_value", (replace(term, dtype=MEMORY[dtype]),), "f32")
            case App(op, (value, lanes), "bool") if op in SHUFFLES:
                return App("ne", (App(op, (App("cast", (value,), "u8"), lanes), "u8"), Const(0)), BOOL)
            case App("cast", (inner,), dtype) if dtype in (inner.dtype, COMPUTED.get(inner.dtype)):
                return self.lower(inner)
            case App("cast", (inner,), "bool"):
                return App("ne", (inner, Const(0)), BOOL)
            case App("cast", (inner,), dtype) if dtype in NIBBLES:
                return nibble(inner, dtype)
            case App("cast", (inner,), dtype) if dtype in ROUNDED and not contains(dtype, inner.dtype):
                return App(f"round_{dtype}", (widened(inner),), "f32")
            case App(op, args, dtype) if dtype in ROUNDED and op not in EXACT:
                return App(f"round_{dtype}", (App(op, args, "f32"),), "f32")
            case App("ceildiv", (a, b), dtype) if dtype != INDEX:
                return rounded_up(a, b)
            case App(op, (x,), dtype) if op in FUNCTION and not FUNCTION[op].cuda:
                return expanded(op, dtype, x, App, Const)
        return term

    def to_store(self, term: Term) -> str:
        """A value as memory has it: the bits of a 16-bit float (rounded once), a byte for a truth value."""
        if term.dtype == BOOL:
            return f"u8({self.text(term)})"
        if term.dtype not in PACKED:
            return self.text(term)
        match self.lower(term):
            case App(op, (bits,)) if op == f"{term.dtype}_value":
                return self.text(bits)
            case App(op, (number,)) if op == f"round_{term.dtype}":
                return f"{term.dtype}_bits({self.text(number)})"
        return f"{term.dtype}_bits({self.text(term)})"


def widened(term: Term) -> Term:
    """A number in a type that the conversions to 16 bits take without rounding it first: f32, f64 or 64 bits."""
    return term if term.dtype in (*FLOATS, *LONG) else App("cast", (term,), "i64")


def form(term: App) -> Form:
    """How an operation is written: integers are cast back to their width, functions are libdevice's (`expf` for f32, `exp` for f64)."""
    op, dtype = term.op, held(term.dtype)
    if op == "cast":
        return cast(term.args[0].dtype, dtype)
    if op in SHUFFLES:
        return f"{shuffle_name(term)}({{0}}, {{1}})", ATOM, (0, 0)
    if op in CONVERSIONS:
        return called(op)
    if op in FUNCTIONS and dtype in FLOATS:
        return called(FUNCTION[op].cuda + ("f" if dtype == "f32" else ""))
    if op == "table":
        entries = [f"{{{number + 1}}} if {{0}} == {number}" for number in range(len(term.args) - 2)]
        chain = " else ".join([*entries, f"{{{len(term.args) - 1}}}"]), 0, (5, *(1,) * len(entries), 0)
        return called("ix", chain) if dtype == "ix" else chain
    if dtype == "ix":
        return INDICES.get(op) or called("ix", plain(term))
    if dtype == "i64" and op in WRAPPING:
        return WRAPPING[op]
    return called(dtype, plain(term)) if term.dtype in INTEGERS and op != "select" else plain(term)


def shuffle_name(term: App) -> str:
    """What the prelude calls a shuffle: one by a number of lanes below 32 is the instruction itself.

    >>> shuffle_name(App("shuffle_up", (Const(1.0, "f32"), Const(3)), "f32")), shuffle_name(App("shuffle_up", (Const(1.0, "f32"), Const(40)), "f32"))
    ('shuffle_up', 'shuffle_up_any')
    """
    by = term.args[1]
    plain_ = term.op in ("shuffle_xor", "shuffle_idx") or (isinstance(by, Const) and 0 <= int(by.value) < 32)
    return term.op if plain_ else f"{term.op}_any"


def cast(source: str, kind: str) -> Form:
    """A conversion to a number's type: floats round to nearest even, floats become integers towards zero and saturate, integers wrap."""
    if source in FLOATS and kind in NARROW:
        low, high = RANGE[kind]
        return f"{kind}(min(max(trunc_i32({{0}}), {low}), {high}))", ATOM, (0,)
    return called(f"trunc_{kind}" if source in FLOATS and kind in INTEGERS else kind)


def literal(constant: Const, held: Mapping[str, str] = REGISTER, inf: str = "inf") -> str:
    """A number of a dtype, as registers have it; those of fewer bits are rounded here.

    >>> literal(Const(0.1, "f16")), literal(Const(float("-inf"), "f32")), literal(Const(3, "i32")), literal(Const(3))
    ('f32(0.0999755859375)', 'f32(-inf)', 'i32(3)', '3')
    """
    number, dtype = constant.value, constant.dtype
    if dtype == BOOL:
        return str(bool(number))
    if dtype not in FLOATS:
        return str(int(number)) if dtype == INDEX else f"{held[dtype]}({int(number)})"
    exact = float(number)
    if dtype in ROUNDED:
        near = nearest(exact, dtype)
        exact = math.copysign(math.inf, exact) if near is None else float(near)
    return f"{held[dtype]}({repr(exact).replace('inf', inf)})"
