"""What calls make of the terms that they are given: functions, casts, shuffles, values of carriers and their components.

Comes in: the tree of a call, its name with a family's variable resolved, and the terms of its arguments. Goes out: a term, or a message.
The one idea: nothing here elaborates, so arguments are what they are wherever they stand. The name of a monoid makes a value from one term
for each component, and one value from two; all lanes of a warp take part in a shuffle, so it stands where all of them evaluate it: in
the value of an assignment.
"""

from __future__ import annotations

from collections.abc import Sequence

from tinygpu.category.carrier import lifted as lift
from tinygpu.category.monoid import SCALARS, Carrier
from tinygpu.category.term import BOOL, DTYPES, FUNCTIONS, INDEX, SHUFFLES, App, Term, apply, pack, part
from tinygpu.diagnostic import Span
from tinygpu.model.builtin import monoid_of
from tinygpu.model.dtype import LITERAL, meet, not_offered, offered, settle
from tinygpu.model.problems import UNKNOWN, WRONG, listing, suggestion
from tinygpu.model.scope import OUTSIDE, Scope
from tinygpu.syntax import tree

CALLS = (*FUNCTIONS, "min", "max", "where", "ceil", INDEX, *DTYPES)
LANE = {"shuffle_xor": "mask", "shuffle_idx": "lane"}  # of a shuffle's second argument; else it is a distance
MANY = 99


def may_call(name: str, expr: tree.Call, scope: Scope) -> bool:
    """Whether there is such a function here, and it takes as many arguments; says so if not."""
    problems, given = scope.problems, f"{len(expr.args)} given"
    if name in SHUFFLES:
        if scope.place == OUTSIDE:
            reason, fix = (
                "an equation knows no lanes",
                "name the element that is meant; lanes exchange values in the program of a machine",
            )
            problems.add("TG152", f"a shuffle stands {scope.place}", expr.span, reason, help=fix)
        elif scope.place:
            reason = "it is for the value of an assignment, which every lane evaluates"
            fix = f"shuffle into a local first: v[] = {name}(…), and use v[] here"
            problems.add("TG152", f"a shuffle stands {scope.place}", expr.span, reason, help=fix)
        elif len(expr.args) != 2:
            fix = f"write {name}(value, {LANE.get(name, 'distance')})"
            problems.add("TG125", f"{name} takes 2 arguments", expr.span, given, help=fix)
        return not scope.place and len(expr.args) == 2
    if name not in CALLS:
        if monoid_of(name, scope.monoids) is not None:
            return True
        known = (*CALLS, *(() if scope.place == OUTSIDE else SHUFFLES), *SCALARS, *scope.monoids)
        fix = f"{name} is a tensor: write {name}[…]" if name in scope.tensors else suggestion(name, known)
        fix = fix or f"the functions are {listing((*FUNCTIONS, 'min', 'max', 'where'))}"
        problems.add("TG107", f"unknown function {name}", expr.span, "no function has this name", help=fix)
        return False
    least, most = {"where": (3, 3), "min": (2, MANY), "max": (2, MANY)}.get(name, (1, 1))
    if not least <= len(expr.args) <= most:
        needed = f"{least} arguments{' or more' if most == MANY else ''}" if least > 1 else "1 argument"
        fix = (
            "write where(condition, a, b)"
            if name == "where"
            else f"to fold over an index, write {name}[k] …"
            if most == MANY
            else ""
        )
        problems.add("TG125", f"{name} takes {needed}", expr.span, given, help=fix)
    return least <= len(expr.args) <= most


def called(name: str, given: tuple[Term, ...], expr: tree.Call, scope: Scope) -> Term:
    """`name(given)`, where all of them are right."""
    problems = scope.problems
    if name not in (*CALLS, *SHUFFLES):
        carrier = monoid_of(name, scope.monoids)
        assert carrier is not None
        return _made(carrier, given, expr, scope)
    first = given[0]
    if name in SHUFFLES:  # the value keeps its dtype, which may still be a literal's
        return App(name, given, first.dtype) if offered(name, first.dtype) else not_offered(name, first.dtype, expr.span, problems)
    if name in ("min", "max"):
        return _extremum(name, given, expr, scope)
    if name in DTYPES:
        return _cast(first, name, expr.span, scope)
    if first.dtype == INDEX:
        if name == "abs":
            return apply("max", first, apply("sub", 0, first))
        first = App("cast", (first,), LITERAL)  # takes the dtype of what it meets
    if not offered(name, first.dtype):
        return not_offered(name, first.dtype, expr.span, problems)
    return App(name, (first,), first.dtype)


