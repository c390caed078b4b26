"""What is said of ops and monoids in the syntax tree: theorems, gradients, schemes and lemmas.

Comes in: what the parser builds. Goes out: frozen nodes with spans. The one idea: each names what it is about, and says how it is seen: by cases, by a table, by scalar folds.
"""

from __future__ import annotations

from tinygpu.syntax.expression import Expr, Group, Name
from tinygpu.syntax.node import Node
from tinygpu.syntax.statement import Binding, Naming


class Theorem(
    Node,
    theorem="name left right cases within where",
    shown="theorem {name} : {left} == {right}⟨ by {cases}⟩⟨ within {within}⟩⟨ where {where}⟩",
):
    """`theorem NAME : OP == OP by i = (t, r: 2) within 4 where …`: two ops that compute the same; `cases` cut indices of the outputs, and the right side
    rounds at most `within` times as much."""

    name: str
    left: Name
    right: Name
    cases: tuple[Binding, ...] = ()
    within: Expr | None = None
    where: tuple[Expr, ...] = ()


class Gradient(Node, gradient="op by", shown="gradient of {op} is {by}"):
    """`gradient of OP is OP, …`: ops that give what the inputs of one change a number by, from what its outputs change it by."""

    op: Name
    by: tuple[Name, ...]

    @property
    def name(self) -> str:
        """What it is called where something has to have a name."""
        return f"gradient_of_{self.op.name}"


class Row(Node, row="left right into", shown="{left} | {right} | {into}"):
    """`1, 0, 0, 1 | 1, 0, 0, 1 | 1, 0, 0, 1`: of one product of a scheme the coefficients of the blocks of A and of B, and where it is added in C."""

    left: tuple[Expr, ...]
    right: tuple[Expr, ...]
    into: tuple[Expr, ...]


class Scheme(Node, scheme="name op cuts within *rows", shown="scheme {name} : {op} by {cuts}⟨ within {within}⟩"):
    """`scheme NAME : OP by 2, 2, 2 { … }`: the product of matrices that OP is, of so many blocks along each of its indices, by a product for each row."""

    name: str
    op: Name
    cuts: tuple[Expr, ...]
    rows: tuple[Row, ...]
    within: Expr | None = None


class Lemma(Node, lemma="name index elements *meanings", shown="lemma {name}[{index}] {elements} is"):
    """`lemma lse[k] (x[k]) is { m = max[k] x[k] … }`: what each component of a fold over something is."""

    name: str
    index: str
    elements: Group
    meanings: tuple[Naming, ...]
