"""What a launch leaves of a long intermediate is a symbol from then on: that it is the intermediate is asked once, and of nobody who reads it.

    W[f] = equation(t)[f]   for every element f            W[f]  ↦  t[f]   in every later launch, and in what the equation makes of t

Comes in: what the global arrays hold after a launch. Goes out: the same, with symbols, and those that have one now. The one idea: a workspace that
has the name, the shape and the dtype of an intermediate is that intermediate once the last launch that stores it is over, so a chain of launches is as
many short proofs. A symbol is a number that was computed, and no stored one; where the equation may have no value, nor may the symbol.
"""

from __future__ import annotations

from tinygpu.category.linear import polynomial
from tinygpu.category.region import Region
from tinygpu.category.term import FLOATS, INTEGERS, TRUE, Read, Term, Var, folds, substitute, tensors, total, walk
from tinygpu.category.total import PERHAPS, SPECIAL
from tinygpu.model.op import Equation, Op, put_in
from tinygpu.obligations.cells import Cells, State, run
from tinygpu.obligations.finite import finite
from tinygpu.obligations.induced import by_symbol, undivided
from tinygpu.obligations.made import FORM, SURELY, exact, extreme_of
from tinygpu.obligations.trace import every_cell
from tinygpu.program.step import Assign, Program
from tinygpu.program.traverse import terms, walk_steps, written
from tinygpu.record import replace

LONG = 40  # parts of an intermediate, written out: a shorter one is put in


def named(program: Program, memory: State, launch: int, stored: frozenset[str]) -> tuple[State, tuple[Cells, ...]]:
    """The arrays after a launch that stored some, with symbols, and those that have one now, as they were made. A launch that leaves something
    else too may leave what it is made of; what gets no symbol and is made here of an intermediate reads it as it was made, so that one gets none."""
    op = program.op
    later = {name for one in program.launches[launch + 1 :] for name in written(one.body)}
    others = stored - {t.name for t in (*op.intermediates, *op.outputs)}
    found = tuple(memory[n] for n in sorted(stored - later) if not others and whole(program, memory[n]))
    left = {t.name for t in op.intermediates} & stored - {c.local.name for c in found}
    found = tuple(c for c in found if not any(c.local.name in op.reached(n) for n in left))
    names = {c.local.name: replace(c, content=Read(symbol(op, c.local.name), c.place, c.local.dtype)) for c in found}
    return {**memory, **names}, found


def whole(program: Program, cells: Cells) -> bool:
    """Whether cells are those of a long intermediate, all of them written, and each a number wherever it is one at all; what is stored as it is
    keeps its value, since it may decide."""
    op, name = program.op, cells.local.name
    tensor = next((t for t in op.intermediates if t.name == name), None)
    if (
        tensor is None
        or tensor.dtype != cells.local.dtype
        or not (tensor.dtype in FLOATS or (tensor.dtype in INTEGERS and counted(program, name)))
        or not same(tensor.shape, cells.local.extents)
    ):
        return False
    point = every_cell(program, cells)
    claim = element(op, name, cells.place, point, (cells.value,))
    if (claim.parts < LONG and not folds(claim)) or any(mark in read for read in tensors(cells.value) for mark in SPECIAL):
        return False
    return not exact(extreme_of(cells.value)) and point.settled(finite(claim, point, {})) == TRUE


def counted(program: Program, name: str) -> bool:
    """Whether an intermediate is made by atomic updates, and nothing is read at it, nor at what is made of it: else its value is known, and no name
    for it."""
    op, steps = program.op, [step for launch in program.launches for step, _, _ in walk_steps(launch.body)]
    made = {name, *(e.target for e in op.equations if name in op.reached(e.target))}
    values = (*(e.value for e in op.equations), *(t for step in steps for t in terms(step)))
    indices = (i for v in values for t in walk(v) if isinstance(t, Read) for i in t.index)
    return any(isinstance(s, Assign) and s.atomic and s.target == name for s in steps) and not any(
        tensors(i) & made for i in indices
    )


def same(shape: tuple[Term, ...], extents: tuple[Term, ...]) -> bool:
    """Whether two shapes are one: where one is `max(e, 0)` and the other `e`, they have the same elements."""
    return len(shape) == len(extents) and all(polynomial(run(a)) == polynomial(run(b)) for a, b in zip(shape, extents, strict=True))


def symbol(op: Op, name: str) -> str:
    """The name of an intermediate that has been stored: what is made of a state that may have no value may have none."""
    return name + (SURELY if total(undivided(by_symbol(op, inlined(op, op.equation(name).value)))) else PERHAPS)


def inlined(op: Op, value: Term, symbols: frozenset[str] = frozenset()) -> Term:
    """A value with every intermediate replaced by its equation, or by its symbol where that is one of these."""
    known = {s.partition(FORM)[0]: s for s in symbols if s.endswith((SURELY, PERHAPS))}
    equations = {e.target: e for e in op.equations if not e.along and e.target in {t.name for t in op.intermediates}}
    return put_in(value, {n: called(e, known[n]) if n in known else e for n, e in equations.items()})


def called(equation: Equation, symbol: str) -> Equation:
    """The equation of an intermediate that is its symbol."""
    index = tuple(Var(a.name) for a in equation.axes)
    return replace(equation, value=Read(symbol, index, equation.value.dtype))


def element(op: Op, tensor: str, index: tuple[Term, ...], point: Region, made_of: tuple[Term, ...]) -> Term:
    """The equation at an element, with the symbols of what it is compared with."""
    equation = op.equation(tensor)
    bind = {a.name: i for a, i in zip(equation.axes, index, strict=True)}
    value = inlined(op, substitute(equation.value, bind), frozenset().union(*map(tensors, made_of)))
    return point.settled(by_symbol(op, value))
