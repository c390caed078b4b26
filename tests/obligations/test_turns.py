"""What the cells of a loop hold is found when it is asked for: nobody pays for what is written again before it is read.

Comes in: small programs with loops. Goes out: which cells were asked, and that what they hold is the same in whichever order that happens. The one idea: the closed
forms are those of `recurrence`, so what is seen here is only when, and of which cells, they are made.
"""

from __future__ import annotations

import random

import pytest

from tests.obligations.texts import COPY, SUM, open_codes, program
from tinygpu.category.region import Region
from tinygpu.category.term import App, Axis, Read, Term, Var, lift
from tinygpu.obligations import turns
from tinygpu.obligations.cells import Cells, State, unwritten
from tinygpu.obligations.dataflow import execute
from tinygpu.obligations.recurrence import UNSOLVED
from tinygpu.obligations.trace import Store
from tinygpu.obligations.turns import Turns
from tinygpu.program.space import LOCAL
from tinygpu.program.step import Array
from tinygpu.record import replace

LOOP = Axis("x", Var("N"), "time")


class Plain:
    """An execution that settles nothing and names nothing."""

    op, threads = program(COPY, "s[ROW] = x[ROW]").op, ()

    def settled(self, cells: Cells, value: Term, axes: tuple[Axis, ...]) -> Term:
        return value

    named = settled


def cells(name: str) -> Cells:
    return unwritten(Array(name, "f32", (), LOCAL))


def loop(**ends: Term) -> Turns:
    """A loop whose turns leave these values, over `NAME@`."""
    before: State = {name: replace(cells(name), content=Read(f"{name} old", (), "f32")) for name in ends}
    after = {name: replace(before[name], content=value) for name, value in ends.items()}
    return Turns(Plain(), LOOP, Region(), {name: f"{name}@" for name in ends}, before, after)


def at(name: str) -> Read:
    return Read(f"{name}@", (), "f32")


def plus(a: Term, b: Term) -> Term:
    return App("add", (a, b), "f32")


A = Read("x", (lift(0), Var("x")), "f32")


def test_cells_that_nobody_reads_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    close = turns.close
    monkeypatch.setattr(
        turns, "close", lambda axis, previous, new, old: asked.append(previous.tensor) or close(axis, previous, new, old)
    )
    made = loop(a=A, b=plus(at("a"), at("b")), c=plus(at("c"), at("b")))
    begin, after = made.states()
    assert not asked
    assert after["b"].value.dtype == begin["b@"].value.dtype == "f32"
    assert asked == ["a@", "b@"], "what b is made of, and nothing twice"


def test_circles_have_no_closed_form_and_nothing_that_is_made_of_them() -> None:
    made = loop(a=at("b"), b=at("a"), c=plus(at("a"), A), d=A)
    found = {name: state.value for name, state in made.states()[1].items()}
    assert not made.solved()
    unsolved = {n for n, v in found.items() if isinstance(v, Read) and v.tensor.endswith(UNSOLVED)}
    assert unsolved == {"a", "b", "c"}


@pytest.mark.parametrize("seed", range(20))
def test_the_order_in_which_cells_are_asked_changes_nothing(seed: int) -> None:
    chance = random.Random(seed)
    names = "abcdef"

    ends = {n: chance.choice((A, plus(at(n), A), at(chance.choice(names)), plus(at(n), at(chance.choice(names))))) for n in names}
    one, two = loop(**ends), loop(**ends)
    order = list(names)
    chance.shuffle(order)
    (begin, after), (begin2, after2) = one.states(), two.states()
    assert {n: (begin[f"{n}@"].value, after[n].value) for n in names} == {
        n: (begin2[f"{n}@"].value, after2[n].value) for n in order
    }


def test_a_program_asks_only_for_what_it_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cell that goes round in a way that is no fold is no matter where its turn writes it before it reads it."""
    asked: list[str] = []
    unsolved = turns.unsolved
    monkeypatch.setattr(turns, "unsolved", lambda name, *more: asked.append(name.split("@")[0]) or unsolved(name, *more))
    body = """
    local acc: f32[1]
    local last: f32[1]
    acc[0] = 0.0
    for j < N { last[0] = x[ROW, j]
      acc[0] += last[0] }
    s[ROW] = acc[0]
    """
    made = program(SUM, body)
    stores = execute(made).of(Store)
    assert [s.tensor for s in stores] == ["s"] and set(asked) == {"acc"}
    assert not open_codes(made)
