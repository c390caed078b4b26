"""Plans: each equation of a launch over the factors of its machine, ready to become loops.

Comes in: a phase (an equation and its owner arrow). Goes out: the value pulled back to factors, so that a fold over `k` is a
fold over `ko, ki`, and what is stored, kept for later equations, or computed again where it is used.
The one idea: pulling back is substitution along the owner arrow, and a fold takes with it the parts of the guard that are its own.
"""

from __future__ import annotations

from collections.abc import Mapping

from tinygpu.category.decide import holds
from tinygpu.category.region import Region
from tinygpu.category.simplify import simplify
from tinygpu.category.term import (
    App,
    Axis,
    Const,
    Fold,
    Read,
    Term,
    Var,
    conjunction,
    conjuncts,
    equal,
    exchange,
    memoised,
    negation,
    reads,
    rebuild,
    select,
    substitute,
    text,
    variables,
    walk,
)
from tinygpu.derive.nest import REGISTER, TIME, VECTOR, Build, at, held_loops, own, point
from tinygpu.derive.reduce import collective
from tinygpu.derive.scan import Scan
from tinygpu.derive.tile import fills, localized
from tinygpu.diagnostic import Span
from tinygpu.model.across import atomic, incomplete
from tinygpu.model.machine import Launch, Phase
from tinygpu.model.problems import refused
from tinygpu.record import dataclass, field, replace


@dataclass(frozen=True, slots=True)
class Online:
    """How a fold goes on in a turn of `loop`: what its cells are multiplied by first, what they hold after it, and the cells that keep what
    was there before, if another fold asks for that."""

    loop: Axis
    change: Term
    known: Term
    before: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """One equation over factors.

    `index` is where its value is stored; `cells` and `time` are the factors of the output that are registers and loops;
    `parts` guard the output, `absent` says that this worker is the one of its replicas that stores; `kept` is the name of the
    local that later equations read, if any do. `apart` are the factors that no `if` around its steps may ask about, since threads
    that differ in them work together; `ways` are the user's words on how. With a monoid as `update`, the target is updated atomically; with a `scan`, `kept` is what it leaves in each cell; `induced`, it reads a state; `online`, it goes on in a loop. `plain` is its value without tiles of what goes on.
    """

    target: str
    dtype: str
    index: tuple[Term, ...]
    value: Term
    cells: tuple[Axis, ...]
    time: tuple[Axis, ...]
    parts: tuple[Term, ...]
    absent: tuple[Term, ...]
    stored: bool
    kept: str = ""
    span: Span = field(default_factory=Span, compare=False)
    apart: frozenset[str] = frozenset()
    update: str = ""
    ways: Mapping[str, str] = field(default_factory=dict)
    scan: Scan | None = None
    induced: bool = False
    online: Online | None = None
    plain: Term | None = None

    def goes_on(self, loop: Axis) -> bool:
        """Whether it is a fold that goes on in that loop, which is none of what follows then."""
        return self.online is not None and self.online.loop == loop


Cells = Mapping[Term, Term]
NONE: Cells = {}


def plan(
    build: Build, phase: Phase, launch: Launch, value: Term, made: Mapping[str, Plan], stored: bool, kept: str, cells: Cells = NONE
) -> Plan:
    """`phase → plan`: everything over factors. `cells` are reads of what is held already, by a read that stands for each."""
    equation, pull = phase.equation, Pull.along(build, phase, made)
    output, free = pull.output, pull.scope
    folded = (phase.owner.domain.names - free) | pull.beyond
    pulled = exchange(pull.value(value), cells)
    absent = tuple(equal(Var(a.name), 0) for a in launch.grid + launch.block if a.name not in free | pull.beyond)
    mine = tuple(p for p in pull.parts if not variables(p) & folded)
    stay = held_loops(build, output, over(pulled))
    loops = tuple(a for a in build.ordered(output) if a not in stay)
    own_cells = tuple(a for a in output if a in stay or a in own(output))
    together = any(isinstance(t, Fold) and collective(t) for t in walk(pulled))
    apart = frozenset(a.name for a in launch.block) if together or fills(pulled, build.tiles) else frozenset()
    begun = reached(mine, phase.owner.domain.axes) if apart else ()
    return Plan(
        equation.target, equation.value.dtype, pull.index, pulled, own_cells, loops, (*begun, *mine), absent, stored, kept, equation.span,
        apart, pulled.monoid if atomic(phase) and isinstance(pulled, Fold) else "", phase.ways,
        induced=any(r.tensor in {s.target for s in build.states} for r in reads(pulled)),
    )  # fmt: skip


