"""Programs made by hand, one for each thing an emitter must get right: wide accesses with tails, masks, 16-bit casts, register tiles.

Comes in: nothing. Goes out: programs by name. The one idea: no parser and no derivation stand between these and the emitters.
"""

from __future__ import annotations

from tinygpu.category.term import BOOL, TRUE, App, Axis, Const, Fold, Read, Term, Var, ceildiv, conjunction, select
from tinygpu.model.op import Equation, Op, Tensor
from tinygpu.program.step import Assign, For, Launch, Local, Program, Step


def f32(value: float) -> Const:
    return Const(value, "f32")


def times(a: Term, b: Term) -> App:
    return App("mul", (a, b), a.dtype)


def plus(a: Term, b: Term) -> App:
    return App("add", (a, b), a.dtype)


def tensor(name: str, dtype: str, *shape: Term | int, role: str = "input") -> Tensor:
    return Tensor(name, dtype, tuple(Const(s) if isinstance(s, int) else s for s in shape), role)


def at(name: str, dtype: str, *index: Term) -> Read:
    return Read(name, index, dtype)


n, M, N, K = Var("n"), Var("M"), Var("N"), Var("K")
i, j, k, v, g, t = Var("i"), Var("j"), Var("k"), Var("v"), Var("g"), Var("t")


def loop(name: str, extent: Term | int, *body: Step, sort: str = "time") -> For:
    return For(Axis(name, Const(extent) if isinstance(extent, int) else extent, sort), body)


def elementwise(name: str, inputs: tuple[Tensor, ...], output: Tensor, value: Term, lanes: int = 4, threads: int = 256) -> Program:
    """`z[i] = value`, with `lanes` neighbours for each thread; the value is a term over i."""
    from tinygpu.category.term import substitute

    place = (g * threads + t) * lanes + v
    op = Op(name, ("n",), inputs, (output,), (), (Equation(output.name, (Axis("i", n),), value),))
    store = Assign(output.name, (place,), substitute(value, {"i": place}), guard=place < n)
    grid, block = (Axis("g", ceildiv(n, threads * lanes), "grid"),), (Axis("t", Const(threads), "block"),)
    return Program(name, op, (Launch(grid, block, (loop("v", lanes, store, sort="vector"),)),))


def saxpy() -> Program:
    inputs = (tensor("a", "f32"), tensor("x", "f32", n), tensor("y", "f32", n))
    value = plus(times(at("a", "f32"), at("x", "f32", i)), at("y", "f32", i))
    return elementwise("saxpy_v4", inputs, tensor("z", "f32", n, role="output"), value)


def relu_mask() -> Program:
    inputs = (tensor("x", "f32", n), tensor("m", "bool", n))
    positive = App("max", (at("x", "f32", i), f32(0.0)), "f32")
    value = select(at("m", "bool", i), positive, f32(0.0))
    return elementwise("relu_mask", inputs, tensor("z", "f32", n, role="output"), value)


def cast_f16() -> Program:
    value = App("cast", (at("x", "f32", i),), "f16")
    return elementwise("cast_f16", (tensor("x", "f32", n),), tensor("z", "f16", n, role="output"), value, 8)


def scale_bf16() -> Program:
    inputs = (tensor("a", "bf16"), tensor("x", "bf16", n))
    value = plus(times(at("a", "bf16"), at("x", "bf16", i)), Const(0.1, "bf16"))
    return elementwise("scale_bf16", inputs, tensor("z", "bf16", n, role="output"), value, 8)


def bytes_u8() -> Program:
    value = plus(at("x", "u8", i), Const(3, "u8"))
    return elementwise("bytes_u8", (tensor("x", "u8", n),), tensor("z", "u8", n, role="output"), value, 16)


def gelu() -> Program:
    x = at("x", "f32", i)
    value = times(times(f32(0.5), x), plus(f32(1.0), App("erf", (times(x, f32(0.7071067811865476)),), "f32")))
    return elementwise("gelu", (tensor("x", "f32", n),), tensor("z", "f32", n, role="output"), value)


def rotate() -> Program:
    x = at("x", "f32", i)
    value = plus(App("sin", (x,), "f32"), App("cos", (x,), "f32"))
    return elementwise("rotate", (tensor("x", "f32", n),), tensor("z", "f32", n, role="output"), value)


def stencil() -> Program:
    """The centre is wide; its neighbours are not, and are read only where they exist."""
    left = select(i >= 1, at("x", "f32", i - 1), f32(0.0))
    right = select(i + 1 < n, at("x", "f32", i + 1), f32(0.0))
    value = plus(plus(left, at("x", "f32", i)), right)
    return elementwise("stencil", (tensor("x", "f32", n),), tensor("z", "f32", n, role="output"), value)


