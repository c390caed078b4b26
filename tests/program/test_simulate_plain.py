"""The simulator against the plainest one: thread by thread, one element at a time, cells in a dictionary.

The programs are the samples with one index constant changed, so most of them are wrong in some way; both must see the same ways.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.program.samples import broken, matmul, saxpy
from tinygpu.category.number import UFUNC, load
from tinygpu.category.term import INDEX, Axis, Const, Read, Term, rebuild
from tinygpu.category.to_numpy import evaluate
from tinygpu.program.simulate import random_inputs, simulate
from tinygpu.program.step import Assign, For, Holds, If, Local, Program, Step


@dataclass
class Plain:
    """One run; `seen` holds (name of the fault, array, index)."""

    program: Program
    inputs: dict[str, Any]
    env: dict[str, Any]
    outputs: dict[str, dict[tuple[int, ...], Any]]
    shapes: dict[str, tuple[int, ...]]
    cells: dict[str, dict[tuple[int, ...], Any]] = field(default_factory=dict)
    seen: set[tuple[str, str, tuple[int, ...]]] = field(default_factory=set)

    def value(self, term: Term) -> Any:
        return evaluate(term, self.env, self.read)

    def inside(self, name: str, index: tuple[int, ...]) -> bool:
        good = all(0 <= i < n for i, n in zip(index, self.shapes[name], strict=True))
        if not good:
            self.seen.add(("OutOfBounds", name, index))
        return good

    def read(self, node: Read, index: tuple[Any, ...], _: Any) -> Any:
        index = tuple(map(int, index))
        if not self.inside(node.tensor, index):
            return np.float32(0)
        if node.tensor in self.inputs:
            return self.inputs[node.tensor][index]
        if node.tensor in self.outputs:
            self.seen.add(("ReadOutput", node.tensor, index))
            return self.outputs[node.tensor].get(index, np.float32(0))
        if index not in self.cells[node.tensor]:
            self.seen.add(("Uninitialised", node.tensor, index))
        return self.cells[node.tensor].get(index, np.float32(0))

    def run(self, body: tuple[Step, ...]) -> None:
        for step in body:
            match step:
                case Local(name, _, extents):
                    self.cells[name] = {}
                    self.shapes[name] = tuple(max(0, int(self.value(e))) for e in extents)
                case For(axis, inner):
                    for k in range(int(self.value(axis.extent))):
                        self.env[axis.name] = k
                        self.run(inner)
                case If(guard, inner):
                    if self.value(guard):
                        self.run(inner)
                case Assign(guard=guard):
                    if self.value(guard):
                        self.assign(step)
                case Holds():
                    raise AssertionError("no sample has ghosts")

    def assign(self, step: Assign) -> None:
        index = tuple(int(self.value(i)) for i in step.index)
        value = self.value(step.value)
        if step.update:
            value = UFUNC[step.update](self.read(Read(step.target, (), "f32"), index, None), value)
        if not self.inside(step.target, index):
            return
        memory = self.outputs.get(step.target)
        if memory is not None and index in memory:
            self.seen.add(("DoubleStore", step.target, index))
        (self.cells[step.target] if memory is None else memory)[index] = value


def plain(program: Program, sizes: dict[str, int], inputs: dict[str, Any]) -> Plain:
    op = program.op
    shapes = {t.name: tuple(int(evaluate(e, sizes)) for e in t.shape) for t in op.tensors}
    run = Plain(
        program, {t.name: load(inputs[t.name], t.dtype) for t in op.inputs}, dict(sizes), {t.name: {} for t in op.outputs}, shapes
    )
    for launch in program.launches:
        axes = launch.grid + launch.block
        for point in itertools.product(*(range(int(evaluate(a.extent, sizes))) for a in axes)):
            run.env.update(zip((a.name for a in axes), point, strict=True))
            run.run(launch.body)
    for name, stored in run.outputs.items():
        everything = itertools.product(*map(range, shapes[name]))
        run.seen |= {("NeverStored", name, index) for index in everything if index not in stored}
    return run


def change(program: Program, number: int, delta: int) -> Program:
    """The program with its `number`-th index constant (round robin) moved by `delta`."""
    count = sum(1 for _ in constants(program))
    left = iter(range(count))

    def term(t: Term) -> Term:
        if isinstance(t, Const) and t.dtype == INDEX:
            return Const(t.value + delta) if next(left) == number % count else t
        return rebuild(t, term)

    return rewritten(program, term)


def constants(program: Program) -> Iterator[int]:
    found: list[int] = []

    def term(t: Term) -> Term:
        if isinstance(t, Const) and t.dtype == INDEX:
            found.append(int(t.value))
        return rebuild(t, term)

    rewritten(program, term)
    yield from found


def rewritten(program: Program, term: Callable[[Term], Term]) -> Program:
    def step(s: Step) -> Step:
        match s:
            case For(axis, body):
                return replace(s, axis=Axis(axis.name, term(axis.extent), axis.sort), body=tuple(map(step, body)))
            case If(guard, body):
                return replace(s, guard=term(guard), body=tuple(map(step, body)))
            case Assign():
                return replace(s, index=tuple(map(term, s.index)), value=term(s.value), guard=term(s.guard))
            case Local():
                return replace(s, extents=tuple(map(term, s.extents)))
        return s

    launch = program.launches[0]
    return replace(program, launches=(replace(launch, body=tuple(map(step, launch.body))),))


def agree(program: Program, sizes: dict[str, int], order: int | None) -> set[str]:
    """Both runs see the same kinds of faults at the same arrays, and, where there are none, compute the same bits."""
    inputs = random_inputs(program.op, sizes)
    want = plain(program, sizes, inputs)
    for vectorise in (True, False):
        got = simulate(program, sizes, inputs, order=order, vectorise=vectorise, cap=10**6)
        seen = {(type(f).__name__, f.array, f.index) for f in got.faults}  # type: ignore[union-attr]
        assert seen <= want.seen
        assert {s[:2] for s in seen} == {s[:2] for s in want.seen}
        if not seen:
            for name, values in want.outputs.items():
                assert all(got.outputs[name][index] == value for index, value in values.items())
    return {kind for kind, _, _ in want.seen}


@settings(max_examples=60)
@given(
    st.integers(0, 1000),
    st.sampled_from((-2, -1, 1, 2)),
    st.integers(0, 9),
    st.integers(0, 9),
    st.integers(0, 3),
    st.sampled_from((None, 1)),
)
def test_matmul_with_one_constant_changed(number: int, delta: int, m: int, n: int, k: int, order: int | None) -> None:
    agree(change(matmul(2, 2), number, delta), {"M": m, "N": n, "K": k}, order)


@settings(max_examples=30)
@given(st.integers(0, 1000), st.sampled_from((-2, -1, 1, 2)), st.sampled_from((0, 1, 5, 1023, 1025)), st.sampled_from((None, 1)))
def test_saxpy_with_one_constant_changed(number: int, delta: int, n: int, order: int | None) -> None:
    agree(change(saxpy(), number, delta), {"n": n}, order)


def test_the_changes_bring_every_kind_of_fault_that_they_can() -> None:
    sizes = {"M": 5, "N": 6, "K": 2}
    count = sum(1 for _ in constants(matmul(2, 2)))
    seen: set[str] = set()
    for number in range(count):
        seen |= agree(change(matmul(2, 2), number, -1), sizes, None) | agree(change(matmul(2, 2), number, 1), sizes, None)
    assert seen == {"OutOfBounds", "Uninitialised", "DoubleStore", "NeverStored"}
    assert agree(matmul(2, 2), sizes, 3) == set()
    assert agree(broken(matmul(2, 2), 8, lambda s: replace(s, update="sum")), sizes, None) == {"ReadOutput"}


def test_extents_below_zero_are_empty() -> None:
    count = sum(1 for _ in constants(matmul(2, 2)))
    for number in range(count):
        agree(change(matmul(2, 2), number, -4), {"M": 3, "N": 2, "K": 1}, None)