def reached(parts: tuple[Term, ...], axes: tuple[Axis, ...]) -> tuple[Term, ...]:
    """Whether a block has anything to do, for threads that work together: the first element that it comes to is inside. Asked where an
    index has several factors of the grid or of loops, since only then a block may have nothing at all.

    >>> g, b, t, n = Axis("g", Var("G"), "grid"), Axis("b", Const(8), "grid"), Axis("t", Const(4), "block"), Var("n")
    >>> parts = (Var("g") * 32 + Var("b") * 4 + Var("t") < n, Var("b") * 4 + Var("t") < n)
    >>> [text(part) for part in reached(parts, (g, b, t))]
    ['g*32 + b*4 < n']
    """
    found: list[Term] = []
    inside = {a.name: Const(0) for a in axes if a.sort in ("block", REGISTER, VECTOR)}
    several = {a.name for a in axes if a.sort in ("grid", TIME)}
    for part in parts:
        match part:
            case App("lt", (index, extent)) if not variables(extent) & inside.keys() and len(variables(index) & several) > 1:
                found.append(simplify(substitute(index, inside), Region(axes)) < extent)
    return tuple(p for p in dict.fromkeys(found) if p not in parts and holds(p, Region(axes)) is not True)


def whole_vector(part: Term, axes: tuple[Axis, ...], where: tuple[Term, ...]) -> Term:
    """A part of a guard asked once for a whole vector, where the preconditions say that vectors lie inside or outside, never across.

    >>> q, v, n = Var("q"), Axis("v", Const(4), "vector"), Var("n")
    >>> text(whole_vector(q * 4 + Var("v") < n, (v,), (equal(n % 4, 0),))), text(whole_vector(q * 4 + Var("v") < n, (v,), ()))
    ('q*4 < n', 'q*4 + v < n')
    """
    match part:
        case App("lt", (index, extent)):
            for axis in (a for a in axes if a.sort == "vector" and a.name in variables(index)):
                first = simplify(substitute(index, {axis.name: Const(0)}))
                if simplify(index - first) != Var(axis.name):
                    continue
                box = Region(axes, where)
                if all(holds(equal(term % axis.extent, 0), box) is True for term in (first, extent)):
                    return first < extent
    return part