def _cast(term: Term, dtype: str, span: Span, scope: Scope) -> Term:
    """`dtype(term)`, nothing where the term has the dtype already."""
    scope.used.add(dtype)
    if dtype == BOOL and term.dtype != BOOL:
        return scope.problems.add("TG122", "a number is not cast to bool", span, "a cast to bool", help="compare it: … != 0")
    if isinstance(term.dtype, Carrier):
        return not_offered(dtype, term.dtype, span, scope.problems)
    settled = settle(term, dtype, span, scope.problems)
    return scope.indexed(settled if settled.dtype in (dtype, UNKNOWN) else App("cast", (settled,), dtype))


def _extremum(name: str, given: tuple[Term, ...], expr: tree.Call, scope: Scope) -> Term:
    left = given[0]
    for right, arg in zip(given[1:], expr.args[1:], strict=True):
        a, b, dtype = meet(left, right, (expr.args[0].span, arg.span), scope.problems)
        if dtype == UNKNOWN:
            return WRONG
        if dtype == BOOL or isinstance(dtype, Carrier):
            return not_offered(name, dtype, arg.span, scope.problems)
        left = apply(name, a, b) if dtype == INDEX else App(name, (a, b), dtype)
    return left


# ── values of carriers ─────────────────────────────────────────────────────────────────────────────────────────────


def component(whole: Term, expr: tree.Field, scope: Scope) -> Term:
    """`v.m`."""
    if whole.dtype == UNKNOWN:
        return WRONG
    if not isinstance(whole.dtype, Carrier):
        title = f"a value of {whole.dtype} has no components"
        return scope.problems.add("TG148", title, expr.span, f".{expr.name} of a single value", help="leave out the point")
    carrier = whole.dtype
    place = carrier.place(expr.name)
    if place is None:
        names = [name for name, _ in carrier.components]
        fix = suggestion(expr.name, names) or f"the components are {listing(names)}"
        return scope.problems.add("TG148", f"{carrier} has no component {expr.name}", expr.span, "no such component", help=fix)
    return scope.indexed(part(whole, place, carrier.components[place][1]))


def _made(carrier: Carrier, given: tuple[Term, ...], expr: tree.Call, scope: Scope) -> Term:
    """`lse(x, 1)`, a value for each component; `lse(a, b)`, two values combined."""
    if len(given) == 2 and all(term.dtype == carrier for term in given):
        return carrier.combine(given[0], given[1])
    if len(given) != len(carrier.components):
        title = f"{expr.function} takes {listing(name for name, _ in carrier.components)}"
        fix = "one value for each component; or two values, which are combined"
        return scope.problems.add("TG125", title, expr.span, f"{len(given)} given", help=fix)
    terms = _settled(carrier.components, given, [arg.span for arg in expr.args], scope)
    return WRONG if terms is None else pack(terms, carrier)


def lifted(carrier: Carrier, given: tuple[Term, ...], spans: Sequence[Span], name: str, scope: Scope) -> Term:
    """What an element of a fold is lifted to: the carrier's own value as it is, others by `lift`."""
    if len(given) == 1 and given[0].dtype == carrier:
        return given[0]
    if len(given) != len(carrier.parameters):
        title = f"{name} lifts {listing(parameter for parameter, _ in carrier.parameters)}"
        fix = f"write fold {name}[…] ({', '.join('…' for _ in carrier.parameters)})"
        return scope.problems.add("TG125", title, spans[0].to(spans[-1]), f"{len(given)} given", help=fix)
    terms = _settled(carrier.parameters, given, spans, scope)
    return WRONG if terms is None else lift(carrier, terms)


def _settled(
    names: tuple[tuple[str, str], ...], given: tuple[Term, ...], spans: Sequence[Span], scope: Scope
) -> tuple[Term, ...] | None:
    """Values in the dtypes that go with names; None after a message."""
    terms: list[Term] = []
    for (name, dtype), term, span in zip(names, given, spans, strict=True):
        term = settle(term, dtype, span, scope.problems)
        if term.dtype not in (dtype, UNKNOWN):
            title = f"{name} is {dtype} but its value is {term.dtype}"
            term = scope.problems.add("TG121", title, span, f"this is {term.dtype}", help=f"write {dtype}(…)")
        terms.append(term)
    return None if any(t.dtype == UNKNOWN for t in terms) else tuple(terms)
