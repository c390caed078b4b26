"""Monoids: what reductions combine with. An operation, its unit in each dtype, and the laws it has.

Comes in: the name of a fold (`sum prod max min any all`), or a carrier. Goes out: the operation on terms and what may be done with it.
The one idea: a monoid is its name, and the name knows what it says. That of a carrier, whose values have several components such as the
`(m, s)` of a running softmax, is the dtype of these values too, and the operation that combines two of them, so it goes wherever a term goes:

    >>> from tinygpu.category.node import Var
    >>> pair = Carrier("pair", components=(("m", "f32"), ("s", "f32")))
    >>> m, s, v = Var("m", "f32"), Var("s", "f32"), Var("v", pair)
    >>> pack((m, s), pair).dtype == "pair", part(pack((m, s), pair), 1, "f32") == s, pair.combine(v, v)
    (True, True, App(op='pair', args=(Var(name='v', dtype='pair'), Var(name='v', dtype='pair')), dtype='pair'))
    >>> pack((part(v, 0, "f32"), part(v, 1, "f32")), pair) == v, pair == Carrier("pair", components=(("m", "f32"), ("s", "f64")))
    (True, False)
    >>> either = App("select", (Var("c", "bool"), v, Var("w", pair)), pair)
    >>> pack((part(either, 0, "f32"), part(either, 1, "f32")), pair) == either
    True

What was taken apart and is put together again is itself, and a component of what was just put together is what was put in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tinygpu.category import dtype as table
from tinygpu.category.dtype import RANGE, SIGNED, STORAGE
from tinygpu.category.node import BOOL, INDEX, TRUE, App, Const, Term, Var
from tinygpu.category.total import total
from tinygpu.diagnostic import NOWHERE, Span
from tinygpu.record import dataclass, field

FLOATS, INTEGERS = (tuple(d for d in dtypes if d not in STORAGE) for dtypes in (table.FLOATS, table.INTEGERS))
NUMBERS = (*FLOATS, *INTEGERS, INDEX)
INFINITY = float("inf")
WORDS_OF_BITS = ("i32", "u32", "i64", "u64")
LEFT, RIGHT = "a", "b"  # the two values of a combine


@dataclass(frozen=True, repr=False)
class Monoid(str):
    """`(V, op, unit)`. Beside a string it is its name; two are the same where they say the same.

    `units` maps the dtypes that have a unit to it, and `atomic` are those that GPUs update as one step on global and shared memory:
    another update, such as a maximum of f32, would need a loop that compares and swaps. Source: the CUDA C++ programming guide, atomic
    functions (the sum of f64 since compute capability 6.0). `word`: its name is a word of the grammar, `sum[k] …`; that of others follows
    one, `fold NAME[k] …`.

    >>> from tinygpu.category.node import Var
    >>> as_monoid("sum").combine(Var("a", "f32"), Var("b", "f32")).op, as_monoid("sum").unit("f32"), as_monoid("max").unit("i8")
    ('add', Const(value=0.0, dtype='f32'), Const(value=-128, dtype='i8'))
    """

    called: str
    op: str
    units: Mapping[str, int | float | bool] = field(default_factory=dict)
    idempotent: bool = False
    commutative: bool = True
    atomic: tuple[str, ...] = ()
    word: bool = True

    __hash__ = str.__hash__

    def __new__(cls, called: str, *_: Any, **__: Any) -> Any:
        return str.__new__(cls, called)

    def __ne__(self, other: object) -> bool:
        return not self == other  # where a string's own looks at names only

    @property
    def bare(self) -> str:
        """What a fold is equal by: of numbers a monoid is its name.

        >>> from tinygpu.category.node import TRUE, Fold, Var
        >>> Fold("sum", (), TRUE, Var("x", "f32"), "f32") == Fold(as_monoid("sum"), (), TRUE, Var("x", "f32"), "f32")
        True
        """
        return str.__str__(self)

    def unit(self, dtype: str) -> Term | None:
        """The value that changes nothing; None of values that it does not combine, and of a maximum of indices, which have no smallest."""
        return Const(self.units[dtype], dtype) if dtype in self.units else None

    def combine(self, a: Term, b: Term) -> Term:
        """`a ⊕ b`, in the dtype of `a`."""
        return App(self.op, (a, b), a.dtype)

    def accepts(self, dtype: str) -> bool:
        """Whether values of this dtype can be folded: truth values with any and all, integers by their bits, numbers with the others."""
        return dtype in self.units or (dtype == INDEX and self.op in ("min", "max"))


@dataclass(frozen=True, repr=False)
class Carrier(Monoid):
    """A monoid of values of several components, whose dtype it is, too. Each part has one term for each component.

    `identity` are the constants of the unit; `lift` speaks of the parameters, `combination` of the components of two values as `a.m` and
    `b.m`, `invariant` and `results` of the components by name. A component holds finite numbers, and the infinity that is its unit.
    `results` is what a fold gives.
    """

    op: str = field(default="", compare=False)
    components: tuple[tuple[str, str], ...] = ()
    identity: tuple[Const, ...] = ()
    parameters: tuple[tuple[str, str], ...] = ()
    lift: tuple[Term, ...] = ()
    combination: tuple[Term, ...] = ()
    invariant: Term = TRUE
    results: tuple[Term, ...] = ()
    span: Span = field(default=NOWHERE, compare=False)

    @property
    def bare(self) -> str:
        return self

    def __post_init__(self) -> None:
        object.__setattr__(self, "op", self)

    __hash__ = str.__hash__

    def unit(self, dtype: str) -> Term | None:
        """The value that changes nothing."""
        return pack(self.identity, self) if dtype == self else None

    def accepts(self, dtype: str) -> bool:
        """Whether values of this dtype are the carrier's."""
        return dtype == self

    def place(self, component: str) -> int | None:
        """The number of a component, None if there is none of that name."""
        return next((n for n, (name, _) in enumerate(self.components) if name == component), None)

    def parts(self, value: Term) -> tuple[Term, ...]:
        """Every component of a value."""
        return tuple(part(value, n, dtype) for n, (_, dtype) in enumerate(self.components))

    def variables(self, name: str) -> tuple[Var, ...]:
        """Every component of the value of that name, as a variable."""
        return tuple(Var(f"{name}.{component}", dtype) for component, dtype in self.components)


