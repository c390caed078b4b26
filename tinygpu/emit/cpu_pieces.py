"""A fold of a monoid with components, taken in pieces side by side, so that it is no chain and the compiler makes vectors of it.

Comes in: a long loop that only updates the components of one value. Goes out: the lines that fold PIECES elements at a time, each into a
value of its own, and then the values into one. The one idea: that its monoid is associative and commutative is proved, so a loop
may fold every PIECES-th element first, from the unit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tinygpu.category.monoid import MONOIDS, Definition
from tinygpu.category.term import TRUE, Read, Term, Var, pack, reads, rebuild
from tinygpu.schedule.polynomial import coefficient, polynomial
from tinygpu.emit.cpu_text import REGISTER, Carried, Writer, constant, flat, mangle
from tinygpu.program.step import Assign, For, Launch, Local, Program, steps
from tinygpu.program.unpack import components_of
from tinygpu.record import replace

PIECES = 64
LAST = 16  # so many pieces are left before they are taken one by one
WORTH = 4 * PIECES  # a shorter loop is done before the pieces are put together


def carried(program: Program) -> tuple[Carried, ...]:
    """The values that are folded, from the program before its components were taken apart; those that are also replaced by something
    made of themselves are none."""
    names, _ = components_of(program)
    everything = [s for launch in program.launches for s in steps(launch.body)]
    own = {s.name: s.dtype for s in everything if isinstance(s, Local)}
    inward = {
        s.target
        for s in everything
        if isinstance(s, Assign) and (s.update or None) != own.get(s.target) and s.target in {r.tensor for r in reads(s.value)}
    } | {s.target for s in everything if isinstance(s, Assign) and s.update and s.target in {r.tensor for r in reads(s.value)}}
    return tuple(
        Carried(own[name], cells)
        for name, cells in names.items()
        if name in own and name not in inward and own[name] in MONOIDS and MONOIDS[own[name]].commutative
    )


def temporaries(before: Program, after: Launch) -> frozenset[str]:
    """The cells that unpacking made to hold a value within one assignment: each is written before it is read."""
    old = {s.name for launch in before.launches for s in steps(launch.body) if isinstance(s, Local)}
    old |= {cell for cells in components_of(before)[0].values() for cell in cells}
    return frozenset(s.name for s in steps(after.body) if isinstance(s, Local)) - old


def fold_of(loop: For, writer: Writer) -> Carried | None:
    """The value that a loop folds, if it does nothing else, at every point, with elements that lie side by side."""
    body = [s for s in loop.body if isinstance(s, Assign) and s.guard == TRUE and not s.index and not s.update]
    if not body or len(body) != len(loop.body):
        return None
    targets = {s.target for s in body}
    found = next((c for c in writer.carried if targets & set(c.cells)), None)
    if found is None or not targets <= writer.temporaries | set(found.cells) or targets & writer.strip:
        return None
    if {mangle(_pieces(c)) for c in found.cells} & {mangle(n) for n in (*writer.tensors, *writer.locals, *writer.sizes)}:
        return None
    read = {r for s in body for r in reads(s.value)}
    if not {r.tensor for r in read} >= set(found.cells) or any(r.tensor in writer.locals and r.index for r in read):
        return None
    paces = [
        coefficient(polynomial(flat(r.index, writer.tensors[r.tensor].shape)), loop.axis.name)
        for r in read
        if r.index and r.tensor in writer.tensors
    ]
    return found if {(): 1} in paces and all(pace in ({}, {(): 1}) for pace in paces) else None


def piece_arrays(fold: Carried, writer: Writer) -> list[str]:
    """An array over the pieces for each component."""
    return [f"{mangle(_pieces(cell))} = np.empty({PIECES}, {REGISTER[writer.locals[cell].dtype]})" for cell in fold.cells]


def _pieces(cell: str) -> str:
    return f"@{mangle(cell)}_parts"


def _indent(lines: Sequence[str]) -> list[str]:
    return ["    " + line for line in lines]


def piece_lines(
    loop: For, fold: Carried, extent: str, writer: Writer, lines: Callable[[tuple[Assign, ...]], list[str]]
) -> list[str]:
    """The pieces, then what is left over: `lines` are those of steps."""
    definition = MONOIDS[fold.monoid].definition
    assert definition is not None
    for cell in fold.cells:
        writer.locals[_pieces(cell)] = Local(_pieces(cell), writer.locals[cell].dtype, (Var("@pieces"),))
    body = tuple(s for s in loop.body if isinstance(s, Assign))
    name, part = mangle(loop.axis.name), Var("@part")
    start = [
        f"{writer.cell(_pieces(cell), (part,))} = {constant(unit)}" for cell, unit in zip(fold.cells, definition.unit, strict=True)
    ]
    inside = lines(tuple(_at(step, fold, part) for step in body))
    together, half = [], PIECES // 2
    while half >= LAST:
        line = _combined(definition, fold, part, part + half, writer)
        together += [f"for part in range({half}):", *_indent([line])]
        half //= 2
    together += [f"for part in range({LAST}):", *_indent([_combined(definition, fold, None, part, writer)])]
    pieces = [
        f"for part in range({PIECES}):",
        *_indent(start),
        f"done = {extent} // {PIECES} * {PIECES}",
        f"for block in range(0, done, {PIECES}):",
        f"    for part in range({PIECES}):",
        *_indent(_indent([f"{name} = block + part", *inside])),
        *together,
    ]
    for cell in fold.cells:
        del writer.locals[_pieces(cell)]
    return [
        "done = 0",
        f"if {extent} >= {WORTH}:",
        *_indent(pieces),
        f"for {name} in range(done, {extent}):",
        *_indent(lines(body)),
    ]


def _at(step: Assign, fold: Carried, part: Term) -> Assign:
    """The step, on the piece at hand."""

    def change(t: Term) -> Term:
        t = rebuild(t, change)
        return Read(_pieces(t.tensor), (part,), t.dtype) if isinstance(t, Read) and t.tensor in fold.cells else t

    if step.target in fold.cells:
        step = replace(step, target=_pieces(step.target), index=(part,))
    return replace(step, value=change(step.value))


def _combined(definition: Definition, fold: Carried, into: Term | None, other: Term, writer: Writer) -> str:
    """`pieces[into] ⊕= pieces[other]`, or the cells themselves for None: all components at once."""

    def value(place: Term | None) -> tuple[Read, ...]:
        return tuple(
            Read(cell if place is None else _pieces(cell), () if place is None else (place,), writer.locals[cell].dtype)
            for cell in fold.cells
        )

    left, right = value(into), value(other)
    made = definition.combined(pack(left, fold.monoid), pack(right, fold.monoid))
    targets = ", ".join(writer.cell(r.tensor, r.index) for r in left)
    return f"{targets} = {', '.join(writer.value(t) for t in made)}"
