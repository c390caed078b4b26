"""The text of a term, as a user writes it.

Comes in: a term. Goes out: `.tgpu` source that means it. The one idea: an operation has a symbol and a rank, and what binds less tightly than
where it stands is put in parentheses.
"""

from __future__ import annotations

from collections.abc import Container
from hashlib import sha256

from tinygpu.category.monoid import WORDS, component
from tinygpu.category.node import TRUE, App, Const, Fold, Read, Term, Var, kept
from tinygpu.category.operation import COMPARISONS, SYMBOL

WRITTEN = 6000  # parts of a term that is written out; one that has more may have as many as there are powers of two


@kept
def digest(term: Term) -> str:
    """A name for a term: another one has another, in every process.

    >>> x = Var("x")
    >>> digest(x * 2 + x) == digest(x * 2 + x), digest(x * 2) == digest(x + 2), len(digest(x))
    (True, False, 16)
    """
    match term:
        case Read(tensor, index, dtype):
            own: tuple[object, ...] = (tensor, dtype, *map(digest, index))
        case App(op, args, dtype):
            own = (op, dtype, *map(digest, args))
        case Fold(monoid, axes, guard, body, dtype):
            own = (monoid, dtype, digest(guard), digest(body), *((a.name, a.sort, digest(a.extent)) for a in axes))
        case _:
            own = (term,)
    return sha256(f"{type(term).__name__}{own!r}".encode()).hexdigest()[:16]


def text(term: Term, level: float = 0) -> str:
    """The term as `.tgpu` source, with as few parentheses as it parses back with; of one that is too long to be written, what tells it apart.

    >>> from tinygpu.category.term import ceildiv, select
    >>> i, n = Var("i"), Var("n")
    >>> text((i + 1) % n * 4), text(ceildiv(n, 256)), text(select(i < n, Read("x", (i,), "f32"), Const(0.0, "f32")))
    ('(i + 1) % n*4', 'ceil(n / 256)', 'x[i] if i < n else 0')
    """
    if term.parts > WRITTEN:
        return f"(… {digest(term)})"
    match term:
        case Const(value):
            return _number(value)
        case Var(name):
            return name
        case Read(tensor, index):
            tensor = tensor.partition(" made ")[0].partition(" said ")[0]  # what a cell holds (`made`)
            return f"{tensor}[{', '.join(map(text, index))}]" if index else tensor
        case Fold(monoid, axes, guard, body):
            binders = ", ".join(f"{a.name} < {text(a.extent)}" for a in axes)
            word = str(monoid) if monoid in WORDS else f"fold {monoid}"
            inner = body if guard == TRUE else App("select", (guard, body, Var("nothing")), body.dtype)
            return _wrap(f"{word}[{binders}] {text(inner, 7)}", 7, level)
        case App("select", (condition, then, otherwise)):
            return _wrap(f"{text(then, 1)} if {text(condition, 1)} else {text(otherwise)}", 0, level)
        case App("ceildiv", (a, b)):
            return f"ceil({text(a, 7)} / {text(b, 8)})"
        case App("cast", (a,), "index"):
            return text(a, level)  # an integer in an index is written as it is
        case App("cast", (a,), dtype):
            return f"{dtype}({text(a)})"
        case App("pack", args, dtype):
            return f"{dtype}({', '.join(map(text, args))})"
        case App("part", (a, Const(int(place)))):
            return f"{text(a, 9)}.{component(a.dtype, place)}"
        case App(op, args) if op in SYMBOL and len(args) == 1:
            symbol, rank = SYMBOL[op]
            return _wrap(symbol + text(args[0], rank), rank, level)
        case App(op, args) if op in SYMBOL:
            symbol, rank = SYMBOL[op]
            first = (
                8 if rank == 7 and _open(args[0]) else rank + (op in COMPARISONS)
            )  # these do not chain; others associate to the left
            parts = [text(args[0], first), *(text(a, rank + 1) for a in args[1:])]
            return _wrap(symbol.join(parts), rank, level)
        case App(op, args):
            return f"{op}({', '.join(map(text, args))})"


def _open(term: Term) -> bool:
    """Whether a text ends with the body of a fold, which goes as far as a product."""
    return isinstance(term, Fold) or (isinstance(term, App) and term.op == "neg" and _open(term.args[0]))


def _wrap(inner: str, rank: float, level: float) -> str:
    return f"({inner})" if rank < level else inner


def _number(value: int | float | bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if value in (float("inf"), float("-inf")):
            return "inf" if value > 0 else "-inf"
        return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
    return str(value)


@kept
def sorting(term: Term) -> str:
    """The text of a term, by which terms are put in order again and again."""
    return text(term)


def unused(name: str, taken: Container[str], number: str | None = None) -> str:
    """The name, with underscores at its end until it is not taken; or with `number`, a mark, and a number behind it.

    >>> unused("i", {"i", "i_"}), unused("i", {"i", "i_2"}, "_"), unused("acc", {"acc"}, ""), unused("j", {"i"})
    ('i__', 'i_3', 'acc2', 'j')
    """
    free, count = name, 1
    while free in taken:
        count += 1
        free = f"{free}_" if number is None else f"{name}{number}{count}"
    return free


def claimed(name: str, taken: set[str], number: str | None = None) -> str:
    """The same, and it is taken from now on."""
    taken.add(free := unused(name, taken, number))
    return free
