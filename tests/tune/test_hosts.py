"""Who works on jobs: what is killed is done again, one host has one clock, and a search that ends in any way goes on from its store.

Comes in: processes and clusters of this host, some of which are killed. Goes out: answers, rows, messages. The one idea: nothing is lost but what nobody had answered.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.tune.fake import SIZES, TWICE, AtOnce, host, search, twice
from tinygpu.cli import main
from tinygpu.diagnostic import TinygpuError
from tinygpu.record import replace
from tinygpu.tune import hosts
from tinygpu.tune.clock import clocked
from tinygpu.tune.engine import Walks
from tinygpu.tune.host import toolchain
from tinygpu.tune.hosts import Cluster, Local
from tinygpu.tune.moves import Space
from tinygpu.tune.spent import Spent
from tinygpu.tune.state import State
from tinygpu.tune.store import Store
from tinygpu.tune.trial import STEPS, Job, Said, attempted, in_process


def states(count: int) -> list[State]:
    """That many, each another one."""
    space, chance, out = Space(twice(), "cpu"), Random(4), list[State]()
    while len(out) < count:
        state = space.walk(chance, 3)
        out += [state] if state not in out else []
    return out


def job(state: State) -> Job:
    return Job(f"{TWICE}\n\n{state.text('candidate')}", "candidate", SIZES)


def until(found: Callable[[], Any]) -> Any:
    """What is found in the end."""
    end = time.monotonic() + 60
    while not (one := found()) and time.monotonic() < end:
        time.sleep(0.02)
    return one


def forked(process: int) -> list[int]:
    """The processes that one has forked."""
    return [int(n) for of in Path(f"/proc/{process}/task").glob("*/children") for n in of.read_text().split()]


def test_whoever_ends_a_process_is_told_apart() -> None:
    def ended(number: int) -> dict[str, Any]:
        return in_process(lambda say: (say(verdict="proved"), os.kill(os.getpid(), number)), 20)  # type: ignore[arg-type, return-value]

    assert ended(signal.SIGKILL) == {"verdict": "proved", "killed": True} == ended(signal.SIGINT)
    assert ended(signal.SIGSEGV) == {"verdict": "proved", "error": "ended by SIGSEGV"}
    assert ended(signal.SIGALRM) == {"verdict": "proved", "late": True}


def test_a_child_has_nothing_of_what_is_open(tmp_path: Path) -> None:
    with (tmp_path / "open").open("w") as file:
        number = file.fileno()
        assert in_process(lambda say: os.fstat(number), 20)["error"].startswith("OSError")  # type: ignore[arg-type, return-value]


def test_nothing_goes_on_beside_what_is_timed() -> None:
    def work(alone: bool) -> dict[str, Any]:
        def do(say: Callable[..., None]) -> None:
            for turn in range(4):
                with clocked(alone):
                    start = time.monotonic()
                    time.sleep(0.02)
                    say(**{f"span{turn}": (start, time.monotonic(), alone)})

        return in_process(do, 20)

    found = list[dict[str, Any]]()
    threads = [threading.Thread(target=lambda alone=alone: found.append(work(alone))) for alone in (True, False, True, False)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    spans = sorted(span for one in found for span in one.values())
    assert len(spans) == 16
    for number, (_, end, alone) in enumerate(spans):
        for start, _, other in spans[number + 1 :]:
            assert start >= end or not (alone or other)


def test_waiting_for_the_clock_is_not_counted() -> None:
    def do(say: Callable[..., None]) -> None:
        with clocked() as waited:
            say(waited=waited)

    found = dict[str, Any]()
    with clocked(alone=True):
        thread = threading.Thread(target=lambda: found.update(in_process(do, 0.3)))
        thread.start()
        time.sleep(0.6)
    thread.join()
    assert found.keys() == {"waited"} and found["waited"] > 0.3


def test_two_here_prove_and_a_killed_one_is_said(tmp_path: Path) -> None:
    workers, before = Local(2), set(forked(os.getpid()))
    first, second = (workers.submit(job(state), 60, 0) for state in states(2))
    mine = until(lambda: set(forked(os.getpid())) - before)
    os.kill(min(mine), signal.SIGKILL)
    answers = [workers.answer(first), workers.answer(second)]
    workers.close()
    assert sorted(said.verdict for said in answers) == ["killed", "proved"]
    (proved,) = (said for said in answers if said.verdict == "proved")
    assert {*STEPS} <= proved.steps.keys() and proved.host is not None and proved.host.toolchain["numba"]


def test_a_job_is_sent_again_once(tmp_path: Path) -> None:
    before, workers = list[Job](), AtOnce(until=12)
    found = search(Store(tmp_path / "a.db"), Walks, workers)
    worst = Walks(found.engine.space, Random(0), found.engine.cost).ask().text("candidate")  # type: ignore[attr-defined]

    def answers(job: Job, chance: Random) -> Said:
        again = job in before
        before.append(job)
        return Said("proved", ratio=1.0, host=host()) if again and worst not in job.text else Said("killed")

    workers.says = answers
    out = found.run(60)
    assert out.verdicts == {"crash": 1, "proved": 5} and all(workers.jobs.count(one) == 2 for one in workers.jobs)
    assert "killed" not in {row["verdict"] for row in found.store.rows()}


def test_times_beside_other_work_are_taken_again(tmp_path: Path) -> None:
    def run(load: float, more: int) -> list[str]:
        workers = AtOnce(until=more, says=lambda job, chance: Said("proved", ratio=1.0, host=host(load)))
        search(Store(tmp_path / "a.db"), Walks, workers).run(60)
        return [one.text for one in workers.jobs]

    first, second, third = run(9.0, 6), run(1.0, 12), run(1.0, 6)
    assert {*first} < {*second} and not {*third} & {*second}
    assert not Store(tmp_path / "a.db").base.execute("select key from trial where loaded").fetchall()


def test_what_the_end_cuts_short_is_not_late(tmp_path: Path) -> None:
    for budget, kept in ((20.0, 0), (100.0, 3)):
        workers = AtOnce(until=3, says=lambda job, chance: Said("late", host=host()))
        found = search(Store(tmp_path / f"{kept}.db"), Walks, workers)
        out = found.run(budget)
        assert out.verdicts == {"late" if kept else "cut short": 3} and len(list(found.store.rows())) == kept


def test_where_time_went() -> None:
    spent = Spent()
    for worker, check in (("a/1/1", 2.0), ("a/1/2", 1.0), ("a/1/1", 3.0)):
        spent.add(Said("proved", steps={"check": check, "time": 1.0, "wait": 9.0}, host=replace(host(), worker=worker)))
    head, names, first, second, last = spent.table(10.0)
    assert head == "where 10 s went" and names.split()[-1] == "waiting"
    assert first.split() == ["a", "1", "50%", "0%", "0%", "0%", "20%", "30%"]
    assert second.split() == ["a", "2", "10%", "0%", "0%", "0%", "10%", "80%"] and "asking 0.0 s" in last


def test_a_search_whose_coordinator_is_killed_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, store = tmp_path / "twice.tgpu", tmp_path / "t.db"
    path.write_text(TWICE)
    words = ["tune", str(path), "M=64", "N=32", "--engine", "random", "--store", str(store)]
    process = subprocess.Popen([sys.executable, "-m", "tinygpu", *words, "--budget", "600"], stdout=subprocess.PIPE, cwd=ROOT)
    assert until(lambda: store.exists() and _tried(store)), "nothing was tried"
    process.kill()
    process.communicate()
    sqlite3.connect(store, isolation_level=None).execute("update trial set loaded=0")
    before = _tried(store)
    assert main([*words, "--budget", "1", "--resume", "--profile"]) == 0
    said = capsys.readouterr().out
    assert "in the store, of twice at M = 64, N = 32: " in said and "compiling" in said
    assert "tried in" in said and _tried(store).items() >= before.items()


def _tried(store: Path) -> dict[str, float]:
    try:
        return dict(sqlite3.connect(store).execute("select key, at from trial").fetchall())
    except sqlite3.OperationalError:
        return {}


@pytest.mark.sampled(3)
def test_a_worker_that_is_killed_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    sent, submit, rival = list[str](), Cluster.submit, attempted(job(states(1)[0]), 60).kernel
    assert rival is not None
    monkeypatch.setattr(Cluster, "submit", lambda self, job, *rest: sent.append(job.text) or submit(self, job, *rest))
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster:
        workers = Cluster.at(cluster.scheduler_address)
        victim, _ = workers.client.run(os.getpid).values()
        killer = threading.Thread(target=lambda: until(lambda: forked(victim)) and os.kill(victim, signal.SIGKILL))
        killer.start()
        found = search(Store(tmp_path / "a.db"), Walks, AtOnce(until=0))
        found.workers, found.stopped, found.incumbent = workers, lambda: False, rival
        assert workers.count == 2
        out = found.run(1.0)
        killer.join()
    assert sum(out.verdicts.values()) == len(sent) == len({*sent}) >= 2 and {*out.verdicts} <= {"proved", "cut short"}
    assert len(list(found.store.rows())) == out.verdicts["proved"]
    with pytest.raises(ProcessLookupError):
        os.kill(victim, 0)


def test_a_cluster_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(hosts, "PATIENCE", 0.5)
    (tmp_path / "twice.tgpu").write_text(TWICE)
    words = ["tune", str(tmp_path / "twice.tgpu"), "--store", str(tmp_path / "a.db")]
    for address, why in (("tcp://127.0.0.1:9", "no cluster answers"), ("http://host:8787", "an address is tcp://host:port")):
        assert main([*words, "--cluster", address]) == 2
        said = capsys.readouterr().err
        assert "TG918" in said and why in said and "Traceback" not in said
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert main([*words, "--cluster", "tcp://127.0.0.1:9"]) == 2 and "pip install 'tinygpu[cluster]'" in capsys.readouterr().err
    assert main([*words, "--workers", "0"]) == 2 and "0 workers do nothing" in capsys.readouterr().err
    assert main(["tune", "--store", str(tmp_path / "a.db")]) == 2 and "a spec is missing" in capsys.readouterr().err


class Idle:
    """A client and an executor of two workers, of whom nobody works."""

    def __init__(self, versions: Any = None, threads: dict[str, int] | None = None) -> None:
        self.versions, self.threads, self.sent = versions, threads or {}, list[tuple[str, Future[Said]]]()

    def nthreads(self) -> dict[str, int]:
        return self.threads

    def run(self, work: Callable[[], Any], on_error: str) -> Any:
        return self.versions

    def submit(self, work: Any, *given: Any, workers: list[str], allow_other_workers: bool) -> Future[Said]:
        assert allow_other_workers
        self.sent.append((workers[0], Future()))
        return self.sent[-1][1]


def test_a_kind_has_a_home_as_long_as_nothing_waits_there() -> None:
    idle = Idle(threads={"a": 1, "b": 1})
    workers, one = Cluster("tcp://host:1", idle, idle), job(states(1)[0])
    for given in ("x", "y"):
        workers.submit(one, 1.0, given)
    for _, future in [*idle.sent]:
        future.set_result(Said("proved"))
    for given in ("y", "y", "x"):
        workers.submit(one, 1.0, given)
    assert [where for where, _ in idle.sent] == ["a", "b", "b", "a", "a"]


def test_what_a_cluster_answers() -> None:
    distributed = pytest.importorskip("distributed")
    workers = Cluster("tcp://host:1", None, None)

    def answer(error: Exception) -> str:
        future = Future[Said]()
        future.set_exception(error)
        return workers.answer(future).verdict

    assert answer(distributed.KilledWorker("job", "worker", 3)) == "crash" and answer(CancelledError()) == "killed"
    with pytest.raises(TinygpuError, match=r"TG918 .* a worker has not this tinygpu: No module named"):
        answer(ModuleNotFoundError("No module named 'tinygpu'"))


def test_every_worker_has_the_same_tinygpu() -> None:
    Cluster("tcp://host:1", Idle({"a": toolchain(), "b": toolchain()}), None).alike()
    for other in ({**toolchain(), "tinygpu": "0.0.1"}, ModuleNotFoundError("No module named 'tinygpu'")):
        with pytest.raises(TinygpuError, match="TG918 the worker b has not tinygpu"):
            Cluster("tcp://host:1", Idle({"a": toolchain(), "b": other}), None).alike()


def test_a_cluster_whose_workers_are_gone_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    workers = Cluster("tcp://host:1", Idle(), None)
    assert workers.count == 0
    monkeypatch.setattr(hosts, "GONE", -1.0)
    with pytest.raises(TinygpuError, match="TG918 the cluster at tcp://host:1 is gone: it has no worker"):
        workers.count  # noqa: B018
