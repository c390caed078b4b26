"""Values of several components, which a kernel keeps in a cell for each: put together again.

    acc_m, acc_s = …        becomes        acc ⊕= pack(m, s)        where the new components are those of acc ⊕ pack(m, s), term by term

Comes in: the names that a function writes, the monoids of its op, and runs of assignments. Goes out: groups of names that are one cell, and
for a run one step for each cell that it changes. The one idea: what is combined is guessed from the names, and then compared.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from tinygpu.category.carrier import pack, part
from tinygpu.category.monoid import MONOIDS
from tinygpu.category.term import App, Const, Fold, Read, Term, reads, rebuild, walk
from tinygpu.model.op import Op
from tinygpu.program.step import Assign
from tinygpu.record import dataclass
from tinygpu.validate.cpu_names import Unread

Key = tuple[str, tuple[Term, ...]]


@dataclass(frozen=True, slots=True)
class Group:
    """The cells `prefix_component` of one value of a carrier, which is also the name of its monoid."""

    prefix: str
    carrier: str

    @property
    def components(self) -> tuple[tuple[str, str], ...]:
        definition = MONOIDS[self.carrier].definition
        assert definition is not None
        return definition.carrier.components


@dataclass(frozen=True, slots=True)
class Role:
    """What a name is to a group: which component, of the cell itself (""), of its pieces (`parts`), or of a step (`in`, `out`)."""

    group: Group
    place: int
    kind: str


def groups_of(names: set[str], op: Op) -> dict[str, Role]:
    """The roles of names that are written, by name."""
    folds = (t.monoid for e in op.equations for t in walk(e.value) if isinstance(t, Fold))
    found: dict[str, Role] = {}
    for carrier in sorted({m for m in folds if MONOIDS[m].definition is not None}):
        for group in _groups(names, carrier):
            for place, (component, _) in enumerate(group.components):
                for kind in ("", "parts", "in", "out"):
                    found[f"{group.prefix}_{component}{'_' if kind else ''}{kind}"] = Role(group, place, kind)
    return found


def _groups(names: set[str], carrier: str) -> Iterator[Group]:
    definition = MONOIDS[carrier].definition
    assert definition is not None
    first = f"_{definition.carrier.components[0][0]}"
    for prefix in sorted(n.removesuffix(first) for n in names if n.endswith(first)):
        if all(f"{prefix}_{component}" in names for component, _ in definition.carrier.components):
            yield Group(prefix, carrier)


class Run:
    """Assignments one after the other: the new components of every cell, over what all cells were before."""

    def __init__(self) -> None:
        self.now: dict[Key, dict[int, Term]] = {}

    def seen(self, term: Term, node: ast.AST) -> Term:
        """A term with what has been written in the run put in."""
        match term:
            case App("part", (Read(name, index), Const(int(place)))) if (name, index) in self.now:
                return self.now[name, index].get(int(place), term)
            case Read(name, index) if any(name == other for other, _ in self.now):
                if all(at != index and _apart(at, index) for other, at in self.now if other == name):
                    return term
                raise Unread(node, f"{name} is read while it is written")
        return rebuild(term, lambda t: self.seen(t, node))

    def write(self, name: str, index: tuple[Term, ...], place: int, term: Term) -> None:
        self.now.setdefault((name, index), {})[place] = term

    def whole(self, name: str, carriers: dict[str, Group]) -> bool:
        """Whether every component of a cell of that name has been written."""
        return any(other == name and len(new) == len(carriers[name].components) for (other, _), new in self.now.items())

    def steps(self, node: ast.AST, carriers: dict[str, Group], given: dict[str, dict[int, Term]]) -> Iterator[Assign]:
        """One step for each cell that was written, in an order in which each sees what all cells were before the run.

        `given` are the terms behind `prefix_component_in`, by prefix.
        """
        waiting = list(self._steps(node, carriers, given))
        while waiting:
            ready = next((s for s in waiting if not any(_needs(other, s) for other in waiting if other is not s)), None)
            if ready is None:
                raise Unread(node, "values of which each depends on what the other was before")
            waiting.remove(ready)
            yield ready

    def _steps(self, node: ast.AST, carriers: dict[str, Group], given: dict[str, dict[int, Term]]) -> Iterator[Assign]:
        for (name, index), new in self.now.items():
            group = carriers[name]
            before = Read(name, index, group.carrier)
            parts = tuple(new.get(n, part(before, n, d)) for n, (_, d) in enumerate(group.components))
            if not any(r.tensor == name and r.index == index for p in parts for r in reads(p)):
                yield Assign(name, index, pack(parts, group.carrier))
                continue
            value = _combined(group, before, parts, given.get(group.prefix, {}))
            if value is None:
                raise Unread(node, f"the components of {name} are not combined as those of its carrier")
            yield Assign(name, index, value, group.carrier)


def _needs(step: Assign, other: Assign) -> bool:
    """Whether a step looks at what another one writes."""
    seen = (r for t in (*step.index, step.value) for r in reads(t))
    return any(r.tensor == other.target and not _apart(r.index, other.index) for r in seen)


def _apart(a: tuple[Term, ...], b: tuple[Term, ...]) -> bool:
    """Whether two places are never one: their difference is a number other than 0."""
    from tinygpu.category.affine import linear

    return any(not (d := linear(x - y)).parts and d.constant != 0 for x, y in zip(a, b, strict=True))


def _combined(group: Group, before: Read, parts: Sequence[Term], given: dict[int, Term]) -> Term | None:
    """The value that, combined with the cell, gives these components."""
    definition = MONOIDS[group.carrier].definition
    assert definition is not None
    others = {r for p in parts for r in reads(p) if r.dtype == group.carrier and r != before}
    tries = [tuple(part(r, n, d) for n, (_, d) in enumerate(group.components)) for r in sorted(others, key=repr)]
    lifted = tuple(given.get(n, definition.lift[n]) for n in range(len(parts)))
    for components in (*tries, lifted):
        value = pack(components, group.carrier)
        if definition.combined(before, value) == tuple(parts):
            return value
    return None
