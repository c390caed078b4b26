"""The roofline of a device, and where machines lie under it, predicted.

    operations a second  ≤  min(peak, operations a byte · bytes a second)

Comes in: costs at sizes, a device. Goes out: a picture. The one idea: a machine lies between two points, one if caches serve all that is asked for again, one if they serve nothing; both are divisions of what is counted by
the device's peaks, so no run lies above the first, and nothing here was measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tinygpu.cost.measure import Cost
from tinygpu.cost.parts import Unclear
from tinygpu.hardware.arch import Device
from tinygpu.hardware.processor import Processor
from tinygpu.pictures.paper import HUES, SHADES, Picture, caption, length, rule
from tinygpu.pictures.roofs import Point, point, roofs
from tinygpu.record import replace
from tinygpu.tune.chart import Scale

LONGEST = 76  # characters of the names at one place
WIDTH, HEIGHT, LEFT, RIGHT, TOP, MARGIN = 900.0, 430.0, 92.0, 40.0, 92.0, 20.0


def together(points: Sequence[Point]) -> list[Point]:
    """Machines that lie at one place are one point."""
    found: dict[object, list[Point]] = {}
    for one in points:
        found.setdefault((one.best, one.worst), []).append(one)
    return [replace(mine[0], title=shortened(", ".join(p.title for p in mine))) for mine in found.values()]


def titled(title: str, cost: Cost, first: Cost) -> str:
    """The name of a machine, with its sizes where they are not those of the first one."""
    return title if dict(cost.sizes) == dict(first.sizes) else f"{title} at {at_sizes(cost)}"


def at_sizes(cost: Cost) -> str:
    return ", ".join(f"{name} = {number}" for name, number in cost.sizes.items())


def shortened(text: str) -> str:
    """A list of which nobody needs all."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST].rsplit(', ', 1)[0]}, …"


def roofline(named: Sequence[tuple[str, Cost]], device: Device | Processor) -> Picture:
    """The machines, each with its cost, under the roofs of a device. Raises Unclear where none can be placed."""
    points = together([p for title, cost in named if (p := point(titled(title, cost, named[0][1]), cost, device))])
    if not points:
        raise Unclear
    peaks, band = roofs(device, [cost for _, cost in named]), float(device.memory_bytes_per_second)
    spots = [spot for p in points for spot in (p.best, p.worst) if spot]
    ridge = [peak / band for peak in peaks.values()]
    across = Scale.of([*(x for x, _ in spots), *ridge, min(x for x, _ in spots) / 2, max(ridge) * 3], LEFT, WIDTH - RIGHT)
    up = Scale.of([*(y for _, y in spots), *peaks.values(), min(y for _, y in spots) / 2], TOP + HEIGHT, TOP)
    sizes = at_sizes(named[0][1])
    title = f"{device.name}: roofline, predicted"
    said = (
        f"at {sizes}; nothing here is measured" if sizes else "nothing here is measured"
    ) + ": no run lies above ●, and ○ is where caches serve nothing twice"
    marks = [caption(MARGIN, MARGIN + 12, title, 15, "b"), caption(MARGIN, MARGIN + 32, said, 11.5, "soft")]
    marks += [*frame(across, up), *ceilings(across, up, peaks, band), *dots(points, across, up)]
    top = TOP + HEIGHT + 62
    marks += table(points, top)
    width = max(WIDTH, 2 * MARGIN + length(said, 11.5), *(2 * MARGIN + 560 + length(p.title, 11.5) for p in points))
    return Picture(width, top + 18 * len(points) + MARGIN, tuple(marks), title)


def frame(across: Scale, up: Scale) -> Iterator[str]:
    """The rules of both scales, with their numbers outside."""
    for value in up.ticks(28):
        yield rule(across.start, up(value), across.end, up(value), "line")
        yield caption(across.start - 8, up(value) + 4, in_units(value), 11, "e soft")
    for value in across.ticks(64):
        yield rule(across(value), up.end, across(value), up.start, "line")
        yield caption(across(value), up.start + 17, f"{value:.4g}", 11, "m soft")
    yield caption((across.start + across.end) / 2, up.start + 38, "floating-point operations for each byte of memory", 12, "m")
    yield caption(MARGIN, up.end - 14, "operations a second", 12)


