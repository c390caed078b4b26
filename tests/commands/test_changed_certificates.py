"""No field of a certificate may be another one: all are in its hash, and those that follow from its program are derived from it again.

Comes in: a certificate, and a change of each place in it, with the old hashes and with hashes made anew. Goes out: a change that is taken.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tinygpu import cli
from tinygpu.proof.assumed import Numerics
from tinygpu.proof.certificate import Certificate, _entry, _object, read, sha

SPEC = """op scale[T in {f32, f64}](a: T, x: T[n]) -> (z: T[n]) where all[i < n] (x[i] > 0) { z[i] = a * exp(log(x[i])) }

machine scale_m : scale {
  where n >= 3
  work grid = (g), block = (t: 64)
  compute i = (g, t)
}
"""
FREE = (
    "method",
    "rlimit",
    "witness",
    "solver",
    "source",
    "kernels",
)  # how and where it was proved: in the hash, and in nothing else
Place = tuple[Any, ...]


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scale.tgpu").write_text(SPEC)
    assert cli.main(["check", "scale.tgpu", "--certify", "proofs"]) == 0
    return sorted((tmp_path / "proofs").rglob("*.json"))[0]


def places(plain: Any, at: Place = ()) -> Iterator[Place]:
    """Every place, inner ones too."""
    if at:
        yield at
    for key in plain if isinstance(plain, dict) else range(len(plain)) if isinstance(plain, list) else ():
        yield from places(plain[key], (*at, key))


def changes(value: Any) -> Iterator[Any]:
    """Other values for one."""
    match value:
        case bool():
            yield not value
        case int():
            yield value + 1
        case str():
            yield from (value + "x", value.swapcase(), "structure", "")
        case list():
            yield from ([], [*value, *value[-1:]] if value else ["x"], value[::-1])
        case dict():
            yield from ({}, {**value, "more": 1})
    yield None
    yield {"x": [1]}


def changed(plain: dict[str, Any]) -> Iterator[tuple[Place, dict[str, Any]]]:
    """The certificate with one place changed."""
    for place in places(plain):
        at = plain
        for key in place:
            at = at[key]
        for new in changes(at):
            if new != at or type(new) is not type(at):
                other = deepcopy(plain)
                inner: Any = other
                for key in place[:-1]:
                    inner = inner[key]
                inner[place[-1]] = new
                yield place, other


def written(plain: dict[str, Any]) -> str:
    """The text of a certificate with hashes of its content, whatever that is."""
    try:
        rows = tuple(map(_entry, plain["obligations"]))
        numerics = Numerics(**{**plain["numerics"], "functions": tuple(plain["numerics"]["functions"])})
        text = "\n".join(plain["program"]) + "\n"
        guards = (tuple(plain["preconditions"]), tuple(plain["promises"]))
        kernels = tuple(sorted(plain["kernels"].items()))
        more = (plain["solver"], plain["source"], kernels)
        return Certificate(plain["machine"], plain["op"], text, *guards, numerics, rows, *more).text()
    except (TypeError, AttributeError, KeyError):
        rest = {key: value for key, value in plain.items() if key != "hash"}
        return _object(rest | {"hash": sha(_object(rest))})


def taken(text: str) -> bool:
    """Whether a text is read, and agrees with its program as far as can be seen without a solver."""
    from tinygpu.commands.again import compared, states
    from tinygpu.commands.subjects import of_certificate
    from tinygpu.diagnostic import TinygpuError

    try:
        found = of_certificate("c.json", text)
    except TinygpuError:
        return False
    return not compared(found, states(found.program))


def test_every_place_is_in_the_hash(file: Path) -> None:
    text = file.read_text()
    plain, count = json.loads(text), 0
    assert taken(text)
    for place, other in changed(plain):
        count += 1
        with pytest.raises(ValueError):
            read(_object(other))
            pytest.fail(f"{place} may be changed")
    assert count > 300
    for edit in (text + "\n", text.replace("\n", "\r\n"), text.replace(": ", ":  ", 1), text.replace("{", '{\n"op": "other",', 1)):
        with pytest.raises(ValueError):
            read(edit)


@pytest.mark.sampled(3)
def test_what_follows_from_the_program_is_derived_again(file: Path) -> None:
    plain, free = json.loads(file.read_text()), set()
    count = 0
    for place, other in changed(plain):
        text = written(other)
        if place[0] in ("hash", "proof", "program_hash") or text == file.read_text():
            continue
        count += 1
        if taken(text):
            free |= {name for name in place if isinstance(name, str)} & {*plain, *FREE}
    assert free - {"obligations"} == {*FREE} and count > 300


def test_beside_its_spec_a_certificate_is_that_machines(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = json.loads(file.read_text())
    for key, value in (("machine", "scale_m_T_f32"), ("op", "scale"), ("source", "0" * 64)):
        file.write_text(written({**plain, key: value}))
        assert cli.main(["replay", "scale.tgpu", "--quick"]) == 1
        assert "TG910" in capsys.readouterr().err


def test_what_is_said_of_numbers_is_the_program_s(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whole and well formed, as it is said of programs that compute the same in another order: with hashes made anew, and without its spec."""
    plain = json.loads(file.read_text())
    said = plain["numerics"]["sentence"]
    other = said.replace("as the equation is written", "as the program is written, which over the reals is what the equation says")
    assert plain["numerics"]["outputs"] == {"z": "in order"} and other != said
    file.write_text(written({**plain, "numerics": {**plain["numerics"], "outputs": {"z": "over the reals"}, "sentence": other}}))
    read(file.read_text())
    assert cli.main(["replay", str(file), "--quick"]) == 1
    assert "numerics are others" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "9" * 100_000, '{"version": 2}', "{}", "null", '{"version": 2, "version": 2}', "\0", '"\\ud800"']
)
def test_a_text_that_is_no_certificate_ends_with_a_message(text: str, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(text)
    assert cli.main(["replay", str(file), "--quick"]) == 2
    said = capsys.readouterr()
    assert "TG9" in said.err and "TG901" not in said.err and "Traceback" not in said.err
