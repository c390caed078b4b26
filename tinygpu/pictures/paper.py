"""Paper: what every picture is made of, rectangles and words, as the text of an SVG that reads in light and in dark.

    cells: rows × columns → colours        ─ a path for each colour, its runs merged ─→  text

Comes in: numbers and words. Goes out: a `Picture`. The one idea: a colour is a number below 32, eight hues of four shades each, computed by one formula for light paper and for
dark; a mark names it and no mark says what it looks like.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from math import cos, pi, sin
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tinygpu.record import dataclass

Numbers = NDArray[np.int64]
HUES, SHADES = 8, 4
COLOURS = HUES * SHADES
NOBODY = -1  # the colour of what has none
WIDE = 0.602  # of a character, as a part of its height
FONT = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"
INKS = {  # in light and in dark
    "paper": ("#ffffff", "#14181d"), "ink": ("#1c2127", "#eef1f4"), "soft": ("#5d6773", "#9aa5b1"), "line": ("#dfe4e8", "#2c343c"),
    "edge": ("#7b8794", "#8390a0"), "void": ("#f1f3f5", "#1d2329"), "bad": ("#c0262d", "#ff7b72"), "other": ("#0b62b0", "#6cb6ff"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing of so many pixels, and its name for who does not see it."""

    width: float
    height: float
    marks: tuple[str, ...]
    name: str

    @property
    def svg(self) -> str:
        """The text of a file that needs no other."""
        size = f'width="{self.width:.0f}" height="{self.height:.0f}" viewBox="0 0 {self.width:.0f} {self.height:.0f}"'
        head = f'<svg class="tg" xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(self.name)}">'
        back = '<rect class="tg-paper" width="100%" height="100%" rx="6"/>'
        return "\n".join([head, f"<style>{STYLE}</style>", back, *self.marks, "</svg>", ""])

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<Picture of {self.name}: {self.width:.0f} × {self.height:.0f}>"

    def save(self, path: str | Path) -> None:
        """Write the SVG. Raises OSError."""
        Path(path).write_text(self.svg, encoding="utf-8")


def colour(light: float, chroma: float, hue: float) -> str:
    """`OKLCH → sRGB`, where equal steps look equal.

    >>> colour(1, 0, 0), colour(0, 0, 0), colour(0.628, 0.2577, 29.23)
    ('#ffffff', '#000000', '#ff0000')
    """
    a, b = chroma * cos(hue * pi / 180), chroma * sin(hue * pi / 180)
    rows = ((0.3963377774, 0.2158037573), (-0.1055613458, -0.0638541728), (-0.0894841775, -1.2914855480))
    long, middle, short = ((light + by * a + of * b) ** 3 for by, of in rows)
    mixed = (
        4.0767416621 * long - 3.3077115913 * middle + 0.2309699292 * short,
        -1.2684380046 * long + 2.6097574011 * middle - 0.3413193965 * short,
        -0.0041960863 * long - 0.7034186147 * middle + 1.7076147010 * short,
    )
    linear = (min(1.0, max(0.0, m)) for m in mixed)
    return "#" + "".join(f"{round(255 * (12.92 * m if m <= 0.0031308 else 1.055 * m ** (1 / 2.4) - 0.055)):02x}" for m in linear)


def palette(dark: bool) -> Iterator[str]:
    """The rules of the 32 colours."""
    for number in range(COLOURS):
        hue, shade = 250 + 360 / HUES * (number // SHADES * 3 % HUES), number % SHADES
        light, chroma = (0.30 + 0.065 * shade, 0.062 + 0.012 * shade) if dark else (0.935 - 0.055 * shade, 0.038 + 0.025 * shade)
        yield f".tg .c{number}{{fill:{colour(light, chroma, hue)}}}"


def rules() -> Iterator[str]:
    """How all marks look, once for light and once for dark."""
    for dark in (False, True):
        inks = {name: pair[dark] for name, pair in INKS.items()}
        own = [*palette(dark)]
        own += [
            f".tg text,.tg .tg-ink{{fill:{inks['ink']}}}",
            f".tg .soft{{fill:{inks['soft']}}}",
            f".tg-paper{{fill:{inks['paper']}}}",
        ]
        own += [f".tg .{name}{{fill:none;stroke:{inks[name]}}}" for name in ("line", "edge", "ink", "bad", "other")]
        own += [f".tg .void{{fill:{inks['void']}}}", f".tg .in-bad{{fill:{inks['bad']}}}", f".tg .in-other{{fill:{inks['other']}}}"]
        yield f"@media (prefers-color-scheme: dark) {{ {' '.join(own)} }}" if dark else " ".join(own)
    yield f".tg text{{font-family:{FONT};stroke:none}} .tg .m{{text-anchor:middle}} .tg .e{{text-anchor:end}} .tg .b{{font-weight:600}}"
    yield ".tg .thick{stroke-width:2} .tg .thin{stroke-width:.6} .tg .dash{stroke-dasharray:4 3}"


STYLE = "\n".join(rules())


# ── marks ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def caption(x: float, y: float, text: str, size: float = 12, kind: str = "") -> str:
    """A line of text whose foot is at `y`; of the kinds `m` it is centred, `e` it ends there, `b` bold, `soft`."""
    look = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.4g}" y="{y:.5g}" font-size="{size:g}"{look}>{escape(text)}</text>'


