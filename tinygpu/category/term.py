"""Terms: the one expression language of tinygpu, for indices and for values.

A term is a constant, a variable, an operation applied to terms, a read of a tensor, or a fold over a guarded box.
Terms of dtype `index` are mathematical integers (sizes, axes, addresses) with Euclidean `//` and `%`; `bool` are guards;
the other dtypes are values. Everything that tinygpu reasons about is built from these five nodes, and the interpreters
(z3, sympy, numpy, source text) are tables from the operations below to what the target offers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from tinygpu.diagnostic import NOWHERE, Span

INDEX = "index"
BOOL = "bool"
FLOATS = ("f64", "f32", "bf16", "f16")
INTEGERS = ("i64", "i32", "u32", "u8", "i8")
DTYPES = FLOATS + INTEGERS + (BOOL,)

ARITHMETIC = ("add", "sub", "mul", "div", "floordiv", "mod", "min", "max", "xor", "neg", "ceildiv")
COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
LOGIC = ("and", "or", "not")
FUNCTIONS = ("exp", "exp2", "log", "sqrt", "rsqrt", "tanh", "sigmoid", "erf", "sin", "cos", "abs", "floor")
OTHERS = ("select", "cast", "table")  # select(c, a, b); cast(x) to the node's dtype; table(index, c0, c1, ...)
OPERATIONS = ARITHMETIC + COMPARISONS + LOGIC + FUNCTIONS + OTHERS


class Algebra:
    """Python's operators on terms; integers are lifted to index constants."""

    __slots__ = ()

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


@dataclass(frozen=True, slots=True)
class Const(Algebra):
    """A literal. `Const(4)` is the index 4, `Const(0.5, "f32")` a value; infinities are `float("inf")`."""

    value: int | float | bool
    dtype: str = INDEX


@dataclass(frozen=True, slots=True)
class Var(Algebra):
    """A size, an axis or a binder: an integer in a range that its box knows. (`dtype` is not `index` only for opaque values.)"""

    name: str
    dtype: str = INDEX


@dataclass(frozen=True, slots=True)
class App(Algebra):
    """`op` of OPERATIONS applied to `args`, giving `dtype`."""

    op: str
    args: tuple[Term, ...]
    dtype: str = INDEX


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


def lift(value: Term | int) -> Term:
    """`int → index term`; terms are themselves.

    >>> lift(3)
    Const(value=3, dtype='index')
    """
    return Const(value) if isinstance(value, int) and not isinstance(value, bool) else value  # type: ignore[return-value]


