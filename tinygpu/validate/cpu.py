"""The text of a CPU kernel, proved against its equation: it is read back as a program, and that program is proved.

    text ─read→ program ─prove→ proof        for all sizes, by the same obligations as the machine's own program

Comes in: a module, the name of a launcher, and the program that it was made of, of which only the op, the preconditions and the workspaces
are looked at. Goes out: that it is proved, that it is wrong with a diagnostic that names a line of the module, or why neither is known.
The one idea: nothing of the emitter is trusted, since what is proved is the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from tinygpu.category.term import Term
from tinygpu.diagnostic import Diagnostic, Label
from tinygpu.obligations import of_trace, wellformed
from tinygpu.obligations.made import number_of
from tinygpu.obligations.obligation import Claim, Gap
from tinygpu.obligations.width import INT64, cpu_limits, divisions, evaluated, fits, subterms
from tinygpu.program.step import Program
from tinygpu.program.unpack import unpack
from tinygpu.proof.kernel import Open, Theorem, discharge
from tinygpu.record import dataclass, replace
from tinygpu.validate.check import Expected
from tinygpu.validate.cpu_follow import Long, execute
from tinygpu.validate.cpu_launch import Done, Text, functions_of, program_of
from tinygpu.validate.cpu_names import Unread
from tinygpu.validate.cpu_support import supported
from tinygpu.validate.module import Module, read
from tinygpu.validate.same import Here
from tinygpu.validate.width import Width

LANES = {"f32": (16, 8), "f64": (8, 4)}  # numbers in a vector register, with and without AVX-512
BUDGET = 8_000_000  # solver steps for one claim: less than for a proof that somebody waits for
HARDWARE = ("limits", "alignment", "width", "storage")  # what is said of a GPU
NEVER = "TG512"  # a store that is never reached: a border that is empty at all sizes is not wrong

LARGEST_ON_CPU = 2**63 - 2**32  # so that a loop may count beyond its end, by a strip, a tile or a piece of a thread


@dataclass(frozen=True, slots=True)
class Same:
    """The text computes its equation, for all sizes."""

    claims: int


@dataclass(frozen=True, slots=True)
class Wrong:
    """The text does something else; the diagnostic names its line."""

    diagnostic: Diagnostic


@dataclass(frozen=True, slots=True)
class Unsure:
    """Neither is known; the diagnostic says what could not be read or proved."""

    diagnostic: Diagnostic


Validity: TypeAlias = Same | Wrong | Unsure
Limits: TypeAlias = tuple[Term, ...]  # what the launcher compares with the largest index


def validate(module: Module, name: str, program: Program, budget: int = BUDGET, search: bool = True) -> Validity:
    """`NAME_cpu` of a module against the op of its program. `search`: whether a case is looked for in which it goes wrong."""
    try:
        dtype = supported(module, functions_of(module, name))
        texts = tuple(Text(module, name, unpack(program), dtype, lanes) for lanes in LANES.get(dtype, (1,)))
        limits = cpu_limits(program)
        threads = _as_threads(texts, limits, budget)
        return threads if threads is not None else _alone(texts, limits, budget, search)
    except Unread as unread:
        labels = (Label(module.span(unread.node), "here"),) if unread.node is not None else ()
        return Unsure(Diagnostic("TG823", f"{name}_cpu could not be read", labels, "unknown", notes=(unread.reason,)))
    except Long:
        reason = "to follow it turn by turn takes too long: threads that cooperate, or strips with a border"
        labels = (Label(module.span(module.functions[f"{name}_cpu"].args.args[0]), "the kernel of these"),)
        return Unsure(Diagnostic("TG823", f"{name}_cpu is not proved", labels, "unknown", notes=(reason,)))


def _as_threads(texts: Sequence[Text], limits: Limits, budget: int) -> Same | None:
    """A kernel that runs the threads of blocks in phases, read as these threads; None where that is not proved.

    A race of such threads is no fault of the text, which has an order: so nothing is found to be wrong here.
    """
    proved: set[Claim] = set()
    try:
        for text in texts:
            made = program_of(replace(text, phases=True)) if any(launch.block for launch in text.program.launches) else None
            if made is None or not made.blocks or discharged(made, limits, budget, proved):
                return None
    except (Unread, Long):
        return None
    return Same(len(proved))


def _alone(texts: Sequence[Text], limits: Limits, budget: int, search: bool) -> Validity:
    """A kernel whose items are threads."""
    proved: set[Claim] = set()
    for text in texts:
        made = program_of(text)
        if open_ := discharged(made, limits, budget, proved):
            return _open(text.name, made.program, open_, search)
    return Same(len(proved))


def discharged(made: Done, limits: Limits, budget: int, proved: set[Claim]) -> list[Open]:
    """The claims of a program that are left open; those that are proved are put to the others, and are not asked again."""
    left: list[Open] = []
    for claim in state(made, limits):
        if claim in proved:
            continue
        match discharge(claim, budget):
            case Theorem():
                proved.add(claim)
            case Open() as one:
                left.append(one)
                if one.model is None or len(left) >= 4:
                    break
    return left


def state(made: Done, limits: Limits) -> Iterator[Claim]:
    """What is to be proved of a program that a CPU runs, one thread for each item: all but what is said of a GPU, and that 64 bits are enough
    where its launcher has seen that the limits are at most `LARGEST_ON_CPU`.

    Lanes beyond an edge compute with what a panel of zeros held before. No result may depend on it; that it is computed with is no fault.
    """
    program = made.program
    idle = {f"{name} is read, which nobody wrote" for name in made.filled}
    wrong = tuple(wellformed.gaps(program))
    if wrong:
        yield from wrong
        return
    trace = execute(program)
    yield from (c for _, c in of_trace(program, trace, HARDWARE) if isinstance(c, Gap) or (c.code != NEVER and c.title not in idle))
    width = Width(limits, LARGEST_ON_CPU)
    for term, point, span in evaluated(trace.seen(number_of, number_of)):
        labels = (Label(span, "computed here"),)
        yield from divisions(term, point, labels)
        here = Here(point.axes, point.guard)
        if wide := tuple(part for part in subterms(term) if not width.seen(part, "cpu", here)):
            yield fits(term, wide, INT64, limits, point, labels, LARGEST_ON_CPU)


def _open(name: str, program: Program, left: list[Open], search: bool) -> Validity:
    from tinygpu.proof.counterexample import find

    claim = left[0].claim
    if search and (found := find(program, tuple(left))) is not None:
        return Wrong(found.diagnostic)
    why = left[0].reason or "the solver has a counterexample, but nothing goes wrong at the sizes that were run"
    return Unsure(Diagnostic(claim.code, f"{name}_cpu: not proved: {claim.title}", claim.labels, "unknown", notes=(why,)))


def findings(text: str, machines: Sequence[Expected], file: str = "") -> tuple[Diagnostic, ...]:
    """What is to be said of the CPU kernels of a module: an error for one that is wrong, a note for one that is not proved.

    A kernel without a word here is proved. One with a note is what tests compare with the equation, and no more than that.
    """
    module = read(text, file)
    out: list[Diagnostic] = []
    for name, program in ((m.name, m.on_cpu) for m in machines):
        match validate(module, name, program):
            case Wrong(diagnostic):
                out.append(replace(diagnostic, verdict="error"))
            case Unsure(diagnostic):
                title = f"{name}_cpu was compared with its equation, but is not proved"
                out.append(replace(diagnostic, verdict="note", title=title, notes=(diagnostic.title, *diagnostic.notes)))
    return tuple(out)
