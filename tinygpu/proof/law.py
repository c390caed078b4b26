"""A law of a monoid that does not hold, shown on numbers.

Comes in: an open claim about a monoid. Goes out: a diagnostic with the operands and both sides, or None where no small numbers break it.
The one idea: the law is evaluated in plain floating point, which shares nothing with the solver.
"""

from __future__ import annotations

from itertools import product

from tinygpu.category.monoid import Carrier
from tinygpu.category.sample import LAWS, Number, Values, broken
from tinygpu.diagnostic import Case, Diagnostic
from tinygpu.obligations.laws import folded_with, title
from tinygpu.obligations.obligation import Obligation
from tinygpu.program.step import Program


def refuted(claim: Obligation, program: Program) -> Diagnostic | None:
    """The diagnostic of a law that some numbers break."""
    for carrier, law in product(sorted(folded_with(program)), LAWS):
        found = broken(carrier, law) if title(carrier, law) == claim.title else None
        if found:
            case = Case(tuple((row, (text,)) for row, text in rows(carrier, law, found)))
            return Diagnostic(claim.code, claim.title, claim.labels, "refuted", case, helps=(claim.help,) if claim.help else ())
    return None


def rows(d: Carrier, law: str, found: tuple[Values, ...]) -> list[tuple[str, str]]:
    """What is shown of a law: its operands, and its sides."""
    name = str(d)
    if law == "lift":
        given = [(n, number(v)) for (n, _), v in zip(d.parameters, found[0], strict=True)]
        return [*given, (f"lift({', '.join(n for n, _ in d.parameters)})", shown(d, found[1]))]
    operands = {"associative": "abc", "unit": "a", "idempotent": "a"}.get(law, "ab")
    sides = {
        "associative": (f"{name}({name}(a, b), c)", f"{name}(a, {name}(b, c))"),
        "commutative": (f"{name}(a, b)", f"{name}(b, a)"),
        "idempotent": (f"{name}(a, a)", "wanted"),
        "invariant": (f"{name}(a, b)",),
        "unit": ("with the unit", "wanted"),
    }[law]
    return [(row, shown(d, value)) for row, value in zip((*operands, *sides), found, strict=True)]


def shown(d: Carrier, value: Values) -> str:
    """A value of the carrier.

    >>> from tinygpu.model.builtin import built_in
    >>> shown(built_in("argmax", "f32"), (0.5, 3))
    '(v = 0.5, k = 3)'
    """
    return f"({', '.join(f'{n} = {number(v)}' for (n, _), v in zip(d.components, value, strict=True))})"


def number(value: Number) -> str:
    """A number in few digits."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)
