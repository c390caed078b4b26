"""Each way in which threads can go wrong together: the simulator names it, both threads and the cell, and wrong orders give wrong results."""

from __future__ import annotations

import numpy as np
import pytest

from tests.program.cooperation_texts import TEXTS, TOTAL
from tests.simulate.agree import disagreements
from tests.simulate.test_simulate_together import program
from tinygpu.program.step import Program
from tinygpu.simulate.fault import Divergent, DoubleStore, Fault, Race, ReadOutput, Uninitialised, sentence
from tinygpu.simulate.inputs import random_inputs
from tinygpu.simulate.simulate import simulate


def cut(name: str, old: str, new: str) -> Program:
    assert old in TEXTS[name]
    return program(TEXTS[name].replace(old, new))


def faults(made: Program, order: int | None = None, **sizes: int) -> tuple[Fault, ...]:
    sizes = {"n": 256, "m": 7, "M": 40, "N": 40, "K": 20, "R": 4} | sizes
    mine = {s: sizes[s] for s in made.op.sizes}
    return simulate(made, mine, random_inputs(made.op, mine), order=order).faults


def kinds(made: Program, order: int | None = None, **sizes: int) -> set[str]:
    return {f"{f.kind} {f.array}" if isinstance(f, Race) else type(f).__name__ for f in faults(made, order, **sizes)}


NO_BARRIER = {  # name: the program without one barrier, what lockstep sees
    "ring": (cut("ring_difference", "    barrier\n", ""), {"write-read s"}),
    "transpose": (cut("transpose_padded", "    barrier\n", ""), {"write-read s"}),
    "before the readers": (cut("matmul_tiled", "else 0\n      barrier", "else 0"), {"write-read a", "write-read b"}),
    "after the readers": (cut("matmul_tiled", "< K }\n      barrier", "< K }"), {"read-write a", "read-write b"}),
    "before the tree": (cut("total_block", "p[t] = a[]\n    barrier", "p[t] = a[]"), {"write-read p"}),
    "inside the tree": (cut("total_block", "if t < d\n      barrier", "if t < d"), {"write-read p"}),
}


@pytest.mark.parametrize("name", NO_BARRIER)
def test_a_missing_barrier_is_a_race_in_every_order(name: str) -> None:
    made, seen = NO_BARRIER[name]
    assert kinds(made) == seen
    for order in (1, 2, 3):
        assert any(isinstance(f, Race) for f in faults(made, order))


@pytest.mark.parametrize("name", sorted(set(NO_BARRIER) - {"after the readers"}))  # loops come round in step
def test_without_a_barrier_some_order_gives_another_result(name: str) -> None:
    made, _ = NO_BARRIER[name]
    sizes = {s: {"n": 256, "M": 40, "N": 40, "K": 40}[s] for s in made.op.sizes}
    right, *others = (simulate(made, sizes, random_inputs(made.op, sizes), order=o).outputs for o in (None, 1, 2, 3, 4))
    assert any(not np.allclose(right[k], other[k], equal_nan=True) for other in others for k in right)


def test_a_race_names_both_threads_the_cell_and_the_turns() -> None:
    first = faults(NO_BARRIER["after the readers"][0])[0]
    assert isinstance(first, Race) and (first.array, first.kind, first.scope) == ("a", "read-write", "block")
    assert first.first.loops[0] == ("ko", 0) and first.at.loops == (("ko", 1),)
    here, there = dict(first.first.lane), dict(first.at.lane)
    assert here["ty"] == there["ty"] == first.index[0] and here["tx"] != there["tx"] == first.index[1]
    assert first.first.span.line == first.at.span.line + 3
    assert sentence(first).endswith("at ko=0 ki=0 reads, with nothing between them")


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        ("p[t // 2] = 1", "write-write"),
        ("p[0] = 1", "write-write"),
        ("p[t] = p[(t + 1) % 64]", "read-write"),
        ("p[t % 32] += 1", "read-write"),
        ("p[t] = 1\natomic p[(t + 1) % 64] += 1", "write-write"),
        ("atomic p[t] += 1\np[(t + 1) % 64] = 1", "write-write"),
        ("atomic p[t] += 1\na[] = p[(t + 1) % 64]", "write-read"),
        ("a[] = p[(t + 33) % 64]\natomic p[t] += 1", "read-write"),
        ("warp barrier\np[t] = 1\nwarp barrier\na[] = p[(t + 32) % 64]", "write-read"),
    ],
)
def test_what_is_a_race(step: str, kind: str) -> None:
    made = one_block(step)
    assert kinds(made) == {f"{kind} p"}
    assert any(isinstance(f, Race) for f in faults(made, 1))


