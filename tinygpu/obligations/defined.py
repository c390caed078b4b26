"""Wherever the equation is defined, so is every subterm of the program's value, and every condition on the way to it.

    a / b needs b ≠ 0;  a // b, a % b of integers need b > 0, and of signed ones a ≥ 0, and a << b, a >> b a b from 0 to below the width,
    whatever the equation says;  log needs a > 0;  sqrt needs a ≥ 0;  rsqrt needs a > 0;  numbers are computed with, not infinities
    each holds by the guards, and because the equation has a value there

Comes in: a value or a condition and a claim at a point, folds already matched; and the trace, for integer divisions whose results nobody
stores. Goes out: formulas for the partial operations of the value. What values are at infinities is asked by `endless`.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.category.dtype import SIGNED
from tinygpu.category.linear import polynomial
from tinygpu.category.node import kept
from tinygpu.category.operation import demands
from tinygpu.category.region import Region, operands
from tinygpu.category.simplify import simplify
from tinygpu.category.term import (
    BOOL,
    FALSE,
    FLOATS,
    INDEX,
    INTEGERS,
    TRUE,
    App,
    Const,
    Fold,
    Read,
    Term,
    children,
    conjunction,
    negation,
    outer_folds,
    text,
    total,
)
from tinygpu.category.total import PERHAPS, blending, failing, literal, mixing
from tinygpu.category.visited import Visited
from tinygpu.diagnostic import Label, Span
from tinygpu.obligations.finite import Ends, blended, finite
from tinygpu.obligations.obligation import Claim, Obligation
from tinygpu.obligations.trace import Trace, Value
from tinygpu.program.step import Program

Partial = App | Fold | Read
DIVIDING, SHIFTING = ("div", "floordiv", "mod"), ("shl", "shr")
PARTIAL = (*DIVIDING, *SHIFTING, "log", "sqrt", "rsqrt")
DISTANCE = "promise it of the data: where all[i] (x[i] < 32), or guard it, or mask it: x[i] & 31"
PROMISE = "promise it of the data: where all[i] (x[i] >= 1), or guard it"


def defined(value: Term, claim: Term, point: Region, labels: tuple[Label, ...], ends: Ends | None = None) -> Iterator[Claim]:
    """The claims of this property for one value, where all in it are numbers."""
    theirs = tuple(partial(claim, Region(point.axes), known=None))
    for term, where in partial(value, point, known=theirs):
        if isinstance(term, Read) or (isinstance(term, App) and term.op in PARTIAL):
            yield from _has_value(term, where, theirs, condition(term), labels)
    for fold in (f for f in outer_folds(value) if f not in outer_folds(claim)):  # which nothing of the equation's stands for
        yield from evaluated(fold, claim, point, labels, ends)


def evaluated(term: Term, claim: Term, point: Region, labels: tuple[Label, ...], ends: Ends | None = None) -> Iterator[Claim]:
    """The claims of this property for what decides: a guard, a condition. There nobody computes with infinities."""
    if total(term):
        return
    theirs = tuple(partial(claim, Region(point.axes), known=None))
    for part, where in partial(term, point.under(*valued(claim, point)), folds=True, known=theirs):
        if part.dtype != INDEX:  # as it is written it is a claim of `width`
            yield from _has_value(part, where, theirs, decided(part, where, ends or {}), labels)


def valued(claim: Term, point: Region) -> tuple[Term, ...]:
    """That the equation has a value, as far as numbers go: elsewhere nothing is asked of the program. `a or b` may be true where a has none."""
    found = []
    for term, where in partial(claim, Region(point.axes), known=None):
        if isinstance(term, App) and term.dtype != INDEX and failing(term):
            found.append(App("or", (*map(negation, where.guard), condition(term)), BOOL) if where.guard else condition(term))
    return tuple(dict.fromkeys(found))


def _has_value(
    term: Partial, where: Region, theirs: tuple[tuple[Partial, Region], ...], needed: Term, labels: tuple[Label, ...]
) -> Iterator[Claim]:
    """That an operation has a value, unless the equation evaluates the same."""
    simple = Read(term.tensor, tuple(simplify(i, where) for i in term.index), term.dtype) if isinstance(term, Read) else term
    if not among(term, where, theirs) and not among(simple, where, theirs):
        title = f"{text(term)} may be undefined where the equation is not"
        sentence = f"{text(term)} is defined wherever the equation is"
        yield Obligation("defined", "TG510", title, sentence, where.facts, needed, labels)


def decided(term: Partial, point: Region, ends: Ends) -> Term:
    """Where an operation has a value that decides something: its operands are numbers, and it is defined for them."""
    if isinstance(term, Fold):
        return blended(term, point, ends)
    if isinstance(term, Read):
        return FALSE
    if literal(term) is not None:
        return TRUE
    numbers = (finite(a, point, ends) for a in term.args if a.dtype in FLOATS) if mixing(term) else ()
    return conjunction(condition(term) if term.op in PARTIAL else TRUE, *numbers)


def state(program: Program, trace: Trace) -> Iterator[Claim]:
    """No integer is divided by less than 1, or shifted beyond its width, whatever the equation says and whoever needs the result."""
    for value in (v for v in trace.of(Value) if divides(v.term)):
        span = value.span
        for term, point in partial(value.term, value.point, folds=True):
            match term:
                case App("floordiv" | "mod", _, dtype) if dtype in SIGNED:
                    yield natural(term, point, span)
                case App(op) if op in DIVIDING + SHIFTING and not failing(term):
                    continue
                case App(op, _, dtype) if op in DIVIDING + SHIFTING and dtype in INTEGERS:
                    title, sentence = f"{text(term)} may divide by less than 1", f"{text(term)} divides by 1 or more"
                    if op in SHIFTING:
                        title, sentence = (
                            f"{text(term)} may shift by its width or more",
                            f"{text(term)} shifts by less than its width",
                        )
                    labels, help = (Label(span, "computed here"),), DISTANCE if op in SHIFTING else PROMISE
                    yield Obligation("defined", "TG510", title, sentence, point.facts, condition(term), labels, help)


@kept
def divides(term: Term) -> bool:
    """Whether an integer is divided or shifted in a term."""
    own = isinstance(term, App) and term.op in DIVIDING + SHIFTING and term.dtype in INTEGERS
    return own or any(map(divides, children(term)))


def natural(term: App, point: Region, span: Span) -> Obligation:
    """Signed integers are divided only where the mathematics and every machine agree: nothing negative, by 1 or more."""
    title, sentence = f"{text(term)} divides a negative number, or by less than 1", f"in {text(term)} nothing is negative"
    return Obligation("defined", "TG404", title, sentence, point.facts, condition(term), (Label(span, "computed here"),), PROMISE)


def condition(term: App | Read) -> Term:
    """Where a partial operation on numbers is seen to be defined; of what was stored where an equation may have no value that is nowhere."""
    if isinstance(term, Read):
        return FALSE
    asked = [(relation, term.args[place], number) for relation, place, number in demands(term.op, term.dtype)]
    numbers = ((relation, a, Const(float(n) if a.dtype in FLOATS else int(n), a.dtype)) for relation, a, n in asked)
    return conjunction(*(App(relation, (a, number), BOOL) for relation, a, number in numbers)) if asked else FALSE


def among(term: Partial, point: Region, known: tuple[tuple[Partial, Region], ...]) -> bool:
    """Whether the same is evaluated there too, at least wherever it is here."""
    return any(alike(term, t) and set(there.guard) <= set(point.guard) for t, there in known)


def alike(a: Partial, b: Partial) -> bool:
    """Whether two are one, an element however its index is written."""
    if isinstance(a, Read) and isinstance(b, Read):
        return a.tensor == b.tensor and all(polynomial(i) == polynomial(j) for i, j in zip(a.index, b.index, strict=True))
    return a == b


def partial(
    term: Term,
    point: Region,
    folds: bool = False,
    known: tuple[tuple[Partial, Region], ...] | None = (),
    visited: Visited | None = None,
) -> Iterator[tuple[Partial, Region]]:
    """The partial operations of a value, each at the point where it is evaluated; with `folds` those inside of folds too. Folds that compute
    with what may be infinite are such.

    Of `and` and `or` one operand may be enough: where those of `known` are such a term it is the same as theirs; with None each is one
    operation, and what is found is given.
    """
    visited = visited or Visited(given=known is None)
    if isinstance(term, Read):
        if term.tensor.endswith(PERHAPS):
            yield term, point
        return
    if (here := visited.next(term, point)) is None:
        return
    match term:
        case App("and" | "or") if not total(term) and (known is None or among(term, here, known)):
            if known is None:
                yield term, here
            return
        case App(op) if op in PARTIAL or (op != "select" and mixing(term)):
            yield term, here
        case Fold():
            if blending(term):
                yield term, here
            if not folds:
                return
    for part, where in operands(term, here):
        yield from partial(part, where, folds, known, visited)
