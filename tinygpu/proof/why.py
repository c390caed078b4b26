"""Why a claim is open: the two forms that did not meet, aligned, or what is known and what does not follow from it.

    the program    relu(sum[k < K] A[i, k]*B[k, j] + bias[j])
    the equation   relu(sum[k < K] A[i, k]*B[k, j]) + bias[j]
                                                  ^ here they part

Comes in: an open claim and its program. Goes out: lines in the words of the spec. The one idea: two forms that are written by one printer in one column
differ first where one looks first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tinygpu.category.term import Term, conjuncts, text, walk
from tinygpu.obligations.obligation import Gap, Obligation
from tinygpu.program.step import Program
from tinygpu.proof.kernel import Open
from tinygpu.proof.words import back, in_words

WIDTH = 100  # columns of a row of a form
SHOWN = 3  # claims of which it is said
ROWS = 40  # of one form
NAMES = "the program    ", "the equation   "


def why(program: Program, left: Sequence[Open], code: str = "") -> Iterator[str]:
    """What is said of what is open, of claims of that code first: the first few of them, each once."""
    seen: set[tuple[str, ...]] = set()
    for open in sorted(left, key=lambda o: (o.claim.code != code, not getattr(o.claim, "forms", ()))):
        lines = tuple(of(program, open))
        if lines not in seen and len(seen) < SHOWN:
            seen.add(lines)
            yield from lines
            yield ""


def of(program: Program, open: Open) -> Iterator[str]:
    """What is said of one claim."""
    claim = open.claim
    yield f"{claim.code} {claim.kind}: {in_words(getattr(claim, 'sentence', claim.title), claim, program)}"
    match claim:
        case Obligation(forms=(ours, theirs)) | Gap(forms=(ours, theirs)):
            one, other = (in_words(text(back(t, dict(claim.meant))), claim, program) for t in (ours, theirs))
            yield from forms(one, other, types(ours, theirs))
        case Gap():
            yield f"  {in_words(claim.reason, claim, program)}"
        case Obligation(hypotheses=hypotheses, goal=goal):
            yield from known(program, open, hypotheses)
            yield f"    ⊢  {in_words(text(back(goal, dict(claim.meant))), claim, program)}"
        case _:
            yield from known(program, open, claim.hypotheses)
            yield "    ⊢  there is such a case"


def known(program: Program, open: Open, hypotheses: tuple[Term, ...]) -> Iterator[str]:
    """The hypotheses, each once, those about ranges together."""
    meant = dict(open.claim.meant)
    facts = dict.fromkeys(in_words(text(back(c, meant)), open.claim, program) for h in hypotheses for c in conjuncts(h))
    yield from (f"       {fact}" for fact in facts)


def types(ours: Term, theirs: Term) -> str:
    """In which dtypes two forms compute, where they are written alike."""
    if text(ours) != text(theirs):
        return ""
    words = (", ".join(sorted({str(t.dtype) for t in walk(form)} - {"index", "bool"})) for form in (ours, theirs))
    return "written alike: the program computes it in {}, the equation in {}".format(*words)


def forms(ours: str, theirs: str, alike: str = "") -> Iterator[str]:
    """Two texts, one below the other, with a mark where they part.

    >>> for line in forms("x[i] + y[i]*2", "x[i] + y[i + 1]*2"): print(line)
      the program    x[i] + y[i]*2
      the equation   x[i] + y[i + 1]*2
                               ^ here they part
    """
    if alike:
        yield f"  {alike}"
    apart = next((n for n, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), min(len(ours), len(theirs)))
    for start in range(0, min(max(len(ours), len(theirs)), ROWS * WIDTH), WIDTH):
        rows = ours[start : start + WIDTH], theirs[start : start + WIDTH]
        for name, row in zip(NAMES if start == 0 else (" " * len(NAMES[0]),) * 2, rows, strict=True):
            yield f"  {name}{row}".rstrip()
        if ours != theirs and start <= apart < start + WIDTH:
            yield f"  {' ' * (len(NAMES[0]) + apart - start)}^ here they part"
