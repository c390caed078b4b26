"""Terms as Python text for numba on the CPU.

Comes in: index, guard and value terms. Goes out: text in which indices are int64, accesses are flat and unsigned (`x[at(i*N + k)]`,
so numba adds no test for negative indices), and 16-bit floats are float32 numbers that the 16-bit type has, rounded after each step.
The one idea: every operation of every dtype is one row of a table.
"""

from __future__ import annotations

import keyword
import math
from dataclasses import dataclass, field

from tinygpu.category.term import BOOL, INDEX, INTEGERS, App, Const, Fold, Read, Term, Var
from tinygpu.emit.cpu_prelude import TEXT as PRELUDE
from tinygpu.model.op import Tensor
from tinygpu.program.step import Local

RESERVED = frozenset(keyword.kwlist) | {
    "np", "math", "numba", "njit", "prange", "range", "min", "max", "abs", "at", "first", "last", "items", "parts", "part", "item",
    "rest", "start", "row", "row_start", "row_stop",
    "lane", "lane_start", "lane_count", "cell", "block", "block_end", "LANES", "strip", "width", "low", "high",
    "inner_low", "inner_high", "side", "inlined", "get_num_threads", *PRELUDE,
}  # fmt: skip
REGISTER = {
    "f64": "np.float64", "f32": "np.float32", "f16": "np.float32", "bf16": "np.float32", "i64": "np.int64", "i32": "np.int32",
    "u32": "np.uint32", "u8": "np.uint8", "i8": "np.int8", "bool": "np.bool_",
}  # fmt: skip
MEMORY = {**REGISTER, "f16": "np.uint16", "bf16": "np.uint16"}
HALVES = ("f16", "bf16")
COMPARE = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
INFIX = {"add": ("+", 6), "sub": ("-", 6), "mul": ("*", 7), "div": ("/", 7), "xor": ("^", 5)}
CALL = {"floordiv": "quotient", "mod": "remainder", "min": "smaller", "max": "larger"}


def mangle(name: str) -> str:
    """A name of the spec as a Python name that hides nothing.

    >>> mangle("x"), mangle("lambda"), mangle("min")
    ('x', 'lambda_', 'min_')
    """
    return name + "_" if name in RESERVED else name


