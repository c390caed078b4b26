"""Names for index terms, so that a kernel reads like its equation.

Comes in: a launch of a program. Goes out: index terms with names, the equation's own first.
The one idea: `by*64 + ty*8 + ri` stands where the equation has C's `i`, so it is `i`; what stands at no plain index of an equation is
called by its place, `x1` for the second coordinate of x, if it stands there more than once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

from tinygpu.category.term import App, Read, Term, Var, reads, walk
from tinygpu.emit.python import fresh, identifier
from tinygpu.program.step import Assign, For, If, Launch, Program, Step, steps


def index_names(program: Program, launch: Launch, taken: Collection[str]) -> dict[Term, str]:
    """Names for index terms of a launch: Python names that are not taken, no two the same."""
    wanted: dict[Term, str] = {}
    counted = Counter(
        part for step in steps(launch.body) for term in terms_of(step) for part in walk(term) if isinstance(part, App)
    )
    accesses = [access for step in steps(launch.body) if isinstance(step, Assign) for access in accesses_of(step)]
    for access in accesses:
        for place, term in enumerate(access.index):
            name = equation_name(program, access.tensor, place)
            if name and isinstance(term, App) and not reads(term):
                wanted.setdefault(term, name)
    for access in accesses:
        for place, term in enumerate(access.index):
            if isinstance(term, App) and not reads(term) and counted[term] > 1 and access.tensor not in program.locals:
                wanted.setdefault(term, f"{access.tensor}{place}")
    names: dict[Term, str] = {}
    for term, name in wanted.items():
        names[term] = numbered(identifier(name), {*taken, *names.values()})
    return names


def numbered(name: str, used: Collection[str]) -> str:
    """The name, with a number where it is used already.

    >>> numbered("i", {"i", "i_2"}), numbered("j", {"i"})
    ('i_3', 'j')
    """
    number = 2
    free = name
    while free in used:
        free, number = f"{name}_{number}", number + 1
    return fresh(free, used)


def accesses_of(step: Assign) -> tuple[Read, ...]:
    """What an assignment stores to, then what it reads."""
    found = tuple(r for t in (step.value, step.guard) for r in reads(t))
    return (Read(step.target, step.index, ""), *found)


def equation_name(program: Program, tensor: str, place: int) -> str:
    """How all equations call a coordinate of a tensor, if they agree on one plain index; else nothing."""
    names = set(equation_names(program, tensor, place))
    return names.pop() if len(names) == 1 else ""


def equation_names(program: Program, tensor: str, place: int) -> Iterator[str]:
    """The plain index at a coordinate of a tensor, for each place where an equation has the tensor."""
    for equation in program.op.equations:
        if equation.target == tensor:
            yield equation.axes[place].name
        for read in reads(equation.value):
            if read.tensor == tensor:
                index = read.index[place]
                yield index.name if isinstance(index, Var) else ""


def occurs(term: Term, body: tuple[Step, ...]) -> bool:
    """Whether the term stands somewhere in the steps."""
    return any(term in walk(t) for step in steps(body) for t in terms_of(step))


def terms_of(step: Step) -> tuple[Term, ...]:
    """The terms that are evaluated at a step itself."""
    match step:
        case Assign(_, at, term, _, condition):
            return (*at, term, condition)
        case For(axis):
            return (axis.extent,)
        case If(condition):
            return (condition,)
    return ()
