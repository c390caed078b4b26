"""Params: names for numbers, fixed or each of a set. A machine with sets is one machine for each choice.

Comes in: the `param` declarations of a file and of a machine. Goes out: for each choice, the numbers by name.
The one idea: a param is gone after elaboration; extents that use it are numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product

from tinygpu.category.term import Const
from tinygpu.diagnostic import Label, Span
from tinygpu.model.problems import UNKNOWN, Problems
from tinygpu.model.scope import Scope
from tinygpu.model.value import index
from tinygpu.syntax import tree


@dataclass(frozen=True, slots=True)
class Choice:
    """The values of one param: one if it is fixed, several if it is a set."""

    name: str
    values: tuple[int, ...]
    fixed: bool
    span: Span


def choices(params: Iterable[tree.Param], before: Mapping[str, Choice], problems: Problems) -> dict[str, Choice]:
    """The params with their values, in order; a fixed one may be a term over fixed ones before it."""
    known = dict(before)
    found: dict[str, Choice] = {}
    for param in params:
        if param.name in known:
            problems.add("TG102", f"the param {param.name} is declared twice", param.span, "declared again",
                         Label(known[param.name].span, "declared first here"), help="take another name")
            continue
        scope = Scope(problems, constants={c.name: c.values[0] for c in known.values() if c.fixed and c.values})
        exprs = param.choices if param.value is None else (param.value,)
        values = tuple(dict.fromkeys(v for v in (_number(e, scope) for e in exprs) if v is not None))
        found[param.name] = known[param.name] = Choice(param.name, values, param.value is not None, param.span)
    return found


def _number(expr: tree.Expr, scope: Scope) -> int | None:
    match index(expr, scope):
        case Const(int(value), dtype) if dtype != UNKNOWN:
            return value
        case term:
            if term.dtype != UNKNOWN:
                scope.problems.add("TG143", "a param is a whole number", expr.span, "not a number", help="params are known before any size is")
    return None


def combinations(params: Mapping[str, Choice]) -> list[dict[str, int]]:
    """Every choice of a value for each param, in order.

    >>> combinations({"B": Choice("B", (1, 2), False, Span()), "C": Choice("C", (7,), True, Span())})
    [{'B': 1, 'C': 7}, {'B': 2, 'C': 7}]
    """
    names = list(params)
    return [dict(zip(names, values, strict=True)) for values in product(*(params[n].values for n in names))]
