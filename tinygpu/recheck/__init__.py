"""What was proved, checked again by what believes nothing of the proof: runs, and what they say.

Comes in: a count, or what went wrong. Goes out: two records, and words. The one idea: who shows them need not load what ran.
"""

from __future__ import annotations

from tinygpu.record import dataclass
from tinygpu.simulate.fault import Fault, sentence
from tinygpu.simulate.tolerance import Mismatch


@dataclass(frozen=True, slots=True)
class Agreement:
    """So many runs, at so many sizes, agree with the equation."""

    runs: int
    sizes: int

    def __str__(self) -> str:
        return f"{self.runs} runs at {self.sizes} sizes agree" if self.runs else "no run is small enough"


@dataclass(frozen=True, slots=True)
class Disagreement:
    """The first thing that goes wrong, and at which sizes."""

    sizes: dict[str, int]
    seen: Fault | Mismatch | str

    def __str__(self) -> str:
        """
        >>> str(Disagreement({"n": 2}, Mismatch("y", (1,), 1.5, 2.0)))
        'at n = 2: y[1] is 1.5, not 2.0'
        """
        at = ", ".join(f"{name} = {size}" for name, size in self.sizes.items()) or "no sizes"
        return f"at {at}: {self.seen if isinstance(self.seen, str | Mismatch) else sentence(self.seen)}"
