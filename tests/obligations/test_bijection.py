"""Onto, one-to-one and inverses against enumeration: random maps on small boxes.

Comes in: chance, with a fixed seed; arrows whose guards relate their axes. Goes out: a goal that holds is so, two points collide where they do,
and an inverse is a function of the image. The one idea: on small boxes everything can be counted.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import product
from math import prod

import pytest

from tinygpu.category.evaluate import evaluate
from tinygpu.category.region import Region
from tinygpu.category.term import FALSE, TRUE, Axis, Const, Term, Var, equal, lift
from tinygpu.obligations.bijection import Part, apart, collisions, given_back, inverse, met, onto

NOWHERE = Region((), ())


def points(part: Part) -> Iterator[dict[str, int]]:
    for point in product(*(range(int(evaluate(a.extent, {}))) for a in part.axes)):
        env = dict(zip((a.name for a in part.axes), point, strict=True))
        if all(evaluate(g, env) for g in part.guard):
            yield env


def radix(chance: random.Random, names: str) -> tuple[tuple[Axis, ...], Term]:
    """A number in mixed radix: axes in any order, each with the product of the smaller extents as its stride."""
    extents = [chance.randrange(1, 5) for _ in names]
    order = chance.sample(range(len(names)), len(names))
    term: Term = lift(chance.randrange(2))
    for place in chance.sample(order, len(order)):
        term = term + Var(names[place]) * prod(extents[p] for p in order[: order.index(place)])
    return tuple(Axis(n, Const(e)) for n, e in zip(names, extents, strict=True)), term


def some_map(chance: random.Random, names: str) -> tuple[tuple[Axis, ...], Term]:
    """Any map: strides that overlap, leave gaps, count down, or divide."""
    axes = tuple(Axis(n, Const(chance.randrange(1, 5))) for n in names)
    term: Term = lift(chance.randrange(3))
    for axis in axes:
        term = term + Var(axis.name) * chance.choice((0, 1, 1, 2, 3, 4, -1))
    return axes, chance.choice((term, term, term // 2, term % 3))


def drawn(chance: random.Random) -> Part:
    axes, term = some_map(chance, "ab") if chance.random() < 0.6 else radix(chance, "ab")
    return Part(axes, chance.choice(((), (), (term < chance.randrange(1, 12),), (term % 2 < 1,))), (term,))


def test_a_target_that_is_said_to_be_reached_is_reached() -> None:
    chance, said = random.Random(0), 0
    for _ in range(300):
        parts = tuple(drawn(chance) for _ in range(chance.choice((1, 1, 2))))
        goal = onto(parts, (Var("k"),), {"k": Const(40)})
        reached = {evaluate(p.terms[0], env) for p in parts for env in points(p)}
        hit = {k for k in range(40) if evaluate(goal, {"k": k})}
        assert hit <= reached
        said += len(hit)
    assert said > 500


def test_two_points_collide_where_they_do() -> None:
    chance, seen = random.Random(2), [0, 0]
    for _ in range(150):
        parts: tuple[Part, ...] = (drawn(chance),)
        if chance.random() < 0.5:
            parts = (*parts, Part(parts[0].axes, drawn(chance).guard, (parts[0].terms[0] + chance.randrange(8),)))
        images = [[evaluate(p.terms[0], env) for env in points(p)] for p in parts]
        really = {(p, p) for p, found in enumerate(images) if len(set(found)) < len(found)}
        really |= {(1, 0)} if len(images) == 2 and set(images[0]) & set(images[1]) else set()
        envs = [dict(zip(("a", "b", "a~", "b~"), values, strict=True)) for values in product(range(5), repeat=4)]
        found = {
            (p, q)
            for p, q, hypotheses, goal in collisions(parts, Region(()))
            if any(all(evaluate(h, env) for h in hypotheses) and not evaluate(goal, env) for env in envs)
        }
        assert found == really, parts
        seen[bool(really)] += 1
    assert min(seen) > 20


def test_axes_of_one_name_in_both_points_stay_apart() -> None:
    part = Part((Axis("k", Const(3)), Axis("k'", Const(8))), (Var("k'") > 4,), (Var("k'"),))
    ((_, _, hypotheses, goal),) = collisions((part,), NOWHERE)
    env = {"k": 0, "k'": 5, "k~": 1, "k'~": 5}
    assert all(evaluate(h, env) for h in hypotheses) and not evaluate(goal, env)


T, U = Axis("t", Const(2)), Axis("u", Const(2))
t, u, E = Var("t"), Var("u"), Var("E")
INVERSES = [  # the image of two axes, what relates them, the second of them, and whether the two can be told from the image
    ((Const(0),), (equal(t, u),), U, False), ((), (equal(t, u),), U, False), ((Const(0),), (equal(t, Const(1) - u),), U, False),
    ((u,), (equal(t, u),), U, True), ((t * 2 + u,), (), U, True), ((t * E + u,), (), Axis("u", E), True), ((t * E + u,), (), U, False),
]  # fmt: skip


@pytest.mark.parametrize(("terms", "guard", "second", "undone"), INVERSES)
def test_an_inverse_is_a_function_of_the_image(
    terms: tuple[Term, ...], guard: tuple[Term, ...], second: Axis, undone: bool
) -> None:
    """A witness that speaks of the point it should find shows nothing: `t == u` ties two axes to each other and neither to the image."""
    assert (inverse(Part((T, second), guard, terms), NOWHERE) is not None) == undone


def test_a_witness_is_told_by_the_cell_or_is_none() -> None:
    assert given_back({"t": Var("f") // 2, "u": Const(0)}, (T, U), {}) != FALSE
    assert given_back({"t": u, "u": u}, (T, U), {}) == FALSE


def test_a_point_is_told_by_the_image_of_another_where_that_tells_it() -> None:
    """Of two points of `c*8 + t*2 + v` with one image t is one; what is not told by an image stays a question."""
    c, t, v = map(Var, "ctv")
    axes, goal = (Axis("c", Var("n")), Axis("t", lift(4)), Axis("v", lift(2))), equal(t, Var("t~"))
    part = Part(axes, (), (c * 8 + t * 2 + v,))
    assert met(goal, part, part, NOWHERE) == TRUE
    assert met(goal, Part(axes, (), (c * 8 + v * 4 + t,)), part, NOWHERE) != TRUE
    assert met(goal, part, Part(axes, (), (c * 4 + t * 2 + v,)), NOWHERE) == goal


def test_two_parts_are_apart_where_an_inverse_tells() -> None:
    """Of `c*4 + b` and `c*4 + b + 2` no number is both; of `c*4 + b` and `c*4 + b + 1` some is, and so it is of what has no inverse."""
    c, b = Var("c"), Var("b")
    axes = (Axis("c", Var("n")), Axis("b", lift(2)))
    low, high, near, two = (Part(axes, (), (t,)) for t in (c * 4 + b, c * 4 + b + 2, c * 4 + b + 1, c * 2 + b * 2))
    assert apart(low, high.renamed("~"), NOWHERE) and apart(high, low.renamed("~"), NOWHERE)
    assert not apart(low, near.renamed("~"), NOWHERE) and not apart(low, low.renamed("~"), NOWHERE)
    assert not apart(two, high.renamed("~"), NOWHERE)
