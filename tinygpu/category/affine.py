"""Linear forms: index terms as `constant + Σ coefficient · atom`, an atom being whatever is not linear.

Comes in: index terms. Goes out: their linear forms, sums of them, and terms again. The one idea: two index terms that differ in how they
are written have one form.
"""

from __future__ import annotations

from tinygpu.category.term import App, Const, Term, Var, variables
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
            found: Linear | None = getattr(term, "_form", None)
            if found is None and (found := _combined(op, linear(a), linear(b))) is not None:
                object.__setattr__(term, "_form", found)
            if found is not None:
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


def joined(form: Linear) -> Linear:
    """The same number with digits put together: `m·(e // (a·m)) + (e // a) % m` is `e // a`, for numbers a and m above 0; of only some of
    the higher digits, `m·(e // (a·m) % k) + (e // a) % m` is `(e // a) % (m·k)`.

    >>> from tinygpu.category.term import Var
    >>> i = Var("i")
    >>> joined(linear(i // 8 * 8 + i // 4 % 2 * 4 + i % 4))
    Linear(parts=((Var(name='i', dtype='index'), 1),), constant=0)
    """
    for atom, c in form.parts:
        match atom:
            case App("mod", (App("floordiv", (e, Const(int(a)))) as inner, Const(int(m)))) if a > 0 and m > 0:
                above = e // (a * m)
            case App("mod", (inner, Const(int(m)))) if m > 0:
                above = inner // m
            case _:
                continue
        if form.coefficient(above) == c * m:
            return joined(form.without(atom, above).plus(linear(inner), c))
        for other, k in form.parts:
            match other:
                case App("mod", (whole, Const(int(r)))) if whole == above and k == c * m and r > 0:
                    return joined(form.without(atom, other).plus(Linear(((inner % (m * r), 1),)), c))
    return form


def solve(left: Term, right: Term, name: str) -> Term | None:
    """The term `s` with `left = right ⇔ name = s`, when `name` stands once and its coefficient divides the rest.

    >>> from tinygpu.category.term import Var, text
    >>> text(solve(Var("p") + Var("r") - 1, Var("q"), "r"))
    'q - p + 1'
    >>> text(solve(Var("c") * 2, Var("k") * 4 + 6, "c")), solve(Var("c") * 2, Var("k"), "c")
    ('k*2 + 3', None)
    """
    difference = linear(left).plus(linear(right), -1)
    c = difference.coefficient(Var(name))
    rest = difference.without(Var(name))
    if not c or any(name in variables(atom) for atom, _ in rest.parts) or any(k % c for _, k in rest.parts) or rest.constant % c:
        return None
    return Linear(tuple((atom, -k // c) for atom, k in rest.parts), -rest.constant // c).term()
