"""Tensors kept in registers: an input is read once into the thread's own cells, from which all equations read it.

Comes in: the plans of a launch and its `keep` clauses. Goes out: plans with one more before the first that reads the tensor.
The one idea: what the equations need of the tensor is one element for each point of register and vector factors, so these are its cells.
"""

from __future__ import annotations

from collections.abc import Sequence

from tinygpu.category.decide import holds
from tinygpu.category.region import Region
from tinygpu.category.term import Axis, Read, Term, conjunction, exchange, lift, select, variables, walk
from tinygpu.derive.nest import Build, own, point
from tinygpu.derive.operand import fill
from tinygpu.derive.plan import Plan
from tinygpu.model.problems import refused
from tinygpu.record import replace
from tinygpu.syntax.tree import Keep


def kept(build: Build, todo: Sequence[Plan], keeps: Sequence[Keep]) -> tuple[Plan, ...]:
    """The plans, each tensor that is kept read by a plan of its own. Raises TG537 where it cannot be."""
    plans = list(todo)
    for keep in keeps:
        if any(p.kept and p.target == keep.tensor for p in plans):
            continue  # what is computed here has its cells
        readers = [n for n, p in enumerate(plans) if any(element(t, keep) for t in walk(p.value))]
        read = single(plans, readers, keep)
        first = plans[readers[0]]
        cells = checked(build, plans, read, keep)
        name = build.fresh(f"{keep.tensor}_cell")
        value = select(bounds(build, read), read, fill(read.dtype))
        time = tuple(a for a in first.time if a.name in variables_of(read))
        held = Read(name, point(cells), read.dtype, read.span)
        plans = [replace(p, value=exchange(p.value, {read: held})) for p in plans]
        load = Plan(keep.tensor, read.dtype, (), value, cells, time, (), (), False, name, keep.span)
        plans.insert(readers[0], load)
    return tuple(plans)


def element(term: Term, keep: Keep) -> bool:
    """Whether a term is an element of the tensor."""
    return isinstance(term, Read) and term.tensor == keep.tensor


def variables_of(read: Read) -> frozenset[str]:
    """The factors and sizes in the index of an element."""
    return frozenset().union(*map(variables, read.index))


def single(plans: Sequence[Plan], readers: Sequence[int], keep: Keep) -> Read:
    """The one element that every equation reads, for each point of its factors."""
    found = list(dict.fromkeys(t for n in readers for t in walk(plans[n].value) if isinstance(t, Read) and element(t, keep)))
    if len(found) == 1:
        return found[0]
    message = "TG537.several" if found else "TG537.nobody"
    raise refused(message, keep.span, *(read.span for read in found[:2]), name=keep.tensor)


def checked(build: Build, plans: Sequence[Plan], read: Read, keep: Keep) -> tuple[Axis, ...]:
    """The cells: the register and vector factors of the element. Raises TG537 where a loop of a fold walks along the tensor."""
    names = variables_of(read)
    axes = tuple(a for a in build.axes if a.name in names)
    outer = {
        a.name for p in plans for a in p.time if all(a in q.time for q in plans if any(element(t, keep) for t in walk(q.value)))
    }
    for axis in build.ordered(axes):
        if axis.name not in outer:
            raise refused("TG537.walks", keep.span, axis.span, name=keep.tensor, loop=axis.name)
    return own(axes)


def bounds(build: Build, read: Read) -> Term:
    """Where the element is in bounds, as far as that is not known."""
    box = Region(build.axes, build.where)
    asked = [p for i, n in zip(read.index, build.tensors[read.tensor], strict=True) for p in (i >= lift(0), i < n)]
    return conjunction(*(p for p in asked if holds(p, box) is not True))
