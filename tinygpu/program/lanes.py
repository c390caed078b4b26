"""Numbers in a vector register: how many, the machine that runs a program says, so one program stands for several.

    program in @LANES   ↦   one program for each width        program in @LANES   ↦   the program whose number of lanes is a size

Comes in: a program whose cells and loops may be as long as some registers are. Goes out: its instances, and the program of which they are
instances. The one idea: a number that is not known is a size; what is proved of all sizes is true of each width.
"""

from __future__ import annotations

from tinygpu.category.term import Const, Term, Var, substitute, variables
from tinygpu.program.step import Array, Launch, Program, Step
from tinygpu.program.traverse import map_steps, map_terms
from tinygpu.record import replace

LANES = Var("@LANES")  # numbers in a vector register of the machine that runs it
WIDTHS = {"f32": (16, 8), "f64": (8, 4)}  # of each dtype, with and without AVX-512


def vector_of(dtype: str, lanes: Term) -> str:
    """The type of a vector.

    >>> vector_of("f32", LANES), vector_of("f32", Const(16))
    ('f32', 'f32x16')
    """
    return dtype if lanes == LANES else f"{dtype}x{lanes.value}"  # type: ignore[union-attr]


def vectors_of(program: Program) -> str:
    """The dtype of the numbers in a program's vector registers; empty where it has none."""
    held = (s.dtype for s in program.steps if isinstance(s, Array) and any(LANES.name in variables(e) for e in s.extents))
    return next(held, "")


def lanes_of(program: Program) -> dict[str, Term]:
    """The most lanes that a register of a program has, by the name that they have; nothing where it has none."""
    dtype = vectors_of(program)
    return {LANES.name: Const(max(WIDTHS[dtype]))} if dtype else {}


def instances(program: Program) -> tuple[Program, ...]:
    """The programs that one stands for: one for each number of lanes that a vector register may have."""
    dtype = vectors_of(program)
    return tuple(_instance(program, width) for width in WIDTHS[dtype]) if dtype else (program,)


def of_any_width(program: Program) -> Program:
    """The program with its number of lanes as a size, which is one of those that registers have, or between them."""
    dtype = vectors_of(program)
    if not dtype:
        return program
    least, most = min(WIDTHS[dtype]), max(WIDTHS[dtype])
    op = replace(program.op, sizes=(*program.op.sizes, LANES.name))
    return replace(program, op=op, where=(*program.where, least <= LANES, most >= LANES))


def _instance(program: Program, width: int) -> Program:
    def at(term: Term) -> Term:
        return substitute(term, {LANES.name: Const(width)})

    def each(step: Step) -> tuple[Step, ...]:
        if isinstance(step, Array):
            return (replace(step, extents=tuple(map(at, step.extents))),)
        return (map_terms(step, at),)

    def launched(launch: Launch) -> Launch:
        return replace(launch, grid=tuple(replace(a, extent=at(a.extent)) for a in launch.grid), body=map_steps(launch.body, each))

    return replace(program, launches=tuple(map(launched, program.launches)))
