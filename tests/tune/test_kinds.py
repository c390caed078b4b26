"""Kinds of states: what a family proves of a state is what its machine would be proved by itself.

Comes in: states of ops of the library. Goes out: families, proofs. The one idea: the program that is derived of the state's own text says what is right.
"""

from __future__ import annotations

import pickle
from functools import cache
from random import Random
from typing import Any

import pytest

from tests.tune.test_search import op_of
from tinygpu import pipeline
from tinygpu.commands.specs import text_of
from tinygpu.proof.kernel import Family
from tinygpu.record import replace
from tinygpu.tune.bound import choices
from tinygpu.tune.kinds import AFTER, Asked, Kinds, alone, family_of, kind_of, numbers_of, skeleton_of
from tinygpu.tune.moves import Space
from tinygpu.tune.state import Nest, State, read_back

NAME = "candidate"
SPACES = [("matmul", "matmul", "cpu", 4), ("matmul", "matmul", "sm_90", 8), ("transpose", "transpose", "sm_90", 1)]


def numbered(state: State, chance: Random) -> State:
    """A state of the same kind."""

    def nest(one: Nest) -> Nest:
        return replace(
            one,
            cuts=tuple(
                (
                    i,
                    tuple(
                        replace(f, extent=f.extent and chance.choice(choices(f)) if f.level != "vector" else f.extent) for f in c
                    ),
                )
                for i, c in one.cuts
            ),
        )

    return replace(state, nests=tuple(map(nest, state.nests)))


def few(stem: str, name: str, device: str, seed: int) -> tuple[Space, str, list[State]]:
    """Legal states of one kind that has a family."""
    op, chance = op_of(stem, name), Random(seed)
    space, text = Space(op, device), text_of(op_of(stem, name))
    while True:
        state = space.walk(chance, 6)
        if len(numbers_of(state)) > 1 and family_of(text, state):
            return space, text, [s for _ in range(60) if kind_of(s := numbered(state, chance)) == kind_of(state) and space.legal(s)]


@cache
def one(number: int) -> tuple[Space, str, list[State]]:
    return few(*SPACES[number])


@pytest.mark.parametrize("number", range(len(SPACES)))
def test_a_point_of_a_kind_is_the_machine_of_its_state(number: int) -> None:
    _, text, states = one(number)
    family = family_of(text, states[0])
    assert isinstance(family, Family) and len({*states}) > 2
    for state in [*dict.fromkeys(states)][:3]:
        direct, proof = alone(text, state.text(NAME), NAME), Asked(text, state, pickle.dumps(family)).proof("", NAME, print)
        assert (direct is None) == (proof is None)
        if direct is not None and proof is not None:
            assert replace(proof.program, name=NAME) == replace(direct.program, name=NAME)


def test_a_family_is_looked_for_once_where_a_kind_is_asked_for_often() -> None:
    _, text, states = one(2)
    kinds, said = Kinds(text), list[str]()
    for turn in range(AFTER + 3):
        asked, known = kinds.asked(states[turn % len(states)]), dict[str, Any]()
        assert asked.now == (turn == AFTER) and bool(asked.family) == (turn > AFTER)
        if turn >= AFTER:
            proof = asked.proof("", NAME, lambda **more: known.update(more))  # noqa: B023
            assert proof is not None and proof.program.machine is not None
        kinds.said(asked.state, known)
        said += known
    assert said == ["family"]


def test_what_a_point_breaks_is_not_proved() -> None:
    """Threads beyond a block's, in a family that knows nothing of that."""
    text = "op twice(x: f32[M, N]) -> (y: f32[M, N]) {\n  y[i, j] = 2 * x[i, j]\n}\n"
    space = Space(pipeline.load_text(text).spec.ops[0])
    family = family_of(text, space.identity())
    assert family is not None and len(family.numbers) == 1
    for threads, right in ((128, True), (96, True), (1024, True), (1056, False), (4096, False)):
        state = threaded(space.identity(), threads)
        assert (Asked(text, state, pickle.dumps(family)).proof("", NAME, print) is not None) == right
        assert numbers_of(state) == dict.fromkeys(family.numbers, threads)


def threaded(state: State, threads: int) -> State:
    (nest,) = state.nests
    cuts = tuple((i, tuple(replace(f, extent=f.extent and threads) for f in cut)) for i, cut in nest.cuts)
    return replace(state, nests=(replace(nest, cuts=cuts),))


def test_a_machine_that_is_wrong_at_a_number_is_no_family() -> None:
    """An index that ends at its digits' product is covered at some numbers only."""
    text = "op twice(x: f32[M, N]) -> (y: f32[M, N]) where N <= 512 {\n  y[i, j] = 2 * x[i, j]\n}\n"
    machine = "machine m : twice {\n  work grid = (i), block = (jt: 128)\n  compute j = (jr: 4, jt)\n  register jr\n}"
    state = read_back(machine)
    assert state is not None and alone(text, machine, "m") is not None
    assert skeleton_of(text, state) is not None and family_of(text, state) is None
