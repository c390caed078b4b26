"""What the tests of the program folder share: machines from text, sizes around the boundaries of a machine, and runs of programs.

Goes out: `machines(text)`, `program(text)`, `shipped(spec, title)`, `proof_of(machine)`, `edges(program)`, `disagreements(program, sizes)`; `TEXTS`, programs of threads that work together, as text,
one for each way of doing so. The one idea: the sizes that matter are 0, 1, a prime, and one less, one more and just as many as a constant extent covers.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tests.conftest import ROOT
from tinygpu import pipeline
from tinygpu.category.evaluate import evaluate
from tinygpu.category.real import Beyond
from tinygpu.category.term import SHUFFLES, App, Const, walk
from tinygpu.derive.derive import derive
from tinygpu.derive.unpack import unpack
from tinygpu.emit.module import Built
from tinygpu.model.elaborate import elaborate
from tinygpu.model.machine import Machine
from tinygpu.obligations import claims_of
from tinygpu.obligations.width import cpu_limits, limits
from tinygpu.program.call import Sync
from tinygpu.program.read import read
from tinygpu.program.render import render
from tinygpu.program.step import Array, Assign, For, Program, Step, steps
from tinygpu.proof.kernel import Proof, Theorem, discharge
from tinygpu.record import replace
from tinygpu.simulate.exact import retyped
from tinygpu.simulate.exact import run as run_on_reals
from tinygpu.simulate.fault import sentence
from tinygpu.simulate.inputs import random_inputs
from tinygpu.simulate.promised import promised
from tinygpu.simulate.reference import reference
from tinygpu.simulate.simulate import simulate
from tinygpu.simulate.sizes import sizes_to_try
from tinygpu.simulate.tolerance import compare, tolerance
from tinygpu.syntax import tree
from tinygpu.syntax.parse import parse

HERE = Path(__file__).parent
SPECS = sorted((ROOT / "specs").glob("*.tgpu"))
STEMS = [path.stem for path in SPECS]
TEXTS = {path.stem: path.read_text(encoding="utf-8") for path in sorted((HERE / "cooperation").glob("*.tgpu"))}
PRIMES = (2, 3, 5, 7, 13)
MOST = 1 << 14  # points that the sizes of one run may have together


def machines(text: str) -> dict[str, Machine]:
    """The machines of a text, by title."""
    return {m.title: m for m in elaborate(parse(text)).machines}


def here(name: str) -> dict[str, Machine]:
    """The machines of a file of this folder."""
    return machines((HERE / f"{name}.tgpu").read_text(encoding="utf-8"))


def program(text: str) -> Program:
    """The program of the one machine of a text."""
    (machine,) = machines(text).values()
    return derive(machine)


@cache
def loaded(spec: str) -> pipeline.Loaded:
    """A file of `specs/`, which does not change: read once in each process."""
    return pipeline.load(ROOT / "specs" / f"{spec}.tgpu")


def library(spec: str) -> tuple[Machine, ...]:
    """The machines of a file of `specs/`."""
    return loaded(spec).machines


def machine(spec: str, title: str) -> Machine:
    """One of them; of a family the first."""
    return next(m for m in library(spec) if title in (m.title, m.name))


def shipped(spec: str, title: str) -> Program:
    """The program of a machine of `specs/`."""
    return derive(machine(spec, title))


def proof_of(given: Machine | str) -> Proof:
    """The proof of a machine, or of the one of a text."""
    if isinstance(given, str):
        (given,) = pipeline.load_text(given).machines
    proof = pipeline.check(given)
    assert isinstance(proof, Proof), (given.title, proof)
    return proof


def left_open(program: Program, why: str) -> bool:
    """Whether a claim of that kind and code is no theorem, so that there is no proof. What else is claimed is not asked."""
    claims = (claim for claim in claims_of(program) if f"{claim.kind} {claim.code}" == why)
    return any(not isinstance(discharge(claim), Theorem) for claim in claims)


def unproved(given: Iterable[Machine]) -> list[Built]:
    """What machines are emitted from, where nobody asks whether they are right."""
    every = [(one, derive(one)) for one in given]  # limits are those of its components, whose values take longer to follow
    return [
        Built(one, unpack(made), ("As in a test, nothing is proved.",), limits(made), cpu_limits=cpu_limits(made))
        for one, made in every
    ]


def reread(program: Program, machine: Machine, change: Callable[[str], str] = str) -> Program:
    """The program that its own text gives, on the same work object; `change` may edit the text."""
    file = parse(f"machine m : o {{\n{change(render(program))}}}")
    clause = file.declarations[0].clauses[0]
    assert isinstance(clause, tree.ProgramClause)
    launches = tuple(replace(one, phases=(), time=()) for one in machine.launches)
    if len(launches) == len(program.launches) == 1:  # derivation may cut a factor of the block in two
        launches = (replace(launches[0], grid=program.launches[0].grid, block=program.launches[0].block),)
    return read(replace(machine, program=clause, launches=launches))


def works_alone(program: Program) -> bool:
    """Whether no step of a program is about other threads."""

    def shared(step: Step) -> bool:
        if isinstance(step, Assign):
            return step.atomic or any(isinstance(t, App) and t.op in SHUFFLES for t in walk(step.value))
        return isinstance(step, Sync) or (isinstance(step, Array) and step.owner == "block")

    return not any(map(shared, program.steps))


def boundaries(program: Program) -> list[int]:
    """Extents around which tails begin: what the constant factors of a launch cover, alone and together."""
    marks: set[int] = set()
    for launch in program.launches:
        axes = [*launch.grid, *launch.block, *(s.axis for s in steps(launch.body) if isinstance(s, For))]
        constant = [a.extent.value for a in axes if isinstance(a.extent, Const)]
        marks.update(int(c) for c in constant if c <= 64)
        marks.add(min(256, math.prod(int(c) for c in constant if c <= 8)))
    return sorted(marks)


def edges(program: Program, count: int, seed: int = 0) -> Iterator[dict[str, int]]:
    """`count` choices of sizes that the preconditions allow: all 0, all 1, each alone 0, then 0, 1, primes and boundaries at random."""
    names = program.op.sizes
    chance = random.Random(f"{seed} {program.name}")
    fixed = [dict.fromkeys(names, 0), dict.fromkeys(names, 1)]
    fixed += [{**dict.fromkeys(names, 5), name: 0} for name in names if len(names) > 1]
    marks = [m + d for m in boundaries(program) for d in (-1, 0, 1)]
    found = 0
    for number in range(100 * count):
        sizes = fixed[number] if number < len(fixed) else {n: chance.choice((0, 1, *PRIMES, *marks, *marks)) for n in names}
        if math.prod(max(1, s) for s in sizes.values()) <= MOST and all(evaluate(guard, sizes) for guard in program.where):
            yield sizes
            found += 1
        if found == count:
            return


def disagreements(program: Program, sizes: Mapping[str, int], seed: int = 0, order: int | None = None, **how: Any) -> list[str]:
    """Faults and wrong elements of a run at these sizes, with random inputs of that seed, threads in the order of that seed.

    Nothing where no input can be as the op's data preconditions want it (an index into an empty axis). Rounding grows along a state, so what it
    makes wrong in f32 is asked in f64, and what is too large for that on reals.
    """
    found = differences(program, sizes, seed, order, **how)
    if not found or not program.op.states:
        return found
    if not differences(retyped(program, "f64"), sizes, seed, order, **how):
        return []
    try:
        return found if run_on_reals(program, sizes, random_inputs(program.op, sizes, seed))[0] else []
    except (Beyond, IndexError, ZeroDivisionError):
        return []  # nobody knows


def differences(program: Program, sizes: Mapping[str, int], seed: int = 0, order: int | None = None, **how: Any) -> list[str]:
    """The faults and wrong elements of one run."""
    inputs = random_inputs(program.op, sizes, seed)
    if not promised(program.op, sizes, inputs):
        return []
    outcome = simulate(program, sizes, inputs, order=order, **how)
    rtol, atol = tolerance(program.op, sizes)
    wrong = compare(program.op, outcome.outputs, reference(program.op, sizes, inputs), rtol=rtol, atol=atol)
    return [*map(sentence, outcome.faults), *map(str, wrong)]


def agrees(program: Program, sizes: Mapping[str, int], seed: int = 0) -> str:
    """Whether a run at these sizes has no fault and gives what the equation gives: empty, or what went wrong."""
    return next((f"{program.name} at {dict(sizes)}: {one}" for one in disagreements(program, sizes, seed, seed or None)), "")


def first_disagreement(program: Program, tries: Iterable[Mapping[str, int]] | None = None) -> str:
    """The first sizes at which the program goes wrong and how, or an empty text. Every other run permutes the threads."""
    for number, sizes in enumerate(sizes_to_try(program) if tries is None else tries):
        for found in disagreements(program, sizes, 0, number if number % 2 else None):
            return f"at {', '.join(f'{name} = {value}' for name, value in sizes.items())}: {found}"
    return ""


def as_promised(program: Program, sizes: Mapping[str, int], inputs: Mapping[str, Any]) -> bool:
    """Whether data keeps what the op promises of it; what reads outside keeps nothing."""
    try:
        return promised(program.op, sizes, inputs)
    except IndexError:
        return False
