"""The simulator against the plainest machine: every thread runs for itself, whoever is chosen goes on until a barrier or a shuffle.

The one idea: a program without a race has one result, so a run by threads in any order and a run in lockstep must agree.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from tests.program.cooperation_texts import TEXTS
from tests.program.test_simulate_together import MORE, program
from tinygpu.category.number import UFUNC, load
from tinygpu.category.term import SHUFFLES, App, Axis, Const, Read, Term, rebuild, walk
from tinygpu.category.to_numpy import evaluate
from tinygpu.program.exchange import source
from tinygpu.program.simulate import random_inputs, simulate
from tinygpu.program.step import Assign, Barrier, For, If, Local, Program, Shared, Step

Cells = dict[tuple[int, ...], Any]
Wait = tuple[str, Any, Any]  # what a thread waits for: `block`, `warp`, or a shuffle, with its value and its index term's


@dataclass
class Thread:
    """One thread; `memory` holds the arrays that it shares with others, `own` its locals."""

    env: dict[str, int]
    memory: dict[str, Cells]
    body: tuple[Step, ...]
    own: dict[str, Cells] = field(default_factory=dict)

    def value(self, term: Term) -> Any:
        return evaluate(term, self.env, self.read)

    def read(self, node: Read, index: tuple[Any, ...], _: Any) -> Any:
        return self.cells(node.tensor)[tuple(map(int, index))]

    def cells(self, name: str) -> Cells:
        return self.own[name] if name in self.own else self.memory[name]

    def run(self, body: tuple[Step, ...]) -> Iterator[Wait]:
        for step in body:
            match step:
                case Local(name):
                    self.own[name] = {}
                case Barrier(scope):
                    yield scope, None, None
                case For(axis, inner):
                    for k in range(int(self.value(axis.extent))):
                        self.env[axis.name] = k
                        yield from self.run(inner)
                case If(guard, inner):
                    if self.value(guard):
                        yield from self.run(inner)
                case Assign():
                    if self.value(step.guard):
                        yield from self.assign(step)

    def assign(self, step: Assign) -> Iterator[Wait]:
        given: dict[Term, Any] = {}
        for node in walk(step.value):
            if isinstance(node, App) and node.op in SHUFFLES:
                got = yield node.op, self.value(node.args[0]), self.value(node.args[1])
                given[node] = Const(got, node.dtype)

        def exchanged(term: Term) -> Term:
            return given[term] if term in given else rebuild(term, exchanged)

        value = self.value(exchanged(step.value))
        index = tuple(int(self.value(i)) for i in step.index)
        cells = self.cells(step.target)
        cells[index] = UFUNC[step.update](cells[index], value) if step.update else value


def block(threads: list[Thread], chance: random.Random) -> None:
    """Runs the threads of a block to their ends."""
    running: dict[int, Any] = {n: t.run(t.body) for n, t in enumerate(threads)}
    send: dict[int, Any] = dict.fromkeys(running)
    waits: dict[int, Wait] = {}
    while running:
        ready = [n for n in running if n not in waits]
        if not ready:
            release(running, waits, send)
            continue
        number = chance.choice(ready)
        try:
            waits[number] = running[number].send(send[number])
            send[number] = None
        except StopIteration:
            del running[number]


def release(running: dict[int, Any], waits: dict[int, Wait], send: dict[int, Any]) -> None:
    """Those whose whole block or warp waits for the same go on."""
    kinds = {kind for kind, _, _ in waits.values()}
    if kinds == {"block"}:
        waits.clear()
        return
    warps = {n // 32 for n, (kind, _, _) in waits.items() if kind != "block"}
    for warp in warps:
        lanes = [n for n in running if n // 32 == warp]
        there = dict(waits)
        assert {there[n][0] for n in lanes} == {there[lanes[0]][0]}, "the lanes of a warp wait for one thing"
        for n in lanes:
            kind, _, which = waits.pop(n)
            if kind in SHUFFLES:
                send[n] = there[warp * 32 + int(source(kind, np.array(n % 32), which))][1].item()


def by_threads(made: Program, sizes: dict[str, int], inputs: dict[str, Any], seed: int) -> dict[str, Cells]:
    chance = random.Random(seed)
    memory: dict[str, Cells] = {t.name: dict(np.ndenumerate(load(inputs[t.name], t.dtype))) for t in made.op.inputs}
    memory |= {t.name: {} for t in made.op.outputs} | {w.name: {} for w in made.workspaces}
    for launch in made.launches:
        blocks = list(points(launch.grid, sizes))
        chance.shuffle(blocks)
        for place in blocks:
            shared: dict[str, Cells] = {s.name: {} for s in launch.body if isinstance(s, Shared)}
            here = {**memory, **shared}
            block([Thread({**sizes, **place, **t}, here, launch.body) for t in points(launch.block, sizes)], chance)
    return memory


def points(axes: tuple[Axis, ...], sizes: dict[str, int]) -> Iterator[dict[str, int]]:
    for point in itertools.product(*(range(int(evaluate(a.extent, sizes))) for a in axes)):
        yield dict(zip((a.name for a in axes), point, strict=True))


@pytest.mark.parametrize("name", [*TEXTS, *MORE])
def test_threads_in_any_order_give_what_lockstep_gives(name: str) -> None:
    made = program({**TEXTS, **MORE}[name])
    n = 256 if "difference" in made.op.name else 75
    sizes = {s: {"n": n, "m": 40, "M": 18, "N": 35, "K": 17, "R": 5}[s] for s in made.op.sizes}
    inputs = random_inputs(made.op, sizes, 7)
    want = by_threads(made, sizes, inputs, 7)
    for order in (None, 5):
        got = simulate(made, sizes, inputs, order=order)
        assert got.faults == ()
        for tensor in made.op.outputs:
            values = load(got.outputs[tensor.name], tensor.dtype)
            assert all(np.isclose(values[index], value, atol=1e-5) for index, value in want[tensor.name].items())
            assert len(want[tensor.name]) == values.size
