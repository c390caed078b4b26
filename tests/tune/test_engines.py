"""Engines: what they ask for, what they learn, when they end, and how good the policy and the learned model are.

Comes in: ops of the library, seeds, trials that are committed. Goes out: states, figures. The one idea: whatever an engine says is compared with somebody who looks at everything, or with chance.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from tests.conftest import ROOT
from tests.tune.fake import TWICE
from tests.tune.test_search import op_of
from tinygpu import pipeline
from tinygpu.cli import main
from tinygpu.commands.specs import text_of
from tinygpu.cost.bound import bound as least
from tinygpu.cost.measure import measure
from tinygpu.cost.on_device import bounds
from tinygpu.diagnostic import TinygpuError
from tinygpu.hardware import processor
from tinygpu.hardware.arch import device_named
from tinygpu.hardware.processor import processor_named
from tinygpu.record import replace
from tinygpu.tune import learned as learning
from tinygpu.tune import train as training
from tinygpu.tune.actions import Launches, Number, Restate, Split, Swap
from tinygpu.tune.bound import Bound, Box, Floor, OnCpu, whole
from tinygpu.tune.engine import ENGINES, ending
from tinygpu.tune.features import features
from tinygpu.tune.learned import Learned, correlations, samples
from tinygpu.tune.mcts import Tree
from tinygpu.tune.moves import Space
from tinygpu.tune.policy import Policy, shipped
from tinygpu.tune.predict import predicted
from tinygpu.tune.search import Search
from tinygpu.tune.state import State
from tinygpu.tune.store import Place, Store
from tinygpu.tune.train import Lesson, compared, trained
from tinygpu.tune.trial import Kernel, Said
from tinygpu.tune.walks import SMALL, Exhaustive, Walks, within

DATASET = ROOT / "benchmarks" / "results" / "trials.jsonl"
ASKED = """
import sys
from random import Random
from tinygpu import pipeline
from tinygpu.tune import beam
from tinygpu.tune.engine import ENGINES
from tinygpu.tune.moves import Space
from tinygpu.tune.predict import predicted
beam.DEPTH, beam.WIDTH = 2, 6
op = pipeline.load("specs/transpose.tgpu").spec.op("transpose")
for name, engine in ENGINES.items():
    made = engine(Space(op, "cpu"), Random(5), lambda state: predicted(state, op, {"M": 512, "N": 512}))
    for turn in range(5):
        if (state := made.ask()) is not None:
            made.tell(state, 1 / (turn + 1))
            print(name, state.text("m"))
