"""What the cells of a program are called in a work function, and its terms as the text has them.

    x[i, k]  ↦  x[i·K + k]        acc of a thread  ↦  acc[thread]        shuffle_xor(v, 1)  ↦  exchange[thread ^ 1]

Comes in: terms and targets. Goes out: terms over flat memory, and the error where a target is another element than the program's.
The one idea: a cell gets its name where it is written for the first time; which names an emitter would give is nobody's business.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from tinygpu.category.term import BOOL, INDEX, App, Const, Read, Term, rebuild, text, walk
from tinygpu.category.to_source import rounded_up
from tinygpu.model.op import Tensor
from tinygpu.program.address import address
from tinygpu.program.step import Array as Declared
from tinygpu.program.step import Assign, For, If, Launch, Step, arrays_in, steps
from tinygpu.record import dataclass, field, replace
from tinygpu.schedule.threads import flat_thread, source, threads_of
from tinygpu.validate.cpu_call import Values
from tinygpu.validate.cpu_names import Array, Cell, Global
from tinygpu.validate.due import shown
from tinygpu.validate.same import Here, canonical
from tinygpu.validate.typed import Differs, unread


@dataclass(slots=True)
class Cells:
    """The names of one work function: `arrays` are those that the text makes, by name, each with its size and dtype; `cells` what the
    program's cells are called; `shuffled` where a value is that a shuffle takes, and in which region it was left."""

    values: Values
    launch: Launch
    tensors: dict[str, Tensor]
    arrays: dict[str, tuple[Term, str]]
    cells: dict[str, str] = field(default_factory=dict)
    shuffled: dict[Term, tuple[str, int]] = field(default_factory=dict)
    threads: int = 0  # how many of the block's axes the text runs over here
    region: int = 0  # how many loops over all of them have begun

    def dtype(self, name: str) -> str:
        return self.tensors[name].dtype if name in self.tensors else self.own[name].dtype

    @property
    def own(self) -> dict[str, Declared]:
        return {s.name: s for s in arrays_in(self.launch.body)}

    def place(self, node: ast.AST, target: ast.expr, step: Assign, here: Here) -> None:
        """That a target is the element that the program writes; a cell that is written for the first time gets its name."""
        match target:
            case ast.Name(name) if step.target not in self.tensors and not self.alone(step.target):
                self.bind(node, step.target, name, ())
                return
            case ast.Subscript(ast.Name(name), ast.Call(ast.Name("at"), [number])):
                if step.target not in self.tensors:
                    self.bind(node, step.target, name, self.own[step.target].extents)
                meaning = self.values.names.get(name)
                if not isinstance(meaning, Array | Global):
                    raise Differs(
                        target, f"writes {name}, which is no array", f"the program writes {step.target} here: {shown(step)}"
                    )
                mine = self.values.index(number)
                (theirs,) = self.flat(Read(step.target, step.index, "")).index  # type: ignore[union-attr]
                array = meaning.tensor.name if isinstance(meaning, Global) else meaning.name if isinstance(meaning, Array) else ""
                if array != step.target or (isinstance(meaning, Global) and meaning.tensor.role == "input"):
                    raise Differs(target, f"writes {name}", f"the program writes {step.target} here: {shown(step)}")
                if not here.same(mine, theirs):
                    raise Differs(target, f"is element {text(mine)} of {name}", f"the program's is {text(theirs)}")
                return
        raise Differs(target, f"writes {ast.unparse(target)}", f"the program writes {step.target} here: {shown(step)}")

    def alone(self, name: str) -> bool:
        """Whether a cell is an array of the text."""
        return bool(self.own[name].extents) or self.cells.get(name, "") in self.arrays

    def bind(self, node: ast.AST, cell: str, name: str, extents: tuple[Term, ...]) -> None:
        """`name` is what the text calls a cell of the program, from here on."""
        if self.cells.setdefault(cell, name) != name or list(self.cells.values()).count(name) > 1:
            raise Differs(node, f"writes {name}", f"the program writes {cell}")
        if name in self.values.names and isinstance(self.values.names[name], Cell | Array):
            return
        if name in self.values.names:
            raise unread(node, f"gives {name} another meaning")
        made = self.arrays.get(name)
        dtype = self.own[cell].dtype
        if made is None:
            self.values.names[name] = Cell(cell, dtype)
            return
        size: Term = Const(1)
        for extent in extents:
            size = size * extent
        each = canonical(made[0]) != canonical(size) or (not extents and threads_of(self.launch.block) > 1)
        whole = size * threads_of(self.launch.block) if each else size
        if canonical(made[0]) != canonical(whole) or made[1] != dtype or (each and self.own[cell].owner == "block"):
            raise Differs(node, f"{name} has {text(made[0])} cells of {made[1]}", f"{cell} has {text(size)} of {dtype}")
        self.values.names[name] = Array(cell, dtype, each)

    def flat(self, term: Term) -> Term:
        """A term of the program with elements by their number, and shuffles as what another thread has left for this one."""
        if term in self.shuffled:
            name, region = self.shuffled[term]
            if region >= self.region:
                raise Differs(
                    ast.Pass(lineno=1, col_offset=0), "takes the value of a thread that has not come", "all lanes come to a shuffle"
                )
            return Read(name, (self.flat(source(term.op, term.args[1], self.launch.block)),), term.dtype)  # type: ignore[union-attr]
        term = rebuild(term, self.flat)
        if not isinstance(term, Read):
            return normal(term)
        if term.tensor in self.tensors:
            tensor = self.tensors[term.tensor]
            scalar = tensor.role == "input" and not tensor.shape
            return term if scalar else replace(term, index=(address(tensor.shape, term.index),))
        if term.tensor not in self.own:
            return term
        place = address(self.own[term.tensor].extents, term.index)
        meaning = self.values.names.get(self.cells.get(term.tensor, ""))
        if isinstance(meaning, Array):
            number = place * threads_of(self.launch.block) + flat_thread(self.launch.block) if meaning.each else place
            return replace(term, index=(number,))
        return replace(term, index=())

    def computed(self, body: Sequence[Step]) -> Iterator[Term]:
        """The index terms that the program computes, which its proof has shown to fit: those of addresses too."""
        for step in steps(tuple(body)):
            match step:
                case Assign():
                    terms: tuple[Term, ...] = (Read(step.target, step.index, ""), step.value, step.guard)
                case For(axis):
                    terms = (axis.extent,)
                case If(guard):
                    terms = (guard,)
                case _:
                    terms = ()
            yield from (canonical(t) for term in terms for t in walk(self.flat(term)) if t.dtype == INDEX)


def normal(term: Term) -> Term:
    """What a text says of a term of the program: a cast that changes no number is none."""
    match term:
        case App("cast", (inner,), dtype) if inner.dtype == dtype:
            return inner
        case App("cast", (inner,), "bool"):
            return App("ne", (inner, Const(0)), BOOL)
        case App("ceildiv", (a, b), dtype) if dtype != INDEX:
            return rounded_up(a, b)
    return term
