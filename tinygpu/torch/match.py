"""Patterns of a graph of torch, written as what they compute, and the ways in which a node is one.

    getitem(native_layer_norm(x, _, weight, bias, eps), 0)        gelu(flat(addmm(b, x, t(w))))

A call is an operator of ATen by its name; a small name is whatever stands there, everywhere the same; `_` is anything, a number itself. `flat` is one view after another, or none.
Arguments that a pattern does not write have their defaults. Comes in: a text; a node. Goes out: what the names are, and the nodes that the pattern is made of. The one idea: a pattern
is read by Python and matched by one function with eight lines that do something, so a row of the table is all that a new one takes.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Iterator, Sequence
from functools import cache, reduce
from typing import Any, TypeAlias

from tinygpu.record import dataclass

VIEWS = frozenset(["view", "_unsafe_view", "reshape"])
COMMUTE = frozenset(["add", "mul"])


@dataclass(frozen=True, slots=True)
class Bound:
    """Whatever stands there; `_` is not remembered."""

    name: str


@dataclass(frozen=True, slots=True)
class Exactly:
    """A number, a text, a list, True, False or None."""

    value: Any


@dataclass(frozen=True, slots=True)
class Applied:
    """An operator of ATen, or `flat`."""

    name: str
    arguments: tuple[Pattern, ...]


Pattern: TypeAlias = Bound | Exactly | Applied


@dataclass(frozen=True, slots=True)
class Match:
    """What each name is, and the nodes inside: all that the pattern is made of, the last one first."""

    values: tuple[tuple[str, Any], ...] = ()
    inside: tuple[Any, ...] = ()

    def of(self, name: str) -> Any:
        """What a name is. Raises KeyError for one that the pattern does not have."""
        return dict(self.values)[name]


@cache
def pattern(text: str) -> Pattern:
    """A pattern's text, read.

    >>> pattern("mul(x, pow(x, 2))")
    Applied(name='mul', arguments=(Bound(name='x'), Applied(name='pow', arguments=(Bound(name='x'), Exactly(value=2)))))
    """
    return _read(ast.parse(text, mode="eval").body)


def _read(node: ast.expr) -> Pattern:
    match node:
        case ast.Name(name):
            return Bound(name)
        case ast.Call(ast.Name(name), arguments):
            return Applied(name, tuple(map(_read, arguments)))
    return Exactly(ast.literal_eval(node))


def names_of(one: Pattern) -> Iterator[str]:
    """The names of a pattern.

    >>> list(names_of(pattern("gelu(flat(addmm(b, x, t(w))))")))
    ['b', 'x', 'w']
    """
    match one:
        case Bound(name) if name != "_":
            yield name
        case Applied(_, arguments):
            yield from (name for inner in arguments for name in names_of(inner))


def matches(one: Pattern, node: Any) -> Iterator[Match]:
    """The ways in which a node is a pattern: none, one, or several where an operator does not care for the order of its arguments."""
    yield from _ways(one, node, Match())


def _ways(one: Pattern, value: Any, found: Match) -> Iterator[Match]:
    match one:
        case Bound("_"):
            yield found
        case Bound(name):
            known = dict(found.values)
            if name not in known:
                yield Match((*found.values, (name, value)), found.inside)
            elif _same(known[name], value):
                yield found
        case Exactly(wanted):
            if _same(wanted, value):
                yield found
        case Applied("flat", (inner,)):
            yield from _ways(inner, value, found)
            if aten_name(value) in VIEWS:
                yield from _ways(one, value.args[0], Match(found.values, (*found.inside, value)))
        case Applied(name, arguments):
            if aten_name(value) == name:
                yield from _applied(name, arguments, value, Match(found.values, (*found.inside, value)))


def _applied(name: str, wanted: Sequence[Pattern], node: Any, found: Match) -> Iterator[Match]:
    """An operator whose arguments are those of the pattern, and behind them its defaults."""
    given = arguments_of(node)
    rest = given[len(wanted) :]
    if len(wanted) > len(given) or not all(_same(value, default) for value, default in rest):
        return
    values = [value for value, _ in given[: len(wanted)]]
    for order in (values, [values[1], values[0], *values[2:]]) if name in COMMUTE else (values,):
        yield from reduce(_then, zip(wanted, order, strict=True), iter((found,)))


def _then(ways: Iterator[Match], pair: tuple[Pattern, Any]) -> Iterator[Match]:
    return (later for way in ways for later in _ways(pair[0], pair[1], way))


def _same(one: Any, other: Any) -> bool:
    """One node, or equal numbers; True is no 1, and a list is one whatever holds it."""
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    plain = isinstance(one, bool | str | None) == isinstance(other, bool | str | None)
    return one is other or (plain and isinstance(one, int | float | str) and isinstance(other, int | float | str) and one == other)


def aten_name(node: Any) -> str:
    """The name of the operator that a node applies; nothing for what is no node of one.

    >>> aten_name(3)
    ''
    """
    target = getattr(node, "target", None)
    if target is operator.getitem:
        return "getitem"
    schema = getattr(target, "_schema", None)
    return str(schema.name).removeprefix("aten::") if schema is not None else ""


def arguments_of(node: Any) -> list[tuple[Any, Any]]:
    """Each argument of a node, in the order of the operator's signature, with its default."""
    if node.target is operator.getitem:
        return [(value, _NONE) for value in node.args]
    wanted = node.target._schema.arguments
    found = []
    for place, one in enumerate(wanted):
        default = one.default_value if one.has_default_value() else _NONE
        given = node.args[place] if place < len(node.args) else node.kwargs.get(one.name, default)
        found.append((given, default))
    return found


_NONE = object()  # no default
