"""Monoids, from the tree: a carrier with its invariant, a unit, what one element is lifted to, and how two values combine.

Comes in: the tree of one `monoid`. Goes out: a carrier.
The one idea: each part is one expression for each component, elaborated like the right side of an equation; whether the laws hold is
proved later, and a law that small numbers break is not assumed by anyone.
"""

from __future__ import annotations

from collections.abc import Mapping

from tinygpu.category.carrier import broken
from tinygpu.category.monoid import LEFT, RIGHT, Carrier, pack
from tinygpu.category.term import BOOL, DTYPES, OPERATIONS, Const, Fold, Term, Var, conjunction, substitute, walk
from tinygpu.diagnostic import Label, Span
from tinygpu.model.builtin import is_built_in
from tinygpu.model.call import CALLS
from tinygpu.model.dtype import OPEN, settle
from tinygpu.model.problems import UNKNOWN, Problems, head, listing
from tinygpu.model.scope import SPECIAL, Scope
from tinygpu.model.value import condition, value
from tinygpu.record import replace
from tinygpu.syntax import tree

NEEDED = ("unit", "lift", "combine")


def monoids_of(file: tree.File, constants: Mapping[str, int], problems: Problems) -> Scope:
    """A scope with the params and the monoids of a file."""
    scope = Scope(problems, constants=constants)
    named: dict[str, Carrier | None] = {}
    for declaration in file.declarations:
        if isinstance(declaration, tree.Monoid) and declaration.name not in named:
            free = _free(declaration, problems)
            named[declaration.name] = elaborate_monoid(declaration, replace(scope, place="in a monoid")) if free else None
    return replace(scope, monoids=named)


def _free(monoid: tree.Monoid, problems: Problems) -> bool:
    """Whether a name is not that of a built-in monoid, which every file may use and which is one for all of them; says so."""
    if not is_built_in(monoid.name):
        return True
    base, _, dtype = monoid.name.rpartition("_")
    place, title = head(monoid.span, f"monoid {monoid.name}"), f"the monoid {monoid.name} hides the built-in {monoid.name}"
    fix = f"take another name; the fold {base}[…] is the built-in one"
    problems.add("TG103", title, place, f"{monoid.name} is {base} on {dtype}", help=fix)
    return False


def elaborate_monoid(monoid: tree.Monoid, scope: Scope) -> Carrier | None:
    """`tree.Monoid → carrier`, None after a message."""
    problems, before = scope.problems, len(scope.problems)
    place = head(monoid.span, f"monoid {monoid.name}")
    if monoid.name in (*OPERATIONS, *DTYPES, *CALLS, *SPECIAL, *scope.constants, *OPEN, LEFT, RIGHT):
        title = f"the monoid {monoid.name} hides another {monoid.name}"
        problems.add("TG103", title, place, f"{monoid.name} is a word of expressions already", help="take another name")
    components = _components(monoid, scope)
    parts = _parts(monoid, place, problems)
    if len(problems) > before:
        return None
    return _made(Carrier(monoid.name, components=components), monoid, parts, scope)


def _components(monoid: tree.Monoid, scope: Scope) -> tuple[tuple[str, str], ...]:
    """The names of the components with their dtypes."""
    found: dict[str, str] = {}
    for component in monoid.components:
        if component.name in found:
            title = f"the component {component.name} is declared twice"
            scope.problems.add("TG102", title, component.span, "declared again", help="take another name")
        if component.shape is not None:
            title = f"the component {component.name} is an array"
            scope.problems.add("TG146", title, component.span, "a component is one number", help=f"write {component.name}: f32")
        dtype = scope.dtype(component.dtype, component.span)
        if dtype == BOOL:
            fix = f"write {component.name}: i32, and 1 if … else 0"
            scope.problems.add("TG146", f"the component {component.name} is a condition", component.span, "not a number", help=fix)
        found[component.name] = dtype or UNKNOWN
        scope.hides(component.name, component.span, "the component")
    return tuple(found.items())


def _parts(monoid: tree.Monoid, place: Span, problems: Problems) -> dict[str, tree.MonoidPart]:
    """The parts by their word, each once, and all that are needed."""
    parts: dict[str, tree.MonoidPart] = {}
    for part in monoid.parts:
        if part.kind in parts:
            first = Label(parts[part.kind].span, "the first")
            problems.add("TG146", f"{monoid.name} has two {part.kind} lines", part.span, "the second", first, help="write one")
        parts.setdefault(part.kind, part)
    missing = [kind for kind in NEEDED if kind not in parts]
    if missing:
        fix = {"unit": "unit (0, 0)", "lift": "lift (x) = (x, 1)", "combine": "combine (a, b) = (a.m + b.m, …)"}[missing[0]]
        problems.add(
            "TG146", f"{monoid.name} has no {listing(missing)}", place, "not said in its braces", help=f"add a line: {fix}"
        )
    return parts


