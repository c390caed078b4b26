"""Programs as text: what `show --program` prints, and what a person may copy, change and have proved again.

Comes in: a program. Goes out: the statements of the syntax tree, and through the formatter their text.
The one idea: the text is the program, so `read` of what is printed here gives an equal program back.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from tinygpu.category.term import Axis
from tinygpu.model.source import needed
from tinygpu.model.work import CLUSTER
from tinygpu.program.declared import to_array
from tinygpu.program.expression import expression
from tinygpu.program.statement import to_statements
from tinygpu.program.step import Launch, Numbered, Program, arrays_in, loops_around
from tinygpu.record import replace
from tinygpu.syntax import tree
from tinygpu.syntax.node import rewritten
from tinygpu.syntax.target import CPU, of_cpu


def render(program: Program) -> str:
    """`program → text`: the `program { … }` clause. It parses, and reads back to an equal program."""
    return shown(program_statements(program))


def shown(statements: tuple[tree.Statement, ...]) -> str:
    """`program { … }` of these statements."""
    from tinygpu.syntax.format import format_statements

    body = format_statements(statements).rstrip("\n").split("\n")
    return "\n".join(["program {", *(f"  {line}" if line else "" for line in body), "}", ""])


def render_machine(program: Program) -> str:
    """`program → text`: a whole explicit machine, with its work object, for the op of the program."""
    from tinygpu.syntax.format import format_file

    return format_file(tree.File((to_machine(program),)))


def to_machine(program: Program) -> tree.Machine:
    """`program → machine NAME : OP via THEOREM { work … program { … } }`: an explicit machine with the same program."""
    name = plain_name(program.name)
    where = tuple(expression(guard) for guard in program.where if guard not in program.op.where)
    work = () if several(program) else (tree.Work(levels(program.launches[0])),)
    work = of_cpu(work) if program.arch == CPU else work
    return tree.Machine(
        name,
        (tree.Name(program.op.family),),
        (*work, tree.ProgramClause(program_statements(program))),
        program.arch or None,
        where,
        tree.Name(program.op.via.name) if program.op.via else None,
    )


def plain_name(title: str) -> str:
    """The title of a machine as a name.

    >>> plain_name("cast_v8[op=narrow, T=f16]"), plain_name("_cast_")
    ('cast_v8_op_narrow__T_f16', '_cast_')
    """
    return "".join(c if c.isalnum() else "_" for c in title.removesuffix("]"))


def program_statements(program: Program) -> tuple[tree.Statement, ...]:
    """`program → statements`, without spans. One launch is its body; several are `launch` statements with their work objects, after
    the workspaces between them."""
    launches: tuple[tree.Statement, ...] = launched(program)
    statements = (*map(to_array, program.workspaces), *launches)
    if not several(program):
        (alone,) = launches
        assert isinstance(alone, tree.LaunchStatement), "in no loop"
        statements = alone.body
    return of_cpu(statements) if program.arch == CPU else statements


def launched(program: Program) -> tuple[tree.Statement, ...]:
    """The launches as statements, with their work objects, in the loops around them."""
    scalars = frozenset(t.name for t in program.op.inputs if not t.shape)

    def each(launches: tuple[Numbered, ...], depth: int) -> Iterator[tree.Statement]:
        for axis, run in loops_around(launches, depth):
            if axis is not None:
                yield tree.For(axis.name, expression(axis.extent), tuple(each(run, depth + 1)))
            for _, one in run if axis is None else ():
                yield tree.LaunchStatement(levels(one), in_warps(one, to_statements(one.body, scalars)))

    return tuple(each(tuple(enumerate(program.launches)), 0))


def in_warps(launch: Launch, body: tuple[tree.Statement, ...]) -> tuple[tree.Statement, ...]:
    """The statements of a launch, with elements of a fragment by the indices that they have in the warp at hand."""
    warps = {a.name: tuple(map(expression, a.held.groups)) for a in arrays_in(launch.body, "block") if a.held}

    def put(node: Any) -> Any:
        here = warps.get(node.name) if isinstance(node, tree.Cell) else None
        return replace(node, index=node.index[len(here) :]) if here and node.index[: len(here)] == here else node

    return rewritten(body, put) if warps else body


def several(program: Program) -> bool:
    """Whether the launches of a program are written as statements."""
    looped = any(one.turns for one in program.launches)
    return len(program.launches) != 1 or bool(program.workspaces) or looped or recut(program)


def recut(program: Program) -> bool:
    """Whether the threads of the one launch have other factors than in the machine that it was derived from."""
    names = [[a.name for a in one.block] for one in program.launches]
    meant = [[a.name for a in one.block] for one in program.machine.launches] if program.machine else names
    return len(names) == len(meant) == 1 and names != meant


def levels(launch: Launch) -> tuple[tree.Level, ...]:
    """`launch → grid = (…), block = (…)`."""
    near = (tree.Level(CLUSTER, group(launch.ranks)),) if launch.cluster else ()
    return (
        tree.Level("grid", group(launch.grid[: len(launch.grid) - launch.cluster])),
        *near,
        tree.Level("block", group(launch.block)),
    )


def group(axes: tuple[Axis, ...]) -> tree.Group:
    """`(by: ceil(M / 64), bx: 4)`, the factors of one level with their extents."""
    return tree.Group(tuple(tree.Sized(axis.name, expression(axis.extent)) for axis in axes))


@lru_cache(maxsize=16)  # of a proof's program it is asked for a certificate and for a module
def standalone(program: Program, beside: tuple[Program, ...] = ()) -> str:
    """`program → a spec of its own`, and of programs `beside` it for the same op. Raises ValueError for an op that no text declares.

    >>> from tinygpu.model.op import Op
    >>> standalone(Program("m", Op("o", (), (), (), (), ()), ()))
    Traceback (most recent call last):
    ...
    ValueError: the op o was not made of a text
    """
    from tinygpu.syntax.format import format_file

    if not program.op.source:
        raise ValueError(f"the op {program.op.name} was not made of a text")
    machines = tuple(to_machine(p) for p in (program, *beside))
    machines = tuple(replace(m, name=f"{machines[0].name}_{n}" if n else m.name) for n, m in enumerate(machines))
    return format_file(tree.File((*needed(program.op.source, *machines), *machines)))
