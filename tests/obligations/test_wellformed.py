"""What a program made in Python can get wrong that no text says: each case is one gap, and the corpus has none."""

from __future__ import annotations

import pytest

from tests.obligations.texts import open_codes
from tests.program.library import TEXTS, program
from tinygpu.category.carrier import Carrier
from tinygpu.category.layout import Layout
from tinygpu.category.term import BOOL, INDEX, TRUE, App, Const, Fold, Read, Term, Var, select
from tinygpu.obligations.wellformed import gaps
from tinygpu.program import space
from tinygpu.program.step import Array, Assign, Axis, For, Ghost, If, Launch, Program, Step, Sync
from tinygpu.record import replace

ZERO = Const(0.0, "f32")
ONE = Const(1, "i32")
S, V, W = (Read(name, (), "f32") for name in "svw")
SHARED, LOCAL = Array("s", "f32", (), space.SHARED), Array("v", "f32", (), space.LOCAL)
LANE = Const(1)


def shuffle(value: Term, lane: Term = LANE, dtype: str = "f32", op: str = "shuffle_xor") -> App:
    return App(op, (value, lane), dtype)


def store(value: Term, index: tuple[Term, ...] = (Var("g") * 32 + Var("t"),), guard: Term = TRUE) -> Assign:
    return Assign("z", index, value, "", guard)


def loop(name: str, extent: Term, *body: Step) -> For:
    return For(Axis(name, extent), body)


CASES: dict[str, tuple[tuple[Step, ...], str]] = {
    "a loop inside a loop of its name": ((loop("k", LANE, loop("k", LANE)),), "hides another k"),
    "a loop with the name of a size": ((loop("n", LANE),), "hides another n"),
    "an extent that varies": ((loop("k", LANE, loop("q", Var("k"))),), "k is not known here"),
    "a loop over a number of the data": ((loop("k", Const(2, "i32")),), "the extent of k is no index"),
    "a local declared twice": ((LOCAL, LOCAL), "v hides another v"),
    "a local declared late": ((Assign("v", (), ZERO), LOCAL), "not an array declared before"),
    "a cell of another dtype": ((LOCAL, store(Read("v", (), "f16"))), "v is no cell of f16"),
    "a read of another dtype": ((store(Read("x", (Var("t"),), "f16")),), "x[t] is no cell of f16"),
    "arithmetic across dtypes": ((store(App("add", (ZERO, ONE), "f32")),), "applies add"),
    "an input that is written": ((Assign("x", (Var("t"),), ZERO),), "x is not an array declared before"),
    "the wrong rank": ((store(ZERO, (Var("t"), Const(0))),), "z has 1 indices"),
    "a name from nowhere": ((store(ZERO, (Var("q"),)),), "q is not known here"),
    "a fold that hides an index": ((store(Fold("sum", (Axis("t", Const(3)),), TRUE, ZERO, "f32")),), "hides an index"),
    "a fold of an unknown monoid": ((store(Fold("median", (Axis("k", Const(2)),), TRUE, ZERO, "f32")),), "folds f32"),
    "a guard that is a number": ((store(ZERO, guard=Const(1.0, "f32")),), "is no condition"),
    "a logical update of a float": ((LOCAL, Assign("v", (), ZERO, "any")), "any does not update f32"),
    "an unknown update": ((LOCAL, Assign("v", (), ZERO, "median")), "median does not update f32"),
    "a table of two dtypes": ((store(App("table", (Var("t"), ZERO, ONE), "f32")),), "applies table"),
    "an unknown scope": ((Sync("grid"),), "a barrier of a grid"),
    "a shuffle in an index": ((store(ZERO, (App("cast", (shuffle(ONE, dtype="i32"),), INDEX),)),), "not every lane"),
    "a shuffle in a guard": ((store(ZERO, guard=App("lt", (shuffle(ZERO), ZERO), BOOL)),), "not every lane"),
    "a shuffle in a condition": ((store(select(App("lt", (shuffle(ZERO), ZERO), BOOL), V, ZERO)),), "not every lane"),
    "a shuffle in a branch": ((LOCAL, store(select(Var("t") < 3, shuffle(V), ZERO))), "not every lane"),
    "a shuffle around if": ((If(App("lt", (shuffle(ZERO), ZERO), BOOL), ()),), "not every lane"),
    "a shuffle in a fact": ((LOCAL, Ghost("v", (), shuffle(ZERO))), "not every lane"),
    "a shuffle of an index": ((store(App("cast", (shuffle(Var("t"), dtype=INDEX),), "f32")),), "applies shuffle_xor"),
    "a shuffle by a value": ((store(shuffle(ZERO, ONE)),), "applies shuffle_xor"),
    "a shuffle of another dtype": ((store(shuffle(ONE)),), "applies shuffle_xor"),
    "a shuffle of three": ((store(App("shuffle_xor", (ZERO, LANE, LANE), "f32")),), "applies shuffle_xor"),
    "atomic without an update": ((SHARED, Assign("s", (), ZERO, atomic=True)), "no atomic assignment"),
    "atomic without an instruction": ((SHARED, Assign("s", (), ZERO, "max", atomic=True)), "no atomic max of f32"),
    "atomic on a local": ((LOCAL, Assign("v", (), ZERO, "sum", atomic=True)), "a thread's own"),
    "a shared array of a size": ((Array("s", "f32", (Var("n"),), space.SHARED),), "extents of s"),
    "a shared array of nothing": ((Array("s", "f32", (Const(0),), space.SHARED),), "extents of s"),
    "a shared array of no dtype": ((Array("s", "f31", (), space.SHARED),), "no dtype"),
    "a shared array in a loop": ((For(Axis("k", Const(2)), (SHARED,)),), "in a loop or a guard"),
    "a shared array in a guard": ((If(Var("t") < 1, (SHARED,)),), "in a loop or a guard"),
    "a swizzle onto itself": ((Array("s", "f32", (Const(64),), space.SHARED, Layout(0, (3, 0, 0))),), "not one to one"),
    "a swizzle of bits that no address has": (
        (Array("s", "f32", (Const(12),), space.SHARED, Layout(0, (2, 30, 2))),),
        "not one to one",
    ),
    "a pad and a swizzle": ((Array("s", "f32", (Const(64),), space.SHARED, Layout(1, (3, 0, 3))),), "not one to one"),
    "a workspace in a launch": ((Array("w", "f32", (), space.WORKSPACE),), "the workspace w is declared in a launch"),
    "an input in a launch": ((Array("x", "f32", (), space.INPUT),), "the input x is declared in a launch"),
    "a local with a layout": ((Array("v", "f32", (Const(4),), space.LOCAL, Layout(1)),), "the local v has a layout"),
    "a pad below 0": ((Array("s", "f32", (Const(64),), space.SHARED, Layout(-1)),), "not one to one"),
    "a shared array declared late": ((Assign("s", (), ZERO), SHARED), "not an array declared before"),
    "a shared array with the name of a size": ((Array("n", "f32", (), space.SHARED),), "hides another n"),
    "a shared array with the name of a worker": ((Array("t", "f32", (), space.SHARED),), "hides another t"),
    "a local that leaves its loop": ((For(Axis("k", Const(2)), (LOCAL,)), store(V)), "v is no cell"),
    "a fact about an output": ((Ghost("z", (Var("t"),), ZERO),), "not an array declared before"),
    "a fact about a workspace": ((Ghost("w", (), ZERO),), "not an array declared before"),
}


