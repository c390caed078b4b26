"""A state of the search: a machine as a person writes it, as data.

    State ≅ tree.Machine ≅ text          an index ↦ its factors, slowest first, each with the level that carries it

Comes in: a state, or the tree of a machine. Goes out: the other one. The one idea: a state has nothing that its text has not, so whatever is searched is read, edited and proved like what
was written by hand.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.record import dataclass
from tinygpu.syntax import tree
from tinygpu.syntax.format import format_file
from tinygpu.syntax.parse import parse

WORK = ("grid", "block", "core")  # levels of the work object, as they are written
OWN = ("time", "register", "vector", "simd")  # levels of a thread's own
CPU = "cpu"


@dataclass(frozen=True, slots=True)
class Factor:
    """A digit of an index, carried by a level; one without an extent goes as far as the index does."""

    name: str
    level: str
    extent: int | None = None


@dataclass(frozen=True, slots=True)
class Staged:
    """A tile of what is read, at a loop or at the block."""

    access: tree.Cell
    at: str


@dataclass(frozen=True, slots=True)
class Nest:
    """One launch: which equations, the cut of each index, the order of the loops, and tiles. Equations are named where there are several launches."""

    equations: tuple[str, ...]
    cuts: tuple[tuple[str, tuple[Factor, ...]], ...]
    order: tuple[str, ...] = ()
    stages: tuple[Staged, ...] = ()

    @property
    def factors(self) -> tuple[Factor, ...]:
        """All factors, index by index."""
        return tuple(f for _, cut in self.cuts for f in cut)


@dataclass(frozen=True, slots=True)
class State:
    """A machine of an op: its launches in order, for a device or for any."""

    op: str
    nests: tuple[Nest, ...]
    device: str = ""

    def tree(self, name: str) -> tree.Machine:
        """`State → tree`."""
        several = len(self.nests) > 1
        written = [_clauses(nest, several, self.device) for nest in self.nests]
        parts = [tree.LaunchClause(f"make_{n.equations[-1]}", c) for n, c in zip(self.nests, written, strict=True) if several]
        return tree.Machine(name, (tree.Name(self.op),), tuple(parts) or written[0], self.device or None)

    def text(self, name: str) -> str:
        """`State → text`."""
        return format_file(tree.File((self.tree(name),)))


def _clauses(nest: Nest, several: bool, device: str) -> tuple[tree.Clause, ...]:
    work = [(level, [f for f in nest.factors if f.level == level]) for level in WORK]
    out: list[tree.Clause] = [tree.Equations(nest.equations)] if several else []
    out.append(tree.Work(tuple(tree.Level(level, tree.Group(tuple(map(_said, some)))) for level, some in work if some)))
    bindings = [_binding(index, cut) for index, cut in nest.cuts if (index,) != tuple(f.name for f in cut)]
    out += [tree.Compute(tuple(bindings))] if bindings else []
    for level in OWN:
        names = nest.order if level == "time" else tuple(f.name for f in nest.factors if f.level == level)
        out += [tree.Own(level, tuple(map(tree.Name, names)))] if names else []
    space = "core" if device == CPU else "shared"
    return (*out, *(tree.Stage(s.access, s.at, space) for s in nest.stages))


def _said(factor: Factor) -> tree.Expr:
    return tree.Name(factor.name) if factor.extent is None else tree.Sized(factor.name, tree.Number(str(factor.extent)))


def _binding(index: str, cut: tuple[Factor, ...]) -> tree.Binding:
    items = tuple(tree.Name(f.name) if f.level in WORK else _said(f) for f in cut)
    return tree.Binding((index,), tree.Group(items))


# ── back ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def read_back(text: str) -> State | None:
    """`text → State`; None of a machine that says more than a state does."""
    (found,) = parse(text).declarations
    return state_of(found) if isinstance(found, tree.Machine) else None


def state_of(machine: tree.Machine) -> State | None:
    """`tree → State`; None of a machine that says more than a state does."""
    launches = [c for c in machine.clauses if isinstance(c, tree.LaunchClause)]
    if len(machine.ops) != 1 or machine.where or machine.via or (launches and len(launches) != len(machine.clauses)):
        return None
    nests = [_nest(one.clauses) for one in launches] or [_nest(machine.clauses)]
    known = tuple(n for n in nests if n is not None)
    return State(machine.ops[0].name, known, machine.arch or "") if len(known) == len(nests) else None


def _nest(clauses: tuple[tree.Clause, ...]) -> Nest | None:
    if not all(isinstance(c, tree.Equations | tree.Work | tree.Compute | tree.Own | tree.Stage) for c in clauses):
        return None
    plain = all(
        not s.clauses and s.ring is None and s.by is None and not s.asynchronous for s in clauses if isinstance(s, tree.Stage)
    )
    bound = [b for c in clauses if isinstance(c, tree.Compute) for b in c.bindings]
    if not plain or any(isinstance(c, tree.Compute) and c.equation for c in clauses) or any(len(b.indices) != 1 for b in bound):
        return None
    carried = dict(_carried(clauses))
    cuts: dict[str, tuple[Factor, ...]] = {}
    for binding in bound:
        items = binding.value.items if isinstance(binding.value, tree.Group) else (binding.value,)
        factors = tuple(_factor(item, carried) for item in items)
        if None in factors:
            return None
        cuts[binding.indices[0]] = tuple(f for f in factors if f is not None)
    used = {f.name for cut in cuts.values() for f in cut}
    alone = {name: (Factor(name, level, extent),) for name, (level, extent) in carried.items() if name not in used}
    order = tuple(f.name for c in clauses if isinstance(c, tree.Own) and c.sort == "time" for f in c.factors)
    stages = tuple(Staged(c.access, c.at) for c in clauses if isinstance(c, tree.Stage))
    names = tuple(n for c in clauses if isinstance(c, tree.Equations) for n in c.names)
    every = {**cuts, **alone}
    owner = {f.name: index for index, cut in every.items() for f in cut}
    levels = [[owner[n] for n, (level, _) in carried.items() if level == one] for one in WORK]
    listed = _in_order(list(every), [*levels, list(cuts)]) or _in_order(list(every), levels)
    return None if listed is None else Nest(names, tuple((index, every[index]) for index in listed), order, stages)


def _in_order(indices: list[str], levels: list[list[str]]) -> list[str] | None:
    """The indices in an order that each level of the work has, too; None where two levels have them in other orders.

    >>> _in_order(["k", "i", "j"], [["j", "i"], ["i"]]), _in_order(["i", "j"], [["j", "i"], ["i", "j"]])
    (['k', 'j', 'i'], None)
    """
    out: list[str] = []
    while left := [i for i in indices if i not in out]:
        free = (i for i in left if not any(i in one and any(b in left and b != i for b in one[: one.index(i)]) for one in levels))
        if (found := next(free, None)) is None:
            return None
        out.append(found)
    return out


def _carried(clauses: tuple[tree.Clause, ...]) -> Iterator[tuple[str, tuple[str, int | None]]]:
    """Who carries which factor, and how far it goes."""
    for clause in clauses:
        if isinstance(clause, tree.Work):
            for level in clause.levels:
                yield from (
                    (f.name, (level.name, _number(f))) for f in level.factors.items if isinstance(f, tree.Name | tree.Sized)
                )
        if isinstance(clause, tree.Own):
            yield from ((f.name, (clause.sort, _number(f))) for f in clause.factors)


def _number(item: tree.Expr) -> int | None:
    return int(item.extent.text) if isinstance(item, tree.Sized) and isinstance(item.extent, tree.Number) else None


def _factor(item: tree.Expr, carried: dict[str, tuple[str, int | None]]) -> Factor | None:
    if not isinstance(item, tree.Name | tree.Sized) or item.name not in carried:
        return None
    level, extent = carried[item.name]
    return Factor(item.name, level, extent if extent is not None else _number(item))
