"""The plugin of pytest: machines as fixtures, `assert_proved`, and with `--tgpu` a test for each machine of the specs that are collected.

    @pytest.mark.tgpu("specs")                            def test(assert_proved, load_machine):
    def test(machine, assert_proved):                         proof = assert_proved(load_machine("specs/scale.tgpu", "scale_v4"))
        assert_proved(machine)

Comes in: pytest's own objects. Goes out: items and fixtures. The one idea: it is installed in environments whose tests have nothing to do with it, so
importing it imports pytest alone, and a failure is the diagnostic that the command prints.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tinygpu.model.machine import Machine

MARK = "tgpu"


def pytest_addoption(parser: pytest.Parser) -> None:
    help = "collect .tgpu files: a test for each machine, family and theorem, which passes where it is proved"
    parser.getgroup("tinygpu").addoption("--tgpu", action="store_true", help=help)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "tgpu(*paths): run the test for each machine of these specs, as its argument `machine`")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if file_path.suffix == ".tgpu" and parent.config.getoption("--tgpu"):
        return SpecFile.from_parent(parent, path=file_path)
    return None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    mark = metafunc.definition.get_closest_marker(MARK)
    if mark and "machine" in metafunc.fixturenames:
        found = machines(metafunc.config.rootpath, mark.args)
        metafunc.parametrize("machine", found, ids=[one.title for one in found])


@pytest.fixture
def load_machine(request: pytest.FixtureRequest) -> Callable[..., Machine]:
    """`load_machine("specs/scale.tgpu", "scale_v4")`: a machine of a spec, or its only one; a path is below pytest's rootdir. Fails where there is none."""

    def load(path: str | Path, name: str | None = None) -> Machine:
        found = machines(request.config.rootpath, (path,), name)
        if len(found) != 1:
            pytest.fail(f"{path} has {len(found)} machines: say which, {', '.join(one.title for one in found)}", pytrace=False)
        return found[0]

    return load


@pytest.fixture
def assert_proved() -> Callable[..., Any]:
    """`assert_proved(machine)`: its proof; where it is not proved the test fails, and says what the command says."""
    from tinygpu.testing import assert_proved as prove

    return prove


def machines(root: Path, paths: tuple[str | Path, ...], name: str | None = None) -> list[Machine]:
    """The machines of specs, all or those of a name. Fails with the diagnostics of what is wrong."""
    from tinygpu.commands.common import nearby
    from tinygpu.commands.specs import chosen, load_sound

    with failing():
        specs, _ = load_sound([nearby(root / path) for path in paths])
        return [machine for _, machine in chosen(specs, [name] if name else [])]


@contextlib.contextmanager
def failing() -> Iterator[None]:
    """A test that fails with diagnostics where they are raised."""
    from tinygpu.commands.common import texts
    from tinygpu.diagnostic import TinygpuError
    from tinygpu.report import report

    try:
        yield
    except TinygpuError as error:
        pytest.fail(report(error.diagnostics, texts(error.diagnostics) | dict(error.texts or {})), pytrace=False)


class SpecFile(pytest.File):
    """A spec: its machines, families and theorems, and what is wrong with the others."""

    def collect(self) -> Iterator[pytest.Item]:
        from tinygpu.commands import theorems
        from tinygpu.commands.common import nearby
        from tinygpu.commands.families import check_family, families
        from tinygpu.commands.judged import judge
        from tinygpu.commands.specs import load_all

        path = nearby(self.path)
        specs, _, problems = load_all([path])
        if wrong := tuple(d for d in problems if d.verdict == "error"):
            yield Claimed.from_parent(self, name="spec", what=path, line=wrong[0].span.line, ask=lambda **_: ("error", wrong))
        kinds = (
            [(theorem.name, theorem, theorems.judge) for _, theorem in theorems.stated(specs, [])],
            [(family.title, family, check_family) for _, family in families(specs, [])],
            [(machine.title, machine, judge) for spec in specs for machine in spec.machines],
        )
        for name, one, judged in (row for rows in kinds for row in rows):
            yield Claimed.from_parent(self, name=name, what=name, line=one.span.line, ask=asked(judged, path, one))


def asked(judged: Callable[..., Any], path: str, one: object) -> Callable[..., tuple[str, Any]]:
    """What asks for a verdict: its word and its diagnostics."""

    def ask(budget: int | None, time: float) -> tuple[str, Any]:
        found = judged(path, one, budget, limit=time)
        return found.word, found.diagnostics

    return ask


class Claimed(pytest.Item):
    """A machine, a family or a theorem, which is proved or fails."""

    def __init__(self, *, what: str, line: int, ask: Callable[..., tuple[str, Any]], **rest: Any):
        super().__init__(**rest)
        self.what, self.line, self.ask = what, line, ask
        self.funcargs: dict[str, Any] = {}  # which plugins look for in every item

    def runtest(self) -> None:
        from tinygpu.testing import Unproved

        with failing():
            word, diagnostics = self.ask(**limits(self.config.rootpath))
        if word != "proved":
            raise Unproved.of(self.what, word, diagnostics)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        from tinygpu.testing import Unproved

        return str(excinfo.value) if isinstance(excinfo.value, Unproved) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, max(0, self.line - 1), self.name


def limits(root: Path) -> dict[str, Any]:
    """The budget and the time of a verdict, as the project says for `check`."""
    import argparse

    from tinygpu.category.deadline import TIME
    from tinygpu.cli import COMMANDS
    from tinygpu.commands import check
    from tinygpu.commands.settings import settled

    check.configure(parser := argparse.ArgumentParser())
    said = settled(parser, "check", COMMANDS, root)
    return {"budget": said.get("budget"), "time": said.get("time", TIME)}
