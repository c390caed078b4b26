"""How long a state may take, by footprints: for the order in which states are tried, and for nothing else.

    State × sizes → cycles

Comes in: a state, its op, sizes. Goes out: cycles. The one idea: a launch is its loops and what its equations read and write, so all of it is arithmetic on the state.
"""

from __future__ import annotations

from collections.abc import Mapping

from tinygpu.category.evaluate import evaluate
from tinygpu.category.term import reads, variables
from tinygpu.cost.footprint import CPU, Core, Loop, Touched, cycles, numbers
from tinygpu.model.op import Op
from tinygpu.syntax import tree
from tinygpu.tune.facts import folded
from tinygpu.tune.placed import Placed
from tinygpu.tune.rules import matching
from tinygpu.tune.state import BOX, Nest, State

UNKNOWN = 1e18  # cycles of what is not followed


def predicted(state: State, op: Op, sizes: Mapping[str, int], core: Core = CPU) -> float:
    """Cycles of all launches, on the cores of a CPU or of a device."""
    if not state.nests:
        return UNKNOWN
    every = zip(state.nests, matching(state, op), strict=True)
    return sum(_launch(Placed(nest, group, state.device, op), sizes, core) for nest, group in every)


def _launch(it: Placed, sizes: Mapping[str, int], core: Core) -> float:
    """Cycles of each equation's own loops: those of its indices, in the order of the launch; the threads of a block are within the turn of a loop, as they are where all of them go along it."""
    nest, group = it.nest, it.group
    every = {a.name: a.extent for e in group.equations for a in (*e.axes, *folded(e))}
    try:
        extents = {name: max(1, int(evaluate(extent, sizes))) for name, extent in every.items()}
    except KeyError:
        return UNKNOWN
    along = group.along
    cuts = [(i, [(f.name, f.level, it.extent(i, f) or None) for f in cut]) for i, cut in nest.cuts if i in extents]
    factors = numbers(extents, cuts)
    rank = {"grid": 0, "core": 0, "block": 1 if core is CPU else 3, "time": 2, "register": 4, "simd": 5, "vector": 5, BOX: 6}
    place = {name: n for n, name in enumerate(nest.loops if core is CPU else nest.order)}
    ordered = sorted(factors, key=lambda name: (rank[factors[name].level], place.get(name, 0)))
    whole = 0.0
    for equation in group.equations:
        mine = {a.name for a in (*equation.axes, *folded(equation))} | {*along.values()}
        names = [n for n in ordered if factors[n].index in mine]
        loops = [factors[n] for n in names]
        read = [
            _access(r.tensor, [sorted(variables(i)) for i in r.index], nest, names)
            for r in dict.fromkeys(reads(equation.value))
            if r.index
        ]
        stored = Touched(equation.target, tuple(a.name for a in equation.axes), True)
        whole += cycles(_seen(loops), [*read, stored], core, it.shared_out)
    return whole


def _seen(loops: list[Loop]) -> list[Loop]:
    return loops or [Loop("", "core", 1)]


def _access(tensor: str, places: list[list[str]], nest: Nest, names: list[str]) -> Touched:
    """What is read; of a tile how many loops are around its copy."""
    indices = tuple(name for place in places for name in place)
    staged = next(
        (
            s
            for s in nest.stages
            if s.access.name == tensor and [n.name for n in s.access.index if isinstance(n, tree.Name)] == [*indices]
        ),
        None,
    )
    around = names.index(staged.at) + 1 if staged is not None and staged.at in names else None
    return Touched(tensor, indices, False, around)
