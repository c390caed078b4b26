"""Stages in derived programs: the copies, the barriers, the guards, and that every program computes its equation.

Comes in: machines with stages, written and at random. Goes out: their programs, run by the simulator, which finds races and faults.
The one idea: what a stage changes is where a value is read from, so whatever the tile, the copy and the layout, the result is the same.
"""

from __future__ import annotations

import random
from collections import Counter

import pytest

from tests.program.library import agrees, edges, machines, reread
from tinygpu.derive.derive import derive
from tinygpu.diagnostic import TinygpuError
from tinygpu.program.step import Assign, Program, Sync, steps


def program(source: str, title: str = "m") -> Program:
    return derive(machines(source)[title])


def barriers(one: Program) -> int:
    return sum(isinstance(s, Sync) for launch in one.launches for s in steps(launch.body))


def right(one: Program, count: int = 5) -> None:
    for seed, sizes in enumerate(edges(one, count)):
        assert not agrees(one, sizes, seed)


@pytest.mark.parametrize(("value", "count"), [("sum[k] s[i] * A[i, k] * B[k, j]", 3), ("s[i] * (sum[k] A[i, k] * B[k, j])", 4)])
def test_a_barrier_after_the_last_read_serves_all_tiles(value: str, count: int) -> None:
    one = program(f"""
      op scaled(A: f32[M, K], B: f32[K, N], s: f32[M]) -> (C: f32[M, N]) {{
        C[i, j] = {value}
      }}

      machine m : scaled {{
        work    grid = (g), block = (ty: 4, tx: 4)
        compute i = (io, ty), j = (g, tx), k = (ko, ki: 4)
        time    io, ko, ki
        stage s[i] at io in shared
        stage A[i, k] at ko in shared
        stage B[k, j] at ko in shared
      }}
    """)
    right(one)
    assert barriers(one) == count


FOLDS = """
op product(A: {dtype}[M, K], B: {dtype}[K, N]) -> (C: {dtype}[M, N]) {{
  C[i, j] = {value}
}}

machine m : product {{
  work    grid = (by, bx), block = (ty: 4, tx: 4)
  compute i = (by, ty), j = (bx, tx), k = (ko, ki: 3)
  time    ko, ki
  stage A[i, k] at ko in shared
  {more}
}}
"""


@pytest.mark.parametrize(
    ("value", "dtype", "more", "asked"),
    [
        ("sum[k] A[i, k] * B[k, j]", "f32", "stage B[k, j] at ko in shared", False),
        ("sum[k] A[i, k] * B[k, j]", "i32", "stage B[k, j] at ko in shared", False),
        ("sum[k] -A[i, k] * B[k, j]", "f32", "stage B[k, j] at ko in shared", False),
        ("any[k] (A[i, k] and B[k, j])", "bool", "stage B[k, j] at ko in shared", False),
        ("sum[k] A[i, k] * B[k, j]", "f32", "", True),
        ("sum[k] (A[i, k] - 1) * B[k, j]", "f32", "stage B[k, j] at ko in shared", False),
        ("sum[k] (A[i, k] - 1) * (B[k, j] - 1)", "f32", "stage B[k, j] at ko in shared", True),
        ("max[k] (A[i, k] * B[k, j])", "f32", "stage B[k, j] at ko in shared", True),
        ("sum[k] exp(A[i, k] * B[k, j])", "f32", "stage B[k, j] at ko in shared", True),
        ("sum[k <= i] A[i, k] * B[k, j]", "f32", "stage B[k, j] at ko in shared", True),
        ("prod[k] (A[i, k] * B[k, j])", "f32", "stage B[k, j] at ko in shared", True),
    ],
)
def test_a_tail_is_asked_about_unless_the_fills_make_it_the_unit(value: str, dtype: str, more: str, asked: bool) -> None:
    source = FOLDS.format(value=value, dtype=dtype, more=more)
    if "k <= i" in value:
        source = source.replace(") {\n  C", ") where M <= K {\n  C")
    one = program(source)
    updates = [s for launch in one.launches for s in steps(launch.body) if isinstance(s, Assign) and s.update]
    assert {"K" in str(s.guard) or "'i'" in str(s.guard) or "ki" in str(s.guard) for s in updates} == {asked}
    right(one)


