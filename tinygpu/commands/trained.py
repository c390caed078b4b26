"""What `tinygpu tune` learns: the weights of the policy, and the model of the trials of a store.

Comes in: where to write, a store. Goes out: a file of weights, a model. The one idea: both only propose, so nothing that they get wrong is worse than time lost.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tinygpu.commands.common import PROVED, write
from tinygpu.commands.together import Progress

if TYPE_CHECKING:
    from tinygpu.model.op import Op
    from tinygpu.tune.learned import Learned
    from tinygpu.tune.store import Store


def train(output: str | None, seed: int) -> int:
    """The weights of the policy, again: those of the package, or in a file. Raises TG904 where they cannot be written."""
    from tinygpu.tune.policy import SHIPPED
    from tinygpu.tune.train import EPISODES, trained, weights_text

    path = Path(output) if output else SHIPPED
    with Progress() as now:
        now(f"{EPISODES} rollouts")
        weights = trained(seed, EPISODES)
    write(path, weights_text(weights, seed))
    print(f"{len(weights)} weights, of {EPISODES} rollouts, are in {path}")
    return PROVED


def learned(store: Store, op: Op, text: str, sizes: dict[str, int], device: str) -> Learned:
    """The model of the trials of a store. Raises TG920 where scikit-learn is not installed."""
    from tinygpu.tune.learned import Learned, installed
    from tinygpu.tune.store import Place

    installed()
    return Learned(store, op, Place.of(text, device, sizes), sizes)
