"""The pages of the syntax errors: each code that is raised has one, its bad example is refused with it, its good one is read.

Comes in: `docs/errors/TG0nn.md`, the catalogue, the known mistakes. Goes out: nothing, or a page that is wrong.
The one idea: a page is a promise about what the parser says.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tinygpu.catalogue import CATALOGUE
from tinygpu.diagnostic import TinygpuError
from tinygpu.syntax.mistakes import mistakes
from tinygpu.syntax.parse import parse

ROOT = Path(__file__).resolve().parents[2]
CODES = sorted(code for code in CATALOGUE if code < "TG100")


def test_the_catalogue_has_what_the_parser_says() -> None:
    written = {
        c for p in (ROOT / "tinygpu" / "syntax").glob("*.py") for c in re.findall(r'"(TG\d{3})"', p.read_text(encoding="utf-8"))
    }
    assert {m.code for m in mistakes()} | written == set(CODES)


@pytest.mark.parametrize("code", CODES)
def test_a_page_and_its_examples(code: str) -> None:
    page = (ROOT / "docs" / "errors" / f"{code}.md").read_text(encoding="utf-8")
    assert page.startswith(f"# {code}: {CATALOGUE[code]}\n")
    examples = re.findall(r"```tgpu\n(.*?)```", page, re.DOTALL)
    bad, good = examples
    with pytest.raises(TinygpuError) as error:
        parse(bad)
    assert error.value.diagnostics[0].code == code
    parse(good)
