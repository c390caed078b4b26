"""The verdict on a program: a `Proof`, a `Refutation` that was replayed, or `Unknown` with what is open.

Comes in: a program. Goes out: one of the three, never a guess. The one idea: a claim that is false in the solver but misbehaves
nowhere in the simulator is a weakness of the checker, and is reported as unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

from tinygpu.category.deadline import Expired, doing
from tinygpu.category.term import tensors
from tinygpu.diagnostic import Diagnostic, Label, Span, TinygpuError
from tinygpu.obligations.obligation import Gap, Obligation
from tinygpu.obligations.trace import UNSOLVED
from tinygpu.program.step import Program
from tinygpu.proof.kernel import BUDGET, Open, Proof, moot, prove
from tinygpu.proof.words import in_words, worded
from tinygpu.record import Pictured, dataclass, field, replace

if TYPE_CHECKING:  # it loads the simulator
    from tinygpu.proof.replay import Misbehaviour

T = TypeVar("T")
LONGEST = 200  # characters of a title
NOBODY = Gap("", "TG515", "", "")  # what a sentence is of, where only the sentence is known


@dataclass(frozen=True, slots=True)
class Refutation(Pictured):
    """The program is wrong: one diagnostic with the smallest case found, the sizes of it, and what a run `seen` there did, if one was made; `left` are
    the claims that are open."""

    program: Program = field(repr=False)
    diagnostic: Diagnostic
    sizes: tuple[tuple[str, int], ...] = ()
    left: tuple[Open, ...] = field(default=(), repr=False)
    seen: Misbehaviour | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Unknown(Pictured):
    """Neither: what could not be proved, and why; `left` are the claims that are open."""

    program: Program = field(repr=False)
    diagnostics: tuple[Diagnostic, ...]
    left: tuple[Open, ...] = field(default=(), repr=False)


Verdict: TypeAlias = Proof | Refutation | Unknown


class Stated(Protocol):
    """What is proved or not: a machine, or a theorem."""

    @property
    def title(self) -> str: ...
    @property
    def span(self) -> Span: ...


def bounded(one: Stated, run: Callable[[], T]) -> T:
    """Values that nest more deeply than Python descends are bad input, TG161, and what ends at a limit that is around is unknown, TG515."""
    try:
        return run()
    except RecursionError:
        text = "its values nest too deeply to be looked at"
        help = "let a loop do what many steps do one after the other; a name stands for its whole term: let a cell hold a part of a long one"
        raise TinygpuError.of("TG161", f"{one.title} is too large", one.span, text, help) from None
    except Expired as end:
        raise TinygpuError(replace(late(end), labels=end.labels or (Label(one.span, "this one"),))) from None


def check(program: Program, budget: int = BUDGET) -> Verdict:
    """`Program → Verdict`. What takes longer than the limit around allows is unknown, with what was being done."""
    known: list[Open] = []
    doing("what the program says", (Label(program.span, "this machine"),))
    try:
        return _decided(program, budget, known)
    except Expired as end:
        return Unknown(program, (worded(late(end), NOBODY, program), *(_unknown(program, o) for o in told(known))), tuple(known))


def _decided(program: Program, budget: int, left: list[Open]) -> Verdict:
    """A claim that makes the rest moot is shown at once, others before anything is asked about the largest sizes; only where that cannot be
    done, or something else is seen to go wrong, everything else is asked. What is open is `left`."""
    result = prove(program, budget, hasty=True)
    if isinstance(result, Proof):
        return result
    left[:] = result
    from tinygpu.proof.counterexample import find, search  # the simulator and numpy are loaded only when there is something to show

    doing(f"whether a run at a small size shows that this is false: {sentence(left[0])}", left[0].claim.labels)
    known, hasty = search(budget), any(o.model is not None for o in result)
    codes = {result[-1].claim.code} if moot(result[-1]) else {o.claim.code for o in result}
    found = find(program, result, moot(result[-1]), budget, known)
    if hasty and (found is None or found.diagnostic.code not in codes):
        result = prove(program, budget)
        assert not isinstance(result, Proof), "a claim with a model against it is no theorem"
        left[:] = result
        found = find(program, result, budget=budget, known=known)
    if found is not None:
        return Refutation(program, found.diagnostic, tuple(found.sizes.items()), result, found.seen)
    from tinygpu.proof.instead import instead

    doing("what to write instead", left[0].claim.labels)
    first, *more = dict.fromkeys(_unknown(program, o) for o in told(result))
    help, fixes = instead(program, result, budget)
    first = replace(first, helps=(help,), fixes=fixes) if help else first
    return Unknown(program, (first, *more), result)


def told(left: Sequence[Open]) -> list[Open]:
    """What is said of what is open: not what follows from another one."""
    lost = any(o.claim.code == "TG501" for o in left)  # then a value has no form, which also hides what it was made of
    return [o for o in left if not consequence(o) and not (lost and o.claim.kind == "followed")] or list(left)


def late(end: Expired) -> Diagnostic:
    """What is said where the limit was reached: what was being done then, where, and what to do."""
    title = f"not decided, because {end}: {shortened(end.what)}" if end.what else f"not decided, because {end}"
    help = (
        "give it longer with --time SECONDS (time=SECONDS in Python), say with `holds` what a cell holds, or take the machine apart"
    )
    return Diagnostic("TG515", title, end.labels, "unknown", helps=(help,))


def consequence(open: Open) -> bool:
    """Whether a claim is open only because it speaks of a cell without a closed form, which has its own message."""
    claim = open.claim
    if isinstance(claim, Gap):
        return claim.code != "TG501" and UNSOLVED in claim.reason
    terms = (*claim.hypotheses, claim.goal) if isinstance(claim, Obligation) else ()
    return any(name.endswith(UNSOLVED) for term in terms for name in tensors(term))


def sentence(open: Open) -> str:
    """What a claim says."""
    return getattr(open.claim, "sentence", open.claim.title)


def shortened(text: str) -> str:
    """A sentence of which nobody needs all."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 2].rstrip()} …"


def _unknown(program: Program, open: Open) -> Diagnostic:
    claim, said = open.claim, in_words(sentence(open), open.claim, program)
    statement = said if len(said) <= LONGEST else f"that this never happens: {claim.title}"
    weak = "the solver has a counterexample, and no exact run at a small size confirms it: the checker is too weak here, or the runs are"
    otherwise = "say with `holds` what a cell holds, or raise the budget"
    if open.claim.kind == "width":
        otherwise = "where it is no index, compute with numbers (f32(a) * f32(b)); else say with `where` how large the sizes may be"
    helps = () if isinstance(claim, Gap) else (claim.help or otherwise,)
    found = Diagnostic(claim.code, f"not proved: {statement}", claim.labels, "unknown", notes=(open.reason or weak,), helps=helps)
    return worded(found, claim, program)
