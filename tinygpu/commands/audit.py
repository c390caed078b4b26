"""`tinygpu audit`: what a user of proved machines still has to trust.

Comes in: certificates, specs, or emitted modules. Goes out: for each machine and in total, what is taken for granted, as text or as data.
The one idea: a proof is as good as what it rests on, so that is listed by name, with its source: what one machine rests on below its name,
what all rest on once, and the total counts how many rest on what.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tinygpu.category.deadline import TIME, within
from tinygpu.commands.common import add_format, add_jobs, add_machine, add_time, print_json, show
from tinygpu.commands.judged import exit_code
from tinygpu.commands.together import Progress
from tinygpu.diagnostic import Diagnostic
from tinygpu.proof.axioms import AXIOMS, axioms

if TYPE_CHECKING:
    from tinygpu.commands.again import Replayed
    from tinygpu.commands.subjects import Subject
    from tinygpu.proof.certificate import Certificate

EXAMPLE = "tinygpu audit proofs/"
BY_ALL = (  # trusted by every machine
    "floats are reals: rounding, overflow and NaN are outside of the statement",
    "the statement of the obligations, and the argument that they are enough (docs/trust.md)",
    "symbolic execution of the program (tinygpu/obligations), and the writing of formulas (tinygpu/category, tinygpu/proof)",
    "z3; with cvc5 for what `tinygpu replay` proves again",
    "what is emitted does what the program says, where `tinygpu replay MODULE` does not show it",
    "numba, NVVM, ptxas or nvJitLink (GPU), LLVM (CPU): not verified",
    "the limits of the architectures, from the CUDA C++ Programming Guide, table \"Technical Specifications per Compute Capability\"",
)  # fmt: skip
WORDS = {
    "bitwise": "to the bit",
    "in order": "in order of evaluation, contracted at most",
    "over the reals": "over the reals, reassociated",
}
COLUMN = 10
Ledger = dict[str, Any]  # what one machine rests on


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "paths", nargs="*", default=["proofs"], metavar="PATH", help="certificates, specs, emitted modules (proofs)"
    )
    add_machine(parser)
    parser.add_argument(
        "--replay", action="store_true", help="also ask both solvers who could do what, and run each on real numbers"
    )
    add_jobs(parser, "with --replay: how many processes (one for each core)")
    add_time(parser)
    add_format(parser)


def run(arguments: argparse.Namespace) -> int:
    from tinygpu.commands.subjects import subjects

    with Progress() as now:
        now("reading")
        found = subjects(arguments.paths, Path("proofs"), arguments.machine)
        ledgers, again, problems = ledgers_of(found, arguments.replay, arguments.jobs, now, arguments.time)
    if arguments.output_format == "json":
        sources = {name: {"sentence": a.sentence, "source": a.source} for name, a in AXIOMS.items()}
        print_json({"machines": ledgers, "axioms": sources, "trusted_by_all": list(BY_ALL)}, problems)
    else:
        print("\n".join(lines(ledgers, again)) if ledgers else "nothing here is proved")
        show(problems, arguments.output_format)
    return exit_code("refuted" if d.verdict == "refuted" else "unknown" for d in problems)


def ledgers_of(
    found: Sequence[Subject], again: bool, jobs: int, now: Callable[[str], None], limit: float = TIME
) -> tuple[list[Ledger], list[Replayed], list[Diagnostic]]:
    """The ledger of each machine that is proved, with what was proved again of it, and what is said of the others."""
    from tinygpu.commands.again import failures, replay_all

    replayed: Sequence[Replayed | None] = replay_all(found, jobs, True, now) if again else [None] * len(found)
    ledgers: list[Ledger] = []
    others: list[Replayed] = []
    problems: list[Diagnostic] = []
    for subject, one in zip(found, replayed, strict=True):
        problems += (*one.problems, *failures(one)) if one else subject.problems
        known = subject.certificate if subject.certificate and not subject.problems else proved(subject, limit)
        if isinstance(known, Diagnostic):
            problems.append(known)
        else:
            ledgers.append(ledger(subject, known, one))
            others += [one] if one else []
    return ledgers, others, problems


def ledger(subject: Subject, certificate: Certificate, again: Replayed | None) -> Ledger:
    """What one machine rests on, as plain data; with `again`, the obligations that one solver alone proved, and whether it was run."""
    n, methods = certificate.numerics, Counter(e.method for e in certificate.obligations)
    kind = "machine" if subject.program else "theorem" if n.outputs else "pipeline" if subject.op == "pipeline" else "choice"
    found: Ledger = {kind: subject.machine, "op": subject.op, "file": subject.path}
    found |= {
        "outputs": n.outputs,
        "atomic_sums": n.atomic,
        "functions": list(n.functions),
        "axioms": list(axioms(subject.program)) if subject.program else [],
    }
    if subject.program and subject.program.op.via:
        found["via"] = f"{subject.program.op.via.name} : {subject.program.op.via.said}"
    found |= {"preconditions": list(certificate.preconditions), "promises": list(certificate.promises)}
    found |= {"methods": dict(sorted(methods.items())), "solver": certificate.solver}
    found["at_its_word"] = certificate is subject.certificate and again is None
    if again is not None:
        alone = [f"{o.kind} ({o.code}) by {by}: {o.sentence}" for o, by in again.obligations if by in ("z3", "cvc5")]
        found |= {"one_solver_only": alone, "run": not again.unrun}
    return found


def proved(subject: Subject, limit: float = TIME) -> Certificate | Diagnostic:
    """A certificate made here and now, for what comes without one; or that it is not proved, and whether it is wrong, which is shown by `check`."""
    from tinygpu import pipeline
    from tinygpu.algebra import certificate as theorems
    from tinygpu.algebra.verdict import judged
    from tinygpu.proof.certificate import certify

    word: Any = "unknown"
    with within(limit):
        if subject.program is None:
            one = pipeline.load_text(subject.text).spec.about
            assert one is not None, "what has no program is one of these"
            found = judged(one)
            if not isinstance(found, Diagnostic):
                return theorems.certify(one, found, subject.text)
            word = found.verdict
        else:
            result = pipeline.verdict(subject.program)
            if isinstance(result, pipeline.Proof):
                return certify(result)
            word = "refuted" if isinstance(result, pipeline.Refutation) else word
    helps = (f"tinygpu check {subject.path} says why",) if subject.path.endswith(".tgpu") else ()
    return Diagnostic("TG911", f"{subject.machine} of {subject.path} is not proved", verdict=word, helps=helps)


# ── as text ────────────────────────────────────────────────────────────────────────────────────────────────────────


def lines(ledgers: Sequence[Ledger], again: Sequence[Replayed]) -> Iterator[str]:
    """Machine by machine, then the total."""
    for one in ledgers:
        yield f"{next(one[kind] for kind in ('machine', 'theorem', 'choice', 'pipeline') if kind in one)} : {one['op']}"
        for name, text in rows(one):
            yield f"  {name:<{COLUMN}}{text}"
    yield ""
    yield from total(ledgers)
    if words := sum(one["at_its_word"] for one in ledgers):
        yield f"  {words} are taken from certificates at their word: nothing of them was proved here (--replay)"
    yield from solvers(again)
    yield ""
    yield "every machine rests on"
    yield from (f"  {sentence}" for sentence in BY_ALL)


def rows(one: Ledger) -> Iterator[tuple[str, str]]:
    """What one machine rests on."""
    by_word: dict[str, list[str]] = {}
    for output, word in one["outputs"].items():
        by_word.setdefault(word, []).append(output)
    floats = [f"{', '.join(outputs)} {WORDS[word]}" for word, outputs in by_word.items()]
    if floats:
        yield "numbers", "; ".join(floats) + ("; sums of floats in another order at every call" if one["atomic_sums"] else "")
    if one["functions"]:
        yield "functions", f"{', '.join(one['functions'])}: as precise as the libraries are"
    if "via" in one:
        yield "via", one["via"]
    if one["axioms"]:
        yield "believed", ", ".join(one["axioms"])
    if one["preconditions"]:
        yield "requires", "; ".join(one["preconditions"]) + " (checked at each call)"
    for promise in one["promises"]:
        yield "promised", f"{promise} (checked at a call with check_data=True; what is said of scalars alone at each call)"
    word = ", as its certificate says" if one["at_its_word"] else ""
    yield "settled", f"{sum(one['methods'].values())} obligations: {shares(one['methods'])}{word}"
    for sentence in one.get("one_solver_only", ()):
        yield "one only", sentence
    if not one.get("run", True):
        yield "not run", "no size is small enough"


def shares(counted: Mapping[str, int]) -> str:
    return ", ".join(f"{n} by {method}" for method, n in sorted(counted.items()))


def total(ledgers: Sequence[Ledger]) -> Iterator[str]:
    """How many machines rest on what."""
    methods = sum((Counter(one["methods"]) for one in ledgers), Counter[str]())
    words = Counter(word for one in ledgers for word in one["outputs"].values())
    counts = {kind: sum(kind in one for one in ledgers) for kind in ("machine", "theorem", "choice", "pipeline")}
    names = {"theorem": "theorems and lemmas", "choice": "choices", "pipeline": "pipelines"}
    said = ", ".join([f"{counts['machine']} machines", *(f"{counts[kind]} {name}" for kind, name in names.items() if counts[kind])])
    yield f"{said}, {methods.total()} obligations: {shares(methods)}, {methods['enumeration']} by enumeration"
    yield f"  {words.total()} outputs: " + ", ".join(f"{words[w]} {said}" for w, said in WORDS.items())
    yield f"  {sum(one['atomic_sums'] for one in ledgers)} add floats by atomic updates"
    yield f"  {sum(bool(one['promises']) for one in ledgers)} rest on promises about data"
    for name, axiom in AXIOMS.items():
        if many := sum(name in one["axioms"] for one in ledgers):
            yield f"  {many} believe of {name}: {axiom.sentence} [{axiom.source}]"
    functions = Counter(f for one in ledgers for f in one["functions"])
    if functions:
        yield "  functions as precise as the libraries are: " + ", ".join(f"{f} in {n}" for f, n in sorted(functions.items()))


def solvers(again: Sequence[Replayed]) -> Iterator[str]:
    """What a second solver and runs add, if they were asked for."""
    if not again:
        yield "  not asked: a second solver, and runs on real numbers (--replay)"
        return
    from tinygpu.commands.replay import ran

    by = Counter(who for r in again for _, who in r.obligations)
    yield f"  proved again by z3 and cvc5: {by['both']}; by z3 alone: {by['z3']}; by cvc5 alone: {by['cvc5']}; by neither: {by['']}"
    yield f"  {ran(again)}"
