"""What tests of machines call: whether something goes wrong with one at some sizes.

Comes in: a spec, the title of a machine, sizes. Goes out: what went wrong, in words; nothing where nothing did.
The one idea: the simulator runs the machine's program in several orders of its threads, and compares it with its equation.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tinygpu import pipeline


def went_wrong(spec: str | Path, title: str, sizes: Mapping[str, int]) -> str:
    """What is seen when the machine runs at these sizes: a fault, a race, or a wrong value; "" where all is well, and where the machine
    does not take these sizes. Raises TinygpuError for a spec that is malformed, KeyError for a machine that it does not have."""
    from tinygpu.proof.replay import misbehaviour
    from tinygpu.proof.rows import rows
    from tinygpu.simulate.sizes import admitted

    program = pipeline.program(pipeline.load(spec).spec.machine(title))
    if set(sizes) != set(program.op.sizes) or not admitted(program, dict(sizes)):
        return ""
    seen = misbehaviour(program, dict(sizes))
    if seen is None:
        return ""
    told = "; ".join(f"{name} {' and '.join(values)}" for name, values in rows(program, dict(sizes), seen))
    return f"{type(seen).__name__}: {told}"


def refuted(spec: str | Path, title: str, code: str) -> str:
    """The title of the refutation where the machine is refuted with this code; "" where it is not."""
    verdict = pipeline.check(pipeline.load(spec).spec.machine(title))
    if isinstance(verdict, pipeline.Refutation) and verdict.diagnostic.code == code:
        return verdict.diagnostic.title
    return ""