"""


def lesson(stem: str, name: str, device: str = "cpu", **sizes: int) -> Lesson:
    return Lesson(Space(op_of(stem, name), device), sizes)


@pytest.mark.sampled(3)
def test_the_same_seed_asks_for_the_same_states() -> None:
    said = {
        subprocess.run(
            [sys.executable, "-c", ASKED],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    (one,) = said
    assert one.count("machine m") == 5 * len(ENGINES)


@pytest.mark.parametrize("name", ["matmul", "softmax"])
def test_searches_begin_with_what_rules_make(name: str) -> None:
    space = Space(op_of(name, name), "cpu")
    first = space.starts
    assert space.identity() in first and {s.device for s in first} == {"", "cpu"} and all(map(space.legal, first))
    walks = Walks(space, Random(0), lambda s: 1.0)
    found = [walks.ask() for _ in range(12)]
    assert {s.device for s in found if s} == {"", "cpu"} and all(s and space.legal(s) for s in found)


def small(edit: object) -> bool:
    """Whether an edit has one of the numbers of an exhaustive search."""
    if isinstance(edit, Restate | Launches):
        return False
    number = edit.factor.extent if isinstance(edit, Split) else edit.extent if isinstance(edit, Number) else SMALL[0]
    wide = isinstance(edit, Split) and edit.factor.level in ("simd", "vector")
    return number in SMALL or wide


@pytest.mark.parametrize("device", [pytest.param("", marks=pytest.mark.sampled, id="gpu"), "cpu"])
def test_an_exhaustive_search_has_all_that_chance_finds(device: str) -> None:
    space, chance = Space(op_of("matmul", "matmul"), device), Random(2)
    every = {s.text("m") for s in within(space, 2)}
    met = 0
    for _ in range(300):
        state, few = space.identity(), True
        for _ in range(2):
            found = space.step(state, chance)
            few = few and found is not None and small(found[0].edit)
            state = found[1] if found else state
        met += few
        assert not few or state.text("m") in every
    assert met > 20


def test_an_exhaustive_search_ends() -> None:
    op = op_of("transpose", "transpose")
    engine = Exhaustive(Space(op, "cpu"), Random(0), lambda s: predicted(s, op, {"M": 64, "N": 64}), near=1)
    asked = []
    while (state := engine.ask()) is not None:
        assert len(asked) > 25 or ending(engine) == ""
        asked.append(predicted(state, op, {"M": 64, "N": 64}))
    assert asked == sorted(asked) and f"all {len(asked)} states within 1 actions" in ending(engine)


def test_a_search_ends_with_its_engine(tmp_path: Path) -> None:
    class Nothing:
        def ask(self) -> None:
            """Nothing."""

        def tell(self, state: State, ratio: float | None) -> None:
            """Nothing."""

    op, store = op_of("transpose", "transpose"), Store(tmp_path / "t.db")
    found = Search(op, text_of(op), {"M": 8, "N": 8}, Nothing(), store, Kernel("", "")).run(1e9)
    assert not found.verdicts and not found.finalists


def points(box: Box) -> list[State]:
    return [state for part in box.parts() for state in points(part)] if box.open else [box.state]


def test_a_bound_finds_what_looking_at_everything_finds() -> None:
    """The floors are the best that there are: the least time of a box."""
    op, sizes = op_of("softmax", "softmax"), {"R": 512, "N": 4096}
    space = Space(op)
    (box, *_) = (b for s in space.starts if (b := whole(s)).points == 225)
    times = {s: predicted(s, op, sizes) for s in points(box) if space.legal(s)}
    engine = Bound(space, Random(0), lambda s: 1.0, lambda b: min((times[s] for s in points(b) if s in times), default=9e9), (box,))
    asked = 0
    while (state := engine.ask()) is not None:
        asked += 1
        engine.tell(state, times[state])
    assert engine.best == min(times.values()) and asked < len(times) / 4
    assert f"nothing in this space is predicted faster than {engine.best * 1e3:.4g} ms: 225 points" in ending(engine)


@pytest.mark.parametrize(
    ("stem", "name", "sizes"),
    [
        ("matmul", "matmul", {"M": 64, "N": 64, "K": 8192}),
        ("softmax", "softmax", {"R": 64, "N": 4096}),
        ("transpose", "transpose", {"M": 999, "N": 77}),
    ],
)
def test_a_floor_is_below_all_that_is_above_it(stem: str, name: str, sizes: dict[str, int]) -> None:
    """A box's floor is not above that of a part, and that of a machine, if all lanes work, not above the bound of its own program."""
    op, device, chance = op_of(stem, name), device_named("h100"), Random(4)
    assert device is not None
    space = Space(op)
    floor = Floor.of(space, text_of(op), sizes, device)
    rises = 0
    for start in space.starts:
        for _ in range(60):
            box = whole(start)
            while box.open:
                part = chance.choice(box.parts())
                assert floor.seconds(box) <= floor.seconds(part)
                rises += floor.seconds(box) < floor.seconds(part)
                box = part
    assert rises > 0 or name != "matmul"
    for _ in range(4):
        state = space.walk(chance, 6)
        (machine,) = (m for m in pipeline.load_text(f"{text_of(op)}\n\n{state.text('m')}").machines if m.name == "m")
        least = bounds(measure(pipeline.program(machine), sizes), device)[0].seconds
        assert max(floor.memory, *(s for _, s in floor.arithmetic), 0.0) <= least * (1 + 1e-9)


def test_a_search_for_a_device_ends_with_a_certificate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "twice.tgpu"
    path.write_text("op twice(x: f32[M, N]) -> (y: f32[M, N]) {\n  y[i, j] = 2 * x[i, j]\n}\n")
    words = ["tune", str(path), "M=4096", "N=4096", "--device", "h100", "--cost-only", "--engine", "bound", "--budget", "60"]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert (
        "nothing in this space is predicted faster than 0.04006 ms: " in said
        and "no run of any other takes less than 0.04006 ms" in said
    )


