"""A state of the search: a machine as a person writes it, as data.

    State ≅ tree.Machine ≅ text          an index ↦ its factors, slowest first, each with the level that carries it

Comes in: a state, or the tree of a machine. Goes out: the other one. The one idea: a state has nothing that its text has not, so whatever is searched is read, edited and proved like what
was written by hand; what no action looks into stands in it as it was written.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from tinygpu.record import dataclass, replace
from tinygpu.syntax import tree
from tinygpu.syntax.format import format_file
from tinygpu.syntax.parse import parse

WORK = ("grid", "cluster", "block", "core")  # levels of the work object, as they are written
OWN = ("time", "register", "vector", "simd")  # levels of a thread's own
ORDERED = (*WORK, *OWN)  # levels in which the order of factors counts
BOX = "box"  # of an instruction: as far as the instruction goes
CPU = "cpu"
Said: TypeAlias = (
    tree.Stage | tree.Keep | tree.Prefetch | tree.Stream | tree.Reduce | tree.Online | tree.Use | tree.ForEquation
)  # clauses that are said, or not


@dataclass(frozen=True, slots=True)
class Factor:
    """A digit of an index, carried by a level; one without an extent goes as far as the index does."""

    name: str
    level: str
    extent: int | None = None


@dataclass(frozen=True, slots=True)
class Nest:
    """One launch: which equations, the cut of each index, the order of the factors of each level, and what else is said. Equations are named where there are several
    launches."""

    equations: tuple[str, ...]
    cuts: tuple[tuple[str, tuple[Factor, ...]], ...]
    order: tuple[str, ...] = ()
    said: tuple[Said, ...] = ()
    name: str = ""

    @property
    def factors(self) -> tuple[Factor, ...]:
        """All factors, index by index."""
        return tuple(f for _, cut in self.cuts for f in cut)

    @property
    def stages(self) -> tuple[tree.Stage, ...]:
        """Its tiles."""
        return tuple(c for c in self.said if isinstance(c, tree.Stage))

    @property
    def elsewhere(self) -> frozenset[str]:
        """The factors that only clauses for one equation place."""
        inside = (c for one in self.said if isinstance(one, tree.ForEquation) for c in one.clauses if isinstance(c, tree.Compute))
        items = (item for c in inside for b in c.bindings for item in _listed(b))
        return frozenset(i.name for i in items if isinstance(i, tree.Name | tree.Sized))

    @property
    def loops(self) -> tuple[str, ...]:
        """The factors that are loops, outermost first."""
        return self.of("time")

    def of(self, level: str) -> tuple[str, ...]:
        """The factors of a level, in order."""
        mine = {f.name for f in self.factors if f.level == level}
        return tuple(name for name in self.order if name in mine)


@dataclass(frozen=True, slots=True)
class State:
    """A machine of an op, or of the other side of a theorem `via`: its launches in order, for a device or for any, at sizes of which something is known."""

    op: str
    nests: tuple[Nest, ...]
    device: str = ""
    via: str = ""
    where: tuple[tree.Expr, ...] = ()
    body: tuple[tree.Clause, ...] = ()  # of a machine that is a program, which has no launches of its own
    beside: tuple[tree.Declaration, ...] = ()  # what comes with it: the op of the other side, and the theorem

    def alike(self, number: int) -> tuple[int, ...]:
        """The launches that evaluate the equations of one and are placed as it is: the first and the last one of a scan."""
        return tuple(n for n, other in enumerate(self.nests) if replace(other, name=self.nests[number].name) == self.nests[number])

    def tree(self, name: str) -> tree.Machine:
        """`State → tree`."""
        several = len(self.nests) > 1
        written = [_clauses(nest, several, "core" if self.device == CPU else "grid") for nest in self.nests]
        names = [n.name or _made(n.equations) for n in self.nests if several]
        parts = tuple(tree.LaunchClause(launch, c) for launch, c in zip(names, written, strict=True)) if several else ()
        via = tree.Name(self.via) if self.via else None
        return tree.Machine(name, (tree.Name(self.op),), self.body or parts or written[0], self.device or None, self.where, via)

    def text(self, name: str) -> str:
        """`State → text`."""
        return format_file(tree.File((*self.beside, self.tree(name))))


def _made(equations: tuple[str, ...]) -> str:
    """The name of a launch that has none."""
    return f"make_{equations[-1]}" if equations else ""


def ordered(cuts: tuple[tuple[str, tuple[Factor, ...]], ...], loops: tuple[str, ...]) -> tuple[str, ...]:
    """All factors, level by level and index by index, but for the loops, whose order is given."""
    every = [(level, f.name) for level in ORDERED for _, cut in cuts for f in cut if f.level == level and level != "time"]
    return (*(name for level, name in every if level in WORK), *loops, *(name for level, name in every if level not in WORK))


def _clauses(nest: Nest, several: bool, top: str) -> tuple[tree.Clause, ...]:
    """Work of no factor is one turn of the `top` level."""
    named = {f.name: f for f in nest.factors}
    work = [(level, [named[name] for name in nest.of(level)]) for level in WORK if nest.of(level)] or [(top, [])]
    out: list[tree.Clause] = [tree.Equations(nest.equations)] if several and nest.equations else []
    out.append(tree.Work(tuple(tree.Level(level, tree.Group(tuple(map(_said, some)))) for level, some in work)))
    bindings = [_binding(index, cut) for index, cut in nest.cuts if (index,) != tuple(f.name for f in cut) or _short(cut)]
    out += [tree.Compute(tuple(bindings))] if bindings else []
    for level in OWN:
        out += [tree.Own(level, tuple(map(tree.Name, names)))] if (names := nest.of(level)) else []
    return (*out, *nest.said)


def _short(cut: tuple[Factor, ...]) -> bool:
    """Whether it is one factor of the thread's own that ends at a number."""
    return len(cut) == 1 and cut[0].level in OWN and cut[0].extent is not None