def test_two_pads_are_two_fills() -> None:
    one = program("""
      op edges(x: f32[n]) -> (y: f32[n]) {
        y[i] = x[i - 1 | 0] + x[i + 1 | 1]
      }

      machine m : edges {
        work    grid = (g), block = (t: 8)
        compute i = (g, t)
        stage x[a] at block in shared
      }
    """)
    right(one)


VALUES = """
op change(x: f32[R, N]) -> (d: f32[R]) {
  m[r] = max[j] x[r, j]
  d[r] = m[r] - m[r - 1 | 0]
}

machine rows : change {
  work    grid = (g), block = (t: 8)
  compute r = (g, t)
  time    j
  stage m[a] at block in shared
}

op twice(x: f32[n]) -> (y: f32[n]) {
  s[i] = exp(x[i])
  p[i] = s[i] + s[i + 1 | 0]
  y[i] = p[i] * p[i - 1 | 1]
}

machine inner : twice {
  work    grid = (g), block = (t: 8)
  compute i = (g, t)
  stage s[a] at block in shared
}

machine outer : twice {
  work    grid = (g), block = (t: 8)
  compute i = (g, t)
  stage p[a] at block in shared
}

machine all_three : twice {
  work    grid = (g), block = (t: 8)
  compute i = (g, t)
  stage x[a] at block in shared
  stage s[a] at block in shared
  stage p[a] at block in shared
}

machine in_turns : twice {
  work    grid = (g), block = (t: 8)
  compute i = (g, c: 3, t)
  time    c
  stage x[a] at block in shared
  stage s[a] at c in shared
  stage p[a] at c in shared {
    compute  a = (h, t)
    register h
  }
}
"""


@pytest.mark.parametrize(("title", "count"), [("rows", 1), ("inner", 1), ("outer", 1), ("all_three", 3), ("in_turns", 4)])
def test_values_of_equations_are_staged(title: str, count: int) -> None:
    one = program(VALUES, title)
    right(one, 8)
    assert barriers(one) == count


def test_folds_in_what_is_staged() -> None:
    one = program("""
      op chain(x: f32[M, N]) -> (y: f32[M, N]) {
        p[i, j] = (sum[k < 3] x[i + k - 1, j | 0]) + x[i, j]
        q[i, j] = (sum[k < 3] p[i + k - 1, j + 3 | 0]) + p[i, j]
        y[i, j] = q[i + 1, j + 2 | 1] + q[i, j]
      }

      machine m : chain {
        work    grid = (bi, bj), block = (ti: 4, tj: 4)
        compute i = (bi, ti), j = (bj, tj)
        time    k
        stage x[a, b] at block in shared
        stage q[a, b] at block in shared
      }
    """)
    right(one, 8)
    assert "p" not in {s.name for s in one.locals.values()}, "p is computed where q is, and nowhere else"


def test_a_tile_is_filled_again_for_each_loop_that_reads_it() -> None:
    one = program("""
      op softmax(x: f32[R, N]) -> (y: f32[R, N]) where N >= 1 {
        m[r]    = max[j] x[r, j]
        s[r]    = sum[j] exp(x[r, j] - m[r])
        y[r, j] = exp(x[r, j] - m[r]) / s[r]
      }

      machine m : softmax {
        work    grid = (g), block = (w: 2, lane: 32)
        compute r = (g, w), j = (c, lane)
        time    c
        stage x[r, j] at c in shared
      }
    """)
    right(one)
    assert barriers(one) == 6


