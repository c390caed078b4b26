"""Random index maps and guards: what classes and closed forms count, against walking through every point.

Comes in: a seed. Goes out: equality of requests, lanes, sectors and of every closed form that is found.
The one idea: shipped machines are tidy; here divisions, remainders, negations and disjunctions mix axes of all sorts.
"""

from __future__ import annotations

import random
from itertools import product

import pytest

from tinygpu.category.evaluate import evaluate
from tinygpu.category.term import BOOL, App, Axis, Const, Term, Var, ceildiv, conjunction, negation
from tinygpu.cost.closed import value
from tinygpu.cost.counting import count
from tinygpu.cost.sites import Access, Where
from tinygpu.cost.warps import tally
from tinygpu.diagnostic import NOWHERE
from tinygpu.model.op import Op, Tensor
from tinygpu.program.space import INPUT
from tinygpu.program.step import Array, Launch, Program

n = Var("n")


def an_index(chance: random.Random, names: list[str]) -> Term:
    """A sum of a few parts, some of them divided."""
    total: Term = Const(chance.randrange(3))
    for name in chance.sample(names, chance.randint(1, len(names))):
        part = Var(name) * chance.choice([1, 1, 2, 3, 4, 8, 16, 32])
        if chance.random() < 0.3:
            part = (part + Var(chance.choice(names))) // chance.choice([2, 3, 4])
        elif chance.random() < 0.2:
            part = (part + chance.randrange(4)) % chance.choice([2, 5, 8])
        total = total + part
    return total


def a_guard(chance: random.Random, names: list[str], depth: int = 2) -> Term:
    kind = chance.random()
    if depth and kind < 0.4:
        return conjunction(a_guard(chance, names, depth - 1), a_guard(chance, names, depth - 1))
    if depth and kind < 0.5:
        return App("or", (a_guard(chance, names, depth - 1), a_guard(chance, names, depth - 1)), BOOL)
    if depth and kind < 0.6:
        return negation(a_guard(chance, names, depth - 1))
    left, right = an_index(chance, names), chance.choice([n, n * 2, n - 3, Const(chance.randrange(40))])
    return App(chance.choice(["lt", "lt", "le", "ge", "gt", "eq", "ne"]), (left, right), BOOL)


def a_tile(chance: random.Random) -> Term:
    """The guard of a tile, as machines have it: digits of a number below a size."""
    return chance.choice([Var("g") * 64 + Var("t") * 4 + Var("k") < n, Var("g") * 64 + Var("k") * 16 + Var("t") < n + 0])


@pytest.mark.parametrize("seed", range(60))
def test_what_is_counted_is_there(seed: int) -> None:
    chance = random.Random(seed)
    size = chance.choice([0, 1, 7, 63, 64, 65, 130])
    grid, block = (
        (Axis("g", ceildiv(n, 64), "grid"),),
        (Axis("t", Const(16), "block"), Axis("u", Const(chance.choice([1, 3])), "block")),
    )
    loops = (Axis("k", Const(4), "time"), *((Axis("j", n // 16, "time"),) if chance.random() < 0.5 else ()))
    names = [a.name for a in (*grid, *block, *loops)]
    guard = a_tile(chance) if seed % 3 == 0 else a_guard(chance, names)
    index, dtype = an_index(chance, names), chance.choice(["f32", "f64", "u8", "f16"])
    tensor = Tensor("x", dtype, (Const(1 << 20),), "input")
    made = Program("p", Op("o", ("n",), (tensor,), (), (), ()), (Launch(grid, block, ()),))
    access = Access(Where(0, loops, guard, 1, NOWHERE), Array("x", dtype, tensor.shape, INPUT), (index,), False)
    found = tally(made, access, {"n": size})
    assert found is not None
    requests, lanes, sectors, fewest = walked(grid, block, loops, guard, index, access.item, size)
    assert (found.requests, found.lanes, found.units, found.fewest) == (requests, lanes, sectors, fewest)
    form = count((*grid, *block, *loops), guard)
    assert form is None or value(form, {"n": size}) == lanes
    assert form is not None or seed % 3


def walked(
    grid: tuple[Axis, ...], block: tuple[Axis, ...], loops: tuple[Axis, ...], guard: Term, index: Term, item: int, size: int
) -> tuple[int, int, int, int]:
    """Every thread at every turn."""
    env = {"n": size}
    boxes = [list(product(*(range(evaluate(a.extent, env)) for a in axes))) for axes in ((*grid, *loops), block)]
    requests = lanes = sectors = fewest = 0
    for turn in boxes[0]:
        for first in range(0, len(boxes[1]), 32):
            touched = set()
            for thread in boxes[1][first : first + 32]:
                axes = zip((a.name for a in (*grid, *loops, *block)), (*turn, *thread), strict=True)
                point = {**env, **dict(axes)}
                if evaluate(guard, point):
                    touched.add((thread, evaluate(index, point)))
            requests, lanes = requests + bool(touched), lanes + len(touched)
            sectors += len({e * item // 32 for _, e in touched})
            fewest += -(-len({e for _, e in touched}) * item // 32)
    return requests, lanes, sectors, fewest
