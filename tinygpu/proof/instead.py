"""What to write instead, where the checker is at fault: a text that it proves, tried before it is said.

    a[] = a[] - x[k]       ↦   a[] += -x[k]                a step that is an accumulation, as the word for it
    s[t] = exp(a)*exp(b)   ↦   s[t] = exp(a + b)           a stored value, as the equation has it
    s[r] = sum[k] c*x[k]   ↦   s[r] = c*(sum[k] x[k])      the equation, as the program computes it
    x[i32(n - 1)]          ↦   where n <= 2147483647       sizes that fit what they are made to
    p[t] = f16(a[])        ↦   p[t] = near_f16(a[])        what is rounded, as what stands for the number that it was

Comes in: a program, and the claims that are open. Goes out: a help, or an empty text. The one idea: candidates are few and come from the two forms that
did not meet; each is put in the program's place and proved, and the first that is a proof is the help.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from tinygpu.category.dtype import EPSILON, NEAR, RANGE, contains
from tinygpu.category.linear import as_written, polynomial, solve
from tinygpu.category.monoid import COMBINING, as_monoid
from tinygpu.category.near import is_near
from tinygpu.category.region import Region
from tinygpu.category.simplify import simplify
from tinygpu.category.term import (
    FLOATS,
    INDEX,
    INTEGERS,
    TRUE,
    App,
    Fold,
    Read,
    Term,
    Var,
    memoised,
    outside,
    rebuild,
    select,
    substitute,
    tensors,
    text,
    variables,
    walk,
)
from tinygpu.diagnostic import Fix
from tinygpu.model.op import Equation
from tinygpu.obligations.dataflow import execute
from tinygpu.obligations.made import value_of
from tinygpu.obligations.obligation import Obligation
from tinygpu.obligations.trace import Store
from tinygpu.program.statement import line
from tinygpu.program.step import Assign, Ghost, If, Program, Step
from tinygpu.program.traverse import map_steps
from tinygpu.proof.kernel import Open, Proof, prove
from tinygpu.proof.rows import by_hand
from tinygpu.proof.words import INTERNAL
from tinygpu.record import replace
from tinygpu.simulate.fault import OutOfBounds

TRIED = 6  # texts
SHARE = 10  # of the budget of a claim, for one of a text that is tried
LONGEST = 160  # characters of a text that somebody would write
FORMS = ("TG502", "TG503", "TG504", "TG505", "TG506", "TG510")  # the codes of claims about what a value is

Try = tuple[Program, str, tuple[Fix, ...]]  # a program, what its text says otherwise, and that as edits


def instead(program: Program, left: Sequence[Open], budget: int) -> tuple[str, tuple[Fix, ...]]:
    """A help that was tried, and its edits: with it the machine is proved."""
    for tried, said, fixes in islice(candidates(program, left), TRIED):
        if isinstance(prove(tried, max(1, budget // SHARE), hasty=True), Proof):
            return said, fixes
    return "", ()


def candidates(program: Program, left: Sequence[Open]) -> Iterator[Try]:
    """Programs that say the same otherwise, and the texts of what is other in them."""
    codes = {o.claim.code for o in left}
    yield from smaller(program)
    if codes <= {*FORMS, "TG509"}:
        yield from nearby(program)
    if "TG501" in codes:
        yield from accumulations(program)
    elif codes & {*FORMS} and codes <= {*FORMS}:
        yield from as_the_equation(program, left)
        yield from as_the_program(program)


def smaller(program: Program) -> Iterator[Try]:
    """The sizes below what the numbers can tell apart that are made of them."""
    values = (t for equation in program.op.equations for t in walk(equation.value))
    casts = {t for t in values if isinstance(t, App) and t.op == "cast" and t.args[0].dtype == INDEX}
    for kinds in (INTEGERS, (*INTEGERS, *FLOATS)):
        most = dict[str, int]()
        for cast in (t for t in casts if t.dtype in kinds):
            end = int(2 / EPSILON[cast.dtype]) if cast.dtype in FLOATS else RANGE[cast.dtype][1]
            most |= {name: min(end, most.get(name, end)) for name in variables(cast) & {*program.op.sizes}}
        if most:
            known = tuple(Var(name) <= end for name, end in sorted(most.items()))
            op = replace(program.op, where=program.op.where + known)
            yield (
                replace(program, op=op, where=program.where + known),
                f"say in the op `where {', '.join(map(text, known))}`: then it is proved",
                (),
            )


def nearby(program: Program) -> Iterator[Try]:
    """With numbers that are rounded as numbers that stand for what they were."""
    lines = {s.span.line: s for s in program.steps if isinstance(s, Assign) and standing(s.value) != s.value and s.span.line}
    casts = {t for s in lines.values() for t in walk(standing(s.value)) if is_near(t)} - {
        t for s in lines.values() for t in walk(s.value)
    }
    if lines and casts and by_hand(program):
        words = ", ".join(sorted({f"`{t.op}` for `{t.dtype}`" for t in casts if isinstance(t, App)}))
        tried = changed(program, lambda step: (replace(step, value=standing(step.value)),) if isinstance(step, Assign) else (step,))
        yield (
            tried,
            f"write {words} in line {', '.join(map(str, sorted(lines)))}: over the reals it is the number that is rounded, and then it is proved",
            (),
        )


@memoised
def standing(term: Term) -> Term:
    """The term with a number that stands for what it rounds for each cast to fewer bits."""
    inner = rebuild(term, standing)
    near = {dtype: word for word, dtype in NEAR.items()}
    match inner:
        case App("cast", (value,), dtype) if dtype in near and value.dtype in FLOATS and not contains(dtype, value.dtype):
            return App(near[dtype], (value,), dtype)
    return inner


def accumulations(program: Program) -> Iterator[Try]:
    """With a step that makes a cell of itself and another value written as an accumulation."""
    for step in (s for s in program.steps if isinstance(s, Assign) and not s.update and s.target in tensors(s.value)):
        cell = Read(step.target, step.index, step.value.dtype)
        for part in outside(step.value):
            match part:
                case App("sub", (one, more)) if one == cell:
                    yield written(program, step, replace(step, update="sum", value=App("neg", (more,), more.dtype)))
                case App(op, (one, more)) | App(op, (more, one)) if (
                    one == cell and op in COMBINING and cell.tensor not in tensors(more)
                ):
                    yield written(program, step, replace(step, update=COMBINING[op].called, value=more))


def as_the_equation(program: Program, left: Sequence[Open]) -> Iterator[Try]:
    """With a stored value in the form of the equation, where that is made of elements alone."""
    for claim in dict.fromkeys(o.claim for o in left if isinstance(o.claim, Obligation) and len(o.claim.forms) == 2):
        theirs = claim.forms[1]
        known = {*program.op.sizes, *(t.name for t in program.op.inputs)}
        free = variables(theirs) - {a.name for launch in program.launches for a in launch.axes}
        if any(isinstance(t, Fold) for t in walk(theirs)) or not {*tensors(theirs), *free} <= known or not claim.labels:
            continue
        for step in program.steps:
            if isinstance(step, Assign) and step.span == claim.labels[0].span and not step.update:
                yield written(program, step, replace(step, value=theirs))


def written(program: Program, step: Assign, other: Assign) -> Try:
    """The program with another step in the place of one, and what that says."""

    def put(one: Step) -> tuple[Step, ...]:
        return (other,) if one is step or (isinstance(one, Assign) and one == step and one.span == step.span) else (one,)

    place, new = f" in line {step.span.line}" if step.span.line else "", said(program, other)
    fixes = (Fix(f"write `{new}`", step.span, new),) if step.span.line and by_hand(program) else ()
    return changed(program, put), f"write `{new}`{place}: then it is proved", fixes


def changed(program: Program, put: Callable[[Step], tuple[Step, ...]]) -> Program:
    """The program with other steps for each of its own."""
    return replace(program, launches=tuple(replace(launch, body=map_steps(launch.body, put)) for launch in program.launches))


def said(program: Program, step: Step) -> str:
    """A step as a line of text."""
    return line(step, frozenset(t.name for t in program.op.inputs if not t.shape))


def as_long(program: Program, seen: OutOfBounds, budget: int) -> str:
    """A help where a fact speaks of a state beyond its end: to say it, as all facts, only of what is there."""
    facts: dict[Step, Term] = {}
    times = {e.target: [a.name for a in e.axes].index(e.along) for e in program.op.states}
    for fact in (s for s in program.steps if isinstance(s, Ghost) and seen.array in times):
        for read in (r for r in outside(fact.value) if isinstance(r, Read) and r.tensor in times):
            at = times[read.tensor]
            facts[fact] = read.index[at] < as_written(polynomial(program.op.tensor(read.tensor).shape[at]))
    wrong = next((fact for fact in facts if fact.span == seen.at.span), None)
    tried = changed(program, lambda one: (If(facts[one], (one,), one.span),) if one in facts else (one,))
    if wrong is None or not isinstance(prove(tried, max(1, budget // SHARE), hasty=True), Proof):
        return ""
    return f"say it where there is one: `if {text(facts[wrong])} {{ {said(program, wrong)} }}`"


def as_the_program(program: Program) -> Iterator[Try]:
    """With the equation of an output in the form that the program stores."""
    trace = execute(program).seen(value_of, value_of)
    known = {*program.op.sizes, *(t.name for t in program.op.inputs)}
    for equation in program.op.equations:
        stores = [s for s in trace.of(Store) if s.tensor == equation.target and not s.step.update]
        value = in_indices(equation, stores[0]) if len(stores) == 1 else None
        if value is None or not {*variables(value), *tensors(value)} <= known | {a.name for a in equation.axes}:
            continue
        said = f"{equation.target}[{', '.join(a.name for a in equation.axes)}] = {text(value)}"
        if len(said) <= LONGEST and not INTERNAL.search(said) and "nothing" not in said:
            equations = tuple(replace(e, value=value) if e is equation else e for e in program.op.equations)
            op = replace(program.op, equations=equations, source=())
            help = f"it computes `{said}`: if that is what you mean, write the equation so, and it is proved"
            yield replace(program, op=op, machine=None), help, ()  # what is meant is for its writer to say


def in_indices(equation: Equation, store: Store) -> Term | None:
    """The value of a store as a function of the equation's indices; None where they do not tell the threads."""
    value = store.value
    for axis, index in zip(equation.axes, store.index, strict=True):
        mine = sorted(variables(index) & {a.name for a in store.point.axes}, reverse=True)
        found = ((v, solve(index, Var(axis.name), v)) for v in mine)
        one = next(((v, term) for v, term in found if term is not None), None)
        if one is None:
            return None
        value = substitute(value, {one[0]: one[1]})
    return unguarded(simplify(value, Region()))


@memoised
def unguarded(term: Term) -> Term:
    """The term as an equation says it: what a fold leaves out is a unit in it."""
    term = rebuild(term, unguarded)
    if isinstance(term, Fold) and term.guard != TRUE and (unit := as_monoid(term.monoid).unit(term.dtype)) is not None:
        return replace(term, guard=TRUE, body=select(term.guard, term.body, unit))
    return term
