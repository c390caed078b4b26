"""What a model may learn a time from: numbers of a state that mean the same for all ops.

    extents by role and level, in log2 · what the innermost loops touch, where it fits into a cache · operations · the order of loops · predicted cycles

Comes in: a state, its op, sizes. Goes out: names and numbers; of several launches the largest of each. The one idea: a time is a property of loops and of what they touch, so names of ops and of
indices are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import log2, prod

from tinygpu.category.evaluate import evaluate
from tinygpu.category.term import reads, variables, walk
from tinygpu.cost.footprint import CACHES, WORD, Loop, numbers
from tinygpu.cost.operations import kind_of
from tinygpu.model.op import Op
from tinygpu.syntax import tree
from tinygpu.tune.facts import Group, accesses, folded
from tinygpu.tune.placed import Placed
from tinygpu.tune.policy import sort_of
from tinygpu.tune.predict import predicted
from tinygpu.tune.rules import WIDE, matching
from tinygpu.tune.state import State

ORDER = ("outer", "block", "time", "register", "wide")  # levels, outermost first
ROLES = ("batch", "output", "fast output", "fold", "fast fold")  # of indices


def features(state: State, op: Op, sizes: Mapping[str, int]) -> dict[str, float]:
    """Of a state at some sizes."""
    found: dict[str, float] = {}
    for nest, group in zip(state.nests, matching(state, op), strict=True):
        for name, value in _launch(Placed(nest, group, state.device, op), sizes):
            found[name] = max(value, found.get(name, value))
    found["launches"] = len(state.nests)
    found["of any device"] = not state.device
    found["predicted"] = log2(max(1.0, predicted(state, op, sizes)))
    return dict(sorted(found.items()))


def _launch(it: Placed, sizes: Mapping[str, int]) -> Iterator[tuple[str, float]]:
    every = {a.name: a.extent for e in it.group.equations for a in (*e.axes, *folded(e))}
    extents = {name: max(1, int(evaluate(extent, sizes))) for name, extent in every.items()}
    factors = numbers(extents, [(i, [(f.name, f.level, f.extent) for f in cut]) for i, cut in it.nest.cuts if i in extents])
    place = {name: n for n, name in enumerate(it.nest.order)}
    names = sorted(factors, key=lambda name: (ORDER.index(sort_of(factors[name].level)), place.get(name, 0)))
    loops = [factors[n] for n in names]
    yield from _extents(it, loops, extents)
    yield from _order(it, [f for f in loops if f.level == "time"])
    yield from _touched(it.group, loops)
    yield from _computed(it.group, loops)
    yield "stages", len(it.nest.stages)
    yield "clauses", len(it.nest.said)
    yield "kept", sum(isinstance(c, tree.Keep) for c in it.nest.said)
    yield "past caches", sum(isinstance(c, tree.Stream) for c in it.nest.said)
    yield "fetched", sum(isinstance(c, tree.Prefetch) for c in it.nest.said)
    yield "digits", len(loops)


def role(it: Placed, index: str) -> str:
    """One of `ROLES`; a batch is an index of elements that all that is folded has."""
    read = [variables(r) for e in it.group.equations for r in accesses(e)]
    if index not in it.folds and read and all(index in some for some in read):
        return "batch"
    return f"{'fast ' if index in it.fast else ''}{'fold' if index in it.folds else 'output'}"


def _extents(it: Placed, loops: Sequence[Loop], extents: Mapping[str, int]) -> Iterator[tuple[str, float]]:
    """How far each level goes for each role; what is counted beyond the sizes; whether the sizes are whole tiles."""
    whole, beyond = Counter[str](), 0.0
    for index, goes in extents.items():
        mine = [one for one in loops if one.index == index]
        for one in mine:
            whole[f"{role(it, index)} at {sort_of(one.level)}"] += log2(one.extent)  # type: ignore[assignment]
        beyond += max(0.0, log2(prod(one.extent for one in mine) / goes)) if mine else 0.0
    for sort in ORDER:
        for kind in ROLES:
            yield f"{kind} at {sort}", whole[f"{kind} at {sort}"]
    for kind in ROLES:
        mine_ = (f.extent for i, _, f in it.carried("time") if f.extent and role(it, i) == kind)
        yield f"{kind} in tiles of time", log2(prod(mine_))
    own = [(i, f.extent) for i, _, f in it.carried("time", "register", *WIDE) if f.extent]
    sides = [log2(prod(n for i, n in own if i == index)) for index in sorted(it.fast & {*extents})]
    yield "least fast side", min(sides, default=0.0)
    yield "largest fast side", max(sides, default=0.0)
    yield "beyond", beyond
    yield "lanes", log2(prod(one.extent for one in loops if sort_of(one.level) == "wide"))
    yield "cells", log2(prod(one.extent for one in loops if sort_of(one.level) in ("register", "wide") and one.index in it.outputs))


def _order(it: Placed, times: Sequence[Loop]) -> Iterator[tuple[str, float]]:
    """Where folds stand among a thread's own loops, counted from inside, and what the innermost one is."""
    inside = [one for one in reversed(times) if one.extent > 1]
    places = [n for n, one in enumerate(inside) if one.index in it.folds]
    yield "loops", len(inside)
    yield "innermost fold", places[0] if places else -1
    yield "loops of folds", len(places)
    yield "innermost extent", log2(inside[0].extent) if inside else 0.0
    yield "innermost fast", float(bool(inside) and inside[0].index in it.fast)
    yield "innermost folds", float(bool(inside) and inside[0].index in it.folds)


def _touched(group: Group, loops: Sequence[Loop]) -> Iterator[tuple[str, float]]:
    """For each cache what the innermost loops touch that fit into it, and the turns of those around them; and for how many accesses a step inside goes far."""
    indices = [[v for i in r.index for v in sorted(variables(i))] for e in group.equations for r in dict.fromkeys(reads(e.value))]
    indices += [[a.name for a in e.axes] for e in group.equations]
    bytes_ = [
        WORD * sum(prod(one.extent for one in loops[n:] if one.index in some) for some in indices) for n in range(len(loops) + 1)
    ]
    for number, (size, _) in enumerate(CACHES, 1):
        fits = next((n for n, count in enumerate(bytes_) if count <= size), len(loops))
        yield f"touched in cache {number}", log2(max(1, bytes_[fits]))
        yield f"turns of cache {number}", log2(prod(one.extent for one in loops[:fits]))
    inner = next((one.index for one in reversed(loops) if one.extent > 1), "")
    held = [prod(one.extent for one in loops if one.level == "register" and one.index in some) for some in indices]
    yield "registers", log2(sum(held))
    yield (
        "loads",
        log2(sum(held[: -len(group.equations)]) or 1) - log2(prod(one.extent for one in loops if one.level == "register")),
    )
    yield "far steps", sum(inner in some[:-1] and some[-1] != inner for some in indices)
    yield "near steps", sum(bool(some) and some[-1] == inner for some in indices)
    yield "accesses", len(indices)


def _computed(group: Group, loops: Sequence[Loop]) -> Iterator[tuple[str, float]]:
    """What all turns compute, like instructions: turns, those of loops alone, and of which kinds the operations are."""
    kinds = Counter(kind for e in group.equations for t in walk(e.value) if (kind := kind_of(t)) is not None)
    yield "turns", log2(prod(one.extent for one in loops))
    yield "turns of loops", log2(prod(one.extent for one in loops if sort_of(one.level) in ("outer", "block", "time")))
    yield "special", kinds["special"] + kinds["divide"]
    yield "operations", kinds.total()
    yield "equations", len(group.equations)
