"""The body of a CUDA kernel: loops as loops, index terms under the equation's own names, and wide accesses as calls.

Comes in: a launch as `schedule/wide.py` lays it out. Goes out: the lines of its body, and the arrays that it declares.
The one idea: what a kernel of CUDA says otherwise than Python would: arrays of three memories, updates, shuffles that all lanes make.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tinygpu.category.dtype import MEMORY, ROUNDED
from tinygpu.category.operation import SHUFFLES
from tinygpu.category.simplify import simplify
from tinygpu.category.term import FLOATS, App, Const, Read, Term, memoised, negation, rebuild, text, walk
from tinygpu.category.text import claimed
from tinygpu.emit.body import Body
from tinygpu.emit.cuda_names import occurs
from tinygpu.emit.cuda_text import Scope, held
from tinygpu.emit.python import Lines, block, choice, comment
from tinygpu.program.call import Applied, Fence, Sent, Sync, Wait
from tinygpu.program.step import Array, Assign, For, If, Step, steps
from tinygpu.program.traverse import reads_of
from tinygpu.record import dataclass, field, replace
from tinygpu.schedule.registers import Called
from tinygpu.schedule.roles import map_of, parameter
from tinygpu.schedule.wide import Move, move, moves, wholly

IN_PLACE = {"sum": "+=", "prod": "*="}


@dataclass(frozen=True, slots=True)
class CudaBody(Body):
    """Of one kernel, with the first bytes of shared arrays; `firsts` are the coordinates of first lanes, with the coordinate of every lane. It
    gathers the arrays to declare, and names that are taken."""

    scope: Scope
    taken: set[str]
    places: Mapping[str, int]
    swizzled: Mapping[str, Array]
    firsts: Mapping[Term, Term]
    called: Called
    fragments: frozenset[str] = frozenset()
    declared: Lines = field(default_factory=list)

    def stands(self, label: Term, body: tuple[Step, ...]) -> bool:
        return occurs(self.firsts.get(label, label), body, self.swizzled)

    def steps(self, body: tuple[Step, ...]) -> Lines:
        """One after the other; what is done where wide accesses are not stands under `else`."""
        lines, steps = Lines(), iter([*body, None])
        step = next(steps)
        while step is not None:
            after = next(steps)
            if isinstance(step, If) and isinstance(after, If) and wholly(step) and after.guard == negation(step.guard):
                lines += comment(self.remark(moves(step.body)))
                lines += choice(self.scope.text(step.guard), self.lines(step.body), self.lines(after.body))
                after = next(steps)
            else:
                lines += self.step(step)
            step = after
        return lines

    def step(self, step: Step) -> Lines:
        """One step; an instruction is one call."""
        maker = self.called.maker(step)
        if not maker:
            return Body.step(self, step)
        match step:
            case Sync(begins=Applied(_, operands)):
                first = list(operands)
            case Wait() | Fence():  # cells of fragments, which are registers here
                first = [(n, (Const(0),) if n in self.fragments else place) for n, place in self.called.elements(step)]
            case _:
                first = self.called.elements(step)
        sent = step.begins if isinstance(step, Sync) and isinstance(step.begins, Sent) else None
        more = (self.scope.names[parameter(map_of(sent))], *map(self.scope.text, (*sent.first, *sent.origin))) if sent else ()
        return self.call(
            self.scope.names[maker], [Read(array, place, "u32") for array, place in first], self.called.units(step), more
        )

    def array(self, step: Array) -> Lines:
        """A local array, a plain variable for one cell, or a pointer to a shared array, from its first byte in the block's memory on."""
        python, extents = self.scope.names[step.name], ", ".join(map(text, step.extents))
        kind = held(step.dtype) if step.name in self.scope.locals else MEMORY[step.dtype]
        if step.owner != "thread":
            how = f" pad {step.layout.pad}" if step.layout.pad else ""
            how += f" panels {step.layout.panels}" if step.layout.panels else ""
            how += f" swizzle{step.layout.swizzle}" if step.layout.swizzle else ""
            self.declared.append(f"{python} = shared({kind}, {self.places[step.name]})  # [{extents}]{how}")
        elif step.extents:
            shape = extents if len(step.extents) == 1 else f"({extents})"
            self.declared.append(f"{python} = cuda.local.array({shape}, {kind})")
        else:
            self.declared.append(f"{python} = {kind}(0)")
        return []

    def loop(self, step: For) -> Lines:
        """A loop in the index type, from where it begins, or the one access that it is. Where its bound is a constant the compiler unrolls it, as much as is good."""
        if (access := move(step)) is not None:
            return [self.move(access)]
        extent = self.scope.text(step.axis.extent)
        bound = f"ix({extent})" if isinstance(step.axis.extent, Const) else extent
        inside = replace(self, known=self.known | {step.axis.name})
        word = "unrolled" if isinstance(step.axis.extent, Const) and self.holds(step.body) else "upto"
        turns = f"{word}({bound})" if step.start == Const(0) else f"between({self.scope.text(step.start)}, {bound})"
        return block(f"for {self.scope.names[step.axis.name]} in {turns}", inside.lines(step.body))

    def holds(self, body: tuple[Step, ...]) -> bool:
        """Whether steps touch what a lane has of a fragment, whose cells are registers where every index is a number."""
        touched = ({r.tensor for r in reads_of(s)} | ({s.target} if isinstance(s, Assign) else set()) for s in steps(body))
        called = ({name for name, _ in s.applied.operands} for s in steps(body) if isinstance(s, Sync) and s.applied)
        return any(not self.fragments.isdisjoint(names) for names in (*touched, *called))

    def remark(self, found: tuple[Move, ...]) -> str:
        """What moves wide, in words."""
        said = dict.fromkeys(f"{self.scope.names[m.first.tensor]} by {m.bytes} bytes" for m in found)
        return f"{', '.join(said)}, where all {found[0].count} lanes are inside" if found else ""

    def move(self, access: Move) -> str:
        """One wide load or store, or a copy that lands later."""
        if access.near is not None:
            return f"copy{access.count}({self.place(access.near)}, {self.place(access.first)}, {self.scope.text(access.inside)})"
        call = f"{'shared_' if access.first.tensor in self.scope.layouts else ''}{access.way}{access.count}"
        element, cells = self.place(access.first), self.scope.names[access.cells]
        return f"{call}({cells}, {element})" if access.way == "load" else f"{call}({element}, {cells})"

    def place(self, element: Read, unit: int = 1) -> str:
        """An element of memory as functions take it: a pointer, and an offset in units, which is an index also where it is a number."""
        place = self.scope.offset(element.tensor, element.index)
        offset = self.scope.text(place if unit == 1 else simplify(place // unit))
        return f"{self.scope.names[element.tensor]}, {f'ix({offset})' if offset.isdigit() else offset}"

    def call(self, called: str, elements: list[Read], units: Mapping[str, int] | None = None, more: Iterable[str] = ()) -> Lines:
        places = (self.place(e, (units or {}).get(e.tensor, 1)) for e in elements)
        return [f"{called}({', '.join([*places, *more])})"]

    def assign(self, step: Assign) -> Lines:
        """An assignment; shuffles that Python might not come to stand before it."""
        lines, step, scope = self.shuffled_first(step)
        element, dtype = Read(step.target, step.index, step.value.dtype), step.value.dtype
        if step.atomic:
            near = "shared_" if step.target in scope.layouts else ""
            return [*lines, f"{near}atomic_{step.update}({self.place(element)}, {scope.to_store(step.value)})"]
        if step.update in IN_PLACE and dtype in FLOATS and dtype not in ROUNDED:
            return [*lines, f"{scope.element(element)} {IN_PLACE[step.update]} {scope.text(step.value)}"]
        register = step.target in scope.locals and dtype != "bool"  # its value is stored as it is, not as memory has it
        return [*lines, f"{scope.element(element)} = {(scope.text if register else scope.to_store)(step.whole)}"]

    def shuffled_first(self, step: Assign) -> tuple[Lines, Assign, Scope]:
        """`and`, `or` and a choice leave out what they do not need, but every lane takes part in a shuffle: there it is made beforehand."""
        lines, kept, scope = Lines(), dict[Term, Read](), self.scope

        @memoised
        def made(term: Term) -> Term:
            nonlocal scope
            inner = rebuild(term, made)
            if not isinstance(inner, App) or inner.op not in SHUFFLES:
                return inner
            if inner not in kept:
                name = claimed("other", self.taken, "_")
                lines.append(f"{name} = {scope.to_store(inner) if inner.dtype == 'bool' else scope.text(inner)}")
                kept[inner] = Read(f"shuffled {name}", (), inner.dtype)
                scope = scope.with_locals({f"shuffled {name}": name})
            return kept[inner]

        lazy = [t for t in walk(step.whole) if isinstance(t, App) and t.op in ("and", "or", "select")]
        if not any(isinstance(t, App) and t.op in SHUFFLES for one in lazy for t in walk(one)):
            return [], step, scope
        return lines, replace(step, value=made(step.value)), scope
