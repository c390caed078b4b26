"""The operands of an instruction in a program's text: which instruction takes them, and whether the hardware can reach them.

    mma(acc[mi*16, 0], a[mi*16, 0], b[0, 0])     of c, a, b: fragments that lie as it wants them, whole tiles     ldmatrix(a[0, 0], s[0, kk*16])     rows of 16 bytes in a piece

Comes in: the tree of an instruction, fragments and arrays in shared memory by name. Goes out: the instruction, or None after a message. The one idea: all of it is
asked by form, of digits, extents and layouts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tinygpu.category.dtype import BYTES
from tinygpu.category.linear import polynomial
from tinygpu.category.term import Const, Term
from tinygpu.diagnostic import Span
from tinygpu.model.clauses import names_in
from tinygpu.model.collective import Instruction, Operand
from tinygpu.model.instruction import library, shipped
from tinygpu.model.problems import Problems
from tinygpu.model.value import index
from tinygpu.program.declared import laid_out
from tinygpu.program.descriptor import descriptor, starts
from tinygpu.program.tensor_memory import is_tile
from tinygpu.program.tiles import Exprs, Tiles, form, has
from tinygpu.record import dataclass, replace
from tinygpu.syntax import tree
from tinygpu.syntax.target import ARCHITECTURES

if TYPE_CHECKING:
    from tinygpu.program.read import Reader


@dataclass(frozen=True, slots=True)
class Operands:
    """The reader of the launch, its arrays in shared and in tensor memory, and its fragments."""

    reader: Reader
    shared: Mapping[str, tree.Array]
    tensors: Mapping[str, tree.Array]
    tiles: Mapping[str, Tiles]

    @property
    def say(self) -> Any:
        return self.reader.problems.say

    def called(self, name: str, span: Span) -> tuple[Instruction, ...]:
        """The instructions of that name; none after a message."""
        own = tuple(one for one in self.reader.machine.instructions if one.name == name)
        found = own or shipped(name)
        if not found:
            self.say("TG182.name", span, near=library(), name=name)
        return found

    def chosen(self, one: tree.Instruct) -> Instruction | None:
        """The instruction of that name for operands like these; None after a message."""
        known = self.called(one.name, one.span)
        fitting = [i for i in known if len(i.operands) == len(one.operands) and all(map(self.fits, i.operands, one.operands))]
        if known and not fitting:
            takes = dict.fromkeys(
                ", ".join(f"{o.name}: {o.dtype}[{', '.join(map(str, o.shape))}]" for o in i.operands) for i in known
            )
            self.say("TG182.operands", one.span, name=one.name, takes=" or ".join(takes))
        return fitting[0] if fitting else None

    def fits(self, operand: Operand, cell: tree.Cell) -> bool:
        """Whether an operand may be a tile there: of a fragment that lies as the instruction wants it, or of an array in shared memory."""
        if operand.kind != "fragment":  # of an array of several tiles, the first indices say which
            there = operand.kind == "tensor"
            array, dtypes = (self.tensors if there else self.shared).get(cell.name), self.reader.scope(()).dtypes
            if array is None or len(cell.index) < len(operand.shape) or dtypes.get(array.dtype, array.dtype) != operand.dtype:
                return False
            return not there or is_tile(operand, self.numbers(array))
        tiles = self.tiles.get(cell.name)
        return (
            tiles is not None
            and len(cell.index) == len(operand.shape)
            and tiles.held.operand.dtype == operand.dtype
            and all(
                e % s == 0 == s % b for e, s, b in zip(tiles.held.extents, operand.shape, tiles.held.operand.shape, strict=True)
            )
            and form(operand) == form(tiles.held.operand, operand.shape)
        )

    def allowed(self, found: Instruction, one: tree.Instruct) -> bool:
        """Whether the machine's architecture has the instruction, which is over when the step is, and its operands are whole tiles."""
        arch = self.reader.machine.arch or ARCHITECTURES[1]
        if bool(found.unit) != one.pending:
            self.say("TG182.later" if found.unit else "TG182.now", one.span, name=one.name)
        elif not any(has(arch, needed) for needed in found.archs):
            self.say("TG182.arch", one.span, name=one.name, arch=arch, known=found.archs)
        else:
            for operand, cell in zip(found.operands, one.operands, strict=True):
                if operand.kind == "fragment":
                    self.whole(cell, cell.index, operand.shape)
                elif operand.kind == "tensor":
                    self.whole(cell, cell.index[-2:], operand.shape)
                elif operand.kind == "rows":
                    self.rows(cell, operand)
                else:
                    self.described(cell, operand, found)
            return True
        return False

    def numbers(self, array: tree.Array) -> tuple[int, ...]:
        """The extents of an array; none where they are no numbers, which is said where it is declared."""
        found = tuple(index(e, replace(self.reader.constants(), problems=Problems())) for e in array.extents)
        return tuple(int(n.value) for n in found if isinstance(n, Const)) if len(found) > 1 else ()

    def whole(self, cell: tree.Cell, inside: Exprs, boxes: Sequence[int]) -> None:
        """Says where a tile begins in the middle of one."""
        for expr, box in zip(inside, boxes, strict=True):
            free: dict[str, Term | None] = dict.fromkeys(names_in(expr))
            start = index(expr, replace(self.reader.constants(), indices=free))
            if any(factor % box for factor in polynomial(start).values()):
                self.say("TG182.tile", expr.span, box=box, name=cell.name)

    def rows(self, cell: tree.Cell, operand: Operand) -> None:
        """Says where the rows that lanes name are not 16 bytes in a piece, at a multiple of 16 bytes."""
        array, named = self.shared[cell.name], {*operand.cells}
        (axis, piece), *others = [(at, d.extent) for at, place in enumerate(operand.places) for d in place if d not in named]
        numbers = [index(e, self.reader.constants()) for e in (*array.extents[-1:], *(array.place.args if array.place else ()))]
        values = [int(n.value) if isinstance(n, Const) else 0 for n in numbers]
        swizzled = array.place is not None and array.place.kind == "swizzle"
        cut = index(array.place.panels, self.reader.constants()) if array.place and array.place.panels else Const(piece)
        fine = (
            (len(values) > 2 and isinstance(cut, Const) and int(cut.value) % piece == 0 and 1 << values[2] >= piece)
            if swizzled
            else sum(values) % piece == 0
        )
        if others or axis != len(operand.shape) - 1 or values[0] % piece or not fine or array.order:
            self.say("TG182.rows", cell.span, array.span, name=cell.name, piece=piece)
        else:
            self.whole(cell, cell.index[-1:], [piece])

    def described(self, cell: tree.Cell, operand: Operand, one: Instruction) -> None:
        """Says where the unit cannot find a tile by itself."""
        array, scope = self.shared[cell.name], replace(self.reader.constants(), problems=Problems())
        numbers = tuple(index(e, scope) for e in array.extents)
        extents = tuple(int(n.value) for n in numbers if isinstance(n, Const))
        layout = laid_out(array, numbers, scope)
        if array.order or len(extents) < len(numbers) or scope.problems.told:
            return  # which is said where the array is declared
        reason = descriptor(one, operand, extents, layout)
        if isinstance(reason, str):
            row = (layout.panels or extents[-1]) * BYTES[operand.dtype]
            self.say("TG182.descriptor", cell.span, array.span, name=cell.name, reason=reason, row=row)
        else:
            self.whole(cell, cell.index[-2:], starts(one, operand, extents, layout))
