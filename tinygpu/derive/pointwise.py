"""The op itself as a machine: a launch for each equation, a thread for each point of it, its folds in the thread's own time.

Comes in: a machine. Goes out: a machine for the same op. The one idea: the identity is an owner arrow,

    own(e) = 1 : axes × fold axes → axes × fold axes

so an op is a machine already, of which nothing is shared and nothing is computed twice.
"""

from __future__ import annotations

from tinygpu.category.owner import Arrow
from tinygpu.category.region import Region
from tinygpu.category.term import Fold, Var, walk
from tinygpu.model.machine import Launch, Machine, Phase
from tinygpu.model.op import Equation
from tinygpu.record import replace


def pointwise(machine: Machine) -> Machine:
    """`machine → machine` for the same op; what equations leave for later ones crosses the launches in workspaces."""
    op = machine.op
    between = {t.name for t in op.intermediates}
    launches = tuple(each(e, between) for e in op.equations)
    spaces = tuple(replace(op.tensor(name), role="workspace") for one in launches for name in one.leaves)
    return replace(machine, program=None, launches=launches, workspaces=spaces)


def each(equation: Equation, between: set[str]) -> Launch:
    """The launch of one equation; a target `between` equations is left for later launches."""
    grid = tuple(replace(a, sort="grid") for a in equation.axes)
    folds = (a for t in walk(equation.value) if isinstance(t, Fold) for a in t.axes)
    time = tuple({a.name: replace(a, sort="time") for a in folds}.values())
    axes = (*grid, *time)
    phase = Phase(equation, Arrow(Region(axes), axes, tuple(Var(a.name) for a in axes)))
    return Launch(equation.target, grid, (), (phase,), tuple(a.name for a in time), leaves=tuple({equation.target} & between))
