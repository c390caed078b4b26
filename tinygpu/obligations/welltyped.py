"""Whether a term is one: names that are known, ranks and dtypes that agree, shuffles only where every lane comes.

Comes in: a term of a program, which Python code may have made, and the names at its place. Goes out: a gap for everything that is not
as `program.read` would have it. The one idea: an operation has its dtypes, and nothing is converted in silence.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.category.monoid import Carrier, components, monoids_on
from tinygpu.category.term import (
    BOOL,
    COMPARISONS,
    INDEX,
    INTEGERS,
    LOGIC,
    SHUFFLES,
    App,
    Axis,
    Const,
    Fold,
    Read,
    Term,
    Var,
    children,
    text,
)
from tinygpu.diagnostic import Label, Span
from tinygpu.obligations.obligation import Gap
from tinygpu.record import dataclass

Signature = tuple[str, int]  # dtype and rank
APART = (*LOGIC, "select", "table")  # their arguments may be left out, so no shuffle stands in them


@dataclass(frozen=True, slots=True)
class Names:
    """What may stand at a place: index variables, and arrays with their dtypes and ranks."""

    indices: frozenset[str]
    arrays: dict[str, Signature]

    def inside(self, *axes: Axis) -> Names:
        return Names(self.indices | {a.name for a in axes}, self.arrays)


def gap(reason: str, span: Span) -> Gap:
    """One thing that is not well-formed."""
    return Gap("wellformed", "TG513", "this program is not well formed", reason, (Label(span, "here"),))


def condition(guard: Term, names: Names, span: Span) -> Iterator[Gap]:
    """What is wrong with a guard."""
    if guard.dtype != BOOL:
        yield gap(f"{text(guard)} is no condition", span)
    yield from term(guard, names, span)


def term(whole: Term, names: Names, span: Span, lanes: bool = False) -> Iterator[Gap]:
    """Names that are not known in a term, and operations on dtypes that they are not for. `lanes`: whether all lanes evaluate it, so that
    a shuffle may stand here."""
    match whole:
        case Var(name, dtype):
            if name not in names.indices or dtype != INDEX:
                yield gap(f"{name} is not known here", span)
        case Read(tensor, index, dtype):
            if names.arrays.get(tensor) != (dtype, len(index)) or any(i.dtype != INDEX for i in index):
                yield gap(f"{text(whole)} is no cell of {dtype}", span)
            lanes = False
        case Fold():
            yield from _fold(whole, names, span)
            return
        case App(op, args, dtype):
            if not (part_of(args, dtype) if op == "part" else agrees(op, tuple(a.dtype for a in args), dtype)):
                yield gap(f"{text(whole)} applies {op} to {', '.join(a.dtype for a in args)} and gives {dtype}", span)
            if op in SHUFFLES and not lanes:
                yield gap(f"{text(whole)} stands where not every lane may come", span)
            lanes = lanes and op not in APART
    for child in children(whole):
        yield from term(child, names, span, lanes and child.dtype != INDEX)


def _fold(fold: Fold, names: Names, span: Span) -> Iterator[Gap]:
    axes, known = fold.axes, any(fold.monoid == monoid and monoid.accepts(fold.dtype) for monoid in monoids_on(fold.dtype))
    if fold.body.dtype != fold.dtype or fold.guard.dtype != BOOL or not known:
        yield gap(f"{text(fold)} folds {fold.body.dtype}", span)
    if any(a.name in names.indices for a in axes) or len({a.name for a in axes}) < len(axes):
        yield gap(f"{text(fold)} hides an index", span)
    for axis in axes:
        yield from term(axis.extent, names, span)
    for part in (fold.guard, fold.body):
        yield from term(part, names.inside(*axes), span)


def part_of(args: tuple[Term, ...], dtype: str) -> bool:
    """Whether `part(value, place)` takes a component of that dtype."""
    match args:
        case (value, Const(int(place), dtype="index")) if isinstance(value.dtype, Carrier):
            parts = value.dtype.components
            return 0 <= place < len(parts) and parts[place][1] == dtype
    return False


def agrees(op: str, args: tuple[str, ...], dtype: str) -> bool:
    """Whether an operation on these dtypes gives that one.

    >>> agrees("add", ("f32", "f32"), "f32"), agrees("add", ("f16", "f32"), "f32"), agrees("lt", ("i8", "i8"), "bool")
    (True, False, True)
    >>> agrees("shuffle_xor", ("f32", "index"), "f32"), agrees("shuffle_xor", ("index", "index"), "index")
    (True, False)
    """
    match op:
        case "cast":
            return len(args) == 1 and not any(isinstance(each, Carrier) for each in (*args, dtype))
        case "select":
            return len(args) == 3 and args[0] == BOOL and args[1:] == (dtype, dtype)
        case "table":
            return args[0] == INDEX and set(args[1:]) == {dtype}
        case _ if op in SHUFFLES:
            return args == (dtype, INDEX) and dtype != INDEX
        case "pack":
            return isinstance(dtype, Carrier) and args == tuple(d for _, d in components(dtype))
        case _ if op in COMPARISONS:
            return dtype == BOOL and len(args) == 2 and args[0] == args[1] and not isinstance(args[0], Carrier)
        case _ if isinstance(dtype, Carrier) or isinstance(op, Carrier):
            return op == dtype and args == (dtype, dtype)
        case _ if op in LOGIC:
            return {*args, dtype} == {BOOL}
        case "floordiv" | "mod" | "ceildiv" | "xor":
            return args == (dtype, dtype) and dtype != BOOL and (op != "xor" or dtype in (INDEX, *INTEGERS))
    return set(args) == {dtype} and dtype != BOOL
