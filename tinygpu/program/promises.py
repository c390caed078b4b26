"""What an op promises of its data, as rows of a launcher's table: what is checked in every call, what on request, and what no call can.

Comes in: the promises of a program. Goes out: for each `all` its binders and what holds, in words that show each change of dtype.
The one idea: floats are only compared, since a rounded result would say nothing about real numbers; whether what is read is there, the
runtime asks itself.
"""

from __future__ import annotations

from tinygpu.category.operation import COMPLEMENT
from tinygpu.category.term import (
    BOOL,
    COMPARISONS,
    FLOATS,
    TRUE,
    App,
    Axis,
    Const,
    Fold,
    Read,
    Term,
    Var,
    conjunction,
    conjuncts,
    negation,
    reads,
    text,
    variables,
    walk,
)
from tinygpu.category.to_source import ATOM, Form, Source, called, plain
from tinygpu.category.walk import plain as without_data
from tinygpu.program.step import Program
from tinygpu.record import dataclass

Row = tuple[
    str, dict[str, str], str, tuple[str, ...], str
]  # as people read it; binders and how far; what holds; what it reads; when
EXACT = ("select", "min", "max", "abs", "neg")  # of floats
WHOLE = ("and", "or", "not", "add", "sub", "mul", "floordiv", "mod", "ceildiv", "xor")  # of numbers, and of truth values


def of_data(term: Term) -> bool:
    """Whether a guard is about more than sizes: no launcher checks it unasked."""
    return not without_data(term)


def promises(program: Program) -> tuple[Term, ...]:
    """What is promised of the data, each once: by the op, and by the machine."""
    return tuple(dict.fromkeys((*program.op.promises, *filter(of_data, (*program.op.where, *program.where)))))


def opposite(guard: Term) -> Term:
    """The negation, of a comparison by another one.

    >>> from tinygpu.category.term import text
    >>> text(opposite(Var("i") < 4))
    'i >= 4'
    """
    if isinstance(guard, App) and guard.op in COMPLEMENT:
        return App(COMPLEMENT[guard.op], guard.args, BOOL)
    return negation(guard)


@dataclass(frozen=True, slots=True)
class Part:
    """One `all` of a promise: `holds` at every point of the axes. Without axes it is about scalars, or single elements."""

    axes: tuple[Axis, ...]
    holds: Term


def parts(promise: Term, axes: tuple[Axis, ...] = (), guard: Term = TRUE) -> tuple[Part, ...]:
    """The promise as one `all` after the other; an `all` inside an `all` has the axes of both.

    >>> from tinygpu.category.term import text
    >>> t, T = Var("t"), Var("T")
    >>> promise = Fold("all", (Axis("t", T),), t < 5, App("ge", (Read("x", (t,), "i32"), Const(0, "i32")), BOOL), BOOL)
    >>> [text(p.holds) for p in parts(promise)]
    ['t >= 5 or x[t] >= 0']
    """
    inner = [one for one in conjuncts(promise) if isinstance(one, Fold) and one.monoid == "all"]
    plainly = conjunction(*(one for one in conjuncts(promise) if one not in inner))
    own = plainly if guard == TRUE else App("or", (opposite(guard), plainly), BOOL)
    found = (Part(axes, own),) if plainly != TRUE else ()
    return found + tuple(p for one in inner for p in parts(one.body, axes + one.axes, conjunction(guard, one.guard)))


def rows(program: Program) -> tuple[Row, ...]:
    """The promises of a program: each part with who looks at it, `scalars` in every call, `arrays` where a caller asks. Where there is one that
    no call can check (`nothing`), nothing is looked at on request."""
    found: list[Row] = []
    for promise in promises(program):
        several = parts(promise)
        if all(checkable(part, program) for part in several):
            found += [row(promise, part, program) for part in several]
        else:
            found.append((text(promise), {}, "", (), "nothing"))
    refused = any(way == "nothing" for *_, way in found)
    return tuple(one for one in found if one[-1] != "arrays" or not refused)


def row(promise: Term, part: Part, program: Program) -> Row:
    """One `all` of a promise. What speaks of sizes and of what is passed by value alone, every call can look at."""
    read = reads(part.holds)
    over = {a.name: text(a.extent) for a in part.axes}
    names = tuple(t.name for t in program.op.inputs if t.name in {r.tensor for r in read})
    return text(promise), over, holds(part.holds), names, "arrays" if part.axes or any(r.index for r in read) else "scalars"


def holds(term: Term) -> str:
    """A condition in words of Python, with each change of dtype.

    >>> from tinygpu.category.term import Var
    >>> x = Read("x", (Var("t"),), "i32")
    >>> holds(App("lt", (x, App("cast", (Var("V"),), "i32")), BOOL)), holds(App("cast", (x,), "index") + 1 < Var("n"))
    ('x[t] < i32(V)', 'index(x[t]) + 1 < n')
    """
    source = Source(form=_form, read=lambda read: _read(source, read), literal=_literal)
    return source.term(term)


def _read(source: Source, read: Read) -> str:
    return f"{read.tensor}[{', '.join(map(source.term, read.index))}]" if read.index else read.tensor


def _form(term: App) -> Form:
    return called(term.dtype) if term.op == "cast" else ("ceil({0} / {1})", ATOM, (7, 8)) if term.op == "ceildiv" else plain(term)


def _literal(constant: Const) -> str:
    infinite = isinstance(constant.value, float) and abs(constant.value) == float("inf")
    return ("inf" if constant.value > 0 else "-inf") if infinite else repr(constant.value)


def checkable(part: Part, program: Program) -> bool:
    """Whether a part can be evaluated exactly: its ranges are of sizes, and floats are only compared."""
    sizes, names = set(program.op.sizes), [a.name for a in part.axes]
    ranges = all(variables(a.extent) <= sizes and not of_data(a.extent) for a in part.axes)
    return ranges and len(set(names)) == len(names) and not set(names) & sizes and all(_exact(t) for t in walk(part.holds))


def _exact(term: Term) -> bool:
    """Whether numpy does an operation as real numbers, or a kernel's integers, have it."""
    match term:
        case App("cast", (inner,), dtype):
            return dtype not in (*FLOATS, BOOL) and inner.dtype not in FLOATS
        case App(op, _, dtype):
            return op in COMPARISONS or op in EXACT or (op in WHOLE and dtype not in FLOATS)
    return isinstance(term, Const | Read | Var)
