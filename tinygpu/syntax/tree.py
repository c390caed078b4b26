"""The syntax tree: one frozen node for each rule of `grammar/tgpu.lark`, each with the span it was read from.

Comes in: what the parser or a Python program builds. Goes out: what `model` elaborates and `syntax.format` prints.
Spans and comments never take part in equality, so `parse(format(tree)) == tree`.
The one idea: a node says what was written; expressions and steps stand in files of their own, and are nodes of the tree.
"""

from __future__ import annotations

from typing import TypeAlias

from tinygpu.record import field
from tinygpu.syntax.expression import *
from tinygpu.syntax.hardware import *
from tinygpu.syntax.joined import *
from tinygpu.syntax.node import Comment, Node
from tinygpu.syntax.statement import *
from tinygpu.syntax.theorem import *

# ── clauses ────────────────────────────────────────────────────────────────────────────────────────────────────────


class Work(Node, work="*levels"):
    """`work grid = (g), block = (t: 256)`."""

    levels: tuple[Level, ...]


class Compute(Node, compute="equation *bindings"):
    """`compute i = (g, t), j = (c, v: 4)`; `equation` names the one it is for, or is None."""

    bindings: tuple[Binding, ...]
    equation: str | None = None


class Own(Node, own="sort *factors"):
    """`time c, k`, `register u: 4`, `vector v`: the thread's own factors."""

    sort: str
    factors: tuple[Name | Sized, ...]


class Param(
    Node,
    param="name value",
    param_choice="name choices",
    param_range="name low high",
    param_from="name low",
    shown=(
        "{name} = {value}",
        "{name} in {{{choices}}}",
        "{name} in {low}..{high}",
        "{name} >= {low}",
    ),
):
    """`param BM = 128`, `param BM in {64, 128}`, `param R in 1..16`, `param T >= 1`; also a declaration of a file."""

    name: str
    value: Expr | None = None
    choices: tuple[Expr, ...] = ()
    low: Expr | None = None
    high: Expr | None = None


class Where(Node, where="conditions", shown="{conditions}"):
    """`where N % 4 == 0, N >= 1`."""

    conditions: tuple[Expr, ...]


class Equations(Node, equations="*names", shown="{names}"):
    """`equations m, s`: which equations a launch evaluates."""

    names: tuple[str, ...]


class ForEquation(Node, for_equation="equation clauses", shown="for {equation}"):
    """`for s { compute … }`: overrides for one equation."""

    equation: str
    clauses: tuple[Clause, ...]


class Layout(Node, layout="order place", layout_place="place", shown="⟨({order}) ⟩⟨{place}⟩"):
    """`layout (k, i) pad 4`."""

    order: tuple[str, ...] = ()
    place: Place | None = None


class Stage(
    Node,
    stage="access at space ring asynchronous by clauses",
    shown="stage {access} at {at} in {space}⟨ ring {ring:exclusive}⟩⟨ {asynchronous:async}⟩⟨ by {by}⟩",
):
    """`stage A[i, k] at ko in shared { … }`."""

    access: Cell
    at: str
    space: str
    clauses: tuple[Clause, ...] = ()
    ring: Expr | None = None
    asynchronous: bool = False
    by: str | None = None


class Reduce(Node, reduce="equation *factors by", shown="reduce {equation} over {factors} by {by}"):
    """`reduce s over w by shared`."""

    equation: str
    factors: tuple[str, ...]
    by: str


class Online(Node, online="*equations factor", shown="online {equations} over {factor}"):
    """`online m, s, o over jo`."""

    equations: tuple[str, ...]
    factor: str


class Keep(Node, keep="tensor space", shown="keep {tensor} in {space}"):
    """`keep x in register`."""

    tensor: str
    space: str


class Prefetch(Node, prefetch="tensor", shown="prefetch {tensor}"):
    """`prefetch x`."""

    tensor: str


class ProgramClause(Node, program="body", shown="program"):
    """`program { … }`."""

    body: tuple[Statement, ...]


class IfClause(Node, if_clause="condition clauses", shown="if {condition:disjunction}"):
    """`if BM >= 128 { register ri: 8 }`: clauses for some choices of the params."""

    condition: Expr
    clauses: tuple[Clause, ...]


Listed: TypeAlias = Work | Compute | Own | Layout | Where | Equations | Param | Let | Arrays | Binding  # a word and a list


Folding: TypeAlias = Reduce | Online
Near: TypeAlias = Keep | Prefetch | Stream
Clause: TypeAlias = Listed | LaunchClause | ForEquation | Stage | Folding | Near | Use | ProgramClause | IfClause


# ── declarations ───────────────────────────────────────────────────────────────────────────────────────────────────


