"""A small run against the simulator in numpy: the same faults in the same order, the same wrong elements, the same inputs.

Comes in: the wrong specs, and mutants. Goes out: where the two differ. The one idea: what the small form runs it must judge as the
large one does, to the last digit that is shown; what it cannot run is `Beyond`, which is never wrong.
"""

from __future__ import annotations

import subprocess
import sys
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from tests.mutants.survey import sample
from tinygpu.category.listed import Beyond
from tinygpu.diagnostic import TinygpuError
from tinygpu.pipeline import load_text, program
from tinygpu.program import small_inputs
from tinygpu.program.chance import Chance
from tinygpu.program.fault import Divergent, Fault, Race, SimulationBudget
from tinygpu.program.inputs import random_inputs
from tinygpu.program.meeting import meeting
from tinygpu.program.simulate import simulate
from tinygpu.program.step import Program
from tinygpu.program.tolerance import Mismatch
from tinygpu.proof import large_replay, replay
from tinygpu.proof.counterexample import small

ROOT = Path(__file__).resolve().parent.parent.parent
WRONG = sorted((ROOT / "tests" / "wrong").glob("TG[235]*.tgpu"))
Seen = tuple[Fault, ...] | Mismatch | type[Exception] | None


def programs(path: Path) -> list[Program]:
    """Those of a spec; none where it is no spec."""
    try:
        return [program(machine) for machine in load_text(path.read_text(encoding="utf-8"), path.name).machines]
    except TinygpuError:
        return []


def both(made: Program, sizes: dict[str, int], seed: int, ends: bool) -> tuple[Seen, Seen] | None:
    """What the two forms see; None where one cannot say."""
    found: list[Seen] = []
    for run in (replay._small, large_replay.seen):
        try:
            found.append(run(made, dict(sizes), seed, False, ends, None))
        except (Beyond, SimulationBudget):
            return None
        except (IndexError, ZeroDivisionError) as error:
            found.append(type(error))
    return found[0], found[1]


def shown(seen: Seen) -> object:
    """What a user sees of it: of a mismatch six digits, of faults the first one; of a permuted order, that there are some."""
    if isinstance(seen, Mismatch):
        return seen.tensor, seen.index, f"{seen.got:.6g}", f"{seen.want:.6g}"
    return seen[:1] if isinstance(seen, tuple) else seen


def differs(made: Program, count: int = 4) -> tuple[int, list[str]]:
    """How many runs were compared, and where they differ."""
    compared, wrong = 0, []
    for sizes in (s for s in islice(small(made), count) if replay.admitted(made, s)):
        for seed, ends in ((0, False), (0, True), (1, False)):
            pair = both(made, sizes, seed, ends)
            if pair is None:
                continue
            compared += 1
            a, b = map(shown, pair)
            same = (
                bool(a) == bool(b)
                if seed and isinstance(a, tuple) and isinstance(b, tuple) and not isinstance(pair[0], Mismatch)
                else a == b
            )
            if not same:
                wrong.append(f"{made.name} at {sizes}, seed {seed}: {a} is not {b}")
    return compared, wrong


@pytest.mark.parametrize("path", WRONG, ids=lambda p: p.stem)
def test_both_see_the_same(path: Path) -> None:
    for made in programs(path):
        assert not differs(made)[1]


def test_both_see_the_same_of_mutants_and_most_can_be_small() -> None:
    results = [differs(mutant.program, 2) for _, mutant in sample(30, 5)]
    assert not [text for _, wrong in results for text in wrong]
    assert sum(compared > 0 for compared, _ in results) > len(results) // 3


@pytest.mark.parametrize("path", [p for p in WRONG if p.stem.startswith(("TG302", "TG303"))], ids=lambda p: p.stem)
def test_threads_meet_in_the_part_in_which_they_can_meet(path: Path) -> None:
    for made in programs(path):
        for sizes in (dict.fromkeys(made.op.sizes, n) for n in (1, 3, 33)):
            part = meeting(made) if replay.admitted(made, sizes) else None
            if part is None:
                continue
            whole = simulate(made, sizes, random_inputs(made.op, sizes), cap=1000).faults
            cut = simulate(part.program, sizes, random_inputs(made.op, sizes), cap=1000).faults
            where = [
                {(type(f), f.at.span, f.at.launch) for f in faults if isinstance(f, Race | Divergent)} for faults in (whole, cut)
            ]
            assert where[0] == where[1]


@pytest.mark.parametrize("words", [(0, 1), (3, 0xDEADBEEF), (2, 2)])
def test_chance_is_numpys(words: tuple[int, int]) -> None:
    assert Chance(*words).uniform(-2.0, 2.0, 9) == np.random.default_rng(words).uniform(-2.0, 2.0, 9).tolist()
    for low, high in ((0, 9), (-8, 9), (0, 1), (0, 2), (0, 100_003), (0, 3 << 30)):
        assert Chance(*words).integers(low, high, 9) == np.random.default_rng(words).integers(low, high, 9).tolist()
    assert Chance(*words).integers(0, 7, 1)[0] == np.random.default_rng(words).integers(7)
    assert [range(6)[i] for i in Chance(*words).integers(0, 6, 9)] == np.random.default_rng(words).choice(range(6), 9).tolist()


def test_inputs_are_the_same() -> None:
    text = "op f(x: f32[n, 3], k: i32[n], b: bool[n], h: f16[n], g: bf16[n], u: u8[n]) -> (y: f32[n]) {\n  y[i] = x[i, 0] + f32(k[i]) + f32(h[i]) + f32(g[i]) + f32(u[i]) + (1 if b[i] else 0)\n}\nmachine m : f { work grid = (), block = (t: 32)\n compute i = (c, t)\n time c }"
    op, sizes = load_text(text).machines[0].op, {"n": 5}
    for kind in ("random_inputs", "ends_inputs", "edge_inputs"):
        for seed in (0, 1, 2, 4):
            mine = getattr(small_inputs, kind)(op, sizes, seed)
            numpys = getattr(large_replay, kind)(op, sizes, seed)
            assert {n: [float(v) for v in values] for n, values in mine.items()} == {
                n: [float(v) for v in values.reshape(-1)] for n, values in numpys.items()
            }


@pytest.mark.parametrize(
    "name", ["TG302_no_barrier", "TG203_no_guard", "TG201_no_tail", "TG301_halo", "TG505_wrong_lane", "TG303_early_exit"]
)
def test_a_rejection_does_not_import_numpy(name: str) -> None:
    code = (
        "import sys; from tinygpu import pipeline; from pathlib import Path; spec = pipeline.load(Path('tests/wrong') / (sys.argv[1] + '.tgpu'));"
        "found = [pipeline.check(m) for m in spec.machines]; assert any(isinstance(v, pipeline.Refutation) for v in found);"
        "print('numpy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code, name], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