FOLDED: Mapping[str, Callable[[int, int], int | bool]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b,
    "mod": lambda a, b: a % b,
    "ceildiv": lambda a, b: -(-a // b),
    "min": min,
    "max": max,
    "xor": lambda a, b: a ^ b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
}


def apply(op: str, *args: Term | int) -> Term:
    """An index operation, with constants folded and units dropped (`x + 0`, `x * 1`, `x // 1`, `x * 0`).

    >>> i = Var("i")
    >>> text(apply("add", i * 4, 0)), text(i // 1), text(lift(3) * 4)
    ('i*4', 'i', '12')
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


def ceildiv(a: Term | int, b: Term | int) -> Term:
    """`⌈a / b⌉` for b > 0."""
    return apply("ceildiv", a, b)


def equal(a: Term | int, b: Term | int) -> Term:
    """The guard `a = b`."""
    return apply("eq", a, b)


def conjunction(*guards: Term) -> Term:
    """The conjunction of guards, flat, without `true`, each once.

    >>> i = Var("i")
    >>> text(conjunction(TRUE, i < 4, i < 4))
    'i < 4'
    """
    parts: dict[Term, None] = {}
    for guard in guards:
        match guard:
            case App("and", args):
                parts.update(dict.fromkeys(args))
            case Const(True):
                pass
            case _:
                parts[guard] = None
    if FALSE in parts:
        return FALSE
    if len(parts) < 2:
        return next(iter(parts), TRUE)
    return App("and", tuple(parts), BOOL)


def conjuncts(guard: Term) -> tuple[Term, ...]:
    """The parts of a conjunction; none for `true`."""
    match guard:
        case Const(True):
            return ()
        case App("and", args):
            return tuple(part for arg in args for part in conjuncts(arg))
    return (guard,)


def negation(guard: Term) -> Term:
    """`not guard`, with constants and double negations gone."""
    match guard:
        case Const(bool(value)):
            return Const(not value, BOOL)
        case App("not", (inner,)):
            return inner
    return App("not", (guard,), BOOL)


def select(condition: Term, then: Term, otherwise: Term) -> Term:
    """`then if condition else otherwise`."""
    match condition:
        case Const(True):
            return then
        case Const(False):
            return otherwise
    return then if then == otherwise else App("select", (condition, then, otherwise), then.dtype)


def children(term: Term) -> tuple[Term, ...]:
    """The terms directly inside a term (a fold's extents, guard and body included)."""
    match term:
        case App(_, args):
            return args
        case Read(_, index):
            return index
        case Fold(_, axes, guard, body):
            return (*(a.extent for a in axes), guard, body)
    return ()


def walk(term: Term) -> Iterator[Term]:
    """The term and everything inside it, outermost first."""
    yield term
    for child in children(term):
        yield from walk(child)


def rebuild(term: Term, change: Callable[[Term], Term]) -> Term:
    """The term with `change` applied to each of its children. Index operations are folded again."""
    match term:
        case App(op, args, dtype):
            new = tuple(map(change, args))
            if new == args:
                return term
            if op in FOLDED and all(a.dtype == INDEX for a in new):
                return apply(op, *new)
            if op == "and":
                return conjunction(*new)
            if op == "select":
                return select(*new)
            return App(op, new, dtype)
        case Read(tensor, index, dtype, span):
            return Read(tensor, tuple(map(change, index)), dtype, span)
        case Fold(monoid, axes, guard, body, dtype, span):
            axes = tuple(Axis(a.name, change(a.extent), a.sort, a.span) for a in axes)
            return Fold(monoid, axes, change(guard), change(body), dtype, span)
    return term


def substitute(term: Term, mapping: Mapping[str, Term]) -> Term:
    """Composition: every variable replaced by its term. Binders of folds shadow, and are renamed where they would capture.

    >>> i, q = Var("i"), Var("q")
    >>> text(substitute(i // 4 + q, {"i": q * 8}))
    'q*8 // 4 + q'
    """
    if not mapping:
        return term
    match term:
        case Var(name):
            return mapping.get(name, term)
        case Fold(monoid, axes, guard, body, dtype, span):
            inner = {k: v for k, v in mapping.items() if k not in {a.name for a in axes}}
            used = {n for v in inner.values() for n in variables(v)}
            fresh = {a.name: _fresh(a.name, used | set(inner)) for a in axes if a.name in used}
            inner = {**inner, **{old: Var(new) for old, new in fresh.items()}}
            axes = tuple(Axis(fresh.get(a.name, a.name), substitute(a.extent, mapping), a.sort, a.span) for a in axes)
            return Fold(monoid, axes, substitute(guard, inner), substitute(body, inner), dtype, span)
    return rebuild(term, lambda child: substitute(child, mapping))


def _fresh(name: str, used: set[str]) -> str:
    while name in used:
        name += "_"
    return name


def variables(term: Term) -> frozenset[str]:
    """The free variables of a term.

    >>> sorted(variables(Fold("sum", (Axis("k", Var("K")),), TRUE, Read("A", (Var("i"), Var("k")), "f32"), "f32")))
    ['K', 'i']
    """
    match term:
        case Var(name):
            return frozenset((name,))
        case Fold(_, axes, guard, body):
            inside = (variables(guard) | variables(body)) - {a.name for a in axes}
            return inside.union(*(variables(a.extent) for a in axes))
    return frozenset().union(*map(variables, children(term)))


def reads(term: Term) -> tuple[Read, ...]:
    """Every tensor read in a term, in order."""
    return tuple(t for t in walk(term) if isinstance(t, Read))


SYMBOL = {
    "or": (" or ", 1), "and": (" and ", 2), "not": ("not ", 3),
    "lt": (" < ", 4), "le": (" <= ", 4), "gt": (" > ", 4), "ge": (" >= ", 4), "eq": (" == ", 4), "ne": (" != ", 4),
    "xor": (" ^ ", 5), "add": (" + ", 6), "sub": (" - ", 6),
    "mul": ("*", 7), "div": (" / ", 7), "floordiv": (" // ", 7), "mod": (" % ", 7), "neg": ("-", 8),
}  # fmt: skip


def text(term: Term, level: int = 0) -> str:
    """The term as `.tgpu` source, with as few parentheses as it parses back with.

    >>> i, n = Var("i"), Var("n")
    >>> text((i + 1) % n * 4), text(ceildiv(n, 256)), text(select(i < n, Read("x", (i,), "f32"), Const(0.0, "f32")))
    ('(i + 1) % n*4', 'ceil(n / 256)', 'x[i] if i < n else 0')
    """
    match term:
        case Const(value):
            return _number(value)
        case Var(name):
            return name
        case Read(tensor, index):
            return f"{tensor}[{', '.join(map(text, index))}]"
        case Fold(monoid, axes, guard, body):
            binders = ", ".join(f"{a.name} < {text(a.extent)}" for a in axes)
            inner = body if guard == TRUE else App("select", (guard, body, Var("nothing")), body.dtype)
            return _wrap(f"{monoid}[{binders}] {text(inner, 7)}", 7, level)
        case App("select", (condition, then, otherwise)):
            return _wrap(f"{text(then, 1)} if {text(condition, 1)} else {text(otherwise)}", 0, level)
        case App("ceildiv", (a, b)):
            return f"ceil({text(a, 7)} / {text(b, 8)})"
        case App("cast", (a,), dtype):
            return f"{dtype}({text(a)})"
        case App(op, args) if op in SYMBOL and len(args) == 1:
            symbol, rank = SYMBOL[op]
            return _wrap(symbol + text(args[0], rank), rank, level)
        case App(op, args) if op in SYMBOL:
            symbol, rank = SYMBOL[op]
            # comparisons do not chain; the others associate to the left
            parts = [text(args[0], rank + (op in COMPARISONS)), *(text(a, rank + 1) for a in args[1:])]
            return _wrap(symbol.join(parts), rank, level)
        case App(op, args):
            return f"{op}({', '.join(map(text, args))})"


def _wrap(inner: str, rank: int, level: int) -> str:
    return f"({inner})" if rank < level else inner


def _number(value: int | float | bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if value in (float("inf"), float("-inf")):
            return "inf" if value > 0 else "-inf"
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    return str(value)
