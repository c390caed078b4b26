"""Kinds of states: those that differ in numbers alone are points of one family, which is proved once.

    state ↦ (its kind, its numbers)          the family of the kind, at the numbers = a proof of the machine

Comes in: states, and what came of them. Goes out: proofs. The one idea: a family costs what five of its points save, and most kinds have fewer, so it is looked for
when a kind is asked for again and again; and what is believed of a point is a `Proof` like any other.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from tinygpu import pipeline
from tinygpu.category.deadline import Expired, within
from tinygpu.category.node import forget
from tinygpu.diagnostic import TinygpuError
from tinygpu.model.free import Skeleton
from tinygpu.proof.family import judged
from tinygpu.proof.kernel import Family, Proof
from tinygpu.record import dataclass, field, replace
from tinygpu.syntax import tree
from tinygpu.syntax.format import format_file
from tinygpu.syntax.node import rewritten
from tinygpu.tune.rules import WIDE
from tinygpu.tune.state import Nest, State

Numbers: TypeAlias = dict[str, int]
AFTER = 8  # points of a kind that are proved by themselves before a family of it is looked for
CLOCK = 10.0  # seconds for that
NAME = "family"


def numbers_of(state: State) -> Numbers:
    """Its numbers by name, but for the lengths of vectors: of each launch those of its factors."""
    every = ((f"{f.name}_{n}", f) for n, nest in enumerate(state.nests) for f in nest.factors if f.level not in WIDE)
    return {name: f.extent for name, f in every if f.extent is not None}


def kind_of(state: State) -> State:
    """The state without these."""

    def bare(nest: Nest) -> Nest:
        cuts = ((i, tuple(replace(f, extent=f.extent and 0) if f.level not in WIDE else f for f in cut)) for i, cut in nest.cuts)
        return replace(nest, cuts=tuple(cuts))

    return replace(state, nests=tuple(map(bare, state.nests)))


def skeleton_of(text: str, state: State) -> Skeleton | None:
    """The machine of a kind, with names for its numbers, beside the text of its op; None where the language takes none."""
    machine, named = state.tree(NAME), numbers_of(state)

    def clauses(some: tuple[tree.Clause, ...], launch: int) -> tuple[tree.Clause, ...]:
        def change(node: Any) -> Any:
            known = isinstance(node, tree.Sized) and f"{node.name}_{launch}" in named
            return replace(node, extent=tree.Name(f"{node.name}_{launch}")) if known else node

        return tuple(rewritten(c, change) for c in some)

    parts = [c for c in machine.clauses if isinstance(c, tree.LaunchClause)]
    inside = tuple(replace(c, clauses=clauses(c.clauses, n)) for n, c in enumerate(parts)) if parts else clauses(machine.clauses, 0)
    free = tuple(tree.Param(name, low=tree.Number("1")) for name in named)
    try:
        file = format_file(tree.File((*state.beside, replace(machine, clauses=(*free, *inside)))))
        families = pipeline.load_text(f"{text}\n\n{file}").spec.families
    except TinygpuError:
        return None
    return next((one for one in families if one.name == NAME), None)


def family_of(text: str, state: State, clock: float = CLOCK) -> Family | None:
    """The family of a state's kind, if it is proved in so many seconds."""
    if not numbers_of(state) or (skeleton := skeleton_of(text, state)) is None:
        return None
    forget()
    try:
        with within(clock):
            found = judged(skeleton)
    except (TinygpuError, RecursionError, Expired):
        return None
    return found if isinstance(found, Family) else None


def alone(text: str, machine: str, name: str) -> Proof | None:
    """The proof of a machine by itself, beside the text of its op; None where there is none. Raises TinygpuError."""
    (one, *_) = (m for m in pipeline.load_text(f"{text}\n\n{machine}").machines if m.name == name)
    found = pipeline.check(one)
    return found if isinstance(found, Proof) else None


@dataclass(frozen=True, slots=True)
class Asked:
    """A state to be proved, with the family of its kind as bytes, if there is one; `now`, one is looked for first."""

    text: str
    state: State
    family: bytes = b""
    now: bool = False

    def proof(self, machine: str, name: str, say: Callable[..., None]) -> Proof | None:
        """Of the machine of that text and name, which is the state's; None where there is none. Says the `family` that was looked for. Raises TinygpuError."""
        family = pickle.loads(self.family) if self.family else None
        if self.now and (family := family_of(self.text, self.state)):
            say(family=pickle.dumps(family))
        if not isinstance(family, Family):
            return alone(self.text, machine, name)
        found = family.point(numbers_of(self.state))
        return found if isinstance(found, Proof) else None


@dataclass(slots=True)
class Kinds:
    """How often a search has asked for a kind, and the families that it has."""

    text: str
    times: Counter[State] = field(default_factory=Counter)
    families: dict[State, bytes] = field(default_factory=dict)

    def asked(self, state: State) -> Asked:
        """It is to be proved: of a family, if there is one; where its kind was asked for often enough, one is looked for, once."""
        kind = kind_of(state)
        self.times[kind] += 1
        return Asked(self.text, state, self.families.get(kind, b""), self.times[kind] == AFTER + 1)

    def said(self, state: State, known: Mapping[str, Any]) -> None:
        """What its process said."""
        if "family" in known:
            self.families[kind_of(state)] = known["family"]
