"""Instructions of the hardware in the syntax tree: what stands in `instruction NAME(…) by warp on sm_80 { … }`.

Comes in: what the parser builds. Goes out: frozen nodes with spans. The one idea: an instruction is an equation, and where the elements of each of its
operands lie, line by line.
"""

from __future__ import annotations

from typing import Any

from tinygpu.syntax.expression import Expr, Group, Name
from tinygpu.syntax.node import Node
from tinygpu.syntax.statement import Assign


class Lane(Node, lane="digits", shown="lane {digits}"):
    """`lane (g: 8, q: 4)`: the digits of a thread's number among those that run an instruction together."""

    digits: Group


class Placed(
    Node,
    fragment="name *bindings cells kind=fragment",
    rows="name *bindings cells kind=rows",
    across="kind name *bindings across cells",
    shown="{kind} {name} {bindings} in ⟨{across}, ⟩{cells}",
):
    """`fragment a i = (r: 2, g), k = (q, u: 2) in (r, u)`: the digits of an operand's indices, some of them the lane's, and those that number its
    registers; `rows s i = (h: 2, l: 8), k = (c: 2, e: 8) in (c, h, l)`: in shared memory, and which lane names which row;
    `tensor c i = (w: 4, l), j = (n: 256) in (w, l), (n)`: in tensor memory, `across` its lanes and along its columns."""

    name: str
    bindings: tuple[Any, ...]
    cells: Group
    kind: str
    across: Group | None = None


class Descriptor(Node, descriptor="name by", shown="descriptor {name} by {by}"):
    """`descriptor a by k`: an operand in shared memory that a descriptor tells of, with the index along which its elements lie side by side."""

    name: str
    by: str


class Quoted(Node, shown='{kind} "{text}"'):
    """`ptx "mma.sync… {c}, {a}, {b}, {c};"`, `isa "…"`: the text that the assembler reads, and where the manual says what it does."""

    text: str
    kind: str


class Instruction(
    Node,
    instruction="name families operands level archs unit *body",
    shown="instruction {name}⟨[{families}]⟩({operands}) by {level} on {archs}⟨ async {unit}⟩",
):
    """An instruction of the hardware: a machine whose compute object is cut already. `body` is its equation, and where its operands lie."""

    name: str
    operands: tuple[Any, ...]
    level: str
    archs: tuple[Name, ...]
    body: tuple[Assign | Lane | Placed | Descriptor | Quoted, ...]
    families: tuple[Any, ...] = ()
    unit: str | None = None


class Use(Node, use="name indices lanes", shown="use {name}{indices} by {lanes}"):
    """`use mma_m16n8k16(i: im, j: jn, k: ka) by lane`: each index of an instruction is a factor, and its lanes are those of the block."""

    name: str
    indices: Group
    lanes: Expr
