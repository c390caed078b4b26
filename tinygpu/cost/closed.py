"""Closed forms: how often something happens, as sympy's expression over the sizes.

    8·K·M·⌈N/64⌉ + M·N

Comes in: terms over the sizes. Goes out: expressions, what is known of their sign, their values, their text.
The one idea: sizes are natural numbers, and what is rounded up is at least what it is of, so a form is no less than another where sympy sees no
minus in their difference.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy
from sympy.printing.precedence import PRECEDENCE
from sympy.printing.str import StrPrinter

from tinygpu.category.term import Term, lift
from tinygpu.category.to_sympy import to_sympy

RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
ROUNDED = {sympy.ceiling: 1, sympy.floor: -1}


def closed(term: Term | int) -> Any:
    """A term over the sizes, its sums and products opened."""
    return sympy.expand(to_sympy(lift(term)))


def value(form: Any, sizes: Mapping[str, int]) -> int:
    """Its value. Raises TypeError for a size that is not given."""
    return int(form.xreplace({name: sympy.Integer(sizes[name.name]) for name in form.free_symbols if name.name in sizes}))


def natural(form: Any, at_least: Mapping[str, int]) -> Any:
    """`max(form, 0)`; `at_least` says how small a size can be.

    >>> from tinygpu.category.term import Var
    >>> n = closed(Var("n"))
    >>> print(shown(natural(n - 2, {})), "|", shown(natural(n - 2, {"n": 2})))
    max(n − 2, 0) | n − 2
    """
    return form if nonnegative(form, at_least) else sympy.Max(form, 0)


def least(a: Any, b: Any, at_least: Mapping[str, int]) -> Any:
    """`min(a, b)`.

    >>> from tinygpu.category.term import App, Const, Var
    >>> n = closed(Var("n"))
    >>> print(shown(least(n, closed(4), {})), "|", shown(least(n, 4 * closed(App("ceildiv", (Var("n"), Const(4)))), {})))
    min(n, 4) | n
    """
    return a if nonnegative(b - a, at_least) else b if nonnegative(a - b, at_least) else sympy.Min(a, b)


def nonnegative(form: Any, at_least: Mapping[str, int]) -> bool:
    """Whether a form is known to be no less than 0: each size is its least one and something more, and so is what is rounded."""
    for way, sign in ROUNDED.items():
        form = form.replace(way, lambda inner, sign=sign: inner + sign * sympy.Dummy(nonnegative=True))
    more = {name: name + at_least[name.name] for name in form.free_symbols if name.name in at_least}
    return bool(sympy.expand(form.xreplace(more)).is_nonnegative)


def shown(form: Any) -> str:
    """For a reader.

    >>> from tinygpu.category.term import App, Const, Var
    >>> n = closed(Var("n"))
    >>> print(shown(closed(Var("K")) * closed(App("ceildiv", (Var("n") + 3, Const(64)))) * 8 + n * n), "|", shown(n - 1))
    8·K·⌈(n + 3)/64⌉ + n² | n − 1
    """
    return Printer().doprint(form).replace("*", "·").replace(" - ", " − ")


class Printer(StrPrinter):  # type: ignore[misc]
    """What a reader sees otherwise than sympy writes it."""

    def _print_ceiling(self, form: Any) -> str:
        return f"⌈{self._print_Mul(sympy.together(form.args[0]))}⌉"

    def _print_floor(self, form: Any) -> str:
        return f"⌊{self._print_Mul(sympy.together(form.args[0]))}⌋"

    def _print_Max(self, form: Any) -> str:
        return f"{type(form).__name__.lower()}({', '.join(map(self._print, sorted(form.args, key=lambda a: a.is_number)))})"

    _print_Min = _print_Max

    def _print_Pow(self, form: Any, rational: bool = False) -> str:
        return self.parenthesize(form.base, PRECEDENCE["Pow"]) + str(form.exp).translate(RAISED)  # of sizes: a natural number
