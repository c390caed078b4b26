"""A flattened axis that stands divided becomes the two axes it was flattened from.

Comes in: a `Nest` with an axis `e < M*N` that stands as `e // N` and `e % N`. Goes out: the nest over `q < M` and `r < N`.
The one idea: quotient and remainder are themselves an order of loops, and loops cost no division.
"""

from __future__ import annotations

from functools import partial

from tinygpu.category.linear import divide, polynomial
from tinygpu.category.names import unused
from tinygpu.category.term import App, Axis, Term, Var, rebuild
from tinygpu.record import replace
from tinygpu.schedule.merge import Nest, change_terms, terms_of
from tinygpu.schedule.polynomial import term, uses


def split(nest: Nest, taken: frozenset[str]) -> Nest:
    """Every axis that can be taken apart, taken apart.

    >>> from tinygpu.category.term import Read, text
    >>> from tinygpu.program.step import Assign
    >>> e, M, N = Var("e"), Var("M"), Var("N")
    >>> body = (Assign("y", (e // N, e % N), Read("x", (e % N,), "f32")),)
    >>> flat = Nest((Axis("e", M * N),), (), body)
    >>> [(a.name, text(a.extent)) for a in split(flat, frozenset()).axes]
    [('e_q', 'M'), ('e_r', 'N')]
    """
    for axis in nest.axes:
        for divisor in _divisors(nest, axis):
            rows, rest = divide(polynomial(axis.extent), polynomial(divisor))
            if rest or any(not _fits(atom, divisor) for atom in _atoms(nest, axis)):
                continue
            quotient, remainder = unused(axis.name + "_q", taken), unused(axis.name + "_r", taken)
            body = change_terms(nest.body, partial(_apart, axis=axis, divisor=divisor, quotient=quotient, remainder=remainder))
            guards = tuple(_apart(g, axis, divisor, quotient, remainder) for g in nest.guards)
            pair = (Axis(quotient, term(rows), axis.sort), Axis(remainder, divisor, axis.sort))
            axes = tuple(new for a in nest.axes for new in (pair if a == axis else (a,)))
            return split(replace(nest, axes=axes, guards=guards, body=body), taken | {quotient, remainder})
    return nest


def _atoms(nest: Nest, axis: Axis) -> list[Term]:
    """The `//` and `%` of the axis itself."""
    found: dict[Term, None] = {}
    for p in uses([*terms_of(nest.body), *nest.guards]):
        for monomial in p:
            for atom in monomial:
                match atom:
                    case App("floordiv" | "mod", (Var(name), _)) if name == axis.name:
                        found[atom] = None
    return list(found)


def _divisors(nest: Nest, axis: Axis) -> list[Term]:
    return [atom.args[1] for atom in _atoms(nest, axis) if isinstance(atom, App) and atom.op == "mod"]


def _fits(atom: Term, divisor: Term) -> bool:
    match atom:
        case App("mod", (_, d)):
            return d == divisor
        case App("floordiv", (_, d)):
            return not divide(polynomial(d), polynomial(divisor))[1]
    return False


def _apart(t: Term, axis: Axis, divisor: Term, quotient: str, remainder: str) -> Term:
    match t:
        case App("mod", (Var(name), d)) if name == axis.name and d == divisor:
            return Var(remainder)
        case App("floordiv", (Var(name), d)) if name == axis.name:
            return Var(quotient) // term(divide(polynomial(d), polynomial(divisor))[0])
        case Var(name) if name == axis.name:
            return Var(quotient) * divisor + Var(remainder)
    return rebuild(t, lambda c: _apart(c, axis, divisor, quotient, remainder))
