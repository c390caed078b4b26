"""Where claims are stated: every call of `Obligation`, `Gap` and `Inhabited` in the text of `obligations/`, and which of them a claim is from.

Comes in: the text of the folder, and claims as they are made. Goes out: places, as file and line. The one idea: a property may state a
claim at several places of its text, and a test that sees one of them fail says nothing of the others.
"""

from __future__ import annotations

import ast
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tinygpu.obligations.obligation import Claim, Gap, Inhabited, Obligation
from tinygpu.record import replace

FOLDER = ROOT / "tinygpu" / "obligations"
KINDS = (Obligation, Gap, Inhabited)
Place = tuple[str, int]


def places() -> dict[Place, range]:
    """Every place at which a claim is stated, as its file and its first line, with its lines."""
    found: dict[Place, range] = {}
    for path in sorted(FOLDER.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {k.__name__ for k in KINDS}:
                found[path.stem, node.lineno] = range(node.lineno, (node.end_lineno or node.lineno) + 1)
    return found


class Recorder:
    """Remembers of every claim that is made while it watches at which places it was stated."""

    def __init__(self, watch: pytest.MonkeyPatch) -> None:
        self.of: dict[Claim, set[Place]] = defaultdict(set)
        for kind in KINDS:
            watch.setattr(kind, "__init__", self._watched(kind.__init__))

    def _watched(self, make: Any) -> Any:
        def init(claim: Any, *given: Any, **named: Any) -> None:
            make(claim, *given, **named)
            caller = sys._getframe(1)
            if (
                caller.f_code is replace.__code__
            ):  # a claim with more hypotheses, or of another kind, is of the place it was stated at
                self.of[claim] |= self.of.get(caller.f_locals["self"], set())
            elif Path(caller.f_code.co_filename).parent == FOLDER:
                self.of[claim].add((Path(caller.f_code.co_filename).stem, caller.f_lineno))

        return init

    def stated_at(self, claims: Iterable[Claim]) -> set[Place]:
        """The places at which claims were stated."""
        lines = {at for claim in claims for at in self.of.get(claim, ())}
        return {place for place, span in places().items() if any(at[0] == place[0] and at[1] in span for at in lines)}
