"""What may be said of a launch beside its factors: tiles with their layouts and slots, values that are kept, how threads combine.

Comes in: a launch and its equations. Goes out: clauses, of which one is drawn. The one idea: what may be said is a list; which of it is worth saying is for whoever searches.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from random import Random

from tinygpu.category.term import Var, reads, tensors
from tinygpu.model.op import Op
from tinygpu.record import replace
from tinygpu.syntax import tree
from tinygpu.tune.actions import Launches, Restate
from tinygpu.tune.facts import Group, accesses, cell, folded, read_again, written_along
from tinygpu.tune.state import CPU, Nest, Said, State

PLACES = (
    None,
    tree.Place("pad", (tree.Number("1"),)),
    tree.Place("pad", (tree.Number("4"),)),
    tree.Place("pad", (tree.Number("8"),)),
    tree.Place("swizzle", ()),
)
SLOTS = (None, 2, 3, 4)
LATE = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100a", "sm_120")  # where copies land while threads go on


def sayable(op: Op, nest: Nest, group: Group, device: str) -> Iterator[Said]:
    """What may be said more."""
    staged, kept = {s.access for s in nest.stages}, {c.tensor for c in nest.said if isinstance(c, tree.Keep)}
    space = "core" if device == CPU else "shared"
    for access in dict.fromkeys(staged_by(group)):
        if access not in staged:
            yield from (tree.Stage(access, at, space) for at in (*nest.loops, *(("block",) if nest.of("block") else ())))
    mine = set(nest.equations) or {e.target for e in op.equations}
    for tensor in (*op.inputs, *(t for t in op.intermediates if t.name in mine)):
        if tensor.name not in kept and tensor.shape and any(tensor.name in _read(op, e.target) for e in group.equations):
            yield tree.Keep(tensor.name, "core" if device == CPU else "register")
    if device == CPU:
        every: tuple[Said, ...] = (*map(tree.Prefetch, read_again(op, group)), *map(tree.Stream, written_along(op, group)))
        yield from (hint for hint in every if hint not in nest.said)
    block = set(nest.of("block"))
    combined = {c.equation for c in nest.said if isinstance(c, tree.Reduce)}
    for equation in group.equations:
        over = tuple(f.name for i, cut in nest.cuts if i in {a.name for a in folded(equation)} for f in cut if f.name in block)
        if over and equation.target not in combined:
            yield from (tree.Reduce(equation.target, over, by) for by in ("shared", "shuffle"))


def staged_by(group: Group) -> Iterator[tree.Cell]:
    """What may be staged: what folds read of memory, and what is read across the way that it is written."""
    made = {e.target for e in group.equations}
    for equation in group.equations:
        across = (r for r in reads(equation.value) if equation.axes and r.index and all(isinstance(i, Var) for i in r.index))
        for read in (*accesses(equation), *(r for r in across if r.index[-1] != Var(equation.axes[-1].name))):
            if read.tensor not in made and len(read.index) > 1 and len({*read.index}) == len(read.index):
                yield cell(read)


def _read(op: Op, target: str) -> set[str]:
    return set(tensors(op.equation(target).value))


def stayed(state: State, number: int, op: Op, sizes: Mapping[str, int], chance: Random) -> Launches | None:
    """A loop as long as a size ends at a number, its turns are written out, and values along it stay with who has them."""
    nest, cpu = state.nests[number], state.device == CPU
    ends = {a.name: a.extent for e in op.equations for a in (*e.axes, *folded(e))}
    open_ = [(i, cut, ends[i]) for i, cut in nest.cuts if i in ends and cut[0].level == "time" and cut[0].extent is None]
    found = [(i, cut, end) for i, cut, end in open_ if isinstance(end, Var) and end.name in sizes]
    if not found:
        return None
    index, cut, end = chance.choice(found)
    tensors_ = [t.name for t in op.intermediates if index in {a.name for a in op.equation(t.name).axes}] if cpu else []
    tensors_ = tensors_ or [
        r.tensor for e in op.equations for r in reads(e.value) if Var(index) in r.index and r.tensor in {t.name for t in op.inputs}
    ]
    if not tensors_:
        return None
    rest = prod(f.extent or 1 for f in cut)
    number_ = -(-sizes[end.name] // rest)
    cuts = tuple((i, (replace(cut[0], level="register", extent=number_), *cut[1:]) if i == index else c) for i, c in nest.cuts)
    said = (tree.Keep(chance.choice(tensors_), "core" if cpu else "register"), *nest.said)
    closed = replace(nest, cuts=cuts, said=said)
    bound = tree.Binary("<=", tree.Name(end.name), tree.Number(str(number_ * rest)))
    nests = (*state.nests[:number], closed, *state.nests[number + 1 :])
    return Launches(nests, state.via, tuple(dict.fromkeys((*state.where, bound))), state.device)


def restated(nest: Nest, chance: Random, device: str) -> Restate | None:
    """A tile with another layout, or other slots; another way to combine."""
    place = chance.randrange(len(nest.said))
    match nest.said[place]:
        case tree.Stage() as stage if device != CPU and chance.randrange(2):
            layout = chance.choice(PLACES)
            return Restate(place, replace(stage, clauses=(tree.Layout((), layout),) if layout else ()))
        case tree.Stage() as stage if device != CPU:
            slots = chance.choice(SLOTS)
            late = slots is not None and device in LATE and bool(chance.randrange(2))
            return Restate(place, replace(stage, ring=tree.Number(str(slots)) if slots else None, asynchronous=late))
        case tree.Stage() as stage if nest.loops:
            return Restate(place, replace(stage, at=chance.choice(nest.loops)))
        case tree.Reduce() as reduce:
            return Restate(place, replace(reduce, by="shuffle" if reduce.by == "shared" else "shared"))
    return None
