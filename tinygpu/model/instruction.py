"""Instructions of the hardware, from the tree: an op whose tensors have numbers for extents, and where the elements of each lie.

    wgmma_m64nNk16[N in {8, 16}] ↦ wgmma_m64n8k16, wgmma_m64n16k16

Comes in: the tree of one `instruction`. Goes out: an `Instruction` for each choice of its families. Mistakes are added to the problems of the file.
The one idea: its equation is that of an op, so what may stand in it, and what is wrong with it, is known already; new is that each digit stands once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from math import prod
from string import Formatter
from typing import Any, TypeAlias

from tinygpu.category.term import Const, reads
from tinygpu.diagnostic import Span
from tinygpu.model.collective import TOGETHER, Digit, Digits, Instruction, Operand
from tinygpu.model.elaborate_op import elaborate_op
from tinygpu.model.op import Op
from tinygpu.model.problems import Problems, head, listing
from tinygpu.model.scope import Scope
from tinygpu.model.source import variants
from tinygpu.model.tensor_memory import instruction_descriptor, misfits, unshared
from tinygpu.model.value import index
from tinygpu.record import dataclass, replace
from tinygpu.syntax import tree
from tinygpu.syntax.files import LIBRARY, SHIPPED, read_text
from tinygpu.syntax.node import rewritten
from tinygpu.syntax.parse import parse
from tinygpu.syntax.target import ARCHITECTURES

Member: TypeAlias = tuple[tree.Instruction, dict[str, str]]  # with the numbers that stand for its variables
PTX = {"i4": "s4", "i8": "s8", "i16": "s16", "i32": "s32", "i64": "s64"}  # what PTX calls a dtype, where it has another name


def instructions_of(one: tree.Instruction, file: Scope) -> tuple[Instruction, ...]:
    """`tree.Instruction → Instruction` for each choice of its families; none after a message."""
    made: list[Instruction] = []
    for member, words in members(one):
        before = len(file.problems)
        made += chosen(member, words, file)
        if len(file.problems) > before:
            return ()  # the others would say the same
    return tuple(made)


def chosen(member: tree.Instruction, words: Mapping[str, str], file: Scope) -> Iterator[Instruction]:
    """The instruction for each choice of its dtypes."""
    before, op = len(file.problems), _op(member, file.problems)
    for variant, found in zip(variants(op), elaborate_op(op, file), strict=False) if op else ():
        dtypes = {name: PTX.get(dtype, dtype) for name, dtype in variant}
        whole = Whole(member, found, replace(file, dtypes=dict(variant))).instruction({**words, **dtypes})
        if whole and len(file.problems) == before:
            yield whole


@cache
def library() -> Mapping[str, tuple[Member, ...]]:
    """The instructions that are known everywhere, as they are declared, by name: those of one name are told apart by what their operands are."""
    path, found = f"{SHIPPED}{LIBRARY}instructions.tgpu", dict[str, tuple[Member, ...]]()
    for one in parse(read_text(path), path).declarations:
        for member in members(one) if isinstance(one, tree.Instruction) else ():
            found[member[0].name] = (*found.get(member[0].name, ()), member)
    return found


@cache
def shipped(name: str) -> tuple[Instruction, ...]:
    """The instructions of that name that are known everywhere.

    >>> [one.archs for one in shipped("mma_m16n8k16")][:3], shipped("mma_m1n1k1")
    ([('sm_90',), ('sm_80',), ('sm_80',)], ())
    """
    problems = Problems()
    found = tuple(made for one, words in library().get(name, ()) for made in chosen(one, words, Scope(problems)))
    problems.stop()
    return found


def members(one: tree.Instruction) -> Iterator[Member]:
    """The instruction for each choice of its numbers, whose values stand in its name where their variables stood.

    >>> from tinygpu.syntax.parse import parse
    >>> text = 'instruction mNk[N in {8, 16}](c: f32[N]) by warp on sm_80 { c[i] = 0  lane (l: 32)  ptx "" }'
    >>> [member.name for member, _ in members(parse(text.replace("  ", chr(10))).declarations[0])]
    ['m8k', 'm16k']
    """
    numbers = [f for f in one.families if any(isinstance(choice, tree.Number) for choice in f.dtypes)]
    kept = tuple(f for f in one.families if f not in numbers)
    for choice in product(*(f.choices for f in numbers)):
        words = dict(zip((f.variable for f in numbers), choice, strict=True))

        def put(node: Any, words: Mapping[str, str] = words) -> Any:
            return tree.Number(words[node.name], span=node.span) if isinstance(node, tree.Name) and node.name in words else node

        name = one.name
        for variable, number in words.items():
            name = name.replace(variable, number)
        yield rewritten(replace(one, name=name, families=kept), put), words


def _op(one: tree.Instruction, problems: Problems) -> tree.Op | None:
    """What the instruction computes: an op from the other operands to the target of its one equation."""
    equations = [line for line in one.body if isinstance(line, tree.Assign)]
    if beyond := [e for at, e in enumerate(equations) if at or e.guard or e.atomic or e.pending]:
        problems.say("TG180.equation", beyond[0].span, name=one.name)
        return None
    if not equations:
        problems.say("TG180.none", head(one.span, f"instruction {one.name}"), name=one.name)
        return None
    (line,) = equations
    target = tuple(o for o in one.operands if o.name == line.target.name)
    if not target:
        problems.say("TG180.target", line.target.span, name=line.target.name, known=[o.name for o in one.operands])
        return None
    inputs = tuple(o for o in one.operands if o not in target)
    equation = tree.Equation((line.target,), line.value, span=line.span)
    return tree.Op(one.name, inputs, target, (equation,), families=one.families, span=one.span)


@dataclass(frozen=True, slots=True)
class Whole:
    """A declaration, its op, and the names around it."""

    one: tree.Instruction
    op: Op
    scope: Scope

    def instruction(self, words: Mapping[str, str]) -> Instruction | None:
        """What all lines say together; None after a message."""
        one, before = self.one, len(self.scope.problems)
        self.known()
        lanes = self.lanes()
        operands = tuple(self.operand(o, lanes) for o in one.operands if lanes)
        made = tuple(o for o in operands if o is not None)
        whole = len(self.scope.problems) == before
        for message, values in unshared(self.op, one.level, made) if whole else ():
            self.scope.problems.say(message, head(one.span, f"instruction {one.name}"), **values)
        product = instruction_descriptor(self.op, made) if whole else 0
        written = self.written(words if product is None else {**words, "idesc": hex(product)})
        if len(self.scope.problems) > before:
            return None
        update = next(line.update for line in one.body if isinstance(line, tree.Assign))
        archs, isa = tuple(a.name for a in one.archs), next((q.text for q in self.quoted("isa")), "")
        return Instruction(one.name, self.op, update, one.level, made, archs, one.unit or "", written, isa, one.span)

    def known(self) -> None:
        """Says which architectures there are none of."""
        for arch in self.one.archs:
            if arch.name not in (known := ARCHITECTURES[1:]):
                self.scope.problems.say("TG106.architecture", arch.span, near=known, name=arch.name, known=known)

    def lanes(self) -> Digits:
        """The digits of a thread's number."""
        one, say = self.one, self.scope.problems.say
        lines = [line for line in one.body if isinstance(line, tree.Lane)]
        if one.level not in TOGETHER:
            say(
                "TG180.level", head(one.span, f"instruction {one.name}"), near=TOGETHER, name=one.level, known=" or ".join(TOGETHER)
            )
        elif len(lines) != 1:
            say("TG180.lane", lines[1].span if lines else head(one.span, f"instruction {one.name}"), name=one.name)
        else:
            digits = tuple(self.digits(lines[0].digits, {}))
            if (count := prod(d.extent for d in digits)) != TOGETHER[one.level]:
                say("TG181.lanes", lines[0].span, count=count, level=one.level, wanted=TOGETHER[one.level])
            return digits
        return ()

    def digits(self, group: tree.Expr, known: Mapping[str, Digit]) -> Iterator[Digit]:
        """The digits of a list, of which those that have no extent are known."""
        for item in group.items if isinstance(group, tree.Group) else (group,):
            match item:
                case tree.Name(name) if name in known:
                    yield known[name]
                case tree.Sized(name, extent):
                    found = index(extent, self.scope)
                    if isinstance(found, Const) and int(found.value) >= 1:
                        yield Digit(name, int(found.value))
                        continue
                    self.scope.problems.say("TG181.extent", item.span, name=name)
                case _:
                    self.scope.problems.say("TG181.digit", item.span, known=list(known) or "none")

    def operand(self, one: tree.TensorDecl, lanes: Digits) -> Operand | None:
        """Where an operand lies; None after a message."""
        lines = [line for line in self.one.body if isinstance(line, tree.Placed | tree.Descriptor) and line.name == one.name]
        tensor = next(t for t in self.op.tensors if t.name == one.name)
        if len(lines) != 1:
            self.scope.problems.say("TG180.operand", lines[1].span if lines else one.span, name=one.name)
            return None
        if any(not isinstance(extent, Const) for extent in tensor.shape):
            self.scope.problems.say("TG180.shape", one.span, name=one.name)
            return None
        shape, names = tuple(int(e.value) for e in tensor.shape if isinstance(e, Const)), self.indices(one.name)
        (line,) = lines
        if "" in names:
            self.scope.problems.say("TG180.read", self.op.equations[0].span, name=one.name)
            return None
        if isinstance(line, tree.Placed):
            return self.placed(line, Operand(one.name, tensor.dtype, shape, line.kind, lanes=lanes), names)
        if line.by not in names:
            self.scope.problems.say("TG180.index", line.span, name=one.name, known=list(names))
            return None
        return Operand(one.name, tensor.dtype, shape, "descriptor", beside=names.index(line.by))

    def indices(self, name: str) -> tuple[str, ...]:
        """What the equation calls the indices of an operand."""
        (equation,) = self.op.equations
        if name == equation.target:
            return tuple(axis.name for axis in equation.axes)
        read = next(r for r in reads(equation.value) if r.tensor == name)
        return tuple(getattr(term, "name", "") for term in read.index)

    def placed(self, line: tree.Placed, operand: Operand, names: Sequence[str]) -> Operand | None:
        """An operand whose elements have places, each its own."""
        before, say = len(self.scope.problems), self.scope.problems.say
        given = tuple(name for b in line.bindings for name in b.indices)
        if given != tuple(names):
            say("TG180.index", line.span, name=operand.name, known=list(names))
            return None
        lanes = {d.name: d for d in operand.lanes}
        places = tuple(tuple(self.digits(b.value, lanes)) for b in line.bindings)
        all_of = {d.name: d for place in places for d in place}
        across = tuple(self.digits(line.across, {**all_of, **lanes})) if line.across else ()
        cells = tuple(self.digits(line.cells, all_of))
        if len(self.scope.problems) > before:
            return None
        for binding, place, extent in zip(line.bindings, places, operand.shape, strict=True):
            if (count := prod(d.extent for d in place)) != extent:
                say("TG181.product", binding.span, count=count, index=binding.indices[0], wanted=extent, name=operand.name)
        own = {"fragment": operand.lanes, "tensor": across}.get(line.kind, ())
        self.once([d.name for place in places for d in place], line.span)
        inside = [d.name for d in (*own, *cells)]
        self.once(inside, line.span)
        idle = {d.name for d in across} - set(all_of)  # lanes of tensor memory may have nothing
        if own and len(self.scope.problems) == before and (lost := set(inside) ^ set(all_of) ^ idle):
            say("TG181.lost", line.span, name=operand.name, digit=min(lost))
        found = replace(operand, places=places, cells=cells, across=across)
        for message, words in misfits(found) if line.kind == "tensor" else ():
            say(message, line.span, **words)
        return None if len(self.scope.problems) > before else found

    def once(self, names: Sequence[str], span: Span) -> None:
        """Says which digit stands twice."""
        for at, name in enumerate(names):
            if name in names[:at]:
                self.scope.problems.say("TG181.twice", span, digit=name)

    def quoted(self, kind: str) -> list[tree.Quoted]:
        return [line for line in self.one.body if isinstance(line, tree.Quoted) and line.kind == kind]

    def written(self, words: Mapping[str, str]) -> str:
        """The text for the assembler, with what the families stand for put in, and operands in braces."""
        say, lines = self.scope.problems.say, self.quoted("ptx")
        if len(lines) != 1:
            say("TG180.ptx", lines[1].span if lines else head(self.one.span, f"instruction {self.one.name}"), name=self.one.name)
            return ""
        try:
            parts = list(Formatter().parse(lines[0].text))
        except ValueError:
            parts = [("", "", "", None)]
        names = [o.name for o in self.one.operands]
        holes = [name for _, name, _, _ in parts if name is not None and name not in words]
        if {*holes} != {*names}:
            say("TG180.holes", lines[0].span, known=listing(names))
            return ""
        return "".join(text + ("" if name is None else words.get(name, f"{{{name}}}")) for text, name, _, _ in parts)
