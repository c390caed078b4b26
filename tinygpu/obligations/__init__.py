"""The obligations of a program: what must be proved so that it computes its equation, for all sizes, without fault.

    wellformed    read(text(program)) = program        names, dtypes, ranks, scopes and layouts are those of the language

Comes in: a program. Goes out: claims, property by property in the order of the table below. A program that Python made means what its text means,
so nothing is asked of one that has none.
The one idea: a property is one function with one formula at the top of its file, and this table is the whole list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

from tinygpu.category.deadline import about
from tinygpu.diagnostic import Label, TinygpuError
from tinygpu.hardware.arch import CPU
from tinygpu.obligations import barriers, defined, equation, inplace, landing, laws, memory, storage, store, width
from tinygpu.obligations.control import controlled
from tinygpu.obligations.dataflow import execute, gaps
from tinygpu.obligations.facts import promised, with_theorems
from tinygpu.obligations.induced import inductions
from tinygpu.obligations.made import View, compared, contents_of, number_of, stored_of, value_of
from tinygpu.obligations.obligation import Claim, Gap
from tinygpu.obligations.picked import held_places, with_places
from tinygpu.obligations.shape import alike, cancelled
from tinygpu.obligations.trace import Trace
from tinygpu.program.lanes import instances, of_any_width
from tinygpu.program.numbers import beyond
from tinygpu.program.read import reread
from tinygpu.program.space import LOCAL, SHARED
from tinygpu.program.step import Array, Program, Step, arrays_in
from tinygpu.program.traverse import map_steps
from tinygpu.record import replace

REALS = value_of, value_of  # how values are seen, and guards: claims over the reals
ALWAYS = number_of, number_of  # such hold for all data, NaN among them, and however floats are rounded
STORED = stored_of, stored_of  # for all data that is a number, however floats are rounded
DATAFLOW = "dataflow"  # that it could be followed
PROPERTIES: tuple[tuple[str, Callable[[Program, Trace], Iterator[Claim]], tuple[View, View]], ...] = (
    ("vacuity", equation.vacuity, REALS),
    ("equation", equation.equation, STORED),
    ("limits", storage.limits, REALS),
    ("monoid", laws.state, REALS),
    ("bounds", memory.bounds, ALWAYS),
    ("memory", memory.one_use, ALWAYS),
    ("uniform", barriers.uniform, ALWAYS),
    ("ordered", barriers.ordered, ALWAYS),  # where threads race nothing after this is asked
    ("landed", landing.state, ALWAYS),
    ("cover", memory.cover, STORED),  # nor where an element is never stored
    ("once", memory.once, ALWAYS),
    ("inplace", inplace.state, ALWAYS),
    ("storage", storage.storage, ALWAYS),
    ("initialised", store.initialised, (contents_of, stored_of)),
    ("store", store.store, REALS),
    ("holds", store.holds, REALS),
    ("defined", defined.state, ALWAYS),
    ("alignment", memory.alignment, ALWAYS),
    ("width", width.state, ALWAYS),
)
OF_A_POINT = ("vacuity", "limits", "storage", "alignment", "width")  # what is asked where a program's free numbers are given
LARGEST = ("width",)  # what goes wrong at the largest sizes alone, and takes longest to ask


def claims_of(program: Program, enough: Callable[[], bool] = lambda: False) -> Iterator[Claim]:
    """`Program → claims`: all of them proved is what a proof is. Those about the largest sizes are left out where there is `enough` before."""
    wrong = tuple(wellformed(instances(program)[0]))  # others are the same text with another number
    if wrong:
        yield from wrong
        return
    for name, claim in each_once(program):
        if name in LARGEST and enough():
            return
        yield claim


def claims_of_family(program: Program, numbers: tuple[str, ...]) -> Iterator[Claim]:
    """`program with free numbers, which are sizes of its op → claims`, for all of them: proved, they leave those of a point."""
    for reason, span in beyond(program, numbers):
        title = f"{program.name} is not followed for all {', '.join(numbers)}"
        yield Gap("family", "TG168", title, f"{reason}: give the numbers, and it is a machine as any other", (Label(span, "here"),))
    yield from (claim for _, claim in each_once(program, tuple(name for name, *_ in PROPERTIES if name not in OF_A_POINT)))


def claims_of_point(program: Program) -> Iterator[Claim]:
    """The claims about a program with given numbers that those of its family leave."""
    wrong = tuple(wellformed(instances(program)[0]))
    yield from wrong or (claim for _, claim in each_once(program, OF_A_POINT))


def each_once(program: Program, named: tuple[str, ...] = ()) -> Iterator[tuple[str, Claim]]:
    """The claims of some properties, or of all, each with its property, those that are equal once."""
    program = owned(of_any_width(program))
    seen: set[Claim] = set()
    for name, claim in of_trace(program, execute(program), named):
        if claim not in seen:
            seen.add(claim)
            yield name, claim


def owned(program: Program) -> Program:
    """The program in which a core has nothing that is not its one thread's: its own memory are the thread's cells."""

    def each(step: Step) -> tuple[Step, ...]:
        return (replace(step, space=LOCAL) if isinstance(step, Array) and step.space == SHARED else step,)

    alone = [one for one in program.launches if program.arch == CPU and not one.block and arrays_in(one.body, "block")]
    return replace(program, launches=tuple(replace(o, body=map_steps(o.body, each)) if o in alone else o for o in program.launches))


def wellformed(program: Program) -> Iterator[Gap]:
    """What is wrong with a program as such."""
    label = (Label(program.span, "here"),)
    try:
        reasons = [] if reread(program) == program else ["its text says another program: something has another dtype, or layout"]
    except TinygpuError as error:
        reasons = [d.title for d in error.diagnostics]
    except ValueError as error:
        reasons = [str(error)]
    yield from (Gap("wellformed", "TG513", "this program is not well formed", reason, label) for reason in reasons)


def of_trace(program: Program, trace: Trace, named: tuple[str, ...] = ()) -> Iterator[tuple[str, Claim]]:
    """The claims about what was executed, of all properties or of some, with the property of each: of the numbers that are held, or over the reals."""
    side = cache(trace.seen)
    yield from ((DATAFLOW, gap) for gap in gaps(program, side(*REALS)))
    sure = tuple(p for p in program.op.promises if compared(p))
    known, places = (*program.op.promises, *inductions(program.op)), held_places(trace)
    for name, property, views in (p for p in PROPERTIES if not named or p[0] in named):
        with about(f"what has to be proved of the property `{name}`", (Label(program.span, "of this machine"),)):
            for claim in property(program, side(*views)):
                claim = promised(with_places(alike(claim, laws=views == REALS), places), known if views == REALS else sure)
                if views != REALS:
                    claim = controlled(claim, views != ALWAYS)
                yield name, with_theorems(cancelled(claim), program.op.sizes)
