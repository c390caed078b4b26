"""How large an op may be: every intermediate is put in where it is read, so a short text can mean a very long equation.

    size(e) ≤ Σ over the different nodes of e of 1 + size(equation of what the node reads)          depth(e) likewise, along one path

Comes in: an op and its equations; an index. Goes out: a message where they are too many, too long, or too deep. The one idea: what is the
same is counted once, so equations are put in only where it is not seen without that how little they have; no index is multiplied out.
"""

from __future__ import annotations

from math import prod

from tinygpu.category.term import App, Const, Read, Term, children, different, walk
from tinygpu.diagnostic import Span
from tinygpu.model.op import Equation, put_in
from tinygpu.model.problems import Problems, head
from tinygpu.record import replace
from tinygpu.syntax import tree

MOST_PARTS = 200  # inputs, outputs and equations
MOST_OPS = 100  # of a family
MOST_AXES = 16  # of a tensor
MOST_NODES = 20_000  # of one value, different ones
BEYOND = 10 * MOST_NODES  # if so many may be different, that is not looked at
DEEPEST = 240  # of one value; all later stages descend into it by recursion
MOST_FACTORS = 8  # of a product of indices, numbers not counted: every stage multiplies it out
MOST_TERMS = 1000  # of what comes out then


def too_many(op: tree.Op, problems: Problems) -> bool:
    """Whether the op has more tensors and equations, or its family more ops, than anybody writes; then that is said, and nothing else of it is looked at."""
    count = len(op.inputs) + len(op.outputs) + len(op.equations)
    if count > MOST_PARTS:
        problems.say("TG161.parts", head(op.span, f"op {op.name}"), most=MOST_PARTS, count=count)
    if (ops := prod(len(family.dtypes) for family in op.families)) > MOST_OPS:
        problems.say("TG161.family", op.families[-1].span, most=MOST_OPS, count=ops)
    return max(count / MOST_PARTS, ops / MOST_OPS) > 1


def too_wide(op: tree.Op, problems: Problems) -> bool:
    """Whether a tensor has more axes than anybody writes, where it is declared, or computed without that; then that is said, and nothing else
    of the op is looked at: each axis is compared with every other."""
    declared = {t.name: (len(t.shape or ()), t.span) for t in (*op.inputs, *op.outputs)}
    others = [(len(t.index), t.span) for e in op.equations for t in e.targets if t.name not in declared]
    wide = [wider(axes, span, problems) for axes, span in (*declared.values(), *others)]
    return any(wide)


def wider(axes: int, span: Span, problems: Problems) -> bool:
    """Whether an array has too many axes; then that is said."""
    if axes > MOST_AXES:
        problems.say("TG145.axes", span, most=MOST_AXES, axes=axes)
    return axes > MOST_AXES


def too_long(equations: tuple[Equation, ...], problems: Problems) -> None:
    """Says which equation is the first that becomes too long, or too deep, when the others are put in."""
    known: dict[str, tuple[int, int]] = {}
    before: dict[str, Equation] = {}
    for equation in equations:
        size, depth = bulk(equation.value, known), levels(equation.value, known)
        if MOST_NODES < size < BEYOND and depth <= DEEPEST:
            equation = replace(equation, value=put_in(equation.value, {n: e for n, e in before.items() if not e.along}))
            size = different(equation.value)
        known[equation.target], before[equation.target] = (size, depth), equation
        if size > MOST_NODES or depth > DEEPEST:
            what = f"more than {MOST_NODES} different operations" if size > MOST_NODES else f"more than {DEEPEST} levels"
            problems.say("TG161.equation", equation.span, target=equation.target, what=what)
            return


def bulk(term: Term, known: dict[str, tuple[int, int]]) -> int:
    """How many different nodes there are at most, with what is known of the tensors that are read."""
    return sum(1 + known.get(t.tensor, (0, 0))[0] if isinstance(t, Read) else 1 for t in set(walk(term)))


def levels(term: Term, known: dict[str, tuple[int, int]]) -> int:
    """How many levels, likewise."""
    inner = known.get(term.tensor, (0, 0))[1] if isinstance(term, Read) else 0
    return 1 + max((inner, *(levels(child, known) for child in children(term))))


def flat(index: Term, span: Span, problems: Problems) -> Term:
    """An index whose normal form can be written down; else that is said."""
    factors, terms = spread(index)
    if factors <= MOST_FACTORS and terms <= MOST_TERMS:
        return index
    limit = f"{MOST_FACTORS} factors" if factors > MOST_FACTORS else f"{MOST_TERMS} terms when it is multiplied out"
    return problems.say("TG161.index", span, limit=limit)


def spread(index: Term) -> tuple[int, int]:
    """Of an index that is multiplied out, how many factors its longest product has, and how many products it has at most.

    >>> from tinygpu.category.term import Var
    >>> i, j, n = map(Var, "ijn")
    >>> spread((i * n + j) * 4 * n + 1), spread((i + j) * (i + n) // 2)
    ((3, 3), (1, 1))
    """
    match index:
        case Const():
            return 0, 1
        case App("mul", (a, b), "index"):
            (f, m), (g, n) = spread(a), spread(b)
            return f + g, m * n
        case App("add" | "sub", (a, b), "index"):
            (f, m), (g, n) = spread(a), spread(b)
            return max(f, g), m + n
        case App("neg", (a,), "index"):
            return spread(a)
    return 1, 1
