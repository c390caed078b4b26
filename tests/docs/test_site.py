"""The site: every page has its place, what is made for it is right, and the gallery says of machines what is so.

Comes in: `mkdocs.yml`, the hooks, specs. Goes out: failures. The one idea: what mkdocs does is asked of mkdocs, by `make site`, which is strict; here is what we give it, and no mkdocs is needed.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from docs.site.gallery import index, opening, page, picture, verdict
from docs.site.hooks import KINDS, as_a_table_has_it, errors, first_page
from tinygpu.commands.explain import pages
from tinygpu.pipeline import load_text

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"


def test_every_page_has_its_place_and_every_place_a_page() -> None:
    placed = re.findall(r"^ +- [^:]+: (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(placed) == len({*placed})
    assert {*placed} == {path.name for path in DOCS.glob("*.md")} | {
        f"{folder}index.md" for folder in ("", "errors/", "decisions/", "gallery/")
    }


def test_the_first_page_leads_to_pages() -> None:
    text = first_page((ROOT / "README.md").read_text(encoding="utf-8"))
    links = re.findall(r"\]\(([\w/.]+\.md)", text)
    assert len(links) > 8 and all((DOCS / link).is_file() for link in links)


def test_the_list_of_errors_has_each() -> None:
    text = errors()
    assert re.findall(r"\[(TG\d+)\]\(\1\.md\)", text) == [*pages()]
    assert {code[:3] for code in pages()} <= KINDS.keys() and "two threads" in text


def test_nothing_comes_from_elsewhere() -> None:
    said = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "mkdocs.yml", *sorted((DOCS / "site").glob("*.css"))))
    assert not re.search(r"https?://", said) and "font: false" in said


@pytest.mark.parametrize(("spec", "machine"), [("saxpy", "saxpy_v4"), ("transpose", "transpose_swizzled")])
def test_the_gallery_shows_a_spec(spec: str, machine: str) -> None:
    path = ROOT / "specs" / f"{spec}.tgpu"
    one = page(path)
    text = str(one.files[f"{spec}.md"])
    loaded = load_text(path.read_text(encoding="utf-8"))
    assert re.findall(r"^## (\w+)$", text, re.MULTILINE) == [*dict.fromkeys(m.name for m in loaded.machines)]
    assert {row.verdict for row in one.rows} == {"proved"} and len(one.rows) == len(loaded.machines)
    (row,) = (row for row in one.rows if row.machine.name == machine)
    cases = json.loads((ROOT / "benchmarks" / "results" / "cpu.json").read_text(encoding="utf-8"))["cases"]
    (ratio,) = (case["ratio"] for case in cases if case["spec"] == spec and case["machine"] == machine)
    assert f"{ratio:.3g} ×" in row.measured and "memory" in row.bound and row.bound in text and row.measured in text
    assert opening(path.read_text(encoding="utf-8")) in text and f"machine {machine} : {spec} {{" in text
    assert f"[{spec}]({spec}.md)" in index([one]) and f"{len(one.rows)} of {len(one.rows)}" in index([one])


def test_a_machine_for_a_cpu_has_its_cost_too() -> None:
    one = page(ROOT / "specs" / "softmax_cpu.tgpu")
    assert all("MB" in row.moved and "on `cpu-avx512`: memory" in row.bound for row in one.rows)


def test_a_bar_in_code_of_a_table_is_a_bar() -> None:
    assert as_a_table_has_it(r"| `x[i \| 0]`, `\|=` \| | `a` |") == r"| `x[i | 0]`, `|=` \| | `a` |"
    assert as_a_table_has_it(r"`x[i \| 0]`") == r"`x[i \| 0]`"


def test_a_verdict_is_that_of_the_text() -> None:
    text = (ROOT / "specs" / "saxpy.tgpu").read_text(encoding="utf-8")
    spec = load_text(text)
    assert verdict("specs/saxpy.tgpu", spec, spec.saxpy_term)[0] == "proved"
    other = load_text(text.replace("g*1024 + v*256 + t", "g*1024 + v*255 + t"))  # its certificate is of another text
    assert verdict("specs/saxpy.tgpu", other, other.saxpy_term)[0] == "refuted"


def test_where_nothing_draws_there_is_no_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("docs.site.gallery.DRAWS", "tinygpu.commands.nobody")
    path = ROOT / "specs" / "saxpy.tgpu"
    assert picture(path, load_text(path.read_text(encoding="utf-8")).machines[0]) is None
