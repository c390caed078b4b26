"""Programs broken in one place: the simulator names the fault, the lane, the loops and the element, or the result is wrong."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.simulate.agree import disagreements, first_disagreement
from tests.simulate.samples import at, broken, matmul, saxpy
from tinygpu.category.term import TRUE, App, Axis, Const, Read, Var, conjunction, substitute
from tinygpu.program.step import Assign, Program, Step
from tinygpu.record import replace
from tinygpu.simulate.fault import (
    At,
    DivisionByZero,
    DoubleStore,
    Fault,
    NeverStored,
    Outcome,
    OutOfBounds,
    ReadOutput,
    Uninitialised,
    sentence,
)
from tinygpu.simulate.inputs import random_inputs
from tinygpu.simulate.simulate import simulate

I = (Var("g") * 256 + Var("t")) * 4 + Var("v")
ROW = Var("by") * 32 + Var("ty") * 4 + Var("ri")
COLUMN = Var("bx") * 32 + Var("tx") * 4 + Var("rj")


def run(program: Program, order: int | None = None, vectorise: bool = True, cap: int = 20, **sizes: int) -> Outcome:
    return simulate(program, sizes, random_inputs(program.op, sizes), order=order, vectorise=vectorise, cap=cap)


def kinds(outcome: Outcome) -> set[type[Fault]]:
    return {type(fault) for fault in outcome.faults}


def test_a_weak_guard_is_out_of_bounds() -> None:
    outcome = run(broken(saxpy(), 2, lambda s: replace(s, guard=App("le", (I, Var("n")), "bool"))), n=1030)
    who = At(at(2), 0, (("g", 1), ("t", 1)), (("v", 2),))
    wrong = [OutOfBounds(who, array, (1030,), 0, 1030) for array in ("x", "y", "z")]
    assert list(outcome.faults) == wrong
    assert sentence(wrong[2]) == "g=1 t=1 at v=2: z[1030] is outside: axis 0 has extent 1030"


def test_a_weak_guard_may_be_right_by_chance_at_one_size_only() -> None:
    weak = broken(saxpy(), 2, lambda s: replace(s, guard=TRUE))
    assert disagreements(weak, {"n": 1024}) == ()
    assert first_disagreement(weak).startswith("at n = 1: ")


def test_a_strong_guard_leaves_elements_out() -> None:
    outcome = run(broken(saxpy(), 2, lambda s: replace(s, guard=Var("n") - 2 > I)), n=9)
    assert outcome.faults == (NeverStored("z", (7,)), NeverStored("z", (8,)))


def test_storing_twice_is_a_fault_though_the_values_are_equal() -> None:
    narrow = {"v": Var("v") % 2}
    twice = broken(saxpy(), 2, lambda s: replace(s, index=(substitute(I, narrow),), value=substitute(s.value, narrow)))
    for vectorise in (True, False):
        outcome = run(twice, vectorise=vectorise, n=6)
        assert kinds(outcome) == {DoubleStore, NeverStored}
        first = outcome.faults[0]
        assert isinstance(first, DoubleStore) and first.index == (0,)
        assert (first.first.lane, first.first.loops) == ((("g", 0), ("t", 0)), (("v", 0),))
        assert (first.at.lane, first.at.loops) == ((("g", 0), ("t", 0)), (("v", 2),))


def test_two_lanes_of_one_step_and_of_different_blocks() -> None:
    def without(factor: str) -> Program:
        return broken(saxpy(), 2, lambda s: replace(s, index=(substitute(I, {factor: Const(0)}),)))

    first = run(without("t"), n=8).faults[0]
    assert isinstance(first, DoubleStore) and dict(first.first.lane)["t"] != dict(first.at.lane)["t"]
    for order in (None, 3, 4):
        first = run(without("g"), order, n=2000).faults[0]
        assert isinstance(first, DoubleStore) and {dict(first.first.lane)["g"], dict(first.at.lane)["g"]} == {0, 1}


def test_a_forgotten_start_is_an_uninitialised_read() -> None:
    forgotten = broken(matmul(), 2, lambda s: None)
    outcome = run(forgotten, M=3, N=3, K=2)
    assert kinds(outcome) == {Uninitialised}
    first = outcome.faults[0]
    assert isinstance(first, Uninitialised) and (first.array, first.index) == ("acc", (0, 0))
    assert sentence(first) == "by=0 bx=0 ty=0 tx=0 at k=0 ri=0 rj=0: acc[0, 0] is read before this thread has written it"
    assert kinds(run(forgotten, M=3, N=3, K=0)) == {Uninitialised}  # now at the store


def test_a_start_of_half_the_cells() -> None:
    half = broken(matmul(), 2, lambda s: replace(s, guard=Var("rj") < 2))
    outcome = run(half, M=3, N=3, K=1)
    assert kinds(outcome) == {Uninitialised}
    assert all(isinstance(f, Uninitialised) and f.index[1] >= 2 for f in outcome.faults)


def test_reading_or_updating_an_output() -> None:
    update = broken(matmul(), 8, lambda s: replace(s, update="sum"))
    assert ReadOutput in kinds(run(update, M=2, N=2, K=1))
    copy = broken(saxpy(), 2, lambda s: replace(s, value=Read("z", (I,), "f32")))
    assert kinds(run(copy, n=3)) == {ReadOutput}


def test_a_division_by_zero_only_where_it_is_evaluated() -> None:
    divided = broken(saxpy(), 2, lambda s: replace(s, index=(I + Const(0) // (I - 5),)))
    outcome = run(divided, n=8)
    assert kinds(outcome) == {DivisionByZero}
    assert sentence(outcome.faults[0]) == "g=0 t=1 at v=1: division by zero or of a negative number in 0 // ((g*256 + t)*4 + v - 5)"
    assert run(divided, n=5).faults == ()


def test_wrong_values_without_a_fault_are_found_by_the_reference() -> None:
    a = Read("a", (Var("ri"),), "f32")
    changes: dict[int, Callable[[Assign], Step | None]] = {
        5: lambda s: replace(s, value=substitute(s.value, {"ri": Const(3) - Var("ri")})),  # rows of a tile reversed
        7: lambda s: replace(s, value=App("mul", (a, a), "f32")),
        8: lambda s: replace(s, value=Read("acc", (Var("rj"), Var("ri")), "f32")),  # the tile transposed
    }
    for line, change in changes.items():
        program = broken(matmul(), line, change)
        assert run(program, M=32, N=32, K=3).faults == ()
        assert "C[" in first_disagreement(program), line
    largest = broken(matmul(), 7, lambda s: replace(s, update="max"))
    assert "C[" in first_disagreement(largest)


def test_a_change_that_does_not_matter_is_not_reported() -> None:
    # what the tail of a tile is filled with is never stored
    filled = broken(
        matmul(), 5, lambda s: replace(s, value=App("select", (Var("M") > ROW, s.value.args[1], Const(1.0, "f32")), "f32"))
    )  # type: ignore[union-attr]
    assert first_disagreement(filled) == ""


def test_transposed_reads_leave_the_array() -> None:
    turned = broken(matmul(), 6, lambda s: replace(s, value=Read("B", (COLUMN, Var("k")), "f32")))
    outcome = run(turned, M=4, N=5, K=2)
    first = outcome.faults[0]
    assert isinstance(first, OutOfBounds) and (first.array, first.index, first.axis, first.extent) == ("B", (4, 0), 0, 2)


def test_each_axis_is_in_bounds_by_itself() -> None:
    """C[i, j] one column too far is a good flat address: only the check by axes sees it."""
    wide = broken(matmul(), 8, lambda s: replace(s, guard=conjunction(Var("M") - 1 > ROW, Var("N") + 1 > COLUMN)))
    assert any(isinstance(f, OutOfBounds) and f.axis == 1 for f in run(wide, M=4, N=5, K=1).faults)


@pytest.mark.parametrize("order", [None, 1])
def test_the_same_faults_with_and_without_vectorised_nests(order: int | None) -> None:
    programs = [
        broken(matmul(), 2, lambda s: None),
        broken(matmul(), 2, lambda s: replace(s, guard=Var("ri") < Var("tx"))),
        broken(matmul(), 5, lambda s: replace(s, value=Read("A", (ROW, Var("k")), "f32"))),
        broken(matmul(), 7, lambda s: replace(s, index=(Var("ri") + 1, Var("rj")))),
        broken(matmul(), 8, lambda s: replace(s, guard=TRUE)),
        broken(matmul(), 8, lambda s: replace(s, index=(ROW // 2, COLUMN))),
    ]
    for program in programs:
        fast, slow = (run(program, order, vectorise, cap=10**6, M=34, N=33, K=2) for vectorise in (True, False))
        assert fast.faults and kinds(fast) == kinds(slow)
        assert {f.array for f in fast.faults} == {f.array for f in slow.faults}  # type: ignore[union-attr]


def test_cells_outside_a_local() -> None:
    outcome = run(broken(matmul(), 5, lambda s: replace(s, index=(Var("ri") + 1,))), M=4, N=4, K=1)
    assert OutOfBounds in kinds(outcome) and Uninitialised in kinds(outcome)


def test_few_faults_are_kept_and_one_step_leaves_room_for_others() -> None:
    both = broken(broken(matmul(), 2, lambda s: None), 8, lambda s: replace(s, guard=TRUE))
    outcome = run(both, M=5, N=5, K=40)
    assert len(outcome.faults) <= 20 and kinds(outcome) >= {Uninitialised, OutOfBounds}
    assert len(run(both, cap=2, M=5, N=5, K=40).faults) == 2


def test_a_loop_that_is_too_short() -> None:
    program = matmul()
    loop = next(s for s in program.launches[0].body if getattr(getattr(s, "axis", None), "name", "") == "k")
    short = replace(loop, axis=Axis("k", Var("K") - 1, "time"))  # type: ignore[type-var]
    body = tuple(short if s is loop else s for s in program.launches[0].body)
    assert "C[" in first_disagreement(replace(program, launches=(replace(program.launches[0], body=body),)))
