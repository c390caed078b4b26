"""A search as a page: trials over time, what was predicted against what was measured, and where the best one came from.

    rows of a store → HTML, with its drawings in it

Comes in: trials of an op at some sizes. Goes out: one file that needs no other. The one idea: a search that is drawn shows at once whether it still found something, and whether predictions were of use.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise
from typing import Any, TypeAlias

from tinygpu.tune.chart import CHARACTER, Scale, dot, frame, path, rule, svg, words
from tinygpu.tune.rank import spearman

Row: TypeAlias = dict[str, Any]  # a trial by column
WIDTH, LEFT, RIGHT, TOP, TALL, LANE = 920, 84, 90, 34, 320, 20
PAUSE = 120.0  # seconds without a trial: the search was not under way
SEEN = ("proved", "refused", "unknown", "refuted", "wrong", "late", "crash")  # verdicts that have a colour
STYLE = """
:root { --paper: #ffffff; --ink: #1c2127; --soft: #5d6773; --line: #e2e6ea; --axis: #8b95a1; --proved: #1f6fb4; --best: #0b3d66;
  --refused: #c2730a; --unknown: #7a52b3; --refuted: #c0392b; --wrong: #b0307f; --late: #8a7a16; --crash: #4a4f55; }
@media (prefers-color-scheme: dark) { :root { --paper: #14181d; --ink: #e6e9ec; --soft: #9aa5b1; --line: #2a3139; --axis: #66717d;
  --proved: #5aa9e6; --best: #cfe6fa; --refused: #f0a34a; --unknown: #b79aec; --refuted: #f07a6c; --wrong: #ee82c3; --late: #d8c64a; --crash: #b4bac1; } }
body { background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; max-width: 960px; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin: 2.2rem 0 .3rem; } p { color: var(--soft); margin: .3rem 0 .8rem; }
svg { width: 100%; height: auto; display: block; } svg text { font: 12px ui-monospace, Menlo, Consolas, monospace; fill: var(--ink); }
svg text.soft { fill: var(--soft); } .grid { stroke: var(--line); } .axis { stroke: var(--axis); } .one { stroke: var(--axis); stroke-dasharray: 5 4; }
.pause { stroke: var(--axis); stroke-dasharray: 2 4; } polyline { fill: none; stroke: var(--best); stroke-width: 1.6; }
.key { display: flex; flex-wrap: wrap; gap: .3rem 1.4rem; padding: 0; list-style: none; } .key svg { display: inline-block; width: 12px; height: 12px; margin-right: .4rem; }
pre { background: color-mix(in srgb, var(--line) 45%, transparent); padding: 1rem; overflow-x: auto; font-size: 13px; }
""" + "".join(
    f"circle.{v} {{ fill: var(--{v}); fill-opacity: .75; }} circle.{v}.loaded {{ fill: none; stroke: var(--{v}); }}\n" for v in SEEN
)


def page(rows: Sequence[Row], title: str) -> str:
    """The page of trials, at least one, in the order of time."""
    rival = rows[-1]["incumbent"]
    mine = [row for row in rows if row["incumbent"] == rival]
    timed = [row for row in mine if row["ratio"]]
    best = min(timed, key=lambda row: (row["loaded"], row["ratio"]), default=None)
    parts = [f"<h1>{escape(title)}</h1>", f"<p>{_summary(rows, mine, best)}</p>", _key(mine)]
    parts += ["<h2>Trials over time</h2>", "<p>The time of each as a part of the incumbent's, in one trial; the line is the best so far."
              " Below are those that have no time.</p>", over_time(mine)]  # fmt: skip
    parts += ["<h2>Predicted and measured</h2>", *predicted_measured(timed)]
    if best is not None:
        line = lineage(best, {row["key"]: row for row in mine})
        parts += ["<h2>Where the best one came from</h2>", "<p>Each is made of the one before it by the actions beside it.</p>"]
        parts += [genealogy(line), f"<pre>{escape(best['machine'].strip())}</pre>"]
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}<style>{STYLE}</style></head>\n<body>\n'
        + "\n".join(parts)
        + "\n</body></html>\n"
    )


def _summary(rows: Sequence[Row], mine: Sequence[Row], best: Row | None) -> str:
    said = [f"{len(mine)} trials"]
    said += (
        [f"the best at {best['ratio']:.2f} of the incumbent's time in one trial, which is no result before the finalists race"]
        if best
        else []
    )
    said += [f"{len(rows) - len(mine)} against another incumbent are left out"] if len(rows) > len(mine) else []
    return "; ".join(said) + "."


def _key(rows: Sequence[Row]) -> str:
    """Verdicts with their colours and numbers."""
    count = Counter(row["verdict"] for row in rows)
    loaded = Counter(row["verdict"] for row in rows if row["loaded"])
    kinds = [(verdict, f"{n - loaded[verdict]} {verdict}") for verdict, n in count.most_common() if n > loaded[verdict]]
    kinds += [(f"{verdict} loaded", f"{n} {verdict}, timed beside other work") for verdict, n in loaded.items()]
    marks = (
        f'<li><svg viewBox="0 0 12 12"><circle cx="6" cy="6" r="4.5" class="{kind}"/></svg>{escape(text)}</li>'
        for kind, text in kinds
    )
    return f'<ul class="key">{"".join(marks)}</ul>'


def _kind(row: Row) -> str:
    return f"{row['verdict']}{' loaded' if row['loaded'] else ''}"


def _told(row: Row) -> str:
    ratio = f"{row['ratio']:.3f} of the incumbent's time" if row["ratio"] else row["why"] or row["verdict"]
    return f"{ratio}\n{row['action']}".strip()


def minutes(rows: Sequence[Row]) -> tuple[list[float], list[float]]:
    """When each trial ended, in minutes of searching, and where pauses are left out.

    >>> minutes([{"at": 0.0}, {"at": 60.0}, {"at": 9000.0}, {"at": 9060.0}])
    ([0.0, 1.0, 1.0, 2.0], [1.0])
    """
    out, pauses = [0.0], list[float]()
    for before, after in pairwise(rows):
        gap = after["at"] - before["at"]
        pauses += [out[-1]] if gap > PAUSE else []
        out.append(out[-1] + (gap / 60 if gap <= PAUSE else 0.0))
    return out, pauses


def over_time(rows: Sequence[Row]) -> str:
    """Ratios by a logarithm, verdicts as colours, those without a time in lanes."""
    when, pauses = minutes(rows)
    lanes = [verdict for verdict in SEEN if any(not row["ratio"] and row["verdict"] == verdict for row in rows)]
    bottom = TOP + TALL
    foot = bottom + 14 + LANE * len(lanes)
    across = Scale(0.0, max(when[-1], 0.1), LEFT, WIDTH - RIGHT, log=False)
    up = Scale.of([1.0, *(row["ratio"] for row in rows if row["ratio"])], bottom, TOP)
    marks = [*frame(across, up, "minutes of searching", "part of the incumbent's time", foot)]
    marks += [rule(across(at), TOP, across(at), foot, "pause") for at in pauses]
    marks += [
        rule(across.start, up(1.0), across.end, up(1.0), "one"),
        words(across.end + 8, up(1.0) + 4, "incumbent", "start", "soft"),
    ]
    marks += [words(LEFT - 8, bottom + 14 + LANE * n + 14, verdict, "end", "soft") for n, verdict in enumerate(lanes)]
    best, line = None, list[tuple[float, float]]()
    for at, row in zip(when, rows, strict=True):
        height = up(row["ratio"]) if row["ratio"] else bottom + 14 + LANE * lanes.index(row["verdict"]) + 10
        marks.append(dot(across(at), height, _kind(row), _told(row)))
        if row["ratio"] and not row["loaded"] and (best is None or row["ratio"] < best):
            line += [(across(at), up(best))] if best is not None else []
            best = row["ratio"]
            line.append((across(at), up(best)))
    marks += [path([*line, (across.end, line[-1][1])], "best")] if line else []
    return svg(WIDTH, foot + 46, marks, "trials over time")


def predicted_measured(timed: Sequence[Row]) -> Iterator[str]:
    """A point a trial, both sides by their logarithms, and Spearman's rank correlation."""
    both = [row for row in timed if row["predicted"] and row["predicted"] > 0]
    if len(both) < 3:
        yield "<p>Fewer than three trials have a prediction and a time.</p>"
        return
    rank = spearman([row["predicted"] for row in both], [row["ratio"] for row in both])
    said = "is not defined" if rank is None else f"is {rank:.2f}"
    yield f"<p>Spearman's rank correlation of {len(both)} trials {said}.</p>"
    across = Scale.of([row["predicted"] for row in both], LEFT, WIDTH - RIGHT)
    up = Scale.of([row["ratio"] for row in both], TOP + TALL, TOP)
    marks = [*frame(across, up, "predicted", "part of the incumbent's time", TOP + TALL)]
    marks += [dot(across(row["predicted"]), up(row["ratio"]), _kind(row), _told(row)) for row in both]
    yield svg(WIDTH, TOP + TALL + 46, marks, "predicted and measured")


def lineage(row: Row, rows: dict[str, Row]) -> list[Row]:
    """A trial behind its parents, the first one first.

    >>> a, b = {"key": "a", "parent": ""}, {"key": "b", "parent": "a"}
    >>> [one["key"] for one in lineage(b, {"a": a, "b": b})]
    ['a', 'b']
    """
    out = [row]
    while (parent := rows.get(out[-1]["parent"])) is not None and parent not in out:
        out.append(parent)
    return out[::-1]


def genealogy(line: Sequence[Row]) -> str:
    """A row each: how fast it was, and the actions that made it."""
    timed = [row["ratio"] for row in line if row["ratio"]]
    across, text = Scale.of([1.0, *timed], LEFT, 330), 430
    said = [textwrap.wrap(row["action"] or "from the beam, or the end of a walk", int((WIDTH - text) / CHARACTER)) for row in line]
    tops = [TOP]
    for lines in said:
        tops.append(tops[-1] + 16 * len(lines) + 14)
    foot, points, marks = tops[-1], list[tuple[float, float]](), list[str]()
    marks += [rule(across(v), TOP - 8, across(v), foot, "grid") for v in across.ticks(56)]
    marks += [words(across(v), foot + 16, f"{v:g}", "middle") for v in across.ticks(56)]
    marks += [rule(across.start, foot, across.end, foot, "axis")]
    marks += [words((LEFT + 330) / 2, foot + 36, "part of the incumbent's time", "middle", "soft")]
    for row, lines, top in zip(line, said, tops, strict=False):
        marks += [words(text, top + 12 + 16 * n, one) for n, one in enumerate(lines)]
        if row["ratio"]:
            points.append((across(row["ratio"]), top + 8))
            marks += [words(text - 16, top + 12, f"{row['ratio']:.3f}", "end"), dot(*points[-1], _kind(row), _told(row), 4.5)]
    return svg(WIDTH, foot + 46, [path(points, "best"), *marks] if points else marks, "where the best one came from")
