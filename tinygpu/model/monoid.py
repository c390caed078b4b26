"""Monoids, from the tree: a carrier with its invariant, a unit, what one element is lifted to, and how two values combine.

Comes in: the tree of one `monoid`. Goes out: a carrier.
The one idea: each part is one expression for each component, elaborated like the right side of an equation; whether the laws hold is
proved later, and a law that small numbers break is not assumed by anyone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from tinygpu.category.carrier import broken
from tinygpu.category.dtype import RANGE
from tinygpu.category.monoid import LEFT, RIGHT, Carrier, is_built_in, pack
from tinygpu.category.term import DTYPES, OPERATIONS, Const, Fold, Term, Var, conjunction, substitute, walk
from tinygpu.diagnostic import Span
from tinygpu.model.call import CALLS
from tinygpu.model.dtype import OPEN, settle
from tinygpu.model.problems import UNKNOWN, Problems, counted, head
from tinygpu.model.scope import SPECIAL, Scope
from tinygpu.model.value import condition, value
from tinygpu.record import replace
from tinygpu.syntax import tree
from tinygpu.syntax.grammar import read_grammar_file
from tinygpu.syntax.parse import parse

NEEDED = ("unit", "lift", "combine")


class Monoids(dict[str, Carrier | None]):
    """The monoids with components that a file declares, None for one that is wrong; the built-in ones are found too.

    >>> Monoids()["argmax_f32"].components
    (('v', 'f32'), ('k', 'i32'))
    """

    def __missing__(self, name: str) -> Carrier:
        if not is_built_in(name):
            raise KeyError(name)
        return built_in(*name.rsplit("_", 1))


@cache
def built_in(name: str, dtype: str) -> Carrier:
    """The monoid of that name on values of that dtype, elaborated when it is first asked for."""
    problems = Problems()
    (written,) = parse(declaration(name, dtype)).declarations
    assert isinstance(written, tree.Monoid)
    made = elaborate_monoid(written, Scope(problems, place="in a monoid"))
    problems.stop()
    assert made is not None
    return made


def declaration(name: str, dtype: str) -> str:
    """The text of a built-in monoid, with its name.

    >>> print(declaration("argmin", "i32").split("\\n")[1])
      unit    (2147483647, 2147483647)
    """
    low, high = map(str, RANGE.get(dtype, ("-inf", "inf")))
    (text,) = re.findall(rf"^monoid {name}\(.*?^}}", read_grammar_file("monoids.tgpu"), re.DOTALL | re.MULTILINE)
    meant = {"T": dtype, "LOW": low, "HIGH": high}
    return re.sub(r"\b(T|LOW|HIGH)\b", lambda word: meant[word[0]], text).replace(name, f"{name}_{dtype}", 1)


def monoids_of(file: tree.File, constants: Mapping[str, int], problems: Problems) -> Scope:
    """A scope with the params and the monoids of a file."""
    scope = Scope(problems, constants=constants)
    named = Monoids()
    for one in file.declarations:
        if isinstance(one, tree.Monoid) and one.name not in named and _free(one, problems):
            named[one.name] = elaborate_monoid(one, replace(scope, place="in a monoid"))
    return replace(scope, monoids=named)


def _free(monoid: tree.Monoid, problems: Problems) -> bool:
    """Whether a name is not that of a built-in monoid, which every file may use and which is one for all of them; says so."""
    if not is_built_in(monoid.name):
        return True
    base, _, dtype = monoid.name.rpartition("_")
    problems.say("TG103.built_in", head(monoid.span, f"monoid {monoid.name}"), name=monoid.name, base=base, dtype=dtype)
    return False


def elaborate_monoid(monoid: tree.Monoid, scope: Scope) -> Carrier | None:
    """`tree.Monoid → carrier`, None after a message."""
    problems, before = scope.problems, len(scope.problems)
    place = head(monoid.span, f"monoid {monoid.name}")
    if monoid.name in (*OPERATIONS, *DTYPES, *CALLS, *SPECIAL, *scope.constants, *OPEN, LEFT, RIGHT):
        problems.say("TG103.monoid", place, name=monoid.name)
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
            scope.problems.say("TG102.component", component.span, name=component.name)
        if component.shape is not None:
            scope.problems.say("TG146.array", component.span, name=component.name)
        dtype = scope.dtype(component.dtype, component.span)
        found[component.name] = dtype or UNKNOWN
        scope.hides(component.name, component.span, "the component")
    return tuple(found.items())


def _parts(monoid: tree.Monoid, place: Span, problems: Problems) -> dict[str, tree.MonoidPart]:
    """The parts by their word, each once, and all that are needed."""
    parts: dict[str, tree.MonoidPart] = {}
    for part in monoid.parts:
        if part.kind in parts:
            problems.say("TG146.twice", part.span, parts[part.kind].span, name=monoid.name, kind=part.kind)
        parts.setdefault(part.kind, part)
    missing = [kind for kind in NEEDED if kind not in parts]
    if missing:
        example = {"unit": "unit (0, 0)", "lift": "lift (x) = (x, 1)", "combine": "combine (a, b) = (a.m + b.m, …)"}[missing[0]]
        problems.say("TG146.missing", place, name=monoid.name, missing=missing, example=example)
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
    results = tuple(value(item, inside) for item in parts["result"].value.items) if "result" in parts else (*components.values(),)
    numbers = tuple(c for c in unit if isinstance(c, Const))
    if len(scope.problems) == before and len(numbers) < len(unit):
        scope.problems.say("TG146.unit", parts["unit"].span, name=monoid.name)
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
        names = ", ".join(name for name, _ in carrier.components)
        words = {"given": counted(len(items), "value"), "many": counted(many, "component"), "names": names}
        scope.problems.say("TG147.components", part.value.span, kind=part.kind, **words)
        return ()
    terms: list[Term] = []
    for item, (name, dtype) in zip(items, carrier.components, strict=True):
        term = settle(value(item, scope), dtype, item.span, scope.problems)
        if any(isinstance(t, Fold) for t in walk(term)):
            scope.problems.say("TG146.fold", item.span)
        elif term.dtype not in (dtype, UNKNOWN):
            scope.problems.say("TG121.component", item.span, name=name, dtype=dtype, given=term.dtype)
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
                scope.problems.say("TG146.lift", item.span)
                continue
        if name in found or scope.hides(name, item.span, "the value"):
            scope.problems.say("TG102.stands", item.span, name=name)
        found[name] = dtype or UNKNOWN
    if not found and not part.names.items:
        scope.problems.say("TG146.nothing", part.names.span)
    return tuple(found.items())


def _two(part: tree.MonoidPart, scope: Scope) -> tuple[str, str]:
    """The two names on the left side of combine."""
    assert part.names is not None
    names = [item.name for item in part.names.items if isinstance(item, tree.Name)]
    for name in names:
        scope.hides(name, part.names.span, "the value")
    if len(names) == 2 == len(part.names.items) and len(set(names)) == 2:
        return names[0], names[1]
    scope.problems.say("TG146.two", part.names.span)
    return LEFT, RIGHT
