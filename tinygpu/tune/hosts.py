"""Who works on jobs: threads of this process that fork, or a cluster of `dask.distributed`.

    submit(job) → future of what is said          Local(n) ≅ Cluster("tcp://host:8786")

Comes in: jobs, each with the kind of its state. Goes out: futures of `concurrent.futures`. The one idea: a job is a text and all that a trial needs is in it, so it is done wherever there is
tinygpu, and done again elsewhere where somebody ended it.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from typing import Any, Protocol

from tinygpu.diagnostic import TinygpuError
from tinygpu.record import dataclass, field
from tinygpu.tune.host import toolchain
from tinygpu.tune.trial import Job, Said, attempted

PATIENCE = 10.0  # seconds in which a cluster answers
ADDRESS = re.compile(r"tcp://[^\s/]+:\d+")
GONE = 30.0  # seconds without any worker, after which none is waited for


class Workers(Protocol):
    """Whoever works."""

    @property
    def count(self) -> int:
        """Jobs that are done at once. Raises TG918 where nobody is left."""

    def submit(self, job: Job, limit: float, kind: Hashable) -> Future[Said]:
        """A job, which may take so many seconds."""

    def answer(self, future: Future[Said]) -> Said:
        """Of a future that is done; `killed` where its worker is gone and somebody else may do it."""

    def close(self) -> None:
        """Nothing more is done."""


class Local:
    """Threads, each of which waits for a process that it forks."""

    def __init__(self, count: int = 1) -> None:
        self.count = count
        self.pool = ThreadPoolExecutor(count)

    def submit(self, job: Job, limit: float, kind: Hashable) -> Future[Said]:
        return self.pool.submit(attempted, job, limit)

    def answer(self, future: Future[Said]) -> Said:
        return future.result()

    def close(self) -> None:
        self.pool.shutdown(cancel_futures=True)


@dataclass(slots=True)
class Cluster:
    """The workers of a scheduler; states of a kind go to who had that kind before, where nothing waits there."""

    address: str
    client: Any
    executor: Any
    busy: Counter[str] = field(default_factory=Counter)
    homes: dict[Hashable, str] = field(default_factory=dict)
    seen: float = field(default_factory=time.monotonic)

    @staticmethod
    def at(address: str) -> Cluster:
        """Raises TG918 where `dask.distributed` is missing, nobody answers, or a worker has another tinygpu."""
        try:
            from distributed import Client
        except ImportError:
            raise TinygpuError.of(
                "TG918", "a cluster needs dask.distributed", help="get it with: pip install 'tinygpu[cluster]'"
            ) from None
        for name in [name for name in logging.root.manager.loggerDict if name.split(".")[0] == "distributed"]:
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)  # what it says of a host that vanishes is said here
        try:
            if not ADDRESS.fullmatch(address):
                raise ValueError("an address is tcp://host:port")
            client = _in_time(lambda: Client(address, timeout=PATIENCE, set_as_default=False), 2 * PATIENCE)
        except (OSError, ValueError) as error:
            raise TinygpuError.of(
                "TG918",
                f"no cluster answers at {address}: {_line(error)}",
                help=f"start one: dask scheduler; dask worker {address}",
            ) from None
        found = Cluster(address, client, client.get_executor(pure=False))
        found.alike()
        return found

    def alike(self) -> None:
        """Every worker has this tinygpu."""
        versions = self.client.run(toolchain, on_error="return")
        for worker, theirs in versions.items():
            mine = toolchain()["tinygpu"]
            other = theirs.get("tinygpu") if isinstance(theirs, dict) else _line(theirs)
            if other != mine:
                raise TinygpuError.of(
                    "TG918", f"the worker {worker} has not tinygpu {mine}: {other}", help="install the same tinygpu on every host"
                )

    @property
    def threads(self) -> dict[str, int]:
        """How many jobs each worker does at once. Raises TG918 where the scheduler is gone, or all workers, for a while."""
        try:
            found: dict[str, int] = self.client.nthreads()
        except (OSError, ValueError, RuntimeError) as error:
            raise self.gone(_line(error)) from None
        now = time.monotonic()
        if found:
            self.seen = now
        elif now - self.seen > GONE:
            raise self.gone("it has no worker")
        return found

    @property
    def count(self) -> int:
        return sum(self.threads.values())

    def gone(self, why: str) -> TinygpuError:
        """What is said of a cluster that does not come back."""
        told = "what was tried is in the store, and the same command goes on from there"
        return TinygpuError.of("TG918", f"the cluster at {self.address} is gone: {why}", help=told)

    def submit(self, job: Job, limit: float, kind: Hashable) -> Future[Said]:
        threads = self.threads
        free = sorted(worker for worker, most in threads.items() if self.busy[worker] < most) or sorted(threads)
        home = self.homes.get(kind)
        home = self.homes[kind] = home if home in free else min(free, key=lambda worker: self.busy[worker], default="")
        where = {"workers": [home], "allow_other_workers": True} if home else {}
        future: Future[Said] = self.executor.submit(attempted, job, limit, **where)
        self.busy[home] += 1
        future.add_done_callback(lambda _: self.busy.subtract([home]))
        return future

    def answer(self, future: Future[Said]) -> Said:
        from distributed import KilledWorker

        try:
            return future.result()
        except KilledWorker:  # the scheduler has given it to others before
            return Said("crash", "every process that worked on it was ended")
        except (CancelledError, OSError) as error:
            return Said("killed", _line(error))
        except (ImportError, AttributeError, TypeError) as error:
            raise self.gone(f"a worker has not this tinygpu: {_line(error)}") from None

    def close(self) -> None:
        self.executor.shutdown(wait=False)
        self.client.close(timeout=PATIENCE)


def _in_time(work: Callable[[], Any], limit: float) -> Any:
    """What some work gives. Raises TimeoutError where it does not end: another kind of server may never answer."""
    found = Future[Any]()

    def do() -> None:
        try:
            found.set_result(work())
        except (OSError, ValueError) as error:
            found.set_exception(error)

    threading.Thread(target=do, daemon=True).start()
    return found.result(limit)


def _line(error: object) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
