"""Machines with the instructions of an architecture that multiply boxes, by rules.

    a product of matrices on sm_80 ↦ warps with fragments, panels in a ring          on sm_90a ↦ groups of warps with accumulators, panels where the instruction reads them

Comes in: an op and an architecture. Goes out: states, one for each instruction that might serve. The one idea: what an instruction computes is matched by the checker, so a rule only names it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tinygpu.category.term import Term, Var, outermost_folds
from tinygpu.derive.match import operands
from tinygpu.derive.used import element_of, indices
from tinygpu.hardware.arch import runs_on
from tinygpu.model.collective import Instruction
from tinygpu.model.instruction import shipped
from tinygpu.model.op import Equation, Op
from tinygpu.record import dataclass
from tinygpu.syntax import tree
from tinygpu.tune.facts import Group, Names, cell, folded, groups, panels_of, sides
from tinygpu.tune.state import BOX, Factor, Nest, State, ordered


@dataclass(frozen=True, slots=True)
class Shape:
    """An instruction, what stands around its box (digits of rows, of columns, of the fold: level and extent), its lanes, and the slots of its panels; `late`, they land
    while it works."""

    name: str
    rows: tuple[tuple[str, int], ...]
    columns: tuple[tuple[str, int], ...]
    deep: int
    lanes: tuple[tuple[str, int], ...]
    slots: int = 3


WARPS = (("block", 2), ("register", 2)), (("block", 2), ("register", 4))
LANE, GROUP = (("lane", 32),), (("warp", 4), ("lane", 32))
SHAPES: dict[str, tuple[Shape, ...]] = {  # by the least architecture that has them, the best first
    "sm_90a": tuple(
        Shape(f"wgmma_m64n128{end}", (("block", 2),), (), 4, GROUP, 4) for end in ("k16_n", "k16", "k16_mn", "k16_m", "k32")
    ),
    "sm_89": (Shape("mma_m16n8k32", *WARPS, 2, LANE),),
    "sm_80": (
        Shape("mma_m16n8k32", *WARPS, 2, LANE),
        Shape("mma_m16n8k16", *WARPS, 2, LANE),
        Shape("mma_m16n8k8", *WARPS, 4, LANE, 1),
        Shape("mma_m8n8k4", (("block", 4), ("register", 2)), (("register", 4),), 1, LANE, 0),
    ),
    "sm_75": (Shape("mma_m16n8k8", *WARPS, 4, LANE, 1),),
}


def boxes(op: Op, arch: str) -> Iterator[State]:
    """States of an op that has products, each with one instruction."""
    parts = groups(op)
    for name in (least for least in SHAPES if arch and runs_on(least, arch) and len(parts) == 1):  # of one launch
        for shape in SHAPES[name]:
            if (found := _boxed(op, parts[0], Names(op), shape)) is not None:
                yield State(op.family, (found,), name)


def _product(op: Op, group: Group, name: str) -> Equation | None:
    """The one product of matrices that an instruction computes."""
    found = [(e, *pair) for e in group.equations if (pair := sides(e)) is not None and panels_of(e, *pair)]
    for e, down, across in found if len(found) == 1 else ():
        where = dict(zip("ijk", (down, across, folded(e)[-1].name), strict=True))
        every = (found for f in outermost_folds(e.value) for one in shipped(name) for found in operands(one, f, op))
        if any(_beside(*one, where) for one in every):
            return e
    return None


def _beside(one: Instruction, read: Mapping[str, Term], where: Mapping[str, str]) -> bool:
    """Whether what an instruction reads in shared memory lies there side by side as it wants it."""
    there = [(o, indices(one)[o.name], element_of(read[o.name]).index) for o in one.operands if o.kind == "descriptor"]
    return all(index[-1] == Var(where[names[o.beside]]) for o, names, index in there)


def _boxed(op: Op, group: Group, names: Names, shape: Shape) -> Nest | None:
    """A product by boxes of an instruction; None of what is none."""
    one = _product(op, group, shape.name)
    if one is None:
        return None
    down, across = sides(one) or ("", "")
    (fold,) = (a.name for a in folded(one))
    cuts: dict[str, tuple[Factor, ...]] = {row: (Factor(row, "grid"),) for row in group.rows}
    lanes = tuple(Factor(names.new(word, ""), "block", extent) for word, extent in shape.lanes)
    for index, digits in ((down, shape.rows), (across, shape.columns)):
        middle = tuple(Factor(names.new(index, level[0]), level, extent) for level, extent in digits)
        cuts[index] = (Factor(names.new(index, "g"), "grid"), *middle, Factor(names.new(index, "x"), BOX))
    deep = (Factor(names.new(fold, "i"), "time", shape.deep),) if shape.deep > 1 else ()
    cuts[fold] = (Factor(names.new(fold, "o"), "time"), *deep, Factor(names.new(fold, "x"), BOX))
    loops = tuple(f.name for f in cuts[fold] if f.level == "time")
    used = tree.Group(tuple(tree.Sized(i, tree.Name(cuts[x][-1].name)) for i, x in zip("ijk", (down, across, fold), strict=True)))
    by = tree.Name(lanes[0].name) if len(lanes) == 1 else tree.Group(tuple(tree.Name(f.name) for f in lanes))
    ring = tree.Number(str(shape.slots)) if shape.slots > 1 else None
    tiles = (tree.Stage(cell(r), loops[0], "shared", (), ring, bool(ring)) for r in panels_of(one, down, across) if shape.slots)
    every = (*cuts.items(), *((f.name, (f,)) for f in lanes))
    order = ordered(every, loops)
    return Nest((), every, order, (tree.Use(shape.name, used, by), *tiles))