OPS = (  # inputs, equation, accesses that may be staged, precondition
    ("A: f32[M, K], B: f32[K, N]", "sum[k] A[i, k] * B[k, j]", ("A[i, k]", "B[k, j]"), ""),
    ("A: f32[K, M], B: f32[K, N]", "sum[k] A[k, i] * B[k, j]", ("A[k, i]", "B[k, j]"), ""),
    ("A: f32[M, K], B: f32[N, K]", "max[k] (A[i, k] + B[j, k])", ("A[i, k]", "B[j, k]"), ""),
    ("A: f32[M, K], B: f32[N, K]", "sum[k] (A[i, k] - B[j, k]) * (A[i, k] - B[j, k])", ("A[i, k]", "B[j, k]"), ""),
    ("A: f32[M, K], B: f32[K, N], s: f32", "s * (sum[k] A[i, k] * B[k, j]) + A[i, 0]", ("A[i, k]", "B[k, j]"), " where K >= 1"),
    ("A: f32[M, K], B: f32[K, N]", "sum[k <= i] A[i, k] * B[k, j]", ("A[i, k]", "B[k, j]"), " where M <= K"),
)  # fmt: skip


def at_random(r: random.Random) -> str:
    """A product-like machine with random factors, stages, copies and layouts."""
    inputs, value, accesses, where = r.choice(OPS)
    ty, tx, ri, rj, kt = (
        r.choice((1, 2, 3, 4)),
        r.choice((1, 2, 4, 5)),
        r.choice((0, 1, 2, 3)),
        r.choice((0, 2, 4)),
        r.choice((1, 2, 3, 8)),
    )
    unrolled, wide = r.random() < 0.3, bool(rj) and r.random() < 0.5
    rows, columns = ["ty", *([f"ri: {ri}"] if ri else [])], ["tx", *([f"rj: {rj}"] if rj else [])]
    if r.random() < 0.3:
        r.shuffle(rows)
    loops = ["ko", *([] if unrolled else ["ki"])]
    registers = [n for n, there in (("ri", ri), ("rj", rj and not wide), ("ki", unrolled)) if there]
    lines = [
        f"work grid = (by, bx), block = (ty: {ty}, tx: {tx})",
        f"compute i = (by, {', '.join(rows)}), j = (bx, {', '.join(columns)}), k = (ko, ki: {kt})",
        f"time {', '.join(loops)}",
        *([f"register {', '.join(registers)}"] if registers else []),
        *(["vector rj"] if wide else []),
        *(staged(r, access, ty * tx, loops) for access in r.sample(accesses, r.randint(1, 2))),
    ]
    inside = "\n  ".join(lines)
    return f"op o({inputs}) -> (C: f32[M, N]){where} {{\n  C[i, j] = {value}\n}}\n\nmachine m : o {{\n  {inside}\n}}\n"


def staged(r: random.Random, access: str, threads: int, loops: list[str]) -> str:
    """`stage … { … }` with a copy that is derived, or one of its own."""
    first, second = r.sample(access[access.index("[") + 1 : -1].split(", "), 2)
    body: list[str] = []
    if r.random() < 0.5:
        parts = r.choice([d for d in range(1, threads + 1) if threads % d == 0])
        many = max(1, threads // parts - r.choice((0, 0, 1)))
        wide = r.random() < 0.5
        body += [f"work block = (r: {parts}, c: {many})", f"compute {first} = (h, r), {second} = (u, c{', v: 2' if wide else ''})"]
        body += ["time h, u", *(["vector v"] if wide else [])]
    if r.random() < 0.5:
        body.append(f"layout ({first}, {second}){r.choice(('', ' pad 1', ' pad 4'))}")
    inside = "\n    ".join(body)
    return f"stage {access} at {r.choice(loops)} in shared" + (f" {{\n    {inside}\n  }}" if body else "")


@pytest.mark.parametrize("start", range(0, 40, 10))
def test_machines_at_random(start: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(start, start + 10):
        source = at_random(random.Random(seed))
        try:
            machine = machines(source)["m"]
            one = derive(machine)
        except TinygpuError as error:  # a mistake may be found, but no other error raised
            seen[error.diagnostics[0].code] += 1
            continue
        assert reread(one, machine) == one, source
        for count, sizes in enumerate(edges(one, 5, seed)):
            if max(sizes.values()) <= 40:
                assert not agrees(one, sizes, count), source
        seen["right"] += 1
    assert seen["right"] >= 7, seen
