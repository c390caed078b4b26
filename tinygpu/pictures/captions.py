"""What is said above a picture of an array: the terms of the program, what the words in the cells mean, how many touch an element, what is left out.

Comes in: the owners of an array, and the part that is shown. Goes out: lines. The one idea: names are the user's and terms are the program's, so a reader finds in the text what the picture shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tinygpu.category.term import Read, Var, tensors, text, walk
from tinygpu.hardware.arch import CPU
from tinygpu.model.op import Op
from tinygpu.pictures.owners import NONE, Owners, registers, turns
from tinygpu.pictures.paper import Numbers
from tinygpu.pictures.window import FOLD, Window
from tinygpu.program.call import TENSOR
from tinygpu.program.step import Assign, Program

LONG = 12  # characters of a length that is no name


def head(program: Program, sizes: Mapping[str, int], one: Owners, shown: Window, names: Sequence[str]) -> Iterator[str]:
    """The title, the terms, what the words in the cells mean, and what is left out."""
    at = ", ".join(f"{k} = {v}" for k, v in sizes.items())
    yield f"{one.array.name}[{', '.join(names)}]: who {'stores' if one.stores else 'reads'} it" + (f", at {at}" if at else "")
    used = sorted({*one.place[one.place != NONE].tolist()})
    for place in used[:3]:
        access = one.accesses[place]
        where = f"in launch {access.where.launch + 1}: " if len(program.launches) > 1 else ""
        said = f"{where}{one.array.name}[{', '.join(map(text, access.index))}]"
        yield said if len(said) < 150 else f"{said[:146]} …"
    if used:
        yield meaning(program, one, used[0], only_turn(one, shown))
        if any(isinstance(s, Assign) and s.pending == TENSOR and one.array.name in tensors(s.value) for s in program.steps):
            yield "a unit copies it in boxes, for which one thread asks; who is named is who does it in the text of the program"
        yield counts(program, one)
    yield from leavings(one, shown, names)


def only_turn(one: Owners, shown: Window) -> int | None:
    """The turn of all that is shown, where it is one: then no cell says it."""
    found = {*shown.of(one.time)[shown.of(one.place) != NONE].tolist()}
    return found.pop() if len(found) == 1 else None


def meaning(program: Program, one: Owners, place: int, turn: int | None) -> str:
    """What the words in a cell stand for, in the user's names."""
    access = one.accesses[place]
    launch, parts = program.launches[access.where.launch], list[str]()
    if launch.block:
        parts.append(f"t: thread of a block, ({', '.join(a.name for a in launch.block)}) in rows")
    elif launch.grid:
        parts.append(f"{block_word(program)[0]}: {block_word(program)}, ({', '.join(a.name for a in launch.grid)}) in rows")
    if own := registers(access.where.axes):
        parts.append(f"r: what a thread has, ({', '.join(a.name for a in own)})")
    if loops := turns(access.where.axes):
        names = f"({', '.join(a.name for a in loops)})"
        parts.append(f"{turn_letter(one, place)}: turn of {names}" if turn is None else f"all in turn {turn} of {names}")
    return "; ".join(parts)


def counts(program: Program, one: Owners) -> str:
    """How many touch an element."""
    there = one.place != NONE
    what, who = "stored" if one.stores else "read", block_word(program)
    if (one.threads[there] == 1).all():
        return f"each element is {what} by one {'thread' if by_threads(program) else who}"
    blocks = spanned(one.blocks[there])
    several = f"{blocks} {who}{'' if blocks == '1' else 's'}"
    many = f"{spanned(one.threads[there])} threads, of {several}" if by_threads(program) else several
    return f"each element is {what} by {many}; the first one is named"


def spanned(many: Numbers) -> str:
    """The least and the most of some numbers."""
    low, high = int(many.min()), int(many.max())
    return str(low) if low == high else f"{low} to {high}"


def by_threads(program: Program) -> bool:
    """Whether blocks have threads."""
    return any(launch.block for launch in program.launches)


def leavings(one: Owners, shown: Window, names: Sequence[str]) -> Iterator[str]:
    """What is not drawn."""
    if (one.place != NONE).any():
        yield from cropped(one, shown)
    if others := [_fixed(one, names, at, f) for at, f in enumerate(shown.fixed) if at not in (shown.rows, shown.columns)]:
        yield f"drawn: the plane of {', '.join(others)}"
    if not one.exact:
        yield "whether it is done is said by data: where it may be, it is drawn"
    if one.left:
        yield f"not drawn: {one.array.name}[{', '.join(text(i) for i in one.left[0].index)}]"[:150] + ", whose place is data"
    if not one.stores and not one.left and (one.place == NONE).any():
        yield "grey: nobody reads it"


def _fixed(one: Owners, names: Sequence[str], at: int, place: int) -> str:
    """Where along an axis a plane is."""
    return f"{place} along {names[at]}" if names[at] == text(one.array.extents[at]) else f"{names[at]} = {place}"


def cropped(one: Owners, shown: Window) -> Iterator[str]:
    """How much of an array is drawn, where that is not all of it."""
    (rows, columns), (all_rows, all_columns) = (h - l for l, h in zip(shown.low, shown.high, strict=True)), shown.whole
    if len(one.shape) == 1:
        if rows < all_rows:
            yield f"drawn: the first {rows * FOLD} of {one.shape[0]} elements, {FOLD} a row"
        elif all_rows > 1:
            yield f"drawn: {FOLD} elements a row"
    elif (rows, columns) != (all_rows, all_columns):
        yield f"drawn: {rows} of {all_rows} rows, {columns} of {all_columns} columns"


def axes_of(op: Op, name: str, rank: int) -> tuple[str, ...]:
    """The names of an array's axes, as its equation has them, or as the first read of it does where it reads each axis plainly; else their lengths, as they are declared."""
    for equation in op.equations:
        if equation.target == name:
            return tuple(a.name for a in equation.axes)
    for equation in op.equations:
        for term in walk(equation.value):
            if isinstance(term, Read) and term.tensor == name and all(isinstance(i, Var) for i in term.index):
                return tuple(i.name for i in term.index if isinstance(i, Var))
    declared = next((t for t in op.tensors if t.name == name), None)
    shape = map(text, declared.shape) if declared else [""] * rank
    return tuple(extent if 0 < len(extent) < LONG else f"axis {n}" for n, extent in enumerate(shape))


def block_word(program: Program) -> str:
    """What works by itself."""
    return "core" if program.arch == CPU else "block"


def turn_letter(one: Owners, place: int) -> str:
    """What turns are called in a cell: the loop's own name, where it is short, alone, and nothing else's."""
    loops = turns(one.accesses[place].where.axes)
    own = len(loops) == 1 and len(loops[0].name) <= 2 and loops[0].name not in ("t", "r", "b", "c")
    return loops[0].name if own else "k"
