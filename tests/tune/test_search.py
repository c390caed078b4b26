"""Searches: actions and their inverses, rules against the prover, processes that end, stores, and one search from an op alone.

Comes in: ops of the library, processes that misbehave. Goes out: states, verdicts, rows. The one idea: whatever is drawn at random is legal, comes back, and is tried once.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest

from tests.conftest import ROOT
from tests.program.library import loaded
from tinygpu import pipeline
from tinygpu.cli import main
from tinygpu.commands.specs import text_of
from tinygpu.diagnostic import TinygpuError
from tinygpu.model.op import Op
from tinygpu.record import replace
from tinygpu.tune.actions import Action, done
from tinygpu.tune.engine import Beam, Evolution, Walks
from tinygpu.tune.moves import Space
from tinygpu.tune.predict import predicted
from tinygpu.tune.race import interval
from tinygpu.tune.rules import RULES, broken
from tinygpu.tune.state import read_back
from tinygpu.tune.store import Place, Store
from tinygpu.tune.trial import Said, in_process

OPS = [
    ("matmul", "matmul"),
    ("softmax", "softmax"),
    ("transpose", "transpose"),
    ("theorems", "attention"),
    ("convolution", "conv2d"),
    ("scan", "scan"),
]


def op_of(stem: str, name: str) -> Op:
    spec = loaded(stem).spec
    return next((op for op in spec.ops if op.family == name), spec.ops[0])


@pytest.mark.parametrize(
    ("stem", "name", "device"),
    [
        *((*one, device) for one in OPS for device in ("", "cpu")),
        ("tensor_cores", "matmul_half", "sm_80"),
        ("attention_cpu", "attention", "cpu"),
    ],
)
def test_each_action_is_taken_back(stem: str, name: str, device: str) -> None:
    space, chance = Space(op_of(stem, name), device, (), (("N", 64), ("K", 64))), Random(7)
    state, kinds = space.identity(), set[str]()
    for _ in range(60):
        found = space.step(state, chance)
        if found is None:
            continue
        action, after = found
        there = done(state, action)
        assert there is not None and there[0] == after and not list(broken(after, space.of(after)))
        back = done(after, there[1])
        assert back is not None and back[0] == state
        again = read_back(after.text("m"))
        assert again is not None and again.text("m") == after.text("m")
        kinds.add(type(action.edit).__name__)
        state = after
    assert {"Split", "Number"} <= kinds


@pytest.mark.parametrize("device", ["", pytest.param("cpu", marks=pytest.mark.sampled)])
@pytest.mark.parametrize(("stem", "name"), [*OPS[:3], pytest.param(*OPS[-1], marks=pytest.mark.sampled)])
def test_nine_in_ten_states_are_proved(stem: str, name: str, device: str) -> None:
    op, chance = op_of(stem, name), Random(3)
    space = Space(op, device)
    proved = 0
    for _ in range(20):
        text = space.walk(chance, chance.randint(4, 12)).text("m")
        try:
            machines = [m for m in pipeline.load_text(f"{text_of(op)}\n{text}").machines if m.name == "m"]
            proved += all(isinstance(pipeline.check(m, time=20), pipeline.Proof) for m in machines)
        except TinygpuError:
            continue
    assert proved >= 18


@pytest.mark.parametrize("path", sorted((ROOT / "specs" / "tuned").glob("*.tgpu")), ids=lambda path: path.stem)
def test_what_was_tuned_is_proved(path: Path) -> None:
    machines = pipeline.load(path).machines
    assert machines and all(isinstance(pipeline.check(m), pipeline.Proof) for m in machines)
    assert "of the time of" in path.read_text() and list((ROOT / "proofs" / path.stem).glob("*.json"))


def test_every_rule_is_broken_by_some_state() -> None:
    met = set[str]()
    for stem, name, device in (
        *((*one, device) for one in OPS for device in ("", "cpu")),
        ("tensor_cores", "matmul_half", "sm_80"),
    ):
        space, chance = Space(op_of(stem, name), device, (), tuple(dict.fromkeys(op_of(stem, name).sizes, 64).items())), Random(1)
        state = space.starts[-1 if not device or device == "cpu" else 2]
        for turn in range(600):
            edit = space.drawn(state, 0, chance) if turn % 20 else space.elsewhere(state, 0, chance)
            found = done(state, Action(0, edit)) if edit is not None else None
            if found is not None:
                wrong = list(broken(found[0], space.op))
                met |= {*wrong}
                state = state if wrong else found[0]
    assert met == {sentence for sentence, _ in RULES}


def test_a_beam_lowers_what_is_predicted() -> None:
    op = op_of("matmul", "matmul")
    sizes = dict.fromkeys(op.sizes, 512)
    space = Space(op, "cpu")
    best = Beam(space, Random(0), lambda s: predicted(s, op, sizes)).searched()[0]
    assert predicted(best, op, sizes) < predicted(space.identity(), op, sizes) / 10


def test_evolution_goes_on_from_the_best() -> None:
    op = op_of("transpose", "transpose")
    engine = Evolution(Space(op, "cpu"), Random(0), lambda s: 1.0, first=[])
    good = engine.ask()
    engine.tell(good, 0.5)
    engine.tell(engine.ask(), None)
    assert engine.found == [(0.5, good)] and Walks(engine.space, Random(0), engine.cost).ask() is not None


def test_a_process_says_what_it_did_until_it_was_killed() -> None:
    def slow(say):  # type: ignore[no-untyped-def]
        say(verdict="proved")
        time.sleep(60)

    def broke(say):  # type: ignore[no-untyped-def]
        say(verdict="proved")
        raise ValueError("no such kernel")

    assert in_process(slow, 0.3) == {"verdict": "proved", "late": True}
    assert in_process(broke, 10) == {"verdict": "proved", "error": "ValueError: no such kernel"}


def test_an_interval_leaves_out_what_chance_does() -> None:
    assert not interval([0.5, 1.5] * 12 + [0.9]).better and interval([0.8, 0.85, 0.9] * 8 + [1.2]).better


def test_a_store_goes_on_and_two_are_one(tmp_path: Path) -> None:
    one, other = Store(tmp_path / "a.db"), Store(tmp_path / "b.db")
    place = Place.of("op", "cpu", {"n": 4})
    one.add(place, "machine a", Said("proved", ratio=0.5, steps={"check": 0.1}))
    other.add(place, "machine a", Said("proved", ratio=0.6))
    other.add(place, "machine b", Said("refused", "TG131"))
    assert one.merge(other) == 1 and one.merge(other) == 0
    assert {(m, v, r) for m, v, r in one.known(place).values()} == {("machine a", "proved", 0.5), ("machine b", "refused", None)}
    assert Store(tmp_path / "a.db").known(place).keys() == one.known(place).keys() and not one.known(replace(place, sizes="{}"))
    assert [json.loads(line)["machine"] for line in one.lines()] == ["machine a", "machine b"]


def test_a_store_of_another_version_is_not_touched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = Store(tmp_path / "a.db")
    store.base.execute("pragma user_version=99")
    (tmp_path / "c.db").write_text("no database at all, but a text of some length that sqlite does not know")
    for name in ("a.db", "c.db", "c.db/further/d.db"):
        assert main(["tune", "x.tgpu", "--store", str(tmp_path / name), "--export"]) == 2
        assert "TG913" in capsys.readouterr().err


@pytest.mark.sampled(3)
def test_a_search_from_an_op_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, store = tmp_path / "twice.tgpu", tmp_path / "t.db"
    path.write_text("op twice(x: f32[M, N]) -> (y: f32[M, N]) {\n  y[i, j] = 2 * x[i, j]\n}\n")
    words = ["tune", str(path), "M=200", "N=300", "--budget", "8", "--store", str(store)]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "twice at M = 200, N = 300:" in said and " same" in said  # a CPU runs most of them as it runs the incumbent
    rows = Store(store).base.execute("select verdict, ratio from trial").fetchall()
    assert rows and any(verdict in ("proved", "same") and ratio for verdict, ratio in rows)
    assert main(["check", str(path)]) in (0, 2)  # with a machine, if one was faster
    assert main([*words, "-o", "-"]) == 2 and "standard input" in capsys.readouterr().err
    assert main(["tune", str(path), "K=3", "--store", str(store)]) == 2
    assert "twice has no size K" in capsys.readouterr().err
    assert main(["tune", str(path), "--rival", "nobody", "--store", str(store)]) == 2
    assert "TG914" in capsys.readouterr().err


def test_machines_for_a_device_that_is_not_here(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "twice.tgpu"
    path.write_text("op twice(x: f32[M, N]) -> (y: f32[M, N]) {\n  y[i, j] = 2 * x[i, j]\n}\n")
    words = ["tune", str(path), "M=4096", "N=4096", "--device", "h100", "--budget", "60", "--wanted", "1"]
    assert main(words) == 2 and "is not timed from here" in capsys.readouterr().err
    assert main([*words, "--cost-only"]) == 0
    said = capsys.readouterr().out
    assert "on NVIDIA H100 SXM, predicted: 1 proved" in said and "and not timed: no faster than" in path.read_text()
    assert main(["check", str(path)]) == 0
    assert main(["tune", str(path), "--cost-only"]) == 2 and "a CPU is timed" in capsys.readouterr().err


def test_a_search_that_is_interrupted_says_what_it_has(tmp_path: Path) -> None:
    path, store = tmp_path / "twice.tgpu", tmp_path / "t.db"
    path.write_text("op twice(x: f32[M, N]) -> (y: f32[M, N]) {\n  y[i, j] = 2 * x[i, j]\n}\n")
    words = ["tune", str(path), "M=64", "N=64", "--budget", "120", "--store", str(store)]
    process = subprocess.Popen([sys.executable, "-m", "tinygpu", *words], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    end = time.monotonic() + 90
    while time.monotonic() < end and not (store.exists() and Store(store).base.execute("select count(*) from trial").fetchone()[0]):
        time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert (
        process.returncode == 0
        and "ended before its time" in said
        and Store(store).base.execute("select key from trial").fetchall()
    )
