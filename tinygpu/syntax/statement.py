"""Steps of the syntax tree: what stands in the `program { … }` of a machine.

Comes in: what the parser or a Python program builds. Goes out: frozen nodes with spans.
The one idea: a step is a word, what it speaks of, and the block of steps inside of it, if it has one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from tinygpu.syntax.expression import Cell, Expr, Group
from tinygpu.syntax.node import Node


class Level(Node, level="name factors", shown="{name} = {factors}"):
    """`grid = (by, bx)`, `block = (t: 256)`."""

    name: str
    factors: Group


class Place(
    Node,
    pad="*args kind=pad",
    swizzle="panels args kind=swizzle",
    shown=("pad {pad:exclusive}", "⟨panels {panels:exclusive} ⟩{kind}⟨({args})⟩"),
):
    """`pad 1`, `swizzle(3, 3, 3)`, `panels 64 swizzle(3, 3, 3)`."""

    kind: str
    args: tuple[Expr, ...]
    panels: Expr | None = None

    @property
    def pad(self) -> tuple[Expr, ...]:
        """What a pad is."""
        return self.args if self.kind == "pad" else ()


class Array(Node, shown="{space} {name}: {dtype}[{extents}]⟨ ({order})⟩⟨ {place}⟩"):
    """`local acc: f32[8, 8]`, `shared s: f32[32, 32] pad 1`."""

    space: str
    name: str
    dtype: str
    extents: tuple[Expr, ...]
    order: tuple[str, ...] = ()
    place: Place | None = None


class Arrays(Node):
    """`local acc: f32[8, 8], a: f32[8]`: several arrays of one space, which are one step each after `model.names`."""

    parts: tuple[Array, ...]


class Fragment(
    Node, held="name dtype extents instruction operand", shown="fragment {name}: {dtype}[{extents}] of {instruction}.{operand}"
):
    """`fragment acc: f32[32, 32] of mma_m16n8k16.c`: cells of a warp, as many tiles of that operand as the extents hold."""

    name: str
    dtype: str
    extents: tuple[Expr, ...]
    instruction: str
    operand: str


class Ring(Node, ring_="name slots", shown="ring {name}: {slots:exclusive}"):
    """`ring tiles: 4`: slots that one role fills and another one uses."""

    name: str
    slots: Expr


class Section(Node, section="way ring turn body", shown="{way} {ring} at {turn}"):
    """`fill tiles at ko { … }`, `use tiles at ko { … }`: what a role does with the slot of a turn."""

    way: str
    ring: str
    turn: str
    body: tuple[Statement, ...]


class Instruct(Node, instruct="pending name *operands", shown="⟨{pending:async} ⟩{name}({operands})"):
    """`mma_m16n8k16(acc[mi*16, 0], a[mi*16, 0], b[0, 0])`: each operand is a tile, named by its first element; `async wgmma_m64n64k16(…)` lands later."""

    name: str
    operands: tuple[Cell, ...]
    pending: bool = False


class Cells(Node, for_cells="*names array body", shown="for {names} in {array}"):
    """`for i, j in acc { … }`: the body for each cell of a fragment that the lane at hand has."""

    names: tuple[str, ...]
    array: str
    body: tuple[Statement, ...]


class Assign(
    Node,
    assign="atomic pending target update value",
    assign_guarded="atomic pending target update value guard",
    shown=(
        "⟨{atomic:atomic} ⟩⟨{pending:async} ⟩{target} {update:sign}~{value:disjunction} if~{guard:disjunction}",
        "⟨{atomic:atomic} ⟩⟨{pending:async} ⟩{target} {update:sign}~{value}",
    ),
):
    """`C[i, j] = e`, `acc[] += e if g`, `async s[t] = x[t]`; `update` is empty for `=`, else the monoid (`sum` for `+=`, `prod` for `*=`, `max`, …).
    What an asynchronous instruction does has its `unit`."""

    target: Cell
    value: Expr
    update: str = ""
    guard: Expr | None = None
    atomic: bool = False
    pending: bool = False
    unit: str = ""


class Copy(Node, copy="step by clauses", shown="copy {step}⟨ by {by}⟩"):
    """`copy s[r, c] = x[g*64 + r, c] { compute … vector v }`: an assignment at each point of a box, whose indices stand on its left side, shared
    out among the threads of a block; `by` are registers in which its values wait for a `store`. `box` are the ranges that are written there, `s[r < 64, c]`, after `model.names`."""

    step: Assign
    clauses: tuple[Any, ...] = ()
    box: tuple[Turn, ...] = ()
    by: str | None = None


class Store(Node, store="*names", shown="store {names}"):
    """`store r`: what a copy by way of r has read is stored."""

    names: tuple[str, ...]


class Evaluate(Node, evaluate="*names", shown="compute {names}"):
    """`compute s, acc`: the steps that the machine's clauses derive for these equations."""

    names: tuple[str, ...]


