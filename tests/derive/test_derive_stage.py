"""Stages in derived programs: the copies, the barriers, the guards, and that every program computes its equation.

Comes in: machines with stages, written and at random. Goes out: their programs, run by the simulator, which finds races and faults.
The one idea: what a stage changes is where a value is read from, so whatever the tile, the copy and the layout, the result is the same.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.program.library import agrees, edges, machines, reread
from tinygpu.derive.derive import derive
from tinygpu.diagnostic import TinygpuError
from tinygpu.program.call import Sync
from tinygpu.program.step import Assign, Program, steps

TEXT = (Path(__file__).parent / "stages.tgpu").read_text(encoding="utf-8")
STAGED = {title: int(count) for count, title in re.findall(r"# barriers: (\d+)\nmachine (\w+)", TEXT)}


def barriers(one: Program) -> int:
    return sum(isinstance(s, Sync) for launch in one.launches for s in steps(launch.body))


def right(one: Program, count: int = 5) -> None:
    for seed, sizes in enumerate(edges(one, count)):
        assert not agrees(one, sizes, seed)


@pytest.mark.parametrize("title", STAGED)
def test_what_is_staged_is_what_is_read_and_waits_no_more_than_it_has_to(title: str) -> None:
    one = derive(machines(TEXT)[title])
    right(one, 8)
    assert barriers(one) == STAGED[title]
    assert "p" not in one.locals, "p is computed where q is, and nowhere else"


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
    one = derive(machines(source)["m"])
    updates = [s for launch in one.launches for s in steps(launch.body) if isinstance(s, Assign) and s.update]
    assert {"K" in str(s.guard) or "'i'" in str(s.guard) or "ki" in str(s.guard) for s in updates} == {asked}
    right(one)


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
