"""Counterexamples as tests: `tinygpu check --as-test FILE` writes them.

Comes in: refuted machines. Goes out: a file for pytest, which fails as each counterexample says and passes once its machine is right.
The one idea: what is shown was seen in the simulator, so the test runs the simulator at the same sizes, and needs neither prover nor
kernel; where nothing has to be run to see it, such as a block that is too large, the test asks for the verdict.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from tinygpu.commands.specs import Judged
from tinygpu.diagnostic import Diagnostic, TinygpuError
from tinygpu.proof.check import Refutation

HEADER = '''"""Counterexamples, written by `tinygpu check --as-test`. Each test fails until its machine is repaired."""

from pathlib import Path

from tinygpu.testing import {}

HERE = Path(__file__).parent
'''


def text(judged: Sequence[Judged], target: Path) -> str:
    """The file for the refuted machines among these; empty where there are none. Raises TG905 for a spec that is in no file."""
    found = [(j, j.verdict) for j in judged if isinstance(j.verdict, Refutation)]
    if any(j.path == "-" for j, _ in found):
        raise TinygpuError.of("TG905", "a test needs a spec that lies in a file, not on the standard input")
    called = sorted({"went_wrong" if verdict.sizes else "refuted" for _, verdict in found})
    tests = [test(j, verdict, os.path.relpath(j.path, target.parent)) for j, verdict in found]
    return "\n\n".join([HEADER.format(", ".join(called)), *tests]) if tests else ""


def test(judged: Judged, verdict: Refutation, spec: str) -> str:
    """One test.

    def test_floor_grid():
        \"\"\"TG201 … and the case\"\"\"
        assert went_wrong(HERE / "scale.tgpu", "floor_grid", {"n": 1}) == ""
    """
    name = re.sub(r"\W+", "_", f"{Path(judged.path).stem}_{judged.machine.title}", flags=re.ASCII).strip("_").lower()
    place, title = f"HERE / {spec.replace(os.sep, '/')!r}", judged.machine.title
    call = (
        f"went_wrong({place}, {title!r}, {dict(verdict.sizes)!r})"
        if verdict.sizes
        else f"refuted({place}, {title!r}, {verdict.diagnostic.code!r})"
    )
    lines = [f"def test_{name}():", f'    """{_plain(verdict.diagnostic.code)} {_plain(verdict.diagnostic.title)}']
    lines += [f"    {row}" for row in case(verdict.diagnostic)]
    return "\n".join([*lines, '    """', f'    assert {call} == ""', ""])


def case(diagnostic: Diagnostic) -> list[str]:
    """The rows of the smallest counterexample, after an empty one."""
    rows = diagnostic.case.rows if diagnostic.case else ()
    return ["", *(f"{_plain(name)}: {_plain(' and '.join(values))}" for name, values in rows)] if rows else []


def _plain(text_: str) -> str:
    return text_.replace("\\", "\\\\").replace('"', "'")
