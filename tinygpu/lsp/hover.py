"""What is said of a name under the pointer, and of a message that stands there.

Comes in: what is known of a text, an offset. Goes out: Markdown. The one idea: a name is said by what the model has of it: a tensor by its type, an index by its extent, a factor by who carries it, an index
of a machine by its owner map, an op by its equations; a code by its page.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from tinygpu.category.term import Fold, text, walk
from tinygpu.commands.explain import pages
from tinygpu.diagnostic import Diagnostic
from tinygpu.lsp.names import Named
from tinygpu.lsp.read import Document
from tinygpu.lsp.state import State
from tinygpu.model.machine import Machine
from tinygpu.model.op import Op
from tinygpu.syntax import tree
from tinygpu.syntax.format import format_file

SORTS = {
    "grid": "a factor of the grid: its blocks carry it",
    "block": "a factor of the block: its threads carry it",
    "time": "the thread's own, one turn after the other",
    "register": "the thread's own, unrolled, in registers",
    "vector": "the thread's own, moved at once where memory allows",
}
LONGEST = 40  # lines of a declaration that is shown whole


def hover(state: State, offset: int, found: list[Diagnostic]) -> tuple[str, Named | None]:
    """Markdown, and the name that it is of; nothing where there is nothing to say."""
    document = state.document
    one = document.names.at(offset)
    parts = list(said_of(state, one, offset)) if one is not None else []
    parts += [page for code in dict.fromkeys(d.code for d in found) if (page := page_of(code))]
    return "\n\n---\n\n".join(parts), one


@cache
def page_of(code: str) -> str:
    """The page of an error."""
    return pages().get(code, "").strip()


def code_block(source: str) -> str:
    """A text of the language, in Markdown."""
    return f"```tgpu\n{source.rstrip()}\n```"


def said_of(state: State, one: Named, offset: int) -> Iterator[str]:
    """What there is to say of a name, from what is declared to what follows from it."""
    document, name = state.document, one.key[1]
    declared = document.names.declared.get(name)
    if one.key[0] < 0:
        if declared is not None:
            lines = format_file(tree.File((declared,))).splitlines()
            yield code_block("\n".join([*lines[:LONGEST], *["…"] * (len(lines) > LONGEST)]))
        yield from (f"**{shown.line}**  \n`{shown.heading}`" for shown in state.verdicts.values() if shown.name == name)
        return
    rows = list(in_the_op(document, one)) + list(in_the_machine(document, one, offset))
    yield code_block(rows[0]) if rows else f"`{name}`: {one.kind}"
    yield from rows[1:]


def ops_of(document: Document, one: Named) -> Iterator[Op]:
    """The ops that have a name, of a family the first."""
    home = document.names.declarations[one.key[0]]
    seen: set[str] = set()
    for op in document.loaded.spec.ops:
        if op.family == getattr(home, "name", "") and op.family not in seen:
            seen.add(op.family)
            yield op


def in_the_op(document: Document, one: Named) -> Iterator[str]:
    """A tensor, a size or an index of an op."""
    name = one.key[1]
    for op in ops_of(document, one):
        for tensor in (*op.inputs, *op.outputs, *op.intermediates):
            if tensor.name == name:
                shape = ", ".join(map(text, tensor.shape))
                yield f"{name}: {tensor.dtype}[{shape}]  # {tensor.role} of {op.name}"
                line = next((e for e in op.equations if e.target == name), None)
                if line is not None:
                    yield code_block(f"{name}[{', '.join(a.name for a in line.axes)}] = {text(line.value)}")
                return
        axes = [
            (a, e.target)
            for e in op.equations
            for a in (*e.axes, *(x for t in walk(e.value) if isinstance(t, Fold) for x in t.axes))
        ]
        mine = [(axis, target) for axis, target in axes if axis.name == name]
        if mine:
            extents = dict.fromkeys(text(axis.extent) for axis, _ in mine)
            yield f"{name} < {' or '.join(extents)}  # an index of {', '.join(dict.fromkeys(target for _, target in mine))}"
        elif name in op.sizes:
            where = [text(w) for w in op.where if name in text(w).split()]
            yield f"{name}  # a size of {op.name}{', with ' if where else ''}{' and '.join(where)}"


def in_the_machine(document: Document, one: Named, offset: int) -> Iterator[str]:
    """A factor of the machine around, or the owner map of an index there."""
    around, name = document.names.around(offset), one.key[1]
    machines = document.loaded.machines
    machine = next((m for m in machines if isinstance(around, tree.Machine) and m.name == around.name), None)
    if machine is None:
        return
    for axis in axes_of(machine):
        if axis[0] == name:
            yield f"{name} < {axis[1]}  # {SORTS.get(axis[2], axis[2])}"
    maps = dict.fromkeys(owners(machine, name))
    if maps:
        yield code_block("\n".join(maps))


def axes_of(machine: Machine) -> list[tuple[str, str, str]]:
    """The factors of a machine: name, extent, sort; each once."""
    found = [
        a
        for launch in machine.launches
        for a in (*launch.grid, *launch.block, *(x for p in launch.phases for x in p.owner.domain.axes))
    ]
    return list(dict.fromkeys((a.name, text(a.extent), a.sort) for a in found))


def owners(machine: Machine, index: str) -> Iterator[str]:
    """The owner maps of an index."""
    for launch in machine.launches:
        for phase in launch.phases:
            if index in phase.owner.by_axis:
                guard = " and ".join(text(g) for g in phase.owner.domain.guard)
                yield f"{phase.equation.target}: {index} = {text(phase.owner.by_axis[index])}{' where ' * bool(guard)}{guard}"
