"""Axes that only ever stand in one mixed-radix sum become one axis, and guards over it become its bound.

Comes in: the axes and the body of a launch, after `cpu_lift`. Goes out: a `Nest`, in which `(g*256 + t)*4 + v < n` is `i < n`.
The one idea: threads that do not cooperate may run in any order, so only the numbers that the indices take matter, not the
factors they were cut into.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable

from tinygpu.category.linear import Polynomial, plus, polynomial, stride, times
from tinygpu.category.names import unused
from tinygpu.category.term import TRUE, App, Axis, Const, Read, Term, Var, conjunction, conjuncts, rebuild, select, variables, walk
from tinygpu.program.step import Assign, For, Ghost, If, Step, steps
from tinygpu.program.traverse import map_steps, map_terms
from tinygpu.record import dataclass, replace
from tinygpu.schedule.access import is_long
from tinygpu.schedule.lift import Site, sites, tensor_reads
from tinygpu.schedule.polynomial import limit, positive, rewrite, term, uses


@dataclass(frozen=True, slots=True)
class Nest:
    """Points of `axes` at which every guard holds, in any order; each runs `body`. Axes run over `[0, extent)`."""

    axes: tuple[Axis, ...]
    guards: tuple[Term, ...]
    body: tuple[Step, ...]


def terms_of(body: tuple[Step, ...]) -> list[Term]:
    """Every index, guard and value of a body."""
    return [t for site in sites(body) for t in site.terms]


def change_terms(body: tuple[Step, ...], change: Callable[[Term], Term]) -> tuple[Step, ...]:
    """The body with `change` applied to every index, guard, value and extent of a loop; without ghost facts."""
    return map_steps(body, lambda step: () if isinstance(step, Ghost) else (map_terms(step, change),))


def merge(axes: tuple[Axis, ...], body: tuple[Step, ...], taken: frozenset[str]) -> tuple[tuple[Axis, ...], tuple[Step, ...]]:
    """Pairs of axes that stand only as `p·extent(q) + q` become one, until there are none.

    >>> from tinygpu.category.term import text
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


def _merged(body: tuple[Step, ...], slow: Axis, fast: Axis, name: str) -> tuple[Step, ...]:
    def change(p: Polynomial) -> Polynomial:
        scale = direct(p, fast.name)
        rest = {m: c for m, c in p.items() if Var(slow.name) not in m and Var(fast.name) not in m}
        return plus(rest, times(scale, polynomial(Var(name)))) if scale else p

    return change_terms(body, lambda t: rewrite(t, change))


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


def merge_loops(body: tuple[Step, ...], taken: frozenset[str]) -> tuple[Step, ...]:
    """Perfectly nested loops that only stand as one mixed-radix sum become one loop; where the slow one is inside, only if the order
    of their points does not matter."""
    out: list[Step] = []
    for step in body:
        match step:
            case For(slow, (For(fast, inner) as nested,)):
                axes, merged = merge((slow, fast), inner, taken)
                if len(axes) == 1 and (
                    _pair((slow, fast), uses(terms_of(inner))) == (slow, fast)
                    or (is_long(axes[0]) and unordered(inner, (slow, fast)))
                ):
                    out.extend(merge_loops((For(axes[0], merged),), taken | {axes[0].name}))
                else:
                    out.append(replace(step, body=merge_loops((nested,), taken | {slow.name, fast.name})))
            case For(axis, inner):
                out.append(replace(step, body=merge_loops(inner, taken | {axis.name})))
            case If(_, inner):
                out.append(replace(step, body=merge_loops(inner, taken)))
            case _:
                out.append(step)
    return tuple(out)


def unordered(body: tuple[Step, ...], axes: tuple[Axis, ...]) -> bool:
    """Whether passes may change places: they only fold into cells that none of them reads, or store each to elements of its own."""
    inside = list(sites(body))
    read = {r.tensor for site in inside for r in tensor_reads(site)}

    def free(step: Assign) -> bool:
        own = all(any(a.name in variables(t) for t in step.index) for a in axes)
        return step.target not in read and (bool(step.update) or own)

    return all(free(site.step) for site in inside)


def bound(axes: tuple[Axis, ...], body: tuple[Step, ...], outputs: frozenset[str]) -> Nest:
    """Guards that every store has become bounds of the axes, or guards of the nest; inside they are facts."""
    names = frozenset(a.name for a in axes)
    facts = tuple(f for f in common(body, outputs) if variables(f) & names)
    guards: list[Term] = []
    new = {a.name: a for a in axes}
    for fact in facts:
        limit = _limit(fact, new)
        if limit is None:
            guards.append(fact)
        else:
            name, top = limit
            new[name] = replace(new[name], extent=smaller(new[name].extent, top))
    around = {a.name for a in axes} | {s.axis.name for s in steps(body) if isinstance(s, For)}
    return Nest(tuple(new[a.name] for a in axes), tuple(guards), bound_loops(assume(body, facts), around))


def common(body: tuple[Step, ...], outputs: frozenset[str]) -> tuple[Term, ...]:
    """The conjuncts over axes and sizes that stand over every store."""
    stores = [site for site in sites(body) if site.step.target in outputs]
    found: list[dict[Term, None]] = []
    for site in stores:
        inner = {loop.axis.name for loop in site.loops}
        parts = conjuncts(conjunction(*site.guards, site.step.guard))
        found.append({p: None for p in parts if pure(p) and not variables(p) & inner})
    if not found:
        return ()
    return tuple(p for p in found[0] if all(p in other for other in found))