def _made(carrier: Carrier, monoid: tree.Monoid, parts: Mapping[str, tree.MonoidPart], scope: Scope) -> Carrier | None:
    """The carrier with its laws, from its components; None after a message."""
    before = len(scope.problems)
    components: dict[str, Term] = {name: Var(name, dtype) for name, dtype in carrier.components}
    inside = replace(scope, values=components)
    invariant = conjunction(*(condition(guard, inside) for guard in monoid.where))
    parameters = _parameters(parts["lift"], carrier, scope)
    given: dict[str, Term] = {name: Var(name, dtype) for name, dtype in parameters}
    two: dict[str, Term] = dict(zip(_two(parts["combine"], scope), (Var(LEFT, carrier), Var(RIGHT, carrier)), strict=True))
    unit = _terms(parts["unit"], carrier, scope)
    lift = _terms(parts["lift"], carrier, replace(scope, values=given))
    apart = {name: pack(carrier.variables(name), carrier) for name in (LEFT, RIGHT)}
    combination = tuple(substitute(term, apart) for term in _terms(parts["combine"], carrier, replace(scope, values=two)))
    results = (
        tuple(value(item, inside) for item in parts["result"].value.items) if "result" in parts else tuple(components.values())
    )
    numbers = tuple(c for c in unit if isinstance(c, Const))
    if len(scope.problems) == before and len(numbers) < len(unit):
        title = f"the unit of {monoid.name} is not made of numbers"
        scope.problems.add("TG146", title, parts["unit"].span, "a number for each component", help="write (-inf, 0) or the like")
    if len(scope.problems) > before:
        return None
    place = head(monoid.span, f"monoid {monoid.name}")
    made = replace(
        carrier,
        identity=numbers,
        parameters=parameters,
        lift=lift,
        combination=combination,
        invariant=invariant,
        results=results,
        span=place,
    )
    commutative, idempotent = (broken(made, law) is None for law in ("commutative", "idempotent"))  # both are claimed
    return replace(made, commutative=commutative, idempotent=idempotent)


def _terms(part: tree.MonoidPart, carrier: Carrier, scope: Scope) -> tuple[Term, ...]:
    """One term for each component, in its dtype."""
    items, many = part.value.items, len(carrier.components)
    if len(items) != many:
        title = (
            f"{part.kind} gives {len(items)} value{'s' if len(items) != 1 else ''} for {many} component{'s' if many != 1 else ''}"
        )
        names = ", ".join(name for name, _ in carrier.components)
        scope.problems.add("TG147", title, part.value.span, f"the components are {names}", help="write one value for each")
        return ()
    terms: list[Term] = []
    for item, (name, dtype) in zip(items, carrier.components, strict=True):
        term = settle(value(item, scope), dtype, item.span, scope.problems)
        if any(isinstance(t, Fold) for t in walk(term)):
            title = "a monoid folds nothing itself"
            scope.problems.add("TG146", title, item.span, "a fold", help="combine takes two values; a fold is made of it")
        elif term.dtype not in (dtype, UNKNOWN):
            fix = f"write {dtype}(…), or declare {name}: {term.dtype}"
            scope.problems.add(
                "TG121", f"{name} is {dtype} but its value is {term.dtype}", item.span, f"this is {term.dtype}", help=fix
            )
        terms.append(term)
    return tuple(terms)


def _parameters(part: tree.MonoidPart, carrier: Carrier, scope: Scope) -> tuple[tuple[str, str], ...]:
    """The names on the left side of lift, each with its dtype: the one given, or that of the component in its place."""
    found: dict[str, str] = {}
    assert part.names is not None
    for place, item in enumerate(part.names.items):
        dtype: str | None = carrier.components[min(place, len(carrier.components) - 1)][1]
        match item:
            case tree.Sized(name, tree.Name(written)):
                dtype = scope.dtype(written, item.span)
            case tree.Name(name):
                pass
            case _:
                scope.problems.add("TG146", "lift names what it is given", item.span, "not a name", help="write lift (x) = (x, 1)")
                continue
        if name in found or scope.hides(name, item.span, "the value"):
            scope.problems.add("TG102", f"{name} stands twice", item.span, "the second time", help="take another name")
        found[name] = dtype or UNKNOWN
    if not found and not part.names.items:
        scope.problems.add("TG146", "lift takes no value", part.names.span, "nothing given", help="write lift (x) = (x, 1)")
    return tuple(found.items())


def _two(part: tree.MonoidPart, scope: Scope) -> tuple[str, str]:
    """The two names on the left side of combine."""
    assert part.names is not None
    names = [item.name for item in part.names.items if isinstance(item, tree.Name)]
    for name in names:
        scope.hides(name, part.names.span, "the value")
    if len(names) == 2 == len(part.names.items) and len(set(names)) == 2:
        return names[0], names[1]
    scope.problems.add(
        "TG146", "combine takes two values", part.names.span, "two names stand here", help="write combine (a, b) = (…)"
    )
    return LEFT, RIGHT
