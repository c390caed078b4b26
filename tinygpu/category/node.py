"""The five nodes of the term language, and how index operations are made from them.

A term is a constant, a variable, an operation applied to terms, a read of a tensor, or a fold over a guarded box.
Terms of dtype `index` are mathematical integers (sizes, axes, addresses) with Euclidean `//` and `%`; `bool` are guards;
the other dtypes are values. Everything that tinygpu reasons about is built from these five nodes, and the operations of
`category.operation`.
"""

from __future__ import annotations

import atexit
from collections.abc import Callable, Mapping
from functools import cache
from itertools import count
from typing import Any, TypeAlias, TypeVar
from weakref import ref

from tinygpu.category.deadline import look
from tinygpu.category.dtype import DTYPES as DTYPES
from tinygpu.category.dtype import FLOATS as FLOATS
from tinygpu.category.dtype import INTEGERS as INTEGERS
from tinygpu.category.operation import ARITHMETICAL, BITWISE, COMPARING, COMPARISONS, LOGIC
from tinygpu.diagnostic import NOWHERE, Span
from tinygpu.record import dataclass, field

T = TypeVar("T")
INDEX = "index"
BOOL = "bool"


class Algebra:
    """Python's operators on terms; integers are lifted to index constants. A term keeps what is asked of it again and again.

    Terms are made once: of the same parts comes the same object. Where a read or a fold is written is a part, but two terms that differ in
    nothing else are equal; `bare` is the one of them that was written nowhere. `parts` is how many it has, written out, and `deep` how many
    of them are inside of each other.

    >>> x = Var("x")
    >>> (x * 2 + x).parts, (x * 2 + x).deep
    (5, 3)
    """

    # a hash in a slot: found without a call of Python's, of which there would be millions
    __slots__ = ("__hash__", "__weakref__", "deep", "number", "other", "parts")

    deep: int
    number: int
    other: Any
    parts: int

    @property
    def bare(self) -> Any:
        """The equal term that was written nowhere."""
        return self.other or self

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Algebra) and (self.other or self) is (other.other or other))

    def __reduce__(self) -> Any:
        return type(self), tuple(getattr(self, name) for name in type(self).__match_args__)  # type: ignore[attr-defined]

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


class Made(ref[Any]):
    """A term for as long as somebody has it, and where it is found."""

    __slots__ = ("key",)
    key: tuple[Any, ...]


TERMS: dict[tuple[Any, ...], Made] = {}  # every term, by its kind and parts; those inside by their identity, as each has its own
BARE: dict[tuple[Any, ...], int | float | bool] = {}  # of equal literals the first one
NUMBERS = count()
nobody: Any = type(None)  # called where a term was not made yet
KEPT: list[Any] = []  # the functions of terms that remember their values
atexit.register(TERMS.clear)  # where Python ends, nobody is told


def kept(function: Callable[[Any], T]) -> Callable[[Any], T]:
    """The same function of terms, which is asked again and again: computed once for each, until all is forgotten."""
    KEPT.append(cache(function))
    return KEPT[-1]  # type: ignore[no-any-return]


def forget() -> None:
    """Terms that nobody has any more are let go of: what functions remember is no reason to keep one.

    >>> there = ref(Var("of nobody") * 2 + 1)
    >>> forget()
    >>> there() is None
    True
    """
    for function in KEPT:
        function.cache_clear()


def forgotten(made: Made, terms: dict[tuple[Any, ...], Made] = TERMS) -> None:
    """Nobody has the term any more."""
    if terms.get(made.key) is made:
        del terms[made.key]


def made(key: tuple[Any, ...], fields: tuple[Any, ...], bare: tuple[Any, ...], inside: tuple[Any, ...] = ()) -> Any:
    """A new term with these fields and the terms `inside`, which is equal to the one of the `bare` fields: those that are written nowhere."""
    cls = key[0]
    term = object.__new__(cls)
    TERMS[key] = here = Made(term, forgotten)
    here.key = key
    for name, value in zip(cls.__match_args__, fields, strict=True):
        object.__setattr__(term, name, value)
    same = cls(*bare)
    object.__setattr__(term, "other", None if same is term else same)
    object.__setattr__(term, "number", next(NUMBERS) if same is term else same.number)
    object.__setattr__(term, "__hash__", term.number.__hash__)
    object.__setattr__(term, "parts", sum([part.parts for part in inside], 1))
    object.__setattr__(term, "deep", max([part.deep for part in inside], default=0) + 1)
    if term.number & 0xFF == 0:  # not at every one
        look()
    return term


