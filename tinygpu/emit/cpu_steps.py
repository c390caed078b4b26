"""The steps of one point as Python statements.

Comes in: steps over scalars and small arrays. Goes out: lines of text, and the arrays that they use, made once for a worker.
The one idea: a float maximum over a long loop is taken in 128 parts, since the order does not change it and the compiler may not
part it itself; a loop of anything else is written as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tinygpu.category.term import FLOATS, TRUE, App, Axis, Const, Read, Var, substitute, walk
from tinygpu.emit.cpu_pieces import fold_of, piece_arrays, piece_lines
from tinygpu.schedule.polynomial import coefficient, polynomial
from tinygpu.emit.cpu_text import REGISTER, Writer, flat, mangle
from tinygpu.program.step import Assign, For, If, Local, Shared, Step, steps

UPDATE = {"sum": "add", "prod": "mul", "max": "max", "min": "min", "any": "or", "all": "and"}
PARTS = 128
LAST = 16  # of which so many are left before they are taken one by one
TURNS = 4  # elements that meet before they meet a part
UNIT = {"max": "-np.inf", "min": "np.inf"}


def is_long(axis: Axis) -> bool:
    """A loop that may run long: its extent is no small number."""
    return not (isinstance(axis.extent, Const) and axis.extent.value <= 64)


def extent_text(writer: Writer, axis: Axis) -> str:
    """The extent, never negative."""
    source = writer.index(axis.extent)
    bare = isinstance(axis.extent, Const | Var) or not any(op in source for op in ("-", "min("))
    return source if bare else f"max(0, {source})"


def arrays(body: tuple[Step, ...], writer: Writer) -> list[str]:
    """The small arrays of a point, made once for a worker; every use writes a cell before it reads it."""
    return cell_arrays([s for s in steps(body) if isinstance(s, Local)]) + fold_arrays(body, writer)


def cell_arrays(locals_: Iterable[Local | Shared], times: int = 1) -> list[str]:
    """An array for each local that is none but one number, or for each at all, where there are several of it."""
    lines = []
    for local in locals_:
        size = times
        for extent in local.extents:
            assert isinstance(extent, Const), f"the extent of {local.name} is no number"
            size *= int(extent.value)
        if local.extents or times > 1:
            lines.append(f"{mangle(local.name)} = np.empty({size}, {REGISTER[local.dtype]})")
    return lines


def fold_arrays(body: tuple[Step, ...], writer: Writer) -> list[str]:
    """An array for each maximum that is taken in parts, and for each component of a fold that is taken in pieces."""
    folds = {
        s.target: s
        for loop in steps(body)
        if isinstance(loop, For) and in_parts(loop, writer)
        for s in loop.body
        if isinstance(s, Assign)
    }
    lines = [f"{mangle(name)}_parts = np.empty({PARTS}, {REGISTER[s.value.dtype]})" for name, s in sorted(folds.items())]
    values = (fold_of(loop, writer) for loop in steps(body) if isinstance(loop, For) and is_long(loop.axis))
    return [*lines, *(line for fold in dict.fromkeys(values) if fold for line in piece_arrays(fold, writer))]


def in_parts(loop: For, writer: Writer) -> bool:
    """Whether a loop does nothing but take float maxima or minima of what lies side by side."""
    folds = [s for s in loop.body if isinstance(s, Assign)]
    if not is_long(loop.axis) or len(folds) != len(loop.body) or not folds:
        return False
    for fold in folds:
        if (
            fold.update not in UNIT
            or fold.value.dtype not in FLOATS
            or fold.guard != TRUE
            or fold.index
            or fold.target not in writer.locals
        ):
            return False
        reads = [t for t in walk(fold.value) if isinstance(t, Read)]
        if any(r.tensor in writer.locals and r.index for r in reads) or {r.tensor for r in reads} & {f.target for f in folds}:
            return False
        paces = [coefficient(polynomial(flat(r.index, writer.tensors[r.tensor].shape)), loop.axis.name) for r in reads if r.index]
        if not paces or any(pace not in ({}, {(): 1}) for pace in paces):
            return False
    return True


def parts_lines(loop: For, writer: Writer) -> list[str]:
    """The loop in PARTS parts, TURNS elements of each at a time, then what is left over, then the parts together."""
    name, extent = mangle(loop.axis.name), extent_text(writer, loop.axis)
    start, turns, inside, rest, fewer, end = [], [], [], [], [], []
    for fold in (s for s in loop.body if isinstance(s, Assign)):
        parts, whole, value = f"{mangle(fold.target)}_parts[at(part)]", writer.cell(fold.target, ()), writer.value(fold.value)
        start.append(f"{parts} = {REGISTER[fold.value.dtype]}({UNIT[fold.update]})")
        choose = "larger" if fold.update == "max" else "smaller"
        later = [substitute(fold.value, {loop.axis.name: Var(loop.axis.name) + turn * PARTS}) for turn in range(TURNS)]
        pairs = [writer.call(choose, writer.value(a), writer.value(b)) for a, b in zip(later[::2], later[1::2], strict=True)]
        turns.append(f"{parts} = {writer.call(choose, parts, writer.call(choose, *pairs))}")
        inside.append(f"{parts} = {writer.call(choose, parts, value)}")
        rest.append(f"{whole} = {writer.call(choose, whole, value)}")
        columns = [f"{mangle(fold.target)}_parts[at(part + {place})]" for place in range(0, PARTS, LAST)]
        while len(columns) > 1:
            columns = [writer.call(choose, a, b) for a, b in zip(columns[::2], columns[1::2], strict=True)]
        fewer.append(f"{parts} = {columns[0]}")
        end.append(f"{whole} = {writer.call(choose, whole, parts)}")

    few = loop.axis.extent.args if isinstance(loop.axis.extent, App) and loop.axis.extent.op == "min" else (loop.axis.extent,)
    many = all(end_.value >= PARTS * TURNS for end_ in few if isinstance(end_, Const))

    def blocks(first: str, size: int, body: list[str]) -> list[str]:
        loop_ = [f"for part in range({PARTS}):", *indent([f"{name} = block + part", *body])]
        return [f"for block in range({first}, {extent} - {size - 1}, {size}):", *indent(loop_)]

    return [
        f"for part in range({PARTS}):",
        *indent(start),
        *(blocks("0", PARTS * TURNS, turns) if many else []),
        *blocks(f"{extent} // {PARTS * TURNS} * {PARTS * TURNS}" if many else "0", PARTS, inside),
        f"for {name} in range({extent} // {PARTS} * {PARTS}, {extent}):",
        *indent(rest),
        f"for part in range({LAST}):",
        *indent(fewer),
        f"for part in range({LAST}):",
        *indent(end),
    ]


def step_lines(body: tuple[Step, ...], writer: Writer) -> list[str]:
    """Steps as statements, in order."""
    lines: list[str] = []
    for step in body:
        match step:
            case Assign():
                lines += assign_lines(step, writer)
            case For() if in_parts(step, writer):
                lines += parts_lines(step, writer)
            case For(axis, _) if is_long(axis) and (fold := fold_of(step, writer)):
                lines += piece_lines(step, fold, extent_text(writer, axis), writer, lambda body: step_lines(body, writer))
            case For(axis, inner):
                head = f"for {mangle(axis.name)} in range({writer.index(axis.extent)}):"
                lines += [head, *indent(step_lines(inner, writer) or ["pass"])]
            case If(guard, inner):
                lines += [f"if {writer.guard(guard)}:", *indent(step_lines(inner, writer) or ["pass"])]
    return lines


def assign_lines(step: Assign, writer: Writer) -> list[str]:
    """`target = value`, under its guard."""
    local = step.target in writer.locals
    dtype = writer.locals[step.target].dtype if local else writer.tensors[step.target].dtype
    value = step.value
    if step.update:
        value = App(UPDATE[step.update], (Read(step.target, step.index, dtype), value), dtype)
    if local:
        line = f"{writer.cell(step.target, step.index)} = {writer.value(value)}"
    else:
        line = f"{mangle(step.target)}[{writer.address(step.target, step.index)}] = {writer.stored(value, dtype)}"
    return [line] if step.guard == TRUE else [f"if {writer.guard(step.guard)}:", *indent([line])]


def indent(lines: Sequence[str]) -> list[str]:
    return ["    " + line for line in lines]
