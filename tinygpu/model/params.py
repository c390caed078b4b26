"""Params: names for numbers, fixed or each of a set. A machine with sets is one machine for each choice.

Comes in: the `param` declarations of a file and of a machine. Goes out: for each choice, the numbers by name.
The one idea: a param is gone after elaboration; extents that use it are numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tinygpu.category.term import Const
from tinygpu.diagnostic import Label
from tinygpu.model.clauses import names_in
from tinygpu.model.problems import UNKNOWN, Problems
from tinygpu.model.scope import Scope
from tinygpu.model.value import index
from tinygpu.record import replace
from tinygpu.syntax import tree

MOST = 1000
Params = Mapping[str, tree.Param]


def declared(params: Iterable[tree.Param], before: Params, problems: Problems) -> dict[str, tree.Param]:
    """The params by name, in order; says which stand twice."""
    found: dict[str, tree.Param] = {}
    for param in params:
        first = {**before, **found}.get(param.name)
        if first:
            problems.add(
                "TG102",
                f"the param {param.name} is declared twice",
                param.span,
                "declared again",
                Label(first.span, "declared first here"),
                help="take another name",
            )
        else:
            found[param.name] = param
    return found


def fixed(param: tree.Param) -> bool:
    """Whether a param is one number rather than each of a set."""
    return param.value is not None


def combinations(params: Params, problems: Problems) -> list[dict[str, int]]:
    """Every choice of a value for each param, in order; a param may be a term over those before it. None if one is wrong.

    >>> two = tree.Param("B", choices=(tree.Number("1"), tree.Number("2")))
    >>> combinations({"B": two, "C": tree.Param("C", tree.Binary("*", tree.Name("B"), tree.Number("8")))}, Problems())
    [{'B': 1, 'C': 8}, {'B': 2, 'C': 16}]
    """
    chosen: list[dict[str, int]] = [{}]
    wrong: set[str] = set()
    for name, param in params.items():
        exprs = param.choices if param.value is None else (param.value,)
        if wrong & set(names_in(exprs)):
            wrong.add(name)  # said already
            continue
        before = len(problems)
        if len(chosen) * len(exprs) > MOST:
            title = f"more than {MOST} choices of the params"
            problems.add(
                "TG144",
                title,
                param.span,
                f"{len(exprs)} choices, with those before it {len(chosen) * len(exprs)}",
                help="each choice is a machine that is proved and built: take smaller sets, or several machines",
            )
            return []
        longer = [{**one, name: v} for one in chosen for v in _numbers(exprs, one, problems)]
        if len(problems) > before or not longer:
            wrong.add(name)
        else:
            chosen = longer
    return [] if wrong else chosen


def _numbers(exprs: tuple[tree.Expr, ...], before: Mapping[str, int], problems: Problems) -> list[int]:
    """The values of a param, each once."""
    scope = Scope(problems, constants=before)
    return list(dict.fromkeys(v for v in (_number(e, scope) for e in exprs) if v is not None))


def _number(expr: tree.Expr, scope: Scope) -> int | None:
    private = Problems()
    match index(expr, replace(scope, problems=private)):
        case Const(int(value), dtype) if dtype != UNKNOWN:
            return value
    unknown = [d for d in private.found if d.code == "TG101"]
    if unknown:
        for diagnostic in unknown:
            scope.problems.take(diagnostic)
    else:
        scope.problems.add(
            "TG141",
            "a param is a whole number",
            expr.span,
            "not a whole number",
            help="write a literal, or a term over params before it",
        )
    return None
