"""The part of a program in which the threads of a block can meet: what it does with shared memory, and its barriers and shuffles.

Comes in: a program. Goes out: one that has the same races in shared memory and the same collectives that some threads miss, and is faster
to run; None where data decide what is done, or threads may meet in global memory too.
The one idea: who meets whom is a matter of indices, so values may be 0, and what is the same in every block or turn is run in one or two.
"""

from __future__ import annotations

from tinygpu.category.term import BOOL, SHUFFLES, App, Axis, Const, Read, Term, apply, reads, rebuild, variables, walk
from tinygpu.program.access import accesses, by_data, shuffles, terms
from tinygpu.program.fault import At
from tinygpu.program.step import Assign, For, Holds, If, Launch, Program, Step, steps
from tinygpu.program.unpack import unpack
from tinygpu.record import dataclass, replace

TURNS = 2  # of a loop whose turns are all alike: what meets in two turns meets in two that follow each other


@dataclass(frozen=True, slots=True)
class Part:
    """The program that is run, and by the identity of each of its steps that is another one now, the step that it was."""

    program: Program
    origins: dict[int, Step]

    def of_origin(self, at: At) -> At:
        """Who it was, at the step as it stands in the whole program."""
        return replace(at, step=self.origins.get(id(at.step), at.step))


@dataclass(frozen=True, slots=True)
class _Cut:
    """How a launch is cut: its shared arrays, all arrays of its own, and the origins so far."""

    shared: frozenset[str]
    own: frozenset[str]
    origins: dict[int, Step]

    def body(self, body: tuple[Step, ...]) -> tuple[Step, ...]:
        """What is left of a body."""
        return tuple(one for step in body if (one := self.step(step)) is not None)

    def step(self, step: Step) -> Step | None:
        """What is left of a step. Where it stores in global memory does not matter; but what it reads for that does."""
        match step:
            case Assign(target, index, value, _, guard):
                if not {target, *(r.tensor for t in (*index, value, guard) for r in reads(t))} & self.shared and not shuffles(step):
                    return None
                there = index if target in self.own else (Const(0),) * len(index)
                blind = replace(step, index=there, value=_blind(value, self.shared))
                self.origins[id(blind)] = step
                return blind
            case For(axis, body):
                inner = self.body(body)
                axis = axis if axis.name in _used(inner) else _at_most(axis, TURNS)
                return replace(step, axis=axis, body=inner) if inner else None
            case If(_, body):
                inner = self.body(body)
                return replace(step, body=inner) if inner else None
            case Holds():
                return None
        return step


def meeting(program: Program) -> Part | None:
    """The part in which threads can meet in shared memory, if it can be told apart."""
    if by_data(program) or program.op.promises or unpack(program) is not program:
        return None
    own = frozenset((*program.locals, *program.shared))
    if any(len(kinds) > 1 for launch in program.launches for name, kinds in accesses(launch).items() if name not in own):
        return None
    cut = _Cut(frozenset(program.shared), own, {})
    return Part(replace(program, launches=tuple(_launch(launch, cut) for launch in program.launches)), cut.origins)


def _launch(launch: Launch, cut: _Cut) -> Launch:
    body = cut.body(launch.body)
    used = _used(body)
    return replace(launch, grid=tuple(a if a.name in used else _at_most(a, 1) for a in launch.grid), body=body)


def _blind(term: Term, shared: frozenset[str]) -> Term:
    """The term with 0 for every part that reads nothing shared and asks no other lane."""
    parts = walk(term)
    if not any((isinstance(t, Read) and t.tensor in shared) or (isinstance(t, App) and t.op in SHUFFLES) for t in parts):
        return Const(False if term.dtype == BOOL else 0, term.dtype)
    match term:
        case Read():
            return term
        case App("select", (condition, then, otherwise), dtype):
            return App("select", (condition, _blind(then, shared), _blind(otherwise, shared)), dtype)
        case App("and" | "or" as op, (first, *rest)):
            return App(op, (first, *(_blind(t, shared) for t in rest)), BOOL)
        case App(op, (value, lane), dtype) if op in SHUFFLES:
            return App(op, (_blind(value, shared), lane), dtype)
    return rebuild(term, lambda t: _blind(t, shared))


def _used(body: tuple[Step, ...]) -> set[str]:
    """The variables of a body."""
    return {name for step in steps(body) for term in (*terms(step), *getattr(step, "index", ())) for name in variables(term)}


def _at_most(axis: Axis, count: int) -> Axis:
    return replace(axis, extent=apply("min", axis.extent, Const(count)))
