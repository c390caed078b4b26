"""What an array holds after a launch, in few words: nothing of what was written over, and a name for a long number.

    a if c₁ else b if c₂ else old  =  a if c₁ else b      where c₁ or c₂        made(u[t, i], long)  ↦  made(u[t, i], the number that is held)

Comes in: the cells of a global array. Goes out: the same, shorter. The one idea: an array has one number at each place once a launch is over, whoever
stored it, so where all that it holds is another form of one value, a step of many launches is as long as the first.
"""

from __future__ import annotations

from collections.abc import Sequence

from tinygpu.category.known import Known
from tinygpu.category.settle import climbs, settle
from tinygpu.category.term import FLOATS, TRUE, App, Read, Term, conjuncts, negation, select, total
from tinygpu.category.total import limited
from tinygpu.obligations.cells import Cells
from tinygpu.obligations.made import FORM, exact, extreme_of, is_made, made, number_of
from tinygpu.obligations.trace import every_cell
from tinygpu.program.step import Program
from tinygpu.record import replace

LONG = 40  # parts of a value: a shorter one is as it was computed


def held(program: Program, cells: Cells, launch: int) -> Cells:
    """An array after a launch, where all that it holds is long and another form of one value: then the number that it holds has a name."""
    known = Known.at(every_cell(program, cells))
    cells = replace(cells, content=reached(cells.value, known))
    leaves = [leaf for _, leaf in branches(cells.value)]
    first, *others = leaves
    if cells.local.dtype not in FLOATS or cells.value.parts < LONG or not (isinstance(first, App) and is_made(first)):
        return cells
    if any(not (isinstance(leaf, App) and is_made(leaf) and leaf.args[0] == first.args[0]) for leaf in others):
        return cells
    numbers = [number_of(leaf) for leaf in leaves]
    if not all(total(n) and limited(n) and not exact(extreme_of(n)) for n in numbers):
        return cells
    name = Read(f"{cells.local.name}{FORM}by launch {launch}", cells.place, cells.local.dtype)
    return replace(cells, content=made(first.args[0], name))


def branches(value: Term) -> list[tuple[Term, Term]]:
    """`a if c else b if d else old` as pairs of a condition and a value, the first that holds counts, and the last one always does."""
    found: list[tuple[Term, Term]] = []
    while isinstance(value, App) and value.op == "select":
        condition, then, value = value.args
        found.append((condition, then))
    return [*found, (TRUE, value)]


def reached(value: Term, known: Known) -> Term:
    """A value without what stands behind conditions of which one always holds: what was there before, where all is written.

    >>> from tinygpu.category.term import Const, Var, conjunction, text
    >>> i, a, b, old = Var("i"), *(Read(name, (), "f32") for name in ("a", "b", "old"))
    >>> ends = select(i >= 2, b, select(conjunction(i < 2, i >= 0), a, old))
    >>> text(reached(ends, Known.of({"i": Const(8)}))), text(reached(ends, Known.of({"i": Const(1)})))
    ('b if i >= 2 else a', 'b if i >= 2 else a')
    """
    *some, (_, last) = branches(value)
    if not some or not covered([condition for condition, _ in some], known):
        return value
    *some, (_, last) = some
    for condition, then in reversed(some):
        last = select(condition, then, last)
    return last


def covered(conditions: Sequence[Term], known: Known) -> bool:
    """Whether one of some conditions holds at every point: that none does is led to what cannot be, one part after the other.

    >>> from tinygpu.category.term import Var, conjunction
    >>> i, box = Var("i"), Known.of({"i": Var("n")})
    >>> covered([i < 1, conjunction(i >= 1, i < Var("n"))], box), covered([i < 1, i >= 2], box)
    (True, False)
    """
    left = [conjuncts(condition) for condition in conditions]
    while left:
        left = [tuple(p for p in parts if not holds(p, known)) for parts in left]
        alone = next((parts for parts in left if len(parts) == 1), None)  # only that one may be false
        if not all(left) or alone is None:
            return not all(left)
        left.remove(alone)
        known = known.under(negation(alone[0]))
    return False


def holds(condition: Term, known: Known) -> bool:
    """Whether a condition is seen to hold."""
    return climbs(condition, known) or settle(condition, known.extents, known.given) == TRUE