def matmul(wide_b: bool = True) -> Program:
    """The register tile: 8 × 8 elements a thread, tiles of 64 × 64."""
    by, bx, ty, tx, ri, rj = map(Var, ("by", "bx", "ty", "tx", "ri", "rj"))
    row, column = by * 64 + ty * 8 + ri, bx * 64 + tx * 8 + rj
    a, b, acc = at("a", "f32", ri), at("b", "f32", rj), at("acc", "f32", ri, rj)
    product = times(at("A", "f32", i, k), at("B", "f32", k, j))
    equation = Equation("C", (Axis("i", M), Axis("j", N)), Fold("sum", (Axis("k", K),), TRUE, product, "f32"))
    tensors = (tensor("A", "f32", M, K), tensor("B", "f32", K, N))
    op = Op("matmul", ("M", "K", "N"), tensors, (tensor("C", "f32", M, N, role="output"),), (), (equation,))
    body: tuple[Step, ...] = (
        Local("acc", "f32", (Const(8), Const(8))),
        loop("ri", 8, loop("rj", 8, Assign("acc", (ri, rj), f32(0.0)), sort="register"), sort="register"),
        Local("a", "f32", (Const(8),)),
        Local("b", "f32", (Const(8),)),
        loop(
            "k",
            K,
            loop("ri", 8, Assign("a", (ri,), select(row < M, at("A", "f32", row, k), f32(0.0))), sort="register"),
            loop(
                "rj",
                8,
                Assign("b", (rj,), select(column < N, at("B", "f32", k, column), f32(0.0))),
                sort="vector" if wide_b else "register",
            ),
            loop("ri", 8, loop("rj", 8, Assign("acc", (ri, rj), times(a, b), "sum"), sort="register"), sort="register"),
        ),
        loop(
            "ri",
            8,
            loop("rj", 8, Assign("C", (row, column), acc, guard=conjunction(row < M, column < N)), sort="vector"),
            sort="register",
        ),
    )
    grid = (Axis("by", ceildiv(M, 64), "grid"), Axis("bx", ceildiv(N, 64), "grid"))
    block = (Axis("ty", Const(8), "block"), Axis("tx", Const(8), "block"))
    return Program("matmul_tile", op, (Launch(grid, block, body),))


def row_sum() -> Program:
    row = g * 128 + t
    equation = Equation("s", (Axis("i", M),), Fold("sum", (Axis("j", N),), TRUE, at("x", "f32", i, j), "f32"))
    op = Op("row_sum", ("M", "N"), (tensor("x", "f32", M, N),), (tensor("s", "f32", M, role="output"),), (), (equation,))
    add = loop("j", N, Assign("total", (), at("x", "f32", row, j), "sum", guard=row < M))
    body = (Local("total", "f32", ()), Assign("total", (), f32(0.0)), add, Assign("s", (row,), at("total", "f32"), guard=row < M))
    return Program("row_sum", op, (Launch((Axis("g", ceildiv(M, 128), "grid"),), (Axis("t", Const(128), "block"),), body),))


def conv() -> Program:
    """A 3-point convolution along rows with a padded border: `y[i, j] = Σ w[r]·x[i, j + r − 1]`."""
    r, h = Var("r"), Var("h")
    column = (h * 32 + t) * 4 + v
    inside = conjunction(column + r - 1 >= 0, column + r - 1 < N)
    term = times(at("w", "f32", r), select(inside, at("x", "f32", g, column + r - 1), f32(0.0)))
    padded = select(conjunction(j + r - 1 >= 0, j + r - 1 < N), at("x", "f32", i, j + r - 1), f32(0.0))
    value = Fold("sum", (Axis("r", Const(3)),), TRUE, times(at("w", "f32", r), padded), "f32")
    op = Op(
        "conv",
        ("M", "N"),
        (tensor("x", "f32", M, N), tensor("w", "f32", 3)),
        (tensor("y", "f32", M, N, role="output"),),
        (),
        (Equation("y", (Axis("i", M), Axis("j", N)), value),),
    )
    body: tuple[Step, ...] = (
        Local("acc", "f32", (Const(4),)),
        loop("v", 4, Assign("acc", (v,), f32(0.0)), sort="register"),
        loop("r", 3, loop("v", 4, Assign("acc", (v,), term, "sum"), sort="register")),
        loop("v", 4, Assign("y", (g, column), at("acc", "f32", v), guard=column < N), sort="vector"),
    )
    grid = (Axis("g", M, "grid"), Axis("h", ceildiv(N, 128), "grid"))
    return Program("conv", op, (Launch(grid, (Axis("t", Const(32), "block"),), body),))


def even() -> Term:
    return App("eq", (N % 4, Const(0)), BOOL)


PROGRAMS = {
    p.name: p
    for p in (saxpy(), relu_mask(), cast_f16(), scale_bf16(), bytes_u8(), gelu(), rotate(), stencil(), matmul(), row_sum(), conv())
}
