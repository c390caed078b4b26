"""Terms as Python text for numba on the CPU.

Comes in: index, guard and value terms. Goes out: text in which indices are int64, accesses are flat and unsigned (`x[at(i*N + k)]`,
so numba adds no test for negative indices), and 16-bit floats are float32 numbers that the 16-bit type has, rounded after each step.
The one idea: the functor to source text with three tables of its own: what is lowered, how operations are written, literals.
"""

from __future__ import annotations

import keyword
from collections.abc import Mapping
from functools import partial

from tinygpu.category.bits import nibble
from tinygpu.category.dtype import COMPUTED, NIBBLES, NUMPY, OF_BITS, PACKED, ROUNDED, SMALL
from tinygpu.category.operation import FUNCTION
from tinygpu.category.term import BOOL, FLOATS, INDEX, INTEGERS, App, Const, Read, Term, Var
from tinygpu.category.to_source import ATOM, Form, Source, called, plain, rounded_up
from tinygpu.emit.cuda_text import literal
from tinygpu.model.op import Tensor
from tinygpu.program.arrays import address as row_major
from tinygpu.program.lanes import LANES, vector_of
from tinygpu.program.step import Array
from tinygpu.record import dataclass, field, replace
from tinygpu.runtime import offered

RESERVED = frozenset(keyword.kwlist) | {
    "__debug",  # with its underscores the one name that Python lets nobody give
    "np", "math", "numba", "njit", "prange", "range", "min", "max", "abs", "at", "first", "last", "items", "parts", "part", "item",
    "rest", "thread", "nought", "cell", "get_num_threads", *offered(),
}  # fmt: skip
MEMORY = {**NUMPY, **OF_BITS}
FORMS: dict[str, Form] = {"mul": ("{0} * {1}", 7, (7, 8)), "natural": ("{0} // {1}", 7, (7, 8))}
number = partial(literal, held=NUMPY, inf="np.inf")
WRAPPING = {"add": "+", "sub": "-", "mul": "*"}
CALL = {"floordiv": "quotient", "mod": "remainder", "min": "smaller", "max": "larger"}


def mangle(name: str) -> str:
    """A name of the spec as a Python name that hides nothing.

    >>> mangle("x"), mangle("lambda"), mangle("min"), mangle("min_")
    ('x', 'lambda_', 'min_', 'min__')
    """
    return name + "_" if name.rstrip("_") in RESERVED else name  # also of `min_`, which would else meet `min`


@dataclass(frozen=True, slots=True)
class Register:
    """A variable that holds so many neighbours of a dtype. What makes one of none says how many these are."""

    name: str
    dtype: str
    lanes: Term

    def operation(self, name: str, *args: str) -> str:
        """An operation of such vectors.

        >>> Register("acc", "f32", Const(16)).operation("load", "b", "0"), Register("acc", "f32", LANES).operation("spread", "x")
        ('lanes_load_f32x16(b, 0)', 'lanes_spread_f32(x)')
        """
        kind = vector_of(self.dtype, self.lanes) if name in ("load", "spread") else self.dtype
        return f"lanes_{name}_{kind}({', '.join(args)})"


