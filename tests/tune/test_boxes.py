"""Machines with the instructions of an architecture in a search: what is legal of them, what they are predicted to take, and which states chance finds.

Comes in: products of the library, an H100 that is not here. Goes out: states, predictions, verdicts. The one idea: an instruction's box is a digit like any other, whose extent the instruction says.
"""

from __future__ import annotations

from random import Random

import pytest

from tests.tune.test_search import op_of
from tinygpu import pipeline
from tinygpu.commands.specs import text_of
from tinygpu.cost.footprint import on_gpu
from tinygpu.diagnostic import TinygpuError
from tinygpu.hardware.arch import device_named
from tinygpu.model.op import Op
from tinygpu.record import replace
from tinygpu.run import gate
from tinygpu.syntax import tree
from tinygpu.tune import beam
from tinygpu.tune.actions import Action, Unsay, done
from tinygpu.tune.beam import Beam
from tinygpu.tune.costed import _counted
from tinygpu.tune.first import first
from tinygpu.tune.kinds import Asked
from tinygpu.tune.moves import Space
from tinygpu.tune.predict import UNKNOWN, predicted
from tinygpu.tune.rules import broken
from tinygpu.tune.state import BOX, State
from tinygpu.tune.walks import walked

SIZES = {"M": 4096, "N": 4096, "K": 4096}


def boxed(op: Op, arch: str = "sm_90") -> list[State]:
    return [s for s in Space(op, arch).starts if any(f.level == BOX for n in s.nests for f in n.factors)]


def used(state: State) -> list[str]:
    return [c.name for n in state.nests for c in n.said if isinstance(c, tree.Use)]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("matmul_half", ["wgmma_m64n128k16_n", "mma_m16n8k16", "mma_m16n8k8", "mma_m16n8k8"]),
        ("nt", ["wgmma_m64n128k16", "mma_m16n8k16", "mma_m16n8k8", "mma_m16n8k8"]),
        ("tt", ["wgmma_m64n128k16_m", "mma_m16n8k16", "mma_m16n8k8", "mma_m16n8k8"]),
    ],
)
def test_an_instruction_that_reads_shared_memory_is_met_where_it_lies_so(name: str, says: list[str]) -> None:
    """One of the four that read shared memory is for this product, and its tiles of halves fit an H100."""
    assert [one for state in boxed(op_of("tensor_cores", name)) for one in used(state)] == says


def test_an_instruction_stands_in_a_machine_of_one_launch() -> None:
    op = op_of("attention", "attention")
    assert not boxed(op) and not any(used(s) for s in first(op, "sm_90"))


def test_what_the_checker_refuses_of_boxes_is_refused_before() -> None:
    """Without a tile that the instruction reads; with tiles that take turns and do not land later; with more registers than a block's threads have."""
    op = op_of("tensor_cores", "matmul_half")
    space, (wide, *_) = Space(op, "sm_90"), boxed(op_of("tensor_cores", "matmul_half"))
    (nest,) = wide.nests
    place = next(n for n, clause in enumerate(nest.said) if isinstance(clause, tree.Stage))
    without = done(wide, Action(0, Unsay(place)))
    assert without is not None
    said = tuple(replace(c, asynchronous=False) if isinstance(c, tree.Stage) else c for c in nest.said)
    plain = replace(wide, nests=(replace(nest, said=said),))
    many = tuple((i, tuple(replace(f, extent=8) if f.level == "block" and i == "i" else f for f in cut)) for i, cut in nest.cuts)
    full = replace(wide, nests=(replace(nest, cuts=many),))
    assert not [*broken(wide, op)]
    assert [*broken(without[0], op)] == [*broken(plain, op)] == ["around a box are registers and time"]
    assert "what a thread holds fits into registers" in [*broken(full, op)]
    for state in (without[0], plain):
        (machine,) = (m for m in pipeline.load_text(f"{text_of(op)}\n\n{state.text('m')}").machines if m.name == "m")
        with pytest.raises(TinygpuError):
            pipeline.program(machine)
    assert space.legal(wide)


def test_a_beam_for_a_device_prefers_its_instructions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beam, "WIDTH", 6)
    monkeypatch.setattr(beam, "DEPTH", 3)
    device, op = device_named("h100"), op_of("tensor_cores", "matmul_half")
    assert device is not None
    core, space = on_gpu(device), Space(op, device.arch)
    costs = {bool(used(s)): predicted(s, op, SIZES, core) for s in reversed(space.starts)}
    assert costs[True] < costs[False] / 2 and max(costs.values()) < UNKNOWN
    found = Beam(space, Random(0), lambda s: predicted(s, op, SIZES, core))
    assert all(used(state) for _ in range(3) if (state := found.ask()))


def test_a_machine_is_assembled_for_the_architecture_that_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    device, op, asked = device_named("h100"), op_of("tensor_cores", "matmul_half"), list[str]()
    assert device is not None
    monkeypatch.setattr(gate, "assembled", lambda program, arch, wide: asked.append(arch) or ())
    for state in (boxed(op)[0], boxed(op)[1]):
        _counted(Asked(text_of(op), state), state.text("candidate"), SIZES, device, 1e9, lambda **known: None)
    assert asked == ["sm_90a", "sm_90"]


@pytest.mark.sampled
def test_nine_in_ten_states_with_boxes_are_proved() -> None:
    op, chance, proved = op_of("tensor_cores", "matmul_half"), Random(3), 0
    space, starts = Space(op, "sm_90", (), tuple(SIZES.items())), boxed(op)
    for _ in range(20):
        text = walked(space, chance.choice(starts), chance.randint(4, 12), chance).text("m")
        try:
            (machine,) = (m for m in pipeline.load_text(f"{text_of(op)}\n{text}").machines if m.name == "m")
            proved += isinstance(pipeline.check(machine, time=20), pipeline.Proof)
        except TinygpuError:
            continue
    assert proved >= 18
