"""What a program made in Python can get wrong that no text says: each case is one gap, and the corpus has none."""

from __future__ import annotations

import pytest

from tests.obligations.texts import open_codes
from tests.program.library import TEXTS, program
from tinygpu.category.carrier import Carrier
from tinygpu.category.layout import Layout
from tinygpu.category.term import BOOL, INDEX, TRUE, App, Const, Fold, Read, Term, Var, select
from tinygpu.obligations import wellformed
from tinygpu.program import space
from tinygpu.program.call import Sync
from tinygpu.program.step import Array, Assign, Axis, For, Ghost, If, Launch, Program, Step
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


ANOTHER = "its text says another program"
CASES: dict[str, tuple[tuple[Step, ...], str]] = {
    "a loop inside a loop of its name": ((loop("k", LANE, loop("k", LANE)),), "the loop k hides an index"),
    "a loop with the name of a size": ((loop("n", LANE),), "the loop n hides a size"),
    "an extent that varies": ((loop("k", Const(2), loop("q", Var("k"))),), ANOTHER),
    "a loop over a number of the data": ((loop("k", Const(2, "i32")),), ANOTHER),
    "a local declared twice": ((LOCAL, LOCAL), "the local v is declared twice"),
    "a local declared late": ((Assign("v", (), ZERO), LOCAL), "unknown name v"),
    "a cell of another dtype": ((LOCAL, store(Read("v", (), "f16"))), ANOTHER),
    "a read of another dtype": ((store(Read("x", (Var("t"),), "f16")),), ANOTHER),
    "arithmetic across dtypes": ((store(App("add", (ZERO, ONE), "f32")),), ANOTHER),
    "an input that is written": ((Assign("x", (Var("t"),), ZERO),), "the input x is assigned"),
    "the wrong rank": ((store(ZERO, (Var("t"), Const(0))),), "z has 1 axis, not 2"),
    "a name from nowhere": ((store(ZERO, (Var("q"),)),), "unknown name q"),
    "a fold that hides an index": ((store(Fold("sum", (Axis("t", Const(3)),), TRUE, ZERO, "f32")),), "the index t hides an index"),
    "a fold of an unknown monoid": ((store(Fold("median", (Axis("k", Const(2)),), TRUE, ZERO, "f32")),), "unknown fold median"),
    "a guard that is a number": ((store(ZERO, guard=Const(1.0, "f32")),), "where a condition is needed"),
    "a logical update of a float": ((LOCAL, Assign("v", (), ZERO, "any")), "any is not defined for f32"),
    "an unknown update": ((LOCAL, Assign("v", (), ZERO, "median")), "unknown monoid median"),
    "a table of two dtypes": ((store(App("table", (Var("t"), ZERO, ONE), "f32")),), "unknown function table"),
    "an unknown scope": ((Sync("grid"),), "grid barrier"),
    "a shuffle in an index": ((store(ZERO, (App("cast", (shuffle(ONE, dtype="i32"),), INDEX),)),), "a shuffle stands in an index"),
    "a shuffle in a guard": ((store(ZERO, guard=App("lt", (shuffle(ZERO), ZERO), BOOL)),), "a shuffle stands in a condition"),
    "a shuffle in a condition": (
        (store(select(App("lt", (shuffle(ZERO), ZERO), BOOL), V, ZERO)),),
        "a shuffle stands in a condition",
    ),
    "a shuffle in a branch": ((LOCAL, store(select(Var("t") < 3, shuffle(V), ZERO))), "a shuffle stands in a branch"),
    "a shuffle around if": ((If(App("lt", (shuffle(ZERO), ZERO), BOOL), ()),), "a shuffle stands in a condition"),
    "a shuffle in a fact": ((LOCAL, Ghost("v", (), shuffle(ZERO))), "a shuffle stands in a ghost fact"),
    "a shuffle of an index": (
        (store(App("cast", (shuffle(Var("t"), dtype=INDEX),), "f32")),),
        "shuffle_xor is not defined for an index",
    ),
    "a shuffle by a value": ((store(shuffle(ZERO, ONE)),), ANOTHER),
    "a shuffle of another dtype": ((store(shuffle(ONE)),), ANOTHER),
    "a shuffle of three": ((store(App("shuffle_xor", (ZERO, LANE, LANE), "f32")),), "shuffle_xor takes 2 arguments"),
    "atomic without an update": ((SHARED, Assign("s", (), ZERO, atomic=True)), "a plain assignment is not atomic"),
    "atomic without an instruction": ((SHARED, Assign("s", (), ZERO, "max", atomic=True)), "no atomic max of f32"),
    "atomic on a local": ((LOCAL, Assign("v", (), ZERO, "sum", atomic=True)), "the local v is updated atomically"),
    "a shared array of a size": ((Array("s", "f32", (Var("n"),), space.SHARED),), "the extent of s is not a number"),
    "a shared array of nothing": ((Array("s", "f32", (Const(0),), space.SHARED),), "an extent is at least 1"),
    "a shared array of no dtype": ((Array("s", "f31", (), space.SHARED),), "unknown dtype f31"),
    "a shared array in a loop": ((For(Axis("k", Const(2)), (SHARED,)),), "the shared array s is declared inside a step"),
    "a shared array in a guard": ((If(Var("t") < 1, (SHARED,)),), "the shared array s is declared inside a step"),
    "a swizzle onto itself": ((Array("s", "f32", (Const(64),), space.SHARED, Layout(0, (3, 0, 0))),), "not one to one"),
    "a swizzle of bits that no address has": (
        (Array("s", "f32", (Const(12),), space.SHARED, Layout(0, (2, 30, 2))),),
        "not one to one",
    ),
    "a pad and a swizzle": ((Array("s", "f32", (Const(64),), space.SHARED, Layout(1, (3, 0, 3))),), "a pad or a swizzle, not both"),
    "a workspace in a launch": ((Array("w", "f32", (), space.WORKSPACE),), "the workspace w is declared in a launch"),
    "an input in a launch": ((Array("x", "f32", (), space.INPUT),), "the input x hides a tensor"),
    "a local with a layout": ((Array("v", "f32", (Const(4),), space.LOCAL, Layout(1)),), ANOTHER),
    "a pad below 0": ((Array("s", "f32", (Const(64),), space.SHARED, Layout(-1)),), "not one to one"),
    "a shared array declared late": ((Assign("s", (), ZERO), SHARED), "unknown name s"),
    "a shared array with the name of a size": ((Array("n", "f32", (), space.SHARED),), "the shared array n hides a size"),
    "a shared array with the name of a worker": ((Array("t", "f32", (), space.SHARED),), "the shared array t hides an index"),
    "a local that leaves its loop": ((For(Axis("k", Const(2)), (LOCAL,)), store(V)), "v is not known here"),
    "a fact about an output": ((Ghost("z", (Var("t"),), ZERO),), "a fact about the output z"),
    "a fact about a workspace": ((Ghost("w", (), ZERO),), "a fact about the workspace w"),
}


