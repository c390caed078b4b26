"""What every derivation needs: names that never clash, loops around steps, and which loop may be wide.

Comes in: axes with their sorts and the steps that stand inside them. Goes out: nested `For` steps; a growing list of locals.
The one idea: of the vector factors around an access, the innermost loop is the one that walks the access's fastest axis.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from tinygpu.category.linear import polynomial
from tinygpu.category.term import (
    FLOATS,
    App,
    Axis,
    Const,
    Read,
    Term,
    Var,
    conjunction,
    memoised,
    reads,
    rebuild,
    substitute,
    variables,
)
from tinygpu.category.text import claimed
from tinygpu.derive.tile import Tile
from tinygpu.diagnostic import Span
from tinygpu.model.op import Equation
from tinygpu.program.space import LOCAL
from tinygpu.program.step import Array, Assign, For, If, Step
from tinygpu.record import dataclass, field, replace

VECTOR, REGISTER, TIME = "vector", "register", "time"


@dataclass(slots=True)
class Build:
    """What grows while a program is derived: the names taken, the locals declared, and in which loops each kept value is alive.

    `tensors` are the shapes of the op's arguments, `where` the preconditions over `sizes`; `axes` are all factors of the launch,
    `block` those of its threads, slowest first, `time` its nesting order. `tiles` are the stages, `copies` how each is filled;
    on a `core` one thread is alone, and its cells may be indexed by loops. `ends` are cells that hold where folds begin and end;
    `begins` is what stands before a loop, of states that go on in it; `running` says of a fold that goes on which cell has an element; `earlier` are the states that are read as they were before a turn.

    >>> build = Build({"x"})
    >>> build.fresh("acc"), build.fresh("acc"), build.fresh("x")
    ('acc', 'acc2', 'x2')
    """

    taken: set[str]
    tensors: Mapping[str, tuple[Term, ...]] = field(default_factory=dict)
    sizes: frozenset[str] = frozenset()
    where: tuple[Term, ...] = ()
    axes: tuple[Axis, ...] = ()
    block: tuple[Axis, ...] = ()
    time: tuple[str, ...] = ()
    locals: list[Array] = field(default_factory=list)
    digits: dict[str, str] = field(default_factory=dict)
    alive: dict[str, tuple[int, ...]] = field(default_factory=dict)
    turns: int = 0
    core: bool = False
    tiles: dict[str, Tile] = field(default_factory=dict)
    copies: dict[str, tuple[Step, ...]] = field(default_factory=dict)
    states: tuple[Equation, ...] = ()
    made_of: Callable[[str], set[str]] = lambda name: set()
    held: dict[tuple[object, ...], Read] = field(default_factory=dict)
    begins: dict[str, list[Step]] = field(default_factory=dict)
    running: dict[str, Callable[[tuple[Term, ...]], Read]] = field(default_factory=dict)
    earlier: frozenset[str] = frozenset()
    ends: set[str] = field(default_factory=set)

    def fresh(self, base: str) -> str:
        """A name not taken yet, as close to `base` as can be; it is taken from now on."""
        return claimed(base, self.taken, "")

    def digit(self, factor: str) -> str:
        """The name of the loop over the entries that a factor leaves in a shared array: one for each factor."""
        if factor not in self.digits:
            self.digits[factor] = self.fresh(factor)
        return self.digits[factor]

    def local(self, name: str, dtype: str, cells: Sequence[Axis], span: Span) -> None:
        """Declares a local with one cell for each point of the register and vector factors."""
        self.locals.append(Array(name, dtype, tuple(a.extent for a in cells), LOCAL, span=span))

    def ordered(self, axes: Iterable[Axis]) -> tuple[Axis, ...]:
        """The time axes among `axes`, in the nesting order of the machine."""
        loops = [a for a in axes if a.sort == TIME]
        return tuple(sorted(loops, key=lambda a: self.time.index(a.name) if a.name in self.time else len(self.time)))


def own(axes: Iterable[Axis]) -> tuple[Axis, ...]:
    """The register and vector axes: those whose points are cells."""
    return tuple(a for a in axes if a.sort in (REGISTER, VECTOR))


def held_loops(build: Build, output: Iterable[Axis], folds: Iterable[Axis]) -> tuple[Axis, ...]:
    """The loops of the output that stand inside a loop of a fold, on a core: each turn has cells of its own, which stay from turn to turn
    of the fold. Their extents are numbers."""
    first = min((build.time.index(a.name) for a in build.ordered(folds)), default=len(build.time))
    inside = (a for a in build.ordered(output) if build.core and isinstance(a.extent, Const))
    return tuple(a for a in inside if build.time.index(a.name) > first)


def point(axes: Iterable[Axis]) -> tuple[Term, ...]:
    """The index that names the cell of a point."""
    return tuple(Var(a.name) for a in axes)


def loops(axes: Sequence[Axis], body: tuple[Step, ...], span: Span) -> tuple[Step, ...]:
    """The body inside one loop for each axis, the first outermost."""
    for axis in reversed(axes):
        body = (For(axis, body, span),)
    return body


def guarded(parts: Sequence[Term], body: tuple[Step, ...], span: Span) -> tuple[Step, ...]:
    """The body inside `if`, or itself when there is nothing to ask."""
    return (If(conjunction(*parts), body, span),) if parts else body


def cells(build: Build, axes: Sequence[Axis], body: tuple[Assign, ...], span: Span) -> tuple[Step, ...]:
    """The assignments at every cell: register loops, and innermost one vector loop if an access of theirs is contiguous in it."""
    looked = [read for step in body for read in reads(step.value)]
    memory = [s.index for s in body if s.target in build.tensors] + [r.index for r in looked if r.tensor in build.tensors]
    tiles = [r.index for r in looked if r.tensor in build.tiles]  # shared memory is read wide without being asked
    wide = next((a for index in memory for a in axes if a.sort == VECTOR and contiguous(index, a.name)), None)
    wide = wide or next((a for index in tiles for a in axes if neighbours(index, a)), None)
    rest = tuple(a if a.sort == TIME or build.core else replace(a, sort=REGISTER) for a in axes if a != wide)
    return loops(rest + ((replace(wide, sort=VECTOR),) if wide else ()), body, span)


def neighbours(index: tuple[Term, ...], axis: Axis) -> bool:
    """Whether an axis of 2, 4, 6, … cells walks along the last axis of an access, element by element.

    >>> r, t = Axis("r", Const(4)), Var("t")
    >>> neighbours((t, t * 4 + Var("r")), r), neighbours((t, Var("r") * 4 + t), r)
    (True, False)
    """
    even = isinstance(axis.extent, Const) and axis.extent.value % 2 == 0
    return even and contiguous(index, axis.name) and polynomial(index[-1]).get((Var(axis.name),)) == 1


def at(term: Term, values: Mapping[str, Term]) -> Term:
    """The term with factors replaced, and casts of what became numbers done.

    >>> at(App("cast", (Var("k"),), "f32"), {"k": Const(0)})
    Const(value=0.0, dtype='f32')
    """

    @memoised
    def done(inner: Term) -> Term:
        inner = rebuild(inner, done)
        match inner:
            case App("cast", (Const(int(value), "index"),), dtype) if dtype != "index":
                return Const(float(value) if dtype in FLOATS else value, dtype)
        return inner

    return done(substitute(term, values))


def contiguous(index: tuple[Term, ...], name: str) -> bool:
    """Whether the last axis of an access carries the factor, and no other axis does.

    >>> i, v = Var("i"), Var("v")
    >>> contiguous((i, i * 4 + v), "v"), contiguous((v, i), "v"), contiguous((), "v")
    (True, False, False)
    """
    return bool(index) and name in variables(index[-1]) and not any(name in variables(t) for t in index[:-1])
