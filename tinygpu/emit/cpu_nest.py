"""A nest of independent points as Python text: which axis runs innermost, what one item of parallel work is, and the loops.

Comes in: a `Nest` of `cpu_merge`. Goes out: the lines of a work function, and the text of how many items there are.
The one idea: the innermost axis is the one along which memory is contiguous, cut into chunks; all others are digits of the item.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tinygpu.category.term import App, Axis, Const, Read, Term, conjunction, variables, walk
from tinygpu.schedule.border import interior
from tinygpu.schedule.lift import sites
from tinygpu.schedule.merge import Nest
from tinygpu.schedule.polynomial import coefficient, plus, polynomial, positive, term, without
from tinygpu.emit.cpu_steps import arrays, extent_text, fold_arrays, indent, is_long, step_lines
from tinygpu.emit.cpu_strip import STRIP, kept, strip_arrays, strip_lines, strips
from tinygpu.emit.cpu_text import Writer, flat, mangle
from tinygpu.model.op import Tensor
from tinygpu.program.step import For, Local, Step, steps
from tinygpu.record import replace

CHUNK = 8192
HEAVY_CHUNK = 4
FEW = 8


def heavy(nest: Nest) -> bool:
    """Whether one point runs a long loop."""
    return any(isinstance(s, For) and is_long(s.axis) for s in steps(nest.body))


def innermost(nest: Nest, writer: Writer) -> Axis | None:
    """The axis along which most accesses are contiguous; the last one if they tie; None for a single point."""
    if not nest.axes:
        return None
    return max(reversed(nest.axes), key=lambda axis: contiguity(nest, axis.name, writer.tensors))


def inside(nest: Nest, tensors: Mapping[str, Tensor]) -> Nest:
    """Axes of a few neighbours, such as the two of a pair, as loops in the point: an axis of two cannot be the innermost one."""
    few = [
        a
        for a in nest.axes
        if isinstance(a.extent, Const)
        and 1 < a.extent.value <= FEW
        and contiguity(nest, a.name, tensors) > 0
        and len(nest.axes) > 1
    ]
    if nest.guards or any(isinstance(s, Local | For) for s in nest.body):
        return nest
    body = nest.body
    for axis in reversed(few):
        body = (For(replace(axis, sort="register"), body),)
    return replace(
        nest, axes=tuple(a for a in nest.axes if a not in few) if len(few) < len(nest.axes) else nest.axes[:0], body=body
    )


def contiguity(nest: Nest, name: str, tensors: Mapping[str, Tensor]) -> int:
    """Contiguous accesses count for an axis, strided ones against it, stores double."""
    score = 0
    for site in sites(nest.body):
        accesses = [(site.step.target, site.step.index, 2)] if site.step.target in tensors else []
        accesses += [(r.tensor, r.index, 1) for t in site.terms for r in walk(t) if isinstance(r, Read) and r.tensor in tensors]
        for tensor, index, weight in accesses:
            step = coefficient(polynomial(flat(index, tensors[tensor].shape)), name)
            score += weight * (0 if step == {} else 2 if step == {(): 1} else 1 if step == {(): -1} else -1)
    return score


def item_count(nest: Nest, lane: Axis | None, writer: Writer) -> str:
    """How many items of work there are, over the sizes."""
    parts = [extent_text(writer, a) for a in nest.axes if a != lane]
    if lane:
        parts.append(f"({extent_text(writer, lane)} + {chunk(nest, lane, writer) - 1}) // {chunk(nest, lane, writer)}")
    return " * ".join(f"({p})" if "+" in p and len(parts) > 1 and not p.startswith("max(") else p for p in parts) or "1"


def step_count(nest: Nest, writer: Writer) -> str:
    """About how many steps all points take together: their number, times the extents of the deepest long loops."""
    deepest = max(([loop.axis for loop in site.loops if is_long(loop.axis)] for site in sites(nest.body)), key=len, default=[])
    return (
        " * ".join([f"({t})" if " " in t else t for t in (extent_text(writer, a) for a in nest.axes)] + lengths(deepest, writer))
        or "1"
    )


def lengths(loops: Sequence[Axis], writer: Writer) -> list[str]:
    """Texts of how long loops run at most, over the sizes; nothing for a loop whose end is known only inside."""
    out = []
    for axis in loops:
        ends = axis.extent.args if isinstance(axis.extent, App) and axis.extent.op == "min" else (axis.extent,)
        known = [end for end in ends if variables(end) <= writer.sizes]
        out += [f"({t})" if " " in t else t for t in (extent_text(writer, replace(axis, extent=end)) for end in known[:1])]
    return out


def chunk(nest: Nest, lane: Axis, writer: Writer) -> int:
    """How many lanes are one item: enough to be worth its decoding, few enough to share out."""
    if not heavy(nest):
        return CHUNK
    return STRIP if strips(nest.body, lane, writer) else HEAVY_CHUNK


def nest_lines(nest: Nest, writer: Writer) -> list[str]:
    """The body of `work(first, last, …)`: items decoded, the lane loop, the steps of a point."""
    lane = innermost(nest, writer)
    outer = [a for a in nest.axes if a != lane]
    if lane is None:
        inside = decode(outer, lane, nest, writer) + point(nest.body, list(nest.guards), writer)
        return [*arrays(nest.body, writer), "for item in range(first, last):", *indent(inside)]
    in_strips = strips(nest.body, lane, writer)
    lines = strip_arrays(nest.body, writer) if in_strips else arrays(nest.body, writer)
    if not in_strips and (found := interior(nest, lane)):  # without the tests there, a loop may be a fold in parts
        lines = list(dict.fromkeys([*lines, *fold_arrays(found.body, writer)]))
    return [
        *lines,
        "for item in range(first, last):",
        *indent(decode(outer, lane, nest, writer) + lane_lines(nest, lane, in_strips, writer)),
    ]


def lane_lines(nest: Nest, lane: Axis, in_strips: bool, writer: Writer) -> list[str]:
    """The loop over the lanes of one item, in three where the borders need tests that the interior does not."""
    guards, lower, upper = lane_bounds(nest, lane)
    early = [g for g in guards if lane.name not in variables(g)]
    late = [g for g in guards if lane.name in variables(g)]
    low = among("max", ["start", *map(writer.index, lower)])
    high = f"min({', '.join([f'start + {chunk(nest, lane, writer)}', extent_text(writer, lane), *map(writer.index, upper)])})"

    def loop(body: tuple[Step, ...], start: str, stop: str) -> list[str]:
        if in_strips:
            return strip_lines(body, lane, late, start, stop, kept(nest.body), writer)
        return [f"for {mangle(lane.name)} in range({start}, {stop}):", *indent(point(body, late, writer))]

    found = interior(nest, lane)
    if found is None:
        lines = ([f"high = {high}"] if in_strips else []) + loop(nest.body, low, "high" if in_strips else high)
    else:
        lines = [
            f"low, high = {low}, {high}",
            f"inner_low = min({among('max', ['low', *map(writer.index, found.lows)])}, high)",
            f"inner_high = max({among('min', ['high', *map(writer.index, found.highs)])}, inner_low)",
        ]
        if found.outer:
            lines += [f"if not {writer.guard(conjunction(*found.outer), 4)}:", "    inner_low, inner_high = low, low"]
        lines += ["for side in range(2):", "    from_, to = (low, inner_low) if side == 0 else (inner_high, high)"]
        lines += indent(loop(nest.body, "from_", "to")) + loop(found.body, "inner_low", "inner_high")
    return [f"if {writer.guard(conjunction(*early))}:", *indent(lines)] if early else lines


def among(function: str, parts: list[str]) -> str:
    """`max(a, b)`; a single one needs no function."""
    return f"{function}({', '.join(parts)})" if len(parts) > 1 else parts[0]


def decode(outer: Sequence[Axis], lane: Axis | None, nest: Nest, writer: Writer) -> list[str]:
    """`item` as the digits of the outer axes, slowest first, and the start of the lane's chunk."""
    digits = [(mangle(a.name), extent_text(writer, a), 1) for a in outer]
    if lane:
        size = chunk(nest, lane, writer)
        digits.append(("start", f"({extent_text(writer, lane)} + {size - 1}) // {size}", size))
    return digit_lines(digits, writer)