def reasons(program: Program) -> str:
    return "\n".join(gap.reason for gap in wellformed(program))


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
    assert not reasons(with_body(LOCAL, Assign("v", (), ZERO), store(shuffle(V))))


def test_arrays_live_in_their_launch_and_have_one_name() -> None:
    ring = program(TEXTS["ring_difference"])
    (launch,) = ring.launches
    use = Launch((), (), (store(S, (LANE,)),))
    assert "s is not known here" in reasons(replace(ring, launches=(launch, use)))
    assert "the shared array s is declared twice" in reasons(replace(ring, launches=(launch, launch)))
    assert "a step stands beside launches" in reasons(replace(ring, workspaces=(Array("w", "f32", (), space.LOCAL),)))
    assert "the shared array s is declared twice" in reasons(replace(ring, workspaces=(Array("s", "f32", (), space.WORKSPACE),)))


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

    def said(*body: Step) -> str:
        made = with_body(*body)
        return reasons(replace(made, op=replace(made.op, monoids=(pair,))))

    assert not said(*good)
    assert "unknown dtype pair" in reasons(with_body(*good))
    for wrong, reason in (
        (App("pack", (ZERO, ZERO), pair), ANOTHER),
        (App("add", (value, value), pair), "+ is not defined for pair"),
        (App("cast", (ZERO,), pair), "pair takes m and k"),
    ):
        assert reason in said(good[0], Assign("p", (), wrong))
    for place, reason in ((Const(2), "pair has no component 2"), (Const(1), "z holds f32, the value is i32"), (Var("t"), "part")):
        assert reason in said(*good[:2], store(App("part", (value, place), "f32")))
