"""Linear forms, as the reader of CPU kernels has them; everything else has polynomials (`linear`).

Comes in: index terms. Goes out: their linear forms, sums of them, and terms again. The one idea: two index terms that differ in how they
are written have one form.
"""

from __future__ import annotations

from tinygpu.category.term import App, Const, Term
from tinygpu.record import dataclass


@dataclass(frozen=True, slots=True)
class Linear:
    """`constant + Σ coefficient · atom`, an atom being whatever is not linear."""

    parts: tuple[tuple[Term, int], ...]
    constant: int = 0

    def plus(self, other: Linear, scale: int = 1) -> Linear:
        """`self + scale · other`."""
        if not other.parts:
            return Linear(self.parts, self.constant + scale * other.constant)
        total = dict(self.parts)
        for atom, c in other.parts:
            total[atom] = total.get(atom, 0) + scale * c
        return Linear(tuple((a, c) for a, c in total.items() if c), self.constant + scale * other.constant)

    def scaled(self, k: int) -> Linear:
        return Linear(tuple((a, k * c) for a, c in self.parts) if k else (), k * self.constant)

    def coefficient(self, atom: Term) -> int:
        return dict(self.parts).get(atom, 0)

    def without(self, *atoms: Term) -> Linear:
        return Linear(tuple((a, c) for a, c in self.parts if a not in atoms), self.constant)

    def term(self) -> Term:
        """Back to a term, positive parts first."""
        out: Term | None = None
        for atom, c in sorted(self.parts, key=lambda p: p[1] < 0):
            piece = atom * abs(c)
            if out is None:
                out = piece if c > 0 else Const(0) - piece
            else:
                out = out + piece if c > 0 else out - piece
        if out is None:
            return Const(self.constant)
        return out + self.constant if self.constant >= 0 else out - (-self.constant)


def linear(term: Term) -> Linear:
    """The linear form of an index term; what is not linear is an atom, and so is what may wrap.

    >>> from tinygpu.category.term import Var
    >>> i, g = Var("i"), Var("g")
    >>> linear((g * 8 + i) * 4 - i)
    Linear(parts=((Var(name='g', dtype='index'), 32), (Var(name='i', dtype='index'), 3)), constant=0)
    """
    match term:
        case Const(int(value), "index"):
            return Linear((), value)
        case App("add" | "sub" | "mul" as op, (a, b), "index"):
            if (found := _combined(op, linear(a), linear(b))) is not None:
                return found
    return Linear(((term, 1),))


def _combined(op: str, x: Linear, y: Linear) -> Linear | None:
    """The form of a sum, a difference, or a product with a number."""
    match op:
        case "add":
            return x.plus(y)
        case "sub":
            return x.plus(y, -1)
        case _ if not x.parts:
            return y.scaled(x.constant)
        case _ if not y.parts:
            return x.scaled(y.constant)
    return None
