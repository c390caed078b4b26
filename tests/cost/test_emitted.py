"""What is counted is what the emitted text does: its kernels run by Python, with memory that notes who touches it.

Comes in: machines of every shape, at sizes where borders cut through tiles, with wide accesses and without. Goes out: equality of every number
for each array, in global memory and in a block's, and of what is computed. The one idea: the count never walks through a grid, the text does nothing else; the two
share nothing but the rule (32 threads, sectors of 32 bytes, 32 banks of 4).
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cache, partial
from math import gcd, prod
from pathlib import Path
from types import CodeType, FrameType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.conftest import ROOT, Share
from tests.emit import interpreter, warps
from tests.emit.hand_programs import transpose
from tests.emit.interpreter import BlockMemory, Pointer
from tests.hardware import lanes
from tests.program.library import STEMS, as_promised, edges, library, machine
from tinygpu.category.dtype import BYTES
from tinygpu.category.evaluate import evaluate
from tinygpu.category.layout import Layout
from tinygpu.cost.closed import value
from tinygpu.cost.counted import smallest
from tinygpu.cost.counting import count
from tinygpu.cost.measure import measure, takes_wide
from tinygpu.cost.sites import Access, sites
from tinygpu.cost.warps import Tally, tally
from tinygpu.derive.unpack import unpack
from tinygpu.emit.cuda import cuda_source
from tinygpu.hardware.arch import CPU
from tinygpu.pipeline import load, program
from tinygpu.program.arrays import arrays, shared_places
from tinygpu.program.call import Sync
from tinygpu.program.step import Program
from tinygpu.schedule.roles import maps
from tinygpu.simulate.inputs import random_inputs
from tinygpu.simulate.simulate import simulate

Key = tuple[str, bool, int]  # an array, whether it is stored to, the bytes that a lane moves at once
TILES = [
    ("matmul", "matmul_wide", {"M": 33, "N": 140, "K": 3}),
    ("matmul", "matmul_wide", {"M": 33, "N": 141, "K": 3}),
    ("matmul_shared", "matmul_64x64", {"M": 70, "N": 72, "K": 20}),
    ("matmul_shared", "matmul_128x128", {"M": 130, "N": 132, "K": 12}),
    ("transpose", "transpose_wide", {"M": 36, "N": 44}),
    ("softmax", "softmax_warp", {"R": 5, "N": 132}),
    ("copy", "copy_block", {"n": 1030}),
    ("saxpy", "saxpy_v4", {"n": 1030}),
    ("histogram", "histogram_shared", {"n": 700, "B": 40}),
]
INSTRUCTED = sorted((ROOT / "tests" / "hardware" / "specs").glob("*.tgpu"))
THREADS = 1 << 12  # of one run
LAYOUTS = (Layout(), Layout(pad=1), Layout(pad=2), Layout(swizzle=(5, 0, 5)), Layout(swizzle=(3, 0, 5)))


@cache
def positions(code: CodeType) -> list[Any]:
    """Where each instruction comes from."""
    return list(code.co_positions())


class Notes:
    """`array, stored, bytes` → for each warp at each turn of each place of the text, the first bytes that its lanes touch."""

    def __init__(self, text: str):
        self.lines = text.encode().split(b"\n")
        self.loops = [
            (n.target.id, n.lineno, n.end_lineno or 0)
            for n in ast.walk(ast.parse(text))
            if isinstance(n, ast.For) and isinstance(n.target, ast.Name)
        ]
        self.position, self.number, self.atomic = SimpleNamespace(), 0, set[Key]()
        self.multiplied = 0
        self.found: dict[Key, dict[Any, set[tuple[int, int]]]] = defaultdict(lambda: defaultdict(set))

    def note(self, frame: FrameType, key: Key, start: int, piece: int = 0) -> None:
        turn = tuple(int(frame.f_locals[name]) for name, first, last in self.loops if first < frame.f_lineno <= last)
        block, thread = int(self.position.blockIdx.x), int(self.position.threadIdx.x)
        self.found[key][self.place(frame), self.number, turn, piece, block, thread // 32].add((thread, start))

    def performed(self, text: str, lanes: Sequence[Sequence[Any]]) -> None:
        """One instruction of a warp: the rows that its lanes name, or how much it multiplies."""
        if (product := re.search(r"\.m(\d+)n(\d+)k(\d+)\.", text)) is not None:
            self.multiplied += prod(map(int, product.groups())) // (4 if text.startswith("wgmma") else 1)  # by each warp of a group
            return
        loads, count = text.startswith("ld"), int(re.search(r"\.x(\d)", text)[1])  # type: ignore[index]
        rows = [lane[2:4] if loads else lane[:2] for lane in lanes[: 8 * count]]
        key = rows[0][0].name, not loads, 16
        starts = {(n, p.start + int(offset) * p.elements.itemsize) for n, (p, offset) in enumerate(rows)}
        self.found[key][len(self.found[key])] = starts

    def place(self, frame: FrameType) -> tuple[int, bytes]:
        """The line and the words of an access: one that a statement says twice is made once."""
        line, _, first, last = positions(frame.f_code)[frame.f_lasti // 2]
        assert line
        return line, self.lines[line - 1][first:last]

    def tallies(self, shared: set[str]) -> dict[Key, Tally]:
        """As they are counted."""
        return {key: together([*self.each(key, key[0] in shared)]) for key in self.found}

    def each(self, key: Key, shared: bool) -> Iterator[Tally]:
        width = key[2]
        for touched in self.found[key].values():
            meeting = max(Counter(start for _, start in touched).values()) if key in self.atomic else 0
            if not shared:
                fewest = -(-len({start for _, start in touched}) * width // 32)
                sectors = len({start // 32 for _, start in touched})
                yield Tally(1, len(touched), sectors, fewest, sectors, meeting)
                continue
            served: dict[int, set[int]] = defaultdict(set)  # lanes that are served together: of a warp, a half, a quarter
            for thread, start in touched:
                served[thread // min(32, 128 // width)] |= {(start + n) // 4 for n in range(width)}
            turns = [max(Counter(word % 32 for word in words).values()) for words in served.values()]
            yield Tally(1, len(touched), sum(turns), -(-len(set().union(*served.values())) // 32), max(turns), meeting)


class Noted(Pointer):
    """An array that notes who touches it."""

    def __init__(self, elements: Any, notes: Notes, name: str, start: int = 0):
        super().__init__(elements)
        self.notes, self.name, self.start = notes, name, start

    def note(self, frame: FrameType, stores: bool, offset: Any, lanes: int = 1, piece: int = 0) -> Key:
        item = self.elements.itemsize
        key = self.name, stores, lanes * item
        self.notes.note(frame, key, self.start + int(offset) * item, piece)
        return key

    def __getitem__(self, offset: Any) -> Any:
        self.note(sys._getframe(1), False, offset)
        return super().__getitem__(offset)

    def __setitem__(self, offset: Any, value: Any) -> None:
        self.note(sys._getframe(1), True, offset)
        super().__setitem__(offset, value)


def noted(
    made: Program, sizes: dict[str, int], wide: bool, monkeypatch: pytest.MonkeyPatch, bits: int
) -> tuple[dict[Key, Tally], int]:
    """What the threads of the text touch, and the multiply-adds of instructions; they leave the bits that the simulator leaves."""
    notes = Notes(cuda_source(made))
    later = warps.later
    space_of, arguments_of, wide_copy, perform = (
        interpreter.space_of,
        interpreter.arguments_of,
        interpreter.Copies.wide_copy,
        lanes.perform,
    )

    class Memory(BlockMemory):
        def __init__(self, made: Program, number: int):
            super().__init__(made, number)
            self.names = {start: name for name, start in shared_places(made.launches[number])[0].items()}

        def shared(self, kind: Any, start: int) -> Pointer:
            return Noted(super().shared(kind, start).elements, notes, self.names[start], start)

    def moved(count: int, stores: bool) -> Any:
        def move(*arguments: Any) -> None:
            pointer, offset, cells = arguments if stores else (arguments[1], arguments[2], arguments[0])
            lanes = gcd(count * cells.itemsize, 16) // cells.itemsize
            for piece in range(count // lanes):
                pointer.note(sys._getframe(1), stores, int(offset) + piece * lanes, lanes, piece)
            plain = Pointer(pointer.elements)
            made = interpreter.wide_store(count) if stores else interpreter.wide_load(count)
            made(*((plain, offset, cells) if stores else (cells, plain, offset)))

        return move

    def updated(update: str, space: str) -> Any:
        def change(pointer: Noted, offset: Any, value: Any) -> None:
            notes.atomic.add(pointer.note(sys._getframe(1), True, offset))
            interpreter.atomic(update, space)(Pointer(pointer.elements), offset, value)

        return change

    def copied(copies: interpreter.Copies, count: int) -> Any:
        begin = wide_copy(copies, count)

        def copy(near: Noted, to: Any, far: Noted, start: Any, inside: Any) -> None:
            lanes = gcd(count * near.elements.itemsize, 16) // near.elements.itemsize
            for piece in range(count // lanes):
                near.note(sys._getframe(1), True, int(to) + piece * lanes, lanes, piece)
                if inside:
                    far.note(sys._getframe(1), False, int(start) + piece * lanes, lanes, piece)
            begin(Pointer(near.elements), to, Pointer(far.elements), start, inside)

        return copy

    def performed(text: str, given: Sequence[Sequence[Any]]) -> None:
        notes.performed(text, given)
        perform(text, given)

    def begun(text: str, given: Sequence[Sequence[Any]], *others: Any) -> None:
        if "mma_async" in text:
            notes.performed(text, given)
        later(text, given, *others)

    def space(position: SimpleNamespace) -> dict[str, Any]:
        notes.position = position
        names = {"wide_load": lambda n, *_: moved(n, False), "wide_store": lambda n, *_: moved(n, True), "atomic": updated}
        return space_of(position) | names

    def arguments(*given: Any) -> list[Any]:
        notes.number += 1  # a launch in a loop is made once a turn
        found, parameters = arguments_of(*given), interpreter.kernel_parameters(*given[:2])
        return [Noted(a.elements, notes, p.name) if isinstance(a, Pointer) else a for a, p in zip(found, parameters, strict=True)]

    with monkeypatch.context() as patch:
        rows = ("apart", lambda array: array)  # what is strided is counted as if it lay in rows
        patch.setattr(interpreter.Copies, "wide_copy", copied)
        patch.setattr(lanes, "perform", performed)
        patch.setattr(warps, "later", begun)
        for name, instead in (("BlockMemory", Memory), ("space_of", space), ("arguments_of", arguments), rows):
            patch.setattr(interpreter, name, instead)
        outputs = interpreter.run(made, sizes, random_inputs(made.op, sizes, seed=1), bits, wide)
    outcome = simulate(made, sizes, random_inputs(made.op, sizes, seed=1))
    same = np.testing.assert_array_equal if not notes.multiplied else partial(np.testing.assert_allclose, rtol=1e-3, atol=1e-3)
    for name, values in outputs.items():  # an instruction sums in its own order
        same(np.asarray(values, float), np.asarray(outcome.outputs[name], float), err_msg=f"{made.name} at {sizes}")
    return notes.tallies({*made.shared}), notes.multiplied


def counted(made: Program, sizes: dict[str, int], wide: bool) -> dict[Key, Tally]:
    """What is counted, without a walk; every closed form that there is says as many lanes."""
    found: dict[Key, list[Tally]] = defaultdict(list)
    for site in sites(made, wide):
        if isinstance(site, Access):
            one, where, launch = tally(made, site, sizes), site.where, made.launches[site.where.launch]
            assert one is not None
            form = count((*launch.grid, *launch.block, *where.axes), where.guard, smallest(made))
            assert form is None or value(form, sizes) == one.lanes, f"{site.array.name}: {form}"
            found[site.array.name, site.stores, site.bytes].append(one)
    return {key: one for key, several in found.items() if (one := together(several)).requests}


def together(several: list[Tally]) -> Tally:
    def total(name: str, how: Any = sum) -> Any:
        values = [getattr(one, name) for one in several]
        return None if None in values else how(values)

    sums = (total(name) for name in ("requests", "lanes", "units", "fewest"))
    return Tally(*sums, total("worst", max), total("meeting", max), all(one.exact for one in several))


def compared(made: Program, sizes: dict[str, int], monkeypatch: pytest.MonkeyPatch, bits: int = 32) -> None:
    wide = bool(takes_wide(made, sizes)) and not maps(made)  # boxes are counted as what lanes copy where no unit does
    mine, (real, multiplied) = counted(made, sizes, wide), noted(made, sizes, wide, monkeypatch, bits)
    assert sum(count.number or 0 for kind, _, count in measure(made, sizes).operations if kind == "tensor") == multiplied
    assert real.keys() <= mine.keys(), f"{made.name} at {sizes}"
    vague = not all(one.exact for one in mine.values()) or "bool" in {t.dtype for t in made.op.tensors}  # guards that are data
    for key, one in mine.items():
        seen, what = real.get(key, Tally(0, 0, 0, 0, 0, 0)), f"{made.name} at {sizes}: {key}"
        if vague:
            assert one.exact or (seen.requests <= one.requests and seen.lanes <= one.lanes), what
        elif one.units is None:
            assert (seen.requests, seen.lanes) == (one.requests, one.lanes), what
        elif (
            wide and key[2] == BYTES[arrays(made)[key[0]].dtype]
        ):  # stands twice: beside the wide access, and for lanes that do not take it
            assert seen.lanes == one.lanes, what
        else:
            assert seen == one, what


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("spec", "name", "sizes"), TILES, ids=lambda v: v if isinstance(v, str) else "")
def test_the_text_moves_what_is_counted(spec: str, name: str, sizes: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    compared(unpack(program(machine(spec, name))), sizes, monkeypatch)


@pytest.mark.parametrize("layout", LAYOUTS, ids=repr)
def test_banks_of_every_layout(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    compared(transpose(layout, "transposed"), {"M": 64, "N": 64}, monkeypatch)


@pytest.mark.sampled
@pytest.mark.parametrize("path", INSTRUCTED, ids=lambda path: path.stem)
def test_rows_of_instructions_and_what_they_multiply(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With pads, with a half of the lanes, stored, in tiles that borders cut."""
    for one in load(path).machines:
        for some in ((33, 32, 48, 16), (33, 21, 17, 9)):
            compared(unpack(program(one)), dict(zip(one.op.sizes, some, strict=False)), monkeypatch)