class TensorDecl(
    Node, tensor="name dtype shape strided inplace", shown="{name}: {dtype}⟨[{shape}]⟩⟨ {strided:strided}⟩⟨ inplace {inplace}⟩"
):
    """`x: f32[n, 4]`; `shape` is None for a scalar argument `a: f32`; `f32[]` has the empty shape; `x: f32[M, N] strided` may lie in memory with any
    strides; `inplace` names the input where an output may lie."""

    name: str
    dtype: str
    shape: tuple[Expr, ...] | None = None
    strided: bool = False
    inplace: str = ""


class Family(
    Node, family="variable *dtypes", axes="variable *axes", shown=("{variable} in {{{axes}}}", "{variable} in {{{dtypes}}}")
):
    """`T in {f16, f32}`: one op for each dtype, and for each choice of several; `a in {(L), (H, W)}`: one for each list of axes, gone after
    `model.axes`; of an instruction also `N in {8, 16}`."""

    variable: str
    dtypes: tuple[Name | Number, ...] = ()
    axes: tuple[Group, ...] = ()

    @property
    def choices(self) -> tuple[str, ...]:
        """What is chosen from, as it is written."""
        return tuple(one.name if isinstance(one, Name) else one.text for one in self.dtypes)


class Equation(Node, equation="*targets value", equation_tuple="*targets value", shown="{targets:left} =~{value}"):
    """`y[j, i] = x[i, j]`; several targets for `(m[r], l[r]) = …`."""

    targets: tuple[Cell, ...]
    value: Expr


class View(Node, view="name tensor shape", shown="{name} =~{tensor} as [{shape}]"):
    """`v = x as [B, G, C, N]`: x with other axes, row-major."""

    name: str
    tensor: str
    shape: tuple[Expr, ...]

    @property
    def targets(self) -> tuple[Cell, ...]:
        """What it brings."""
        return (Cell(self.name, self.shape, span=self.span),)


class Op(
    Node,
    op="name families inputs outputs where *equations",
    composite="name *parts",
    shown=("op {name} =~{parts:then}", "op {name}⟨[{families}]⟩({inputs}) -> ({outputs})⟨ where {where}⟩ {{"),
):
    """An operation: tensors, preconditions, equations and views; among the lines of a text also `let` and `where`, which are gone after
    `model.names`, as are the `parts` of one that is others one after the other."""

    name: str
    inputs: tuple[TensorDecl, ...]
    outputs: tuple[TensorDecl, ...]
    equations: tuple[Equation | View, ...]
    where: tuple[Expr, ...] = ()
    families: tuple[Family, ...] = ()
    parts: tuple[Name, ...] = ()


class Def(Node, definition="name *params value", constant="name value", shown="def {name}⟨({params})⟩ =~{value}"):
    """`def silu(x) = x * sigmoid(x)`, `def HALF = 0.5`: a name for a term."""

    name: str
    value: Expr
    params: tuple[str, ...] = ()


class MonoidPart(Node, shown="⟨{names} =~⟩{value}"):
    """`unit (-inf, 0)`, `lift (x) = (x, 1)`, `combine (a, b) = (…)`, `result (m)`: `names` are what stands on the left side."""

    kind: str
    value: Group
    names: Group | None = None


class Monoid(Node, monoid="name components where *parts", shown="monoid {name}({components})⟨ where {where}⟩"):
    """`monoid lse(m: f32, s: f32) where s >= 0 { unit … lift … combine … }`, its parts in the order they were written in."""

    name: str
    components: tuple[TensorDecl, ...]
    parts: tuple[MonoidPart, ...]
    where: tuple[Expr, ...] = ()


class Machine(
    Node, machine="name *ops via arch where clauses", shown="machine {name} : {ops}⟨ via {via}⟩⟨ on {arch}⟩⟨ where {where}⟩"
):
    """`machine NAME : OP, … on ARCH where … { clauses }`. `ops` are names with their spans. `machine NAME : OP via THEOREM` computes the other side of a theorem."""

    name: str
    ops: tuple[Name, ...]
    clauses: tuple[Clause, ...]
    arch: str | None = None
    where: tuple[Expr, ...] = ()
    via: Name | None = None


class Import(Node, shown='import "{path}"'):
    """`import "file.tgpu"`."""

    path: str


Declaration: TypeAlias = (
    Op | Machine | Choice | Pipeline | Monoid | Param | Def | Theorem | Gradient | Lemma | Scheme | Import | Instruction
)


class File(Node, start="*declarations"):
    """A whole `.tgpu` text."""

    declarations: tuple[Declaration, ...]
    comments: tuple[Comment, ...] = field(default=(), compare=False)
