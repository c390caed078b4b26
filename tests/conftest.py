"""What every test shares: the options `--update-golden` and `--all`, golden files, and a hypothesis profile without chance.

Comes in: `pytest`'s own objects. Goes out: the fixture `golden`, which compares a text with a file of `tests/golden`, and fewer tests where they
are `sampled`. The ideas: a test never writes a golden file unless it was asked to; and what runs a whole library is worth most by its shapes:

    a run  =  one spec of each shape  +  a tenth of the others, which is another one with each commit          (`--all` is all)
"""

from __future__ import annotations

import os
import subprocess
from binascii import crc32
from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "golden"
collect_ignore_glob = ["golden/*"]  # modules in it are texts: the runtime is not beside them
SHAPES = (  # elementwise, staged, tiles in registers, rings, halves, on cpu, rows, by hand, launches, atomics, carriers, windows, triangles, turns in time
    "saxpy", "transpose", "matmul", "matmul_ring", "matmul_half", "matmul_cpu", "norm", "by_hand", "scan", "histogram", "argmax", "convolution",
    "causal", "stencil_shared",
)  # fmt: skip
PARTS = 10

hypothesis.settings.register_profile("tinygpu", derandomize=True, deadline=None, database=None, print_blob=False)
hypothesis.settings.register_profile("deep", derandomize=True, deadline=None, database=None, max_examples=2000)
hypothesis.settings.load_profile(os.environ.get("TINYGPU_HYPOTHESIS", "tinygpu"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden files instead of comparing with them")
    parser.addoption("--all", action="store_true", help="run every test, also those of which a sample is run otherwise")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "sampled: by spec; one of each shape is run, and a tenth of the others (--all: all)")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what is sampled and not of this run; what is named on the command line is not left out."""
    if config.getoption("--all") or any("::" in argument for argument in config.args):
        return
    counted = subprocess.run(["git", "rev-list", "--count", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    turn = int(counted.stdout or 0) % PARTS
    out = [item for item in items if item.get_closest_marker("sampled") and not drawn(item, turn)]
    config.hook.pytest_deselected(items=out)
    items[:] = [item for item in items if item not in set(out)]


def drawn(item: pytest.Item, turn: int) -> bool:
    """Whether a sampled test is of this run."""
    name = item.nodeid.partition("[")[2].rstrip("]")
    return name in SHAPES or crc32(name.encode()) % PARTS == turn


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
