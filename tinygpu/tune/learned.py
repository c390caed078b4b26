"""What trials teach of times: a model of the seconds of a turn, of the trials of a store.

    features ─forest→ log(seconds / turns)          seconds = turns · exp of that          judged by trials that it was not made from

Comes in: a store, an op, sizes. Goes out: predicted seconds of a state, and how far their order is that of trials that were held out. The one idea: what footprints predict is a feature among
others, and what is learnt is a time for each point of the op, which is the same for all sizes where nothing else is; and whoever uses a model is told how good it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from math import exp, log, sqrt
from random import Random
from statistics import median
from typing import Any

from tinygpu.diagnostic import TinygpuError
from tinygpu.model.op import Op
from tinygpu.record import dataclass, field
from tinygpu.tune.features import features
from tinygpu.tune.predict import predicted
from tinygpu.tune.rank import spearman
from tinygpu.tune.state import State, read_back
from tinygpu.tune.store import Place, Store

FEWEST, AGAIN = 32, 16  # trials that a model is made from at least, and after how many it is made again
FOLDS, TREES = 8, 100
INSTALL = "pip install 'tinygpu[tune]'"


@dataclass(frozen=True, slots=True)
class Sample:
    """A trial: of which op, device and sizes, the features of its state, what was predicted, and what it took."""

    place: Place
    values: Mapping[str, float]
    cycles: float
    seconds: float

    @property
    def target(self) -> float:
        """What is learnt."""
        return log(self.seconds / work(self.values))


def work(values: Mapping[str, float]) -> float:
    """The points of an op's largest launch: its turns, without those beyond the sizes."""
    return float(2 ** (values["turns"] - values["beyond"]))


def samples(rows: Iterable[Mapping[str, Any]], known: dict[str, Sample | None]) -> list[Sample]:
    """Those of rows of a store that were timed, and of which the op is known; `known` are those that were met before, by key. A time is the mean,
    in logarithms, of what was taken and of the ratio times what the incumbent usually takes there: the one is off in a slow moment, the other where only the incumbent was."""
    timed = [row for row in rows if row["ratio"] and row["seconds"] and row["verdict"] == "proved" and row["text"]]
    beside: dict[tuple[Any, ...], list[float]] = {}
    for row in timed:
        beside.setdefault(_against(row), []).append(row["seconds"] / row["ratio"])
    for row in (r for r in timed if r["key"] not in known):
        known[row["key"]] = _sample(row, sqrt(row["seconds"] * row["ratio"] * median(beside[_against(row)])))
    return [one for row in timed if (one := known[row["key"]]) is not None]


def _against(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Which incumbent a row was timed in turns with."""
    return row["op"], row["device"], str(row["sizes"]), row.get("incumbent", "")


def _sample(row: Mapping[str, Any], seconds: float) -> Sample | None:
    from tinygpu import pipeline

    state = read_back(row["machine"])
    op = next(
        (op for op in pipeline.load_text(row["text"]).spec.ops if state is not None and not state.via and op.family == state.op),
        None,
    )
    if state is None or op is None:
        return None
    place = Place.of(row["text"], row["device"], row["sizes"])
    return Sample(place, features(state, op, row["sizes"]), predicted(state, op, row["sizes"]), seconds)


def installed() -> None:
    """Raises TG920 where scikit-learn is not installed."""
    if find_spec("sklearn") is None:
        title = "the learned model needs scikit-learn, which is not installed"
        raise TinygpuError.of("TG920", title, help=f"get it with: {INSTALL}; without --model the search goes by footprints")


def forest(some: Sequence[Sample]) -> Any:
    """A forest over the features of samples."""
    from sklearn.ensemble import ExtraTreesRegressor

    made = ExtraTreesRegressor(TREES, max_features=0.5, random_state=0)
    return made.fit([[*one.values.values()] for one in some], [one.target for one in some])


def held_out(some: Sequence[Sample], seed: int = 0) -> list[float]:
    """Seconds of each sample as a model says that was made without it: of so many parts all but its own."""
    order = [*range(len(some))]
    Random(seed).shuffle(order)
    found = [0.0] * len(some)
    for part in range(FOLDS):
        out = order[part::FOLDS]
        model = forest([some[n] for n in order if n not in {*out}])
        for n, value in zip(out, model.predict([[*some[n].values.values()] for n in out]), strict=True):
            found[n] = work(some[n].values) * exp(value)
    return found


def correlations(some: Sequence[Sample]) -> dict[Place, tuple[int, float, float]]:
    """For each op and sizes: how many trials, and the rank correlation with their times of what was predicted, and of what a model says that has not met them."""
    said, out = held_out(some), {}
    for place in dict.fromkeys(one.place for one in some):
        mine = [n for n, one in enumerate(some) if one.place == place]
        times = [some[n].seconds for n in mine]
        out[place] = (
            len(mine),
            spearman([some[n].cycles for n in mine], times) or 0.0,
            spearman([said[n] for n in mine], times) or 0.0,
        )
    return out


@dataclass(slots=True)
class Learned:
    """The cost of states of an op at some sizes, by a model that is made again as trials come; by footprints until there are enough."""

    store: Store
    op: Op
    place: Place
    sizes: Mapping[str, int]
    known: dict[str, Sample | None] = field(default_factory=dict)
    trees: list[Any] = field(default_factory=list)
    since: int = -AGAIN

    def __call__(self, state: State) -> float:
        """Predicted seconds; cycles where there is no model yet."""
        if self.store.base.total_changes - self.since >= AGAIN:
            self.made()
        if not self.trees:
            return predicted(state, self.op, self.sizes)
        import numpy as np

        values = features(state, self.op, self.sizes)
        row = np.array([[*values.values()]], np.float32)
        return work(values) * exp(sum(float(tree.predict(row).flat[0]) for tree in self.trees) / len(self.trees))

    def made(self) -> None:
        """The model, of all trials there are."""
        self.since = self.store.base.total_changes
        some = samples(self.store.rows(), self.known)
        self.trees = [one.tree_ for one in forest(some).estimators_] if len(some) >= FEWEST else []

    def __str__(self) -> str:
        """How good it is, by trials that were held out."""
        some = samples(self.store.rows(), self.known)
        if len(some) < FEWEST:
            return f"the learned model wants {FEWEST} timed trials, and the store has {len(some)}: footprints alone"
        count, before, after = correlations(some).get(self.place, (0, 0.0, 0.0))
        here = (
            f"rank correlation {after:.2f} with {count} held-out trials of this op at these sizes (footprints alone {before:.2f})"
        )
        return f"the learned model, of {len(some)} trials: {here if count > 2 else 'none of this op at these sizes'}"