@pytest.mark.parametrize(
    "step",
    [
        "p[t] = 1\na[] = p[t]\np[t] += 1",
        "atomic p[t // 2] += 1\natomic p[0] += 1",
        "p[t] = 1\nbarrier\na[] = p[63 - t]\nbarrier\np[t] = 2",
        "a[] = p[3]",
        "p[t] = 1 if t < 1\na[] = p[0] if t < 1",
        "p[t] = 1\nwarp barrier\na[] = p[t // 32 * 32 + (t + 1) % 32]\nwarp barrier\np[t] = 2",
        "atomic p[0] += 1\nbarrier\na[] = p[0]",
        "for k < 3 { p[t] = p[t] + 1 }",
    ],
)
def test_what_is_none(step: str) -> None:
    for order in (None, 1, 2):
        assert kinds(one_block(step), order) == set()


def one_block(step: str) -> Program:
    lines = "\n".join(f"    {line}" for line in step.splitlines())
    return program(f"""{TOTAL}
machine total_one : total {{
  work block = (t: 64)
  program {{
    shared p: f32[64]
    local a: f32[]
    p[t] = 0
    barrier
{lines}
    s[] = 0 if t < 1
  }}
}}
""")


@pytest.mark.parametrize(
    ("made", "word", "missing"),
    [
        (one_block("if t < 40 { barrier }"), "barrier", True),
        (one_block("if t < 40 { warp barrier }"), "warp barrier", True),
        (one_block("a[] = 0\na[] = shuffle_xor(a[], 1) if t % 32 != 7"), "shuffle_xor", True),
        (cut("row_max_warp", "w: 4, lane: 32", "w: 3, lane: 24"), "shuffle_xor", False),
    ],
)
def test_collectives_want_everybody(made: Program, word: str, missing: bool) -> None:
    found = [f for f in faults(made) if isinstance(f, Divergent)]
    assert found and found[0].collective == word and (found[0].missing is not None) == missing
    if missing:
        assert found[0].missing is not None and found[0].missing.lane != found[0].at.lane
    assert word in sentence(found[0])


@pytest.mark.parametrize("step", ["if t < 32 { warp barrier }", "a[] = 0\nif t // 32 < 1 { a[] = shuffle_down(a[], 1) }"])
def test_one_warp_may_come_alone_to_what_is_a_warps(step: str) -> None:
    assert kinds(one_block(step)) == set() == kinds(one_block(step), 1)


def test_cells_that_nobody_wrote() -> None:
    made = cut("ring_difference", "s[t] = x[b*256 + t]", "s[t] = x[b*256 + t] if t > 0")
    first = faults(made, n=512)[0]
    assert isinstance(first, Uninitialised) and (first.index, first.owner) == ((0,), "block")
    assert sentence(first) == "b=0 t=0: s[0] is read before any thread of the block has written it"
    made = cut("total_two", "part[g] = a[] if t < 1", "part[g] = a[] if t < 1 and g < 200")
    first = faults(made)[0]
    assert isinstance(first, Uninitialised) and (first.array, first.index, first.owner) == ("part", (200,), "launch")


