"""Every index that a kernel computes fits 32 bits, wherever the sizes are such that its bounds do; and nothing negative is divided.

    bound₁(sizes) ≤ 2³¹ − 1, …  ⊢  −2³¹ ≤ t ≤ 2³¹ − 1        for every subterm t of every index, extent and condition
    an address in a tensor is less than its number of elements

Comes in: a machine. Goes out: claims. The bounds are found here, in one pass over a term, and are not trusted: that the term keeps within
them is what the solvers are asked. That the sizes are so small is what a launcher has to check before it takes a kernel of 32 bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tinygpu.replay.events import Walk, events, of_data, plus
from tinygpu.replay.ir import (
    INDEX,
    ONE,
    RANGES,
    ZERO,
    Axis,
    Claim,
    Inhabited,
    Num,
    Op,
    Open,
    Read,
    Stated,
    Term,
    Var,
    both,
    compare,
    free,
    rebuild,
    walk,
    within,
)
from tinygpu.replay.program import Machine

LAST = 2**31 - 1
MOST = Num(LAST)


def stated(machine: Machine) -> Iterator[Stated]:
    """The claims of this property."""
    needed: dict[Term, None] = {}
    for launch in machine.launches:
        walked, _ = events(machine, launch)
        for term, here in dict.fromkeys(walked.computed):
            if isinstance(term, Op):
                guard = tuple(g for g in here.guard if not walked.changing(g))
                needed.update(dict.fromkeys(limits(term, here.axes)))
                yield from fits(machine, walked, term, here.axes, guard)
    for name, shape in shapes(machine):
        if len(shape) > 1:
            yield from address(machine, name, shape)
    positive = tuple(compare("ge", Var(s), ONE) for s in machine.op.sizes)
    small = tuple(compare("le", t, MOST) for t in needed)
    yield Inhabited("width", "TG403", "some sizes are small enough for 32 bits", (), (*machine.facts, *positive, *small))


def shapes(machine: Machine) -> Iterator[tuple[str, tuple[Term, ...]]]:
    """The arrays in global memory."""
    yield from ((t.name, t.shape) for t in (*machine.op.inputs, *machine.op.outputs))
    yield from ((w.name, w.extents) for w in machine.workspaces)


def fits(machine: Machine, walked: Walk, term: Term, axes: tuple[Axis, ...], guard: tuple[Term, ...]) -> Iterator[Stated]:
    """The claims about one term and all that it is made of."""
    if any(isinstance(t, Read) and t.array in walked.cells for t in walk(term)):
        term = opaque(term, walked)
    parts = tuple(dict.fromkeys(t for t in walk(term) if isinstance(t, Op) and t.dtype == INDEX and not of_data(t)))
    bounds = limits(term, axes)
    if any(not small(b) for b in bounds):
        yield Open("width", "TG403", "an index has no bound over the sizes that 32 bits can hold")
        return
    known = tuple(compare("le", b, MOST) for b in bounds)
    said = spelled(term)
    used = relevant((term, *known), guard)
    facts = (*machine.facts, *known, *used)
    around = needed(axes, (term, *facts))
    goal = both(*(e for t in parts for e in (compare("le", t, MOST), compare("ge", t, Num(-LAST - 1)))))
    when = " and ".join(f"{spelled(b)} does" for b in bounds)
    yield Claim("width", "TG403", f"{said} fits 32 bits{' where ' + when if when else ''}", around, facts, goal)
    for part in parts:
        match part:
            case Op("floordiv" | "mod" | "ceildiv", (a, b)):
                positive = both(compare("ge", a, ZERO), compare("ge", b, ONE))
                yield Claim("width", "TG404", f"in {said} nothing negative is divided", around, facts, positive)


def small(bound: Term) -> bool:
    """Whether 32 bits can hold a bound for some sizes."""
    return not isinstance(bound, Num) or bound.value <= LAST


def opaque(term: Term, walked: Walk) -> Term:
    """The term with any value of its type for what a cell holds."""
    if isinstance(term, Read) and term.array in walked.cells:
        return Var(f"{term.array}[…]", term.dtype)
    return rebuild(term, lambda t: opaque(t, walked))


def relevant(terms: tuple[Term, ...], guard: tuple[Term, ...]) -> tuple[Term, ...]:
    """The conditions that speak of what the terms speak of: fewer facts, and a shorter search."""
    names = frozenset().union(*map(free, terms))
    return tuple(g for g in guard if free(g) & names)


def needed(axes: tuple[Axis, ...], terms: tuple[Term, ...]) -> tuple[Axis, ...]:
    """The axes that are spoken of."""
    names = frozenset().union(*map(free, terms))
    return tuple(a for a in axes if a.name in names)


def address(machine: Machine, name: str, shape: tuple[Term, ...]) -> Iterator[Claim]:
    """Row by row, level by level: `place < rows` and `i < extent` give `place·extent + i < rows·extent`."""
    place, whole = Var(f"{name} place"), Var(f"{name} elements")
    positive = tuple(compare("ge", Var(s), ZERO) for s in machine.op.sizes)
    for extent in dict.fromkeys(shape[1:]):
        i = Var(f"{name} index")
        row = Op("add", (Op("mul", (place, extent), INDEX), i), INDEX)
        facts = (*positive, within(place, whole), within(i, extent))
        goal = within(row, Op("mul", (whole, extent), INDEX))
        yield Claim("width", "TG403", f"an address in {name} is less than its number of elements", (), facts, goal)


# ── bounds ──


def limits(term: Term, axes: tuple[Axis, ...]) -> tuple[Term, ...]:
    """The bounds over the sizes of all that a term is made of, but for numbers that fit."""
    extents = {a.name: a.extent for a in axes}
    found: dict[Term, None] = {}
    for part in walk(term):
        if isinstance(part, Op) and part.dtype == INDEX and not of_data(part):
            bound = upper(part, extents)
            found[Num(LAST + 1) if bound is None else bound] = None
    return tuple(b for b in found if not (isinstance(b, Num) and b.value <= LAST))


def upper(term: Term, extents: Mapping[str, Term]) -> Term | None:
    """A term over the sizes that is at least this one; None if none is seen.

    >>> i = Op("add", (Op("mul", (Var("g"), Num(4)), INDEX), Var("v")), INDEX)
    >>> spelled(upper(i, {"g": Var("n"), "v": Num(4)}))
    '(n - 1)*4 + 3'
    """
    match term:
        case Num():
            return term
        case Var(name):
            return minus(extents[name], ONE) if name in extents else term if term.dtype == INDEX else None
        case Op("integer", (a,)):
            return Num(RANGES[a.dtype][1])
        case Op("add", (a, b)):
            return joined("add", upper(a, extents), upper(b, extents))
        case Op("sub", (a, b)):
            return joined("sub", upper(a, extents), lower(b, extents))
        case Op("mul", (a, b)) if at_least_zero(a, extents) and at_least_zero(b, extents):
            return joined("mul", upper(a, extents), upper(b, extents))
        case Op("floordiv" | "ceildiv" as op, (a, Num() as n)):
            return joined(op, upper(a, extents), n)
        case Op("floordiv" | "ceildiv", (a, _)):
            return upper(a, extents)
        case Op("mod", (a, b)):
            most = upper(b, extents)
            return None if most is None else minus(most, ONE)
        case Op("min" | "max" | "select" as op, (*_, a, b)):
            x, y = upper(a, extents), upper(b, extents)
            return (x or y) if op == "min" else joined("max", x, y)
        case Op("xor", (a, b)):
            return joined("add", upper(a, extents), upper(b, extents))
    return None


def lower(term: Term, extents: Mapping[str, Term]) -> Term | None:
    """A term over the sizes that is at most this one; None if none is seen."""
    match term:
        case Num():
            return term
        case Op("integer", (a,)):
            return Num(RANGES[a.dtype][0])
        case Op("add", (a, b)):
            return joined("add", lower(a, extents), lower(b, extents))
        case Op("sub", (a, b)):
            return joined("sub", lower(a, extents), upper(b, extents))
        case Op("mul", (a, Num(n))) if n >= 0:
            return joined("mul", lower(a, extents), Num(n))
        case Op("min", (a, b)):
            return joined("min", lower(a, extents), lower(b, extents))
        case Op("max", (a, b)):
            return lower(a, extents) or lower(b, extents)
    return ZERO if at_least_zero(term, extents) else None


def at_least_zero(term: Term, extents: Mapping[str, Term]) -> bool:
    """Whether a term is made of what is not negative; a guess that only chooses a bound."""
    match term:
        case Num(value):
            return value >= 0
        case Var():
            return term.dtype == INDEX
        case Op("integer" | "wrap" | "neg" | "sub"):
            return False
        case Op("max", (a, b)):
            return at_least_zero(a, extents) or at_least_zero(b, extents)
        case Op("select", (_, a, b)) | Op(_, (a, b)):
            return at_least_zero(a, extents) and at_least_zero(b, extents)
    return False


def joined(op: str, a: Term | None, b: Term | None) -> Term | None:
    """`a op b`, of numbers a number."""
    if a is None or b is None:
        return None
    if isinstance(a, Num) and isinstance(b, Num):
        x, y = int(a.value), int(b.value)
        if op in ("floordiv", "ceildiv") and y < 1:
            return None
        table = {"add": x + y, "sub": x - y, "mul": x * y, "max": max(x, y), "min": min(x, y)}
        return Num(table[op] if op in table else x // y if op == "floordiv" else -(-x // y))
    if op == "add":
        return plus(a, b)
    return minus(a, b) if op == "sub" else Op(op, (a, b), INDEX)


def minus(a: Term, b: Term) -> Term:
    if isinstance(a, Num) and isinstance(b, Num):
        return Num(int(a.value) - int(b.value))
    return a if b == ZERO else Op("sub", (a, b), INDEX)


SIGNS = {"add": " + ", "sub": " - ", "mul": "*", "floordiv": " // ", "mod": " % ", "xor": " ^ ", "lt": " < ", "le": " <= ", "ge": " >= ",
         "gt": " > ", "eq": " == ", "ne": " != ", "and": " and ", "or": " or "}  # fmt: skip


def spelled(term: Term) -> str:
    """A term for people to read."""
    match term:
        case Num(value):
            return str(value)
        case Var(name):
            return name
        case Read(array, index):
            return f"{array}[{', '.join(map(spelled, index))}]"
        case Op("integer" | "wrap" | "real", (a,)):
            return spelled(a)
        case Op(op, args) if op in SIGNS:
            tight = op not in ("add", "and", "or")
            parts = [spelled(a) for a in args]
            marked = [
                f"({p})" if tight and isinstance(a, Op) and a.op in SIGNS and a.op != "mul" else p
                for a, p in zip(args, parts, strict=True)
            ]
            return SIGNS[op].join(marked)
        case Op(op, args):
            return f"{'ceil' if op == 'ceildiv' else op}({(' / ' if op == 'ceildiv' else ', ').join(map(spelled, args))})"
    return "a fold"
