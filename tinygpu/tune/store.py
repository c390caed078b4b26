"""What was tried: a table of trials on disk, from which a search goes on.

    key = sha256(op, machine, device, sizes)          state, verdict, ratio, what each step took, when

Comes in: trials. Goes out: those of an op at some sizes. The one idea: a trial is its key, so nothing is tried twice, and two tables are one by their keys.
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
from tinygpu.record import dataclass
from tinygpu.tune.trial import Said

VERSION = 1
SCHEMA = """create table if not exists trial(key text primary key, op text, device text, sizes text, machine text, verdict text, why text,
ratio real, seconds real, rounds integer, steps text, at real)"""
OPS = "create table if not exists op(op text primary key, text text)"


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
            self.base.execute(f"pragma user_version={VERSION}")
            self.base.execute(SCHEMA)
            self.base.execute(OPS)
        except (sqlite3.DatabaseError, OSError) as error:
            raise TinygpuError.of(
                "TG913", f"{path} is no store of trials: {error}", help="name another file with --store"
            ) from None

    def add(self, place: Place, machine: str, said: Said) -> None:
        """One trial."""
        row = (place.key(machine), place.op, place.device, place.sizes, machine, said.verdict, said.why, said.ratio, said.seconds,
               said.rounds, json.dumps(dict(said.steps)), time.time())  # fmt: skip
        self.base.execute(f"insert or replace into trial values({', '.join('?' * len(row))})", row)

    def describe(self, place: Place, text: str) -> None:
        """The text of an op, which its trials name by hash."""
        self.base.execute("insert or ignore into op values(?, ?)", (place.op, text))

    def known(self, place: Place) -> dict[str, tuple[str, str, float | None]]:
        """The machines that were tried there, by key: text, verdict and ratio."""
        found = self.base.execute(
            "select key, machine, verdict, ratio from trial where op=? and device=? and sizes=?",
            (place.op, place.device, place.sizes),
        )
        return {key: (machine, verdict, ratio) for key, machine, verdict, ratio in found}

    def merge(self, other: Store) -> int:
        """The trials of another store that are not here, and how many these are."""
        before = self.base.total_changes
        self.base.executemany(
            f"insert or ignore into trial values({', '.join('?' * 12)})", other.base.execute("select * from trial").fetchall()
        )
        came = self.base.total_changes - before
        self.base.executemany("insert or ignore into op values(?, ?)", other.base.execute("select * from op").fetchall())
        return came

    def rows(self) -> Iterator[dict[str, Any]]:
        """Trials by column, in the order of time; of JSON what it says, and beside them the `text` of the op."""
        found = self.base.execute("select trial.*, op.text from trial left join op using(op) order by at")
        names = [column[0] for column in found.description]
        for row in found:
            named = dict(zip(names, row, strict=True))
            yield named | {name: json.loads(named[name]) for name in ("sizes", "steps")}

    def lines(self) -> Iterator[str]:
        """Every trial as a line of JSON."""
        return (json.dumps(row, sort_keys=True) for row in self.rows())
