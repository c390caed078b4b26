"""The simulator runs right programs without a fault, in any order, and computes what numpy computes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.simulate.agree import disagreements, first_disagreement
from tests.simulate.samples import ZERO, at, matmul, mul, saxpy, saxpy_op
from tinygpu.category.number import outside_dtype
from tinygpu.category.term import BOOL, TRUE, App, Axis, Const, Fold, Read, Term, Var, ceildiv, select
from tinygpu.model.op import Equation, Op, Tensor
from tinygpu.program.space import LOCAL
from tinygpu.program.step import Array, Assign, For, Ghost, If, Launch, Program, Step
from tinygpu.record import replace
from tinygpu.simulate.fault import HoldsViolated, Outcome, SimulationBudget, Uninitialised
from tinygpu.simulate.inputs import promised, random_inputs
from tinygpu.simulate.simulate import simulate


def run(program: Program, **sizes: int) -> Outcome:
    return simulate(program, sizes, random_inputs(program.op, sizes))


def test_matmul_is_numpys() -> None:
    sizes = {"M": 70, "N": 33, "K": 19}
    inputs = random_inputs(matmul().op, sizes)
    for order in (None, 1, 2):
        outcome = simulate(matmul(), sizes, inputs, order=order)
        assert not outcome.faults and outcome.outputs["C"].dtype == np.float32
        assert np.allclose(outcome.outputs["C"], inputs["A"].astype(float) @ inputs["B"], atol=1e-5)


def test_an_empty_fold_gives_the_unit_and_empty_outputs_are_empty() -> None:
    assert np.array_equal(run(matmul(), M=3, N=2, K=0).outputs["C"], np.zeros((3, 2)))
    for sizes in ({"M": 0, "N": 5, "K": 3}, {"M": 5, "N": 0, "K": 3}, {"M": 0, "N": 0, "K": 0}):
        outcome = run(matmul(), **sizes)
        assert not outcome.faults and outcome.outputs["C"].shape == (sizes["M"], sizes["N"])


@pytest.mark.parametrize("program", [saxpy(), matmul(), matmul(8, 4), matmul(1, 8)], ids=lambda p: p.name)
def test_right_programs_agree_at_all_sizes_worth_trying(program: Program) -> None:
    assert first_disagreement(program) == ""


@pytest.mark.parametrize("dtype", ["f64", "f32", "f16", "bf16", "i32", "i8", "u8", "u32", "i64"])
def test_saxpy_in_every_dtype(dtype: str) -> None:
    sizes = {"n": 1030}
    inputs = random_inputs(saxpy_op(dtype), sizes, 3)
    assert all(array.dtype == outside_dtype(dtype) for array in inputs.values())
    outcome = simulate(saxpy(dtype), sizes, inputs)
    assert not outcome.faults and outcome.outputs["z"].dtype == outside_dtype(dtype)
    assert disagreements(saxpy(dtype), sizes, 3) == ()
    # numpy (and ml_dtypes) round each operation as the machine does
    assert np.array_equal(outcome.outputs["z"], inputs["a"] * inputs["x"] + inputs["y"])


def test_vectorised_nests_change_nothing() -> None:
    sizes = {"M": 37, "N": 41, "K": 5}
    inputs = random_inputs(matmul().op, sizes)
    fast, slow = (simulate(matmul(), sizes, inputs, vectorise=v) for v in (True, False))
    assert np.array_equal(fast.outputs["C"], slow.outputs["C"])


def test_wrong_inputs_are_refused() -> None:
    inputs = random_inputs(saxpy_op(), {"n": 4})
    with pytest.raises(ValueError, match=r"x has shape \(4,\); at these sizes it is \(5,\)"):
        simulate(saxpy(), {"n": 5}, inputs)


def test_budget() -> None:
    sizes = {"M": 64, "N": 64, "K": 64}
    with pytest.raises(SimulationBudget):
        simulate(matmul(), sizes, random_inputs(matmul().op, sizes), budget=10_000)
    inputs = {"a": np.float32(1), "x": np.zeros(0, np.float32), "y": np.zeros(0, np.float32)}
    crowd = replace(saxpy(), launches=(replace(saxpy().launches[0], grid=(Axis("g", Const(1 << 40), "grid"),)),))
    with pytest.raises(SimulationBudget):
        simulate(crowd, {"n": 0}, inputs)
    with pytest.raises(SimulationBudget):
        random_inputs(matmul().op, {"M": 1 << 20, "N": 1, "K": 1 << 20})


def one_output(name: str, extent: Term, value: Term, *inputs: Tensor) -> Op:
    n = tuple(v for v in ("n",) if extent == Var("n") or any(Var("n") in t.shape for t in inputs))
    return Op(name, n, inputs, (Tensor("z", value.dtype, (extent,), "output"),), (), (Equation("z", (Axis("i", extent),), value),))


def test_the_smallest_launch_has_one_thread_and_no_factors() -> None:
    fold = Fold("sum", (Axis("k", Var("n")),), TRUE, Read("x", (Var("k"),), "f32"), "f32")
    op = one_output("total", Const(1), fold, Tensor("x", "f32", (Var("n"),), "input"))
    body: tuple[Step, ...] = (
        Array("s", "f32", (), LOCAL, span=at(1)),
        Assign("s", (), ZERO, span=at(2)),
        For(Axis("k", Var("n"), "time"), (Assign("s", (), Read("x", (Var("k"),), "f32"), "sum", span=at(3)),)),
        Assign("z", (Const(0),), Read("s", (), "f32"), span=at(4)),
    )
    program = Program("total_one", op, (Launch((), (), body),))
    assert first_disagreement(program) == ""
    folded = replace(program, launches=(Launch((), (), (Assign("z", (Const(0),), fold, span=at(1)),)),))
    assert first_disagreement(folded) == ""


def shifted(then: Term) -> Program:
    """z[i] = x[i-1] if i > 0 else 0, one thread for each element, under an `if`."""
    i = Var("g") * 32 + Var("t")
    value = select(Var("i") > 0, Read("x", (Var("i") - 1,), "f32"), ZERO)
    op = one_output("shift", Var("n"), value, Tensor("x", "f32", (Var("n"),), "input"))
    body = (If(i < Var("n"), (Assign("z", (i,), then, span=at(1)),), at(1)),)
    return Program("shift", op, (Launch((Axis("g", ceildiv(Var("n"), 32), "grid"),), (Axis("t", Const(32), "block"),), body),))


def test_a_padded_read_and_an_if() -> None:
    i = Var("g") * 32 + Var("t")
    assert first_disagreement(shifted(select(i > 0, Read("x", (i - 1,), "f32"), ZERO))) == ""
    assert "x[-1] is outside: axis 0" in first_disagreement(shifted(Read("x", (i - 1,), "f32")))


def counted(*, inside: bool, limit: Term) -> Program:
    """Each thread t of 8 adds 1 `limit` times; the local is declared inside or outside of a loop over two rounds."""
    t, cell = Var("t"), Array("c", "i32", (Const(2),), LOCAL, span=at(1))
    fill = For(Axis("f", Const(2), "register"), (Assign("c", (Var("f"),), Const(0, "i32"), span=at(2)),))
    more = For(Axis("k", limit, "time"), (Assign("c", (Var("k") % 2,), Const(1, "i32"), "sum", span=at(3)),))
    total = App("add", (Read("c", (Const(0),), "i32"), Read("c", (Const(1),), "i32")), "i32")
    body: tuple[Step, ...] = (cell, For(Axis("r", Const(2), "time"), (fill, more)))
    if inside:  # the second round finds its cells unwritten, as only the first one fills them
        body = (For(Axis("r", Const(2), "time"), (cell, If(Var("r") < 1, (fill,)), more)),)
    op = one_output("count", Const(8), App("cast", (limit if limit != t else Var("i"),), "i32"))
    return Program("count", op, (Launch((), (Axis("t", Const(8), "block"),), (*body, Assign("z", (t,), total, span=at(4)))),))


def test_a_nest_of_one_iteration_under_a_guard() -> None:
    """y[i] = Σ x[k] for k <= i: at n = 1 the loop is a nest of one point, and the guard still has an axis for it."""
    i, k = Var("g") * 32 + Var("t"), Var("k")
    upto = Fold("sum", (Axis("k", Var("n")),), App("le", (k, Var("i")), BOOL), Read("x", (k,), "f32"), "f32")
    op = one_output("prefix", Var("n"), upto, Tensor("x", "f32", (Var("n"),), "input"))
    more = Assign("s", (), Read("x", (k,), "f32"), "sum", App("le", (k, i), BOOL), at(3))
    body = (
        Array("s", "f32", (), LOCAL, span=at(1)),
        Assign("s", (), ZERO, span=at(2)),
        For(Axis("k", Var("n"), "time"), (more,)),
        Assign("z", (i,), Read("s", (), "f32"), "", i < Var("n"), at(4)),
    )
    launch = Launch((Axis("g", ceildiv(Var("n"), 32), "grid"),), (Axis("t", Const(32), "block"),), body)
    assert first_disagreement(Program("prefix", op, (launch,))) == ""


def test_lanes_may_loop_differently_long() -> None:
    assert disagreements(counted(inside=False, limit=Var("t")), {}) == ()
    assert disagreements(counted(inside=False, limit=Const(5)), {}) == ()


def test_declaring_a_local_again_forgets_it() -> None:
    outcome = run(counted(inside=True, limit=Const(3)))
    assert {type(f) for f in outcome.faults} == {Uninitialised}
    first = outcome.faults[0]
    assert isinstance(first, Uninitialised)
    assert (first.at.lane, first.at.loops, first.index) == ((("t", 0),), (("r", 1), ("k", 0)), (0,))


def test_cells_may_be_indexed_by_the_lane() -> None:
    t = Var("t")
    body: tuple[Step, ...] = (
        Array("c", "i32", (Const(4),), LOCAL, span=at(1)),
        Assign("c", (t % 4,), App("cast", (t * t,), "i32"), span=at(2)),
        Assign("c", (t % 4,), Const(1, "i32"), "sum", span=at(3)),
        Assign("z", (t,), Read("c", (t % 4,), "i32"), span=at(4)),
    )
    op = one_output("squares", Const(8), App("cast", (Var("i") * Var("i") + 1,), "i32"))
    program = Program("squares", op, (Launch((), (Axis("t", Const(8), "block"),), body),))
    assert disagreements(program, {}) == ()

    def reading(cell: Term) -> tuple[str, ...]:
        last = Assign("z", (t,), Read("c", (cell,), "i32"), span=at(4))
        return disagreements(replace(program, launches=(replace(program.launches[0], body=(*body[:3], last)),)), {})

    assert "t=4: c[4] is outside: axis 0 has extent 4" in reading(t)
    assert reading((t + 1) % 4)[0] == "t=0: c[1] is read before this thread has written it"


def test_a_gather_stays_in_range() -> None:
    i = Var("i")
    at_idx = App("cast", (Read("idx", (i,), "i32"),), "index")
    op = one_output(
        "gather",
        Var("n"),
        Read("w", (at_idx,), "f32"),
        Tensor("w", "f32", (Const(7),), "input"),
        Tensor("idx", "i32", (Var("n"),), "input"),
    )
    body = Assign("z", (Var("g"),), Read("w", (App("cast", (Read("idx", (Var("g"),), "i32"),), "index"),), "f32"), span=at(1))
    program = Program("gather", op, (Launch((Axis("g", Var("n"), "grid"),), (), (body,)),))
    assert first_disagreement(program) == ""
    place = Read("idx", (Var("t"),), "i32")
    inside = App("and", (App("le", (Const(0, "i32"), place), BOOL), App("lt", (place, Const(7, "i32")), BOOL)), BOOL)
    op = replace(op, promises=(Fold("all", (Axis("t", Var("n")),), TRUE, inside, BOOL),))
    inputs = random_inputs(op, {"n": 3})
    assert promised(op, {"n": 3}, inputs) and not promised(op, {"n": 3}, {**inputs, "idx": np.array([0, 7, 6], np.int32)})
    outcome = simulate(program, {"n": 3}, {**inputs, "idx": np.array([0, 7, 6], np.int32)})
    assert [type(f).__name__ for f in outcome.faults] == ["OutOfBounds"]


@pytest.mark.parametrize("right", [True, False])
def test_ghost_facts_are_checked(right: bool) -> None:
    """In the loop over k: acc holds the sum over the earlier l (or, wrongly, over these and k)."""
    program, k, ell = matmul(), Var("k"), Var("l")
    i, j = (Var(b) * 32 + Var(t) * 4 + Var(r) for b, t, r in (("by", "ty", "ri"), ("bx", "tx", "rj")))
    product = mul(Read("A", (i, ell), "f32"), Read("B", (ell, j), "f32"))
    inside = App("and", (i < Var("M"), j < Var("N")), BOOL)
    known = Fold("sum", (Axis("l", k if right else k + 1),), inside, product, "f32")
    fact = For(
        Axis("ri", Const(4), "register"),
        (For(Axis("rj", Const(4), "register"), (Ghost("acc", (Var("ri"), Var("rj")), known, at(9)),)),),
    )
    launch = program.launches[0]
    loops = tuple(replace(s, body=(fact, *s.body)) if isinstance(s, For) and s.axis.name == "k" else s for s in launch.body)
    found = disagreements(replace(program, launches=(replace(launch, body=loops),)), {"M": 34, "N": 33, "K": 40})
    if right:
        assert found == ()
    else:
        assert found and all("as the program says" in line for line in found)
        outcome = run(replace(program, launches=(replace(launch, body=loops),)), M=3, N=3, K=2)
        assert all(isinstance(f, HoldsViolated) and f.at.span == at(9) for f in outcome.faults)


def test_everything_is_deterministic() -> None:
    sizes = {"M": 40, "N": 40, "K": 3}
    first, second = (simulate(matmul(), sizes, random_inputs(matmul().op, sizes, 5), order=7) for _ in range(2))
    assert first.faults == second.faults and np.array_equal(first.outputs["C"], second.outputs["C"])
