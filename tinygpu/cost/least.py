"""What is computed at least: operations that no compiler leaves out, of a program or of an op alone.

    exp(x[r, j] − m[r]) in a loop over j         one subtraction and one exponential a point of (r, j), however often a statement names them
    m[r]·w[r] in the same loop                   one product a row: a compiler takes it out of the loop

Comes in: a program, or the equations of an op; sizes. Goes out: numbers of operations, each no larger than what runs. The one idea: a value is computed again only where something that it is made of has
changed, so it is counted over the loops that it varies with; of what data choose, and of what is not seen, nothing is counted.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from math import prod
from typing import TypeAlias

from tinygpu.category.evaluate import evaluate
from tinygpu.category.monoid import as_monoid
from tinygpu.category.operation import OPERATION
from tinygpu.category.region import Region
from tinygpu.category.term import (
    FLOATS,
    SHUFFLES,
    TRUE,
    App,
    Axis,
    Const,
    Fold,
    Term,
    Var,
    conjunction,
    conjuncts,
    reads,
    text,
    variables,
    walk,
)
from tinygpu.cost.counted import Counter
from tinygpu.cost.counting import count
from tinygpu.cost.operations import evaluated
from tinygpu.cost.parts import Unclear, extents_of
from tinygpu.cost.sites import Where
from tinygpu.cost.vectors import thinned
from tinygpu.cost.whole import whole_tensors
from tinygpu.diagnostic import NOWHERE
from tinygpu.model.op import Op
from tinygpu.program.step import Assign, For, If, Launch, Program, Step
from tinygpu.program.traverse import written
from tinygpu.record import dataclass, replace

Key: TypeAlias = tuple[int, str, str]  # a launch, a kind of operation, its dtype
CHAINS = {"mul": "mul", "add": "add", "sub": "add"}  # operations that a compiler may do in another order
POINTS = 1 << 16  # that are looked at together: of more nothing is said
ALONE = ("divide", "special")  # kinds that no other operation does beside its own


@dataclass(frozen=True, slots=True)
class _Loop:
    """A loop, and the arrays that change in it."""

    axis: Axis
    changed: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a value is computed: a launch, the loops around it, the condition."""

    launch: int
    loops: tuple[_Loop, ...]
    guard: Term
    counter: Counter

    @property
    def sizes(self) -> Mapping[str, int]:
        return self.counter.sizes

    def inside(self, *axes: Axis) -> _Place:
        return replace(self, loops=(*self.loops, *map(_Loop, axes)))

    def varies(self, *terms: Term) -> tuple[Axis, ...]:
        """The loops in which one of the terms gets other values."""
        names = {n for t in terms for n in variables(t)}
        read = {r.tensor for t in terms for r in reads(t)}
        return tuple(one.axis for one in self.loops if one.axis.name in names or read & one.changed)

    def times(self, axes: Iterable[Axis]) -> int | None:
        """At how many points of some of the loops there is a point of the others where the condition holds; None where that is not seen."""
        kept = {a.name for a in axes}
        where = Where(0, tuple(one.axis for one in self.loops), self.guard, 0, NOWHERE)
        for axis in reversed(where.axes):
            if axis.name not in kept:
                if not variables(axis.extent) <= self.sizes.keys() or evaluate(axis.extent, self.sizes) < 1:
                    return None
                where, exact = thinned(where, axis, None)
                if not exact:
                    return None
        if _together(where, self.sizes) > POINTS and count(where.axes, where.guard) is None:
            return None
        found = self.counter.threads(where)
        return found.number if found.exact else None

    def folded(self, varying: tuple[Axis, ...], index: Iterable[str]) -> int:
        """How often values are combined that meet at an index: all but the first of each."""
        own = {*index}
        whole = self.times(varying)
        first = [self.times(a for a in varying if a is not axis) for axis in varying if axis.name not in own]
        return max((whole - one for one in first if whole is not None and one is not None), default=0)


def _together(where: Where, sizes: Mapping[str, int]) -> int:
    """How many points the conditions of a place speak of at most, one by one."""
    try:
        extents, guards = extents_of(where.axes, sizes)
    except Unclear:
        return POINTS + 1
    return max((prod(extents[n] for n in variables(c) & extents.keys()) for c in (*conjuncts(where.guard), *guards)), default=0)


def operations(what: Program | Op, sizes: Mapping[str, int]) -> dict[Key, int]:
    """How many operations of each kind, `mul`, `add`, `divide` and `special`, run at least in each launch; of an op, where each value that an output needs is computed once.

    >>> from tinygpu.pipeline import load_text
    >>> (op,) = load_text("op f(A: f32[M, K], B: f32[K, N]) -> (C: f32[M, N]) { C[i, j] = sum[k] A[i, k] * B[k, j] }").spec.ops
    >>> operations(op, {"M": 2, "N": 3, "K": 5})
    {(0, 'add', 'f32'): 24, (0, 'mul', 'f32'): 30}
    """
    found: dict[Key, int] = {}
    for key, many in _of_op(what, sizes) if isinstance(what, Op) else _of_program(what, sizes):
        found[key] = found.get(key, 0) + many
    return {key: many for key, many in found.items() if many}


def instructions(found: Mapping[Key, int]) -> dict[tuple[int, str], int]:
    """The same as instructions of one lane, by launch and dtype: a multiply-add is one.

    >>> instructions({(0, "mul", "f32"): 30, (0, "add", "f32"): 24, (0, "special", "f32"): 2})
    {(0, 'f32'): 32}
    """
    out: dict[tuple[int, str], int] = {}
    for launch, dtype in dict.fromkeys((launch, dtype) for launch, _, dtype in found):
        fused = max(found.get((launch, kind, dtype), 0) for kind in ("mul", "add"))
        out[launch, dtype] = fused + sum(found.get((launch, kind, dtype), 0) for kind in ALONE)
    return out


