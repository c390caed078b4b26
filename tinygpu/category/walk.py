"""Through a term: what stands directly inside of it, all that does, and what is asked of every part.

Comes in: a term, or a function of terms. Goes out: its parts, each once, or the function that is asked of each of them once. The one idea: terms
are made once, so a value is a graph, and nobody goes through it as the tree that it is when it is written out, which may have as many parts as
there are powers of two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Any, TypeVar

from tinygpu.category.deadline import look
from tinygpu.category.fields import children
from tinygpu.category.node import BOOL, INDEX, App, Fold, Read, Term, Var, kept
from tinygpu.category.operation import SHUFFLES

T = TypeVar("T")
NONE: frozenset[str] = frozenset()
FEW = 32  # parts of a term that is cheaper looked at again than remembered


def walk(term: Term, leave: Callable[[Term], bool] | None = None) -> Iterator[Term]:
    """The term and everything inside it, outermost first, without what is to be left out. What stands in several places comes once.

    >>> from tinygpu.category.text import text
    >>> x = Var("x")
    >>> [text(t) for t in walk(x * 2 + x)]
    ['x*2 + x', 'x*2', 'x', '2']
    """
    waiting, found = [term], set()
    while waiting:
        here = waiting.pop()
        if id(here) not in found and (leave is None or not leave(here)):
            found.add(id(here))
            yield here
            waiting.extend(reversed(children(here)))


def outside(term: Term) -> Iterator[Term]:
    """The parts of a term that are inside no fold, and in no index of a read; outermost first, each once."""
    waiting: list[Term] = [term]
    found: set[Term] = set()
    while waiting:
        here = waiting.pop()
        if here not in found:
            found.add(here)
            yield here
            waiting.extend(reversed(here.args) if isinstance(here, App) else ())


def outer_folds(term: Term) -> tuple[Fold, ...]:
    """The folds of a term that are inside no other, each once."""
    return tuple(part for part in outside(term) if isinstance(part, Fold))


def outermost_folds(term: Term) -> tuple[Fold, ...]:
    """The folds of a term that are inside no other, those in indices of reads too: all that is folded where it is evaluated, each once.

    >>> from tinygpu.category.node import TRUE, Axis
    >>> place = Fold("max", (Axis("k", Var("K")),), TRUE, Read("p", (Var("k"),), "i32"), "i32")
    >>> row = Read("W", (App("cast", (place,), INDEX),), "f32")
    >>> outer_folds(row), outermost_folds(row) == (place,)
    ((), True)
    """
    found: dict[Fold, None] = {}

    def within(part: Term) -> bool:
        if isinstance(part, Fold):
            found[part] = None
        return isinstance(part, Fold)

    for _ in walk(term, within):
        pass
    return tuple(found)


def memoised(function: Callable[..., T], few: int = FEW) -> Callable[..., T]:
    """The same function of a term and whatever else, asked once of each term that has not few parts within one call from outside: a value that
    was made in a few steps may have, written out, as many parts as there are powers of two.

    >>> from tinygpu.category.term import rebuild
    >>> asked = []
    >>> @memoised
    ... def doubled(term):
    ...     asked.append(term)
    ...     return rebuild(term, doubled)
    >>> value = Var("x")
    >>> for _ in range(50):
    ...     value = App("add", (value, value))
    >>> doubled(value) == value, value.parts > 10**15, len(asked) < 10 * FEW
    (True, True, True)
    """
    known: dict[tuple[Any, ...], Any] = {}

    def asked(given: tuple[Any, ...]) -> T:
        key = tuple(map(id, given))
        if key in known:
            return known[key][0]  # type: ignore[no-any-return]
        look()
        outside = not known
        known.setdefault((), ...)
        try:
            found = function(*given)
            known[key] = found, given  # with what it was given, as a number is another one's when that is gone
            return found
        finally:
            if outside:
                known.clear()

    if function.__code__.co_varnames[:1] == ("self",):

        @wraps(function)
        def method(self: Any, term: Term, *more: Any) -> T:
            return function(self, term, *more) if term.parts < few else asked((self, term, *more))

        return method

    @wraps(function)
    def shared(term: Term, *more: Any) -> T:
        return function(term, *more) if term.parts < few else asked((term, *more))

    return shared


@kept
def variables(term: Term) -> frozenset[str]:
    """The free variables of a term.

    >>> from tinygpu.category.node import TRUE, Axis
    >>> sorted(variables(Fold("sum", (Axis("k", Var("K")),), TRUE, Read("A", (Var("i"), Var("k")), "f32"), "f32")))
    ['K', 'i']
    """
    match term:
        case Var(name):
            return frozenset((name,))
        case Fold(_, axes, guard, body):
            inside = (variables(guard) | variables(body)) - {a.name for a in axes}
            return inside.union(*(variables(a.extent) for a in axes))
    return _united(map(variables, children(term)))


def _united(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    """Their union, which is one of them where that one has all."""
    out = NONE
    for one in sets:
        out = one if out <= one else out if one <= out else out | one
    return out


@kept
def operations(term: Term) -> frozenset[str]:
    """What is applied in a term."""
    inside = _united(map(operations, children(term)))
    return inside | {term.op} if isinstance(term, App) else inside


@kept
def tensors(term: Term) -> frozenset[str]:
    """The names of what is read in a term."""
    inside = _united(map(tensors, children(term)))
    return inside | {term.tensor} if isinstance(term, Read) else inside


@kept
def plain(term: Term) -> bool:
    """Whether no tensor is read in a term, and nothing folded."""
    return not isinstance(term, Read | Fold) and all(map(plain, children(term)))


@kept
def folds(term: Term) -> bool:
    """Whether a fold stands in a term, but not in the index of a read."""
    return isinstance(term, Fold) or (isinstance(term, App) and any(map(folds, term.args)))


@kept
def shuffled(term: Term) -> bool:
    """Whether a term has a shuffle in it."""
    return (isinstance(term, App) and term.op in SHUFFLES) or any(map(shuffled, children(term)))


@kept
def different(term: Term) -> int:
    """How many different parts a term has.

    >>> from tinygpu.category.text import text
    >>> x = Var("x")
    >>> different((x + 1) * (x + 1))
    4
    """
    return sum(1 for _ in walk(term))


@kept
def whole(term: Term) -> bool:
    """Whether a term is about indices alone: no value of a tensor's dtype stands in it.

    >>> i, x = Var("i"), Read("x", (), "f32")
    >>> whole(i * 4 < Var("n")), whole(App("lt", (x, x), BOOL)), whole(App("cast", (i,), "i32"))
    (True, False, False)
    """
    return term.dtype in (INDEX, BOOL) and not isinstance(term, Read | Fold) and all(map(whole, children(term)))


def reads(term: Term) -> tuple[Read, ...]:
    """Every tensor read in a term, in order."""
    return () if plain(term) else tuple(t for t in walk(term, leave=plain) if isinstance(t, Read))
