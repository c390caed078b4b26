"""`tinygpu tune --export`, `--merge`, `--report`, `--resume`: what is in a store of trials.

Comes in: a store. Goes out: lines of JSON, the trials of another one, a page, a sentence. The one idea: what was tried is data, and of use to others than who tried it.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from tinygpu.commands.common import PROVED, write
from tinygpu.commands.tuned import said
from tinygpu.diagnostic import TinygpuError

if TYPE_CHECKING:
    from tinygpu.tune.store import Place, Store


def default_store() -> Path:
    """Where trials are kept if nobody says: by version, so that what an older tinygpu tried is in nobody's way."""
    from tinygpu.runtime.cubins import _cache_folder
    from tinygpu.tune.store import VERSION

    return Path(_cache_folder()) / f"tune-{VERSION}.db"


def opened(name: str | None, there: bool = False) -> Store:
    """A store by its name; without one the usual one. Raises TG913 for one that is none, or is not there though it is to be."""
    from tinygpu.tune.store import Store

    path = Path(name) if name else default_store()
    if there and not path.exists():
        raise TinygpuError.of("TG913", f"there is no store {path}", help="a search makes one: --store names it")
    return Store(path)


def export(store: Store) -> int:
    """Every trial as a line."""
    for line in store.lines():
        print(line)
    return PROVED


def merge(store: Store, others: list[str]) -> int:
    """The trials of other stores."""
    for name in others:
        came = store.merge(opened(name, there=True))
        print(f"{came} {'trial' if came == 1 else 'trials'} came from {name}")
    return PROVED


def report(store: Store, place: Place, family: str, sizes: dict[str, int], output: Path) -> int:
    """The page of a search. Raises TG913 where nothing was tried, TG904 where it cannot be written."""
    from tinygpu.tune.page import page

    rows = list(store.rows(place))
    if not rows:
        title = f"the store has no trial of {family} at {said(sizes)}"
        raise TinygpuError.of("TG913", title, help="the text of the op, the device and the sizes are those of the search")
    write(output, page(rows, f"{family} at {said(sizes)}"))
    print(f"{output}: {len(rows)} {'trial' if len(rows) == 1 else 'trials'} of {family} at {said(sizes)}")
    return PROVED


def resumed(store: Store, place: Place, family: str, sizes: dict[str, int]) -> str:
    """What a store has of an op at some sizes.

    A time that was taken beside other work is said to be tried again.
    """
    rows = list(store.rows(place))
    if not rows:
        return f"the store has no trial of {family} at {said(sizes)}"
    verdicts = ", ".join(f"{n} {word}" for word, n in Counter(row["verdict"] for row in rows).most_common())
    again = sum(row["loaded"] for row in rows)
    ratios = [row["ratio"] for row in rows if row["ratio"] is not None and not row["loaded"]]
    best = f"; the best at {min(ratios):.2f} of the incumbent's time in one trial" if ratios else ""
    beside = f"; {again} timed beside other work, to be tried again" if again else ""
    return f"in the store, of {family} at {said(sizes)}: {verdicts}{best}{beside}"
