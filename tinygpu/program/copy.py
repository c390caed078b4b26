"""Copies of a program's text: an assignment at each point of a box, shared out among the threads of a block.

    copy s[r, c] = x[g*64 + r, c] { work block = (q: 64, h: 4)  compute r = q, c = (h, v: 4)  vector v }
        ↦   for v < 4 in vector { s[t // 4, t % 4*4 + v] = x[g*64 + t // 4, t % 4*4 + v] }

Comes in: the tree of a copy, and the reader that has come to it. Goes out: steps. The one idea: the copy of a stage is such an assignment, so its
clauses are those of a stage, and so is what is done where there are none: neighbours copy neighbours, 16 bytes at once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from math import prod
from typing import TYPE_CHECKING

from tinygpu.category.decide import holds
from tinygpu.category.dtype import BYTES
from tinygpu.category.linear import polynomial
from tinygpu.category.owner import Arrow, digits
from tinygpu.category.region import Region
from tinygpu.category.simplify import simplify
from tinygpu.category.term import (
    TRUE,
    App,
    Axis,
    Const,
    Read,
    Term,
    Var,
    conjunction,
    conjuncts,
    equal,
    reads,
    substitute,
    variables,
)
from tinygpu.diagnostic import Span
from tinygpu.model.clauses import Clauses
from tinygpu.model.monoid import Monoids
from tinygpu.model.op import Equation, Tensor
from tinygpu.model.ranges import occurrences
from tinygpu.model.scope import Scope
from tinygpu.model.stage_copy import default_copy, shared_out, threads_of
from tinygpu.model.tile import Side
from tinygpu.program.boxes import unboxed
from tinygpu.program.call import TENSOR, Boxed, Sync
from tinygpu.program.pending import source
from tinygpu.program.space import LOCAL, SPACES
from tinygpu.program.statement import assign
from tinygpu.program.step import WARP, Array, Assign, For, Step
from tinygpu.program.traverse import map_steps, map_terms
from tinygpu.record import replace
from tinygpu.syntax import tree
from tinygpu.syntax.node import nodes

if TYPE_CHECKING:
    from tinygpu.program.read import Reader

IN_A_COPY = tree.Work | tree.Compute | tree.Own | tree.Binding


def copied(reader: Reader, statement: tree.Copy, axes: tuple[Axis, ...]) -> tuple[Step, ...]:
    """`copy … → steps`, nothing after a message."""
    scope, problems, before = reader.scope(axes), reader.problems, reader.problems.told
    for clause in statement.clauses:
        if not isinstance(clause, IN_A_COPY) or (isinstance(clause, tree.Compute) and clause.equation):
            problems.say("TG543.copy", clause.span)
    box = _box(reader, statement, scope, axes)
    step = assign(statement.step, scope.with_indices({a.name: a.extent for a in box}), reader.cells)
    if problems.told > before or step is None:
        return ()
    of_block = sharing([a for a in axes if a.sort == "block"], reader.guards)
    said = Clauses(tuple(c for c in statement.clauses if isinstance(c, IN_A_COPY)))
    if said.every:
        where = conjunction(*reader.op.where, *reader.machine.where)
        equation = Equation("the box", box, Const(0), statement.step.target.span)
        block, arrow = shared_out(said, equation, of_block, where, _clauses(reader))
    else:
        block, arrow = _default(reader, step, box, of_block, 1 if statement.by == TENSOR else 16)
    if arrow is None:
        return ()
    named = {"": None, TENSOR: reader.hidden}.get(statement.by or "", reader.fresh)
    loops, made = _looped(reader, step, (*axes, *box), block, arrow, of_block, named)
    if statement.by == TENSOR:
        return _at_once(reader, step, axes, box, loops, made, of_block)
    return _waiting(reader, statement, loops, made) if statement.by else _inside(loops, made, made.span)


def _clauses(reader: Reader) -> Scope:
    """The names of clauses: sizes and params."""
    return replace(reader.constants(), sizes=dict.fromkeys(reader.op.sizes, reader.op.span), monoids=Monoids()).inside_brackets()


# ── the box ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _box(reader: Reader, statement: tree.Copy, scope: Scope, axes: tuple[Axis, ...]) -> tuple[Axis, ...]:
    """The indices that stand on the left side and are nothing else, each with its range: the one that is written, or else the extent of an axis at
    which it stands, one that is a number."""
    step, known = statement.step, scope.everything()
    places = {n.name: n.span for n in nodes(step.target.index) if isinstance(n, tree.Name) and n.name not in known}
    written = {one.name: one.extent for one in statement.box}
    if not places:
        reader.problems.say("TG175.box", step.target.span)
    found: list[Axis] = []
    for name, span in places.items():
        here = [o.extent for part in (step.target, step.value) for o in occurrences(part, name, scope)]
        extent = next((e for e in here if isinstance(e, Const)), next(iter(here), None))
        if name in written:
            extent = reader.extent(written[name], name, True, axes)
        elif extent is None:
            reader.problems.say("TG113.left", span, name=name)
        elif not isinstance(extent, Const):
            reader.problems.say("TG155.copy", span, name=name, extent=extent)
        found.append(Axis(name, extent if isinstance(extent, Const) else Const(1), "data", span))
    return tuple(found)


# ── who copies what ────────────────────────────────────────────────────────────────────────────────────────────────


def _default(
    reader: Reader, step: Assign, box: tuple[Axis, ...], of_block: Sequence[Axis], widest: int
) -> tuple[tuple[Axis, ...], Arrow]:
    """As a stage is copied: neighbours in memory by neighbours, several at once where its rows are such groups, as many as leave no thread idle."""
    memory = [Read(step.target, step.index, step.value.dtype), *reads(step.value)]
    there = [one for one in memory if one.index and _outlives(reader, one.tensor)] or memory[:1]
    fastest = _last(there[0], box)
    order = (*(a for a in box if a.name != fastest), *(a for a in box if a.name == fastest))
    sides = [Side(a.name, _number(a), _origin(there[0], a) if a.name == fastest else Const(0)) for a in order]
    own = prod(map(_number, box)) * BYTES[there[0].dtype] // max(1, threads_of(of_block))
    most = next((most for most in (16, 8, 4, 2) if most <= widest and own >= most), 1)
    turned = _last(memory[0], box) if most == 16 else ""
    return default_copy(sides, threads_of(of_block) if of_block else 0, there[0].dtype, turned, most)


def _outlives(reader: Reader, name: str) -> bool:
    """Whether an array is in global memory."""
    array = reader.arrays.get(name)
    return array is None or SPACES[array.role].owner == "grid"


def _last(access: Read, box: Sequence[Axis]) -> str:
    """The index of the box that goes along the last axis of an access, if one does."""
    here = variables(access.index[-1]) if access.index else frozenset()
    return next((a.name for a in reversed(box) if a.name in here), "")


def _number(axis: Axis) -> int:
    return _size(axis.extent)


def _size(extent: Term) -> int:
    assert isinstance(extent, Const), "the ranges of a box, and the factors of a block, are numbers"
    return int(extent.value)


def _origin(access: Read, axis: Axis) -> Term:
    """Where an access is when the index is 0; an odd number where the index does not go along it step by step."""
    place = access.index[-1]
    return substitute(place, {axis.name: Const(0)}) if polynomial(place).get((Var(axis.name),)) == 1 else Const(1)


def _looped(
    reader: Reader,
    step: Assign,
    axes: tuple[Axis, ...],
    block: tuple[Axis, ...],
    arrow: Arrow,
    of_block: tuple[Axis, ...],
    named: Callable[[str], str] | None,
) -> tuple[tuple[Axis, ...], Assign]:
    """The copy's own loops, `named` where its halves stand apart or no text says them, and the assignment in them, each index of the box as a term over them and the number of the thread."""
    there = reader.scope(axes).everything()
    own = [a for a in arrow.domain.axes if a.sort != "block"]
    name = named or (lambda given: reader.fresh(given) if given in there else given)
    loops = tuple(replace(a, name=name(a.name)) for a in own)
    thread = digits(block, of_block)
    factors: Mapping[str, Term] = {**{a.name: Var(b.name) for a, b in zip(own, loops, strict=True)}, **thread.by_axis}
    region = Region((*axes, *loops))
    box = {name: simplify(substitute(term, factors), region) for name, term in arrow.by_axis.items()}
    absent = (equal(thread.by_axis[a.name], 0) for a in block if a.name not in arrow.domain.names)
    mine = (*(substitute(g, factors) for g in arrow.domain.guard), *thread.domain.guard, *absent)
    made = map_terms(step, lambda term: simplify(substitute(term, box), region))
    return loops, replace(made, guard=conjunction(simplify(conjunction(*mine), region), made.guard))