def ceilings(across: Scale, up: Scale, peaks: Mapping[str, float], band: float) -> Iterator[str]:
    """Memory's slope and the flat roofs."""
    top = max(peaks.values())
    low = max(across.low, up.low / band)
    yield f'<path class="ink thick" d="M{across(low):.5g} {up(low * band):.5g}L{across(top / band):.5g} {up(top):.5g}"/>'
    middle = (low * (top / band)) ** 0.5
    angle = -57.29578 * _slope(across, up, band, low, top / band)
    yield f'<text class="m" font-size="11" transform="translate({across(middle) - 6:.5g} {up(middle * band) - 8:.5g}) rotate({angle:.4g})">memory, {band / 1e9:.4g} GB/s</text>'
    for peak in dict.fromkeys(peaks.values()):
        name = ", ".join(n for n, p in peaks.items() if p == peak)
        yield f'<path class="ink thick" d="M{across(peak / band):.5g} {up(peak):.5g}H{across.end:.5g}"/>'
        yield caption(across.end - 4, up(peak) - 7, f"{name}, {in_units(peak)}", 11, "e")


def _slope(across: Scale, up: Scale, band: float, a: float, b: float) -> float:
    from math import atan2

    return atan2(up(a * band) - up(b * band), across(b) - across(a))


def dots(points: Sequence[Point], across: Scale, up: Scale) -> Iterator[str]:
    """Each machine as a line between its two points, with its number beside the second."""
    taken: list[tuple[float, float]] = []
    for number, one in enumerate(points):
        colour = f"c{number % HUES * SHADES + 3}"
        x, y = across(one.best[0]), up(one.best[1])
        if one.worst:
            a, b = across(one.worst[0]), up(one.worst[1])
            yield rule(a, b, x, y, "edge dash")
            yield f'<circle cx="{a:.5g}" cy="{b:.5g}" r="4.5" class="tg-paper"/><circle cx="{a:.5g}" cy="{b:.5g}" r="4.5" class="ink"/>'
        yield f'<circle cx="{x:.5g}" cy="{y:.5g}" r="5" class="tg-ink"/><circle cx="{x:.5g}" cy="{y:.5g}" r="3.6" class="{colour}"/>'
        spot = (a + 14, b + 4) if one.worst else (x + 14, y + 4)
        while any(abs(spot[0] - u) < 18 and abs(spot[1] - v) < 15 for u, v in taken):
            spot = spot[0], spot[1] + 15
        taken.append(spot)
        yield tag(*spot, number + 1)


def tag(x: float, y: float, number: int) -> str:
    """The number of a machine, in its colour."""
    wide = 15.0 if number < 10 else 20.0
    rect = f'<rect x="{x - wide / 2:.5g}" y="{y - 7:.5g}" width="{wide:g}" height="14" rx="3" class="c{(number - 1) % HUES * SHADES + 2}"/>'
    return rect + caption(x, y + 3.8, str(number), 10, "m b")


def table(points: Sequence[Point], top: float) -> Iterator[str]:
    """A line for each point."""
    heads = ((26, "no run is faster", ""), (240, "without caches", " e"), (262, "because of", ""), (560, "machine", ""))
    yield from (caption(MARGIN + x, top, head, 11, f"soft{kind}") for x, head, kind in heads)
    for number, one in enumerate(points):
        y, slow = top + 18.0 * (number + 1), one.seconds[1]
        yield tag(MARGIN + 8, y - 4, number + 1)
        yield caption(MARGIN + 26, y, f"{seconds(one.seconds[0])}", 11.5, "b")
        yield caption(MARGIN + 240, y, seconds(slow) if slow else "", 11.5, "e")
        yield caption(MARGIN + 262, y, one.because, 11.5, "soft")
        yield caption(MARGIN + 560, y, one.title, 11.5)


def in_units(value: float) -> str:
    """`67 TFLOP/s`."""
    for unit, name in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M")):
        if value >= unit:
            return f"{value / unit:.3g} {name}FLOP/s"
    return f"{value:.3g} FLOP/s"


def seconds(value: float) -> str:
    """`1.3 ms`."""
    for unit, name in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= unit:
            return f"{value / unit:.3g} {name}"
    return f"{value / 1e-9:.3g} ns"
