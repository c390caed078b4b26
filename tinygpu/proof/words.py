"""What is said of a claim, in the words of the spec: no name that the checker gave.

    `number 2.1 + 0*fold 2.0`   ↦   `(sum[k < M] exp(x[g, k] - (max[k < M] x[g, k]))) + 0*(max[k < M] x[g, k])`

Comes in: a text in which symbols stand for folds, binders are numbers, and cells have the number of a loop; the claim that it speaks of; its program.
Goes out: the text that a user would write. The one idea: such names are told from all others by their form, so they are found in any text, and nothing
is put in words before somebody reads it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tinygpu.category.monoid import component
from tinygpu.category.term import App, Const, Fold, Read, Term, substitute, text, variables, walk
from tinygpu.diagnostic import Diagnostic
from tinygpu.model.op import Op
from tinygpu.obligations.obligation import Claim
from tinygpu.program.step import Assign, Program, steps
from tinygpu.record import replace

SYMBOL = re.compile(r"\b(fold|number) (\d+\.\d+)(?!\.?\d)")
BINDER = re.compile(r"-?\b\d+\.\d+\.\d+\b")
RANGED = re.compile(rf"({BINDER.pattern}) < ([^\[\],]+(?:\[[^\[\]]*\])?)[,\]]")
PLAIN: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"\blarge \d+!(\[[^\]]*\])?"), "(…)"),  # a value that is not followed
    (re.compile(r"\(… [0-9a-f]{16}\)"), "(…)"),  # one that is not written out
    (re.compile(r"(-?[\w.]+) of (?:fold|number) \d+\.\d+"), r"\1'"),  # the first term of a fold
    (re.compile(r"(\w)@\d+(?: in| ring)?!?"), r"\1"),  # a cell at a turn of a loop
    (
        re.compile(r"(\w)(?: ring)?[!?](?=[\[\]),*]| [-+*/<>=]| is | if | else | and | or |$)"),
        r"\1",
    ),  # one without a closed form, one that nobody wrote
    (re.compile(r"~"), "'"),  # the second of two points
    (re.compile(r"\b([a-zA-Z_]\w*)\.\d+\b(?!\.)"), r"\1_"),  # a lane that comes before
    (re.compile(r"\bnumber value \d+"), "(…)"),
    (re.compile(r" (?:made|said) [\d.]+"), ""),
)
BEFORE = (
    r"(?:^|(?<=[\[(])|(?<=, )|(?<=[<>=|] )|(?<=(?:\bis|\bif|\bor) )|(?<=\band )|(?<=\belse ))"  # what may stand before a whole term
)
AROUND = re.compile(r"[(,\[]? ?$"), re.compile(r"(?:[),\]]| is | where | may | has |$)")
INTERNAL = re.compile("|".join([SYMBOL.pattern, BINDER.pattern, *(p.pattern for p, _ in PLAIN if p.pattern != "~")]))


def worded(diagnostic: Diagnostic, claim: Claim, program: Program) -> Diagnostic:
    """The message with all that it says of the claim in the words of the spec."""

    def put(said: str) -> str:
        return in_words(said, claim, program)

    notes, helps = (tuple(map(put, texts)) for texts in (diagnostic.notes, diagnostic.helps))
    return replace(diagnostic, title=put(diagnostic.title), notes=notes, helps=helps)


def in_words(said: str, claim: Claim, program: Program) -> str:
    """A text about a claim in the words of its spec, where a term has a name there by that name."""
    names = program.machine.names if program.machine else ()
    return by_name(by_equation(spoken(said, claim, program.op), program), names)


def by_equation(said: str, program: Program) -> str:
    """A text in which a component of what a derived machine has folded bears the name of its equation: `acc[t, g].k` is `k[r]`."""
    if program.machine is None or program.machine.program is not None or "]." not in said:
        return said
    equations = {e.target: e for e in program.op.equations}
    for step in (s for launch in program.launches for s in steps(launch.body) if isinstance(s, Assign) and s.target in equations):
        match step.value:
            case App("part", (Read(cells, _, folded), Const(place))):
                axes = ", ".join(a.name for a in equations[step.target].axes)
                found = rf"\b(?:{re.escape(cells)}|lanes)\[[^\[\]]*\]\.{component(folded, int(place))}\b"
                said = re.sub(found, f"{step.target}[{axes}]", said)
    return said


def by_name(said: str, names: tuple[tuple[str, str], ...]) -> str:
    """A text with names for terms, where that is shorter and the term stands there as a whole.

    >>> by_name("x[by*64 + ty + 1] is inside n where 2*by*64 + ty < n", (("i", "by * 64 + ty"),))
    'x[i + 1] is inside n where 2*by*64 + ty < n'
    """
    for name, term in sorted(names, key=lambda one: -len(one[1])):
        words = re.findall(r"\w+|//|[<>=!]=|\S", term)
        if len(term) > len(name) + 2 and len(words) > 1:
            whole = " ?".join(map(re.escape, words))
            said = re.sub(rf"{BEFORE}{whole}(?=$|[\]),]| [-+<>=!|] | [<>=!]= | is | and | or | if | else )", name, said)
    return said


def spoken(said: str, claim: Claim, op: Op) -> str:
    """A text about a claim without names that the checker gave."""
    if not INTERNAL.search(said) and "~" not in said:
        return said
    meant = dict(claim.meant)

    def fold(found: re.Match[str]) -> str:
        term = meant.get(found[0]) or meant.get(f"fold {found[2]}")
        if term is None:
            return "(…)"
        bare = AROUND[0].fullmatch(said[max(0, found.start() - 1) : found.start()]) and AROUND[1].match(said, found.end())
        return text(back(term, meant)) if bare else f"({text(back(term, meant))})"

    for pattern, plain in PLAIN[2:3]:  # names of which a symbol is a part
        said = pattern.sub(plain, said)
    said = SYMBOL.sub(fold, said)
    for pattern, plain in PLAIN:
        said = pattern.sub(plain, said)
    return bound(said, op)


def back(term: Term, meant: Mapping[str, Term]) -> Term:
    """The term with what its symbols stand for."""
    names = {**meant, **{name.replace("fold", "number"): fold for name, fold in meant.items()}}
    while there := variables(term) & names.keys():
        term = substitute(term, {name: names[name] for name in there})
    return term


def bound(said: str, op: Op) -> str:
    """A text with names for its binders: those that the op has for folds of the same extents, where they are free.

    >>> from tinygpu.category.term import TRUE, Axis, Read, Var
    >>> from tinygpu.model.op import Equation
    >>> fold = Fold("sum", (Axis("j", Var("N")),), TRUE, Read("x", (Var("j"),), "f32"), "f32")
    >>> bound("sum[-1.0.0 < N] x[-1.0.0]*w[2.0.1]", Op("o", ("N",), (), (), (), (Equation("s", (), fold),)))
    'sum[j < N] x[j]*w[k]'
    """
    extents = {found[1]: found[2].strip() for found in reversed([*RANGED.finditer(said)])}
    taken = set(re.findall(r"[A-Za-z_]\w*", said))
    for binder in dict.fromkeys(BINDER.findall(said)):
        like = [name for extent, name in binders(op) if extent == extents.get(binder)]
        name = next(n for n in (*like, *"kjilmn", *(f"k{m}" for m in range(1, 1000))) if n not in taken)
        taken.add(name)
        said = re.sub(rf"(?<![\w.]){re.escape(binder)}(?![\w.])", name, said)
    return said


def binders(op: Op) -> Iterator[tuple[str, str]]:
    """The extents and names of the indices that an op folds over."""
    for equation in op.equations:
        for fold in (t for t in walk(equation.value) if isinstance(t, Fold)):
            yield from ((text(a.extent), a.name) for a in fold.axes)