def word(name: str) -> Any:
    """A name as a part of a key: that of a carrier is more than a string."""
    return name if name.__class__ is str else (name.__class__, name)


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Const(Algebra):
    """A literal. `Const(4)` is the index 4, `Const(0.5, "f32")` a value; infinities are `float("inf")`."""

    value: int | float | bool
    dtype: str = INDEX

    def __new__(cls, value: int | float | bool, dtype: str = INDEX) -> Const:
        key = (cls, value or str(value), value.__class__, dtype)
        found = TERMS.get(key, nobody)()
        if found is None:
            found = made(key, (value, dtype), (BARE.setdefault((value, dtype), value), dtype))  # 1 is 1.0
        return found  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Var(Algebra):
    """A size, an axis or a binder: an integer in a range that its box knows. (`dtype` is not `index` only for opaque values.)"""

    name: str
    dtype: str = INDEX

    def __new__(cls, name: str, dtype: str = INDEX) -> Var:
        key = (cls, name, word(dtype))
        return TERMS.get(key, nobody)() or made(key, (name, dtype), (name, dtype))  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True, eq=False, init=False)
class App(Algebra):
    """`op` of OPERATIONS applied to `args`, giving `dtype`."""

    op: str
    args: tuple[Term, ...]
    dtype: str = INDEX

    def __new__(cls, op: str, args: tuple[Term, ...], dtype: str = INDEX) -> App:
        key = (cls, op if op.__class__ is str else word(op), dtype if dtype.__class__ is str else word(dtype), *map(id, args))
        found = TERMS.get(key, nobody)()
        if found is None:
            found = made(key, (op, args, dtype), (op, tuple([a.other or a for a in args]), dtype), args)
        return found  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Read(Algebra):
    """`tensor[index]`: an element of an input, an intermediate or a cell. Rank 0 is a scalar argument."""

    tensor: str
    index: tuple[Term, ...]
    dtype: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    def __new__(cls, tensor: str, index: tuple[Term, ...], dtype: str, span: Span = NOWHERE) -> Read:
        key = (cls, tensor, word(dtype), id(span), *map(id, index))
        found = TERMS.get(key, nobody)()
        if found is None:
            found = made(key, (tensor, index, dtype, span), (tensor, tuple([i.other or i for i in index]), dtype), index)
        return found  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Axis:
    """A name with an extent: it runs over `[0, extent)`. `sort` says whose axis it is (data, reduction, grid, block, time, register, vector)."""

    name: str
    extent: Term
    sort: str = "data"
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True, eq=False, init=False)
class Fold(Algebra):
    """`monoid` over every point of `axes` where `guard` holds, of `body`; binders are the names of the axes."""

    monoid: str
    axes: tuple[Axis, ...]
    guard: Term
    body: Term
    dtype: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    def __new__(cls, monoid: str, axes: tuple[Axis, ...], guard: Term, body: Term, dtype: str, span: Span = NOWHERE) -> Fold:
        ranges = [(a.name, id(a.extent), a.sort, id(a.span)) for a in axes]
        key = (cls, word(monoid), word(dtype), id(guard), id(body), id(span), *ranges)
        found = TERMS.get(key, nobody)()
        if found is None:
            plain = tuple([Axis(a.name, a.extent.bare, a.sort) for a in axes])
            name = monoid if monoid.__class__ is str else monoid.bare  # type: ignore[attr-defined]
            inside = (*[a.extent for a in axes], guard, body)
            found = made(key, (monoid, axes, guard, body, dtype, span), (name, plain, guard.bare, body.bare, dtype), inside)
        return found  # type: ignore[no-any-return]


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
    row.name: row.apply for row in (*ARITHMETICAL, *COMPARING) if row.apply and row.name not in ("div", "neg", *BITWISE)
}


TRUTHS = frozenset(COMPARISONS + LOGIC)


def apply(op: str, *args: Algebra | int) -> Term:
    """An index operation, with constants folded and units dropped (`x + 0`, `x * 1`, `x // 1`, `x * 0`).

    >>> i = Var("i")
    >>> apply("add", i, 0) == i // 1 == i, lift(3) * 4
    (True, Const(value=12, dtype='index'))
    """
    terms: Any = tuple([Const(a) if a.__class__ is int else a for a in args])  # type: ignore[arg-type]
    if len(terms) == 2 and (terms[0].__class__ is Const or terms[1].__class__ is Const):
        match op, terms:
            case _, (Const(a), Const(b)) if op in FOLDED and (b > 0 or op not in ("floordiv", "mod", "ceildiv")):
                return Const(FOLDED[op](a, b), BOOL if op in TRUTHS else INDEX)  # type: ignore[arg-type]
            case ("add", (x, Const(0))) | ("add", (Const(0), x)) | ("sub", (x, Const(0))):
                return x  # type: ignore[no-any-return]
            case ("mul", (x, Const(1))) | ("mul", (Const(1), x)) | ("floordiv" | "ceildiv", (x, Const(1))):
                return x  # type: ignore[no-any-return]
            case ("mul", (_, Const(0))) | ("mul", (Const(0), _)) | ("mod", (_, Const(1))):
                return Const(0)
    return App(op, terms, BOOL if op in TRUTHS else INDEX)