def _inside(loops: Sequence[Axis], step: Step, span: Span) -> tuple[Step, ...]:
    """A step in loops, the first one outermost."""
    steps: tuple[Step, ...] = (step,)
    for axis in reversed(loops):
        steps = (For(axis, steps, span),)
    return steps


def sharing(block: Sequence[Axis], guards: tuple[Term, ...]) -> tuple[Axis, ...]:
    """The factors of a block that share a copy out, as conditions around say: not those of which one value is meant, and of others the first ones.

    >>> g, w, lane = (Axis(name, Const(n), "block") for name, n in (("g", 3), ("w", 4), ("lane", 32)))
    >>> [(a.name, a.extent.value) for a in sharing((g, w, lane), (equal(Var("g"), 2), Var("w") < 2, Var("lane") < 40))]
    [('w', 2), ('lane', 32)]
    """
    said = [(one.op, *one.args) for guard in guards for one in conjuncts(guard) if isinstance(one, App) and len(one.args) == 2]
    ends = {left: Const(1) if op == "eq" else right for op, left, right in said if op in ("eq", "lt") and isinstance(right, Const)}
    first = (replace(a, extent=min(a.extent, ends.get(Var(a.name), a.extent), key=_size)) for a in block)
    return tuple(a for a in first if _size(a.extent) > 1 or Var(a.name) not in ends)


