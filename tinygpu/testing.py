"""What tests of machines call, and counterexamples as tests: what `tinygpu check --as-test FILE` writes.

Comes in: a machine; a spec, the title of a machine, sizes; refuted machines. Goes out: a proof, or a failure whose text is the diagnostic; what went
wrong, in words, and nothing where nothing did; a file for pytest, which fails as each counterexample says and passes once its machine is right. The one idea: what is shown was seen in the simulator, so the
test runs the simulator at the same sizes, and needs neither prover nor kernel; where nothing has to be run to see it, such as a block that is too
large, the test asks for the verdict.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from tinygpu import pipeline
from tinygpu.category.deadline import TIME
from tinygpu.commands.common import texts
from tinygpu.commands.judged import judge
from tinygpu.diagnostic import Diagnostic
from tinygpu.model.machine import Machine
from tinygpu.report import report

HEADER = '''"""Counterexamples, written by `tinygpu check --as-test`. Each test fails until its machine is repaired."""

from pathlib import Path

from tinygpu.testing import {}

HERE = Path(__file__).parent
'''


class Unproved(AssertionError):
    """What is not proved; its text is for a person."""

    @classmethod
    def of(cls, what: str, word: str, diagnostics: Sequence[Diagnostic]) -> Unproved:
        return cls(f"{what} is {word}\n\n{report(diagnostics, texts(diagnostics))}")


def assert_proved(machine: Machine, budget: int | None = None, time: float = TIME) -> pipeline.Proof:
    """The proof of a machine, in at most so many solver steps for an obligation, and so many seconds. Raises Unproved, an AssertionError, where it is
    refuted, unknown or wrong."""
    __tracebackhide__ = True
    judged = judge(machine.span.file, machine, budget, limit=time)
    if not isinstance(judged.verdict, pipeline.Proof):
        raise Unproved.of(machine.heading, judged.word, judged.diagnostics)
    return judged.verdict


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


def as_tests(found: Sequence[tuple[str, str, pipeline.Refutation]], folder: Path) -> str:
    """The file for refuted machines, each with the path of its spec and its title, as it lies in a folder."""
    called = sorted({"went_wrong" if verdict.sizes else "refuted" for _, _, verdict in found})
    tests = [as_test(path, title, verdict, os.path.relpath(path, folder)) for path, title, verdict in found]
    return "\n\n".join([HEADER.format(", ".join(called)), *tests])


def as_test(path: str, title: str, verdict: pipeline.Refutation, spec: str) -> str:
    """One test.

    def test_floor_grid():
        \"\"\"TG201 … and the case\"\"\"
        assert went_wrong(HERE / "scale.tgpu", "floor_grid", {"n": 1}) == ""
    """
    name = re.sub(r"\W+", "_", f"{Path(path).stem}_{title}", flags=re.ASCII).strip("_").lower()
    ask, what = ("went_wrong", dict(verdict.sizes)) if verdict.sizes else ("refuted", verdict.diagnostic.code)
    call = f"{ask}(HERE / {spec.replace(os.sep, '/')!r}, {title!r}, {what!r})"
    case = verdict.diagnostic.case.rows if verdict.diagnostic.case else ()
    said = [f"{verdict.diagnostic.code} {verdict.diagnostic.title}", *[""] * bool(case)]
    said += [f"{name}: {' and '.join(values)}" for name, values in case]
    first, *rows = (line.replace("\\", "\\\\").replace('"', "'") for line in said)
    return "\n".join(
        [f"def test_{name}():", f'    """{first}', *(f"    {row}" for row in rows), '    """', f'    assert {call} == ""', ""]
    )
