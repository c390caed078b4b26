"""A float that was computed has two faces: what it is over the reals, and how it was computed; one that is stored as it is has one.

    made(value, how)      value: any equal term will do        how: a symbol for the number that is held, or the term as it was computed

Comes in: values of cells as they are executed. Goes out: the trace seen from one side, and which comparisons are those of reals. The one idea: a
closed form is equal to what a loop adds up and is rounded in another order, so a test of it (`s > 1`, `i32(s)`) is one of the number that is held, of
which nothing is known but its name; what is stored is compared over the reals. A maximum, a choice or a sign makes no new number, and an index is
none; what was added or multiplied may have been rounded, and may have become too large for its dtype.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256

from tinygpu.category.dtype import NEAR
from tinygpu.category.linear import as_written, polynomial
from tinygpu.category.monoid import Carrier
from tinygpu.category.near import abrupt, approximate, is_near, rounded
from tinygpu.category.node import kept
from tinygpu.category.operation import KEEPING
from tinygpu.category.term import (
    COMPARISONS,
    DTYPES,
    FLOATS,
    INDEX,
    App,
    Const,
    Fold,
    Read,
    Term,
    Var,
    children,
    memoised,
    plain,
    rebuild,
    select,
    substitute,
    tensors,
    variables,
    walk,
    whole,
)
from tinygpu.category.text import WRITTEN, digest
from tinygpu.category.total import PERHAPS, drowning, limited
from tinygpu.record import replace


def exact(term: Term) -> bool:
    """Whether a float is a number that is stored, or chosen among such: its comparisons are those of reals.

    >>> x = Read("x", (), "f32")
    >>> exact(App("max", (x, Const(0.0, "f32")), "f32")), exact(App("mul", (x, x), "f32"))
    (True, False)
    """
    match term:
        case Const():
            return True
        case Read(tensor):
            return " " not in tensor and compared(term)  # what was computed (`made`) may have become too large for its dtype
        case App("select", (condition, *branches)):
            return compared(condition) and all(map(exact, branches))
        case Fold("min" | "max", axes, guard, body):
            return all(compared(a.extent) for a in axes) and compared(guard) and exact(body)
        case App("add" | "sub", args) if drowning(term) or Const(0.0, term.dtype) in args:
            return all(map(exact, args))  # a number and an infinity are that infinity (`cancel`)
        case App("mul", (Const(value), a)) | App("mul" | "div", (a, Const(value))) if abs(value) == 1:
            return exact(a)
        case App("mul", (Const(value), a)) | App("mul", (a, Const(value))) if value == 0:
            return exact(a) and limited(a)
        case App(op, args) if op in KEEPING:
            return all(map(exact, args))
    return False


def compared(condition: Term) -> bool:
    """Whether a condition, or an index, tests no floats but stored ones."""
    match condition:
        case App(op, args) if op in COMPARISONS and any(a.dtype in FLOATS for a in args):
            return all(map(exact, args))
        case App(_, args):
            return not any(a.dtype in FLOATS for a in args) and all(map(compared, args))
        case Fold("all" | "any", axes, guard, body):
            return all(compared(a.extent) for a in axes) and compared(guard) and compared(body)
        case Read(index=index):
            return all(map(compared, index))
    return not isinstance(condition, Fold)


MADE = "made of"  # a word that no monoid of a file can be called
FORM, SAID = " made ", " said "  # in names of numbers that are held: of another form of them, and of what a ghost says of them
SURELY = f"{FORM}surely"  # ends the name of an equation's symbol: it has a value whatever the data is, or `PERHAPS` it has
EXTREMES = ("min", "max")  # are of any order
View = Callable[[Term], Term]


def made(value: Term, how: Term) -> Term:
    """A value, and how it was computed."""
    return App(MADE, (value, how), value.dtype)


def known_as(form: Term, value: Term, around: frozenset[str]) -> Term:
    """Another form of a value that was computed at a point of these axes, with a name for the number that is held: one for each value as it is
    computed, and a function of its variables and those axes.

    >>> x, y, z = (Read(name, (), "f32") for name in "xyz")
    >>> a, b = (number_of(known_as(Fold("sum", (), v, v, "f32"), App("add", (v, y), "f32"), frozenset("t"))) for v in (x, z))
    >>> a == b, a.index == b.index
    (False, True)
    """
    if not reordered(form):
        return form
    held = number_of(value)
    name = digest(held) if held.parts > WRITTEN else sha256(repr(held).encode()).hexdigest()[:16]
    return made(form, Read(f"lanes made {name}", tuple(map(Var, sorted(variables(held) | around))), held.dtype))


def is_made(term: Term) -> bool:
    """Whether a term has two faces."""
    return isinstance(term, App) and term.op == MADE


@kept
def single(term: Term) -> bool:
    """Whether a term has one face alone: nothing in it was made, and nothing stands for what it is near to."""
    return not is_made(term) and not is_near(term) and all(map(single, children(term)))


def value_of(term: Term) -> Term:
    """What it is over the reals.

    >>> from tinygpu.category.term import text
    >>> x, y = Read("x", (), "f32"), Read("y", (), "f32")
    >>> text(value_of(App("add", (made(x, y), y), "f32"))), text(number_of(App("add", (made(x, y), y), "f32")))
    ('x + y', 'y + y')
    """
    return _seen(term, 0)


def number_of(term: Term) -> Term:
    """The number that is held, by its name."""
    return _seen(term, 1)


@memoised
def contents_of(term: Term) -> Term:
    """What a cell holds, as it was put together; what is tested on the way is the number that is held."""
    match term:
        case App("made of", (value, _)):
            return contents_of(value)
        case App(name, (value,), dtype) if name in NEAR:
            return App("cast", (contents_of(value),), dtype)
        case App(dtype=dtype) if dtype not in FLOATS and not carried(term):
            return stored_of(term)
    return term if single(term) else rebuild(term, contents_of)


@memoised
def _seen(term: Term, face: int) -> Term:
    if single(term):
        return term
    match term:
        case App("made of", faces):
            return _seen(faces[face], face)
        case App(name, (value,), dtype) if name in NEAR:
            return App("cast", (_seen(value, face),), dtype)
        case App("cast", (inner,), dtype) if face == 0 and dtype in FLOATS and (plainly := meant(inner, dtype)) is not None:
            return _seen(plainly, face)
        case App("select", (condition, *branches)) if approximate(condition):
            return _seen(select(rounded(condition), branches[0], branches[1]), face)
        case Fold(monoid, guard=guard) if approximate(guard) and not isinstance(monoid, Carrier):
            return _seen(replace(term, guard=rounded(guard)), face)
        case _ if approximate(term) and abrupt(term):
            return _seen(rounded(term), face)
    return rebuild(term, lambda t: _seen(t, face))


def meant(term: Term, dtype: str) -> Term | None:
    """In a wider dtype the number that one next to it stands for, or a choice of such a number; None of another one.

    >>> x = Read("x", (), "f32")
    >>> meant(App("near_f16", (x,), "f16"), "f32"), meant(App("cast", (x,), "f16"), "f32")
    (Read(tensor='x', index=(), dtype='f32'), None)
    """
    match term:
        case App(name, (value,)) if name in NEAR:
            return value if value.dtype == dtype else App("cast", (value,), dtype)
        case App("made of", (value, _)):
            return meant(value, dtype)
        case App("select", (condition, *branches)):
            wide = [meant(branch, dtype) for branch in branches]
            if any(one is not None for one in wide):
                yes, no = (one if one is not None else App("cast", (b,), dtype) for one, b in zip(wide, branches, strict=True))
                return select(condition, yes, no)
    return None


def reordered(term: Term) -> bool:
    """Whether a fold in a term may have another value where it is computed in another order; of what is no number an extreme too. What was
    made before has a name."""
    folds = (t for t in walk(term, leave=lambda t: whole(t) or is_made(t)) if isinstance(t, Fold))
    return any(f.dtype in FLOATS or carried(f) for f in folds)


def moved(term: Term, name: str, to: Term) -> Term:
    """The term at another turn of a loop; what is a symbol of an equation is asked at the time as it is written, not at `t - 1 + 1`.

    >>> from tinygpu.category.term import text
    >>> u, t = Read("u made surely", (Var("t") + 1,), "f32"), Var("t")
    >>> text(moved(u, "t", t - 1))
    'u[t]'
    """

    @memoised
    def put(inner: Term) -> Term:
        inner = rebuild(inner, put)
        if isinstance(inner, Read) and inner.tensor.endswith((SURELY, PERHAPS)):
            return Read(inner.tensor, tuple([as_written(polynomial(i)) for i in inner.index]), inner.dtype, inner.span)
        return inner

    found = substitute(term, {name: to})
    return put(found) if any(read.endswith((SURELY, PERHAPS)) for read in tensors(found)) else found


@memoised
def stored_of(term: Term) -> Term:
    """The number that is held, where the data are numbers: a maximum of such is a number that is stored, in whatever order it was found.

    >>> from tinygpu.category.term import BOOL, Const, text
    >>> x = Read("x", (), "f32")
    >>> most, name = Fold("max", (), Const(True, BOOL), x, "f32"), Read("q made 1", (), "f32")
    >>> [text(stored_of(App("gt", (made(value, name), x), BOOL))) for value in (most, x)]
    ['max[] x > x', 'q > x']
    """
    if single(term):
        return term
    match term:
        case App("made of", (_, how)):
            return stored_of(how)
        case App(op) if op in COMPARISONS:
            return rebuild(term, extreme_of)
    return rebuild(term, stored_of)


@memoised
def extreme_of(term: Term) -> Term:
    """A number of a comparison."""
    match term:
        case App("made of", (value, Read(name))) if FORM in name and reordered(value) and exact(opened := extreme_of(value)):
            return opened
        case App("made of", (_, how)):
            return stored_of(how)
        case App(op) if op in KEEPING:
            return rebuild(term, extreme_of)
        case Fold(monoid) if monoid in EXTREMES:
            return rebuild(term, extreme_of)
    return stored_of(term)


def carried(term: Term) -> bool:
    """Whether a term has components."""
    return term.dtype not in DTYPES and term.dtype != INDEX


@memoised
def opened(term: Term, tensor: str) -> Term:
    """The value with what was made of `tensor` in it opened: it is about to become another closed form. What is tested keeps its name."""
    match term:
        case App("made of", (value, _)):
            return opened(value, tensor) if any(isinstance(t, Read) and t.tensor == tensor for t in walk(value)) else term
        case App("select", (condition, *branches), dtype):
            return App("select", (condition, *(opened(b, tensor) for b in branches)), dtype)
        case App(op) if op in COMPARISONS:
            return term
    return term if plain(term) else rebuild(term, lambda t: opened(t, tensor))
