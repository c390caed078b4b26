"""Classes of sizes: which machines are left, where one gives way to the next, and the choice that is written.

Comes in: machines whose times are said, and a small op. Goes out: parts, texts, messages. The one idea: who is faster where is given, so what the command makes of it is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.tune.fake import TWICE
from tinygpu import pipeline
from tinygpu.cli import main
from tinygpu.commands import classes as command
from tinygpu.commands import tune
from tinygpu.diagnostic import TinygpuError
from tinygpu.proof.choice import Covered, covered
from tinygpu.tune.classes import Entrant, Sizes, divided, unmet
from tinygpu.tune.race import Ratio
from tinygpu.tune.trial import Kernel

SHORT = "machine candidate : twice on cpu {\n  work core = (i)\n  time j\n}\n"
LONG = "machine candidate : twice on cpu {\n  work core = (i)\n  compute j = (jc, jv: 16)\n  time jc\n  simd jv\n}\n"
Times = Callable[[str, Sizes], float]


def entrant(text: str) -> Entrant:
    return Entrant("twice_tuned", Kernel(text, "f"), text)


def by_times(times: Times, asked: list[Sizes] | None = None) -> Callable[[Entrant, Entrant, Sizes], Ratio]:
    """A race without a clock."""

    def race(one: Entrant, other: Entrant, sizes: Sizes) -> Ratio:
        if asked is not None:
            asked.append(sizes)
        ratio = times(one.kernel.module, sizes) / times(other.kernel.module, sizes)
        return Ratio(ratio * 0.995, ratio, ratio * 1.005)

    return race


def at(n: int) -> dict[str, int]:
    return {"M": 64, "N": n}


def linear(start: float, each: float) -> Callable[[Sizes], float]:
    return lambda sizes: start + each * sizes["N"]


def times_of(said: Mapping[str, Callable[[Sizes], float]]) -> Times:
    return lambda text, sizes: said[text](sizes)


def test_where_one_gives_way_to_the_other_is_found_by_time() -> None:
    """A machine with less to begin with, and one with less to do for each: they take as long at 1000."""
    race = by_times(times_of({SHORT: linear(0, 3), LONG: linear(2000, 1)}))
    for order in (1, -1):
        classes = [(at(16), entrant(SHORT)), (at(65536), entrant(LONG))][::order]
        first, second = divided(classes, "N", race)
        assert (first.entrant.text, second.entrant.text, second.most) == (SHORT, LONG, None)
        assert first.why is not None and first.most is not None
        low, high = first.why
        assert low["N"] <= first.most < high["N"] and low["N"] < 1000 < high["N"] < 2.1 * low["N"] and low["M"] == 64


def test_a_machine_that_is_as_good_everywhere_is_the_only_one() -> None:
    """Of machines that take as long the simpler one is left, and of a class whose neighbour's is faster that one."""
    same, asked = linear(1, 1), list[Sizes]()
    (one,) = divided(
        [(at(16), entrant(LONG)), (at(256), entrant(SHORT))], "N", by_times(times_of({SHORT: same, LONG: same}), asked)
    )
    assert one.entrant.text == SHORT and one.most is None and asked == [at(256), at(16)]
    slow = linear(9, 9)
    (one,) = divided([(at(16), entrant(LONG)), (at(256), entrant(SHORT))], "N", by_times(times_of({SHORT: slow, LONG: same})))
    assert one.entrant.text == LONG
    asked.clear()
    divided([(at(16), entrant(LONG)), (at(256), entrant(LONG))], "N", by_times(times_of({LONG: same}), asked))
    assert not asked


def test_three_classes_have_three_machines() -> None:
    middle = LONG.replace("16", "8")
    race = by_times(times_of({SHORT: linear(0, 9), middle: linear(1000, 3), LONG: linear(100000, 1)}))
    found = divided([(at(8), entrant(SHORT)), (at(4096), entrant(middle)), (at(1 << 20), entrant(LONG))], "N", race)
    assert [part.entrant.text for part in found] == [SHORT, middle, LONG]
    assert found[0].most is not None and found[1].most is not None and 100 < found[0].most < 300 and 3e4 < found[1].most < 8e4


def test_only_sizes_that_the_op_takes_are_timed() -> None:
    (op,) = pipeline.load_text(TWICE.replace("{", "where N % 48 == 0 {", 1)).spec.ops
    assert unmet(op, at(48)) is None and unmet(op, at(50)) == "N % 48 == 0"
    asked: list[Sizes] = []
    race = by_times(times_of({SHORT: linear(0, 3), LONG: linear(2000, 1)}), asked)
    divided([(at(48), entrant(SHORT)), (at(480), entrant(LONG))], "N", race, lambda sizes: unmet(op, sizes) is None)
    assert all(sizes["N"] % 48 == 0 for sizes in asked)