def _of_op(op: Op, sizes: Mapping[str, int]) -> Iterator[tuple[Key, int]]:
    """Values that equations have in common are computed once, and a sum of one may go with a product of another one."""
    counter, wanted, seen = Counter(Program("", op, (Launch((), (), ()),)), sizes), whole_tensors(op), set[str]()
    for equation in op.equations:
        if equation.target in wanted and equation.target not in op.continued:  # of which elements may stay as they are
            yield from _values(equation.value, _Place(0, tuple(map(_Loop, equation.axes)), TRUE, counter), seen)


def _of_program(program: Program, sizes: Mapping[str, int]) -> Iterator[tuple[Key, int]]:
    counter = Counter(replace(program, launches=(Launch((), (), ()),)), sizes)  # where all axes are loops
    for number, launch in enumerate(program.launches):
        changed = frozenset(written(launch.body))
        around = tuple(_Loop(a, changed) for a in (*launch.turns, *launch.grid, *launch.block))
        yield from _steps(launch.body, _Place(number, around, TRUE, counter), set())


def _steps(body: tuple[Step, ...], place: _Place, seen: set[str]) -> Iterator[tuple[Key, int]]:
    """Of steps in order; what was computed in the same turn is known."""
    for step in body:
        match step:
            case For(axis, inner) if step.start == Const(0):
                loop = _Loop(axis, frozenset(written(inner)))
                yield from _steps(inner, replace(place, loops=(*place.loops, loop)), set())
            case If(guard, inner):
                yield from _steps(inner, replace(place, guard=conjunction(place.guard, guard)), seen)
            case Assign():
                here = replace(place, guard=conjunction(place.guard, step.guard))
                yield from _values(step.value, here, seen)
                if step.update and step.value.dtype in FLOATS and (op := as_monoid(step.update).op) in CHAINS:
                    varying = here.varies(step.value, *step.index)
                    yield (
                        (here.launch, CHAINS[op], step.value.dtype),
                        here.folded(varying, {n for i in step.index for n in variables(i)}),
                    )


def _values(whole: Term, place: _Place, seen: set[str]) -> Iterator[tuple[Key, int]]:
    """Of a value: each of its nodes once, chains of products or sums as a compiler may turn them around."""
    inside: set[Term] = set()  # of chains that are counted
    for node, there, _ in evaluated(whole, Region(tuple(one.axis for one in place.loops), ())):
        here = replace(place.inside(*there.axes[len(place.loops) :]), guard=conjunction(place.guard, *there.guard))
        if (
            not isinstance(node, App | Fold)
            or node.dtype not in FLOATS
            or node in inside
            or (name := _named(node, there.names)) in seen
        ):
            continue
        seen.add(name)
        if any(isinstance(t, App) and t.op in SHUFFLES for t in walk(node)):
            continue
        if isinstance(node, Fold):
            fold, _ = there.opened(node)
            if (op := as_monoid(node.monoid).op) in CHAINS and _apart(fold, there.names):
                around = here.inside(*fold.axes)
                own = around.varies(fold)
                yield (place.launch, CHAINS[op], node.dtype), around.folded((*own, *fold.axes), {a.name for a in own})
            continue
        kind = CHAINS.get(node.op, OPERATION[node.op].work if node.op in OPERATION else "")
        if kind in ("mul", "add", *ALONE) and (many := here.times(here.varies(node))):
            inside |= {*_links(node, kind)}
            yield (place.launch, kind, node.dtype), many * (_chain(node, kind, here) if node.op in CHAINS else 1)


def _apart(fold: Fold, around: Collection[str]) -> bool:
    """Whether no two folds of the kind have anything in common: all elements are their own, none is left out by a condition, and none is a prefix of another one."""
    plain = all(isinstance(i, Var | Const) for r in reads(fold.body) for i in r.index)
    whole = fold.guard == TRUE and not any(isinstance(t, App) and t.op == "select" for t in walk(fold.body))
    return plain and whole and not any(variables(a.extent) & {*around} for a in fold.axes)


def _named(node: Term, around: Collection[str]) -> str:
    """A value's text with its indices numbered: equations name them as they like.

    >>> from tinygpu.category.term import Read
    >>> [_named(Read("x", (Var(a), Var(b)), "f32") + Read("y", (Var(b),), "f32"), {a, b}) for a, b in ("ij", "pq")]
    ['x[#0, #1] + y[#1]', 'x[#0, #1] + y[#1]']
    """
    names = {*around, *(a.name for t in walk(node) if isinstance(t, Fold) for a in t.axes)}
    numbers: dict[str, str] = {}
    return re.sub(r"[A-Za-z_@]\w*", lambda m: numbers.setdefault(m[0], f"#{len(numbers)}") if m[0] in names else m[0], text(node))


def _links(node: Term, kind: str) -> Iterator[Term]:
    """The further operations of a chain."""
    for one in node.args if isinstance(node, App) else ():
        if isinstance(one, App) and CHAINS.get(one.op) == kind:
            yield one
            yield from _links(one, kind)


def _chain(node: Term, kind: str, here: _Place) -> int:
    """The operations of a chain that are done at each point: those of the parts that change there, and one for all others."""
    whole = here.varies(node)
    links = [node, *_links(node, kind)]
    parts = {a for one in links if isinstance(one, App) for a in one.args if a not in links}
    most = sum(here.varies(a) == whole for a in parts)
    return max(1, most - 1 + (most < len(parts)))
