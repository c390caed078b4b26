"""The ledger of trust as text and as data.

Comes in: the ledgers of machines. Goes out: lines, or plain data. The one idea: what one machine rests on stands below its name, what all rest
on stands once, and the total counts how many rest on what.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tinygpu.proof.assumed import AXIOMS

if TYPE_CHECKING:
    from tinygpu.commands.audit import Ledger

WORDS = {
    "bitwise": "to the bit",
    "in order": "in order of evaluation, contracted at most",
    "over the reals": "over the reals, reassociated",
}
COLUMN = 10


def lines(ledgers: Sequence[Ledger], by_all: Sequence[str]) -> Iterator[str]:
    """Machine by machine, then the total."""
    for ledger in ledgers:
        yield f"{ledger.subject.machine} : {ledger.subject.op}"
        for name, text in rows(ledger):
            yield f"  {name:<{COLUMN}}{text}"
    yield ""
    yield from total(ledgers)
    yield ""
    yield "every machine rests on"
    yield from (f"  {sentence}" for sentence in by_all)


def rows(ledger: Ledger) -> Iterator[tuple[str, str]]:
    """What one machine rests on."""
    certificate = ledger.certificate
    n = certificate.numerics
    by_word: dict[str, list[str]] = {}
    for output, word in n.outputs.items():
        by_word.setdefault(word, []).append(output)
    floats = [f"{', '.join(outputs)} {WORDS[word]}" for word, outputs in by_word.items()]
    yield "numbers", "; ".join(floats) + ("; sums of floats in another order at every call" if n.atomic else "")
    if n.functions:
        yield "functions", f"{', '.join(n.functions)}: as precise as the libraries are"
    if ledger.axioms:
        yield "believed", ", ".join(ledger.axioms)
    if certificate.preconditions:
        yield "requires", "; ".join(certificate.preconditions) + " (checked at each call)"
    for promise in certificate.promises:
        yield "promised", f"{promise} (checked at a call with check_data=True; what is said of scalars alone at each call)"
    yield "settled", f"{len(certificate.obligations)} obligations: {shares(ledger.methods)}"
    if ledger.replayed is not None:
        for sentence in ledger.alone:
            yield "one only", sentence
        if ledger.replayed.unrun:
            yield "not run", "no size is small enough"


def shares(counted: Counter[str]) -> str:
    return ", ".join(f"{n} by {method}" for method, n in sorted(counted.items()))


def total(ledgers: Sequence[Ledger]) -> Iterator[str]:
    """How many machines rest on what."""
    methods: Counter[str] = Counter()
    words: Counter[str] = Counter()
    for ledger in ledgers:
        methods.update(ledger.methods)
        words.update(ledger.certificate.numerics.outputs.values())
    yield f"{len(ledgers)} machines, {sum(methods.values())} obligations: {shares(methods)}, {methods['enumeration']} by enumeration"
    yield f"  {sum(words.values())} outputs: " + ", ".join(f"{words[w]} {said}" for w, said in WORDS.items())
    yield f"  {count(l.certificate.numerics.atomic for l in ledgers)} add floats by atomic updates"
    yield f"  {count(l.certificate.promises for l in ledgers)} rest on promises about data"
    for name, axiom in AXIOMS.items():
        if many := count(name in l.axioms for l in ledgers):
            yield f"  {many} believe of {name}: {axiom.sentence} [{axiom.source}]"
    functions = Counter(f for l in ledgers for f in l.certificate.numerics.functions)
    if functions:
        yield "  functions as precise as the libraries are: " + ", ".join(f"{f} in {n}" for f, n in sorted(functions.items()))
    yield from solvers(ledgers)


def solvers(ledgers: Sequence[Ledger]) -> Iterator[str]:
    """What a second solver and runs add, if they were asked for."""
    again = [l.replayed for l in ledgers if l.replayed is not None]
    if not again:
        yield "  not asked: a second solver, and runs on real numbers (--replay)"
        return
    by = Counter(who for r in again for _, who in r.obligations)
    yield f"  proved again by z3 and cvc5: {by['both']}; by z3 alone: {by['z3']}; by cvc5 alone: {by['cvc5']}; by neither: {by['']}"
    from tinygpu.commands.replay import ran

    yield f"  {ran(again)}"


def count(marks: Iterator[object]) -> int:
    return sum(bool(m) for m in marks)


def as_data(ledgers: Sequence[Ledger], by_all: Sequence[str]) -> dict[str, object]:
    """The same as plain data."""
    machines = []
    for ledger in ledgers:
        c = ledger.certificate
        row: dict[str, object] = {"machine": ledger.subject.machine, "op": ledger.subject.op, "file": ledger.subject.path}
        row |= {"outputs": c.numerics.outputs, "atomic_sums": c.numerics.atomic, "functions": list(c.numerics.functions)}
        row |= {"axioms": list(ledger.axioms), "preconditions": list(c.preconditions), "promises": list(c.promises)}
        row |= {"methods": dict(sorted(ledger.methods.items())), "solver": c.solver}
        if ledger.replayed is not None:
            row |= {"one_solver_only": ledger.alone, "run": not ledger.replayed.unrun}
        machines.append(row)
    sources = {name: {"sentence": a.sentence, "source": a.source} for name, a in AXIOMS.items()}
    return {"version": 1, "machines": machines, "axioms": sources, "trusted_by_all": list(by_all)}
