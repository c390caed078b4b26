"""Terms by the types of the fields that hold them: those directly inside of a node or of a step, and others in their place.

Comes in: a node or a step, and names of fields. Goes out: their terms, or the same with other terms. The one idea: a field of type `Term`, `Axis`, or
a tuple of these says what is inside, so who only wants to get through has no case for a kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, get_args

from tinygpu.category.node import App, Axis, Read, Term
from tinygpu.record import replace

H = TypeVar("H")
HOLD_TERMS = ("Term", "tuple[Term, ...]", "Axis", "tuple[Axis, ...]")  # an axis with its extent


def fields_of(kinds: Iterable[type], *types: str) -> Mapping[type, tuple[str, ...]]:
    """The fields of each kind of term, step, … that are of these types."""
    return {kind: tuple(name for name, of in kind.__annotations__.items() if of in types) for kind in kinds}


TERMED = fields_of(get_args(Term), *HOLD_TERMS)


def terms_of(holder: Any, fields: Iterable[str]) -> tuple[Term, ...]:
    """The terms in some fields, in order."""
    found: list[Term] = []
    for name in fields:
        part = getattr(holder, name)
        found += [p.extent if p.__class__ is Axis else p for p in (part if part.__class__ is tuple else (part,))]
    return tuple(found)


def with_terms(holder: H, fields: Iterable[str], change: Callable[[Term], Term]) -> H:
    """The same with another term for each of those in some fields; itself, where they are equal.

    >>> from tinygpu.category.node import Var, lift
    >>> with_terms(Axis("k", Var("n")), ("extent",), lambda term: lift(8)).extent
    Const(value=8, dtype='index')
    """

    def other(part: Any) -> Any:
        if part.__class__ is tuple:
            return tuple(map(other, part))
        return with_terms(part, ("extent",), change) if part.__class__ is Axis else change(part)

    old = {name: getattr(holder, name) for name in fields}
    new = {name: other(part) for name, part in old.items()}
    return holder if new == old else replace(holder, **new)  # type: ignore[type-var]


def children(term: Term) -> tuple[Term, ...]:
    """The terms directly inside a term (a fold's extents, guard and body included)."""
    kind = term.__class__
    if kind is App:
        return term.args  # type: ignore[union-attr]
    if kind is Read:
        return term.index  # type: ignore[union-attr]
    return terms_of(term, TERMED[kind]) if TERMED[kind] else ()
