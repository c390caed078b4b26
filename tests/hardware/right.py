"""The right programs of `specs/` beside this file, proved.

Comes in: the name of a spec. Goes out: the proofs of its machines, made once in each process. The one idea: who runs what is proved and who reads its
kernels back ask for the same proofs.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tinygpu import pipeline
from tinygpu.pipeline import Proof

SPECS = Path(__file__).parent / "specs"


@cache
def proofs(stem: str) -> tuple[Proof, ...]:
    """One for each machine."""
    found = tuple(pipeline.check(machine) for machine in pipeline.load(SPECS / f"{stem}.tgpu").machines)
    assert all(isinstance(one, Proof) for one in found), found
    return found  # type: ignore[return-value]
