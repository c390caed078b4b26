"""Classes of sizes: which machine is best at each, and where one gives way to the next, by time.

    best at a, best at b  ↦  bisect by ratios: a … m … b          choice { first where N <= n   second where N > n }

Comes in: machines, each of a class, and somebody who times two of them at sizes. Goes out: the machines that are left, and the numbers between them. The one idea: along one size, from class to class, each of two
machines is timed beside the other one; a tie goes to the simpler, so a machine is kept only where it is faster, and not by chance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from math import gcd, isqrt
from typing import TypeAlias

from tinygpu.category.evaluate import evaluate
from tinygpu.category.term import reads, text
from tinygpu.model.op import Op
from tinygpu.record import dataclass
from tinygpu.tune.race import Ratio
from tinygpu.tune.state import read_back
from tinygpu.tune.trial import Kernel

Sizes: TypeAlias = Mapping[str, int]
STEPS, NEAR = 6, 1.2  # of a bisection, and between which sizes there is nothing more to find


@dataclass(frozen=True, slots=True)
class Entrant:
    """A machine that is built, by a name; `text` of one that is not in the spec, under the name of a candidate."""

    name: str
    kernel: Kernel
    text: str = ""

    @property
    def simplicity(self) -> tuple[int, int, str]:
        """What a tie goes by: one of the spec, few factors, a short text."""
        state = read_back(self.text) if self.text else None
        return sum(len(nest.factors) for nest in state.nests) if state else len(self.text), len(self.text), self.name


Race: TypeAlias = Callable[[Entrant, Entrant, Sizes], Ratio]  # the time of the first one as a part of the second one's


@dataclass(frozen=True, slots=True)
class Part:
    """A machine up to a number of the size that tells classes apart; the last one has none. `why`, between which sizes it was timed."""

    entrant: Entrant
    most: int | None = None
    why: tuple[Sizes, Sizes] | None = None


def telling(classes: Sequence[Sizes]) -> str | None:
    """The last size that is another one in each class; None where there is none.

    >>> telling([{"R": 64, "N": 256}, {"R": 8, "N": 65536}]), telling([{"R": 64, "N": 256}, {"R": 8, "N": 256}]), telling([{"R": 64}, {"R": 64}])
    ('N', 'R', None)
    """
    return next((name for name in reversed([*classes[0]]) if len({one[name] for one in classes}) == len(classes)), None)


def between(low: Sizes, high: Sizes) -> Sizes:
    """The sizes in the middle of two, by ratio; what divides both divides them.

    >>> between({"R": 64, "N": 256}, {"R": 64, "N": 65536})
    {'R': 64, 'N': 4096}
    """
    out = {}
    for name, one in low.items():
        unit = gcd(one, high[name]) or 1
        out[name] = max(unit, isqrt(one * high[name]) // unit * unit)
    return out


def better(one: Entrant, other: Entrant, sizes: Sizes, race: Race) -> Entrant:
    """Which of two is to be taken at some sizes."""
    if one == other:
        return one
    ratio = race(one, other, sizes)
    if ratio.better:
        return one
    return other if ratio.low > 1 and ratio.middle > 1.01 else min(one, other, key=lambda e: e.simplicity)


def best(classes: Sequence[tuple[Sizes, Entrant]], race: Race) -> list[Entrant]:
    """For each class its own machine, or that of a class beside it, if it is as good there."""
    found = [entrant for _, entrant in classes]
    order = [*((n - 1, n) for n in range(1, len(found))), *((n + 1, n) for n in reversed(range(len(found) - 1)))]
    for beside, here in order:
        found[here] = better(found[here], found[beside], classes[here][0], race)
    return found


def divided(
    classes: Sequence[tuple[Sizes, Entrant]], by: str, race: Race, takes: Callable[[Sizes], bool] = lambda _: True
) -> list[Part]:
    """The machines that are left, in order of a size, each up to a number; `takes`, whether the op is for some sizes."""
    ordered = sorted(classes, key=lambda one: one[0][by])
    known = best(ordered, race)
    out: list[Part] = []
    for (low, high), (first, second) in zip(pairwise(sizes for sizes, _ in ordered), pairwise(known), strict=True):
        if first != second:
            low, high = _bisected(first, second, (low, high), by, race, takes)
            out.append(Part(first, isqrt(low[by] * high[by]), (low, high)))
    return [*out, Part(known[-1])]


def _bisected(
    first: Entrant, second: Entrant, ends: tuple[Sizes, Sizes], by: str, race: Race, takes: Callable[[Sizes], bool]
) -> tuple[Sizes, Sizes]:
    """The last sizes at which the first one is taken, and the first ones of the second."""
    low, high = ends
    for _ in range(STEPS):
        middle = between(low, high)
        if high[by] <= NEAR * low[by] or not low[by] < middle[by] < high[by] or not takes(middle):
            break
        low, high = (middle, high) if better(first, second, middle, race) == first else (low, middle)
    return low, high


def unmet(op: Op, sizes: Sizes) -> str | None:
    """What an op wants of sizes that it does not take; None where it takes them."""
    return next((text(g) for g in op.where if not reads(g) and not evaluate(g, sizes)), None)


def choice(name: str, op: str, by: str, found: Sequence[Part]) -> str:
    """The text of a choice among machines, whose names these are.

    >>> from tinygpu.record import replace
    >>> part = Part(Entrant("short", Kernel("", "")), 2048)
    >>> print(choice("rows", "softmax", "N", [part, replace(part, entrant=Entrant("long", Kernel("", "")), most=None)]))
    choice rows : softmax {
      short where N <= 2048
      long where N > 2048
    }
    <BLANKLINE>
    """
    lines, least = [f"choice {name} : {op} {{"], ""
    for part in found:
        said = [least, f"{by} <= {part.most}" if part.most is not None else ""]
        lines.append(f"  {part.entrant.name} where {', '.join(word for word in said if word)}")
        least = f"{by} > {part.most}"
    return "\n".join([*lines, "}", ""])
