"""What was tried: a table of trials on disk, from which a search goes on, and which is a dataset of kernels.

    key = sha256(op, machine, device, sizes)          state, verdict, ratio, what each step took, where and when

Comes in: trials. Goes out: those of an op at some sizes. The one idea: a trial is its key, so nothing is tried twice, and two tables are one by their keys. A time that was taken beside other work, or
beside another incumbent, is a row and no verdict.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tinygpu.diagnostic import TinygpuError
from tinygpu.record import dataclass, field, parts
from tinygpu.tune.encoded import decoded
from tinygpu.tune.state import State, read_back
from tinygpu.tune.trial import Said

VERSION = 2
COLUMNS = {  # docs/dataset.md says what each one is
    "key": "text primary key", "op": "text", "family": "text", "device": "text", "sizes": "json", "machine": "text", "state": "json",
    "predicted": "real", "features": "json", "parent": "text", "action": "text",
    "verdict": "text", "why": "text", "ratio": "real", "seconds": "real", "rounds": "integer", "steps": "json",
    "incumbent": "text", "toolchain": "json", "cpu": "text", "cores": "integer", "load": "real", "loaded": "integer", "at": "real",
}  # fmt: skip
JSON = [name for name, kind in COLUMNS.items() if kind == "json"]
TYPED = ", ".join(f"{name} {kind}".replace(" json", " text") for name, kind in COLUMNS.items())
SCHEMA = f"create table if not exists trial({TYPED}); create table if not exists op(op text primary key, text text);"
PLACED = "trial.op=:op and device=:device and sizes=:sizes"
VERDICT = "not loaded and (ratio is null or :incumbent in ('', incumbent))"  # is one, and not only a time that was


@dataclass(frozen=True, slots=True)
class Place:
    """An op, a device and sizes: what trials are of."""

    op: str
    device: str
    sizes: str

    @staticmethod
    def of(text: str, device: str, sizes: Mapping[str, int]) -> Place:
        """By the text of the op."""
        return Place(hashlib.sha256(text.encode()).hexdigest()[:16], device, json.dumps(dict(sizes), sort_keys=True))

    def key(self, machine: str) -> str:
        """Of a machine there."""
        return hashlib.sha256("\0".join((self.op, self.device, self.sizes, machine)).encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Beside:
    """What is known of a trial beside its verdict: the state as JSON, what was predicted, where it came from, and the incumbent's key."""

    family: str = ""
    state: str = "null"
    predicted: float | None = None
    features: Mapping[str, float] = field(default_factory=dict)
    parent: str = ""
    action: str = ""
    incumbent: str = ""


