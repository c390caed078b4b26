"""Machines made in Python: the same nodes as the parser's and the elaborator's, without any text.

Comes in: nodes written by hand. Goes out: their equality with what the texts give, and a program that computes.
The one idea: there is one data model, so a tuner or a notebook needs no text to make a machine.
"""

from __future__ import annotations

import numpy as np

from tinygpu.category import term
from tinygpu.category.owner import Arrow, digits
from tinygpu.category.region import Region
from tinygpu.category.term import TRUE, App, Axis, Fold, Read, Var, ceildiv, lift
from tinygpu.derive.derive import derive
from tinygpu.model.elaborate import elaborate
from tinygpu.model.machine import Launch, Machine, Phase
from tinygpu.model.op import Equation, Op, Tensor
from tinygpu.simulate.simulate import simulate
from tinygpu.syntax import tree
from tinygpu.syntax.parse import parse

M, N, K = Var("M"), Var("N"), Var("K")
MATMUL = """
op matmul(A: f32[M, K], B: f32[K, N]) -> (C: f32[M, N]) {
  C[i, j] = sum[k] A[i, k] * B[k, j]
}

machine matmul_plain : matmul {
  work    grid = (by, bx), block = (ty: 8, tx: 16)
  compute i = (by, ty), j = (bx, tx)
  time    k
}
"""
SCALE = """
op scale(a: f32, x: f32[n]) -> (z: f32[n]) {
  z[i] = a * x[i]
}

machine scale_v4 : scale {
  work    grid = (g), block = (t: 256)
  compute i = (g, t, v: 4)
  vector  v
}
"""


def product() -> Op:
    """`C[i, j] = sum[k] A[i, k] * B[k, j]`."""
    a, b = Read("A", (Var("i"), Var("k")), "f32"), Read("B", (Var("k"), Var("j")), "f32")
    value = Fold("sum", (Axis("k", K, "reduction"),), TRUE, App("mul", (a, b), "f32"), "f32")
    inputs = (Tensor("A", "f32", (M, K), "input"), Tensor("B", "f32", (K, N), "input"))
    equation = Equation("C", (Axis("i", M), Axis("j", N)), value)
    return Op("matmul", ("M", "K", "N"), inputs, (Tensor("C", "f32", (M, N), "output"),), (), (equation,))


def plain(op: Op) -> Machine:
    """One thread for each element, the fold in time."""
    by, bx = Axis("by", ceildiv(M, 8), "grid"), Axis("bx", ceildiv(N, 16), "grid")
    ty, tx, k = Axis("ty", lift(8), "block"), Axis("tx", lift(16), "block"), Axis("k", K, "time")
    rows, columns = digits(Axis("i", M), (by, ty)), digits(Axis("j", N), (bx, tx))
    domain = Region((by, bx, ty, tx, k)).under(*rows.domain.guard, *columns.domain.guard)
    codomain = (Axis("i", M), Axis("j", N), Axis("k", K, "reduction"))
    owner = Arrow(domain, codomain, (*rows.terms, *columns.terms, Var("k")))
    launch = Launch("main", (by, bx), (ty, tx), (Phase(op.equations[0], owner),), ("k",))
    return Machine("matmul_plain", op, (launch,))


def test_the_nodes_of_a_machine_can_be_made_by_hand() -> None:
    spec = elaborate(parse(MATMUL))
    assert spec.op("matmul") == product()
    assert spec.machine("matmul_plain") == plain(product())


def test_a_machine_that_is_made_by_hand_runs() -> None:
    made = plain(product())
    random = np.random.default_rng(3)
    a, b = random.integers(-3, 4, (9, 3)).astype(np.float32), random.integers(-3, 4, (3, 17)).astype(np.float32)
    outcome = simulate(derive(made), {"M": 9, "K": 3, "N": 17}, {"A": a, "B": b})
    assert not outcome.faults
    np.testing.assert_array_equal(outcome.outputs["C"], a @ b)


def test_the_tree_can_be_made_by_hand() -> None:
    i = tree.Name("i")
    equation = tree.Equation((tree.Cell("z", (i,)),), tree.Binary("*", tree.Name("a"), tree.Cell("x", (i,))))
    n = (tree.Name("n"),)
    op = tree.Op(
        "scale", (tree.TensorDecl("a", "f32"), tree.TensorDecl("x", "f32", n)), (tree.TensorDecl("z", "f32", n),), (equation,)
    )
    factors = tree.Group((tree.Name("g"), tree.Name("t"), tree.Sized("v", tree.Number("4"))))
    grid, block = (
        tree.Level("grid", tree.Group((tree.Name("g"),))),
        tree.Level("block", tree.Group((tree.Sized("t", tree.Number("256")),))),
    )
    clauses = (tree.Work((grid, block)), tree.Compute((tree.Binding(("i",), factors),)), tree.Own("vector", (tree.Factor("v"),)))
    file = tree.File((op, tree.Machine("scale_v4", (tree.Name("scale"),), clauses)))
    assert file == parse(SCALE)
    assert elaborate(file) == elaborate(parse(SCALE))


def test_a_machine_is_read_back_from_its_own_repr() -> None:
    made = elaborate(parse(MATMUL)).machine("matmul_plain")
    assert eval(repr(made), {**vars(term), **globals()}) == made