@dataclass(slots=True)
class Writer:
    """Names in scope and what was called: `tensors` and `locals` by name; `needs` grows with every prelude function used, `vectors`
    with the vector operations of each dtype; cells in `strip` have one element for each part of a strip."""

    tensors: dict[str, Tensor]
    locals: dict[str, Local]
    needs: set[str] = field(default_factory=set)
    vectors: dict[str, set[str]] = field(default_factory=dict)
    strip: set[str] = field(default_factory=set)

    def call(self, function: str, *args: str) -> str:
        self.needs.add(function)
        return f"{function}({', '.join(args)})"

    def index(self, t: Term, level: int = 0) -> str:
        """An index term, as int64 text; parentheses where what stands around it binds more tightly than `level`."""
        match t:
            case Const(value):
                return str(int(value))
            case Var(name):
                return mangle(name)
            case App("cast", (inner,)):
                return f"np.int64({self.value(inner)})"
            case App("table", (index, *entries)):
                return f"({', '.join(map(self.index, entries))},)[{self.index(index)}]"
            case App("select", (condition, then, otherwise)):
                return within(f"{self.index(then, 1)} if {self.guard(condition, 1)} else {self.index(otherwise)}", 0, level)
            case App("neg", (a,)):
                return within(f"-{self.index(a, 8)}", 7, level)
            case App("ceildiv", (a, b)):
                return within(f"({self.index(a, 6)} + {self.index(b - 1, 7)}) // {self.index(b, 8)}", 7, level)
            case App("floordiv" | "mod" as op, (a, b)):
                return self.call(CALL[op], self.index(a), self.index(b))
            case App("min" | "max" as op, args):
                return f"{op}({', '.join(map(self.index, args))})"
            case App(op, (a, b)) if op in INFIX:
                sign, own = INFIX[op]
                return within(f"{self.index(a, own)} {sign} {self.index(b, own + 1)}", own, level)
        raise NotImplementedError(f"index term {t!r} on the CPU")

    def guard(self, t: Term, level: int = 0) -> str:
        """A condition."""
        match t:
            case Const(value):
                return str(bool(value))
            case App("and" | "or" as op, args):
                own = 2 if op == "and" else 1
                return within(f" {op} ".join(self.guard(a, own + 1) for a in args), own, level)
            case App("not", (a,)):
                return within(f"not {self.guard(a, 4)}", 3, level)
            case App(op, (a, b)) if op in COMPARE:
                side = self.index if a.dtype == INDEX else self.value
                return within(f"{side(a, 5)} {COMPARE[op]} {side(b, 5)}", 4, level)
            case App("select", (condition, then, otherwise)):
                return within(f"{self.guard(then, 1)} if {self.guard(condition, 1)} else {self.guard(otherwise)}", 0, level)
            case App("cast", (a,)):
                return within(f"{self.value(a, 5)} != 0", 4, level)
            case Read():
                return self.read(t)
        raise NotImplementedError(f"condition {t!r} on the CPU")

    def read(self, t: Read) -> str:
        """`x[at(i*N + k)]`, a scalar argument, or a cell."""
        if t.tensor in self.locals:
            return self.cell(t.tensor, t.index)
        tensor = self.tensors[t.tensor]
        if not tensor.shape and tensor.role == "input":
            return mangle(t.tensor)
        raw = f"{mangle(t.tensor)}[{self.address(t.tensor, t.index)}]"
        return self.call(f"{tensor.dtype}_to_f32", raw) if tensor.dtype in HALVES else raw

    def address(self, name: str, index: tuple[Term, ...]) -> str:
        """The flat element number, unsigned: row-major, the last axis fastest."""
        return f"at({self.index(flat(index, self.tensors[name].shape))})"

    def cell(self, name: str, index: tuple[Term, ...]) -> str:
        """A local: a variable, or an element of a small flat array."""
        if name in self.strip:
            return f"{mangle(name)}[at(part)]"
        return f"{mangle(name)}[at({self.index(flat(index, self.locals[name].extents))})]" if index else mangle(name)

    def value(self, t: Term, level: int = 0) -> str:
        """A value, in the type of its register."""
        if t.dtype == BOOL:
            return self.guard(t, level)
        if t.dtype == INDEX:
            return self.index(t, level)
        match t:
            case Const(value):
                return constant(value, t.dtype)
            case Read():
                return self.read(t)
            case Var(name):
                return mangle(name)
            case App("select", (condition, then, otherwise)):
                return within(f"{self.value(then, 1)} if {self.guard(condition, 1)} else {self.value(otherwise)}", 0, level)
            case App("cast", (a,)):
                return self.cast(a, t.dtype)
            case App("table", (index, *entries)):
                return f"({', '.join(map(self.value, entries))},)[{self.index(index)}]"
            case App(op, args):
                return self.operation(op, args, t.dtype, level)
        raise NotImplementedError(
            f"value {type(t).__name__} on the CPU: folds are loops in a program" if isinstance(t, Fold) else repr(t)
        )

    def operation(self, op: str, args: tuple[Term, ...], dtype: str, level: int) -> str:
        """`op(args)` in its type: integers wrap, 16-bit floats are computed in f32 and rounded."""
        rounds = dtype in INTEGERS if op not in ("min", "max") else False
        rounds = rounds or (dtype in HALVES and op not in ("min", "max", "neg", "abs"))
        source, own = self.bare(op, args, dtype)
        if rounds:
            return self.call(f"round_{dtype}", source) if dtype in HALVES else f"{REGISTER[dtype]}({source})"
        return within(source, own, level)

    def bare(self, op: str, args: tuple[Term, ...], dtype: str) -> tuple[str, int]:
        """The operation as numba computes it, and how tightly its text binds."""
        match op, args:
            case "neg", (a,):
                return f"-{self.value(a, 8)}", 7
            case "abs", (a,):
                return f"abs({self.value(a)})", 9
            case "sqrt" | "floor", (a,):
                return f"np.{op}({self.value(a)})", 9
            case _, (a, b) if op in INFIX:
                sign, own = INFIX[op]
                return f"{self.value(a, own)} {sign} {self.value(b, own + 1)}", own
            case _, (a, b) if op in CALL:
                return self.call(CALL[op], self.value(a), self.value(b)), 9
            case _, (a,):
                return self.call(f"{op}_f64" if dtype == "f64" else f"{op}_f32", self.value(a)), 9
        raise NotImplementedError(f"{op} of {dtype} on the CPU")

    def cast(self, a: Term, dtype: str) -> str:
        """`a` converted: floats round once, float to integer truncates and saturates, integers wrap."""
        source = self.value(a)
        if a.dtype == dtype or (dtype == "f32" and a.dtype in HALVES):
            return self.value(a, 9)
        if dtype in INTEGERS and a.dtype in ("f64", "f32", *HALVES):
            return self.call(f"to_{dtype}", f"np.float64({source})")
        if dtype in HALVES and a.dtype in ("f64", "i64", "i32", "u32", INDEX):
            return self.call(f"round_{dtype}", self.call("narrow_to_odd", f"np.float64({source})"))
        if dtype in HALVES:
            return self.call(f"round_{dtype}", f"np.float32({source})")
        return f"{REGISTER[dtype]}({source})"

    def stored(self, value: Term, dtype: str) -> str:
        """A value as it lies in memory; a 16-bit float that is only moved keeps its bits."""
        if dtype in HALVES and isinstance(value, Read) and value.tensor in self.tensors and value.index and value.dtype == dtype:
            return f"{mangle(value.tensor)}[{self.address(value.tensor, value.index)}]"
        source = self.value(value)
        return self.call(f"f32_to_{dtype}", source) if dtype in HALVES else source


def flat(index: tuple[Term, ...], shape: tuple[Term, ...]) -> Term:
    """The element number in a row-major array.

    >>> from tinygpu.category.term import text
    >>> text(flat((Var("i"), Var("k")), (Var("M"), Var("K"))))
    'i*K + k'
    """
    out: Term = Const(0)
    for i, extent in zip(index, shape, strict=True):
        out = out * extent + i
    return out


def constant(value: int | float | bool, dtype: str) -> str:
    """A literal in its register's type."""
    if dtype in INTEGERS:
        return f"{REGISTER[dtype]}({int(value)})"
    number = float(value)
    if math.isinf(number):
        return f"{REGISTER[dtype]}({'-' if number < 0 else ''}np.inf)"
    return f"{REGISTER[dtype]}({number!r})"


def within(source: str, own: int, level: int) -> str:
    """The text, in parentheses where it binds less tightly than what stands around it.

    >>> within("a + b", 6, 7), within("a * b", 7, 6)
    ('(a + b)', 'a * b')
    """
    return f"({source})" if own < level else source