def length(text: str, size: float = 12) -> float:
    """Of a line of text, in pixels."""
    return len(text) * size * WIDE


def box(x: float, y: float, wide: float, tall: float, kind: str, told: str = "", round: float = 0) -> str:
    """A rectangle of a colour (`c5`) or an ink, and what it says when it is pointed at."""
    corner = f' rx="{round:g}"' if round else ""
    rect = f'<rect x="{x:.5g}" y="{y:.5g}" width="{wide:.5g}" height="{tall:.5g}"{corner} class="{kind}"'
    return f"{rect}><title>{escape(told)}</title></rect>" if told else f"{rect}/>"


def rule(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """A straight line."""
    return f'<path class="{kind}" d="M{x1:.5g} {y1:.5g}L{x2:.5g} {y2:.5g}"/>'


def moved(x: float, y: float, marks: Iterable[str]) -> tuple[str, ...]:
    """The same marks elsewhere."""
    return (f'<g transform="translate({x:g} {y:g})">', *marks, "</g>")


def stacked(pictures: Sequence[Picture], name: str, gap: float = 22) -> Picture:
    """One below the other."""
    marks, top = list[str](), 0.0
    for one in pictures:
        marks += moved(0, top, one.marks)
        top += one.height + gap
    return Picture(max(one.width for one in pictures), top - gap, tuple(marks), name)


# ── cells ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def painted(colours: Numbers, wide: float, tall: float) -> Iterator[str]:
    """Cells of so many pixels, one path for each colour: neighbours of one colour in a row are one rectangle."""
    for number in np.unique(colours).tolist():
        drawn = []
        for row, line in enumerate(colours == number):
            ends = np.flatnonzero(np.diff(np.concatenate(([False], line, [False])).astype(np.int8)))
            drawn += [
                f"M{a * wide:.5g} {row * tall:.5g}h{(b - a) * wide:.5g}v{tall:g}H{a * wide:.5g}z" for a, b in ends.reshape(-1, 2)
            ]
        yield f'<path class="{"void" if number == NOBODY else f"c{number}"}" d="{"".join(drawn)}"/>'


def edged(owner: Numbers, wide: float, tall: float, kind: str) -> str:
    """The lines between neighbours whose numbers are not the same, as one path."""
    drawn = []
    for row in np.flatnonzero((owner[1:] != owner[:-1]).any(1)).tolist():
        drawn += [f"M{a * wide:.5g} {(row + 1) * tall:.5g}h{(b - a) * wide:.5g}" for a, b in _runs(owner[row + 1] != owner[row])]
    for column in np.flatnonzero((owner[:, 1:] != owner[:, :-1]).any(0)).tolist():
        drawn += [
            f"M{(column + 1) * wide:.5g} {a * tall:.5g}v{(b - a) * tall:.5g}"
            for a, b in _runs(owner[:, column + 1] != owner[:, column])
        ]
    return f'<path class="{kind}" d="{"".join(drawn)}"/>' if drawn else ""


def _runs(line: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Where something holds: from, to.

    >>> _runs(np.array([True, True, False, True]))
    [(0, 2), (3, 4)]
    """
    ends = np.flatnonzero(np.diff(np.concatenate(([False], line, [False])).astype(np.int8)))
    return [(a, b) for a, b in ends.reshape(-1, 2).tolist()]


def inscribed(
    lines: Sequence[Sequence[Sequence[str]]], wide: float, tall: float, size: float, told: Sequence[Sequence[str]] = ()
) -> Iterator[str]:
    """The words of cells, `lines[row][column]` one below the other, in the middle of each; a text for each row of words. `told` is what cells say when they are pointed at."""
    for row, cells in enumerate(lines):
        for part in range(max((len(cell) for cell in cells), default=0)):
            spans = []
            for column, cell in enumerate(cells):
                if part < len(cell):
                    more = f"<title>{escape(told[row][column])}</title>" if told and not part else ""
                    spans.append(f'<tspan x="{(column + 0.5) * wide:.5g}">{escape(cell[part])}{more}</tspan>')
            count = max(len(cell) for cell in cells)
            foot = row * tall + tall / 2 + size * (0.36 + 1.05 * (part - (count - 1) / 2))
            yield f'<text class="m" y="{foot:.5g}" font-size="{size:g}">{"".join(spans)}</text>'
