"""The axes of a nest in other words: factors that stand in one sum together, flat ones taken apart, with the names of the op's indices.

    (g*256 + t)*4 + v   ↦   g_t_v        e // N, e % N   ↦   e_q, e_r        A[g_t, c_v]   ↦   A[i, k]

Comes in: axes and bodies. Goes out: the same with other axes. The one idea: threads that do not cooperate may run in any order, so only the numbers
that the indices take matter, not the factors they were cut into; and loops that are digits cost no division.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from tinygpu.category.linear import Polynomial, divide, plus, polynomial, stride, times
from tinygpu.category.region import Region
from tinygpu.category.simplify import simplify
from tinygpu.category.term import App, Axis, Const, Term, Var, reads, substitute, variables
from tinygpu.category.text import unused
from tinygpu.model.op import Op
from tinygpu.model.view import VIEW
from tinygpu.program.arrays import address
from tinygpu.program.step import Array, Assign, For, Step, arrays_in
from tinygpu.program.traverse import map_steps
from tinygpu.record import replace
from tinygpu.schedule.nest import Body, Nest, change_terms, is_long, loops_of, moved, sites
from tinygpu.schedule.polynomial import rewrite, term, uses


def terms_of(body: Body) -> list[Term]:
    """Every index, guard and value of a body."""
    return [t for site in sites(body) for t in site.terms]


def merge(axes: tuple[Axis, ...], body: Body, taken: frozenset[str]) -> tuple[tuple[Axis, ...], Body]:
    """Pairs of axes that stand only as `p·extent(q) + q` become one, until there are none.

    >>> from tinygpu.category.term import Read, text
    >>> g, t, n = Var("g"), Var("t"), Var("n")
    >>> store = Assign("z", (g * 4 + t,), Read("x", (g * 4 + t,), "f32"))
    >>> axes, (store,) = merge((Axis("g", n), Axis("t", Const(4))), (store,), frozenset())
    >>> [(a.name, text(a.extent)) for a in axes], text(store.index[0])
    ([('g_t', 'n*4')], 'g_t')
    """
    body = change_terms(body, rewrite)
    while True:
        pair = _pair(axes, uses(terms_of(body)))
        if pair is None:
            return axes, body
        slow, fast = pair
        name = unused(f"{slow.name}_{fast.name}", taken | {a.name for a in axes})
        merged = Axis(name, term(times(polynomial(slow.extent), polynomial(fast.extent))), slow.sort)
        body = _merged(body, slow, fast, name)
        axes = tuple(merged if a == slow else a for a in axes if a != fast)


def _merged(body: Body, slow: Axis, fast: Axis, name: str) -> Body:
    pair, both = {Var(slow.name), Var(fast.name)}, {slow.name, fast.name}

    def change(p: Polynomial) -> Polynomial:
        rest = {m: c for m, c in p.items() if pair.isdisjoint(m)}
        scale = direct(p, fast.name) if len(rest) < len(p) else None
        return plus(rest, times(scale, polynomial(Var(name)))) if scale else p

    return change_terms(body, lambda t: t if both.isdisjoint(variables(t)) else rewrite(t, change))


def direct(p: Polynomial, name: str) -> Polynomial | None:
    """What `name` is multiplied by where it stands as itself, atoms that hold it left alone; None for a square or worse.

    >>> i = Var("i")
    >>> direct(polynomial(i * 3 + i // 2), "i"), direct(polynomial(i * i), "i")
    ({(): 3}, None)
    """
    return stride({m: c for m, c in p.items() if Var(name) in m}, name)[0]


def _pair(axes: tuple[Axis, ...], polynomials: list[Polynomial]) -> tuple[Axis, Axis] | None:
    """Two axes of which the first always stands with the second's extent times the second's coefficient."""
    table = {a.name: [direct(p, a.name) for p in polynomials] for a in axes}
    for slow in axes:
        for fast in axes:
            if slow is fast or None in table[slow.name] or None in table[fast.name]:
                continue
            extent = polynomial(fast.extent)
            both = zip(table[slow.name], table[fast.name], strict=True)
            if all(a == times(b or {}, extent) for a, b in both) and any(table[fast.name]):
                return slow, fast
    return None


def merge_loops(body: Body, taken: frozenset[str]) -> Body:
    """Perfectly nested loops that only stand as one mixed-radix sum become one loop; where the slow one is inside, only if the order
    of their points does not matter."""
    taken = taken.union(loop.axis.name for loop in loops_of(body))

    def each(step: Step) -> Body:
        match step:
            case For(slow, (For(fast, inner),)):
                axes, merged = merge((slow, fast), inner, taken)
                ordered = _pair((slow, fast), uses(terms_of(inner))) == (slow, fast)
                if len(axes) == 1 and (ordered or (is_long(axes[0]) and _unordered(inner, (slow, fast)))):
                    return each(For(axes[0], merged))
        return (step,)

    return map_steps(body, each)


def _unordered(body: Body, axes: tuple[Axis, ...]) -> bool:
    """Whether passes may change places: they only fold into cells that none of them reads, or store each to elements of its own."""
    inside = list(sites(body))
    read = {r.tensor for site in inside for r in site.reads}

    def free(step: Assign) -> bool:
        own = all(any(a.name in variables(t) for t in step.index) for a in axes)
        return step.target not in read and (bool(step.update) or own)

    return all(free(site.step) for site in inside)


def split(nest: Nest, taken: frozenset[str]) -> Nest:
    """Every flattened axis that stands divided, `e < M*N` as `e // N` and `e % N`, taken apart."""
    for axis in nest.axes:
        quotients = _quotients(nest, axis)
        for divisor in (d for op, d in quotients if op == "mod"):
            rows, rest = divide(polynomial(axis.extent), polynomial(divisor))
            if rest or not all(_fits(op, d, divisor) for op, d in quotients):
                continue
            slow = Axis(unused(axis.name + "_q", taken), term(rows), axis.sort)
            fast = Axis(unused(axis.name + "_r", taken), divisor, axis.sort)

            whole, box = {axis.name: Var(slow.name) * fast.extent + Var(fast.name)}, Region((slow, fast))

            def apart(t: Term, whole: dict[str, Term] = whole, box: Region = box) -> Term:
                return simplify(substitute(t, whole), box)

            axes = tuple(new for a in nest.axes for new in ((slow, fast) if a == axis else (a,)))
            return split(Nest(axes, tuple(map(apart, nest.guards)), change_terms(nest.body, apart)), taken | {slow.name, fast.name})
    return nest


def _quotients(nest: Nest, axis: Axis) -> list[tuple[str, Term]]:
    """The `//` and `%` of the axis itself: which, and by what."""
    atoms = (atom for p in uses([*terms_of(nest.body), *nest.guards]) for monomial in p for atom in monomial)
    own = (atom for atom in atoms if isinstance(atom, App) and atom.args[0] == Var(axis.name))
    return list(dict.fromkeys((atom.op, atom.args[1]) for atom in own if atom.op in ("floordiv", "mod")))


def _fits(op: str, by: Term, divisor: Term) -> bool:
    return by == divisor if op == "mod" else not divide(polynomial(by), polynomial(divisor))[1]


def in_rows(body: Body) -> Body:
    """`body → body` in which every array of cells has one axis: `e[c, v]` of 256 × 16 cells is `e[c*16 + v]` of 4096. Loops that are digits of
    one index merge where everything stands at that index, and cells lie in memory as they are numbered anyway."""
    shapes = {s.name: s.extents for s in arrays_in(body, "thread") if len(s.extents) > 1}

    def each(step: Step) -> Body:
        match step:
            case Array(name, _, extents) if name in shapes:
                return (replace(step, extents=(Const(prod(int(e.value) for e in extents if isinstance(e, Const))),)),)
        return (step,)

    if not shapes:
        return body
    return map_steps(moved(body, lambda name, i: (name, (address(shapes[name], i),) if name in shapes else i)), each)


def renamed(op: Op, nest: Nest, taken: frozenset[str]) -> Nest:
    """The nest with the op's own index names, wherever one is free: an axis that alone is the index of `A`'s second dimension is what the equation
    calls that."""
    places, taken = _places(op), taken | {array.name for array in arrays_in(nest.body)}
    names: dict[str, str] = {}
    for tensor, index in _accesses(nest.body):
        for dimension, t in enumerate(index):
            better = places.get((tensor, dimension))
            if isinstance(t, Var) and better and t.name not in names and better not in names.values() and better not in taken:
                names[t.name] = better
    axes = {a.name for a in nest.axes} | {loop.axis.name for loop in loops_of(nest.body)}
    names = {old: new for old, new in names.items() if old in axes and (new == old or new not in axes)}
    mapping = {old: Var(new) for old, new in names.items()}

    def called(axis: Axis) -> Axis:
        return replace(axis, name=names.get(axis.name, axis.name))

    body = change_terms(nest.body, lambda t: substitute(t, mapping))
    body = map_steps(body, lambda step: (replace(step, axis=called(step.axis)) if isinstance(step, For) else step,))
    return Nest(tuple(map(called, nest.axes)), tuple(substitute(g, mapping) for g in nest.guards), body)


def _places(op: Op) -> dict[tuple[str, int], str]:
    """(tensor, dimension) to the index that the equations use there first; what a view calls its axes nobody wrote."""
    out: dict[tuple[str, int], str] = {}
    for equation in (e for e in op.equations if op.tensor(e.target).role != VIEW):
        accesses: list[tuple[str, tuple[Term, ...]]] = [(equation.target, tuple(Var(a.name) for a in equation.axes))]
        accesses += [(read.tensor, read.index) for read in reads(equation.value)]
        for tensor, index in accesses:
            for dimension, t in enumerate(index):
                if isinstance(t, Var):
                    out.setdefault((tensor, dimension), t.name)
    return out


def _accesses(body: Body) -> Iterator[tuple[str, tuple[Term, ...]]]:
    """What is stored, then what is read."""
    yield from ((site.step.target, site.step.index) for site in sites(body))
    yield from ((read.tensor, read.index) for site in sites(body) for read in site.reads)
