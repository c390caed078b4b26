"""The process that proves for an editor: no job is lost, whatever becomes of a process that was at it.

Comes in: a pool, jobs, processes that end. Goes out: what the pool says to the server. The one idea: what an editor waits for is either found, or said to be lost.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tinygpu.category import deadline
from tinygpu.lsp import worker
from tinygpu.lsp.pipes import receive
from tinygpu.lsp.verdicts import Job
from tinygpu.lsp.worker import Child, Pool

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere one process does one job after the other")
ONE, TWO = Job("a", 1, "", ""), Job("a", 2, "", "")


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the server hears."""
    heard: list[Any] = []
    monkeypatch.setattr(worker, "send", lambda line, found: heard.append(found))
    return heard


@pytest.fixture
def pool() -> Iterator[Pool]:
    made, before = Pool(), signal.getsignal(signal.SIGUSR1)
    yield made
    for child in list(made.children):
        made.end(child)
    signal.signal(signal.SIGUSR1, before)
    deadline.UNWANTED.clear()


def gone(job: Job, **more: Any) -> Child:
    """A process that has ended while it was at a job."""
    mine, other = socket.socketpair()
    other.close()
    process = os.fork()
    if not process:
        os._exit(1)
    return Child(process, mine, job, busy=True, **more)


def test_a_process_that_is_just_made_is_not_ended_by_what_is_unwanted(pool: Pool) -> None:
    child = pool.fork()
    os.kill(child.process, signal.SIGUSR1)
    child.give(ONE)
    found = receive(child.line.fileno())
    while found[2] is not None:
        found = receive(child.line.fileno())
    assert found == ("a", 1, None)
    pool.children.append(child)


def test_what_is_wanted_instead_is_begun_where_a_process_has_ended(pool: Pool, said: list[Any]) -> None:
    child = gone(ONE, next=TWO)
    pool.children.append(child)
    pool.answered(child)
    assert [c.job for c in pool.children] == [TWO] and pool.children[0].busy


def test_a_job_whose_process_has_ended_is_told_of(pool: Pool, said: list[Any]) -> None:
    child = gone(ONE)
    pool.children.append(child)
    pool.answered(child)
    assert said == [("a", 1, worker.ENDED)] and not pool.children


def test_of_a_process_that_had_done_its_job_nothing_is_said(pool: Pool, said: list[Any]) -> None:
    child = gone(ONE)
    child.busy = False
    pool.children.append(child)
    pool.answered(child)
    assert not said and not pool.children


def test_a_bug_is_told_of_and_ends_its_job(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(job: Job, answer: object) -> None:
        raise ZeroDivisionError("seen in a test")

    monkeypatch.setattr(worker, "work", broken)
    child = pool.fork()
    child.give(ONE)
    (_, _, bug), end = receive(child.line.fileno()), receive(child.line.fileno())
    assert bug.code == "TG901" and "seen in a test" in bug.notes[0] and end == ("a", 1, None)
    pool.children.append(child)
