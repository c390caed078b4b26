"""The same machine without cooperation: what one CPU thread does for the threads of a block that share a fold; and the op itself as one.

Comes in: a machine. Goes out: a machine for the same op whose program has no shared memory, barrier, shuffle or atomic update.
The one idea: a factor is a factor whoever carries it, so a block factor of a fold becomes a loop, and the owner arrows stay; blocks
that meet in an output leave their parts for one more launch.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from math import prod

from tinygpu.category.owner import Arrow
from tinygpu.category.region import Region
from tinygpu.category.term import Const, Fold, Var, outermost_folds, walk
from tinygpu.category.text import claimed
from tinygpu.derive.factors import in_order, meeting, names_taken, output, refactored, restricted
from tinygpu.hardware.arch import CPU
from tinygpu.model.across import atomic, continued, fold_factors, left, partial, workspaces
from tinygpu.model.machine import Launch, Machine, Phase
from tinygpu.model.op import Equation, Tensor, put_in
from tinygpu.model.view import VIEW
from tinygpu.record import replace

CELLS = 64  # a thread holds at most so many cells for factors that were carried by the block


def sequential(machine: Machine) -> Machine:
    """`machine → machine` for the same op; itself where no thread works with another, or where it gives its program."""
    core = machine.arch == CPU
    if machine.by_hand or not any(cooperates(launch) or (core and stand_inside(launch)) for launch in machine.launches):
        return machine
    names = names_taken(machine) | {t.name for t in machine.op.intermediates}
    launches: list[Launch] = []
    more: list[Tensor] = []
    for launch in machine.launches:
        parts, last, arrays = split(outside(launch) if core else launch, lambda base: claimed(base, names, ""))
        more.extend(arrays)
        launches.append(alone(parts))
        if last is not None:
            launches.append(alone(last))
    return replace(machine, launches=tuple(launches), workspaces=(*machine.workspaces, *more))


def cooperates(launch: Launch) -> bool:
    """Whether threads of a launch share a fold or a tile, or blocks an output."""
    return bool(meeting(launch) or launch.stages or any(map(atomic, launch.phases)))


def stand_inside(launch: Launch) -> tuple[str, ...]:
    """The loops of an output that stand inside a loop of a fold: on a core they have cells that stay."""
    inner: list[str] = []
    for phase in launch.phases:
        folds = [launch.time.index(n) for n in fold_factors(phase) if n in launch.time]
        inner += [n for n in launch.time if n in output(phase) and folds and launch.time.index(n) > min(folds)]
    over = frozenset().union(*map(fold_factors, launch.phases))
    return tuple(n for n in launch.time if n in inner and n not in over)


def outside(launch: Launch) -> Launch:
    """The same with these loops outermost: what each point of the output takes, and the order in which it does, stay what they are."""
    inside = stand_inside(launch)
    return replace(launch, time=(*inside, *(n for n in launch.time if n not in inside)))


def split(launch: Launch, fresh: Callable[[str], str]) -> tuple[Launch, Launch | None, tuple[Tensor, ...]]:
    """A launch with atomic updates as one that leaves parts in workspaces, and one that folds them."""
    phases: list[Phase] = []
    later: list[Phase] = []
    for phase in launch.phases:
        if atomic(phase):
            phase = partial(replace(phase, reduce=()), fresh)
            (fold,) = outermost_folds(phase.equation.value)
            walked = tuple(replace(a, sort="time") for a in left(phase, fold))
            later.append(replace(restricted(phase, walked), equation=continued(phase)))
        phases.append(phase)
    if not later:
        return launch, None, ()
    begun = [p for p, q in zip(phases, launch.phases, strict=True) if p is not q]
    used = {a.name for phase in later for a in phase.owner.domain.axes if a.sort != "time"}
    grid, block = (tuple(a for a in axes if a.name in used) for axes in (launch.grid, launch.block))
    time = tuple(dict.fromkeys((*launch.time, *(a.name for p in later for a in p.owner.domain.axes if a.sort == "time"))))
    last = Launch(f"{launch.name}_rest", grid, block, tuple(later), time, launch.span)
    return replace(launch, phases=tuple(phases)), last, tuple(t for p in begun for t in workspaces(p))


def alone(launch: Launch) -> Launch:
    """The launch with every block factor that a fold runs over as the thread's own."""
    names = meeting(launch)
    moved = [a for a in launch.block if a.name in names]
    orders = tuple(order for phase in launch.phases for order in in_order(phase))
    kept = {name for order in orders for name in order}
    # a fold that has one result for each point of a factor: a loop over it stands outside the fold's own, or it is cells
    folding = [output(p) for p in launch.phases if any(isinstance(t, Fold) for t in walk(p.equation.value))]
    held = [a for a in moved if any(a.name in names for names in folding) and a.name not in kept]
    cells = prod(int(a.extent.value) for a in held if isinstance(a.extent, Const))
    sorts = {a.name: "register" if a in held and cells <= CELLS else "time" for a in moved}
    first = [a.name for a in held if sorts[a.name] == "time"]
    rest = [a.name for a in moved if sorts[a.name] == "time" and a.name not in first and a.name not in kept]
    place = 1 + max((launch.time.index(n) for n in outer(launch, names)), default=-1)
    time = merged((*launch.time[:place], *first, *launch.time[place:], *rest), orders, [a.name for a in moved])
    mine = {a.name: (replace(a, sort=sorts[a.name]),) for a in moved}
    phases = tuple(refactored(replace(p, reduce=()), mine) for p in launch.phases)
    block = tuple(a for a in launch.block if a.name not in names)
    return replace(launch, block=block, phases=phases, time=time, keeps=(), stages=())


