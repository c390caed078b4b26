"""Whether an index term may be evaluated before anybody asks for the conditions it stands under.

    x[i // S] if S >= 1 else 0        i // S gets no name in front of the condition, where S may be 0

Comes in: a term, the axes that it stands inside of, and the preconditions. Goes out: whether it has a value at all of their points. The one idea:
names stand where their axes are known, which may be outside of a guard; a kernel that divides by 0 there ends the process.
"""

from __future__ import annotations

from tinygpu.category.decide import MOVES, nonnegative
from tinygpu.category.known import Known
from tinygpu.category.linear import Polynomial, constant, divide, plus, polynomial, replace_atoms
from tinygpu.category.term import App, Term, Var, variables, walk


def anywhere(term: Term, box: Known) -> bool:
    """Whether a term may be evaluated before anybody asks for the conditions it stands under: nothing negative is divided, and nothing by 0. What
    comes of a division is not negative then either.

    >>> from tinygpu.category.term import Const
    >>> i = Var("i")
    >>> anywhere((i + 1) // 2 % 3, Known.of({"i": Const(8)})), anywhere((i - 1) // 2, Known.of({"i": Const(8)}))
    (True, False)
    >>> S = Var("S")
    >>> anywhere(i // S, Known.of({"i": Const(8)})), anywhere(i // S, Known.of({"i": Const(8)}, frozenset({S >= 1})))
    (False, True)
    >>> anywhere(i // S, Known.of({"i": S * 8})), anywhere(i // S, Known.of({"i": S + 8}))
    (True, False)
    """
    divisions = [part for part in walk(term) if isinstance(part, App) and part.op in ("floordiv", "mod", "ceildiv")]
    natural: dict[Term, Polynomial] = {part: polynomial(Var(f"natural {number}")) for number, part in enumerate(divisions)}

    def at_least(part: Term, least: int) -> bool:
        form = replace_atoms(polynomial(part), lambda atom: natural.get(atom, {(atom,): 1}))
        return nonnegative(plus(form, constant(least), -1), box, MOVES)

    def some(divisor: Term) -> bool:
        """Whether it is a factor of what axes of the term go through, of which each has a point."""
        ends = (box.extents[name] for name in sorted(variables(term) & box.extents.keys()))
        wholes = (end.args[0] if isinstance(end, App) and end.op == "ceildiv" else end for end in ends)
        return any(not divide(polynomial(whole), polynomial(divisor))[1] for whole in wholes)

    return all(all(at_least(a, 0) for a in d.args) and (at_least(d.args[1], 1) or some(d.args[1])) for d in divisions)
