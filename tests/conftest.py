"""What every test shares: the option `--update-golden`, golden files, and a hypothesis profile without chance.

Comes in: `pytest`'s own objects. Goes out: the fixture `golden`, which compares a text with a file of `tests/golden`.
The one idea: a test never writes a golden file unless it was asked to.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "golden"

hypothesis.settings.register_profile("tinygpu", derandomize=True, deadline=None, database=None, print_blob=False)
hypothesis.settings.register_profile("deep", derandomize=True, deadline=None, database=None, max_examples=2000)
hypothesis.settings.load_profile(os.environ.get("TINYGPU_HYPOTHESIS", "tinygpu"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden files instead of comparing with them")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`golden("errors/TG203.txt", text)`: the text is the one of that file of tests/golden, or with --update-golden becomes it."""

    def check(name: str, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            return
        assert path.exists(), f"no golden file tests/golden/{name}: run `make golden` and read what it wrote"
        assert text == path.read_text(encoding="utf-8"), f"tests/golden/{name} differs: run `make golden` if the change is meant"

    return check


@pytest.fixture(scope="session")
def root() -> Path:
    """The root of the checkout."""
    return ROOT