def merged(time: tuple[str, ...], orders: Iterable[tuple[str, ...]], moved: Collection[str]) -> tuple[str, ...]:
    """The nesting order with loops that were block factors, each outside of those that it is slower than.

    >>> merged(("c",), [("c", "w", "lane")], ["w", "lane"]), merged(("c",), [("t", "c")], ["t"])
    (('c', 'w', 'lane'), ('t', 'c'))
    >>> merged(("c", "j"), [("c", "lane")], ["lane"])
    ('c', 'lane', 'j')
    """
    found = list(time)
    for order in orders:
        for place, name in reversed(list(enumerate(order))):
            if name in moved and name not in found:
                inner = [found.index(n) for n in order[place + 1 :] if n in found]
                outer = [found.index(n) + 1 for n in order[:place] if n in found]
                found.insert(min(inner, default=max(outer, default=len(found))), name)
    return tuple(found)


def outer(launch: Launch, names: frozenset[str]) -> set[str]:
    """The loops over outputs of those equations that are folded over the factors: they stay outside."""
    return {n for phase in launch.phases if names & set(fold_factors(phase)) for n in output(phase) if n in launch.time}


def pointwise(machine: Machine) -> Machine:
    """`machine → machine` for the same op: a launch for each equation, a thread for each point of it, its folds in the thread's own time. The
    identity is an owner arrow, so an op is a machine already; what equations leave for later ones crosses the launches in workspaces. What an
    instruction computes is one equation with what is done with it."""
    op = machine.op
    between = {t.name for t in op.intermediates}
    views = {t.name: op.equation(t.name) for t in op.intermediates if t.role == VIEW or machine.use is not None}
    launches = tuple(every(replace(e, value=put_in(e.value, views)), between) for e in op.equations if e.target not in views)
    spaces = tuple(replace(op.tensor(name), role="workspace") for one in launches for name in one.leaves)
    return replace(machine, program=None, use=None, launches=launches, workspaces=spaces)


def every(equation: Equation, between: set[str]) -> Launch:
    """The launch of one equation; a target `between` equations is left for later launches."""
    grid = tuple(replace(a, sort="grid") for a in equation.axes)
    folds = (a for t in walk(equation.value) if isinstance(t, Fold) for a in t.axes)
    time = tuple({a.name: replace(a, sort="time") for a in folds}.values())
    axes = (*grid, *time)
    phase = Phase(equation, Arrow(Region(axes), axes, tuple(Var(a.name) for a in axes)))
    return Launch(equation.target, grid, (), (phase,), tuple(a.name for a in time), leaves=tuple({equation.target} & between))