def _said(factor: Factor) -> tree.Expr:
    return tree.Name(factor.name) if factor.extent is None else tree.Sized(factor.name, tree.Number(str(factor.extent)))


def _binding(index: str, cut: tuple[Factor, ...]) -> tree.Binding:
    items = tuple(tree.Name(f.name) if f.level in (*WORK, BOX) else _said(f) for f in cut)
    return tree.Binding((index,), tree.Group(items))


# ── back ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def read_back(text: str) -> State | None:
    """`text → State`; None of a machine that says more than a state does."""
    *beside, found = parse(text).declarations
    state = state_of(found) if isinstance(found, tree.Machine) else None
    return state and replace(state, beside=tuple(beside))


def state_of(machine: tree.Machine, op: str = "") -> State | None:
    """`tree → State` of its op, or of one of its ops; None of a machine that says more than a state does."""
    launches = [c for c in machine.clauses if isinstance(c, tree.LaunchClause)]
    name = op or machine.ops[0].name
    via = machine.via.name if machine.via else ""
    if all(isinstance(c, tree.ProgramClause) for c in machine.clauses):
        return State(name, (), machine.arch or "", via, machine.where, machine.clauses)
    if name not in {one.name for one in machine.ops} or (launches and len(launches) != len(machine.clauses)):
        return None
    nests = [_nest(one.clauses, one.name) for one in launches] or [_nest(machine.clauses, "")]
    known = tuple(n for n in nests if n is not None)
    return State(name, known, machine.arch or "", via, machine.where) if len(known) == len(nests) else None


def _nest(clauses: tuple[tree.Clause, ...], name: str) -> Nest | None:
    if not all(isinstance(c, tree.Equations | tree.Work | tree.Compute | tree.Own | Said) for c in clauses):
        return None
    bound = [b for c in clauses if isinstance(c, tree.Compute) for b in c.bindings]
    if any(isinstance(c, tree.Compute) and c.equation for c in clauses) or any(len(b.indices) != 1 for b in bound):
        return None
    items = [item for c in clauses for item in _items(c)]
    if not all(isinstance(i, tree.Name) or (isinstance(i, tree.Sized) and isinstance(i.extent, tree.Number)) for i in items):
        return None
    carried = dict(_carried(clauses))
    cuts: dict[str, tuple[Factor, ...]] = {}
    for binding in bound:
        factors = tuple(_factor(item, carried) for item in _listed(binding))
        if None in factors:
            return None
        cuts[binding.indices[0]] = tuple(f for f in factors if f is not None)
    used = {f.name for cut in cuts.values() for f in cut}
    alone = {name: (Factor(name, level, extent),) for name, (level, extent) in carried.items() if name not in used}
    order = tuple(name for level in ORDERED for name, (one, _) in carried.items() if one == level)
    said = tuple(c for c in clauses if isinstance(c, Said))
    names = tuple(n for c in clauses if isinstance(c, tree.Equations) for n in c.names)
    every = {**cuts, **alone}
    return Nest(names, tuple(every.items()), order, said, name if name != _made(names) else "")


def _carried(clauses: tuple[tree.Clause, ...]) -> Iterator[tuple[str, tuple[str, int | None]]]:
    """Who carries which factor, and how far it goes."""
    for clause in clauses:
        if isinstance(clause, tree.Work):
            for level in clause.levels:
                yield from (
                    (f.name, (level.name, _number(f))) for f in level.factors.items if isinstance(f, tree.Name | tree.Sized)
                )
        if isinstance(clause, tree.Use):
            yield from (
                (one.extent.name, (BOX, None))
                for one in clause.indices.items
                if isinstance(one, tree.Sized) and isinstance(one.extent, tree.Name)
            )
        if isinstance(clause, tree.Own):
            yield from ((f.name, (clause.sort, _number(f))) for f in clause.factors)


def _items(clause: tree.Clause) -> Iterator[tree.Expr]:
    """The factors of a clause, as they are written."""
    match clause:
        case tree.Work(levels):
            yield from (item for level in levels for item in level.factors.items)
        case tree.Compute(bindings):
            yield from (item for b in bindings for item in _listed(b))
        case tree.Own(_, factors):
            yield from factors


def _listed(binding: tree.Binding) -> tuple[tree.Expr, ...]:
    return tuple(binding.value.items) if isinstance(binding.value, tree.Group) else (binding.value,)


def _number(item: tree.Expr) -> int | None:
    return int(item.extent.text) if isinstance(item, tree.Sized) and isinstance(item.extent, tree.Number) else None


def _factor(item: tree.Expr, carried: dict[str, tuple[str, int | None]]) -> Factor | None:
    if not isinstance(item, tree.Name | tree.Sized) or item.name not in carried:
        return None
    level, extent = carried[item.name]
    return Factor(item.name, level, extent if extent is not None else _number(item))