@pytest.mark.sampled
@pytest.mark.parametrize("spec", STEMS)
def test_every_machine(spec: str, monkeypatch: pytest.MonkeyPatch, share: Share) -> None:
    """And it leaves what the simulator leaves, to the bit."""
    for made in (unpack(program(m)) for m in share(library(spec)) if m.arch != CPU):
        for bits, sizes in zip((32, 64), few(made), strict=False):
            if as_promised(made, sizes, random_inputs(made.op, sizes, seed=1)):
                compared(made, sizes, monkeypatch, bits)


def few(made: Program) -> list[dict[str, int]]:
    """Sizes around the edges of tiles for few threads, and some of which one is 0."""
    most = THREADS >> 5 * any(
        isinstance(step, Sync) and step.begins is not None for step in made.steps
    )  # of instructions each is long
    every = [s for s in [*edges(made, 12, seed=3)][2:] if threads(made, s) <= most]
    empty = [s for s in every if not min(s.values(), default=0) and not made.op.promises]  # of nothing no promise is kept
    return [s for s in every if min(s.values(), default=0)][:1] + empty[:1]


def threads(made: Program, sizes: dict[str, int]) -> int:
    """Of all launches."""
    return sum(prod(max(0, int(evaluate(a.extent, sizes))) for a in launch.grid + launch.block) for launch in made.launches)
