"""What a module calls things: a name for every launcher, and short names for the choices that users do not want to make.

Comes in: machines, choices and pipelines of them. Goes out: `matmul_tile` for a machine, `relu_v4_f16` for one of several dtypes, and `relu`, which takes the first
machine for the dtype of its argument. The one idea: a variant's name says only what tells it from its sisters.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tinygpu.category.text import unused
from tinygpu.emit.launcher import quoted
from tinygpu.emit.python import Lines, block, docstring, identifier
from tinygpu.model.choice import Choice
from tinygpu.model.machine import Machine
from tinygpu.model.pipeline import Pipeline
from tinygpu.program.step import Program
from tinygpu.record import dataclass
from tinygpu.schedule.contract import argument_names, arguments, signature

PARTS = (
    "",
    "_cpu",
    "_kernel",
    "_work",
    "_items",
    "_parallel",
    "_spec",
    "_launch",
)  # what stands beside a launcher is called after it


@dataclass(frozen=True, slots=True)
class Group:
    """The variants of one machine, or of one choice, for one op: launchers by name, in order."""

    name: str
    op: str
    members: tuple[tuple[str, Machine | Choice | Pipeline], ...]


def groups(machines: Sequence[Machine | Choice | Pipeline], taken: Collection[str]) -> tuple[Group, ...]:
    """`machines → groups`, in order of first mention; no name is one of `taken`."""
    served: dict[str, set[str]] = {}
    sorted_out: dict[tuple[str, str], list[Machine | Choice | Pipeline]] = {}
    for machine in machines:
        served.setdefault(machine.name, set()).add(machine.op.family)
        sorted_out.setdefault((machine.name, machine.op.family), []).append(machine)
    arguments = {name for m in machines for name in (*m.op.sizes, *(t.name for t in m.op.tensors))}
    used = set(taken) | {a for a in arguments if a.endswith(PARTS[1:])}  # an argument that would hide the kernel it is given to
    found: list[Group] = []
    for (name, op), members in sorted_out.items():
        group = beside(identifier(name if len(served[name]) == 1 else f"{name}_{op}"), used)
        used |= parts(group)
        names: list[tuple[str, Machine | Choice | Pipeline]] = []
        for machine in members:
            own = group if len(members) == 1 else beside(identifier("_".join([group, *_choices(machine, members)])), used)
            used |= parts(own)
            names.append((own, machine))
        found.append(Group(group, op, tuple(names)))
    return tuple(found)


def parts(name: str) -> set[str]:
    """A launcher's name, and those of its kernels."""
    return {name + part for part in PARTS}


def beside(name: str, used: set[str]) -> str:
    """The name, with a number where it or a name of its kernels is used already.

    >>> beside("at", {"at"}), beside("at_2", {"at"}), beside("m", {"m_cpu"})
    ('at_2', 'at_2', 'm_2')
    """
    return unused(name, {one.removesuffix(part) for one in used for part in PARTS if one.endswith(part)}, "_")


def _choices(machine: Machine | Choice | Pipeline, sisters: Sequence[Machine | Choice | Pipeline]) -> list[str]:
    """What tells a variant from the others: `f16` for a dtype, `BM64` for a param."""
    words = []
    for key, value in machine.variant:
        if key != "op" and len({dict(s.variant).get(key) for s in sisters}) > 1:
            words.append(f"{key}{value}" if value.isdigit() else value)
    return words


def aliases(found: Sequence[Group], programs: dict[str, Program], kept: frozenset[str]) -> list[tuple[str, Lines]]:
    """Short names and their text: a group's name for its variants, then an op's name for its first choice, or else its first group, where they are free.
    Names that are `kept` are the module's own."""
    out: list[tuple[str, Lines]] = []
    taken = set(kept).union(*(parts(name) for group in found for name, _ in group.members))
    first: dict[str, Group] = {}
    for group in sorted(found, key=lambda one: not isinstance(one.members[0][1], Choice | Pipeline)):
        first.setdefault(group.op, group)
    for group in found:
        if len(group.members) > 1:
            chosen = choice(group, group.name, programs)
            if chosen:
                out.append((group.name, chosen))
                taken.add(group.name)
    for op, group in first.items():
        name = identifier(op)
        if name in taken:
            continue
        target = group.members[0][0] if len(group.members) == 1 else group.name
        if target in taken:
            out.append((name, [f"{name} = {target}"]))
            taken.add(name)
    return out


def choice(group: Group, name: str, programs: dict[str, Program]) -> Lines:
    """A function that calls the variant for the dtype of the first input in which they differ; nothing where inputs do not tell."""
    members: dict[tuple[str, ...], str] = {}
    made: set[tuple[str, ...]] = set()
    for launcher, machine in group.members:
        members.setdefault(tuple(t.dtype for t in machine.op.inputs), launcher)  # of several params the first
        made.add(tuple(t.dtype for t in (*machine.op.inputs, *machine.op.outputs)))
    if len(made) > len(members):  # the same inputs may be wanted in several dtypes
        return []
    positions = [n for n, dtypes in enumerate(zip(*members, strict=False)) if len(set(dtypes)) == len(members) > 1]
    arrays = [n for n in positions if group.members[0][1].op.inputs[n].shape]
    if not arrays:
        return [f"{name} = {group.members[0][0]}"] if len(members) == 1 else []
    program = programs[group.members[0][0]]
    names, first = argument_names(program), program.op.inputs[arrays[0]]
    table = ", ".join(f"{quoted(dtypes[arrays[0]])}: {launcher}" for dtypes, launcher in members.items())
    by_place = len(program.op.inputs)
    given = [name if place < by_place else f"{name}={name}" for place, name in enumerate(arguments(program))]
    picked = f"runtime.by_dtype({quoted(name)}, {quoted(first.name)}, {names[first.name]}, {{{table}}})"
    dtypes = ", ".join(d[arrays[0]] for d in members)
    body = [*docstring(f"`{group.name}` for the dtype of {first.name}: {dtypes}."), f"return {picked}({', '.join(given)})"]
    return block(f"def {name}{signature(program)}", body)
