"""Programs by hand whose threads cooperate: tiles in a block's memory, a butterfly, a histogram, a sum in two launches.

Comes in: nothing. Goes out: programs by name. The one idea: each has one thing more that an emitter must get right.
"""

from __future__ import annotations

from tests.emit.hand_programs import K, M, N, at, f32, i, j, k, loop, n, plus, t, tensor, times
from tinygpu.category.term import TRUE, App, Axis, Const, Fold, Term, Var, ceildiv, conjunction, select
from tinygpu.model.op import Equation, Op
from tinygpu.program.layout import PLAIN, Layout
from tinygpu.program.step import Assign, Barrier, If, Launch, Local, Program, Shared, Step, Workspace

b, ko, ki, tx, ty = map(Var, ("b", "ko", "ki", "tx", "ty"))


def grid(*axes: tuple[str, Term]) -> tuple[Axis, ...]:
    return tuple(Axis(name, extent, "grid") for name, extent in axes)


def threads(**extents: int) -> tuple[Axis, ...]:
    return tuple(Axis(name, Const(extent), "block") for name, extent in extents.items())


def matmul_op(dtype: str = "f32") -> Op:
    product = times(at("A", dtype, i, k), at("B", dtype, k, j))
    equation = Equation("C", (Axis("i", M), Axis("j", N)), Fold("sum", (Axis("k", K),), TRUE, product, dtype))
    inputs = (tensor("A", dtype, M, K), tensor("B", dtype, K, N))
    return Op("matmul", ("M", "K", "N"), inputs, (tensor("C", dtype, M, N, role="output"),), (), (equation,))


def matmul_shared(tail: bool = True) -> Program:
    """128 × 128 elements a block, 8 × 8 a thread, eight steps of k at once through two tiles; A's is transposed and padded."""
    ri, rh, rj, rg, v = map(Var, ("ri", "rh", "rj", "rg", "v"))
    row = Var("by") * 128 + rg * 64 + ty * 4 + ri
    column = Var("bx") * 128 + rh * 64 + tx * 4 + rj
    flat = ty * 16 + tx
    a_row, a_k = flat // 2, flat % 2 * 4 + v
    b_k, b_column = flat // 32, flat % 32 * 4 + v
    inside_a = conjunction(Var("by") * 128 + a_row < M, ko * 8 + a_k < K)
    inside_b = conjunction(ko * 8 + b_k < K, Var("bx") * 128 + b_column < N)
    a_value: Term = at("A", "f32", Var("by") * 128 + a_row, ko * 8 + a_k)
    b_value: Term = at("B", "f32", ko * 8 + b_k, Var("bx") * 128 + b_column)
    if tail:
        a_value, b_value = select(inside_a, a_value, f32(0.0)), select(inside_b, b_value, f32(0.0))

    def each(*body: Step) -> Step:
        inner = loop("rh", 2, loop("rj", 4, *body, sort="register"), sort="register")
        return loop("rg", 2, loop("ri", 4, inner, sort="register"), sort="register")

    cell = (rg, ri, rh, rj)
    body: tuple[Step, ...] = (
        Shared("sA", "f32", (Const(8), Const(128)), Layout(pad=4)),
        Shared("sB", "f32", (Const(8), Const(128))),
        Local("acc", "f32", (Const(2), Const(4), Const(2), Const(4))),
        Local("a", "f32", (Const(2), Const(4))),
        Local("b", "f32", (Const(2), Const(4))),
        each(Assign("acc", cell, f32(0.0))),
        loop(
            "ko",
            ceildiv(K, 8),
            loop("v", 4, Assign("sA", (a_k, a_row), a_value), sort="vector"),
            loop("v", 4, Assign("sB", (b_k, b_column), b_value), sort="vector"),
            Barrier(),
            loop(
                "ki",
                8,
                loop("rg", 2, loop("ri", 4, Assign("a", (rg, ri), at("sA", "f32", ki, rg * 64 + ty * 4 + ri)), sort="vector"), sort="register"),
                loop("rh", 2, loop("rj", 4, Assign("b", (rh, rj), at("sB", "f32", ki, rh * 64 + tx * 4 + rj)), sort="vector"), sort="register"),
                each(Assign("acc", cell, times(at("a", "f32", rg, ri), at("b", "f32", rh, rj)), "sum")),
            ),
            Barrier(),
        ),
        loop(
            "rg",
            2,
            loop(
                "ri",
                4,
                loop("rh", 2, loop("rj", 4, Assign("C", (row, column), at("acc", "f32", *cell), guard=conjunction(row < M, column < N) if tail else TRUE), sort="vector"), sort="register"),
                sort="register",
            ),
            sort="register",
        ),
    )  # fmt: skip
    where = () if tail else tuple(App("eq", (s % by, Const(0)), "bool") for s, by in ((M, 128), (K, 8), (N, 128)))
    blocks = grid(("by", ceildiv(M, 128)), ("bx", ceildiv(N, 128)))
    name = "matmul_shared" if tail else "matmul_whole"
    return Program(name, matmul_op(), (Launch(blocks, threads(ty=16, tx=16), body),), where)


