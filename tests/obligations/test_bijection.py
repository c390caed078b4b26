"""Onto, one-to-one and witnesses against enumeration: random maps on small boxes.

Comes in: chance, with a fixed seed. Goes out: a goal that holds is so; and for numbers in mixed radix, what is so holds.
The one idea: on small boxes everything can be counted.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product
from math import prod

from tinygpu.category.evaluate import evaluate
from tinygpu.category.preimage import preimage
from tinygpu.category.region import Region
from tinygpu.category.term import TRUE, Axis, Const, Term, Var, conjunction, lift
from tinygpu.obligations.bijection import Part, collisions, onto


def _points(axes: tuple[Axis, ...], guard: tuple[Term, ...]) -> Iterator[dict[str, int]]:
    for point in product(*(range(int(evaluate(a.extent, {}))) for a in axes)):
        env = dict(zip((a.name for a in axes), point, strict=True))
        if all(evaluate(g, env) for g in guard):
            yield env


def _radix(chance: random.Random, names: str) -> tuple[tuple[Axis, ...], Term]:
    """A number in mixed radix: axes in any order, each with the product of the smaller extents as its stride."""
    extents = [chance.randrange(1, 5) for _ in names]
    order = list(range(len(names)))
    chance.shuffle(order)
    term: Term = lift(chance.randrange(2))
    for place in chance.sample(order, len(order)):
        term = term + Var(names[place]) * prod(extents[p] for p in order[: order.index(place)])
    return tuple(Axis(n, Const(e)) for n, e in zip(names, extents, strict=True)), term


def _any(chance: random.Random, names: str) -> tuple[tuple[Axis, ...], Term]:
    """Any map: strides that overlap, leave gaps, count down, or divide."""
    axes = tuple(Axis(n, Const(chance.randrange(1, 5))) for n in names)
    term: Term = lift(chance.randrange(3))
    for axis in axes:
        term = term + Var(axis.name) * chance.choice((0, 1, 1, 2, 3, 4, -1))
    return axes, chance.choice((term, term, term // 2, term % 3))


def _guard(chance: random.Random, term: Term) -> tuple[Term, ...]:
    return chance.choice(((), (), (term < chance.randrange(1, 12),), (term % 2 < 1,)))


def test_a_target_that_is_said_to_be_reached_is_reached() -> None:
    chance, said = random.Random(0), 0
    for _ in range(400):
        parts = []
        for _ in range(chance.choice((1, 1, 2))):
            axes, term = _any(chance, "ab") if chance.random() < 0.5 else _radix(chance, "abc")
            parts.append(Part(axes, _guard(chance, term), (term,)))
        goal = onto(tuple(parts), (Var("k"),), {"k": Const(40)})
        reached = {evaluate(p.terms[0], env) for p in parts for env in _points(p.axes, p.guard)}
        for k in range(40):
            if evaluate(goal, {"k": k}):
                said += 1
                assert k in reached
    assert said > 1000


def test_the_witness_of_a_number_in_mixed_radix_is_its_digits() -> None:
    chance = random.Random(1)
    for _ in range(200):
        axes, term = _radix(chance, "abcd"[: chance.randrange(1, 5)])
        digits = preimage((term,), axes, (Var("k"),), TRUE)
        for env in _points(axes, ()):
            k = evaluate(term, env)
            assert {name: evaluate(d, {"k": k}) for name, d in digits.items()} == env
        goal = onto((Part(axes, (), (term,)),), (Var("k"),), {"k": Const(300)})
        low = evaluate(term, dict.fromkeys((a.name for a in axes), 0))
        assert all(evaluate(goal, {"k": k}) for k in range(low, low + prod(int(evaluate(a.extent, {})) for a in axes)))


def test_rows_and_columns_are_solved_one_by_one() -> None:
    axes = (Axis("by", Const(3)), Axis("bx", Const(2)), Axis("ty", Const(4)), Axis("tx", Const(5)))
    by, bx, ty, tx = (Var(a.name) for a in axes)
    digits = preimage((by * 4 + ty, bx * 5 + tx), axes, (Var("i"), Var("j")), TRUE)
    for env in _points(axes, ()):
        point = {"i": env["by"] * 4 + env["ty"], "j": env["bx"] * 5 + env["tx"]}
        assert {name: evaluate(d, point) for name, d in digits.items()} == env


def test_two_points_collide_where_they_do() -> None:
    chance, seen = random.Random(2), [0, 0]
    for _ in range(150):
        axes, term = _any(chance, "ab") if chance.random() < 0.6 else _radix(chance, "ab")
        parts: tuple[Part, ...] = (Part(axes, _guard(chance, term), (term,)),)
        if chance.random() < 0.5:
            parts = (*parts, Part(axes, _guard(chance, term), (term + chance.randrange(8),)))
        images = [[evaluate(p.terms[0], env) for env in _points(p.axes, p.guard)] for p in parts]
        really = {(p, p) for p, found in enumerate(images) if len(set(found)) < len(found)}
        really |= {(1, 0)} if len(images) == 2 and set(images[0]) & set(images[1]) else set()
        found = set()
        for p, q, hypotheses, goal in collisions(parts, Region(())):
            names = sorted(set("ab") | {n + "~" for n in "ab"})
            envs = (dict(zip(names, values, strict=True)) for values in product(range(5), repeat=4))
            if any(all(evaluate(h, env) for h in hypotheses) and not evaluate(goal, env) for env in envs):
                found.add((p, q))
        assert found == really, conjunction(*parts[0].guard)
        seen[bool(really)] += 1
    assert min(seen) > 20


def test_axes_of_one_name_in_both_points_stay_apart() -> None:
    # k and k' are two axes of one part; the second point may not share either
    axes = (Axis("k", Const(3)), Axis("k'", Const(8)))
    part = Part(axes, (Var("k'") > 4,), (Var("k'"),))
    ((_, _, hypotheses, goal),) = collisions((part,), Region(()))
    env = {"k": 0, "k'": 5, "k~": 1, "k'~": 5}
    assert all(evaluate(h, env) for h in hypotheses) and not evaluate(goal, env)