@dataclass(frozen=True, slots=True)
class Pull:
    """The functor along the owner arrow of a phase: terms over indices to terms over factors. `owner` are the indices and `parts` the guard,
    over factors; `scope` are the factors known so far, at first those of the output; `beyond` are grid factors of folds that are combined
    later, by atomic updates or in another launch."""

    build: Build
    phase: Phase
    owner: Mapping[str, Term]
    parts: tuple[Term, ...]
    made: Mapping[str, Plan]
    scope: frozenset[str]
    beyond: frozenset[str]

    @staticmethod
    def along(build: Build, phase: Phase, made: Mapping[str, Plan]) -> Pull:
        """The functor of a phase, where some values are `made` before."""
        domain, box = phase.owner.domain, Region(phase.owner.domain.axes)
        owner = {name: simplify(t, box) for name, t in phase.owner.by_axis.items()}
        free = frozenset().union(*(variables(owner[a.name]) for a in phase.equation.axes)) & domain.names
        parts = conjuncts(simplify(conjunction(*(whole_vector(p, domain.axes, build.where) for p in domain.guard)), box))
        beyond = atomic(phase).union(a.name for a in incomplete(phase))
        return Pull(build, phase, owner, parts, {name: one for name, one in made.items() if one.kept}, free, beyond)

    @property
    def index(self) -> tuple[Term, ...]:
        """Where the value is stored."""
        return tuple(self.owner[a.name] for a in self.phase.equation.axes)

    @property
    def output(self) -> tuple[Axis, ...]:
        """The factors of the output."""
        return tuple(a for a in self.phase.owner.domain.axes if a.name in self.scope)

    def value(self, value: Term) -> Term:
        """`value over indices → value over factors`. Raises TG531 where a loop of the output stands inside one of a fold."""
        domain = self.phase.owner.domain
        pulled = localized(at(self(value), {}), self.build.tiles, domain)
        pulled = taken(simplify(pulled, Region(domain.axes)))  # the ranges of the factors decide a part of many a padded read
        check_order(self.build, self.output, pulled, self.phase)
        return pulled

    @memoised
    def __call__(self, term: Term) -> Term:
        """`term over indices → term over factors`."""
        match term:
            case Var(name):
                return self.owner.get(name, term)
            case Fold():
                return self.fold(term)
        term = rebuild(term, self)
        return self.keep(term) if isinstance(term, Read) and term.tensor in self.made else term

    def fold(self, fold: Fold) -> Fold:
        """A fold over indices is a fold over the factors of its indices, where the guard says that there is such a point."""
        bound = frozenset().union(*(variables(self.owner[a.name]) for a in fold.axes))
        domain = self.phase.owner.domain
        axes = tuple(a for a in domain.axes if a.name in bound)
        for axis in axes:
            if axis.name in self.scope and axis.name not in self.beyond:
                raise refused("TG131.folded", fold.span, name=axis.name, monoid=fold.monoid)
        scope = self.scope | {a.name for a in axes}
        mine = (p for p in self.parts if variables(p) & bound and variables(p) & domain.names <= scope)
        inner = replace(self, scope=scope)
        guard = conjunction(*mine, *conjuncts(inner(fold.guard)))
        return Fold(fold.monoid, axes, guard, inner(fold.body), fold.dtype, fold.span)

    def keep(self, read: Read) -> Read:
        """An earlier value at its own owner is the local that holds it."""
        source = self.made[read.tensor]
        if read.index != source.index:
            here, there = (", ".join(map(text, index)) for index in (read.index, source.index))
            words = {"name": read.tensor, "names": ", ".join("abcdefgh"[: len(read.index)]), "target": source.target}
            folded = {a.name for a in over(source.value)} & frozenset().union(*map(variables, read.index))
            words["loop"] = min(folded, default="")
            raise refused("TG530.same" if folded else "TG530.elsewhere", read.span, source.span, here=here, there=there, **words)
        return Read(source.kept, point(source.cells), read.dtype, read.span)


@memoised
def taken(term: Term) -> Term:
    """The term in which a fold in a branch folds only where the branch is taken, since its reads may be in bounds only there."""
    term = rebuild(term, taken)
    match term:
        case App("select", (condition, then, otherwise)):
            return select(condition, under(then, condition), under(otherwise, negation(condition)))
    return term


@memoised
def under(term: Term, condition: Term) -> Term:
    """The term with its folds guarded by a condition, which is no fold itself.

    >>> from tinygpu.category.term import TRUE
    >>> fold = Fold("sum", (Axis("k", Var("K")),), TRUE, Read("x", (Var("i") - 1, Var("k")), "f32"), "f32")
    >>> text(under(fold, Var("i") > 0).guard)
    'i > 0'
    """
    if any(isinstance(t, Fold) for t in walk(condition)):
        return term
    if isinstance(term, Fold):
        return replace(term, guard=conjunction(condition, term.guard))
    return rebuild(term, lambda inner: under(inner, condition)) if isinstance(term, App | Read) else term


def over(value: Term) -> tuple[Axis, ...]:
    """The axes of the folds of a value."""
    return tuple(a for t in walk(value) if isinstance(t, Fold) for a in t.axes)


def check_order(build: Build, output: tuple[Axis, ...], value: Term, phase: Phase) -> None:
    """Every loop of the output stands outside every loop of a fold. Raises TG531."""
    inner = [a.name for t in walk(value) if isinstance(t, Fold) for a in build.ordered(t.axes)]
    stay = held_loops(build, output, over(value))
    outer = [a.name for a in build.ordered(output) if a not in stay]
    wrong = [(o, i) for o in outer for i in inner if build.time.index(o) > build.time.index(i)]
    if wrong:
        o, i = wrong[0]
        order = ", ".join([n for n in build.time if n in outer] + [n for n in build.time if n not in outer])
        raise refused("TG531.order", phase.span, outer=o, inner=i, order=order)
