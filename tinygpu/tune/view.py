"""A machine as other schedulers see a kernel: of each launch which factors are global, local, grouped, looped, reduced, unrolled and upcast.

    (level, element or fold) → word

Comes in: a machine. Goes out: text. The one idea: their words are the projection of a machine's factors on levels, so each is a row of a table, and nothing of the machine is lost but the order of digits.
"""

from __future__ import annotations

from tinygpu.category.term import Axis, text
from tinygpu.model.across import fold_factors
from tinygpu.model.machine import Launch, Machine

WORDS: dict[str, tuple[str, str]] = {  # of a level: the word for factors of elements, and for those of folds alone
    "grid": ("global", "global reduce"),
    "block": ("local", "group"),
    "time": ("loop", "reduce"),
    "register": ("upcast", "unroll"),
    "vector": ("upcast", "unroll"),
}


def view(machine: Machine) -> str:
    """The words, each with its factors, launch by launch."""
    return "\n\n".join(_launch(one, len(machine.launches) > 1) for one in machine.launches)


def _launch(launch: Launch, several: bool) -> str:
    axes: dict[str, Axis] = {a.name: a for p in launch.phases for a in p.owner.domain.axes}
    elements = {
        name for p in launch.phases for name in axes.keys() & {a.name for a in p.owner.domain.axes} - fold_factors(p).keys()
    }
    found: dict[str, list[str]] = {word: [] for pair in WORDS.values() for word in pair}
    for axis in axes.values():
        element, fold = WORDS[axis.sort]
        found[element if axis.name in elements else fold].append(f"{axis.name}: {text(axis.extent)}")
    lines = [f"{word:<14}{', '.join(factors)}" for word, factors in found.items() if factors]
    lines += [f"{'staged':<14}{s.tensor} at {s.at}" for s in launch.stages]
    return "\n".join([*([f"launch {launch.name}"] if several else []), *lines])