def pure(t: Term) -> bool:
    """Whether a term reads nothing."""
    return not any(isinstance(x, Read) for x in walk(t))


def _limit(fact: Term, axes: dict[str, Axis]) -> tuple[str, Term] | None:
    """`(name, top)` when the fact says `name < top` and top is over the sizes alone."""
    p = coarse(positive(fact) or {}, axes)
    inside = [name for name in axes if any(name in variables(atom) for m in p for atom in m)]
    sign, top = limit(p, inside[0]) or (0, TRUE) if len(inside) == 1 else (0, TRUE)
    return (inside[0], top) if sign < 0 else None


def coarse(p: Polynomial, axes: dict[str, Axis]) -> Polynomial:
    """`p > 0` without the digits that cannot change it: `4·x - v > 0` is `x > 0` for `v < 4`.

    >>> axes = {"v": Axis("v", Const(4))}
    >>> coarse(positive(Var("q") * 4 + Var("v") < Var("n") * 4), axes) == positive(Var("q") < Var("n"))
    True
    """
    for axis in axes.values():
        others = {m: c for m, c in p.items() if m != (Var(axis.name),)}
        scale = math.gcd(*others.values())
        few = isinstance(axis.extent, Const) and axis.extent.value <= scale
        if p.get((Var(axis.name),)) == -1 and few and not any(axis.name in variables(atom) for m in others for atom in m):
            return coarse({m: c // scale for m, c in others.items()}, axes)
    return p


def smaller(extent: Term, top: Term) -> Term:
    """`min(extent, top)`, which is `top` where the extent is `⌈a/d⌉·d·s` and top is `a·s`, or `⌈a/(d·e)⌉·d` and top `⌈a/e⌉`."""
    parts = polynomial(extent)
    if len(parts) == 1:
        ((monomial, c),) = parts.items()
        match monomial:
            case (App("ceildiv", (a, Const(d))),) if c % int(d) == 0 and times(polynomial(a), {(): c // int(d)}) == polynomial(top):
                return top
            case (App("ceildiv", (a, Const(d))),) if isinstance(top, App) and top.op == "ceildiv":
                b, e = top.args
                if polynomial(a) == polynomial(b) and isinstance(e, Const) and int(d) == c * int(e.value):
                    return top
    if polynomial(extent) == polynomial(top):
        return top
    return App("min", (extent, top))


def assume(body: tuple[Step, ...], facts: Iterable[Term]) -> tuple[Step, ...]:
    """The body with conditions that are among the facts gone."""
    known = set(facts)
    shapes = [p for p in map(positive, known) if p is not None]

    def change(t: Term) -> Term:
        if t in known or (positive(t) in shapes and shapes):
            return TRUE
        match t:
            case App("select", (condition, then, otherwise)):
                return select(change(condition), change(then), change(otherwise))
            case App("and", args):
                return conjunction(*map(change, args))
        return rebuild(t, change)

    return _flat(change_terms(body, change))


def _flat(body: tuple[Step, ...]) -> tuple[Step, ...]:
    """Without `if true`."""
    out: list[Step] = []
    for step in body:
        match step:
            case If(guard, inner) if guard == TRUE:
                out.extend(_flat(inner))
            case If(_, inner) | For(_, inner):
                out.append(replace(step, body=_flat(inner)))
            case _:
                out.append(step)
    return tuple(out)


def passing(loop: For, around: tuple[Step, ...]) -> frozenset[str]:
    """The cells that every pass of a loop writes before it reads them, and nobody reads outside: what they hold at its end is lost."""
    written = [s for s in loop.body if isinstance(s, Assign) and not s.update and s.guard == TRUE and not s.index]
    inside, everywhere = list(sites((loop,))), list(sites(around))

    def users(places: list[Site], name: str) -> list[Site]:
        return [site for site in places if site.step.target == name or any(read.tensor == name for read in tensor_reads(site))]

    out = set()
    for step in written:
        own = users(inside, step.target)
        first = own[0].step is step and all(read.tensor != step.target for read in tensor_reads(own[0]))
        if first and len(own) == len(users(everywhere, step.target)):
            out.add(step.target)
    return frozenset(out)


def _over_sizes(fact: Term, axis: Axis, around: Collection[str]) -> bool:
    limit = _limit(fact, {axis.name: axis})
    return limit is not None and not variables(limit[1]) & {*around}


def bound_loops(body: tuple[Step, ...], around: Collection[str], whole: tuple[Step, ...] = ()) -> tuple[Step, ...]:
    """Loops whose every assignment has the guard `k < top` end there, if top is over the sizes: no axis `around` stands in it. A loop that
    does nothing beyond may stop."""
    out: list[Step] = []
    for step in body:
        match step:
            case For(axis, inner):
                targets = frozenset(s.target for s in steps(inner) if isinstance(s, Assign)) - passing(step, whole or body)
                facts = [f for f in common(inner, targets) if axis.name in variables(f) and _over_sizes(f, axis, around)]
                for fact in facts:
                    top = _limit(fact, {axis.name: axis})
                    axis = replace(axis, extent=smaller(axis.extent, top[1])) if top else axis
                out.append(replace(step, axis=axis, body=bound_loops(assume(inner, facts), around, whole or body)))
            case If(_, inner):
                out.append(replace(step, body=bound_loops(inner, around, whole or body)))
            case _:
                out.append(step)
    return tuple(out)
