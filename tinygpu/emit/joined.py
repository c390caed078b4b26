"""The launchers of what is made of machines: of a choice a table of its cases, of a pipeline a table of its calls.

Comes in: choices and pipelines that are proved, and the names of the launchers of whom they call. Goes out: Python source of a table and one function. The one idea: here
nothing is computed, so what such a launcher has to know of the op is the contract of a program without launches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from tinygpu.algebra.theorem import Proved
from tinygpu.category.term import text
from tinygpu.category.text import claimed
from tinygpu.derive.arena import Arena
from tinygpu.emit.launcher import launcher_source
from tinygpu.model.choice import Choice
from tinygpu.model.gradient import Gradient
from tinygpu.model.machine import Machine
from tinygpu.model.pipeline import Call, Pipeline
from tinygpu.program.space import WORKSPACE
from tinygpu.program.step import Array, Program
from tinygpu.proof.choice import CASES, Covered
from tinygpu.proof.pipeline import CALLS, Linked
from tinygpu.schedule.joined import Calls, Cases, Invoked, table_of

Joined: TypeAlias = Covered | Linked | Proved  # what is proved of several machines, or of ops of several


def joined_of(machines: Sequence[Machine], joined: Sequence[Joined], names: Sequence[str]) -> tuple[Cases | Calls, ...]:
    """`choices and pipelines → what their launchers are made of`. `names` are those of the launchers of the machines, then of these. Raises KeyError where one that is called
    is not among them, TypeError for what is not proved."""
    launchers = {(m.title, m.op.name): name for m, name in zip((*machines, *proved(joined)), names, strict=True)}
    found: list[Cases | Calls] = []
    for name, one in zip(names[len(machines) :], called(joined), strict=True):
        match one:
            case Covered(choice=choice):
                cases = tuple((b.where, launchers[b.machine.title, b.machine.op.name]) for b in choice.branches)
                found.append(Cases(Program(name, choice.op, ()), cases))
            case Linked(pipeline=pipeline, arena=arena):
                spaces = (
                    (Array(claimed("arena", {t.name for t in pipeline.op.tensors}), "u8", (arena.bytes,), WORKSPACE),)
                    if arena.buffers
                    else ()
                )
                calls = tuple(_invoked(n, c, arena, launchers[c.to.title, c.to.op.name]) for n, c in enumerate(pipeline.calls))
                between = {key(b.name, b.owner): (b.dtype, b.shape, arena.at(b)) for b in arena.buffers}
                found.append(Calls(Program(name, pipeline.op, (), workspaces=spaces), between, calls))
    return tuple(found)


def key(name: str, owner: int) -> str:
    """What a table calls a buffer: a value by its name, a workspace of a call with the call's number."""
    return name if owner < 0 else f"{owner}.{name}"


def _invoked(number: int, call: Call, arena: Arena, launcher: str) -> Invoked:
    given = tuple(one if isinstance(one, str) else one.value for one in call.given)
    spaces = tuple(key(b.name, number) for b in arena.buffers if b.owner == number)
    return Invoked(launcher, given, tuple((size, text(extent)) for size, extent in call.sizes), call.made, spaces)


def proved(joined: Sequence[Joined]) -> list[Choice | Pipeline]:
    """The choices and pipelines that are proved. Raises TypeError for what is no proof."""
    if other := next((one for one in joined if not isinstance(one, Covered | Linked | Proved)), None):
        raise TypeError(f"a choice or a pipeline that is not proved is not built, and {type(other).__name__} is no proof of one")
    return [one.about for one in called(joined)]


def called(joined: Sequence[Joined]) -> list[Covered | Linked]:
    """What has a launcher."""
    return [one for one in joined if isinstance(one, Covered | Linked)]


def changing(joined: Sequence[Joined]) -> list[Gradient]:
    """The gradients that are proved."""
    return [one.theorem for one in joined if isinstance(one, Proved) and isinstance(one.theorem, Gradient)]


def summary(one: Choice | Pipeline) -> str:
    """What a module calls it: `softmax_any : softmax by softmax_warp, softmax_block`, `block : norm, product`."""
    if isinstance(one, Pipeline):
        return f"{one.name} : {', '.join(f'{c.to.op.family} by {c.to.name}' for c in one.calls)}"
    return f"{one.name} : {one.op.name} by {', '.join(b.machine.name for b in one.branches)}"


def joined_source(made: Cases | Calls, one: Choice | Pipeline, header: tuple[str, ...]) -> str:
    """The table and the function; `header` are paragraphs of the docstring, behind which the cases or the calls stand."""
    said, maker = (CASES, "chooser") if isinstance(one, Choice) else (CALLS, "chain")
    return launcher_source(made.program, table_of(made), (*header, f"{said}\n{one.spelled}"), maker)
