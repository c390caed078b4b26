"""Memory spaces: whose the elements of an array are, and so who sees them, how long, and what may be done with them.

Comes in: nothing. Goes out: one row for each space. The one idea: everything follows from the owner, so who declares, checks, simulates,
counts and emits arrays asks for a column and never for a name; a space like another one is a row here and a word of the grammar.

    owner     sees an element        it is unwritten        what was written is seen by the others     where it lies
    thread    the thread             where it is declared   –                                          registers
    block     the block's threads    when the block begins  after a barrier of the block               the block's memory; fragments in registers; tensor memory
    grid      all threads            when the call begins   in a later launch                          global memory
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

from tinygpu.record import dataclass

Owner: TypeAlias = Literal["thread", "block", "grid"]


@dataclass(frozen=True, slots=True)
class Space:
    """`title` is what people call an array of it. `declared`: at most how deep a text declares it, 0 in a program, 1 in a launch, any in its
    steps; nowhere is -1. `sized`: its extents are numbers; `laid_out`: a text may give a layout; `ordered`:
    by barriers of which scopes accesses of a block's elements are."""

    name: str
    title: str
    owner: Owner
    declared: int
    sized: bool = False
    laid_out: bool = False
    ordered: tuple[str, ...] = ()


ANY = 1 << 30
INPUT = Space("input", "input", "grid", -1)
OUTPUT = Space("output", "output", "grid", -1)
WORKSPACE = Space("workspace", "workspace", "grid", 0)
SHARED = Space("shared", "shared array", "block", 1, sized=True, laid_out=True, ordered=("block", "warp"))
FRAGMENT = Space("fragment", "fragment", "block", 1, sized=True, ordered=("block", "warp", "instruction"))
RING = Space("ring", "ring", "block", 1, sized=True)
TENSORS = Space("tensor", "array in tensor memory", "block", 1, sized=True, ordered=("block",))
LOCAL = Space("local", "local", "thread", ANY, sized=True)
SPACES: Mapping[str, Space] = {space.name: space for space in (INPUT, OUTPUT, WORKSPACE, SHARED, FRAGMENT, RING, TENSORS, LOCAL)}
