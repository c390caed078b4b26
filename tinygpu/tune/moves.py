"""Which actions there are at a state, drawn at random, those that break a rule left out.

    state ─drawn→ action ─rules→ state          and `identity`, from which any search may start: each element on the grid, each fold in time

Comes in: an op, a state and a source of chance. Goes out: an action with the state that it leads to. The one idea: whoever searches sees legal states only, so a walk of any length ends in a machine.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from tinygpu.category.term import Var
from tinygpu.model.op import Op
from tinygpu.record import dataclass
from tinygpu.syntax import tree
from tinygpu.tune.actions import Action, Carry, Edit, Merge, Number, Split, Stage, Swap, Unstage, done, free_name
from tinygpu.tune.facts import Group, accesses, folded, groups
from tinygpu.tune.first import Names
from tinygpu.tune.rules import WIDE, broken
from tinygpu.tune.state import CPU, Factor, Nest, State

NUMBERS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256, 512)
LEVELS = {"": ("grid", "block", "time", "register", "vector"), CPU: ("core", "time", "register", "simd")}
DEEPEST = 4  # digits of an index
KINDS = ("split", "split", "number", "number", "merge", "carry", "swap", "stage", "stage")
TRIES = 60


@dataclass(frozen=True, slots=True)
class Space:
    """The states of an op on a device."""

    op: Op
    device: str = ""

    @property
    def groups(self) -> tuple[Group, ...]:
        """The launches."""
        return groups(self.op)

    def identity(self) -> State:
        """Each element on the grid, each fold in time; on a GPU the last index of a launch is shared out to a block of threads."""
        several = len(self.groups) > 1
        return State(self.op.family, tuple(self._plain(g, several) for g in self.groups), self.device)

    def _plain(self, group: Group, several: bool) -> Nest:
        names, top = Names(self.op), LEVELS[self.device][0]
        inner = {a.name for e in group.equations for a in folded(e)}
        every = dict.fromkeys((*group.rows, *group.columns))
        cuts: dict[str, tuple[Factor, ...]] = {i: (Factor(i, "time" if i in inner or i not in group.rows else top),) for i in every}
        if not self.device and group.rows:
            last = group.rows[-1]
            cuts[last] = (Factor(names.new(last, "b"), "grid"), Factor(names.new(last, "t"), "block", 128))
        order = tuple(f.name for cut in cuts.values() for f in cut if f.level == "time")
        return Nest(group.names if several else (), tuple(cuts.items()), order)

    def legal(self, state: State) -> bool:
        """Whether no rule is broken."""
        return next(broken(state, self.op), None) is None

    def step(self, state: State, chance: Random) -> tuple[Action, State] | None:
        """One action and where it leads; None where chance finds none."""
        for _ in range(TRIES):
            number = chance.randrange(len(state.nests))
            edit = self.drawn(state.nests[number], self.groups[number], chance)
            found = done(state, Action(number, edit)) if edit is not None else None
            if found is not None and self.legal(found[0]):
                return Action(number, edit), found[0]  # type: ignore[arg-type]
        return None

    def walk(self, chance: Random, steps: int) -> State:
        """A state that so many actions lead to."""
        state = self.identity()
        for _ in range(steps):
            found = self.step(state, chance)
            state = found[1] if found else state
        return state

    def drawn(self, nest: Nest, group: Group, chance: Random) -> Edit | None:
        """An edit, legal or not."""
        index, cut = chance.choice(nest.cuts)
        place = chance.randrange(len(cut))
        match chance.choice(KINDS):
            case "split" if len(cut) < DEEPEST:
                level = chance.choice(LEVELS[self.device])
                at = len(cut) if level in WIDE else chance.randint(1, len(cut))
                factor = Factor(free_name(nest, index, level[0], frozenset(Names(self.op).taken)), level, _extent(level, chance))
                return Split(index, at, factor, chance.randint(0, len(nest.order)))
            case "merge":
                return Merge(index, place)
            case "number":
                return Number(index, place, _extent(cut[place].level, chance))
            case "carry":
                return Carry(index, place, chance.choice(LEVELS[self.device]), chance.randint(0, len(nest.order)))
            case "swap" if len(nest.order) > 1:
                first, second = sorted(chance.sample(range(len(nest.order)), 2))
                return Swap(first, second)
            case "stage":
                return self._staged(nest, group, chance)
        return None

    def _staged(self, nest: Nest, group: Group, chance: Random) -> Edit | None:
        found = list(staged(self.op, group))
        if not found:
            return None
        access = chance.choice(found)
        if any(s.access == access for s in nest.stages):
            return Unstage(access)
        return Stage(access, chance.choice(nest.order), len(nest.stages)) if nest.order else None


def staged(op: Op, group: Group) -> Iterator[tree.Cell]:
    """What may be staged: what folds read of memory."""
    made = {e.target for e in group.equations}
    for equation in group.equations:
        for read in accesses(equation):
            if read.tensor not in made and len(read.index) > 1 and len({*read.index}) == len(read.index):
                yield tree.Cell(read.tensor, tuple(tree.Name(i.name) for i in read.index if isinstance(i, Var)))


def _extent(level: str, chance: Random) -> int:
    return chance.choice(WIDE.get(level, NUMBERS))