def test_global_memory_has_one_use_in_a_launch() -> None:
    read = cut("total_two", "part[g] = a[] if t < 1", "part[g] = a[] if t < 1\n a[] = part[g]")
    first = faults(read)[0]
    assert isinstance(first, Race) and (first.kind, first.scope, first.array) == ("write-read", "launch", "part")
    store = "atomic h[x[g*256 + t]] += 1 if g*256 + t < n"
    mixed = cut("histogram_atomic", store, f"{store}\n h[g*256 + t] = 0 if g*256 + t < m")
    first = faults(mixed)[0]
    assert isinstance(first, Race) and (first.kind, first.scope, first.atomic) == ("write-write", "launch", (True, False))
    assert "updates" in sentence(first) or "writes" in sentence(first)
    other = cut("histogram_atomic", store, f"{store}\n atomic h[0] max= 1")
    assert any(isinstance(f, Race) and f.atomic == (True, True) for f in faults(other))
    plain = cut("histogram_atomic", "atomic h[", "h[")
    assert {type(f) for f in faults(plain)} == {Race, DoubleStore}
    assert any(isinstance(f, Race) for f in faults(plain, 1))


def test_an_update_wants_something_there() -> None:
    launch = "launch (grid = (g: ceil(m / 256)), block = (t: 256)) { h[g*256 + t] = 0 if g*256 + t < m }"
    forgotten = cut("histogram_atomic", launch, "")
    assert {type(f).__name__ for f in faults(forgotten)} == {"Uninitialised", "NeverStored"}


def test_a_later_launch_may_read_update_and_store_again() -> None:
    again = cut("histogram_atomic", launch := "atomic h[x[g*256 + t]] += 1 if g*256 + t < n", launch)
    assert faults(again) == ()
    three = program(f"""{TOTAL}
machine total_three : total {{
  program {{
    launch (grid = (), block = ()) {{ s[] = 0 }}
    launch (grid = (), block = ()) {{ for k < n {{ s[] += x[k] }} }}
  }}
}}
""")
    assert {type(f) for f in faults(three)} == {DoubleStore}  # each element once in a launch
    once = program(f"""{TOTAL}
machine total_again : total {{
  program {{
    launch (grid = (), block = ()) {{ s[] = 1 }}
    launch (grid = (), block = ()) {{
      local a: f32[]
      a[] = -1
      for k < n {{ a[] += x[k] }}
      s[] += a[]
    }}
    launch (grid = (), block = ()) {{ s[] = s[] }}
  }}
}}
""")
    assert faults(once) == () and disagreements(once, {"n": 9}) == ()
    early = program(f"{TOTAL}\nmachine total_early : total {{ work grid = () \n program {{ s[] += 1 }} }}\n")
    assert {type(f) for f in faults(early)} == {ReadOutput}


def test_cells_without_an_index_and_large_blocks() -> None:
    """One cell for the whole block; blocks of more threads than hardware has; more cells than run together."""
    text = """op copy(x: f32[n]) -> (z: f32[n]) {{ z[i] = x[i] }}
machine copy_first : copy where n % {threads} == 0 {{
  work grid = (g: n // {threads}), block = (t: {threads})
  program {{
    shared one: f32[]
    shared many: f32[{cells}]
    one[] = x[g*{threads}] if t < 1
    many[t % {cells}] = x[g*{threads} + t] if t < {cells}
    barrier
    z[g*{threads} + t] = one[] if t < 1 else x[g*{threads} + t]
  }}
}}
"""
    for threads, cells in ((4096, 3), (32, 12000), (1, 1)):
        made = program(text.format(threads=threads, cells=cells))
        n = max(5, 300 // threads) * threads
        for order in (None, 1):
            assert faults(made, order, n=n) == () and disagreements(made, {"n": n}, 0, order) == ()
        assert faults(made, n=0) == ()
    wrong = program(text.format(threads=64, cells=8).replace("if t < 1\n", "if t < 2\n", 1))
    first = faults(wrong, n=64)[0]
    assert isinstance(first, Race) and first.index == () and "one[]" in sentence(first)


def test_few_races_are_kept_of_one_step() -> None:
    found = faults(NO_BARRIER["transpose"][0], M=64, N=64)
    assert 1 <= len(found) <= 3
    assert len({(f.at, f.first) for f in found if isinstance(f, Race)}) == len(found)
