"""An output may lie where an input does: each element is read only by the thread that stores it, and before it does.

    for all reads w of x[e] and stores s of y[e], y inplace x:      launch(w) < launch(s),
                                                                or  launch(w) = launch(s), thread(w) = thread(s), and w comes before s in it

Comes in: the program and its trace. Goes out: a formula for each read of the input and each store of the output. The one idea: then nobody finds out
that the two are one array, so all that is proved of two arrays holds of one; and who reads what another thread stores, or what was stored before, does.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.category.region import Region
from tinygpu.category.term import FALSE, TRUE, Const, Term, Var, conjunction, conjuncts, disjunction, equal, text, variables
from tinygpu.diagnostic import Label
from tinygpu.obligations.bijection import PRIME, Part, before, met
from tinygpu.obligations.obligation import Claim, Obligation
from tinygpu.obligations.trace import Access, Trace, preconditions
from tinygpu.program.step import For, Program
from tinygpu.program.traverse import at

HELP = "where one thread does both, keep what is read in a cell of it (keep {} in register); else let the output lie elsewhere: leave out inplace"


def state(program: Program, trace: Trace) -> Iterator[Claim]:
    """The claims of this property."""
    for output, source in program.op.inplace.items():
        reads = [a for a in trace.of(Access) if a.array == source and not a.write]
        stores = [a for a in trace.of(Access) if a.array == output and a.write]
        for read in reads:
            for store in stores:
                if read.place.launch < store.place.launch and not in_turn(program, read, store):
                    continue
                yield _alone(program, read, store)


def in_turn(program: Program, read: Access, store: Access) -> bool:
    """Whether one loop is around both launches, in which each comes before the other."""
    ours, theirs = (program.launches[a.place.launch].turns for a in (read, store))
    return bool({*ours} & {*theirs})


def _alone(program: Program, read: Access, store: Access) -> Obligation:
    first, second = Part(read.point.axes, read.point.guard, read.index), Part(store.point.axes, store.point.guard, store.index)
    later = second.renamed(PRIME)
    meet = tuple(equal(a, b) for a, b in zip(first.terms, later.terms, strict=True))
    hypotheses = (*Region((), preconditions(program)).facts, *first.facts, *later.facts, *meet)
    element = f"{read.array}[{', '.join(map(text, read.index))}]"
    title = f"{read.array} and {store.array} may be one array, and an element is read by another thread than stores it, or later"
    sentence = f"{element} is read only by the thread that stores it, and before"
    labels = (Label(read.span, "read here"), Label(store.span, "stored here"))
    one = read.place.launch == store.place.launch and not in_turn(program, read, store)
    goal = _ordered(program, read, store) if one else FALSE
    asked = {a.name for a in second.axes if equal(Var(a.name), Var(a.name + PRIME)) in conjuncts(goal)}
    digits = max((variables(t) & {a.name for a in second.axes} for t in second.terms), key=len, default=frozenset())
    if len(digits - asked) > 1:  # to tell some of its digits by a number is slow for solvers
        goal = TRUE if met(goal, first, second, Region((), preconditions(program))) == TRUE else goal
    return Obligation("inplace", "TG308", title, sentence, hypotheses, goal, labels, HELP.format(read.array))


def _ordered(program: Program, read: Access, store: Access) -> Term:
    """That one thread does both, and reads before it stores: in an earlier turn of a loop around both, or in the same turn in front of it."""
    launch = program.launches[read.place.launch]
    same = [equal(Var(a.name), Var(a.name + PRIME)) for a in launch.grid + launch.block]
    ours, theirs = read.place.path, store.place.path
    common = next((n for n, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), min(len(ours), len(theirs)))
    around = [body[position] for body, position in at(launch.body, ours[:common])]
    loops = [step.axis.name for step in around if isinstance(step, For)]
    here = tuple(_turn(name, read, "") for name in loops)
    there = tuple(_turn(name, store, PRIME) for name in loops)
    equal_turns = conjunction(*(equal(a, b) for a, b in zip(here, there, strict=True)))
    in_front = TRUE if ours == theirs or ours[common : common + 1] < theirs[common : common + 1] else FALSE
    sooner = before(here, there) if loops else FALSE
    last = equal_turns if in_front == TRUE else FALSE
    return conjunction(*same, disjunction(sooner, last))


def _turn(name: str, access: Access, prime: str) -> Term:
    """The turn of a loop that an access is in: a variable, or the number of one that was followed alone."""
    turns = dict(access.place.turns)
    return Const(turns[name]) if name in turns else Var(name + prime)