def test_a_search_on_a_cpu_ends_where_nothing_can_be_faster(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a CPU whose peaks are so low that the incumbent is at them, all boxes are left out."""
    slow = replace(processor_named("cpu-any"), memory_bytes_per_second=1000, cache_bytes=1)
    monkeypatch.setattr(processor, "here", lambda: slow)
    path = tmp_path / "twice.tgpu"
    path.write_text(TWICE)
    words = ["tune", str(path), "M=64", "N=32", "--engine", "bound", "--store", str(tmp_path / "t.db")]
    assert main(words) == 0
    said = capsys.readouterr().out
    assert "twice at M = 64, N = 32: 0 tried" in said and "nothing in this space is faster than the incumbent, which takes " in said
    assert (
        "0 were looked at, and no run of any other takes less than 1.638e+04 ms" in said
    )  # 2 · 64 · 32 · 4 bytes, but one that caches keep


def test_a_floor_on_a_cpu_is_of_the_equations() -> None:
    """Above it there is every machine, so it rises for none; what is told is a part of the incumbent's time."""
    op, sizes, cpu = op_of("matmul", "matmul"), {"M": 64, "N": 64, "K": 64}, processor_named("cpu-any")
    space = Space(op, "cpu")
    floor = OnCpu(space, sizes, cpu, 1e-6)
    for start in space.starts:
        (machine,) = (m for m in pipeline.load_text(f"{text_of(op)}\n\n{start.text('m')}").machines if m.name == "m")
        program = pipeline.on_core(pipeline.program(machine)) or pipeline.program(machine)
        assert 0 < floor.part(whole(start)) <= least(program, sizes, cpu) / 1e-6
    engine = Bound(space, Random(0), lambda s: 1.0, boxes=(whole(space.identity()),))
    engine.against(floor)
    while (state := engine.ask()) is not None:
        engine.tell(state, 0.9)
    assert engine.best == 0.9 and ending(engine).endswith("none was faster than 0.90 of the incumbent's time in one trial\n")
    engine = Bound(space, Random(0), lambda s: 1.0)
    engine.against(replace(floor, incumbent=1e-12))
    assert engine.ask() is None and "nothing in this space is faster than the incumbent, which takes 1e-09 ms: " in ending(engine)


def test_a_tree_grows_where_it_is_good() -> None:
    one = lesson("matmul", "matmul", M=512, N=512, K=512)
    begin = (one.space.identity(),)
    tree = Tree(one.space, Random(0), one.cost, begin=begin)
    best = [one.cost(state) for _ in range(6) if (state := tree.ask())]
    walks = Walks(one.space, Random(0), one.cost, begin)
    chance = [one.cost(state) for _ in range(6) if (state := walks.ask())]
    assert sum(best) < sum(chance) / 2
    root = tree.root.children or []
    assert [node.state for node in root] == [*begin] and tree.root.visits == sum(node.visits for node in root)


def test_a_tree_believes_what_is_timed() -> None:
    one = lesson("transpose", "transpose", M=512, N=512)
    visits = []
    for good in (0, 1):
        begin = one.space.identity(), next(s for s in one.space.starts if not s.device)
        tree = Tree(one.space, Random(0), lambda s: 1e6, begin=begin)
        for _ in range(6):
            state = tree.ask()
            assert state is not None
            tree.tell(state, 0.2 if (state.device == "") == bool(good) else 5.0)
        visits.append([node.visits for node in tree.root.children or []])
    assert visits[0][0] > visits[1][0] and visits[0][1] < visits[1][1]


@pytest.mark.parametrize(
    ("stem", "name", "sizes"),
    [
        ("matmul", "matmul", {"M": 768, "N": 768, "K": 768}),
        pytest.param("matmul", "matmul", {"M": 4096, "N": 128, "K": 512}, marks=pytest.mark.sampled),
        ("batched_matmul", "batched_matmul", {"S": 16, "M": 512, "N": 512, "K": 512}),
        pytest.param("theorems", "attention", {"Q": 1024, "D": 64, "K": 1024, "E": 64}, marks=pytest.mark.sampled),
    ],
)
def test_the_shipped_policy_is_better_than_chance(stem: str, name: str, sizes: dict[str, int]) -> None:
    """At sizes that it was not trained at, and on two ops that it has not seen: by a factor of three in the mean of 40 rollouts."""
    one = lesson(stem, name, **sizes)
    assert not any(name in text for text in training.LESSONS) and not {*sizes.values()} <= {256, 2048}
    assert compared(one, shipped()) * 3 < compared(one, {})


@pytest.mark.sampled
def test_a_policy_learns(monkeypatch: pytest.MonkeyPatch) -> None:
    one = lesson("matmul", "matmul", M=512, N=512, K=512)
    monkeypatch.setattr(training, "lessons", lambda: iter([one]))
    weights = trained(3, 80)
    assert trained(3, 2) == trained(3, 2) and compared(one, weights, 24) * 1.5 < compared(one, {}, 24)
    asked = Policy(one.space, Random(0), one.cost, weights)
    assert len({asked.ask() for _ in range(4)}) == 4


def test_the_policy_is_trained_by_a_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "EPISODES", 3)
    monkeypatch.setattr(training, "lessons", lambda: iter([lesson("transpose", "transpose", M=64, N=64)]))
    path = tmp_path / "weights.json"
    assert main(["tune", "--train", "-o", str(path)]) == 0 and str(path) in capsys.readouterr().out
    assert json.loads(path.read_text())["weights"].keys() <= shipped().keys()
    assert main(["tune", "--train", "-o", str(tmp_path)]) == 2 and "TG904" in capsys.readouterr().err
    assert main(["tune"]) == 2 and "a spec is missing" in capsys.readouterr().err


