"""Parts: an address and the comparisons of its guard, each as a sum of parts over few axes.

    by·64·K + ty·K + ko·16 + tx   =   (by·64·K)  +  (ko·16)  +  (ty·K + tx)

Comes in: an address, a guard, axes, sizes. Goes out: the parts, and the guard over the values of its comparisons.
The one idea: parts of different axes know nothing of each other.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from math import prod

import numpy as np
from numpy.typing import NDArray

from tinygpu.category.evaluate import evaluate as number
from tinygpu.category.linear import polynomial, products
from tinygpu.category.simplify import simplify
from tinygpu.category.term import (
    BOOL,
    COMPARISONS,
    FALSE,
    INDEX,
    TRUE,
    App,
    Axis,
    Const,
    Term,
    Var,
    reads,
    select,
    substitute,
    variables,
    walk,
)
from tinygpu.category.to_numpy import evaluate
from tinygpu.program.step import Launch
from tinygpu.record import dataclass

SECTOR_BYTES = 32
WARP = 32
POINTS = 1 << 22  # of the axes that are enumerated together
Numbers = NDArray[np.int64]


class Unclear(Exception):
    """There is more to look at than we do."""


@dataclass(slots=True)
class Atom:
    """`Σ parts + constant  op  0`, under a name for its value."""

    name: str
    op: str
    parts: list[Term]
    constant: int
    low: int = 0
    high: int = 0


@dataclass(slots=True)
class Parts:
    """An address and a guard, taken apart. `known`: the address is no data, at least modulo a sector. `exact`: so is the guard."""

    launch: Launch
    axes: dict[str, int]
    address: list[Term]
    constant: int
    modulus: int
    atoms: list[Atom]
    formula: Term
    known: bool
    exact: bool

    def holds(self, values: Mapping[str, Numbers]) -> NDArray[np.bool_]:
        """The guard, where the atoms have these values."""
        return np.asarray(evaluate(self.formula, values), bool)


def parts_of(
    launch: Launch, axes: tuple[Axis, ...], guard: Term, flat: Term, sizes: Mapping[str, int], modulus: int, arrays: Set[str]
) -> Parts:
    """Takes apart. `arrays` are the names in global memory. Raises Unclear where that is too much."""
    every = (*launch.grid, *launch.block, *axes)
    extents, guards = extents_of(every, sizes)
    block = {a.name for a in launch.block}
    names = set(extents)
    exact = not reads(guard)
    formula = permissive(guard, True)
    for more in guards:
        formula = more if formula == TRUE else App("and", (formula, more), BOOL)
    atoms: list[Atom] = []
    formula = _named(formula, atoms, names, sizes)
    pieces, constant = sum_of(plain(flat, sizes), names, sizes)
    known = all(
        by % modulus == 0 and not variables(piece) & block and all(r.tensor in arrays for r in reads(piece))
        for piece, by in pieces  # what is data has one value for all lanes, and moves them by whole sectors
        if reads(piece)
    )
    kept = [piece * by for piece, by in pieces if not reads(piece)]
    return Parts(launch, extents, kept, constant, modulus, atoms, formula, known, exact)


def extents_of(axes: tuple[Axis, ...], sizes: Mapping[str, int]) -> tuple[dict[str, int], list[Term]]:
    """The extents, the largest where they depend on other axes: then with the guard that the axis is below its own."""
    found: dict[str, int] = {}
    guards: list[Term] = []
    for axis in axes:
        used = sorted(variables(axis.extent) & found.keys())
        try:
            if not used:
                found[axis.name] = max(0, number(axis.extent, sizes))
                continue
            if prod(found[n] for n in used) > POINTS:
                raise Unclear
            points = enumerated({n: found[n] for n in used})
            found[axis.name] = max(0, int(np.max(evaluate(axis.extent, {**sizes, **points}, on_zero=nobody), initial=0)))
            guards.append(Var(axis.name) < axis.extent)
        except (KeyError, ValueError) as problem:
            raise Unclear from problem
    return found, guards


def plain(flat: Term, sizes: Mapping[str, int]) -> Term:
    """The term at these sizes, with divisions undone: `x // 8 * 8 + x % 8` is `x`."""
    divides = any(isinstance(t, App) and t.op in ("floordiv", "mod") for t in walk(flat))
    if not divides or min(sizes.values(), default=1) < 1:
        return flat
    return simplify(at_sizes(flat, sizes))


def nobody(term: Term, where: NDArray[np.bool_]) -> None:
    """A division by a size of 0: proved never to be made, so no thread that counts is there."""


def permissive(guard: Term, positive: bool) -> Term:
    """The guard with each condition on data as it lets most through."""
    match guard:
        case App("and" | "or" as op, args):
            return App(op, tuple(permissive(a, positive) for a in args), BOOL)
        case App("not", (inner,)):
            return App("not", (permissive(inner, not positive),), BOOL)
    return guard if not reads(guard) else TRUE if positive else FALSE


def _named(guard: Term, atoms: list[Atom], names: set[str], sizes: Mapping[str, int]) -> Term:
    """The guard over the values of atoms: comparisons become sums that are compared with 0, other conditions are 0 or 1."""
    match guard:
        case App("and" | "or" | "not" as op, args):
            return App(op, tuple(_named(a, atoms, names, sizes) for a in args), BOOL)
        case Const():
            return guard
        case App(op, (left, right)) if op in COMPARISONS and left.dtype == INDEX == right.dtype:
            pieces, constant = sum_of(App("sub", (left, right)), names, sizes)
            parts = [piece * by for piece, by in pieces]
        case _:
            op, parts, constant = "gt", [select(at_sizes(guard, sizes), Const(1), Const(0))], 0
    atom = next((a for a in atoms if a.parts == parts and a.constant == constant), None)
    if atom is None:
        atom = Atom(f" {len(atoms)}", op, parts, constant)
        atoms.append(atom)
    return App(op, (Var(atom.name), Const(0)), BOOL)


def sum_of(term: Term, names: Set[str], sizes: Mapping[str, int]) -> tuple[list[tuple[Term, int]], int]:
    """`term = Σ pieces · factors + constant` at these sizes; a piece is over axes.

    >>> from tinygpu.category.term import text
    >>> i, k, N = Var("i"), Var("k"), Var("N")
    >>> [(text(p), by) for p, by in sum_of((i * 4 + k // 2 + 1) * N, {"i", "k"}, {"N": 10})[0]]
    [('i', 40), ('k // 2', 10)]
    """
    pieces, constant = [], 0
    for product, by in products(polynomial(at_sizes(term, sizes))):
        if variables(product) & names or reads(product):
            pieces.append((product, by))
        else:
            constant += int(np.asarray(evaluate(product, {}, on_zero=nobody))) * by
    return pieces, constant


def at_sizes(term: Term, sizes: Mapping[str, int]) -> Term:
    """The term with numbers for sizes."""
    return substitute(term, {name: Const(value) for name, value in sizes.items()})


def enumerated(extents: Mapping[str, int], *shape: int) -> dict[str, Numbers]:
    """Every point of a box: the values of its axes, each as an array of this shape, or a flat one.

    >>> {name: each.tolist() for name, each in enumerated({"i": 2, "j": 2}).items()}
    {'i': [0, 0, 1, 1], 'j': [0, 1, 0, 1]}
    """
    whole = np.indices(tuple(extents.values())).reshape(len(extents), *(shape or (prod(extents.values()),)))
    return dict(zip(extents, whole, strict=True))
