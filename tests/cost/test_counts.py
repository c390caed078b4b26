"""What is counted is what happens: every access of every shipped machine, against a simulation that is watched thread by thread.

Comes in: the specs, at sizes around the boundaries of their tiles. Goes out: equality of every number, and of every closed form.
The one idea: the count never walks through a grid, the simulation does nothing else.
"""

from __future__ import annotations

import os
import random
from collections import defaultdict
from functools import cache
from math import prod

import pytest

from tests.conftest import ROOT
from tests.cost.watched import brute_force
from tinygpu.category.evaluate import evaluate
from tinygpu.category.term import reads
from tinygpu.cost.closed import value
from tinygpu.cost.counting import count, smallest
from tinygpu.cost.sites import Access, sites
from tinygpu.cost.warps import Tally, tally
from tinygpu.derive.unpack import unpack
from tinygpu.hardware.arch import CPU
from tinygpu.pipeline import load, program
from tinygpu.program.step import Program
from tinygpu.simulate.sizes import sizes_to_try

SPECS = sorted(path.stem for path in (ROOT / "specs").glob("*.tgpu"))
TRIED = int(os.environ.get("TINYGPU_COST_SIZES", "1"))  # sizes of each machine; a deep run takes more
MOST, THREADS = 1 << 10, 1 << 15  # product of the sizes, threads of one run


@cache
def programs(spec: str) -> tuple[Program, ...]:
    machines = load(ROOT / "specs" / f"{spec}.tgpu").machines
    return tuple(unpack(program(m)) for m in machines if m.arch != CPU)


def some_sizes(made: Program, how_many: int, volume: int = MOST) -> list[dict[str, int]]:
    """Of the sizes that are worth trying some, the same every time; never only the smallest."""
    every = sizes_to_try(made, limit=40, volume=volume)
    every = [sizes for sizes in every if threads(made, sizes) <= THREADS] or every[:1]
    chance = random.Random(made.name)
    return [every[-1], *chance.sample(every, min(how_many - 1, len(every)))] if every else []


def threads(made: Program, sizes: dict[str, int]) -> int:
    """Of all launches."""
    return sum(prod(evaluate(a.extent, sizes) for a in launch.grid + launch.block) for launch in made.launches)


@pytest.mark.sampled
@pytest.mark.parametrize("spec", SPECS)
def test_every_access_of_every_machine(spec: str) -> None:
    for made in programs(spec):
        for sizes in some_sizes(made, TRIED):
            assert_counted(made, sizes)


def assert_counted(made: Program, sizes: dict[str, int]) -> None:
    counted: dict[tuple, list[Tally]] = defaultdict(list)
    for site in sites(made, wide=False):
        if not isinstance(site, Access):
            continue
        where, launch = site.where, made.launches[site.where.launch]
        one = tally(made, site, sizes)
        assert one is not None
        counted[where.launch, site.array.name, site.index, site.stores].append(one)
        form = count((*launch.grid, *launch.block, *where.axes), where.guard, smallest(made))
        if form is not None:
            assert value(form, sizes) == one.lanes, f"{made.name} at {sizes}: {site.array.name}: {form}"
    found = brute_force(made, sizes)
    assert found.keys() <= counted.keys()
    for key, several in counted.items():
        mine = together(several)
        real = found.get(key, Tally(0, 0, 0, 0, 0, 0))
        what = f"{made.name} at {sizes}: {'store' if key[3] else 'read'} {key[1]}"
        if not mine.exact:
            assert real.requests <= mine.requests and real.lanes <= mine.lanes, what
        else:
            assert (real.requests, real.lanes) == (mine.requests, mine.lanes), what
        if mine.units is None:
            assert any(reads(i) for i in key[2]), what
        elif mine.exact:
            assert (real.units, real.worst, real.meeting) == (mine.units, mine.worst, mine.meeting), what
            assert real.fewest == mine.fewest, what


def together(several: list[Tally]) -> Tally:
    def total(values: list[int | None], how=sum) -> int | None:
        return None if None in values else how(values)  # type: ignore[arg-type]

    return Tally(
        sum(t.requests for t in several),
        sum(t.lanes for t in several),
        total([t.units for t in several]),
        total([t.fewest for t in several]),
        total([t.worst for t in several], max),
        total([t.meeting for t in several], max),
        all(t.exact for t in several),
    )
