"""Wide accesses: what is counted against the emitted text, run by Python with pointers that note who touches them.

Comes in: machines with vector factors, at sizes where the launcher takes the wide kernel and borders cut through tiles. Goes out: equality of
requests, bytes and sectors for each array. The one idea: the text knows which lanes go wide; the count has to know it too.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from math import gcd
from types import FrameType, SimpleNamespace
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.emit import interpreter
from tests.emit.interpreter import Pointer
from tinygpu.cost.measure import takes_wide
from tinygpu.cost.sites import Access, sites
from tinygpu.cost.warps import tally
from tinygpu.derive.unpack import unpack
from tinygpu.emit.cuda import cuda_source
from tinygpu.pipeline import load, program
from tinygpu.program.step import Program
from tinygpu.simulate.inputs import random_inputs

MACHINES = [
    ("matmul", "matmul_wide", {"M": 33, "N": 140, "K": 3}),
    ("matmul", "matmul_wide", {"M": 33, "N": 141, "K": 3}),
    ("matmul_shared", "matmul_64x64", {"M": 70, "N": 72, "K": 20}),
    ("matmul_shared", "matmul_128x128", {"M": 130, "N": 132, "K": 12}),
    ("transpose", "transpose_wide", {"M": 36, "N": 44}),
    ("softmax", "softmax_warp", {"R": 5, "N": 132}),
    ("copy", "copy_block", {"n": 1030}),
    ("saxpy", "saxpy_v4", {"n": 1030}),
]


class Notes:
    """`(array, stored, bytes)` → for each warp at each turn of each place of the text, the first bytes that its lanes touch."""

    def __init__(self, text: str):
        self.found: dict[Any, dict[Any, list[int]]] = defaultdict(lambda: defaultdict(list))
        loops = {n.target.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.For) and isinstance(n.target, ast.Name)}
        self.loops, self.position = sorted(loops), SimpleNamespace()

    def note(self, frame: FrameType, name: str, stores: bool, start: int, width: int, piece: int = 0) -> None:
        turn = tuple(int(frame.f_locals.get(name, -1)) for name in self.loops)
        block, warp = int(self.position.blockIdx.x), int(self.position.threadIdx.x) // 32
        self.found[name, stores, width][frame.f_code.co_name, frame.f_lasti, turn, piece, block, warp].append(start)

    def totals(self) -> dict[Any, tuple[int, int, int]]:
        """Requests, lanes, sectors."""
        return {
            key: (len(each), sum(map(len, each.values())), sum(len({s // 32 for s in touched}) for touched in each.values()))
            for key, each in self.found.items()
        }


class Noted(Pointer):
    """A global array that notes who touches it."""

    def __init__(self, elements: Any, notes: Notes, name: str):
        super().__init__(elements)
        self.notes, self.name = notes, name

    def __getitem__(self, offset: Any) -> Any:
        self.notes.note(sys._getframe(1), self.name, False, int(offset) * self.elements.itemsize, self.elements.itemsize)
        return super().__getitem__(offset)

    def __setitem__(self, offset: Any, value: Any) -> None:
        self.notes.note(sys._getframe(1), self.name, True, int(offset) * self.elements.itemsize, self.elements.itemsize)
        super().__setitem__(offset, value)


def emitted(made: Program, sizes: dict[str, int], wide: bool, monkeypatch: pytest.MonkeyPatch) -> dict[Any, tuple[int, int, int]]:
    notes = Notes(cuda_source(made))
    space_of, arguments_of, parameters = interpreter.space_of, interpreter.arguments_of, interpreter.kernel_parameters(made)

    def moved(count: int, stores: bool) -> Any:
        def move(*arguments: Any) -> None:
            pointer, offset, cells = arguments if stores else (arguments[1], arguments[2], arguments[0])
            item = cells.itemsize
            width = gcd(count * item, 16)
            for piece in range(count * item // width) if isinstance(pointer, Noted) else ():
                notes.note(sys._getframe(1), pointer.name, stores, int(offset) * item + piece * width, width, piece)
            plain = Pointer(pointer.elements)
            made = interpreter.wide_store(count) if stores else interpreter.wide_load(count)
            made(*((plain, offset, cells) if stores else (cells, plain, offset)))

        return move

    def space(position: SimpleNamespace) -> dict[str, Any]:
        notes.position = position
        return space_of(position) | {"wide_load": lambda n, *_: moved(n, False), "wide_store": lambda n, *_: moved(n, True)}

    def arguments(*given: Any) -> list[Any]:
        found = arguments_of(*given)
        return [Noted(a.elements, notes, p.name) if isinstance(a, Pointer) else a for a, p in zip(found, parameters, strict=True)]

    monkeypatch.setattr(interpreter, "space_of", space)
    monkeypatch.setattr(interpreter, "arguments_of", arguments)
    interpreter.run(made, sizes, random_inputs(made.op, sizes, seed=1), wide=wide)
    return notes.totals()


@pytest.mark.parametrize(("spec", "name", "sizes"), MACHINES, ids=lambda v: v if isinstance(v, str) else "")
def test_the_text_moves_what_is_counted(spec: str, name: str, sizes: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    machine = next(m for m in load(ROOT / "specs" / f"{spec}.tgpu").machines if m.name == name)
    made = unpack(program(machine))
    wide = bool(takes_wide(made, sizes))
    counted: dict[Any, tuple[int, int, int]] = {}
    for site in sites(made, wide):
        if isinstance(site, Access) and site.array.owner == "grid":
            one, key = tally(made, site, sizes), (site.array.name, site.stores, site.bytes)
            assert one is not None and one.units is not None
            before = counted.get(key, (0, 0, 0))
            counted[key] = before[0] + one.requests, before[1] + one.lanes, before[2] + one.units
    assert {k: v for k, v in counted.items() if v[0]} == emitted(made, sizes, wide, monkeypatch)