def digit_lines(digits: Sequence[tuple[str, str, int]], writer: Writer) -> list[str]:
    """`item` as digits, slowest first, each with its name, the text of its extent, and what it is multiplied by."""
    lines = []
    rest = "item"
    for position in reversed(range(len(digits))):
        name, extent, scale = digits[position]
        digit = writer.call("remainder", rest, extent) if position else rest
        lines.append(f"{name} = {digit}" + (f" * {scale}" if scale > 1 else ""))
        if position > 1:
            lines.append(f"rest = {writer.call('quotient', rest, extent)}")
            rest = "rest"
        elif position:
            rest = writer.call("quotient", rest, extent)
    return lines


def lane_bounds(nest: Nest, lane: Axis) -> tuple[list[Term], list[Term], list[Term]]:
    """The nest's guards that stay, and the bounds `low <= lane`, `lane < high` that the others give."""
    stay, lower, upper = [], [], []
    for guard in nest.guards:
        p = positive(guard)
        scale = coefficient(p, lane.name) if p is not None else None
        if p is not None and scale == {(): -1}:
            upper.append(term(without(p, lane.name)))
        elif p is not None and scale == {(): 1}:
            lower.append(term(plus({(): 1}, without(p, lane.name), -1)))
        else:
            stay.append(guard)
    return stay, lower, upper


def point(body: tuple[Step, ...], guards: list[Term], writer: Writer) -> list[str]:
    """One point: its steps, under the guards that are left."""
    lines = step_lines(body, writer) or ["pass"]
    return [f"if {writer.guard(conjunction(*guards))}:", *indent(lines)] if guards else lines