@dataclass(slots=True)
class Writer:
    """Names in scope: `tensors` and `locals` by name; of cells in `strip` each of `parts` threads has one, and `thread` is the one at hand.
    `bound` are the names of index terms, `held` accumulators in vector registers by their first lane, and `vectors` the numbers of those that are as long as the machine's."""

    tensors: dict[str, Tensor]
    locals: dict[str, Array]
    vectors: str = ""
    strip: set[str] = field(default_factory=set)
    thread: Term = Const(0)
    parts: int = 1
    bound: Mapping[Term, str] = field(default_factory=dict)
    held: Mapping[tuple[str, tuple[Term, ...]], Register] = field(default_factory=dict)

    def text(self, t: Term, level: float = 0) -> str:
        """An index term as int64, a condition, or a value in the type of its register; parentheses where what stands around it binds
        more tightly than `level`."""
        return Source(bound=self.bound, lower=self.lower, form=self.form, read=self.read, literal=number).term(t, level)

    def binding(self, term: Term, name: str) -> Writer:
        """The same where an index term has a name."""
        return replace(self, bound={**self.bound, term: name})

    def read(self, t: Read) -> str:
        """`x[at(i*N + k)]`, a scalar argument, or a cell."""
        if t.tensor in self.locals:
            return self.cell(t.tensor, t.index)
        tensor = self.tensors[t.tensor]
        if not tensor.shape and tensor.role == "input":
            return mangle(t.tensor)
        raw = f"{mangle(t.tensor)}[{self.address(t.tensor, t.index)}]"
        return f"{tensor.dtype}_to_f32({raw})" if tensor.dtype in PACKED else raw

    def address(self, name: str, index: tuple[Term, ...]) -> str:
        """The flat element number, unsigned: row-major, the last axis fastest; of a strided tensor, whose strides numba knows, each index."""
        if name not in self.locals and self.tensors[name].strided:
            return ", ".join(f"at({self.text(i)})" for i in index)
        shape = self.locals[name].extents if name in self.locals else self.tensors[name].shape
        return f"at({self.text(row_major(shape, index))})"

    def cell(self, name: str, index: tuple[Term, ...]) -> str:
        """A local: a variable, or an element of a small flat array."""
        if name in self.strip:
            return f"{mangle(name)}[at({self.text(row_major(self.locals[name].extents, index) * self.parts + self.thread)})]"
        return f"{mangle(name)}[at({self.text(row_major(self.locals[name].extents, index))})]" if index else mangle(name)

    def lower(self, t: Term) -> Term:
        """Names that hide nothing; casts that change no register; the division that rounds up, by one that rounds down."""
        match t:
            case Var(name, dtype):
                return Var(f"LANES_{self.vectors}" if t == LANES else mangle(name), dtype)
            case App("cast", (a,), dtype) if dtype in (a.dtype, COMPUTED.get(a.dtype)):
                return self.lower(a)
            case App("cast", (a,), dtype) if dtype in NIBBLES:
                return nibble(a, dtype)
            case App("cast", (a,), "bool"):
                return App("ne", (a, Const(0)), BOOL)
            case App("ceildiv", (a, b), "index"):
                return App("natural", (App("add", (a, b - 1)), b))
            case App("ceildiv", (a, b)):
                return rounded_up(a, b)
        return t

    def form(self, t: App) -> Form:
        """How an operation is written: integers wrap, 16-bit floats are computed in f32 and rounded."""
        op, dtype = t.op, t.dtype
        if op == "cast":
            return self.cast(t.args[0].dtype, dtype)
        if dtype == "i64" and op in WRAPPING:
            return wrapping(op)
        if dtype in INTEGERS and op not in ("min", "max", "select", "table"):
            return called(NUMPY[dtype], self.bare(t))
        if dtype in ROUNDED and op not in ("min", "max", "neg", "abs", "select", "table"):
            return called(f"round_{dtype}", self.bare(t))
        return self.bare(t)

    def bare(self, t: App) -> Form:
        """The operation as numba computes it."""
        op, dtype = t.op, t.dtype
        if op in FORMS:
            return FORMS[op]
        if op in CALL and not (dtype == INDEX and op in ("min", "max")):
            return called(CALL[op], ("{0}, {1}", ATOM, (0, 0)))
        if op in FUNCTION and dtype in FLOATS:
            return called(FUNCTION[op].cpu or (f"{op}_f64" if dtype == "f64" else f"{op}_f32"))
        return plain(t)

    def cast(self, source: str, dtype: str) -> Form:
        """A conversion: floats round once, float to integer truncates and saturates, integers wrap."""
        if dtype in INTEGERS and source in FLOATS:
            return called(f"to_{dtype}", called("np.float64"))
        if dtype in ROUNDED and source not in (*SMALL, *ROUNDED, "f32"):
            return called(f"round_{dtype}", called("narrow_to_odd", called("np.float64")))
        if dtype in ROUNDED:
            return called(f"round_{dtype}", called("np.float32"))
        return called("np.int64" if dtype == INDEX else NUMPY[dtype])

    def stored(self, value: Term, dtype: str) -> str:
        """A value as it lies in memory; a float of fewer bits that is only moved keeps its bits."""
        if dtype in PACKED and isinstance(value, Read) and value.tensor in self.tensors and value.index and value.dtype == dtype:
            return f"{mangle(value.tensor)}[{self.address(value.tensor, value.index)}]"
        source = self.text(value)
        return f"f32_to_{dtype}({source})" if dtype in PACKED else source


def wrapping(op: str) -> Form:
    """Arithmetic of i64 as that of unsigned numbers, which wraps: what numba makes of two int64 is undefined where it does not fit.

    >>> wrapping("add")[0]
    'np.int64(np.uint64({0}) + np.uint64({1}))'
    """
    return f"np.int64(np.uint64({{0}}) {WRAPPING[op]} np.uint64({{1}}))", ATOM, (0, 0)