def found_by(winners: Mapping[int, str]) -> Callable[..., tuple[SimpleNamespace, SimpleNamespace, str]]:
    """Searches that find what is said, by N; of any other the incumbent stays."""

    def searched(arguments: object, spec: object, op: object, sizes: Mapping[str, int], store: object):  # type: ignore[no-untyped-def]
        text = winners.get(sizes["N"], "")
        finalists = [(text, Ratio(0.5, 0.5, 0.5))] if text else []
        outcome = SimpleNamespace(verdicts=Counter(proved=1), seconds=1.0, finalists=finalists, ended=False, winner=finalists[:1])
        return outcome, SimpleNamespace(kernels={text: Kernel(text, "f")}, incumbent=Kernel(LONG, "f")), "twice_machine"

    return searched


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "twice.tgpu"
    path.write_text(TWICE)
    race = by_times(times_of({SHORT: linear(0, 3), LONG: linear(2000, 1)}))
    monkeypatch.setattr(command.Races, "__call__", lambda self, *others: race(*others))
    return path


def test_a_choice_is_written_and_is_proved(spec: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tune, "searched", found_by({16: SHORT}))
    words = ["tune", str(spec), "M=64", "--at", "N=65536", "--at", "N=16", "--store", str(spec.with_suffix(".db"))]
    assert main(words) == 0
    said, text = capsys.readouterr().out, spec.read_text()
    assert "choice twice_by_N : twice {" in text and "proved, and written" in said
    assert "# Tuned on a CPU: taken at M = 64, N = " in text and "machine twice_tuned : twice on cpu {" in text
    (choice,) = pipeline.load(spec).spec.choices
    assert isinstance(covered(choice), Covered) and [b.machine.name for b in choice.branches] == ["twice_tuned", "twice_machine"]
    assert main(words) == 0  # what is there has its names
    assert [one.name for one in pipeline.load(spec).spec.choices] == ["twice_by_N", "twice_by_N2"]
    assert main(["check", str(spec)]) == 0


def test_one_machine_for_all_classes_leaves_no_choice(
    spec: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["tune", str(spec), "M=64", "--at", "N=16", "--at", "N=64", "--store", str(spec.with_suffix(".db"))]
    monkeypatch.setattr(tune, "searched", found_by({}))
    assert main(words) == 0 and "one machine is best at all classes, so there is no choice" in capsys.readouterr().out
    assert spec.read_text() == TWICE
    monkeypatch.setattr(tune, "searched", found_by({16: SHORT, 64: SHORT}))
    assert main(words) == 0 and "machine twice_tuned" in spec.read_text() and "choice" not in spec.read_text()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--at", "N=16"], "one class of sizes leaves nothing to choose"),
        (["--at", "N=16", "--at", "N=16"], "no size tells the classes apart: M = 512, N = 16; M = 512, N = 16"),
        (["--at", "N=16", "--at", "K=16"], "twice has no size K"),
        (["--at", "N=16", "--at", "N=4", "--device", "h100", "--cost-only"], "classes of sizes are timed, on the CPU that is here"),
    ],
)
def test_classes_that_are_none(spec: Path, words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", str(spec), *words]) == 2
    said = capsys.readouterr().err
    assert "TG905" in said and says in said and spec.read_text() == TWICE


def test_two_machines_that_are_not_timed_end_it(spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    (op,) = pipeline.load(spec).spec.ops
    with pytest.raises(TinygpuError, match=r"a and b were not timed at M = 64, N = 16"):
        command.Races(op, lambda _: None)(Entrant("a", Kernel("no module", "f")), Entrant("b", Kernel("nor this", "f")), at(16))


def test_machines_are_timed_in_turns(spec: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    machines = pipeline.load_text(f"{TWICE}\n{SHORT}\n{LONG.replace('candidate', 'other')}").machines
    built = [pipeline.built(pipeline.check(one), one) for one in machines]
    short, long = (Entrant(b.machine.name, Kernel(pipeline.sound("m", [b]), b.machine.name)) for b in built)
    races = command.Races(machines[0].op, lambda _: None)
    ratio = races(short, long, {"M": 64, "N": 32})
    assert races.told == [f"at M = 64, N = 32: candidate takes {ratio} of the time of other"]
    assert 0 < ratio.low <= ratio.middle <= ratio.high and races(short, long, {"M": 64, "N": 32}) is ratio
