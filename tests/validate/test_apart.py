"""Validation shares nothing with the emitter that it checks."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "tinygpu" / "validate"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda p: p.name)
def test_nothing_of_the_emitter_is_imported(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for name in names:
            assert not name.startswith(("tinygpu.emit", "tinygpu.run.")) and name != "tinygpu.run", (
                f"{path.name}:{node.lineno} imports {name}"
            )
            assert name != "tinygpu", f"{path.name}:{node.lineno} imports of tinygpu itself"
