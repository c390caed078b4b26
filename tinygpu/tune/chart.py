"""Marks on paper: scales, axes, points and lines, as the text of an SVG.

    value ─scale→ pixel ─mark→ text

Comes in: numbers. Goes out: SVG, coloured by the classes of its page. The one idea: a label stands where nothing else is drawn, outside of the frame.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from math import ceil, floor, log10

from tinygpu.record import dataclass

CHARACTER = 7.3  # pixels, at most, of one of 12 pixels that are all as wide
STEPS = (1, 2, 5)


@dataclass(frozen=True, slots=True)
class Scale:
    """Numbers from `low` to `high`, on pixels from `start` to `end`, by their logarithm or as they are."""

    low: float
    high: float
    start: float
    end: float
    log: bool = True

    @staticmethod
    def of(values: Iterable[float], start: float, end: float) -> Scale:
        """A logarithmic one that holds some numbers, with some room around them.

        >>> [round(Scale.of([1, 100], 0, 10)(v), 2) for v in (1, 10, 100)]
        [0.45, 5.0, 9.55]
        """
        found = list(values)
        room = max((max(found) / min(found)) ** 0.05, 1.05)
        return Scale(min(found) / room, max(found) * room, start, end)

    def __call__(self, value: float) -> float:
        low, high, at = (log10(v) for v in (self.low, self.high, value)) if self.log else (self.low, self.high, value)
        return self.start + (self.end - self.start) * (at - low) / ((high - low) or 1)

    def ticks(self, room: float) -> list[float]:
        """Round numbers that are at least so many pixels apart.

        >>> Scale(0.4, 30, 0, 100).ticks(10), Scale(0, 7, 0, 100, log=False).ticks(20)
        ([0.5, 1.0, 2.0, 5.0, 10.0, 20.0], [0, 2, 4, 6])
        """
        most = abs(self.end - self.start) / room
        for found in self._log() if self.log and self.high / self.low > 8 else self._plain():
            if len(found) <= max(2, most):
                return found
        return []

    def _log(self) -> Iterator[list[float]]:
        """Finer ones first."""
        tens = range(floor(log10(self.low)), ceil(log10(self.high)) + 1)
        for steps in (STEPS, (1,)):
            yield [v for ten in tens for step in steps if self.low <= (v := float(f"{step}e{ten}")) <= self.high]
        for far in (2, 3, 5, 10):
            yield [float(f"1e{ten}") for ten in tens if ten % far == 0 and self.low <= 10**ten <= self.high]

    def _plain(self) -> Iterator[list[float]]:
        wide = self.high - self.low
        for ten in range(floor(log10(wide or 1)) - 2, floor(log10(wide or 1)) + 2):
            for step in STEPS:
                far = step * 10**ten
                yield [far * n for n in range(ceil(self.low / far), floor(self.high / far) + 1)]


def svg(width: float, height: float, marks: Iterable[str], name: str) -> str:
    """A drawing with a name for who does not see it."""
    head = f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escape(name)}" xmlns="http://www.w3.org/2000/svg">'
    return "\n".join([head, *marks, "</svg>"])


def words(x: float, y: float, text: str, anchor: str = "start", kind: str = "") -> str:
    """A line of text."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">{escape(text)}</text>'


def rule(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """A straight line."""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def path(points: Sequence[tuple[float, float]], kind: str) -> str:
    """A line through points."""
    return f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}" class="{kind}"/>'


def dot(x: float, y: float, kind: str, told: str, size: float = 3) -> str:
    """A point, and what it says when it is pointed at."""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size:g}" class="{kind}"><title>{escape(told)}</title></circle>'


def frame(across: Scale, up: Scale, below: str, beside: str, foot: float) -> Iterator[str]:
    """The rules of both scales with their numbers outside, at `foot` those of the one across, and what they count."""
    for value in up.ticks(24):
        yield rule(across.start, up(value), across.end, up(value), "grid")
        yield words(across.start - 8, up(value) + 4, f"{value:g}", "end")
    for value in across.ticks(64):
        yield rule(across(value), up.end, across(value), foot, "grid")
        yield words(across(value), foot + 16, f"{value:.4g}", "middle")
    yield rule(across.start, foot, across.end, foot, "axis")
    yield words((across.start + across.end) / 2, foot + 36, below, "middle", "soft")
    yield words(across.start, up.end - 10, beside, "start", "soft")
