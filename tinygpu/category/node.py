"""The five nodes of the term language, and how index operations are made from them.

A term is a constant, a variable, an operation applied to terms, a read of a tensor, or a fold over a guarded box.
Terms of dtype `index` are mathematical integers (sizes, axes, addresses) with Euclidean `//` and `%`; `bool` are guards;
the other dtypes are values. Everything that tinygpu reasons about is built from these five nodes, and the operations of
`category.operation`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeAlias, TypeVar

from tinygpu.category.dtype import DTYPES as DTYPES
from tinygpu.category.dtype import FLOATS as FLOATS
from tinygpu.category.dtype import INTEGERS as INTEGERS
from tinygpu.category.operation import ARITHMETICAL, COMPARING, COMPARISONS, LOGIC
from tinygpu.diagnostic import NOWHERE, Span
from tinygpu.record import dataclass, field

T = TypeVar("T")

INDEX = "index"
BOOL = "bool"


class Algebra:
    """Python's operators on terms; integers are lifted to index constants. A term keeps what is asked of it again and again."""

    __slots__ = (
        "_cancel",
        "_form",
        "_hash",
        "_inert",
        "_limited",
        "_plain",
        "_polynomial",
        "_shuffled",
        "_single",
        "_size",
        "_tensors",
        "_total",
        "_variables",
        "_whole",
    )  # of the functions that are `kept`; of `polynomial` of an index or `_forms` of a guard; and of `__hash__`

    def __add__(self, other: Term | int) -> Term:
        return apply("add", self, other)

    def __radd__(self, other: int) -> Term:
        return apply("add", other, self)

    def __sub__(self, other: Term | int) -> Term:
        return apply("sub", self, other)

    def __rsub__(self, other: int) -> Term:
        return apply("sub", other, self)

    def __mul__(self, other: Term | int) -> Term:
        return apply("mul", self, other)

    def __rmul__(self, other: int) -> Term:
        return apply("mul", other, self)

    def __floordiv__(self, other: Term | int) -> Term:
        return apply("floordiv", self, other)

    def __mod__(self, other: Term | int) -> Term:
        return apply("mod", self, other)

    def __xor__(self, other: Term | int) -> Term:
        return apply("xor", self, other)

    def __lt__(self, other: Term | int) -> Term:
        return apply("lt", self, other)

    def __le__(self, other: Term | int) -> Term:
        return apply("le", self, other)

    def __gt__(self, other: Term | int) -> Term:
        return apply("gt", self, other)

    def __ge__(self, other: Term | int) -> Term:
        return apply("ge", self, other)


def kept(function: Callable[[Any], T]) -> Callable[[Any], T]:
    """The same function of terms: a term keeps its value, in the slot of the function's name, so it is computed once."""
    name = f"_{function.__name__}"
    put = vars(Algebra)[name].__set__

    @wraps(function)
    def value(term: Any) -> T:
        found: Any = getattr(term, name, put)  # which no term keeps
        if found is put:
            put(term, found := function(term))
        return found  # type: ignore[no-any-return]

    return value


@dataclass(frozen=True, slots=True)
class Const(Algebra):
    """A literal. `Const(4)` is the index 4, `Const(0.5, "f32")` a value; infinities are `float("inf")`."""

    value: int | float | bool
    dtype: str = INDEX

    def __hash__(self) -> int:
        return hash(self.value)


@dataclass(frozen=True, slots=True)
class Var(Algebra):
    """A size, an axis or a binder: an integer in a range that its box knows. (`dtype` is not `index` only for opaque values.)"""

    name: str
    dtype: str = INDEX

    def __hash__(self) -> int:
        return hash(self.name)


@dataclass(frozen=True, slots=True)
class App(Algebra):
    """`op` of OPERATIONS applied to `args`, giving `dtype`."""

    op: str
    args: tuple[Term, ...]
    dtype: str = INDEX

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if other.__class__ is not App:
            return False
        return self.op == other.op and self.args == other.args and self.dtype == other.dtype  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        try:
            return self._hash  # type: ignore[attr-defined, no-any-return]
        except AttributeError:
            object.__setattr__(self, "_hash", found := hash((self.op, self.args, self.dtype)))
            return found


@dataclass(frozen=True, slots=True)
class Read(Algebra):
    """`tensor[index]`: an element of an input, an intermediate or a cell. Rank 0 is a scalar argument."""

    tensor: str
    index: tuple[Term, ...]
    dtype: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Axis:
    """A name with an extent: it runs over `[0, extent)`. `sort` says whose axis it is (data, reduction, grid, block, time, register, vector)."""

    name: str
    extent: Term
    sort: str = "data"
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Fold(Algebra):
    """`monoid` over every point of `axes` where `guard` holds, of `body`; binders are the names of the axes."""

    monoid: str
    axes: tuple[Axis, ...]
    guard: Term
    body: Term
    dtype: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


Term: TypeAlias = Const | Var | App | Read | Fold
TRUE = Const(True, BOOL)
FALSE = Const(False, BOOL)


def lift(value: Algebra | int) -> Term:
    """`int → index term`; terms are themselves.

    >>> lift(3)
    Const(value=3, dtype='index')
    """
    return Const(value) if isinstance(value, int) and not isinstance(value, bool) else value  # type: ignore[return-value]


FOLDED: Mapping[str, Callable[[int, int], int | bool]] = {
    row.name: row.apply for row in (*ARITHMETICAL, *COMPARING) if row.apply and row.name not in ("div", "neg")
}


def apply(op: str, *args: Algebra | int) -> Term:
    """An index operation, with constants folded and units dropped (`x + 0`, `x * 1`, `x // 1`, `x * 0`).

    >>> i = Var("i")
    >>> apply("add", i, 0) == i // 1 == i, lift(3) * 4
    (True, Const(value=12, dtype='index'))
    """
    terms = tuple(map(lift, args))
    dtype = BOOL if op in COMPARISONS + LOGIC else INDEX
    match op, terms:
        case _, (Const(a), Const(b)) if op in FOLDED and (b > 0 or op not in ("floordiv", "mod", "ceildiv")):
            return Const(FOLDED[op](a, b), dtype)  # type: ignore[arg-type]
        case ("add", (x, Const(0))) | ("add", (Const(0), x)) | ("sub", (x, Const(0))):
            return x
        case ("mul", (x, Const(1))) | ("mul", (Const(1), x)) | ("floordiv" | "ceildiv", (x, Const(1))):
            return x
        case ("mul", (_, Const(0))) | ("mul", (Const(0), _)) | ("mod", (_, Const(1))):
            return Const(0)
    return App(op, terms, dtype)
