"""Instructions that many threads run together: their equation, and where each element of an operand lies.

    fragment a i = (r: 2, g), k = (s: 2, q, u: 2) in (s, r, u)     lane (g: 8, q: 4)
    lane(i, k) = (i % 8)·4 + k // 2 % 4         register(i, k) = (k // 8)·4 + (i // 8)·2 + k % 2

Comes in: what a declaration says. Goes out: lanes and registers as terms of an index, and indices as terms of those. The one idea: a digit of an
index is the lane's or the register's, and each stands once, so a fragment is one to one by form: no table, nothing to search for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from tinygpu.category.dtype import DTYPE
from tinygpu.category.term import Const, Term, conjunction, equal
from tinygpu.diagnostic import NOWHERE, Span
from tinygpu.model.op import Op
from tinygpu.record import dataclass, field, replace

TOGETHER: Mapping[str, int] = {"warp": 32, "warpgroup": 128}  # and how many threads of a block come together
WORD = 32  # bits of a register
ACROSS, ALONG = 128, 512  # lanes and columns of tensor memory, of 32 bits each


@dataclass(frozen=True, slots=True)
class Digit:
    """A part of an index, of a lane's number, or of a register's."""

    name: str
    extent: int


Digits = tuple[Digit, ...]  # the most significant first


@dataclass(frozen=True, slots=True)
class Operand:
    """`kind` says where it lies: a `fragment` in registers; `rows` in shared memory, each named by a lane; behind a `descriptor`, with elements
    side by side along the axis `beside`; in `tensor` memory. `places` are the digits of each of its indices; `cells` those of a register's number, of the number of
    the lane that names a row, or of a column of tensor memory, of which `across` are the lanes; `lanes` are those of a thread's number."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    kind: str
    places: tuple[Digits, ...] = ()
    cells: Digits = ()
    lanes: Digits = ()
    beside: int = 0
    across: Digits = ()

    @property
    def count(self) -> int:
        """How many elements one lane has."""
        return prod(d.extent for d in self.cells) if self.kind == "fragment" else 1

    @property
    def registers(self) -> int:
        """How many registers it takes: of 32 bits, of a longer dtype one for each element; an address, or a descriptor, is one."""
        return max(1, self.count * min(DTYPE[self.dtype].bits, WORD) // WORD)

    def in_memory(self, index: Sequence[Term]) -> tuple[Term, ...]:
        """The indices of an element in the order of memory: behind a descriptor the one along which elements lie side by side is the last."""
        last = self.beside if self.kind == "descriptor" else len(index) - 1
        return (*index[:last], *index[last + 1 :], index[last])

    def lane(self, index: Sequence[Term]) -> Term:
        """The lane that has an element of the operand."""
        return joined(self.lanes, self.digits(index))

    def cell(self, index: Sequence[Term]) -> Term:
        """Which of its lane's elements it is; of rows, which lane names the row that it is in."""
        return joined(self.cells, self.digits(index))

    def row_of(self, index: Sequence[Term]) -> Term:
        """The lane of tensor memory that has an element; digits that are no index's are 0 there."""
        return joined(self.across, {**{d.name: Const(0) for d in self.across}, **self.digits(index)})

    @property
    def shared_out(self) -> Operand:
        """The operand as threads do it together: of one in tensor memory, where no thread has anything, each thread does the elements of its digits."""
        mine = tuple(d for place in self.places for d in place if d not in self.lanes)
        return replace(self, kind="fragment", cells=mine) if self.kind == "tensor" else self

    def index(self, lane: Term, cell: Term) -> tuple[Term, ...]:
        """The element that a lane has in a cell: the inverse of both."""
        own = {**dict(split(self.lanes, lane)), **dict(split(self.cells, cell))}
        return tuple(joined(place, own) for place in self.places)

    def row(self, lane: Term) -> tuple[Term, ...]:
        """The first element of the row that a lane names; lanes whose row nobody takes name one of the others'."""
        own: dict[str, Term] = {d.name: Const(0) for place in self.places for d in place}
        own |= dict(split(self.cells, lane % prod(d.extent for d in self.cells)))
        return tuple(joined(place, own) for place in self.places)

    def digits(self, index: Sequence[Term]) -> dict[str, Term]:
        """The digits of an index."""
        return {name: term for place, one in zip(self.places, index, strict=True) for name, term in split(place, one)}


@dataclass(frozen=True, slots=True)
class Instruction:
    """What the threads of a `level` do in one step: the target of the equation of `op` takes its value, or with `update` is combined with it. It
    is on `archs` and what follows them; with a `unit` it is begun, and lands later. `ptx` has the name of each operand in braces."""

    name: str
    op: Op
    update: str
    level: str
    operands: tuple[Operand, ...]
    archs: tuple[str, ...]
    unit: str
    ptx: str
    isa: str = ""
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def shares(self) -> Operand:
        """Who does which elements: the target, if it is in registers, or else the operand that is; where none is, the target in tensor memory, shared out."""
        target = self.op.equations[0].target
        order = sorted(self.operands, key=lambda o: o.name != target)
        return next((o for o in order if o.kind == "fragment"), order[0].shared_out)

    def operand(self, name: str) -> Operand:
        """The operand of that name. Raises KeyError."""
        return {o.name: o for o in self.operands}[name]


@dataclass(frozen=True, slots=True)
class Fragment:
    """Elements of an array that lanes hold in registers: tiles of an operand, next to each other in rows, for each group of lanes. The first indices
    of an element number the `groups`, the others are those of `extents`. `lane` is the number of the lane at hand in its group."""

    instruction: str
    operand: Operand
    extents: tuple[int, ...]
    groups: tuple[Term, ...]
    lane: Term

    @property
    def tiles(self) -> tuple[int, ...]:
        """How many tiles there are along each index."""
        return tuple(e // b for e, b in zip(self.extents, self.operand.shape, strict=True))

    @property
    def count(self) -> int:
        """How many elements one lane has."""
        return prod(self.tiles) * self.operand.count

    @property
    def registers(self) -> int:
        """How many registers they take."""
        return prod(self.tiles) * self.operand.registers

    def inside(self, index: Sequence[Term]) -> tuple[Term, ...]:
        """Where in its tile an element is."""
        own = index[len(self.groups) :]
        return tuple(i % b for i, b in zip(own, self.operand.shape, strict=True))

    def cell(self, index: Sequence[Term]) -> Term:
        """Which of its lane's elements it is."""
        tile: Term = Const(0)
        for i, box, count in zip(index[len(self.groups) :], self.operand.shape, self.tiles, strict=True):
            tile = tile * count + i // box
        return tile * self.operand.count + self.operand.cell(self.inside(index))

    def mine(self, index: Sequence[Term]) -> Term:
        """Whether the lane at hand has an element."""
        groups = (equal(i, g) for i, g in zip(index, self.groups, strict=False))
        return conjunction(*groups, equal(self.operand.lane(self.inside(index)), self.lane))


def split(digits: Digits, value: Term) -> list[tuple[str, Term]]:
    """The digits of a number that is below the product of their extents.

    >>> from tinygpu.category.term import Var, text
    >>> [(name, text(term)) for name, term in split((Digit("r", 2), Digit("g", 8)), Var("i"))]
    [('r', 'i // 8'), ('g', 'i % 8')]
    """
    above = ((digit, value // beside if beside > 1 else value) for digit, beside in beside_of(digits))
    return [(digit.name, term % digit.extent if at else term) for at, (digit, term) in enumerate(above)]


def joined(digits: Digits, of: Mapping[str, Term]) -> Term:
    """The number that has these digits.

    >>> from tinygpu.category.term import Var, text
    >>> text(joined((Digit("r", 2), Digit("g", 8)), {"r": Var("r"), "g": Var("g")}))
    'r*8 + g'
    """
    value: Term = Const(0)
    for digit, beside in beside_of(digits):
        value = value + of[digit.name] * beside
    return value


def beside_of(digits: Digits) -> list[tuple[Digit, int]]:
    """Each digit with the product of those that are less significant."""
    return [(digit, prod(d.extent for d in digits[at + 1 :])) for at, digit in enumerate(digits)]
