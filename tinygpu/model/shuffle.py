"""Shuffles in values: `shuffle_xor(v[], 16)`, the value of another lane of the warp.

Comes in: the tree of a call and its scope. Goes out: an `App` of two arguments, a value and an index term; or a message.
The one idea: all lanes of a warp take part in a shuffle, so it stands where all of them evaluate it: in the value of an assignment.
"""

from __future__ import annotations

from collections.abc import Callable

from tinygpu.category.term import App, Term
from tinygpu.model.dtype import not_offered, offered, to_index
from tinygpu.model.problems import UNKNOWN, WRONG
from tinygpu.model.scope import Scope
from tinygpu.syntax import tree

Elaborate = Callable[[tree.Expr, Scope], Term]


def shuffle(expr: tree.Call, scope: Scope, value: Elaborate) -> Term:
    """`Call × Scope → App`; `value` elaborates what stands inside. The value keeps its dtype, which may still be a literal's."""
    name = expr.function
    if scope.place:
        return scope.problems.add("TG152", f"a shuffle stands {scope.place}", expr.span, _reason(scope), help=_fix(scope, name))
    if len(expr.args) != 2:
        return scope.problems.add(
            "TG125", f"{name} takes 2 arguments", expr.span, f"{len(expr.args)} given", help=f"write {name}(value, {_lane(name)})"
        )
    shuffled = value(expr.args[0], scope)
    lane = to_index(value(expr.args[1], scope.inside_brackets()), expr.args[1].span, scope.problems)
    if UNKNOWN in (shuffled.dtype, lane.dtype):
        return WRONG
    if not offered(name, shuffled.dtype):
        return not_offered(name, shuffled.dtype, expr.span, scope.problems)
    return App(name, (shuffled, lane), shuffled.dtype)


def _lane(name: str) -> str:
    return {"shuffle_xor": "mask", "shuffle_idx": "lane"}.get(name, "distance")


def _reason(scope: Scope) -> str:
    if scope.place == "outside a program":
        return "an equation knows no lanes"
    return "it is for the value of an assignment, which every lane evaluates"


def _fix(scope: Scope, name: str) -> str:
    if scope.place == "outside a program":
        return "name the element that is meant; lanes exchange values in the program of a machine"
    return f"shuffle into a local first: v[] = {name}(…), and use v[] here"