def reasons(program: Program) -> str:
    return "\n".join(gap.reason for gap in gaps(program))


def with_body(*body: Step) -> Program:
    ring = program(TEXTS["ring_difference"])
    (launch,) = ring.launches
    launch = replace(launch, grid=(replace(launch.grid[0], name="g"),), body=body)
    return replace(ring, launches=(launch,), workspaces=(Array("w", "f32", (), space.WORKSPACE),))


@pytest.mark.parametrize("name", CASES)
def test_what_is_no_program(name: str) -> None:
    body, reason = CASES[name]
    assert reason in reasons(with_body(*body))


def test_nothing_else_is_asked_of_what_is_no_program() -> None:
    assert open_codes(with_body(*CASES["a local declared twice"][0])) == {"TG513"}
    assert not reasons(with_body(store(App("table", (Var("t"), ZERO, ZERO), "f32"))))


def test_arrays_live_in_their_launch_and_have_one_name() -> None:
    ring = program(TEXTS["ring_difference"])
    (launch,) = ring.launches
    use = Launch((), (), (store(S, (LANE,)),))
    assert "s is no cell" in reasons(replace(ring, launches=(launch, use)))
    assert "the shared array s is declared twice" in reasons(replace(ring, launches=(launch, launch)))
    assert "the local w is no workspace" in reasons(replace(ring, workspaces=(Array("w", "f32", (), space.LOCAL),)))
    assert "the workspace s is declared twice" in reasons(replace(ring, workspaces=(Array("s", "f32", (), space.WORKSPACE),)))


def test_a_workspace_has_extents_over_the_sizes() -> None:
    ring = program(TEXTS["ring_difference"])
    for extent in (Var("t"), ONE, Read("n", (), INDEX)):
        assert reasons(replace(ring, workspaces=(Array("w", "f32", (extent,), space.WORKSPACE),)))
    assert not reasons(replace(ring, workspaces=(Array("w", "f32", (Var("n"), Const(3)), space.WORKSPACE),)))


def test_values_of_several_components() -> None:
    pair = Carrier("pair", components=(("m", "f32"), ("k", "i32")))
    value = App("pack", (ZERO, ONE), pair)
    first = App("part", (Read("p", (), pair), Const(0)), "f32")
    good = (Array("p", pair, (), space.LOCAL), Assign("p", (), App(pair, (value, shuffle(value, dtype=pair)), pair)), store(first))
    assert not reasons(with_body(*good))
    for wrong in (App("pack", (ZERO, ZERO), pair), App("add", (value, value), pair), App("cast", (ZERO,), pair)):
        assert "applies" in reasons(with_body(good[0], Assign("p", (), wrong)))
    for place in (Const(2), Const(1), Var("t")):
        assert "applies part" in reasons(with_body(*good[:2], store(App("part", (value, place), "f32"))))
