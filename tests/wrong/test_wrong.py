"""Wrong specs and the exact messages about them, and the pages of the errors with their examples.

Comes in: `tests/wrong/TGnnn_name.tgpu`, which must be refused first with TGnnn, and `docs/errors/TGnnn.md`.
Goes out: the comparison with `TGnnn_name.txt`, or with `--update-golden` that file. The one idea: a message is part of the language.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tinygpu.algebra.verdict import judged
from tinygpu.commands.explain import pages
from tinygpu.diagnostic import Diagnostic, TinygpuError
from tinygpu.pipeline import Refutation, Unknown, load_text, program
from tinygpu.pipeline import verdict as check
from tinygpu.proof.choice import Covered
from tinygpu.proof.everywhere import proved_everywhere as of_all_numbers
from tinygpu.report import render

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SPECS = sorted(HERE.glob("TG*.tgpu"))
CODES = [
    code for code in pages() if code < "TG600" and code not in ("TG307", "TG405", "TG513", "TG515", "TG557", "TG566", "TG167")
]  # these: only programs made in Python, what a clock decides (`tests/proof/test_deadline.py`), what holds by the way it is made, what is only searched for, and numbers of a call


@cache
def refusal(text: str, file: str) -> tuple[Diagnostic, ...]:
    """What is said of a text, by the first stage that refuses it; nothing, if all machines, lemmas and theorems are proved."""
    try:
        spec = load_text(text, file).spec
        programs = [program(machine) for machine in spec.machines]
    except TinygpuError as error:
        return error.diagnostics
    by = {m.op.via.name for m in spec.machines if m.op.via}
    for found in map(judged, (one for one in spec.stated if one.name not in by)):
        if isinstance(found, Diagnostic):
            return (found,)
        if isinstance(found, Covered) and found.dead:
            return found.dead
    for verdict in (*map(check, programs), *map(of_all_numbers, spec.families)):
        match verdict:
            case Refutation(_, diagnostic):
                return (diagnostic,)
            case Unknown(_, diagnostics):
                return diagnostics
    return ()


@pytest.mark.parametrize("path", SPECS, ids=lambda p: p.stem)
def test_the_message(path: Path, golden: Callable[[Path, str], None]) -> None:
    text = path.read_text(encoding="utf-8")
    found = refusal(text, path.name)
    assert path.stem[:5] in {d.code for d in found}, [d.code for d in found]
    assert all(d.title and d.span.line >= 1 and (d.labels[0].text or d.helps) for d in found)
    golden(path.with_suffix(".txt"), "\n\n".join(render(d, {path.name: text}) for d in found) + "\n")


@pytest.mark.parametrize("code", [code for code in CODES if code > "TG100"])  # those of syntax are in `grammar/mistakes.toml`
def test_every_code_has_a_spec(code: str) -> None:
    assert any(p.stem.startswith(code) for p in SPECS), f"no tests/wrong/{code}_….tgpu"


@pytest.mark.parametrize("code", CODES)
def test_the_examples_of_a_page(code: str) -> None:
    page = (ROOT / "docs" / "errors" / f"{code}.md").read_text(encoding="utf-8")
    assert page.startswith(f"# {code}: ")
    bad, good = re.findall(r"```tgpu\n(.*?)```", page, re.DOTALL)
    assert code in [d.code for d in refusal(bad, "bad")]
    assert not [d for d in refusal(good, "good") if code > "TG100" or d.code < "TG100"]  # of syntax alone nothing more is asked


def test_a_message_is_about_the_file_at_hand() -> None:
    text = next(HERE.glob("TG520_unit_wrong.tgpu")).read_text(encoding="utf-8")
    for file in ("first.tgpu", "second.tgpu"):
        assert [found.span.file for found in refusal(text, file)] == [file]
