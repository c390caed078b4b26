"""The functions around a work function: the parallel driver of a launch, and the entry that runs the launches of a program.

Comes in: what the launches are. Goes out: lines of Python.
The one idea: blocks share nothing but what they update atomically; there every part of the blocks has a copy of its own, which starts
with the unit, and the copies are combined in order, so the result does not depend on who was first.
"""

from __future__ import annotations

from collections.abc import Mapping

from tinygpu.category.dtype import NUMPY, OF_BITS, PACKED
from tinygpu.category.monoid import as_monoid, neutral
from tinygpu.category.term import Const, Read, text
from tinygpu.emit.cpu_text import Writer, mangle, number
from tinygpu.model.op import Tensor
from tinygpu.program.space import LOCAL
from tinygpu.program.step import Array
from tinygpu.record import dataclass, field

ALONE = 1 << 16  # steps below which waking other threads costs more than they save


@dataclass(frozen=True, slots=True)
class Call:
    """A launch: the name of its functions, texts of its number of items and of steps, what is updated atomically by which monoid, and the loops around
    it, each with the text of its end."""

    name: str
    items: str
    steps: str
    met: tuple[tuple[Tensor, str], ...] = ()
    turns: Mapping[str, str] = field(default_factory=dict)


def arguments(globals_: tuple[Tensor, ...], sizes: tuple[str, ...]) -> str:
    """Parameters and arguments of every function: arrays and scalars, then sizes."""
    return ", ".join([mangle(t.name) for t in globals_] + [mangle(s) for s in sizes])


def driver_lines(call: Call, given: str) -> list[str]:
    """`NAME_parallel(items, parts, …)`."""
    copies = {mangle(t.name): f"{mangle(t.name)}_copies" for t, _ in call.met}
    inside = ", ".join(f"{copies[a]}[part*{a}.size:(part + 1)*{a}.size]" if a in copies else a for a in given.split(", "))
    note = f"; {', '.join(copies)} in a copy for each, combined in order" if copies else ""
    lines = [
        '@njit(parallel=True, error_model="numpy", nogil=True)',
        f"def {call.name}_parallel(items, parts, {given}):",
        f'    """All {call.name}_work, in `parts` equal parts{note}."""',
    ]
    for tensor, update in call.met:
        unit = neutral(update, tensor.dtype)
        assert isinstance(unit, Const), "of one component"
        start = number(unit)
        start = f"f32_to_{tensor.dtype}({start})" if tensor.dtype in PACKED else start
        lines.append(f"    {copies[mangle(tensor.name)]} = np.full(parts * {mangle(tensor.name)}.size, {start})")
    lines += [
        "    for part in prange(parts):",
        f"        {call.name}_work(items * part // parts, items * (part + 1) // parts, {inside})",
    ]
    for tensor, update in call.met:
        name, copy = mangle(tensor.name), f"{copies[mangle(tensor.name)]}[at(cell)]"
        place = f"{name}[at(cell % {name}.size)]"
        lines += [
            f"    for cell in range(parts * {name}.size):",
            f"        {place} = {_combined(tensor.dtype, update, place, copy)}",
        ]
    return lines


def _combined(dtype: str, update: str, *places: str) -> str:
    """The text of `a ⊕ b` for two elements in memory, as it lies there."""
    cells = [f"{dtype}_to_f32({place})" if dtype in PACKED else place for place in places]
    writer = Writer({}, {cell: Array(cell, dtype, (), LOCAL) for cell in cells})
    return writer.stored(as_monoid(update).combine(*(Read(cell, (), dtype) for cell in cells)), dtype)


def entry_lines(name: str, globals_: tuple[Tensor, ...], sizes: tuple[str, ...], calls: list[Call]) -> list[str]:
    """`NAME_cpu`: flat views of the arrays, then the launches in order."""
    given = arguments(globals_, sizes)
    lines = [f"def {name}({given}):"]
    shapes = ", ".join(f"{t.name}: {t.dtype}[{', '.join(map(text, t.shape))}]{' strided' * t.strided}" for t in globals_)
    others = ", but for those that are strided" if any(t.strided for t in globals_) else ""
    ends = "writes the outputs" + (" and the workspaces" if any(t.role == "workspace" for t in globals_) else "")
    lines.append(f'    """{shapes}; C-contiguous arrays{others}, 16-bit floats in any 16-bit dtype; {ends}."""')
    lines += [f"    {mangle(t.name)} = {_argument(t)}" for t in globals_ if not t.strided or t.dtype in PACKED]
    around: tuple[str, ...] = ()
    for call in calls:
        same = next(
            (n for n, (a, b) in enumerate(zip(around, call.turns, strict=False)) if a != b), min(len(around), len(call.turns))
        )
        for depth, (turn, end) in enumerate(call.turns.items()):
            lines += [f"    {'    ' * depth}for {mangle(turn)} in range({end}):"] if depth >= same else []
        around = (*call.turns,)
        inner = "    " * (1 + len(around))
        lines += [inner + line for line in _call(call, ", ".join([given, *map(mangle, around)]))]
    return lines


def _call(call: Call, given: str) -> list[str]:
    """A launch: by one thread where there is little to do, else by all."""
    few = f"{call.steps} < {ALONE}"
    if call.met:
        cells = " + ".join(f"{mangle(t.name)}.size" for t, _ in call.met)
        few = f"{few} or ({cells}) * get_num_threads() > {call.steps}"
    return [
        f"items = {call.items}",
        f"if {few}:",
        f"    {call.name}_work(0, items, {given})",
        "else:",
        f"    {call.name}_parallel(items, min(items, get_num_threads()), {given})",
    ]


def _argument(tensor: Tensor) -> str:
    name = mangle(tensor.name)
    if tensor.role == "input" and not tensor.shape:
        if tensor.dtype in PACKED:
            return f"round_{tensor.dtype}(narrow_to_odd(np.float64({name})))"
        return f"{NUMPY[tensor.dtype]}({name})"
    return f"{name}{'' if tensor.strided else '.reshape(-1)'}{f'.view({OF_BITS[tensor.dtype]})' if tensor.dtype in PACKED else ''}"
