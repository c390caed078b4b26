"""What a proof takes for granted is what stands in the program: no assumption is missed, and none is listed for nothing.

Comes in: machines of the library that have one of everything. Goes out: their axioms, against what is read off the text of the program.
The one idea: the list of a machine is the words of its program, so a reader can check it by eye, and so can a test.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.obligations.texts import COPY, SUM, program
from tests.program.library import library
from tinygpu import pipeline
from tinygpu.program.render import render
from tinygpu.program.step import Program
from tinygpu.proof.axioms import AXIOMS, axioms, wide

SPECS = ("saxpy", "dot", "online_softmax", "welford", "histogram", "transpose", "scan")
INSTRUCTION = r"\b(mma|wgmma|ldmatrix|stmatrix|tcgen05)_\w+\("
WORDS = {  # what in the text of a program brings an assumption
    "launches in order": r"(?s)\blaunch\b.*\blaunch\b",
    "barrier": r"(?m)\b(?<!warp )(?<!instruction )barrier\b",
    "warp barrier": r"\bwarp barrier\b",
    "instruction barrier": rf"\binstruction barrier\b|\bby tensor_copy\b|{INSTRUCTION}",
    "shuffle": r"\bshuffle_",
    "atomic update": r"\batomic\b",
    "asynchronous copy": r"(?<!fence )\basync (?!wgmma_|tcgen05_)",
    "asynchronous product": r"\basync wgmma_",
    "product in tensor memory": r"\basync tcgen05_",
    "tensor memory": r"(?m)^ *tensor \w+:",
    "proxy fence": r"\bfence async\b",
    "ring": r"(?m)^ *ring \w+:",
    "tensor copy": r"\bby tensor_copy\b",
    "shared memory": r"\bshared\b",
    "wide access": r"\bin vector\b",
    "lanes": rf"\bshuffle_|\b(warp|instruction) barrier\b|\bby tensor_copy\b|{INSTRUCTION}",
}
OF_LAWS = {"powers", "limits of functions"}
OF_WORK = {"cluster"}
OF_SPEC = {"declared instruction"}  # a machine that has one is in `tests/commands/test_audit.py`


def made(name: str) -> list[Program]:
    return [pipeline.program(machine) for machine in library(name)]


def with_instructions(stem: str) -> list[Program]:
    spec = Path(__file__).parents[1] / f"hardware/specs/{stem}.tgpu"
    return [pipeline.program(machine) for machine in pipeline.load(spec).machines]


@pytest.mark.parametrize("name", [*SPECS, "tiled", "doubles", "roles", "fifth/products"])
def test_what_is_assumed_stands_in_the_text(name: str) -> None:
    for one in made(name) if name in SPECS else with_instructions(name):
        text = render(one)
        assert set(axioms(one)) - OF_LAWS - OF_WORK == {a for a, words in WORDS.items() if re.search(words, text)}, one.name
        assert wide(one) == ("in vector" in text)


def test_every_assumption_of_the_table_is_made_by_some_machine() -> None:
    warp = program(COPY, "warp barrier\ns[ROW] = x[ROW]")
    later = pipeline.program(pipeline.load(ROOT / "tests" / "hardware" / "specs" / "ring_of_copies.tgpu").machines[0])
    found = {a for name in ("dot", "online_softmax", "transpose", "saxpy") for one in made(name) for a in axioms(one)}
    found |= {
        a
        for name in ("tiled", "products", "roles", "fifth/products", "clusters")
        for one in with_instructions(name)
        for a in axioms(one)
    }
    assert found | set(axioms(warp)) | set(axioms(later)) == set(AXIOMS) - OF_SPEC
    assert set(WORDS) | OF_LAWS | OF_WORK | OF_SPEC == set(AXIOMS)
    assert {"warp barrier", "lanes"} <= set(axioms(warp)) and "shuffle" not in axioms(warp)


def test_laws_of_monoids_bring_what_their_functions_do() -> None:
    assert not OF_LAWS & set(axioms(program(SUM, "local a: f32[]\na[] = 0\nfor k < N { a[] += x[ROW, k] }\ns[ROW] = a[]")))
    assert axioms(program(COPY, "s[ROW] = x[ROW]")) == ()
    assert set(axioms(made("online_softmax")[0])) >= OF_LAWS and not OF_LAWS & set(axioms(made("welford")[0]))