class For(
    Node,
    for_extent="name extent sort body",
    for_range="name start extent body",
    shown=(
        "for {name} in {start:exclusive} .. {extent:exclusive}",
        "for {name} < {extent:exclusive}⟨ in {sort}⟩",
        "for {name} in ({values:value})",
    ),
):
    """`for k < K { … }`, `for v < 4 in vector { … }`; with a `start`, `for z in a .. b { … }`; `values` for `for d in (16, 8, 4) { … }`,
    then extent is None."""

    name: str
    extent: Expr | None
    body: tuple[Statement, ...]
    sort: str = "time"
    values: tuple[Expr, ...] = ()
    start: Expr | None = None


class Turn(Node, turn="name extent", shown="{name} < {extent:exclusive}"):
    """`ri < 8`."""

    name: str
    extent: Expr


class Loops(Node, loops="*turns sort body", shown="for {turns}⟨ in {sort}⟩"):
    """`for ri < 8, rj < 8 in register { … }`: loops in each other, which are one step each after `model.names`."""

    turns: tuple[Turn, ...]
    body: tuple[Statement, ...]
    sort: str = "time"


class If(Node, if_="guard body", shown="if {guard:disjunction}"):
    """`if guard { … }`."""

    guard: Expr
    body: tuple[Statement, ...]


class Holds(Node, holds="target value", shown="{target} holds {value}"):
    """`acc[] holds e`: a ghost fact."""

    target: Cell
    value: Expr


class Sync(
    Node,
    wait="count kind=wait",
    wait_unit="unit count kind=wait",
    commit="unit kind=commit",
    fence="unit kind=fence",
    shown="{kind}⟨ {unit}⟩⟨ {count:exclusive}⟩",
):
    """`barrier`, `warp barrier`, `instruction barrier`, `fence async`, `fence mma`, `commit`, `wait 1`, `wait mma 1`; `begins` is the key of an instruction that is
    written out behind it."""

    kind: str
    count: Expr | None = None
    begins: str = ""
    unit: str = ""


class Fetch(Node, fetch="element", shown="prefetch {element}"):
    """`prefetch x[i + 1, j]`."""

    element: Cell


class Stream(Node, stream="tensor", shown="stream {tensor}"):
    """`stream y`, a clause of a machine on cpu and a step of a program."""

    tensor: str


class LaunchStatement(Node, launch_statement="*levels body", shown="launch ({levels})"):
    """`launch (grid = (g: 4), block = (t: 256)) { … }`."""

    levels: tuple[Level, ...]
    body: tuple[Statement, ...]


class Binding(Node, binding="*indices value", merged="*indices value", shown="{indices:left} =~{value}"):
    """`i = (g, t, v: 4)`, `(i, j) = (g, t)`, `i = g*256 + t`."""

    indices: tuple[str, ...]
    value: Expr


class Naming(Node, naming="name value", tile="name *indices value", shown="{name}⟨[{indices}]⟩ =~{value}"):
    """`i = by*64 + ty`; with indices `tA[m, k] = A[by*64 + m, k | 0]`, a tile."""

    name: str
    value: Expr
    indices: tuple[str, ...] = ()


class Let(Node, let="*parts", shown="let {parts}"):
    """`let i = by*64 + ty, j = bx*64 + tx`: names for terms, for the rest of the block; also a clause, and a line of an op."""

    parts: tuple[Naming, ...]


class LaunchClause(Node, launch="name clauses", shown="launch {name}"):
    """`launch partial { work … compute … }`: derived; a clause of a machine, or beside the launches of a program."""

    name: str
    clauses: tuple[Any, ...]


Statement: TypeAlias = (
    Array
    | Arrays
    | Fragment
    | Let
    | Assign
    | Instruct
    | Copy
    | Store
    | Evaluate
    | For
    | Loops
    | Cells
    | If
    | Holds
    | Ring
    | Section
    | Sync
    | Fetch
    | Stream
    | LaunchStatement
    | LaunchClause
)


def launching(body: Iterable[Statement]) -> bool:
    """Whether a program's statements are launches: they, or loops around them.

    >>> launching((For("t", None, (LaunchStatement((), ()),)),)), launching((For("t", None, ()),))
    (True, False)
    """
    return any(isinstance(s, LaunchStatement | LaunchClause) or (isinstance(s, For | Loops) and launching(s.body)) for s in body)
