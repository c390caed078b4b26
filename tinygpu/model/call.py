"""What calls make of the terms that they are given: functions, casts, shuffles, values of carriers and their components.

Comes in: the tree of a call, its name with a family's variable resolved, and the terms of its arguments. Goes out: a term, or a message. The one
idea: nothing here elaborates. The name of a monoid makes a value from one term for each component, and one value from two; all lanes of a
warp take part in a shuffle, so it stands where all of them evaluate it: in the value of an assignment.
"""

from __future__ import annotations

from collections.abc import Sequence

from tinygpu.category.carrier import lifted as lift
from tinygpu.category.dtype import NEAR
from tinygpu.category.monoid import SCALARS, Carrier
from tinygpu.category.term import BOOL, DTYPES, FUNCTIONS, INDEX, SHUFFLES, App, Term, apply, pack, part
from tinygpu.diagnostic import Fix, Span
from tinygpu.model.dtype import LITERAL, meet, not_offered, offered, settle
from tinygpu.model.functions import OWN, converted
from tinygpu.model.problems import UNKNOWN, WRONG
from tinygpu.model.scope import OUTSIDE, Scope
from tinygpu.syntax import tree
from tinygpu.syntax.files import of_the_library

NAMED = (*FUNCTIONS, *OWN, "ceil", "min", "max", "where")
CALLS = (*NAMED, INDEX, *DTYPES)
LANE, MANY = {"shuffle_xor": "mask", "shuffle_idx": "lane"}, 99  # of a shuffle's second argument; else it is a distance
TAKES = {  # how many arguments, and what is said of another number of them
    "where": (3, 3, "TG125.where"), "min": (2, MANY, "TG125.extremum"), "max": (2, MANY, "TG125.extremum"),
    **dict.fromkeys(("pow", "mulhi"), (2, 2, "TG125.two")), **dict.fromkeys(SHUFFLES, (2, 2, "TG125.shuffle")),
}  # fmt: skip


def may_call(name: str, expr: tree.Call, scope: Scope) -> bool:
    """Whether there is such a function here, and it takes as many arguments; says so if not."""
    problems, given = scope.problems, len(expr.args)
    if name in SHUFFLES and scope.place:
        message = "TG152.equation" if scope.place == OUTSIDE else "TG152.place"
        problems.say(message, expr.span, place=scope.place, name=name)
        return False
    if name in NEAR and scope.place in (OUTSIDE, "in a monoid"):
        problems.say("TG152.near", expr.span, name=name, dtype=NEAR[name])
        return False
    if name not in (*CALLS, *SHUFFLES):
        if scope.monoid(name) is not None:
            return True
        known = (*CALLS, *(() if scope.place == OUTSIDE else SHUFFLES), *SCALARS, *scope.monoids, *scope.defs)
        path = of_the_library().get(name, "")
        message = "TG107.tensor" if name in scope.tensors else "TG107.library" if path else "TG107.function"
        near = () if message != "TG107.function" else known
        fixes = (Fix(f'import "{path}"', Span(expr.span.file), f'import "{path}"\n'),) * (message == "TG107.library")
        problems.say(message, expr.span, near=near, fixes=fixes, name=name, known=NAMED, path=path)
        return False
    least, most, message = TAKES.get(name, (1, 1, "TG125.one"))
    if not least <= given <= most:
        problems.say(message, expr.span, name=name, given=given, lane=LANE.get(name, "distance"))
    return least <= given <= most


def called(name: str, given: tuple[Term, ...], expr: tree.Call, scope: Scope) -> Term:
    """`name(given)`, where all of them are right."""
    problems, first = scope.problems, given[0]
    if name not in (*CALLS, *SHUFFLES):
        carrier = scope.monoid(name)
        assert carrier is not None
        return _made(carrier, given, expr, scope)
    if name in SHUFFLES:  # the value keeps its dtype, which may still be a literal's
        return App(name, given, first.dtype) if offered(name, first.dtype) else not_offered(name, first.dtype, expr.span, problems)
    if name in ("min", "max"):
        return _extremum(name, given, expr, scope)
    if name in OWN:
        return OWN[name](name, given, expr, scope)
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
        return scope.problems.say("TG122.cast", span)
    if isinstance(term.dtype, Carrier):
        return not_offered(dtype, term.dtype, span, scope.problems)
    settled = settle(term, dtype, span, scope.problems)
    return scope.indexed(settled if settled.dtype in (dtype, UNKNOWN) else converted(settled, dtype))


def _extremum(name: str, given: tuple[Term, ...], expr: tree.Call, scope: Scope) -> Term:
    left = given[0]
    for right, arg in zip(given[1:], expr.args[1:], strict=True):
        a, b, dtype = meet(left, right, (expr.args[0].span, arg.span), scope.problems)
        if dtype == UNKNOWN:
            return WRONG
        if not (dtype == INDEX or offered(name, dtype)):
            return not_offered(name, dtype, arg.span, scope.problems)
        left = apply(name, a, b) if dtype == INDEX else App(name, (a, b), dtype)
    return left


# ── values of carriers ─────────────────────────────────────────────────────────────────────────────────────────────


def component(whole: Term, expr: tree.Field, scope: Scope) -> Term:
    """`v.m`."""
    if whole.dtype == UNKNOWN:
        return WRONG
    if not isinstance(whole.dtype, Carrier):
        return scope.problems.say("TG148.single", expr.span, dtype=whole.dtype, name=expr.name)
    carrier = whole.dtype
    place = carrier.place(expr.name)
    if place is None:
        names = [name for name, _ in carrier.components]
        return scope.problems.say("TG148.unknown", expr.span, near=names, name=expr.name, carrier=carrier, known=names)
    return scope.indexed(part(whole, place, carrier.components[place][1]))


def _made(carrier: Carrier, given: tuple[Term, ...], expr: tree.Call, scope: Scope) -> Term:
    """`lse(x, 1)`, a value for each component; `lse(a, b)`, two values combined."""
    if len(given) == 2 and all(term.dtype == carrier for term in given):
        return carrier.combine(given[0], given[1])
    if len(given) != len(carrier.components):
        names = [name for name, _ in carrier.components]
        return scope.problems.say("TG125.components", expr.span, name=expr.function, components=names, given=len(given))
    terms = _settled(carrier.components, given, [arg.span for arg in expr.args], scope)
    return WRONG if terms is None else pack(terms, carrier)


def lifted(carrier: Carrier, given: tuple[Term, ...], spans: Sequence[Span], name: str, scope: Scope) -> Term:
    """What an element of a fold is lifted to: the carrier's own value as it is, others by `lift`."""
    if len(given) == 1 and given[0].dtype == carrier:
        return given[0]
    if len(given) != len(carrier.parameters):
        names, dots = [parameter for parameter, _ in carrier.parameters], ", ".join("…" for _ in carrier.parameters)
        return scope.problems.say("TG125.lift", spans[0].to(spans[-1]), name=name, parameters=names, dots=dots, given=len(given))
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
            term = scope.problems.say("TG121.part", span, name=name, dtype=dtype, given=term.dtype)
        terms.append(term)
    return None if any(t.dtype == UNKNOWN for t in terms) else tuple(terms)
