"""What every test shares: the options `--update-golden` and `--all`, golden files, and a hypothesis profile without chance.

Comes in: `pytest`'s own objects. Goes out: the fixture `golden`, which compares a text with a file of `tests/golden`, and fewer tests where they
are `sampled` or of the `night`. The ideas: a test never writes a golden file unless it was asked to; and what runs a whole library is worth most by its shapes:

    a run  =  a third of one spec of each shape  +  a tenth of the others, which are other ones with each commit          (`--all` is all)

and so with what takes long and has others like it: `sampled(3)` is a third.

Of a spec that is run, `share` takes the machines in the same way, where a proof covers what is asked of them. Every example of what is wrong is asked of the
prover in every run; what only looks at the example itself, or runs what is proved, is done at length (`whole`) of that tenth: the judge and runs on reals of
what is right, a build of it. Of a fixed sample by chance a run takes the beginning (`night`), and what goes wrong only at sizes of which one run takes
half a minute is marked `night`: the others of its table show in every run that what is wrong is seen.
"""

from __future__ import annotations

import gc
import os
import subprocess
from binascii import crc32
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Protocol, TypeVar

import hypothesis
import pytest

from tinygpu.commands.common import prepare

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "golden"
SHAPES = (  # elementwise, staged, tiles in registers, rings, halves, on cpu, rows, by hand, launches, atomics, carriers, windows, triangles, turns in time
    "saxpy", "transpose", "matmul", "matmul_ring", "matmul_half", "matmul_cpu", "norm", "by_hand", "scan", "histogram", "argmax", "convolution",
    "causal", "stencil_shared",
)  # fmt: skip
PARTS, SHAPED = 10, 3


class HasName(Protocol):
    """A machine or a program."""

    name: str


Named = TypeVar("Named", bound=HasName)
Share = Callable[[Iterable[Named]], list[Named]]
Whole = Callable[[str], bool]

hypothesis.settings.register_profile("tinygpu", derandomize=True, deadline=None, database=None, print_blob=False)
hypothesis.settings.register_profile("deep", derandomize=True, deadline=None, database=None, max_examples=2000)
hypothesis.settings.load_profile(os.environ.get("TINYGPU_HYPOTHESIS", "tinygpu"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden files instead of comparing with them")
    parser.addoption("--all", action="store_true", help="run every test, also those of which a sample is run otherwise")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "sampled(parts=10): a tenth is run, another one with each commit, and a third of the shapes of specs (--all: all)",
    )
    config.addinivalue_line("markers", "night: takes half a minute, and others like it are in every run (only with --all)")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what is sampled and not of this run; what is named on the command line is not left out."""
    if every(config):
        return
    out = [item for item in items if left_out(item)]
    config.hook.pytest_deselected(items=out)
    items[:] = [item for item in items if item not in set(out)]


def left_out(item: pytest.Item) -> bool:
    """Whether a test is none of this run."""
    if item.get_closest_marker("night"):
        return True
    test, _, name = item.nodeid.partition("[")
    mark = item.get_closest_marker("sampled")
    return mark is not None and not drawn(name.rstrip("]"), test, *mark.args)


def every(config: pytest.Config) -> bool:
    """Whether nothing is left out."""
    return config.getoption("--all") or any("::" in argument for argument in config.args)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Garbage is looked for as seldom as a command does, and never among the tests themselves."""
    gc.freeze()
    prepare()


@cache
def turn() -> int:
    """Whose turn it is: another one with each commit."""
    counted = subprocess.run(["git", "rev-list", "--count", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    return int(counted.stdout or 0)


def drawn(name: str, test: str, parts: int = PARTS) -> bool:
    """Whether what is sampled and called so is of this run: of each test another part, so that no run has all that takes long."""
    parts = min(parts, SHAPED) if name in SHAPES else parts
    return crc32(f"{test} {name}".encode()) % parts == turn() % parts


@pytest.fixture
def share(request: pytest.FixtureRequest) -> Share:
    """`share(machines)`: the first of them, and a tenth of the others; all with --all. For what a proof covers too."""

    def some(named: Iterable[Named]) -> list[Named]:
        every = request.config.getoption("--all")
        return [one for number, one in enumerate(named) if every or not number or drawn(one.name, request.node.nodeid)]

    return some


@pytest.fixture
def whole(request: pytest.FixtureRequest) -> Whole:
    """`whole(name)`: whether what is called so is looked at as long as in a night, or only as long as it takes to see that nothing is wrong at once."""
    return lambda name: every(request.config) or drawn(name, request.node.nodeid)


@pytest.fixture
def night(request: pytest.FixtureRequest) -> bool:
    """Whether chance is asked as often as in a night: of a fixed sample a run takes the beginning."""
    return every(request.config)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str | Path, str], None]:
    """`golden("errors/TG203.txt", text)`: the text is the one of that file of tests/golden (or of the whole path that is given), or with
    --update-golden becomes it."""

    def check(name: str | Path, text: str) -> None:
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            return
        assert path.exists(), f"no golden file {path.relative_to(ROOT)}: run `make golden` and read what it wrote"
        assert text == path.read_text(encoding="utf-8"), (
            f"{path.relative_to(ROOT)} differs: run `make golden` if the change is meant"
        )

    return check


@pytest.fixture(scope="session")
def root() -> Path:
    """The root of the checkout."""
    return ROOT
