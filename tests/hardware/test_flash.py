"""Attention by warpgroups: its text does what the equation says, its machine code has what was promised, and with one thing changed it is refuted.

Comes in: the machines by `wgmma` of `specs/attention.tgpu`, and changes of their text. Goes out: outputs, machine code, verdicts. The one idea: what goes wrong in
such a kernel is one word: who has a tile, when it may be read, which row a maximum is of, what is scaled.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from benchmarks.machine_code import disassembler, gate
from tests.conftest import ROOT
from tests.emit.interpreter import run
from tests.emit.test_cuda_prelude import needs_cuda
from tests.program.library import loaded
from tinygpu import pipeline
from tinygpu.category.number import Array
from tinygpu.model.machine import Machine
from tinygpu.pipeline import Proof, Refutation
from tinygpu.proof.kernel import prove
from tinygpu.simulate.inputs import random_inputs

TEXT = (ROOT / "specs/attention.tgpu").read_text(encoding="utf-8")
FLASH, CAUSAL = "flash_wgmma", "causal_wgmma"
WRONG = {  # what is changed: what stands there, what instead, and the code that is said
    "a ring longer than its arrays": ("ring tiles: 2", "ring tiles: 3", "TG310"),
    "scores that have not landed": ("          wait mma 0\n          for i, j in x {", "          for i, j in x {", "TG310"),
    "values given back under way": ("          wait mma 0\n        }", "          wait mma 1\n        }", "TG310"),
    "the slot of another turn": ("sV[c % 2, kj*16", "sV[(c + 1) % 2, kj*16", "TG302"),
    "no fence of weights": ("          fence mma\n          for kj", "          for kj", "TG312"),
    "no fence of queries": ("    fence async\n", "", "TG312"),
    "no barrier for queries": ("    fence async\n    barrier\n", "    fence async\n", "TG312"),
}
SCALED = "{ o[i, d] *= old[i // 8 % 2] }"
REFUTED = {  # what is changed, the code that is said, and the smallest number of keys with which it goes wrong: one, or one more than a tile
    "keys for values": (FLASH, "p[0, kj*16], sV[", "p[0, kj*16], sK[", "TG509", 1),
    "values for keys": (FLASH, "sK[c % 2, 0, ke*16]", "sV[c % 2, 0, ke*16]", "TG509", 1),
    "the queries of the other warpgroup": (FLASH, "sQ[g*64,", "sQ[64 - g*64,", "TG509", 1),
    "the maximum of other rows": (
        FLASH,
        "exp(x[i, j] - top[i // 8 % 2])\n            now",
        "exp(x[i, j] - top[1 - i // 8 % 2])\n            now",
        "TG509",
        1,
    ),
    "a maximum of two lanes": (FLASH, "for far in (1, 2) { top", "for far in (1, 1) { top", "TG509", 1),
    "weights of other keys": (FLASH, "p[0, kj*16]", "p[0, 48 - kj*16]", "TG509", 1),
    "a key too many": (FLASH, "c*64 + j < T else", "c*64 + j <= T else", "TG509", 1),
    "a key too few": (FLASH, "c*64 + j < T else", "c*64 + j + 1 < T else", "TG509", 1),
    "scaled twice": (FLASH, SCALED, "{ o[i, d] *= old[i // 8 % 2] * old[i // 8 % 2] }", "TG509", 65),
    "not scaled": (FLASH, SCALED, "{ o[i, d] *= 1 }", "TG509", 65),
    "a sum that is not scaled": (FLASH, "total[r] * old[r] + now[r]", "total[r] + now[r]", "TG509", 65),
    "a tile too few": (CAUSAL, "for c < 2*bi + 2", "for c < 2*bi + 1", "TG505", 65),
    "without the diagonal": (CAUSAL, "c*64 + j <= first + i", "c*64 + j < first + i", "TG509", 1),
}


def changed(name: str, right: str, wrong: str) -> Machine:
    """The machine of that name with one text for another."""
    before, head, after = TEXT.partition(f"machine {name}")
    body, end, rest = after.partition("\n}\n")
    assert right in body
    text = before + head + body.replace(right, wrong) + end + rest
    return pipeline.load_text(text).spec.machine(f"{name}[F=f16, E=64]")


@pytest.mark.sampled
@pytest.mark.parametrize("name", WRONG)
def test_wrong_ones_are_refuted(name: str) -> None:
    right, wrong, code = WRONG[name]
    verdict = pipeline.check(changed(FLASH, right, wrong))
    assert isinstance(verdict, Refutation), verdict
    assert verdict.diagnostic.code == code, verdict.diagnostic.title


@pytest.mark.sampled
@pytest.mark.parametrize("name", REFUTED)
def test_wrong_attention_is_refuted_with_the_fewest_keys(name: str) -> None:
    *change, code, keys = REFUTED[name]
    verdict = pipeline.check(changed(*change))
    assert isinstance(verdict, Refutation), verdict
    assert verdict.diagnostic.code == code, verdict.diagnostic.title
    assert dict(verdict.sizes) == {s: 1 for s, _ in verdict.sizes} | {"D": 64, "M" if change[0] == CAUSAL else "T": keys}


@pytest.mark.sampled
def test_weights_that_are_rounded_for_good_are_not_proved() -> None:
    """Nothing but rounding makes them others, which is no counterexample; over the reals they are what is said only where a program says `near`."""
    found = prove(pipeline.program(changed(FLASH, "near_F(x", "F(x")))
    assert not isinstance(found, Proof) and any(one.claim.code.startswith("TG50") for one in found)


def softmax(scores: Array) -> Array:
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.asarray(weights / weights.sum(-1, keepdims=True))


@pytest.mark.sampled
@pytest.mark.parametrize("order", ["forwards", "backwards", "mixed"])
def test_tiles_land_as_late_as_they_may(order: str) -> None:
    program = pipeline.program(loaded("attention").spec.machine("flash_wgmma[F=f16, E=64]"))
    sizes = {"B": 1, "H": 1, "S": 70, "T": 200, "D": 64}
    inputs = random_inputs(program.op, sizes, seed=1)
    q, k, v = (np.asarray(inputs[name], np.float64) for name in "QKV")
    wanted = softmax(inputs["a"] * q @ k.swapaxes(-1, -2)) @ v
    found = run(program, sizes, inputs, 32, wide=True, order=order)
    np.testing.assert_allclose(found["O"], wanted, rtol=0, atol=2e-3 * np.abs(wanted).max())


@pytest.mark.sampled
@pytest.mark.parametrize("wide", [True, False])
def test_a_block_ends_where_the_mask_does(wide: bool) -> None:
    program = pipeline.program(loaded("attention").spec.machine("causal_wgmma[F=f16, E=64]"))
    sizes = {"B": 1, "H": 1, "R": 1, "M": 150, "D": 64}
    inputs = random_inputs(program.op, sizes, seed=1)
    q, k, v = (np.asarray(inputs[name], np.float64) for name in "QKV")
    scores = inputs["a"] * q @ k[:, :, None].swapaxes(-1, -2)
    wanted = softmax(np.where(np.tril(np.ones((150, 150), np.bool_)), scores, -np.inf)) @ v[:, :, None]
    found = run(program, sizes, inputs, 32, wide=wide, order="mixed")
    np.testing.assert_allclose(found["O"], wanted, rtol=0, atol=2e-3 * np.abs(wanted).max())


HEADS = [f"{name}[F={f}, E={e}]" for name in (FLASH, CAUSAL) for f, e in (("bf16", 128), ("f16", 64))]


@pytest.mark.parametrize("name", [HEADS[0], *(pytest.param(n, marks=pytest.mark.sampled) for n in HEADS[1:])])
def test_the_machine_code_multiplies_as_often_as_a_head_is_wide(name: str) -> None:
    needs_cuda()
    (report,) = gate([pipeline.program(loaded("attention").spec.machine(name))], (9, 0, "a"))
    assert report.refused() == () and (report.stack_bytes, report.spill_bytes) == (0, 0)
    if disassembler():
        counts = Counter(i.name.split(".")[0] for i in report.instructions)
        assert counts["HGMMA"] == int(name.split("E=")[1][:-1]) // 8
        assert counts["UTMALDG"]
