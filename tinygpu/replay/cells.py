"""Where a step stands, and what a cell holds before it: symbols `cell@position(index, axes around)`.

Comes in: a launch. Goes out: for a cell and a position the symbol of what it holds there, the same one for all positions between two writes.
The one idea: a symbol is taken apart only when somebody asks (`execute`), by looking at the one write before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from tinygpu.record import dataclass, field
from tinygpu.replay.ir import Axis, Env, Read, Term, Unsupported, Var, put, rebuild
from tinygpu.replay.program import Array, Assign, Fresh, If, Launch, Loop, Machine, Step

Path: TypeAlias = tuple[
    int, ...
]  # the step `path[-1]` of the body of the step `path[:-1]`; one more than the last is the end of it
MARK = "@"


@dataclass(frozen=True, slots=True)
class Node:
    """A cell before the step at `path`; or after some turns of the loop at `path`; or, at the empty path, before the launch."""

    cell: str
    launch: int
    path: Path
    turns: bool = False

    @property
    def name(self) -> str:
        return f"{self.cell}{MARK}{self.launch}:{'.'.join(map(str, self.path))}{'*' if self.turns else ''}"


@dataclass(slots=True)
class Text:
    """One launch, with its steps by their paths."""

    machine: Machine
    launch: Launch
    arrays: dict[str, Array] = field(default_factory=dict)
    written: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self.arrays = {a.name: a for a in self.launch.arrays}
        self.written = frozenset([w.name for w in self.machine.workspaces] + [t.name for t in self.machine.op.outputs])

    def body(self, path: Path) -> tuple[Step, ...]:
        """The steps of the body that a path ends in."""
        body = self.launch.body
        for number in path[:-1]:
            step = body[number]
            assert isinstance(step, Loop | If)
            body = step.body
        return body

    def step(self, path: Path) -> Step:
        return self.body(path)[path[-1]]

    def around(self, path: Path) -> tuple[Axis, ...]:
        """The axes around a step: grid, block, loops."""
        loops = [s.axis for n in range(1, len(path)) if isinstance(s := self.step(path[:n]), Loop)]
        return (*self.launch.grid, *self.launch.block, *loops)

    def guards(self, path: Path) -> Iterator[tuple[Path, Term]]:
        """The guards around a step, each with the path of its `if`."""
        for n in range(1, len(path)):
            step = self.step(path[:n])
            if isinstance(step, If):
                yield path[:n], step.guard

    def sites(self, cell: str, path: Path = ()) -> Iterator[Path]:
        """The paths of all assignments to a cell inside of a step, or in the launch."""
        for number, step in enumerate(self.launch.body if not path else self.body((*path, 0))):
            here = (*path, number)
            if isinstance(step, Assign) and step.target == cell:
                yield here
            if isinstance(step, Loop | If):
                yield from self.sites(cell, here)

    def touches(self, step: Step, path: Path, cell: str) -> bool:
        """Whether a step may change what a cell holds."""
        match step:
            case Assign(target):
                return target == cell
            case Fresh(array):
                return array == cell
            case Loop() | If():
                return any(self.touches(s, (*path, n), cell) for n, s in enumerate(step.body))
        return False

    def at(self, cell: str, path: Path, index: tuple[Term, ...], env: Env, dtype: str) -> Read:
        """What a cell of this launch holds before the step at a path."""
        while path:
            number, body = path[-1], self.body(path)
            while number and not self.touches(body[number - 1], (*path[:-1], number - 1), cell):
                number -= 1
            if number:
                path = (*path[:-1], number)
                return self.symbol(Node(cell, self.launch.number, path), index, env, dtype)
            outer = path[:-1]
            if outer and isinstance(loop := self.step(outer), Loop) and self.touches(loop, outer, cell):
                node = Node(cell, self.launch.number, outer, turns=True)
                return self.symbol(node, index, env, dtype, (env[loop.axis.name],))
            path = outer
        return self.symbol(Node(cell, self.launch.number, ()), index, {}, dtype)

    def symbol(self, node: Node, index: tuple[Term, ...], env: Env, dtype: str, turns: tuple[Term, ...] = ()) -> Read:
        """The symbol of a node: its index, then the axes around, then how many turns were made."""
        axes = self.around(node.path) if node.path else ()
        return Read(node.name, (*index, *(env[a.name] for a in axes), *turns), dtype)

    def cells(self, term: Term, path: Path, env: Env) -> Term:
        """An expression of the step at a path, for the axes of `env`: each read of a cell is a symbol, an exchange reads another lane."""
        from tinygpu.replay.lanes import exchanged

        match term:
            case Read(array, index, dtype) if array in self.arrays:
                return self.at(array, path, tuple(self.cells(i, path, env) for i in index), env, dtype)
            case Read(array, index, dtype) if array in self.written:
                if any(self.sites(array)):
                    raise Unsupported(f"{array} is read in a launch that writes it")
                inner = tuple(self.cells(i, path, env) for i in index)
                return Read(Node(array, self.launch.number, ()).name, inner, dtype)
            case Var():
                return put(term, env)
        if (found := exchanged(term, self, path, env)) is not None:
            return found
        return rebuild(term, lambda t: self.cells(t, path, env))


def node_of(name: str) -> Node | None:
    """The node that a symbol's name says.

    >>> node_of(Node("acc", 1, (0, 2), True).name)
    Node(cell='acc', launch=1, path=(0, 2), turns=True)
    """
    cell, mark, rest = name.partition(MARK)
    if not mark:
        return None
    launch, _, path = rest.partition(":")
    steps = tuple(int(n) for n in path.rstrip("*").split(".") if n)
    return Node(cell, int(launch), steps, path.endswith("*"))
