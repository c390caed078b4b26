"""The equations of a launch as plans, in order; a prefix fold is a plan of its own before the equation that uses it.

Comes in: a launch. Goes out: plans. The one idea: a scan leaves each value in the cell of the thread that owns it, so what uses it
is an ordinary equation.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tinygpu.category.decide import holds
from tinygpu.category.monoid import neutral
from tinygpu.category.region import Region
from tinygpu.category.term import (
    TRUE,
    Axis,
    Fold,
    Read,
    Term,
    Var,
    conjunction,
    exchange,
    select,
    substitute,
    variables,
    walk,
)
from tinygpu.derive.factors import along, output
from tinygpu.derive.held import in_cells
from tinygpu.derive.nest import Build, own, point
from tinygpu.derive.plan import Cells, Plan, Pull, plan
from tinygpu.derive.scan import Scan
from tinygpu.model.across import scans
from tinygpu.model.machine import Launch, Phase, inlined
from tinygpu.model.op import Op
from tinygpu.model.prefix import Prefix
from tinygpu.model.problems import refused
from tinygpu.record import replace

Passes = dict[tuple[object, ...], Plan]  # the scans by what they are


def plans(build: Build, op: Op, launch: Launch) -> tuple[Plan, ...]:
    """`launch → plans`, in the order of the equations; intermediates without a fold are gone, put in where they are used."""
    hold = in_cells(op, launch)
    values = inlined(launch.phases, launch.stages, hold)
    late = launch.late(op)
    plain = inlined(launch.phases, [s for s in launch.stages if s not in late], hold) if late else values
    stored = {*(t.name for t in op.outputs), *launch.leaves, *(name for p in launch.phases for name in p.parts)}
    used: set[str] = {*launch.holds}
    for target, value in reversed(plain.items()):  # what is read only where a tile is filled is computed there
        if target in stored or target in used:
            used |= {read.tensor for read in walk(value) if isinstance(read, Read)}
    made: dict[str, Plan] = {}
    passes: Passes = {}
    for phase in launch.phases:
        target = phase.equation.target
        folds = any(isinstance(t, Fold) for t in walk(values[target]))
        later = target in used and (folds or target in hold)
        if target in stored or later:
            value, cells = ahead(build, phase, values[target], made, passes)
            kept = build.fresh(target if target not in stored else f"{target}_cell") if later else ""
            made[target] = plan(build, phase, launch, value, made, target in stored, kept, cells)
            if late:
                whole = plan(build, phase, launch, plain[target], made, target in stored, kept, cells)
                made[target] = replace(made[target], plain=whole.value)
            for one in passes.values():
                made.setdefault(one.kept, one)
            made[target] = made.pop(target)  # a scan comes before what uses it
    return tuple(made.values())


def ahead(build: Build, phase: Phase, value: Term, made: Mapping[str, Plan], passes: Passes) -> tuple[Term, Cells]:
    """The value with each scan replaced by a read that stands for its cells; the scans are added to `passes`, each once."""
    stands: dict[Term, Term] = {}
    cells: dict[Term, Term] = {}
    for number, (fold, one) in enumerate(scans(phase, value).items()):
        before = phase.before[number] if phase.before else ""
        new = scan(build, phase, one, made, before)
        assert new.scan is not None
        held = passes.setdefault((replace(new.scan, acc="", carry=""), new.cells, new.time, new.parts), new)
        if held is new:
            declare(build, new)
        sign = Read(f"{held.kept} here", (), fold.dtype)  # no array has such a name
        stands[fold], cells[sign] = sign, Read(held.kept, point(held.cells), fold.dtype)
    return exchange(value, stands), cells


def declare(build: Build, new: Plan) -> None:
    """The cells of a scan, and its carry."""
    assert new.scan is not None
    build.local(new.scan.acc, new.dtype, new.cells, new.span)
    if new.scan.factors("time"):
        build.local(new.scan.carry, new.dtype, new.scan.spots(new.cells), new.span)


def scan(build: Build, phase: Phase, one: Prefix, made: Mapping[str, Plan], before: str) -> Plan:
    """The plan of a scan: each cell takes the element that it owns, and all before it."""
    over, fold, way = Pull.along(build, phase, made), one.fold, along(phase, one.bound)
    own_index, end = one.end, fold.axes[0].extent
    extent = next(a.extent for a in phase.equation.axes if a.name == one.bound)
    inside = TRUE if holds(own_index < end, Region((Axis(one.bound, extent),))) else own_index < end
    body = over.value(substitute(fold.body, {one.index: own_index}))
    guard = over.value(conjunction(inside, substitute(one.rest, {one.index: own_index})))
    cells, time = own(over.output), build.ordered(over.output)
    apart = frozenset(a.name for a in way)  # a tail contributes units, so that each turn does the same
    apart |= {a.name for a in build.block} if any(a.sort == "block" for a in way) else frozenset()
    start = neutral(fold.monoid, fold.dtype)
    names = {a.name for a in way if a.sort != "grid"}
    if before:
        index = (
            *(over.owner[a.name] for a in phase.equation.axes if a.name != one.bound),
            *point(a for a in way if a.sort == "grid"),
        )
        asked = conjunction(*(p for p in over.parts if not variables(p) & names))
        start = select(asked, Read(before, index, fold.dtype), start)
    acc, carry, known = build.fresh("prefix"), build.fresh("carry"), fact(build, phase, over, names)
    it = Scan(acc, carry, fold.monoid, fold.dtype, body, guard, one.exclusive, way, start, fold.span, known)
    value = Read(acc, point(cells), fold.dtype)
    return Plan(
        phase.equation.target, fold.dtype, over.index, value, cells, time, over.parts, (), False, acc,
        fold.span, apart, "", phase.ways, it,
    )  # fmt: skip


def fact(build: Build, phase: Phase, over: Pull, way: Collection[str]) -> Term | None:
    """What is known of the value, over factors: of a row that there is, whatever the factors of its way are."""
    if not isinstance(phase.known, Fold):
        return None
    names: dict[str, Term] = {a.name: Var(build.fresh(a.name)) for a in phase.known.axes}
    axes = tuple(replace(a, name=n.name) for a, n in zip(phase.known.axes, names.values(), strict=True) if isinstance(n, Var))
    guard, body = (substitute(substitute(t, names), over.owner) for t in (phase.known.guard, phase.known.body))
    guard = conjunction(guard, *(p for p in over.parts if not variables(p) & {*way}))
    return replace(phase.known, axes=axes, guard=TRUE, body=select(guard, body, neutral(phase.known.monoid, phase.known.dtype)))


def check_scans(build: Build, launch: Launch) -> None:
    """Every scan goes along factors that stand in its order, slowest first: grid, time, block, then the thread's own. Raises TG538."""
    for phase, one in [(p, one) for p in launch.phases for one in scans(p).values()]:
        way, level = along(phase, one.bound), {"grid": 0, "time": 1, "block": 2}
        wanted = sorted(way, key=lambda a: level.get(a.sort, 3))
        loops = [a.name for a in build.ordered(a for a in phase.owner.domain.axes if a.name in output(phase))]
        for message, sort, order in (("TG538.work", "block", [a.name for a in build.block]), ("TG538.time", "time", loops)):
            mine = [a.name for a in wanted if a.sort == sort]
            if mine != [n for n in order if n in mine]:
                raise refused(message, phase.span, one.fold.span, name=one.bound, names=", ".join(mine))
        if list(way) != wanted:
            here, right = (", ".join(a.name for a in axes) for axes in (way, wanted))
            raise refused("TG538.index", phase.span, one.fold.span, name=one.bound, names=here, right=right)
        if mine != loops[len(loops) - len(mine) :]:
            right = ", ".join([n for n in loops if n not in mine] + mine)
            raise refused("TG538.inside", phase.span, one.fold.span, name=one.bound, loop=mine[0], right=right)