def transpose(layout: Layout, name: str) -> Program:
    """Tiles of 32 × 32 through a block's memory, four rows of a tile for each thread."""
    h, u = Var("h"), Var("u")
    equation = Equation("y", (Axis("j", N), Axis("i", M)), at("x", "f32", i, j))
    op = Op("transpose", ("M", "N"), (tensor("x", "f32", M, N),), (tensor("y", "f32", N, M, role="output"),), (), (equation,))
    bi, bj = Var("bi") * 32, Var("bj") * 32
    load = Assign(
        "s", (h * 8 + ty, tx), at("x", "f32", bi + h * 8 + ty, bj + tx), guard=conjunction(bi + h * 8 + ty < M, bj + tx < N)
    )
    store = Assign(
        "y", (bj + u * 8 + ty, bi + tx), at("s", "f32", tx, u * 8 + ty), guard=conjunction(bj + u * 8 + ty < N, bi + tx < M)
    )
    body = (
        Shared("s", "f32", (Const(32), Const(32)), layout),
        loop("h", 4, load, sort="register"),
        Barrier(),
        loop("u", 4, store, sort="register"),
    )
    return Program(name, op, (Launch(grid(("bi", ceildiv(M, 32)), ("bj", ceildiv(N, 32))), threads(ty=8, tx=32), body),))


def sum_op() -> Op:
    equation = Equation("s", (), Fold("sum", (Axis("i", n),), TRUE, at("x", "f32", i), "f32"))
    return Op("total", ("n",), (tensor("x", "f32", n),), (tensor("s", "f32", role="output"),), (), (equation,))


def butterfly(value: Term, monoid: str) -> list[Step]:
    """`v ⊕= v of lane ^ d` for d = 16, 8, 4, 2, 1."""
    return [Assign("v", (), App("shuffle_xor", (value, Const(d)), value.dtype), monoid) for d in (16, 8, 4, 2, 1)]


def total_two() -> Program:
    """64 blocks leave their sums in a workspace, by warps and through a block's memory; a second launch adds them."""
    here = (Var("c") * 64 + b) * 128 + t
    v = at("v", "f32")
    first: tuple[Step, ...] = (
        Local("v", "f32", ()),
        Shared("w", "f32", (Const(4),)),
        Assign("v", (), f32(0.0)),
        loop("c", ceildiv(n, 8192), Assign("v", (), at("x", "f32", here), "sum", guard=here < n)),
        *butterfly(v, "sum"),
        Assign("w", (t // 32,), v, guard=App("eq", (t % 32, Const(0)), "bool")),
        Barrier(),
        If(t < 1, (Assign("part", (b,), plus(plus(plus(at("w", "f32", Const(0)), at("w", "f32", Const(1))), at("w", "f32", Const(2))), at("w", "f32", Const(3)))),)),
    )  # fmt: skip
    total = at("u", "f32")
    second: tuple[Step, ...] = (
        Local("u", "f32", ()),
        Assign("u", (), plus(at("part", "f32", t), at("part", "f32", t + 32))),
        *(Assign("u", (), App("shuffle_down", (total, Const(d)), "f32"), "sum") for d in (16, 8, 4, 2, 1)),
        Assign("s", (), total, guard=t < 1),
    )
    launches = (Launch(grid(("b", Const(64))), threads(t=128), first), Launch((), threads(t=32), second))
    return Program("total_two", sum_op(), launches, workspaces=(Workspace("part", "f32", (Const(64),)),))


def histogram() -> Program:
    """Counts first in a block's memory, then in a workspace, by updates that nothing interrupts; a last launch copies them."""
    here = b * 256 + t
    bin_ = at("x", "i32", here)
    where = App("cast", (bin_,), "index")
    counted = select(App("eq", (at("x", "i32", i), App("cast", (j,), "i32")), "bool"), Const(1, "u32"), Const(0, "u32"))
    equation = Equation("h", (Axis("j", Const(64)),), Fold("sum", (Axis("i", n),), TRUE, counted, "u32"))
    inputs, outputs = (tensor("x", "i32", n),), (tensor("h", "u32", 64, role="output"),)
    op = Op("histogram", ("n",), inputs, outputs, (), (equation,))
    zero = Launch((), threads(z=64), (Assign("all", (Var("z"),), Const(0, "u32")),))
    body: tuple[Step, ...] = (
        Shared("near", "u32", (Const(64),)),
        If(t < 64, (Assign("near", (t,), Const(0, "u32")),)),
        Barrier(),
        Assign("near", (where,), Const(1, "u32"), "sum", here < n, atomic=True),
        Barrier(),
        If(t < 64, (Assign("all", (t,), at("near", "u32", t), "sum", atomic=True),)),
    )
    copy = Launch((), threads(z=64), (Assign("h", (Var("z"),), at("all", "u32", Var("z"))),))
    return Program("histogram", op, (zero, Launch(grid(("b", ceildiv(n, 256))), threads(t=256), body), copy), workspaces=(Workspace("all", "u32", (Const(64),)),))  # fmt: skip


PROGRAMS = {
    p.name: p
    for p in (
        matmul_shared(),
        matmul_shared(tail=False),
        transpose(PLAIN, "transpose_plain"),
        transpose(Layout(pad=1), "transpose_padded"),
        transpose(Layout(swizzle=(5, 0, 5)), "transpose_swizzled"),
        total_two(),
        histogram(),
    )
}
