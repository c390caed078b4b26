"""What is said of machines in the syntax tree: choices among them, and pipelines of them.

Comes in: what the parser builds. Goes out: frozen nodes with spans. The one idea: each is one launcher made of others, by cases or by calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tinygpu.syntax.expression import Expr, Name
from tinygpu.syntax.node import Node
from tinygpu.syntax.statement import Naming

if TYPE_CHECKING:
    from tinygpu.syntax.tree import TensorDecl


class Branch(Node, branch="machine where", shown="{machine}⟨ where {where}⟩"):
    """`softmax_warp where N <= 1024`: a case of a choice."""

    machine: Name
    where: tuple[Expr, ...] = ()


class Choice(Node, choice="name op *branches", shown="choice {name} : {op}"):
    """`choice NAME : OP { MACHINE where … }`: one launcher of several machines, by sizes."""

    name: str
    op: Name
    branches: tuple[Branch, ...]


class Turned(Node, turned="made op given by", shown="{made} =~{op}({given})⟨ by {by}⟩"):
    """`q, k = heads(x, w, H = 8) by heads_tiled`: one op of a pipeline; a size that no input tells is given by its name."""

    made: tuple[Name, ...]
    op: Name
    given: tuple[Expr | Naming, ...] = ()
    by: Name | None = None


class Pipeline(
    Node, pipeline="name inputs outputs where *calls", shown="pipeline {name}({inputs}) -> ({outputs})⟨ where {where}⟩ {{"
):
    """`pipeline NAME(…) -> (…) where … { y = op(x) … }`: ops in turn, each by its machine, as one op."""

    name: str
    inputs: tuple[TensorDecl, ...]
    outputs: tuple[TensorDecl, ...]
    calls: tuple[Turned, ...]
    where: tuple[Expr, ...] = ()
