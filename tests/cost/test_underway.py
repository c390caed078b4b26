"""What is under way, what lanes hold and what hides the latency: against the emitted text, run thread by thread, and by hand.

Comes in: machines whose copies land later. Goes out: equality of the bytes that a block has begun to copy and not waited for. The one idea: a thread of the text keeps
its groups itself, and nobody there knows of rings.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import ROOT
from tests.emit import interpreter
from tests.program.library import machine
from tinygpu.cost.data import as_data
from tinygpu.cost.measure import Cost, measure
from tinygpu.cost.on_device import Assembled, filled, hidden
from tinygpu.cost.table import page
from tinygpu.hardware.arch import device_named
from tinygpu.model.machine import Machine
from tinygpu.pipeline import load_text, program
from tinygpu.simulate.inputs import random_inputs

SHALLOW = (ROOT / "tests" / "cost" / "notes" / "TG613_shallow.tgpu").read_text(encoding="utf-8")
RINGS = [
    ("half_ring", {"M": 64, "N": 64, "K": 256}, 2 * 2 * 2 * 64 * 32),
    ("float8_mma", {"M": 64, "N": 64, "K": 320}, 2 * 2 * 64 * 64),
    ("matmul_pipelined", {"M": 64, "N": 64, "K": 96}, 2 * 4 * 64 * 16),  # B alone: A is turned around, and passes registers
    ("half_ring", {"M": 64, "N": 64, "K": 32}, 2 * 2 * 64 * 32),  # one turn: the second group is empty
    ("tiles", {"R": 1, "N": 2048}, 2 * 4 * 256),
]
SPEC = {"half_ring": "tensor_cores", "float8_mma": "tensor_cores", "matmul_pipelined": "matmul_ring"}


def ring(name: str) -> Machine:
    if name == "tiles":
        return load_text(SHALLOW, "shallow").machines[0]
    return machine(SPEC[name], name + {"half_ring": "[T=f16, MI=2]", "float8_mma": "[MI=2]"}.get(name, ""))


@pytest.mark.parametrize(("name", "sizes", "bytes_"), RINGS)
def test_the_text_has_as_much_under_way(name: str, sizes: dict[str, int], bytes_: int, monkeypatch: pytest.MonkeyPatch) -> None:
    made, most = program(ring(name)), dict[int, int]()

    class Watched(interpreter.Copies):
        def wide_copy(self, count: int) -> Any:
            begin = super().wide_copy(count)

            def watched(near: Any, to: Any, far: Any, start: Any, inside: Any) -> None:
                if not inside:  # zeros come from nowhere
                    for n in range(count):
                        near[int(to) + n] = near.elements.dtype.type(0)
                    return
                begin(near, to, far, start, inside)
                thread = self.position.threadIdx.x
                now = sum(value.itemsize for group in self.mine() for _, _, value in group)
                most[thread] = max(most.get(thread, 0), now)

            return watched

    monkeypatch.setattr(interpreter, "Copies", Watched)
    interpreter.run(made, sizes, random_inputs(made.op, sizes, seed=1))
    ahead = measure(made, sizes).launches[0].underway
    assert ahead is not None and ahead.bytes == sum(most.values()) == bytes_


def costed(name: str, sizes: dict[str, int]) -> Cost:
    return measure(program(ring(name)), sizes)


def test_what_is_not_copied_by_the_hardware_is_not_under_way() -> None:
    """Rows of an odd length move element by element, of 2 bytes: those pass registers."""
    assert costed("half_ring", {"M": 64, "N": 63, "K": 255}).launches[0].underway is None
    assert costed("half_ring", {"M": 0, "N": 64, "K": 256}).launches[0].underway is None


def test_registers_of_fragments() -> None:
    """32 × 32 sums of 4 bytes among 32 lanes, and operands of 16 columns or rows in halves of a register."""
    cost = costed("half_ring", {"M": 4096, "N": 4096, "K": 4096})
    assert cost.launches[0].fragments == {"acc": 32, "a": 8, "b": 8}
    (guessed,), (said,) = (filled(cost, "sm_90", None, reports) for reports in ((), [Assembled(92, 0, 0, 24576)]))
    assert guessed.resident is not None and said.resident is not None
    assert (guessed.resident.blocks, guessed.resident.because) == (9, "shared memory") and guessed.waves is None
    assert (said.resident.blocks, said.resident.because) == (5, "registers")
    assert "occupancy   9 blocks at once or fewer (by shared memory); registers are not known" in page(
        cost, "", None, "sm_90", [guessed]
    )


def test_the_law_of_little_by_hand() -> None:
    """273 ns at 3.35 TB/s of 132 multiprocessors; a device without such copies, and one whose latency nobody measured, have no answer."""
    cost, report = costed("half_ring", {"M": 4096, "N": 4096, "K": 4096}), [Assembled(92, 0, 0, 24576)]
    h100, others = device_named("h100"), [device_named(name) for name in ("t4", "l4")]
    assert h100 is not None
    (on,) = filled(cost, "sm_90", h100, report)
    found = hidden(cost, 0, h100, on)
    assert found is not None and (found.underway, found.blocks, found.groups) == (5 * 2 * 8192, 5, 1)
    assert found.needs == pytest.approx(273e-9 * 3.35e12 / 132)
    assert as_data(cost, h100, "sm_90", [on])["latency"][0]["needed_groups"] == 1
    assert all(d is not None and hidden(cost, 0, d, on) is None for d in others)


def test_who_asks_for_less_needs_less_under_way() -> None:
    """With f32 the arithmetic takes longer than memory would, and what is asked for in that time is less than memory gives."""
    cost, device = costed("matmul_pipelined", {"M": 4096, "N": 4096, "K": 4096}), device_named("h100")
    assert device is not None
    (on,) = filled(cost, "sm_90", device, [Assembled(64, 0, 0, 25344)])
    found = hidden(cost, 0, device, on)
    asked = 64 * 4096 * 4096 * 4
    assert found is not None and found.needs == pytest.approx(273e-9 * min(asked / 2.0536e-3, 3.35e12) / 132, rel=1e-2)
