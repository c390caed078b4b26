"""The operations of terms: one table, a row for each, from which every printer, reader, solver and simulator takes its column.

Comes in: the name of an operation. Goes out: how it is written, what it computes, where it has a value, what is known of it.
The one idea: an interpreter is a domain of numbers. What Python's operators do they do in every domain; a function is that of the domain's
module under its name, or its formula, or the domain's own:

    >>> import math
    >>> plain = domain(math)
    >>> plain["sub"](7, 3), plain["exp"](0.0), plain["sigmoid"](0.0), plain["ceildiv"](7, 2)
    (4, 1.0, 0.5, 4)
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from tinygpu.category.dtype import DTYPE, INTEGERS, SIGNED
from tinygpu.record import dataclass, field

INFINITY = float("inf")
Make = Callable[..., Any]  # an operation's name and operands to what it gives of them


@dataclass(frozen=True, slots=True)
class Operation:
    """`symbol` is how the language and Python write it, with the spaces around, and `rank` how tightly that binds; others are called by name.
    `apply` computes it of numbers that have Python's operators; `smt` is SMT-LIB's word. `of` says which dtypes have it, if not all.
    `work` is the kind of work that it is of floats. `keeps`: it gives one of the values that it gets, or the negative of one, or a number next
    to it, so that nothing is rounded and no infinity comes of numbers. `partial`: of some numbers it has no value. What folds has a `ufunc` of numpy."""

    name: str
    symbol: str = ""
    rank: float = 0
    apply: Callable[..., Any] | None = None
    smt: str = ""
    work: str = ""
    of: str = ""
    keeps: bool = False
    partial: bool = False
    ufunc: str = ""


@dataclass(frozen=True, slots=True)
class Function(Operation):
    """A function of one value. Of finite numbers it has a value where those `begin` (a comparison and a number; None is everywhere).
    `limits` are its values at −∞ and +∞ (None: it has none), `known` those at numbers where it is a fraction. `rising`: it is greater of what is
    greater. `formula` is made of other operations, and so is its derivative, `slope`, where it has one. `cuda` is libdevice's name, and the prelude's for an `angle`; without one its formula is
    computed. `cpu` is what numba has; without it the module has a function of its own (`runtime/arithmetic.py`)."""

    formula: Callable[[Make, Any], Any] | None = None
    slope: Callable[[Make, Any], Any] | None = None
    begin: tuple[str, float] | None = None
    limits: tuple[float | None, float | None] = (None, None)
    known: Mapping[float, float] = field(default_factory=dict, hash=False)
    rising: bool = True
    cuda: str = ""
    angle: bool = False
    cpu: str = ""

    def begun(self, number: Any) -> Any:
        """Whether it has a value of a finite number."""
        relation, start = self.begin or ("ge", -INFINITY)
        return OPERATION[relation].apply(number, start)  # type: ignore[misc]

    @property
    def positive(self) -> bool:
        """Whether all its values are above 0: it rises from there."""
        return self.rising and self.limits[0] == 0

    @property
    def damped(self) -> bool:
        """Whether it has a finite value of every number, and at infinities too."""
        return len(self.ends) == 2

    @property
    def ends(self) -> Mapping[float, float]:
        """The values at infinities that are numbers."""
        return {
            at: end for at, end in zip((-INFINITY, INFINITY), self.limits, strict=True) if end is not None and abs(end) < INFINITY
        }


FLOAT, INTEGER, UNSIGNED = "float", "integer", "unsigned"
FAR = 64  # bits, beyond which no integer has any
ARITHMETICAL = (
    Operation("add", " + ", 6, operator.add, "+", "add", ufunc="add"),
    Operation("sub", " - ", 6, operator.sub, "-", "add"),
    Operation("mul", "*", 7, operator.mul, "*", "mul", ufunc="multiply"),
    Operation("div", " / ", 7, operator.truediv, "/", "divide", FLOAT, partial=True),
    Operation("floordiv", " // ", 7, operator.floordiv, of=INTEGER, partial=True),
    Operation("mod", " % ", 7, operator.mod, of=INTEGER, partial=True),
    Operation("min", apply=min, work="compare", keeps=True, ufunc="minimum"),
    Operation("max", apply=max, work="compare", keeps=True, ufunc="maximum"),
    Operation("bitor", " | ", 4.8, operator.or_, of=INTEGER, ufunc="bitwise_or"),
    Operation("xor", " ^ ", 5, operator.xor, of=INTEGER, ufunc="bitwise_xor"),
    Operation("bitand", " & ", 5.3, operator.and_, of=INTEGER, ufunc="bitwise_and"),
    Operation("shl", " << ", 5.6, lambda a, k: a << min(k, FAR), of=INTEGER, partial=True, ufunc="left_shift"),
    Operation("shr", " >> ", 5.6, lambda a, k: a >> min(k, FAR), of=INTEGER, partial=True, ufunc="right_shift"),
    Operation("neg", "-", 8, operator.neg, "-", "compare", keeps=True),
    Operation("ceildiv", apply=lambda a, b: -(-a // b), of=INTEGER, partial=True),
)
COMPARING = (
    Operation("lt", " < ", 4, operator.lt, "<"),
    Operation("le", " <= ", 4, operator.le, "<="),
    Operation("gt", " > ", 4, operator.gt, ">"),
    Operation("ge", " >= ", 4, operator.ge, ">="),
    Operation("eq", " == ", 4, operator.eq, "="),
    Operation("ne", " != ", 4, operator.ne),
)
LOGICAL = (
    Operation("and", " and ", 2, ufunc="logical_and"),
    Operation("or", " or ", 1, ufunc="logical_or"),
    Operation("not", "not ", 3),
)
OF_FLOATS: Mapping[str, Any] = {"work": "special", "of": FLOAT}
FUNCTION: Mapping[str, Function] = {
    row.name: row
    for row in (
        Function("exp", slope=lambda f, x: f("exp", x), limits=(0.0, INFINITY), known={0: 1}, cuda="exp", **OF_FLOATS),
        Function(
            "exp2",
            formula=lambda f, x: f("exp", f("mul", x, f("log", 2))),
            slope=lambda f, x: f("mul", f("exp2", x), f("log", 2)),
            limits=(0.0, INFINITY),
            known={0: 1},
            cuda="exp2",
            **OF_FLOATS,
        ),
        Function(
            "log",
            slope=lambda f, x: f("div", 1, x),
            begin=("gt", 0),
            limits=(None, INFINITY),
            known={1: 0},
            cuda="log",
            partial=True,
            **OF_FLOATS,
        ),
        Function(
            "sqrt",
            slope=lambda f, x: f("div", 1, f("mul", 2, f("sqrt", x))),
            begin=("ge", 0),
            limits=(None, INFINITY),
            known={0: 0, 1: 1},
            cuda="sqrt",
            cpu="np.sqrt",
            partial=True,
            **OF_FLOATS,
        ),
        Function(
            "rsqrt",
            formula=lambda f, x: f("div", 1, f("sqrt", x)),
            slope=lambda f, x: f("neg", f("div", f("rsqrt", x), f("mul", 2, x))),
            begin=("gt", 0),
            limits=(None, 0.0),
            known={1: 1},
            rising=False,
            cuda="rsqrt",
            partial=True,
            **OF_FLOATS,
        ),
        Function(
            "tanh",
            slope=lambda f, x: f("sub", 1, f("mul", f("tanh", x), f("tanh", x))),
            limits=(-1.0, 1.0),
            known={0: 0},
            cuda="tanh",
            **OF_FLOATS,
        ),
        Function(
            "sigmoid",
            formula=lambda f, x: f("div", 1, f("add", 1, f("exp", f("neg", x)))),
            slope=lambda f, x: f("mul", f("sigmoid", x), f("sub", 1, f("sigmoid", x))),
            limits=(0.0, 1.0),
            known={0: 0.5},
            **OF_FLOATS,
        ),
        Function("erf", limits=(-1.0, 1.0), known={0: 0}, cuda="erf", **OF_FLOATS),
        Function("sin", slope=lambda f, x: f("cos", x), known={0: 0}, rising=False, cuda="sin", angle=True, **OF_FLOATS),
        Function("cos", slope=lambda f, x: f("neg", f("sin", x)), known={0: 1}, rising=False, cuda="cos", angle=True, **OF_FLOATS),
        Function(
            "abs",
            slope=lambda f, x: f("select", f("gt", x, 0), 1, -1),
            apply=abs,
            limits=(INFINITY, INFINITY),
            rising=False,
            work="compare",
            keeps=True,
            cuda="fabs",
            cpu="abs",
        ),
        Function(
            "floor",
            slope=lambda f, x: 0,
            limits=(-INFINITY, INFINITY),
            known={0: 0},
            work="compare",
            of=FLOAT,
            keeps=True,
            cuda="floor",
            cpu="np.floor",
        ),
        Function(
            "round",
            slope=lambda f, x: 0,
            limits=(-INFINITY, INFINITY),
            known={0: 0},
            work="compare",
            of=FLOAT,
            keeps=True,
            cuda="rint",
            cpu="np.rint",
        ),
    )
}
BITWISE = ("bitor", "bitand", "shl", "shr")  # of data alone: of an index, which has no width, they are arithmetic
COUNTING = (Operation("popcount", apply=int.bit_count, of=UNSIGNED),)  # functions of integers; kernels of both targets call them so
# select(c, a, b); cast(x) to the node's dtype; table(index, c0, c1, ...); pack(a, b, ...) of a carrier, part(v, 0) of its value
BUILDING = (Operation("select", work="compare", keeps=True), *map(Operation, ("cast", "table", "pack", "part")))
# (value, index term): the value of another lane, in programs only
EXCHANGING = tuple(Operation(f"shuffle_{way}") for way in ("xor", "up", "down", "idx"))

OPERATION: Mapping[str, Operation] = {
    row.name: row for row in (*ARITHMETICAL, *COMPARING, *LOGICAL, *FUNCTION.values(), *COUNTING, *BUILDING, *EXCHANGING)
}


def names(rows: tuple[Operation, ...]) -> tuple[str, ...]:
    """What operations are called."""
    return tuple(row.name for row in rows)


ARITHMETIC, COMPARISONS, LOGIC, FUNCTIONS = names(ARITHMETICAL), names(COMPARING), names(LOGICAL), tuple(FUNCTION)
OTHERS, SHUFFLES, COUNTS, OPERATIONS = names(BUILDING), names(EXCHANGING), names(COUNTING), tuple(OPERATION)
COMPLEMENT = {"lt": "ge", "ge": "lt", "le": "gt", "gt": "le", "eq": "ne", "ne": "eq"}  # what holds where a comparison does not
SWAPPED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}  # and of the operands in the other order
KEEPING = tuple(row.name for row in OPERATION.values() if row.keeps)
EXACT = (*KEEPING, "cast", *SHUFFLES)  # what they give of 16-bit floats needs no rounding to 16 bits
PARTIAL = tuple(row.name for row in OPERATION.values() if row.partial)
SYMBOL: Mapping[str, tuple[str, float]] = {row.name: (row.symbol, row.rank) for row in OPERATION.values() if row.symbol}
KNOWN: Mapping[
    tuple[str, float], float
] = {  # functions at the numbers where they are numbers, and at infinities where they are one
    (row.name, at): value for row in FUNCTION.values() for at, value in {**row.known, **row.ends}.items()
}


def demands(op: str, dtype: str) -> tuple[tuple[str, int, float], ...]:
    """What a partial operation asks of its operands: comparisons, each of the one at a place with a number. Signed integers are divided only where
    the mathematics and every machine agree, and shifted by less than their width.

    >>> demands("log", "f32"), demands("mod", "i32"), demands("shr", "u8")
    ((('gt', 0, 0),), (('ge', 0, 0), ('gt', 1, 0)), (('lt', 1, 8),))
    """
    row, whole, natural = OPERATION[op], dtype in INTEGERS, ("ge", 0, 0)
    match op:
        case "floordiv" | "mod" | "ceildiv":
            return (natural, ("gt", 1, 0)) if dtype in SIGNED else (("gt", 1, 0),)
        case "div":
            return (("gt" if whole else "ne", 1, 0),)
        case "shl" | "shr":
            below = ("lt", 1, DTYPE[dtype].bits if whole else FAR)
            return (("ge", 1, 0), below) if dtype in SIGNED or not whole else (below,)
    return ((row.begin[0], 0, row.begin[1]),) if isinstance(row, Function) and row.begin else ()


def expanded(op: str, dtype: str, argument: Any, node: Make, number: Make) -> Any:
    """A function's formula as a term: `node(op, args, dtype)` is an operation, `number(value, dtype)` a literal."""
    formula = FUNCTION[op].formula
    assert formula is not None, f"{op} has no formula"

    def make(inner: str, *args: Any) -> Any:
        return node(inner, tuple(number(float(a), dtype) if isinstance(a, int) else a for a in args), dtype)

    return formula(make, argument)


def domain(module: Any, **own: Callable[..., Any]) -> Mapping[str, Callable[..., Any]]:
    """What computes each operation of numbers: their `own`, Python's operator, a function of their module, a formula."""
    table: dict[str, Callable[..., Any]] = {}

    def make(op: str, *args: Any) -> Any:
        return table[op](*args)

    for row in OPERATION.values():
        formula = row.formula if isinstance(row, Function) else None
        found = own.get(row.name) or row.apply or getattr(module, row.name, None) or (partial(formula, make) if formula else None)
        if found is not None:
            table[row.name] = found
    return table
