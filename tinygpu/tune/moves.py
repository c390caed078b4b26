"""Which actions there are at a state, drawn at random, those that break a rule left out.

    state ─drawn→ action ─rules→ state          and `identity`, from which any search may start: each element on the grid, each fold in time

Comes in: an op, with the other sides of its theorems, a state and a source of chance. Goes out: an action with the state that it leads to. The one idea: whoever searches sees legal states only, so a
walk of any length ends in a machine.
"""

from __future__ import annotations

from functools import lru_cache
from random import Random

from tinygpu.model.op import Op
from tinygpu.record import dataclass, replace
from tinygpu.tune.actions import Action, Carry, Edit, Launches, Merge, Number, Say, Split, Swap, Unsay, done, free_name
from tinygpu.tune.clauses import restated, sayable, stayed
from tinygpu.tune.facts import Group, Names, folded, group_of, groups
from tinygpu.tune.first import first
from tinygpu.tune.rules import WIDE, broken
from tinygpu.tune.sides import side
from tinygpu.tune.state import CPU, ORDERED, Factor, Nest, State, ordered

NUMBERS = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256, 512)
LEVELS = {CPU: ("core", "time", "register", "simd")}
OF_ANY = ("grid", "block", "time", "register", "vector")
DEEPEST = 4  # digits of an index
KINDS = ("split", "split", "number", "number", "merge", "carry", "swap", "say", "say", "restate", "unsay")
ELSEWHERE = 30  # of so many actions one goes to other launches
TRIES = 60


@dataclass(frozen=True, slots=True)
class Space:
    """The states of an op on a device; `sides` are the ops that theorems say are the same."""

    op: Op
    device: str = ""
    sides: tuple[Op, ...] = ()
    sizes: tuple[tuple[str, int], ...] = ()  # at which it is to be fast

    def of(self, state: State) -> Op:
        """The op whose equations a state evaluates."""
        if state.beside:
            return side(self.op, state.beside, state.via)
        return next((side for side in self.sides if side.via and side.via.name == state.via), self.op)

    def identity(self, op: Op | None = None, together: bool = True) -> State:
        """Each element on the grid, each fold in time; on a GPU the last index of a launch is shared out to a block of threads."""
        op = op or self.op
        parts = groups(op, together)
        return State(op.family, tuple(self._plain(op, g, len(parts) > 1) for g in parts), self.device, _via(op))

    @property
    def starts(self) -> tuple[State, ...]:
        """Where a search may begin."""
        return _starts(self)

    def begun(self) -> tuple[State, ...]:
        """What rules make, and the identities: of the op, and of the other sides."""
        every = [replace(s, via=s.via or _via(op)) for op in (self.op, *self.sides) for s in first(op, self.device)]
        every += [self.identity(op, together) for op in (self.op, *self.sides) for together in (True, False)]
        return tuple(s for s in dict.fromkeys(every) if self.legal(s))

    def _plain(self, op: Op, group: Group, several: bool) -> Nest:
        names, top = Names(op), levels(self.device)[0]
        inner = {a.name for e in group.equations for a in folded(e)}
        every = dict.fromkeys((*group.rows, *group.columns))
        cuts: dict[str, tuple[Factor, ...]] = {i: (Factor(i, "time" if i in inner or i not in group.rows else top),) for i in every}
        if self.device != CPU and (group.rows or group.along):
            last = group.rows[-1] if group.rows else [*group.along.values()][-1]
            outer = "grid" if group.rows else "time"
            cuts[last] = (Factor(names.new(last, "b"), outer), Factor(names.new(last, "t"), "block", 128))
        loops = tuple(f.name for cut in cuts.values() for f in cut if f.level == "time")
        return Nest(group.names if several else (), tuple(cuts.items()), ordered(tuple(cuts.items()), loops))

    def legal(self, state: State) -> bool:
        """Whether no rule is broken."""
        return next(broken(state, self.of(state)), None) is None

    def step(self, state: State, chance: Random) -> tuple[Action, State] | None:
        """One action and where it leads; None where chance finds none."""
        for _ in range(TRIES):
            number = chance.randrange(len(state.nests) or 1)
            stays = state.nests and chance.randrange(ELSEWHERE)
            edit = self.drawn(state, number, chance) if stays else self.elsewhere(state, number, chance)
            found = done(state, Action(number, edit)) if edit is not None else None
            if found is not None and self.legal(found[0]):
                return Action(number, edit), found[0]  # type: ignore[arg-type]
        return None

    def elsewhere(self, state: State, number: int, chance: Random) -> Launches | None:
        """Other launches: of the op, or of the other side of a theorem; or these with values that stay, at sizes up to a number."""
        if state.nests and chance.randrange(2):
            return stayed(state, number, self.of(state), dict(self.sizes), chance)
        state = chance.choice(self.starts)
        return Launches(state.nests, state.via, state.where, state.device, state.body, state.beside)

    def walk(self, chance: Random, steps: int) -> State:
        """A state that so many actions lead to."""
        state = self.identity()
        for _ in range(steps):
            found = self.step(state, chance)
            state = found[1] if found else state
        return state

    def drawn(self, state: State, number: int, chance: Random) -> Edit | None:
        """An edit of a launch, legal or not."""
        op, nest = self.of(state), state.nests[number]
        group = group_of(op, nest.equations)
        mine = group.indices
        index, cut = chance.choice([(i, c) for i, c in nest.cuts if i in mine] or nest.cuts)
        place = chance.randrange(len(cut))
        turn = chance.randint(0, len(nest.order))
        match chance.choice(KINDS):
            case "split" if len(cut) < DEEPEST:
                level = chance.choice(levels(state.device))
                at = len(cut) if level in WIDE else chance.randint(1, len(cut))
                factor = Factor(free_name(nest, index, level[0], frozenset(Names(op).taken)), level, _extent(level, chance))
                return Split(index, at, factor, turn)
            case "merge":
                return Merge(index, place)
            case "number":
                return Number(index, place, _extent(cut[place].level, chance))
            case "carry":
                return Carry(index, place, chance.choice(levels(state.device)), turn)
            case "swap":
                return _swap(nest, chance)
            case "say" if found := list(sayable(op, nest, group, state.device)):
                return Say(chance.choice(found), chance.randint(0, len(nest.said)))
            case "restate" | "unsay" as word if nest.said:
                return restated(nest, chance, state.device) if word == "restate" else Unsay(chance.randrange(len(nest.said)))
        return None


@lru_cache(16)
def _starts(space: Space) -> tuple[State, ...]:
    return space.begun()


def _via(op: Op) -> str:
    """The theorem by which an op is another one."""
    return op.via.name if op.via else ""


def levels(device: str) -> tuple[str, ...]:
    """Who may carry a factor."""
    return LEVELS.get(device, OF_ANY)


def _swap(nest: Nest, chance: Random) -> Swap | None:
    level = chance.choice(ORDERED)
    names = nest.of(level)
    if len(names) < 2:
        return None
    first_, second = sorted(nest.order.index(n) for n in chance.sample(names, 2))
    return Swap(first_, second)


def _extent(level: str, chance: Random) -> int:
    return chance.choice(WIDE.get(level, NUMBERS))
