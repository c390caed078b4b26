"""What the equations of an op say to whoever places them: indices, folds, and which equations belong together.

Comes in: an op. Goes out: `Group`s of equations, each a launch of its own. The one idea: equations share a launch where what one leaves is one number for each row that the next one works on;
a product, whose elements are read again and again, is a launch by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from functools import lru_cache
from itertools import combinations

from tinygpu.category.term import Axis, Const, Fold, Read, Term, Var, outermost_folds, reads, variables, walk
from tinygpu.category.text import claimed, text
from tinygpu.model.op import Equation, Op, put_in
from tinygpu.model.prefix import prefixes
from tinygpu.model.view import VIEW
from tinygpu.record import dataclass, field, replace
from tinygpu.schedule.ahead import WHOLE
from tinygpu.schedule.nest import LONG
from tinygpu.syntax import tree
from tinygpu.syntax.grammar import shipped_parser


@dataclass(frozen=True, slots=True)
class Group:
    """Equations of one launch, of which those without a fold are put in where they are read, and the `names` of all of them."""

    equations: tuple[Equation, ...]
    names: tuple[str, ...]
    scans: bool = True

    @property
    def along(self) -> dict[str, str]:
        """The indices that prefixes go along, by those of the prefixes, which have no place of their own."""
        return _along(self.equations) if self.scans else {}

    @property
    def rows(self) -> tuple[str, ...]:
        """The indices of every element, but for those that a prefix goes along."""
        first, *others = ([a.name for a in e.axes] for e in self.equations)
        return tuple(name for name in first if all(name in names for names in others) and name not in self.along.values())

    @property
    def columns(self) -> tuple[str, ...]:
        """The other indices, those of elements before those of folds."""
        every = [a.name for e in self.equations for a in e.axes] + [a.name for e in self.equations for a in folded(e)]
        return tuple(name for name in dict.fromkeys(every) if name not in self.rows and name not in self.along)

    @property
    def indices(self) -> frozenset[str]:
        """All of them."""
        return frozenset((*self.rows, *self.columns, *self.along.values()))

    @property
    def product(self) -> bool:
        """Whether it is made of a product."""
        return any(sides(e) is not None for e in self.equations)

    def folds(self, index: str) -> bool:
        """Whether some equation folds along an index."""
        return index in self.along.values() or any(a.name == index for e in self.equations for a in folded(e))


@lru_cache(1 << 10)
def _along(equations: tuple[Equation, ...]) -> dict[str, str]:
    return {p.index: p.bound for e in equations for p in prefixes(e).values()}


@lru_cache(1 << 12)
def folded(equation: Equation) -> tuple[Axis, ...]:
    """The axes of its folds."""
    return tuple(a for t in walk(equation.value) if isinstance(t, Fold) for a in t.axes)


def sides(equation: Equation) -> tuple[str, str] | None:
    """The two indices of a product of matrices: each changes one of two factors of a fold's terms and not the other one, so each factor is read for many elements; the last index that does is the
    second one.

    >>> from tinygpu.pipeline import load_text
    >>> (op,) = load_text("op f(A: f32[M, K], B: f32[K, N]) -> (C: f32[M, N]) { C[i, j] = sum[k] A[i, k] * B[k, j] }").spec.ops
    >>> sides(op.equations[0])
    ('i', 'j')
    """
    own = [a.name for a in equation.axes if not isinstance(a.extent, Const)]
    pairs = sorted(combinations(own, 2), key=lambda pair: own.index(pair[1]), reverse=True)
    for fold in outermost_folds(equation.value):
        inner = {a.name for a in fold.axes}
        read = [names for r in dict.fromkeys(reads(fold.body)) if (names := variables(r)) & inner]
        for down, across in pairs:
            if any(down in a and across not in a for a in read) and any(across in b and down not in b for b in read):
                return down, across
    return None


def groups(op: Op, together: bool = True, scans: bool = True) -> tuple[Group, ...]:
    """The launches of an op, in order; each equation by itself where they are not to go together."""
    named, light = _named(op)
    out: list[tuple[Equation, ...]] = []
    for equation in (replace(e, value=put_in(e.value, light)) for e in named if e.target not in light):
        if together and out and _joins(Group(out[-1], (), scans), equation):
            out[-1] = (*out[-1], equation)
        else:
            out.append((equation,))
    used = [{e.target for e in some}.union(*(_through(op, e.target, light.keys()) for e in some)) for some in out]
    return tuple(
        Group(some, tuple(e.target for e in named if e.target in names), scans) for some, names in zip(out, used, strict=True)
    )


@lru_cache(1 << 10)
def group_of(op: Op, names: tuple[str, ...]) -> Group:
    """A launch of the equations of some names; of all of them where there are none."""
    named, light = _named(op)
    mine = [e for e in named if not names or e.target in names]
    here = {r.tensor for e in mine for r in reads(e.value)} & {e.target for e in mine}
    inside = {target: e for target, e in light.items() if target in here}
    return Group(tuple(replace(e, value=put_in(e.value, inside)) for e in mine if e.target not in inside), names)


def _named(op: Op) -> tuple[list[Equation], dict[str, Equation]]:
    """The equations that are no views, and those of them that are put in where they are read."""
    outputs = {t.name for t in op.outputs}
    named = [e for e in op.equations if op.tensor(e.target).role != VIEW]
    cut = {r.tensor for e in named for r in reads(e.value) if not all(isinstance(i, Var) for i in r.index)}
    return named, {e.target: e for e in named if e.target not in outputs | cut and not folded(e) and not e.along}


def _through(op: Op, target: str, light: Collection[str]) -> set[str]:
    """The equations without a fold that one needs, and that these need."""
    found: set[str] = set()
    waiting = [target]
    while waiting:
        more = {r.tensor for r in reads(op.equation(waiting.pop()).value) if r.tensor in light} - found
        found |= more
        waiting += more
    return found


def _joins(group: Group, equation: Equation) -> bool:
    """Whether an equation goes on where a group is: all that it reads of the group is said by the rows that they share."""
    both = Group((*group.equations, equation), (), group.scans)
    ways = {(a.name, a.extent) for e in both.equations for a in (*e.axes, *folded(e))}
    if len(ways) != len({name for name, _ in ways}) or (group.along and both.along != group.along):
        return False
    if sides(equation) is not None or (group.product and (folded(equation) or both.rows != group.rows)):
        return False
    made = {e.target: e for e in group.equations}
    own = [r for r in reads(equation.value) if r.tensor in made]
    plain = all(all(isinstance(i, Var) for i in r.index) for r in own)
    rows = {*both.rows}
    return (
        plain
        and bool(rows or not group.rows)
        and all({a.name for a in made[r.tensor].axes} <= rows for r in own if folded(made[r.tensor]))
    )


def accesses(equation: Equation) -> Iterator[Read]:
    """What the folds of an equation read at indices alone."""
    for fold in outermost_folds(equation.value):
        for read in dict.fromkeys(reads(fold.body)):
            if read.index and all(isinstance(i, Var) for i in read.index):
                yield read


def read_again(op: Op, group: Group) -> tuple[str, ...]:
    """The inputs of which each long row is read by several equations, and one is written along it: by the second of them it is near, and the next one is still far."""
    read = ((r.tensor, e.target) for e in group.equations for r in dict.fromkeys(reads(e.value)) if _a_row(group, r))
    plain = {t.name for t in op.inputs if not t.strided}
    counts = Counter(tensor for tensor, _ in dict.fromkeys(read) if tensor in plain)
    return tuple(tensor for tensor, count in counts.items() if count > 1)


def written_along(op: Op, group: Group) -> tuple[str, ...]:
    """The outputs of which a row is written after something is known of it."""
    last = {e.target: e.axes[-1].name for e in group.equations if len(e.axes) > 1 and len(group.equations) > 1}
    plain = {t.name for t in op.outputs if not t.strided and t.dtype in WHOLE}
    return tuple(target for target, index in last.items() if target in plain and index in group.columns)


def _a_row(group: Group, read: Read) -> bool:
    """Whether a read goes along a row that is one of many."""
    names = {v for i in read.index for v in variables(i)}
    written = {a.name for e in group.equations for a in e.axes}
    along = read.index[-1].name if read.index and isinstance(read.index[-1], Var) else ""
    short = isinstance(end := extent(group, along), Const) and end.value <= LONG
    return bool(names & {*group.rows}) and along in group.columns and along in written and not short


def extent(group: Group, index: str) -> Term | None:
    """How far an index goes, in whichever equation has it."""
    return next((a.extent for e in group.equations for a in (*e.axes, *folded(e)) if a.name == index), None)


@dataclass(slots=True)
class Names:
    """Names of factors, free in an op: of the index `i`, `ib` in the grid, `it` of a block, `ir` of registers."""

    op: Op
    taken: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        op, words = self.op, shipped_parser()
        self.taken |= words.reserved | words.folds
        self.taken |= {
            *op.sizes,
            *(t.name for t in op.tensors),
            op.name,
            *(a.name for e in op.equations for a in (*e.axes, *folded(e))),
        }

    def new(self, index: str, kind: str) -> str:
        """One for a digit of an index."""
        return claimed(f"{index}{kind}", self.taken, "")


def panels_of(one: Equation, down: str, across: str) -> tuple[Read, ...]:
    """The two reads of a product of matrices that its one fold goes along, if they are read at indices alone: of the rows, and of the columns."""
    folds = [a.name for a in folded(one)]
    found = [r for r in accesses(one) if len({down, across} & variables(r)) == 1 and folds[-1] in variables(r)]
    plain = sum(isinstance(t, Fold) for t in walk(one.value)) == 1 and len(folds) == 1 and len(found) == 2
    return tuple(sorted(found, key=lambda r: across in variables(r))) if plain else ()


def cell(read: Read) -> tree.Cell:
    return tree.Cell(read.tensor, tuple(tree.Name(i.name) for i in read.index if isinstance(i, Var)))


def extent_text(extent: Term) -> str:
    """An extent as text, in parentheses where it is no name."""
    return text(extent) if isinstance(extent, Var | Const) else f"({text(extent)})"
