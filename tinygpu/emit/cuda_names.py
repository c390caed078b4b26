"""Names for index terms, so that a kernel reads like its equation.

Comes in: a launch of a program. Goes out: index terms with names, the equation's own first.
The one idea: `by*64 + ty*8 + ri` stands where the equation has C's `i`, so it is `i`; what stands at no plain index of an equation is
called by its place, `x1` for the second coordinate of x, if it stands there more than once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping

from tinygpu.category.known import Known
from tinygpu.category.layout import address, periods
from tinygpu.category.linear import polynomial
from tinygpu.category.term import App, Axis, Const, Read, Term, Var, children, conjuncts, reads, walk
from tinygpu.category.text import unused
from tinygpu.emit.anywhere import anywhere
from tinygpu.emit.python import identifier
from tinygpu.program.step import Array, Assign, For, Launch, Program, Step, steps
from tinygpu.program.traverse import terms


def index_names(program: Program, launch: Launch, taken: Collection[str]) -> dict[Term, str]:
    """Names for index terms of a launch: Python names that are not taken, no two the same."""
    wanted: dict[Term, str] = {}
    counted = Counter(
        part for step in steps(launch.body) for term in terms(step) for part in standing(term) if isinstance(part, App)
    )
    accesses = [access for step in steps(launch.body) if isinstance(step, Assign) for access in accesses_of(step)]
    flat = flat_thread(launch, counted)
    if flat is not None:
        wanted[flat] = "flat"
    for access in accesses:
        for place, term in enumerate(access.index):
            name = equation_name(program, access.tensor, place)
            if name and isinstance(term, App) and not reads(term):
                wanted.setdefault(term, name)
    local, shared = program.locals, program.shared
    swizzled = {name: s for name, s in shared.items() if s.layout.swizzle}
    for access in accesses:
        if access.tensor in swizzled:
            wanted.setdefault(unswizzled(swizzled[access.tensor], access.index), f"{access.tensor}_at")
        for place, term in enumerate(access.index):
            if not isinstance(term, App) or reads(term) or access.tensor in local:
                continue
            if counted[term] > 1 or (access.tensor in shared and operations(term) > 2):
                wanted.setdefault(term, f"{access.tensor}{place}")
    facts = frozenset(part for w in program.where for part in conjuncts(w) if not reads(part))
    box = Known.of({axis.name: axis.extent for axis in launch.axes + loops_of(launch)}, facts)
    wanted = {term: name for term, name in wanted.items() if isinstance(term, App) and not reads(term) and anywhere(term, box)}
    names: dict[Term, str] = {}
    for term, name in wanted.items():
        names[term] = unused(identifier(name), {*taken, *names.values()}, "_")
    return names


def loops_of(launch: Launch) -> tuple[Axis, ...]:
    """The axes of a launch's loops."""
    return tuple(step.axis for step in steps(launch.body) if isinstance(step, For))


def first_names(firsts: Mapping[Term, Term], labels: Mapping[Term, str], taken: Collection[str]) -> dict[Term, str]:
    """Names for the coordinates of first lanes: `j0` where the coordinate is j. `firsts` have the coordinate of every lane."""
    names: dict[Term, str] = {}
    for first, each in firsts.items():
        if isinstance(first, App) and first not in labels and each in labels:
            names[first] = unused(labels[each] + "0", {*taken, *labels.values(), *names.values()}, "_")
    return names


def flat_thread(launch: Launch, counted: Collection[Term]) -> Term | None:
    """The thread's number in its block, row-major, if it stands somewhere and is not an axis itself.

    >>> from tinygpu.category.term import Axis, Const
    >>> block = (Axis("ty", Const(8), "block"), Axis("tx", Const(32), "block"))
    >>> from tinygpu.category.term import text
    >>> term = Var("tx") + Var("ty") * 32
    >>> text(flat_thread(Launch((), block, ()), [term])), flat_thread(Launch((), block[1:], ()), [Var("tx")])
    ('tx + ty*32', None)
    """
    number: Term = Const(0)
    for axis in launch.block:
        number = number * axis.extent + Var(axis.name)
    return next((t for t in counted if isinstance(t, App) and t.op == "add" and polynomial(t) == polynomial(number)), None)


def accesses_of(step: Assign) -> tuple[Read, ...]:
    """What an assignment stores to, then what it reads."""
    found = tuple(r for t in (step.value, step.guard) for r in reads(t))
    return (Read(step.target, step.index, ""), *found)


def equation_name(program: Program, tensor: str, place: int) -> str:
    """How all equations call a coordinate of a tensor, if they agree on one plain index; else nothing."""
    names = set(equation_names(program, tensor, place))
    return names.pop() if len(names) == 1 else ""


def equation_names(program: Program, tensor: str, place: int) -> Iterator[str]:
    """The plain index at a coordinate of a tensor, for each place where an equation has the tensor. Cells that have its name may have more of them."""
    for equation in program.op.equations:
        if equation.target == tensor and place < len(equation.axes):
            yield equation.axes[place].name
        for read in reads(equation.value):
            if read.tensor == tensor and place < len(read.index):
                index = read.index[place]
                yield index.name if isinstance(index, Var) else ""


def standing(term: Term) -> Iterator[Term]:
    """The term and everything inside it, as often as it is written there."""
    yield term
    for part in children(term):
        yield from standing(part)


def operations(term: Term) -> int:
    """How many operations a term has."""
    return sum(isinstance(part, App) for part in standing(term))


def unswizzled(shared: Array, index: tuple[Term, ...]) -> Term:
    """The part of a cell's address that the swizzle changes, which has it twice."""
    return periods(address(shared.extents, shared.layout.plain, index), shared.layout)[1]


def occurs(term: Term, body: tuple[Step, ...], swizzled: Mapping[str, Array]) -> bool:
    """Whether the term stands somewhere in the steps, or is the address of a cell that does."""
    return any(term in walk(t) for step in steps(body) for t in (*terms(step), *addresses(step, swizzled)))


def addresses(step: Step, swizzled: Mapping[str, Array]) -> tuple[Term, ...]:
    """The addresses before the swizzle of what a step accesses."""
    found = accesses_of(step) if isinstance(step, Assign) and swizzled else ()
    return tuple(unswizzled(swizzled[a.tensor], a.index) for a in found if a.tensor in swizzled)