# ── at once ─


def _at_once(
    reader: Reader,
    step: Assign,
    axes: tuple[Axis, ...],
    box: tuple[Axis, ...],
    loops: tuple[Axis, ...],
    made: Assign,
    of_block: tuple[Axis, ...],
) -> tuple[Step, ...]:
    """A copy by a unit of its own: what the lanes of a warp would do, between two calls."""
    one, near = Boxed(step.target, step.index, step.value, box), reader.written.layouts.get(step.target)
    tensors = {t.name: t for t in reader.op.inputs if not t.strided}
    element = source(step.value)
    far = tensors.get(element.tensor) if element else None
    if near is None or far is None or step.update or step.atomic or step.guard != TRUE:
        reason = "it is not from an input, as its rows lie, to an array of the block"
    elif threads_of(of_block) != WARP:
        reason = "it is shared out among other threads than those of one warp"
    elif not _begins_inside(reader, one, axes):
        reason = "data tell where it begins, where none of its elements may be inside"
    else:
        reason = unboxed(one, near, far.shape)
    if reason:
        reader.problems.say("TG185.copy", step.span, reason=reason)
        return ()
    meet = Sync("instruction", step.span)
    return (replace(meet, begins=one), *_inside(loops, replace(made, pending=TENSOR), step.span), meet)


def _begins_inside(reader: Reader, one: Boxed, axes: tuple[Axis, ...]) -> bool:
    """Whether data that tell where a box begins are read by a lane, too: its first element is inside. The unit's call reads them whatever is inside."""
    element = source(one.value)
    if not isinstance(one.value, App) or element is None or not any(map(reads, element.index)):
        return True
    first = substitute(one.value.args[0], {a.name: Const(0) for a in one.box})
    known = Region(axes, (*reader.op.where, *reader.guards))
    return all(reads(said) or holds(said, known) is True for said in conjuncts(first))


# ── in two halves ──────────────────────────────────────────────────────────────────────────────────────────────────


def _waiting(reader: Reader, statement: tree.Copy, loops: tuple[Axis, ...], step: Assign) -> tuple[Step, ...]:
    """The first half of a copy by way of registers, one for each turn of its loops; the second one waits for a `store`."""
    name, span = statement.by or "", statement.span
    if get_close_matches(name, [TENSOR], cutoff=0.8):
        reader.problems.say("TG185.by", span, near=[TENSOR], name=name)
        return ()
    if step.update or step.atomic or step.pending:
        reader.problems.say("TG175.halves", span)
    if name in reader.declared and name not in reader.earlier:
        reader.problems.say("TG102.array", span, reader.declared[name], title="local", name=name)
    elif not reader.scope(()).hides(name, span, "the local"):
        own, extents = reader.named(name), tuple(a.extent for a in loops)
        reader.arrays[name], reader.declared[name] = Tensor(own, step.value.dtype, extents, "local", span), span
        cell = Read(own, tuple(Var(a.name) for a in loops), step.value.dtype, span)
        reader.waiting[own] = _inside(loops, replace(step, value=cell), span)
        held = Assign(own, cell.index, step.value, guard=step.guard, span=step.span)
        return (Array(own, step.value.dtype, extents, LOCAL, span=span), *_inside(loops, held, span))
    return ()


def stored(reader: Reader, statement: tree.Store) -> tuple[Step, ...]:
    """`store r, q → steps`: the second halves."""
    found: list[Step] = []
    for name in statement.names:
        array = reader.arrays.get(name)
        if array is None or array.name not in reader.waiting:
            reader.problems.say("TG175.store", statement.span, reader.declared.get(name), name=name)
        else:
            found += map_steps(reader.waiting[array.name], lambda step: (replace(step, span=statement.span),))
    return tuple(found)
