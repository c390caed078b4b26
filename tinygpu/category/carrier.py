"""Carriers: values of several components, such as the `(m, s)` of a running softmax.

Comes in: a name and components with their dtypes. Goes out: a dtype of that name; `pack` makes its values, `part` takes a component.
The one idea: a carrier's value is a term like any other, and a component of what was just put together is what was put in:

    >>> from tinygpu.category.node import Var
    >>> lse = Carrier("a pair", (("m", "f32"), ("s", "f32")))
    >>> m, s = Var("m", "f32"), Var("s", "f32")
    >>> pack((m, s), "a pair") == App("pack", (m, s), "a pair"), part(pack((m, s), "a pair"), 1, "f32") == s
    (True, True)
    >>> v = Var("v", "a pair")
    >>> pack((part(v, 0, "f32"), part(v, 1, "f32")), "a pair") == v
    True
    >>> either = App("select", (Var("c", "bool"), v, Var("w", "a pair")), "a pair")
    >>> pack((part(either, 0, "f32"), part(either, 1, "f32")), "a pair") == either
    True
"""

from __future__ import annotations

from tinygpu.category.node import INDEX, App, Const, Term
from tinygpu.category.total import total
from tinygpu.record import dataclass


@dataclass(frozen=True, slots=True)
class Carrier:
    """The dtype `name`, with named components. `title` is what its file calls it, where another file has taken the name."""

    name: str
    components: tuple[tuple[str, str], ...]
    title: str = ""

    def place(self, component: str) -> int | None:
        """The number of a component, None if there is none of that name."""
        return next((n for n, (name, _) in enumerate(self.components) if name == component), None)

    def parts(self, value: Term) -> tuple[Term, ...]:
        """Every component of a value."""
        return tuple(part(value, n, dtype) for n, (_, dtype) in enumerate(self.components))


CARRIERS: dict[str, Carrier] = {}  # those that the monoids of the registry have


def pack(parts: tuple[Term, ...], dtype: str) -> Term:
    """The value with these components; what was taken apart and is put together again is itself, also where it was a choice."""
    match parts[0]:
        case App("select", (condition, _, _)) if all(
            isinstance(p, App) and p.op == "select" and p.args[0] == condition for p in parts
        ):
            yes, no = (pack(tuple(p.args[n] for p in parts if isinstance(p, App)), dtype) for n in (1, 2))
            return App("select", (condition, yes, no), dtype)
        case App("part", (value, _)) if value.dtype == dtype:
            if all(p == App("part", (value, Const(n)), p.dtype) for n, p in enumerate(parts)):
                return value
    return App("pack", parts, dtype)


def part(value: Term, place: int, dtype: str) -> Term:
    """A component of a value, taken in both branches of a choice."""
    match value:
        case App("pack", args):
            return args[place]
        case App("select", (condition, then, otherwise)):
            yes, no = part(then, place, dtype), part(otherwise, place, dtype)
            return yes if yes == no and total(condition) else App("select", (condition, yes, no), dtype)
    return App("part", (value, Const(place, INDEX)), dtype)


def component(dtype: str, place: int) -> str:
    """The name of a component: its number where there is none."""
    components = CARRIERS[dtype].components if dtype in CARRIERS else ()
    return components[place][0] if 0 <= place < len(components) else str(place)


def shown(name: str) -> str:
    """What people call a dtype, a monoid or an operation: of a carrier, the name in its file."""
    return (CARRIERS[name].title or name) if name in CARRIERS else name
