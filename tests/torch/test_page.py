"""The page about torch runs, as the others do; where torch is missing nobody runs it.

Comes in: `docs/torch.md`. Goes out: a failure with the block's line. The one idea: what runs a page is the test of all pages.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs import test_docs as pages

pytest.importorskip("torch", reason="torch is not installed: make torch")


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages.test_a_document_runs(pages.ROOT / "docs" / "torch.md", tmp_path, monkeypatch)