class Store:
    """Trials in a file."""

    def __init__(self, path: Path) -> None:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self.base = sqlite3.connect(path, isolation_level=None)
            self.base.execute("pragma journal_mode=wal")
            (version,) = self.base.execute("pragma user_version").fetchone()
            if version not in (0, VERSION):
                title = f"{path} is of version {version}, and this one reads version {VERSION}"
                raise TinygpuError.of("TG913", title, help="name another file with --store; nothing of this one is changed")
            if not version and self.base.execute("select name from sqlite_master").fetchall():
                raise TinygpuError.of("TG913", f"{path} is a database of something else", help="name another file with --store")
            self.base.execute(f"pragma user_version={VERSION}")
            self.base.executescript(SCHEMA)
        except (sqlite3.DatabaseError, OSError) as error:
            raise TinygpuError.of(
                "TG913", f"{path} is no store of trials: {error}", help="name another file with --store"
            ) from None

    def add(self, place: Place, machine: str, said: Said, beside: Beside = Beside()) -> None:  # noqa: B008  # it does not change
        """One trial; it is `loaded` where its time was taken beside other work. Of one that was tried before, where it came from stays."""
        host, key = said.host, place.key(machine)
        before = self.base.execute("select parent, action from trial where key=?", (key,)).fetchone()
        parent, action = before or (beside.parent, beside.action)
        loaded = host is not None and host.loaded and (said.ratio is not None or said.verdict == "late")
        row = {
            "key": key, "op": place.op, "device": place.device, "sizes": place.sizes, "machine": machine,
            "verdict": said.verdict, "why": said.why, "ratio": said.ratio, "seconds": said.seconds, "rounds": said.rounds,
            "steps": json.dumps(dict(said.steps)), "toolchain": json.dumps(dict(host.toolchain) if host else {}),
            "cpu": host.cpu if host else "", "cores": host.cores if host else None, "load": host.load if host else None,
            "loaded": int(loaded), "at": time.time(), "family": beside.family, "state": beside.state, "predicted": beside.predicted,
            "features": json.dumps(dict(beside.features)), "parent": parent, "action": action,
            "incumbent": beside.incumbent,
        }  # fmt: skip
        self._put("insert or replace", [tuple(row[name] for name in COLUMNS)])

    def _put(self, how: str, rows: list[tuple[Any, ...]]) -> int:
        """How many rows came, all of them or none."""
        self.base.execute("begin immediate")
        came = self.base.executemany(f"{how} into trial values({', '.join('?' * len(COLUMNS))})", rows).rowcount
        self.base.execute("commit")
        return max(0, came)

    def describe(self, place: Place, text: str) -> None:
        """The text of an op, which its trials name by hash."""
        self.base.execute("insert or ignore into op values(?, ?)", (place.op, text))

    def known(self, place: Place, incumbent: str = "") -> dict[str, tuple[str, str, float | None]]:
        """The machines that were tried there, by key: text, verdict and ratio; without times that are no verdicts."""
        found = self._found("key, machine, verdict, ratio", f"{PLACED} and {VERDICT}", place, incumbent)
        return {key: (machine, verdict, ratio) for key, machine, verdict, ratio in found}

    def states(self, place: Place, incumbent: str = "") -> Iterator[tuple[State, float | None]]:
        """Those that are states, with their ratios."""
        yield from _states(self._found("machine, state, ratio", f"{PLACED} and {VERDICT}", place, incumbent))

    def unsettled(self, place: Place, incumbent: str = "") -> list[State]:
        """States whose times are no verdicts, to be tried again: the best first."""
        found = self._found(
            "machine, state, ratio", f"{PLACED} and not ({VERDICT}) order by ratio is null, ratio", place, incumbent
        )
        return [state for state, _ in _states(found)]

    def _found(self, what: str, which: str, place: Place, incumbent: str) -> sqlite3.Cursor:
        return self.base.execute(f"select {what} from trial where {which}", parts(place) | {"incumbent": incumbent})

    def merge(self, other: Store) -> int:
        """The trials of another store that are not here, or here only as times beside other work; and how many these are."""
        settled = {key for (key,) in self.base.execute("select key from trial where not loaded")}
        marked = {key for (key,) in self.base.execute("select key from trial where loaded")}
        rows = other.base.execute("select * from trial").fetchall()
        loaded = [*COLUMNS].index("loaded")
        for op, text in other.base.execute("select * from op").fetchall():
            self.base.execute("insert or ignore into op values(?, ?)", (op, text))
        return self._put("insert or replace", [r for r in rows if r[0] not in settled and not (r[loaded] and r[0] in marked)])

    def rows(self, place: Place | None = None) -> Iterator[dict[str, Any]]:
        """Trials by column, of one place or all, in the order of time; of JSON what it says, and beside them the `text` of the op."""
        of = f"where {PLACED}" if place else ""
        found = self.base.execute(
            f"select trial.*, op.text from trial left join op using(op) {of} order by at", parts(place) if place else {}
        )
        for row in found:
            named = dict(zip((*COLUMNS, "text"), row, strict=True))
            yield named | {name: json.loads(named[name]) for name in JSON}

    def lines(self) -> Iterator[str]:
        """Every trial as a line of JSON."""
        return (json.dumps(row, sort_keys=True) for row in self.rows())


def _states(rows: sqlite3.Cursor) -> Iterator[tuple[State, float | None]]:
    for machine, state, ratio in rows:
        found = decoded(state) or read_back(machine)
        if found is not None:
            yield found, ratio
