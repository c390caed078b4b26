"""Banks: the words that a picture stacks up are those that a warp touches in a run, and as many as the cost counts.

Comes in: shipped machines with pads, swizzles, wide accesses and rows. Goes out: words of lanes, degrees. The one idea: there is one count; a picture shows what it is of.
"""

from __future__ import annotations

import pytest

from tests.draw.watched import Touch, watched
from tests.program import library
from tinygpu.cost.measure import Cost, measure
from tinygpu.derive.unpack import unpack
from tinygpu.pictures import draw
from tinygpu.pictures.banks import Asked, words_in, worst
from tinygpu.pictures.sizes import picture_sizes
from tinygpu.pipeline import load_text, program

MACHINES = [
    ("transpose", "transpose_tiled"),
    ("transpose", "transpose_swizzled"),
    ("matmul_ring", "matmul_ring"),
    ("matmul_shared", "matmul_64x64"),
]
CONFLICT = """
op turn(x: f32[M, N]) -> (y: f32[N, M]) { y[j, i] = x[i, j] }
machine m : turn {
  work     grid = (bi, bj), block = (ty: 8, tx: 32)
  compute  i = (bi, tx), j = (bj, u: 4, ty)
  register u
  stage x[i, j] at block in shared { compute i = (h: 4, ty), j = tx
    register h }
}
"""


def cost_of(spec: str, name: str) -> Cost:
    made = unpack(program(library.machine(spec, name)))
    return measure(made, picture_sizes(made, {}))


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("spec", "name"), MACHINES)
def test_the_words_of_a_lane_are_those_that_it_touches(spec: str, name: str) -> None:
    cost = cost_of(spec, name)
    lines = [one for one in cost.lines if one.access.array.space.name == "shared"]
    seen = [t for t in watched(cost.program, cost.sizes, {one.array for one in lines}) if t.block == 0]
    assert lines
    for line in lines:
        for access in line.made:
            asked = worst(cost, access)
            assert asked.degree
            mine = at_the_same_time(asked, seen, len(line.access.where.axes))
            held = words_in(access.array).reshape(-1)
            lanes = {lane: set(row[row >= 0].tolist()) for lane, row in enumerate(asked.words.reshape(32, -1))}
            for lane in range(32):
                ran = {int(held[t.element]) for t in mine if t.thread == asked.warp * 32 + lane}
                assert ran == lanes[lane], (line.element, lane)


def at_the_same_time(asked: Asked, seen: list[Touch], deep: int) -> list[Touch]:
    """What the warp does in the turn that is drawn: of wide accesses, in all turns of the loop that became one."""
    turn, loops = dict(asked.turn), {a.name for a in asked.access.where.axes}
    fixed = dict.fromkeys(loops, 0) | turn
    return [
        t
        for t in seen
        if t.array == asked.access.array.name
        and t.stores == asked.access.stores
        and len(t.turn) == deep
        and loops <= t.turn.keys() | {n for n in loops if " " in n}
        and t.thread // 32 == asked.warp
        and all(t.turn.get(name, value) == value for name, value in fixed.items())
    ]


@pytest.mark.parametrize(("spec", "name"), [*MACHINES, ("attention", "flash_mma"), ("tensor_cores", "half_ring")])
def test_the_degree_is_the_one_that_is_counted(spec: str, name: str) -> None:
    cost = cost_of(spec, name)
    counted = [one for one in cost.lines if one.access.array.space.name == "shared"]
    for line in counted:
        assert line.tally is not None
        assert max(worst(cost, access).degree for access in line.made) == line.tally.worst, line.element


def test_a_conflict_is_drawn_and_said() -> None:
    spec = load_text(CONFLICT)
    said = draw(spec.m, "banks").svg
    assert "conflict of degree 32: a bank has 32 words to give" in said
    assert "no conflict: each group of lanes takes one turn" in said  # as it is stored
    free = draw(load_text(CONFLICT.replace("register h", "register h\n layout pad 1")).m, "banks").svg
    assert "conflict of degree" not in free


def test_stacks_are_words_by_bank() -> None:
    asked = worst(
        cost := cost_of("matmul_ring", "matmul_ring"),
        next(a for one in cost.lines if one.array == "A_tile" and not one.access.stores for a in one.made),
    )
    assert [sorted(group) for group in asked.stacks] == [[0, 1, 2, 3], [0, 1, 2, 3], [4, 5, 6, 7], [4, 5, 6, 7]]
    assert asked.stacks[0][0] == {0: [0, 1, 2, 3, 4, 5, 6, 7]}


STRIDES = """
op f(x: f32[n]) -> (y: f32[n]) { y[i] = x[i] }
machine m : f {
  work grid = (g: ceil(n / 32)), block = (t: 32)
  program {
    shared s: f32[128]
    local a: f32[1]
    for u < 4 in register { s[u*32 + t] = 0 }
    barrier
    for u < 4 in register { a[0] = s[t*(u + 1)] }
    y[g*32 + t] = x[g*32 + t] if g*32 + t < n
  }
}
"""


def test_the_turn_that_waits_longest_is_drawn() -> None:
    made = unpack(program(load_text(STRIDES).m))
    cost = measure(made, {"n": 40})
    (line,) = [one for one in cost.lines if one.array == "s" and not one.access.stores]
    asked = worst(cost, line.made[0])
    assert (asked.degree, asked.turn) == (4, (("u", 3),))  # neighbours are 4 words apart
    assert line.tally and line.tally.worst == 4
