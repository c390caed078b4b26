"""Every subterm of every index, guard and extent fits the integer type it is emitted in.

    limits(sizes) ≤ 2³¹ − 1  ⊢  −2³¹ ≤ t ≤ 2³¹ − 1        for every subterm t, guards on the unguarded box; on a GPU, as CPUs count to 2⁶³ − 1
    limits(sizes) ≤ 2⁶³ − 1  ⊢  −2⁶³ ≤ t ≤ 2⁶³ − 1        where the limits do not say so: t is made of data, or has no least value
    the operands of // and % are not negative, divisors at least 1

Comes in: the program and its trace. Goes out: formulas, and through `limits` the terms over the sizes that the launcher compares
with 2³¹ − 1 before it takes the 32-bit kernel (and with 2⁶³ − 1 for the 64-bit one).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import lru_cache
from math import prod

from tinygpu.category.bounds import reach
from tinygpu.category.dtype import RANGE
from tinygpu.category.known import Known, apart, natural
from tinygpu.category.linear import Monomial, plus, polynomial, term_of
from tinygpu.category.region import Region, parts
from tinygpu.category.term import (
    FALSE,
    INDEX,
    App,
    Axis,
    Const,
    Read,
    Term,
    Var,
    conjunction,
    reads,
    substitute,
    text,
    variables,
    walk,
)
from tinygpu.diagnostic import Label
from tinygpu.hardware.arch import CPU
from tinygpu.obligations.dataflow import execute
from tinygpu.obligations.obligation import Claim, Obligation
from tinygpu.obligations.trace import Computed, Trace, preconditions
from tinygpu.program.arrays import address
from tinygpu.program.lanes import instances, lanes_of, of_any_width
from tinygpu.program.step import Program
from tinygpu.record import replace

INT32 = 2**31 - 1
INT64 = 2**63 - 1
BEYOND = Const(INT32 + 1)


def state(program: Program, trace: Trace) -> Iterator[Claim]:
    """The claims of this property."""
    most = limits(program)
    narrow = program.arch != CPU and not any(isinstance(t, Const) for t in most)  # else no call takes the 32-bit kernel
    for beyond in (t for t in most if isinstance(t, Const) and t.value > INT64):
        title, sentence = f"no kernel can count to {text(beyond)}", f"{text(beyond)} fits 64 bits"
        yield Obligation("width", "TG403", title, sentence, (), FALSE, (Label(program.span, "which this machine needs"),))
    extents = [a.extent for launch in program.launches for a in launch.axes]
    for extent in dict.fromkeys((*extents, *(e for w in program.workspaces for e in w.extents))):
        yield from divisions(extent, Region((), preconditions(program)), (Label(program.span, f"{text(extent)} is an extent"),))
    for computed in evaluated(trace):
        term, point, labels = computed.term, computed.point, (Label(computed.span, "computed here"),)
        if narrow:
            yield fits(term, tuple(subterms(term)), INT32, most, point, labels)
        known = Known.at(point)
        wide = tuple(t for t in subterms(term) if not bounded(t, program, known))
        if wide:
            yield fits(term, wide, INT64, tuple(t for t in most if t != BEYOND), point, labels)
        yield from divisions(term, point, labels)
    rows = (
        (t.name, t.shape) for t in program.op.tensors if not t.strided
    )  # of others a call says where elements lie, and is asked
    for name, shape in (*rows, *((w.name, w.extents) for w in program.workspaces)):
        if len(shape) > 1:
            sides = tuple(e if simple(e) else Var(f"{name}.{a}.extent") for a, e in enumerate(shape))  # it is so of all extents
            axes = tuple(Axis(f"{name}.{a}", e) for a, e in enumerate(sides))
            offset = address(sides, tuple(Var(a.name) for a in axes))
            named = (e.name for e in sides if isinstance(e, Var) and e.name not in program.op.sizes)
            point = Region(axes, tuple(Var(size) >= 0 for size in (*program.op.sizes, *named)))  # whatever was promised
            sentence = f"an address in {name} is less than its number of elements"
            goal = conjunction(offset >= 0, offset < prod(sides, start=Const(1)))
            yield Obligation("width", "TG403", f"an address in {name} may not fit", sentence, point.facts, goal)


def fits(
    term: Term,
    parts: tuple[Term, ...],
    largest: int,
    most: tuple[Term, ...],
    point: Region,
    labels: tuple[Label, ...],
) -> Obligation:
    """That the parts of a term fit, where the sizes are as the launcher asks for that kernel: `most` are at most the largest."""
    bits = 32 if largest == INT32 else 64
    ends = [e for t in parts for e in (t <= largest, t >= -largest - 1)]
    goal = point.settled(conjunction(*ends))
    sentence = f"{text(term)} fits {bits} bits wherever the launcher takes the {bits}-bit kernel"
    title = f"{text(term)} may not fit its integer type"
    help = (
        ""
        if bits == 32 or not reads(term)
        else "promise it of the data: where all[t] (0 <= idx[t] and idx[t] < n), or guard it before it is computed"
    )
    hypotheses = point.facts + tuple(t <= largest for t in most)
    return Obligation("width", "TG403", title, sentence, hypotheses, goal, labels, help)


def bounded(part: Term, program: Program, known: Known) -> bool:
    """Whether the limits of the sizes say that a term fits 64 bits: it has a bound over them, and is at least a number, or no more than a size
    below 0."""
    low, high = reach(part, known)
    if high is None or low is None or (isinstance(high, Const) and high.value > INT64):
        return False
    sizes, form = set(program.op.sizes), polynomial(low)
    less = [m for m, c in form.items() if c < 0 and m]
    over = all(natural(atom) for m, c in form.items() if c > 0 for atom in m)
    shallow = form.get((), 0) >= (-1 if less else -INT64 - 1) and all(
        form[m] == -1 and isinstance(term_of({m: 1}), Var) for m in less
    )
    return over and shallow and len(less) < 2 and all(variables(t) <= sizes and not reads(t) for t in (high, low))


def divisions(term: Term, point: Region, labels: tuple[Label, ...]) -> Iterator[Claim]:
    """That every whole division inside of a term is of what is not negative, by at least 1."""
    for part, where in parts(term, point):
        match part:
            case App("floordiv" | "mod" | "ceildiv", (a, b), "index"):
                goal = where.settled(conjunction(a >= 0, b >= 1))
                title = f"{text(part)} divides a negative number, or by less than 1"
                sentence = f"in {text(part)} nothing is negative"
                yield Obligation("width", "TG404", title, sentence, where.facts, goal, labels)


def evaluated(trace: Trace) -> Iterator[Computed]:
    """Every index term that a kernel computes, as written, at the point where it does: indices under their guards, guards without.

    A term that is also computed under fewer guards is left to that place, where more has to be shown. What the accesses of the trace
    have as indices is not asked: no kernel computes a normal form.
    """
    places: dict[tuple[Term, tuple[str, ...]], list[Computed]] = {}
    for one in trace.of(Computed):
        if any(True for _ in subterms(one.term)):
            around = tuple(a.name for a in one.point.axes if a.name in variables(one.term))
            places.setdefault((one.term, around), []).append(one)
    for where in places.values():
        kept: list[Region] = []
        for one in sorted(where, key=lambda w: len(w.point.guard)):
            point = one.point
            if not any(point.within(k) for k in kept):
                kept.append(point)
                yield one


def simple(extent: Term) -> bool:
    """Whether an extent is linear in the sizes.

    >>> simple(Var("n") * 2 + 1), simple(Var("n") * Var("m")), simple(Var("n") // 2)
    (True, False, False)
    """
    return all(len(monomial) <= 1 and all(isinstance(atom, Var) for atom in monomial) for monomial in polynomial(extent))


def subterms(term: Term) -> Iterator[Term]:
    """The index subterms of a term that are computed, outermost first, and numbers that 32 bits do not hold."""
    for part in walk(term):
        if part.dtype == INDEX and (isinstance(part, App) or (isinstance(part, Const) and abs(part.value) > INT32)):
            yield part


def size_limits(program: Program, trace: Trace) -> tuple[Term, ...]:
    """The terms over the sizes that must be at most 2³¹ − 1: bounds of all subterms, elements of all tensors and workspaces, the sizes."""
    out: dict[Term, None] = dict.fromkeys(Var(s) for s in program.op.sizes)
    for shape in (*(t.shape for t in program.op.tensors), *(w.extents for w in program.workspaces)):
        out[prod(shape, start=Const(1))] = None
        for extent in shape[1:]:  # an address in n + k - 1 columns is computed with n + k
            out.update(dict.fromkeys(part for part in subterms(extent) if part != extent and not _below(part, extent)))
    for extent in (axis.extent for launch in program.launches for axis in launch.grid):  # what is divided there is computed too
        whole = [part.args[0] for part in walk(extent) if isinstance(part, App) and part.op in ("floordiv", "ceildiv")]
        out.update(dict.fromkeys(inner for part in whole for inner in subterms(part)))
        if any(c < 0 for monomial, c in polynomial(extent).items() if monomial):  # what is taken away was there before
            out.update(dict.fromkeys(part for part in subterms(extent) if part != extent and not _below(part, extent)))
    out.update(dict.fromkeys(launch.blocks for launch in program.launches))
    out.update(dict.fromkeys(axis.extent for launch in program.launches for axis in launch.turns))
    for computed in evaluated(trace):
        known = Known.at(computed.point)
        for part in subterms(computed.term):
            least, bound = reach(part, known)
            if isinstance(bound, Const) and bound.value > INT64 and reads(part):
                bound = None  # of what data may be, a promise may say more
            if isinstance(least, Const) and least.value < -INT32 - 1:  # as far below 0 as a largest index of that size reaches
                far = isinstance(bound, Const) and least.value >= -INT64 - 1
                bound = Const(max(int(bound.value), -int(least.value) - 1)) if far and isinstance(bound, Const) else None
            # a bound that no launcher sees is one that no size meets: then only the 64-bit kernel is taken
            out[bound if bound is not None and seen(bound, program) else BEYOND] = None
    return tuple(sorted((t for t in _largest(out) if not _always(t)), key=text))


def seen(bound: Term, program: Program) -> bool:
    """Whether a launcher can evaluate a bound: it is over the sizes and the scalars of the call."""
    scalars = {t.name for t in program.op.inputs if not t.shape}
    return variables(bound) <= set(program.op.sizes) and all(r.tensor in scalars for r in reads(bound))


def _always(limit: Term) -> bool:
    """Whether a limit holds at every call: a small number, or a scalar of at most 32 bits."""
    match limit:
        case Const(value):
            return value <= INT32
        case App("cast", (Read(dtype=dtype) | Const(dtype=dtype),)):
            return RANGE[dtype][1] <= INT32
    return False


def _below(term: Term, other: Term) -> bool:
    """Whether `term < other` by a constant, so that a limit for `other` serves."""
    return (apart(polynomial(other), polynomial(term)) or 0) > 0


def _largest(terms: Collection[Term]) -> Iterator[Term]:
    """The terms that are not another one less a number.

    >>> n, m = Var("n"), Var("m")
    >>> [*map(text, _largest((n, n + 3, m * n, 3 + n)))]
    ['n + 3', 'm*n', '3 + n']
    """
    shapes = [(frozenset((m, c) for m, c in polynomial(t).items() if m), polynomial(t).get((), 0)) for t in terms]
    most: dict[frozenset[tuple[Monomial, int]], int] = {}
    for shape, more in shapes:
        most[shape] = max(more, most.get(shape, more))
    return (t for t, (shape, more) in zip(terms, shapes, strict=True) if more == most[shape])


def limits(program: Program) -> tuple[Term, ...]:
    """`size_limits` of a program, for its proof and for the launcher. A name changes nothing."""
    return _limits(replace(program, name=""))


@lru_cache(maxsize=256)
def _limits(program: Program) -> tuple[Term, ...]:
    return size_limits(program, execute(program))


def cpu_limits(program: Program) -> tuple[Term, ...]:
    """What a launcher compares with 2⁶³ − 2³² before a CPU runs the program: its limits that are not numbers, and what it computes to tell how
    many items there are; with as many lanes as the longest registers have."""
    widest, most = instances(program)[0], lanes_of(program)
    found = limits(of_any_width(program) if len(program.launches) == 1 else widest)  # as its proof follows it
    if most:
        exact = (term_of(polynomial(substitute(t, most))) if variables(t) & most.keys() else t for t in found)
        found = tuple(sorted((t for t in _largest(dict.fromkeys(exact)) if not _always(t)), key=text))
    known = [t for t in found if not isinstance(t, Const)]
    forms = [polynomial(t) for t in known]
    extents = (part for launch in widest.launches for axis in launch.grid for part in subterms(axis.extent))
    for part in dict.fromkeys(part for part in extents if isinstance(part, App)):
        form = polynomial(part)
        if not any(all(c >= 0 for c in plus(other, form, -1).values()) for other in forms):
            known.append(part)
            forms.append(form)
    return tuple(known)
