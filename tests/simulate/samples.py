"""Programs made by hand for the tests of the simulator: a vector saxpy and a register-tiled matrix product, and ways to break them.

Goes out: `saxpy()`, `matmul()`, and `broken(...)`, a program with one step changed.
The one idea: they are the dataclasses of `program.step`, so these tests need no parser and no derivation.
"""

from __future__ import annotations

from collections.abc import Callable

from tinygpu.category.term import TRUE, App, Axis, Const, Fold, Read, Term, Var, ceildiv, conjunction, select
from tinygpu.diagnostic import Span
from tinygpu.model.op import Equation, Op, Tensor
from tinygpu.program.space import LOCAL
from tinygpu.program.step import Array, Assign, For, If, Launch, Program, Step
from tinygpu.record import replace

ZERO = Const(0.0, "f32")


def add(a: Term, b: Term, dtype: str = "f32") -> Term:
    return App("add", (a, b), dtype)


def mul(a: Term, b: Term, dtype: str = "f32") -> Term:
    return App("mul", (a, b), dtype)


def at(line: int) -> Span:
    return Span("sample", line, line + 1, line, 1, line, 2)


def saxpy_op(dtype: str = "f32") -> Op:
    n, i = Var("n"), Var("i")
    read = mul(Read("a", (), dtype), Read("x", (i,), dtype), dtype)
    value = add(read, Read("y", (i,), dtype), dtype)
    return Op(
        "saxpy",
        ("n",),
        (Tensor("a", dtype, (), "input"), Tensor("x", dtype, (n,), "input"), Tensor("y", dtype, (n,), "input")),
        (Tensor("z", dtype, (n,), "output"),),
        (),
        (Equation("z", (Axis("i", n),), value),),
    )


def saxpy(dtype: str = "f32") -> Program:
    n, i = Var("n"), (Var("g") * 256 + Var("t")) * 4 + Var("v")
    value = add(mul(Read("a", (), dtype), Read("x", (i,), dtype), dtype), Read("y", (i,), dtype), dtype)
    body = For(Axis("v", Const(4), "vector"), (Assign("z", (i,), value, "", i < n, at(2)),), at(1))
    launch = Launch((Axis("g", ceildiv(n, 1024), "grid"),), (Axis("t", Const(256), "block"),), (body,))
    return Program("saxpy_v4", saxpy_op(dtype), (launch,))


def matmul_op(dtype: str = "f32") -> Op:
    m, n, k = Var("M"), Var("N"), Var("K")
    body = mul(Read("A", (Var("i"), Var("k")), dtype), Read("B", (Var("k"), Var("j")), dtype), dtype)
    value = Fold("sum", (Axis("k", k, "reduction"),), TRUE, body, dtype)
    return Op(
        "matmul",
        ("M", "K", "N"),
        (Tensor("A", dtype, (m, k), "input"), Tensor("B", dtype, (k, n), "input")),
        (Tensor("C", dtype, (m, n), "output"),),
        (),
        (Equation("C", (Axis("i", m), Axis("j", n)), value),),
    )


def register(name: str, extent: int, *body: Step) -> For:
    return For(Axis(name, Const(extent), "register"), body)


def matmul(rows: int = 4, tile: int = 8) -> Program:
    """Tiles of (tile·rows)², each thread rows²."""
    m, n, ri, rj, k = Var("M"), Var("N"), Var("ri"), Var("rj"), Var("k")
    i = Var("by") * (rows * tile) + Var("ty") * rows + ri
    j = Var("bx") * (rows * tile) + Var("tx") * rows + rj
    acc, cell = Array("acc", "f32", (Const(rows), Const(rows)), LOCAL, span=at(1)), (ri, rj)
    product = mul(Read("a", (ri,), "f32"), Read("b", (rj,), "f32"))
    launch = Launch(
        (Axis("by", ceildiv(m, rows * tile), "grid"), Axis("bx", ceildiv(n, rows * tile), "grid")),
        (Axis("ty", Const(tile), "block"), Axis("tx", Const(tile), "block")),
        (
            acc,
            register("ri", rows, register("rj", rows, Assign("acc", cell, ZERO, "", TRUE, at(2)))),
            Array("a", "f32", (Const(rows),), LOCAL, span=at(3)),
            Array("b", "f32", (Const(rows),), LOCAL, span=at(4)),
            For(
                Axis("k", Var("K"), "time"),
                (
                    register("ri", rows, Assign("a", (ri,), select(i < m, Read("A", (i, k), "f32"), ZERO), "", TRUE, at(5))),
                    register("rj", rows, Assign("b", (rj,), select(j < n, Read("B", (k, j), "f32"), ZERO), "", TRUE, at(6))),
                    register("ri", rows, register("rj", rows, Assign("acc", cell, product, "sum", TRUE, at(7)))),
                ),
            ),
            register(
                "ri",
                rows,
                register("rj", rows, Assign("C", (i, j), Read("acc", cell, "f32"), "", conjunction(i < m, j < n), at(8))),
            ),
        ),
    )
    return Program("matmul_tile", matmul_op(), (launch,))


def broken(program: Program, line: int, change: Callable[[Assign], Step | None]) -> Program:
    """The program with the assignment of that line changed, or removed where the change gives None."""

    def body(steps: tuple[Step, ...]) -> tuple[Step, ...]:
        out: list[Step] = []
        for step in steps:
            if isinstance(step, For | If):
                out.append(replace(step, body=body(step.body)))
            elif isinstance(step, Assign) and step.span.line == line:
                new = change(step)
                out.extend(() if new is None else (new,))
            else:
                out.append(step)
        return tuple(out)

    return replace(program, launches=tuple(replace(launch, body=body(launch.body)) for launch in program.launches))
