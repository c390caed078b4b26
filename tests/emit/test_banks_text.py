"""Bank conflicts of the emitted text: the addresses that its threads really touch, put into banks by hand.

Comes in: kernels' text run by Python, which notes every access to a block's memory by byte. Goes out: the turns of each warp, against
what `cost/warps.py` counts from the program. The one idea: the two share nothing but the rule of 32 banks of 4 bytes, and both say 1.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from math import gcd
from types import FrameType, SimpleNamespace
from typing import Any

import pytest

from tests.conftest import ROOT, Share
from tests.emit import interpreter
from tests.emit.hand_programs import PROGRAMS, transpose
from tests.emit.interpreter import BlockMemory, Pointer
from tinygpu.category.layout import Layout
from tinygpu.cost.sites import Access as Site
from tinygpu.cost.sites import sites
from tinygpu.cost.warps import tally
from tinygpu.derive.unpack import unpack
from tinygpu.emit.cuda import cuda_source
from tinygpu.pipeline import load, program
from tinygpu.program.arrays import shared_places
from tinygpu.program.step import Program
from tinygpu.simulate.inputs import random_inputs

Access = tuple[str, bool, int]  # the array, whether it is stored to, the bytes of a lane
SIZE, FEW = 64, 16  # of most sizes, and of those that only folds run over
SIZES = {"conv_nhwc": {"B": 1, "H": 8, "W": 8, "C": 8, "F": 16}}


class Notes:
    """Every access: what and where in the text, the turns of all loops around it → thread → its first byte."""

    def __init__(self, text: str):
        self.found: dict[tuple[Any, ...], dict[int, int]] = defaultdict(dict)
        self.loops = sorted(
            {n.target.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.For) and isinstance(n.target, ast.Name)}
        )
        self.block = 0
        self.thread = SimpleNamespace(x=0)

    def add(self, frame: FrameType, access: Access, byte: int, piece: int = 0) -> None:
        turn = tuple(int(frame.f_locals[name]) if name in frame.f_locals else -1 for name in self.loops)
        at = frame.f_code.co_name, frame.f_lasti, turn, piece
        self.found[self.block, access, at][self.thread.x] = byte

    def ways(self) -> dict[Access, int]:
        """The most turns of any warp for each access."""
        most: dict[Access, int] = defaultdict(int)
        for (_, access, _), bytes in self.found.items():
            for group in groups(bytes, access[2]):
                banks: dict[int, set[int]] = defaultdict(set)
                for byte in group:
                    for word in {(byte + n) // 4 for n in range(access[2])}:
                        banks[word % 32].add(word)
                most[access] = max(most[access], *map(len, banks.values()))
        return dict(most)


def ways(made: Program, sizes: dict[str, int]) -> dict[Access, int | None]:
    """What is counted: the most turns of each access; None where its index is data."""
    found: dict[Access, int | None] = {}
    for site in sites(unpack(made)):
        if isinstance(site, Site) and site.array.owner == "block":
            one, key = tally(made, site, sizes), (site.array.name, site.stores, site.bytes)
            assert one is not None
            most = found.get(key, 0)
            found[key] = None if one.worst is None or most is None else max(most, one.worst)
    return found


def groups(bytes: dict[int, int], width: int) -> Iterator[list[int]]:
    """The lanes that are served together: those of a warp, of a half for 8 bytes each, of a quarter for 16."""
    lanes = min(32, 128 // width)
    together: dict[int, list[int]] = defaultdict(list)
    for thread, byte in bytes.items():
        together[thread // lanes].append(byte)
    yield from together.values()


class Noted(Pointer):
    """A shared array that notes who touches it."""

    def __init__(self, elements: Any, notes: Notes, name: str, start: int):
        super().__init__(elements)
        self.notes, self.name, self.start = notes, name, start

    def note(self, frame: FrameType, stores: bool, offset: Any, lanes: int = 1, piece: int = 0) -> None:
        item = self.elements.itemsize
        self.notes.add(frame, (self.name, stores, lanes * item), self.start + int(offset) * item, piece)

    def __getitem__(self, offset: Any) -> Any:
        self.note(sys._getframe(1), False, offset)
        return super().__getitem__(offset)

    def __setitem__(self, offset: Any, value: Any) -> None:
        self.note(sys._getframe(1), True, offset)
        super().__setitem__(offset, value)


def noting(made: Program, sizes: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> Notes:
    """Runs the text of a program; what its threads touch in shared memory."""
    notes = Notes(cuda_source(made))

    class Memory(BlockMemory):
        def __init__(self, made: Program, number: int):
            super().__init__(made, number)
            places, _ = shared_places(made.launches[number])
            self.names = {start: name for name, start in places.items()}

        def start(self) -> None:
            super().start()
            notes.block += 1

        def shared(self, kind: Any, start: int) -> Pointer:
            return Noted(super().shared(kind, start).elements, notes, self.names[start], start)

    def moved(count: int, stores: bool) -> Any:
        def move(*arguments: Any) -> None:
            pointer, offset, cells = arguments if stores else (arguments[1], arguments[2], arguments[0])
            plain = Pointer(pointer.elements)
            lanes = gcd(count * cells.itemsize, 16) // cells.itemsize
            for piece in range(count // lanes):
                pointer.note(sys._getframe(1), stores, int(offset) + piece * lanes, lanes, piece)
            made = interpreter.wide_store(count) if stores else interpreter.wide_load(count)
            made(*((plain, offset, cells) if stores else (cells, plain, offset)))

        return move

    space_of = interpreter.space_of

    def space(position: SimpleNamespace) -> dict[str, Any]:
        notes.thread = position.threadIdx
        made = space_of(position)
        for name, stores in (("wide_load", False), ("wide_store", True)):
            made[name] = lambda count, space="global", plain=made[name], stores=stores: (
                moved(count, stores) if space == "shared" else plain(count)
            )
        return made

    monkeypatch.setattr(interpreter, "BlockMemory", Memory)
    monkeypatch.setattr(interpreter, "space_of", space)
    interpreter.run(made, sizes, random_inputs(made.op, sizes, seed=2), most=1)
    return notes


@pytest.mark.parametrize(
    "layout", [Layout(), Layout(pad=1), Layout(pad=2), Layout(swizzle=(5, 0, 5)), Layout(swizzle=(3, 0, 5))], ids=repr
)
def test_the_text_has_the_conflicts_that_are_counted(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    made, sizes = transpose(layout, "transposed"), {"M": 64, "N": 64}
    counted = ways(made, sizes)
    assert noting(made, sizes, monkeypatch).ways() == counted


def test_wide_accesses_are_counted_as_they_are_emitted(monkeypatch: pytest.MonkeyPatch) -> None:
    made, sizes = PROGRAMS["matmul_whole"], {"M": 128, "K": 8, "N": 128}
    counted = ways(made, sizes)
    assert noting(made, sizes, monkeypatch).ways() == counted


@pytest.mark.sampled
@pytest.mark.parametrize("spec", sorted(path.stem for path in (ROOT / "specs").glob("*.tgpu")))
def test_no_shipped_text_has_a_conflict(spec: str, monkeypatch: pytest.MonkeyPatch, share: Share) -> None:
    for machine in share(load(ROOT / "specs" / f"{spec}.tgpu").machines):
        made = unpack(program(machine))
        if made.shared:
            sizes = SIZES.get(made.op.name, {name: FEW if name == "K" else SIZE for name in made.op.sizes})
            counted = ways(made, sizes)
            with monkeypatch.context() as patch:
                found = noting(made, sizes, patch).ways()
            assert found and found.keys() <= counted.keys()
            assert {access: ways for access, ways in found.items() if ways != 1 and counted[access] is not None} == {}
