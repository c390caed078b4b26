"""Values of carriers in expressions: `lse(x, 1)` from components, `lse(a, b)` of two values, `v.m`.

Comes in: the tree of a call or of a component, and its scope. Goes out: a term, or a message.
The one idea: the name of a monoid makes a value from one expression for each component, and one value from two.
"""

from __future__ import annotations

from collections.abc import Callable

from tinygpu.category.carrier import lifted as lift
from tinygpu.category.monoid import Carrier
from tinygpu.category.term import Term, pack, part
from tinygpu.diagnostic import Span
from tinygpu.model.dtype import settle
from tinygpu.model.problems import UNKNOWN, WRONG, listing, suggestion
from tinygpu.model.scope import Scope
from tinygpu.syntax import tree

Elaborate = Callable[[tree.Expr, Scope], Term]


def component(expr: tree.Field, scope: Scope, value: Elaborate) -> Term:
    """`v.m`."""
    whole = value(expr.value, scope)
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
    return part(whole, place, carrier.components[place][1])


def made(carrier: Carrier, expr: tree.Call, scope: Scope, value: Elaborate) -> Term:
    """`lse(x, 1)`, a value for each component; `lse(a, b)`, two values combined."""
    given = [value(arg, scope) for arg in expr.args]
    if any(term.dtype == UNKNOWN for term in given):
        return WRONG
    if len(given) == 2 and all(term.dtype == carrier for term in given):
        return carrier.combine(given[0], given[1])
    if len(given) != len(carrier.components):
        return scope.problems.add(
            "TG125",
            f"{expr.function} takes {listing([name for name, _ in carrier.components])}",
            expr.span,
            f"{len(given)} given",
            help="one value for each component; or two values, which are combined",
        )
    spans = [arg.span for arg in expr.args]
    terms = settled(carrier.components, tuple(given), spans, scope)
    return WRONG if terms is None else pack(terms, carrier)


def settled(
    names: tuple[tuple[str, str], ...], given: tuple[Term, ...], spans: list[Span], scope: Scope
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


def lifted(carrier: Carrier, given: tuple[Term, ...], spans: list[Span], name: str, scope: Scope) -> Term:
    """What an element of a fold is lifted to: the carrier's own value as it is, others by `lift`."""
    if len(given) == 1 and given[0].dtype == carrier:
        return given[0]
    if len(given) != len(carrier.parameters):
        names = listing([parameter for parameter, _ in carrier.parameters])
        fix = f"write fold {name}[…] ({', '.join('…' for _ in carrier.parameters)})"
        return scope.problems.add("TG125", f"{name} lifts {names}", spans[0].to(spans[-1]), f"{len(given)} given", help=fix)
    terms = settled(carrier.parameters, given, spans, scope)
    return WRONG if terms is None else lift(carrier, terms)