def pack(parts: tuple[Term, ...], dtype: str) -> Term:
    """The value with these components; what was taken apart and is put together again is itself, also where it was a choice."""
    match parts[0]:
        case App("select", (condition, _, _)) if all(
            isinstance(p, App) and p.op == "select" and p.args[0] == condition for p in parts
        ):
            yes, no = (pack(tuple(p.args[n] for p in parts if isinstance(p, App)), dtype) for n in (1, 2))
            return App("select", (condition, yes, no), dtype)
        case App("part", (value, _)) if value.dtype == dtype:
            if all(p == App("part", (value, Const(n)), p.dtype) for n, p in enumerate(parts)):
                return value
    return App("pack", parts, dtype)


def part(value: Term, place: int, dtype: str) -> Term:
    """A component of a value, taken in both branches of a choice."""
    match value:
        case App("pack", args):
            return args[place]
        case App("select", (condition, then, otherwise)):
            yes, no = part(then, place, dtype), part(otherwise, place, dtype)
            return yes if yes == no and total(condition) else App("select", (condition, yes, no), dtype)
    return App("part", (value, Const(place, INDEX)), dtype)


def _numbers(value: int) -> dict[str, int | float | bool]:
    """The same number as the unit of every numeric dtype."""
    return {dtype: float(value) if dtype in FLOATS else value for dtype in NUMBERS}


def _ends(sign: int) -> dict[str, int | float | bool]:
    """The largest value of every dtype that values have, or the smallest."""
    return dict.fromkeys(FLOATS, sign * INFINITY) | {dtype: RANGE[dtype][sign > 0] for dtype in INTEGERS}