def test_features_mean_the_same_for_all_ops() -> None:
    found = set()
    for stem, name in (("matmul", "matmul"), ("softmax", "softmax"), ("theorems", "attention"), ("transpose", "transpose")):
        op = op_of(stem, name)
        for state in (*Space(op, "cpu").starts, Space(op, "cpu").walk(Random(1), 8)):
            found.add(tuple(features(state, op, dict.fromkeys(op.sizes, 96))))
    assert len(found) == 1


def test_features_see_what_an_action_does() -> None:
    op = op_of("matmul", "matmul")
    space, sizes = Space(op, "cpu"), {"M": 96, "N": 96, "K": 96}
    before, chance = features(space.identity(), op, sizes), Random(0)
    for _ in range(40):
        found = space.step(space.identity(), chance)
        assert found is not None
        changed = {name for name, value in features(found[1], op, sizes).items() if value != before[name]}
        assert changed or isinstance(found[0].edit, Swap)
        if isinstance(found[0].edit, Split) and found[0].edit.factor.level == "simd":
            assert "lanes" in changed


def test_a_model_learns_from_the_trials_of_a_store(tmp_path: Path) -> None:
    """What is timed is here the cells of a state, of which a prediction of nothing knows nothing."""
    pytest.importorskip("sklearn")
    op, sizes, store, chance = op_of("matmul", "matmul"), {"M": 64, "N": 64, "K": 64}, Store(tmp_path / "t.db"), Random(0)
    space, place = Space(op, "cpu"), Place.of(text_of(op), "cpu", sizes)
    model = Learned(store, op, place, sizes)
    assert "wants 32 timed trials" in str(model) and model(space.identity()) == predicted(space.identity(), op, sizes)
    store.describe(place, text_of(op))
    for _ in range(80):
        state = space.walk(chance, 6)
        seconds = 2.0 ** features(state, op, sizes)["cells"]
        store.add(place, state.text("m"), Said("proved", ratio=seconds, seconds=seconds * chance.choice((1, 1.1))))
    rows = [one for _, one in sorted(correlations(samples(store.rows(), {})).items(), key=str)]
    ((count, _, after),) = rows
    assert count > 60 and after > 0.8 and f"{after:.2f} with {count} held-out trials" in str(model)
    few, many = sorted((space.walk(chance, 6) for _ in range(30)), key=lambda s: features(s, op, sizes)["cells"])[::29]
    assert model(few) < model(many)


def test_a_model_without_its_extra_is_told_how_to_get_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learning, "find_spec", lambda name: None)
    with pytest.raises(TinygpuError, match="scikit-learn"):
        learning.installed()
    path = tmp_path / "twice.tgpu"
    path.write_text("op twice(x: f32[M]) -> (y: f32[M]) {\n  y[i] = 2 * x[i]\n}\n")
    assert main(["tune", str(path), "--model", "learned", "--store", str(tmp_path / "t.db")]) == 2
    said = capsys.readouterr().err
    assert "TG920" in said and "pip install 'tinygpu[tune]'" in said


def test_the_model_orders_trials_that_it_has_not_met() -> None:
    """The trials that are committed, each of a kernel of its own: of a product, a transpose and a prefix."""
    pytest.importorskip("sklearn")
    with DATASET.open(encoding="utf-8") as lines:
        found = correlations(samples(map(json.loads, lines), {}))
    by_sizes = {tuple(sorted(json.loads(place.sizes).items())): row for place, row in found.items()}
    for sizes in ((("K", 768), ("M", 768), ("N", 768)), (("M", 2048), ("N", 2048)), (("n", 1048576),)):
        count, before, after = by_sizes[sizes]
        assert count >= 60 and after >= 0.75 and after > before + 0.2
