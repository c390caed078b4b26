"""Machines made in Python: the same nodes as the parser's and the elaborator's, without any text.

Comes in: nodes written by hand. Goes out: their equality with what the texts give, and a program that computes.
The one idea: there is one data model, so a tuner or a notebook needs no text to make a machine.
"""

from __future__ import annotations

from tests.program.library import machine
from tinygpu.category.owner import Arrow, digits
from tinygpu.category.region import Region
from tinygpu.category.term import TRUE, App, Axis, Fold, Read, Var, ceildiv, lift
from tinygpu.model.machine import Launch, Machine, Phase
from tinygpu.model.op import Equation, Op, Tensor

M, N, K = Var("M"), Var("N"), Var("K")


def product() -> Op:
    """`C[i, j] = sum[k] A[i, k] * B[k, j]`."""
    a, b = Read("A", (Var("i"), Var("k")), "f32"), Read("B", (Var("k"), Var("j")), "f32")
    value = Fold("sum", (Axis("k", K, "reduction"),), TRUE, App("mul", (a, b), "f32"), "f32")
    inputs = (Tensor("A", "f32", (M, K), "input"), Tensor("B", "f32", (K, N), "input"))
    equation = Equation("C", (Axis("i", M), Axis("j", N)), value)
    return Op("matmul", ("M", "K", "N"), inputs, (Tensor("C", "f32", (M, N), "output"),), (), (equation,))


def plain(op: Op) -> Machine:
    """One thread for each element, the fold in time."""
    by, bx = Axis("by", ceildiv(M, 16), "grid"), Axis("bx", ceildiv(N, 16), "grid")
    ty, tx, k = Axis("ty", lift(16), "block"), Axis("tx", lift(16), "block"), Axis("k", K, "time")
    rows, columns = digits((Axis("i", M),), (by, ty)), digits((Axis("j", N),), (bx, tx))
    domain = Region((by, bx, ty, tx, k)).under(*rows.domain.guard, *columns.domain.guard)
    codomain = (Axis("i", M), Axis("j", N), Axis("k", K, "reduction"))
    owner = Arrow(domain, codomain, (*rows.terms, *columns.terms, Var("k")))
    launch = Launch("main", (by, bx), (ty, tx), (Phase(op.equations[0], owner),), ("k",))
    return Machine("matmul_naive", op, (launch,))


def test_the_nodes_of_a_machine_can_be_made_by_hand() -> None:
    shipped = machine("matmul", "matmul_naive")
    assert shipped.op == product() and shipped == plain(product())