SCALARS: Mapping[str, Monoid] = {
    monoid.called: monoid
    for monoid in (
        Monoid("sum", "add", _numbers(0), atomic=("f32", "f64", "i32", "u32", "i64", "u64")),
        Monoid("prod", "mul", _numbers(1)),
        Monoid("max", "max", _ends(-1), idempotent=True, atomic=WORDS_OF_BITS),
        Monoid("min", "min", _ends(1), idempotent=True, atomic=WORDS_OF_BITS),
        Monoid("any", "or", {BOOL: False}, idempotent=True),
        Monoid("all", "and", {BOOL: True}, idempotent=True),
        Monoid("bitor", "bitor", dict.fromkeys(INTEGERS, 0), idempotent=True, atomic=WORDS_OF_BITS, word=False),
        Monoid(
            "bitand", "bitand", {d: -1 if d in SIGNED else RANGE[d][1] for d in INTEGERS}, True, atomic=WORDS_OF_BITS, word=False
        ),
        Monoid("xor", "xor", dict.fromkeys(INTEGERS, 0), atomic=WORDS_OF_BITS, word=False),
    )
}
WORDS = tuple(monoid.called for monoid in SCALARS.values() if monoid.word)
NAMED = tuple(monoid.called for monoid in SCALARS.values() if not monoid.word)
BUILT_IN: Mapping[str, tuple[str, ...]] = {  # carriers that every file may use (`model/monoid.py` has their texts), and what they fold
    "argmax": FLOATS + INTEGERS, "argmin": FLOATS + INTEGERS, "logsumexp": FLOATS, "welford": FLOATS,
}  # fmt: skip
COMBINING: Mapping[str, Monoid] = {monoid.op: monoid for monoid in SCALARS.values()}
ATOMICS: Mapping[str, tuple[str, ...]] = {monoid.called: monoid.atomic for monoid in SCALARS.values() if monoid.atomic}


def components(dtype: str) -> tuple[tuple[str, str], ...]:
    """The names and dtypes of the components of a carrier's values; other values have none."""
    return dtype.components if isinstance(dtype, Carrier) else ()


def component(dtype: str, place: int) -> str:
    """The name of a component: its number where there is none."""
    names = components(dtype)
    return names[place][0] if 0 <= place < len(names) else str(place)


def is_built_in(name: str) -> bool:
    """Whether a name is that of a built-in monoid on some dtype: it means that in every file, so no declaration may have it.

    >>> is_built_in("argmax_f32"), is_built_in("logsumexp_i32"), is_built_in("argmax")
    (True, False, False)
    """
    base, _, dtype = name.rpartition("_")
    return dtype in BUILT_IN.get(base, ())


def as_monoid(name: str) -> Monoid:
    """The monoid that a fold or an update names. Raises KeyError where it names none."""
    return name if isinstance(name, Monoid) else SCALARS[name]


def monoids_on(dtype: str) -> tuple[Monoid, ...]:
    """The monoids that may combine values of a dtype: a carrier, or those of numbers and conditions."""
    return (dtype,) if isinstance(dtype, Carrier) else tuple(SCALARS.values())


def spine(op: str, term: Term) -> tuple[Term, ...]:
    """The operands of an operation as they are combined from the left: no other bracket is opened."""
    match term:
        case App(name, (first, *rest)) if name == op:
            return (*spine(op, first), *rest)
    return (term,)


def of_op(op: str) -> Monoid | None:
    """The monoid whose values an operation combines."""
    return op if isinstance(op, Monoid) else COMBINING.get(op)


def unit_of(op: str, dtype: str) -> Term | None:
    """The unit of the monoid whose values an operation combines; None where there is none."""
    monoid = of_op(op)
    return monoid.unit(dtype) if monoid else None


def neutral(monoid: str, dtype: str) -> Term:
    """The value that changes nothing: every monoid has one of the values that arrays hold.

    >>> neutral("min", "u8"), neutral("max", "f32")
    (Const(value=255, dtype='u8'), Const(value=-inf, dtype='f32'))
    """
    unit = as_monoid(monoid).unit(dtype)
    assert unit is not None, f"{monoid} of {dtype}"
    return unit


def has_atomic(monoid: str, dtype: str) -> bool:
    """Whether an update by that monoid may be atomic on elements of that dtype.

    >>> has_atomic("sum", "f32"), has_atomic("max", "f32"), has_atomic("prod", "i32")
    (True, False, False)
    """
    return dtype in ATOMICS.get(monoid, ())
