"""The policy's training: rollouts by the policy as it is, each choice made likelier as far as its rollout was better than usual.

    w ← w + rate · (reward − usual) · (what was taken − what was expected)          reward = −log of the best predicted cycles of a rollout

Comes in: a seed and a number of rollouts. Goes out: weights by name. The one idea: no machine is timed, as what is learnt is which edits lead somewhere at all, and that is in the prediction.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import product
from math import log
from random import Random

from tinygpu.record import dataclass
from tinygpu.tune.moves import Space
from tinygpu.tune.policy import Choice, rollout
from tinygpu.tune.predict import predicted
from tinygpu.tune.state import State

EPISODES, RATE, KEPT = 1500, 0.05, 0.9  # of what is usual so much is kept at each rollout
LEAST, MOST = 0.1, 3.0  # of how much rewards differ, and how many times that one may be better
DEVICES = ("cpu", "")
LESSONS = {  # ops, and the sizes of each
    "op product(A: f32[M, K], B: f32[K, N]) -> (C: f32[M, N]) {\n  C[i, j] = sum[k] A[i, k] * B[k, j]\n}\n": (256, 2048),
    "op turned(x: f32[M, N]) -> (y: f32[N, M]) {\n  y[j, i] = x[i, j]\n}\n": (1024, 4096),
    "op rows(x: f32[R, N]) -> (s: f32[R]) {\n  s[r] = sum[j] x[r, j]\n}\n": (512, 4096),
}


@dataclass(frozen=True, slots=True)
class Lesson:
    """An op at some sizes, for a device."""

    space: Space
    sizes: Mapping[str, int]

    def cost(self, state: State) -> float:
        """Predicted cycles."""
        return predicted(state, self.space.op, self.sizes)


def lessons() -> Iterator[Lesson]:
    """Every op at each of its sizes for every device."""
    from tinygpu import pipeline

    for text, numbers in LESSONS.items():
        (op,) = pipeline.load_text(text).spec.ops
        for device in DEVICES:
            for some in product(numbers, repeat=len(op.sizes)):
                yield Lesson(Space(op, device), dict(zip(op.sizes, some, strict=True)))


def trained(seed: int, episodes: int) -> dict[str, float]:
    """The weights, by name."""
    chance, weights, every = Random(seed), dict[str, float](), [*lessons()]
    usual: dict[int, tuple[float, float]] = {}
    for turn in range(episodes):
        number = turn % len(every)
        lesson = every[number]
        _, least, made = rollout(lesson.space, lesson.space.identity(), weights, lesson.cost, chance)
        reward = -log(least)
        mean, spread = usual.get(number, (reward, 1.0))
        better = max(-MOST, min(MOST, (reward - mean) / max(spread, LEAST)))
        usual[number] = KEPT * mean + (1 - KEPT) * reward, KEPT * spread + (1 - KEPT) * abs(reward - mean)
        for choice in made:
            _learn(weights, choice, RATE * better)
    return dict(sorted(weights.items()))


def _learn(weights: dict[str, float], choice: Choice, by: float) -> None:
    """What was taken is likelier, what was expected less."""
    for name in choice.traits[choice.taken]:
        weights[name] = weights.get(name, 0.0) + by
    for names, odds in zip(choice.traits, choice.chances, strict=True):
        for name in names:
            weights[name] = weights.get(name, 0.0) - by * odds


def weights_text(weights: Mapping[str, float], seed: int) -> str:
    """The weights as the text of a file."""
    said = {"seed": seed, "rollouts": EPISODES, "weights": {name: round(w, 3) for name, w in weights.items()}}
    return json.dumps(said, indent=1) + "\n"


def compared(lesson: Lesson, weights: Mapping[str, float], rollouts: int = 40, seed: int = 9) -> float:
    """The mean of the best predicted cycles of rollouts."""
    chance = Random(seed)
    return sum(rollout(lesson.space, lesson.space.identity(), weights, lesson.cost, chance)[1] for _ in range(rollouts)) / rollouts
