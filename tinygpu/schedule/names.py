"""Axes named as the reader knows them: the index of the equation that stands where the axis stands.

Comes in: the axes and body of a launch after merging, and the op. Goes out: the same with `g_t_v` called `i`, `c_v` called `k`.
The one idea: an axis that alone is the index of `A`'s second dimension is what the equation calls `A`'s second dimension.
"""

from __future__ import annotations

from collections.abc import Mapping

from tinygpu.category.term import Axis, Read, Term, Var, substitute, walk
from tinygpu.model.op import Op
from tinygpu.program.step import For, If, Step
from tinygpu.record import replace
from tinygpu.schedule.lift import sites, tensor_reads
from tinygpu.schedule.merge import Nest, change_terms


def renamed(op: Op, nest: Nest, taken: frozenset[str]) -> Nest:
    """The nest with the op's own index names, wherever one is free.

    >>> from tinygpu.category.term import Const, TRUE
    >>> from tinygpu.model.op import Equation, Tensor
    >>> from tinygpu.program.step import Assign
    >>> x, z = Tensor("x", "f32", (Var("n"),), "input"), Tensor("z", "f32", (Var("n"),), "output")
    >>> axis = Axis("i", Var("n"))
    >>> copy = Op("copy", ("n",), (x,), (z,), (), (Equation("z", (axis,), Read("x", (Var("i"),), "f32")),))
    >>> nest = Nest((Axis("g_t", Var("n")),), (), (Assign("z", (Var("g_t"),), Read("x", (Var("g_t"),), "f32")),))
    >>> renamed(copy, nest, frozenset()).axes
    (Axis(name='i', extent=Var(name='n', dtype='index'), sort='data'),)
    """
    places = _places(op)
    names: dict[str, str] = {}
    for tensor, index in _accesses(nest.body):
        for dimension, t in enumerate(index):
            better = places.get((tensor, dimension))
            if isinstance(t, Var) and better and t.name not in names and better not in names.values() and better not in taken:
                names[t.name] = better
    kept = {a.name for a in nest.axes} | {loop.axis.name for site in sites(nest.body) for loop in site.loops}
    names = {old: new for old, new in names.items() if old in kept and (new == old or new not in kept)}
    mapping = {old: Var(new) for old, new in names.items()}
    body = _loops(change_terms(nest.body, lambda t: substitute(t, mapping)), names)
    axes = tuple(replace(a, name=names.get(a.name, a.name)) for a in nest.axes)
    return Nest(axes, tuple(substitute(g, mapping) for g in nest.guards), body)


def _places(op: Op) -> dict[tuple[str, int], str]:
    """(tensor, dimension) to the index that the equations use there first."""
    out: dict[tuple[str, int], str] = {}
    for equation in op.equations:
        accesses: list[tuple[str, tuple[Term, ...]]] = [(equation.target, tuple(Var(a.name) for a in equation.axes))]
        accesses += [(t.tensor, t.index) for t in walk(equation.value) if isinstance(t, Read)]
        for tensor, index in accesses:
            for dimension, t in enumerate(index):
                if isinstance(t, Var):
                    out.setdefault((tensor, dimension), t.name)
    return out


def _accesses(body: tuple[Step, ...]) -> list[tuple[str, tuple[Term, ...]]]:
    stores = [(site.step.target, site.step.index) for site in sites(body)]
    return stores + [(read.tensor, read.index) for site in sites(body) for read in tensor_reads(site)]


def _loops(body: tuple[Step, ...], names: Mapping[str, str]) -> tuple[Step, ...]:
    out: list[Step] = []
    for step in body:
        match step:
            case For(axis, inner):
                out.append(
                    replace(step, axis=Axis(names.get(axis.name, axis.name), axis.extent, axis.sort), body=_loops(inner, names))
                )
            case If(_, inner):
                out.append(replace(step, body=_loops(inner, names)))
            case _:
                out.append(step)
    return tuple(out)
