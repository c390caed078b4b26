"""What a program is worth, by running it exactly at small sizes.

Comes in: a program. Goes out: `right` at all that was tried; `wrong`, with the sizes and the data; `loose`: it does what the equation says, and
something on the way that nobody may rely on (it evaluates what has no value, and nothing depends on it; rounding chooses another value, or
another place that is there too; an element is stored twice, in order); or `cannot`.
The one idea: it shares nothing with the prover but the nodes of terms and the steps of programs: neither a simplifier, nor an interpreter, nor a solver.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tests.meaning.certain import is_undefined
from tests.meaning.equations import Cells, Equations, OpFault, Plain, admitted
from tests.meaning.laws import fails
from tests.meaning.machine import Machine, equal, run
from tests.meaning.memory import Fault
from tests.meaning.oracle import paths
from tests.meaning.samples import inputs_to_try, sizes_to_try
from tests.meaning.values import UNDEFINED, CannotJudge, TooLarge
from tinygpu.category.monoid import Carrier
from tinygpu.category.node import FLOATS, App, Fold
from tinygpu.category.term import walk
from tinygpu.program.step import Array, Program, steps
from tinygpu.program.traverse import terms

RIGHT, WRONG, LOOSE, CANNOT, SKIPPED = "right", "wrong", "loose", "cannot", "skipped"
BUILT_IN = re.compile("(argmax|argmin|logsumexp|welford)_[a-z]+[0-9]+|sum|prod|max|min|any|all")
EACH, AT_ONCE, WORK = 16, 3, 80_000  # samples at each of the sizes; steps of threads in all
ALSO = 8  # times as many samples at sizes of a counterexample
NO_SIZES: Mapping[str, int] = {}
NUMBERLESS = 8  # sizes at which the data is no number


def samples(
    program: Program, chance: random.Random, each: int, also: Mapping[str, int]
) -> Iterator[tuple[dict[str, int], dict[str, Cells]]]:
    """Sizes and data: a few at all sizes, `also` those, then more at each."""
    those = {name: also.get(name, 1) for name in program.op.sizes}
    if also and admitted(program.where, Plain(), those):
        yield from ((those, found) for found in inputs_to_try(program, those, random.Random(chance.random()), each * ALSO))
    waiting = [
        (sizes, inputs_to_try(program, sizes, random.Random(chance.random()), each)) for sizes in sizes_to_try(program, chance)
    ]
    while waiting:
        for sizes, inputs in waiting:
            yield from ((sizes, found) for found in itertools.islice(inputs, AT_ONCE))
        waiting = [
            (sizes, itertools.chain([more], inputs)) for sizes, inputs in waiting if (more := next(inputs, None)) is not None
        ]


@dataclass(frozen=True, slots=True)
class Judged:
    """The verdict, why, and how many runs it rests on, and steps of threads; and whether the equation had a value `nowhere`."""

    kind: str
    why: str = ""
    runs: int = 0
    steps: int = 0
    nowhere: bool = False


def judge(
    program: Program,
    seed: int = 0,
    each: int = EACH,
    work: int = WORK,
    enough: tuple[str, ...] = (WRONG,),
    also: Mapping[str, int] = NO_SIZES,
) -> Judged:
    """`program → verdict`; the first that is `enough` ends it. It is run at sizes of its own choice, and `also` at those."""
    chance = random.Random(seed)
    for name in program.op.monoids:
        if BUILT_IN.fullmatch(name):
            return Judged(WRONG, f"a monoid of the file is called {name}")
    for name in sorted(set(monoids_of(program))):
        if why := fails(name, chance):
            return Judged(WRONG, why)
    runs, loose, cannot, nowhere = 0, "", "", True
    large: list[dict[str, int]] = []
    for sizes, inputs in samples(program, chance, each, also):
        if sizes in large:
            continue
        found = sample(program, sizes, inputs)
        large += [sizes] if found.kind == SKIPPED else []
        runs, nowhere = runs + found.runs, nowhere and found.nowhere
        work -= found.steps
        at = f"at {shown(sizes, inputs)}: {found.why}"
        if found.kind in enough:
            return Judged(found.kind, at, runs)
        loose = loose or (at if found.kind == LOOSE else "")
        cannot = cannot or (at if found.kind == CANNOT else "")
        if work < 0:
            break
    if cannot or not runs:
        return Judged(CANNOT, cannot or "no sizes or data were found that are admitted", runs)
    unsafe, idle = on_no_numbers(program, chance, WORK)
    if unsafe:
        return Judged(WRONG, unsafe, runs)
    loose = loose or idle or ("the equation has a value nowhere" if nowhere else "")
    return Judged(LOOSE if loose else RIGHT, loose, runs)


def on_no_numbers(program: Program, chance: random.Random, work: int) -> tuple[str, str]:
    """What goes wrong, or is loose, with accesses and barriers where floats of the data are no numbers: nobody promises that they are."""
    if all(t.dtype not in FLOATS for t in program.op.inputs):
        return "", ""
    idle = ""
    for sizes in itertools.islice(sizes_to_try(program, chance), NUMBERLESS):
        for given in itertools.islice(inputs_to_try(program, sizes, random.Random(chance.random()), 6), 3, 6):
            inputs = {
                t.name: dict.fromkeys(given[t.name], (UNDEFINED, True)) if t.dtype in FLOATS else given[t.name]
                for t in program.op.inputs
            }
            try:
                for oracle in paths():
                    _, machine = run(program, sizes, inputs, oracle, ghosts=False)
                    work -= machine.spent
                    if work < 0:
                        return "", idle
                    if any(array.loose for array in machine.arrays.values()):
                        idle = "where the data is no number an element is stored twice"
            except Fault as fault:
                if not str(fault).endswith("which nobody wrote"):
                    return f"where the data is no number: {fault}", ""
            except (TooLarge, CannotJudge, OverflowError, OpFault):
                continue
    return "", idle


def sample(program: Program, sizes: dict[str, int], inputs: dict[str, Cells]) -> Judged:
    """The verdict at these sizes and data, over all answers of the oracle."""
    runs, steps, loose = 0, 0, ""
    try:
        wanted = Equations(program.op, sizes, inputs).outputs()
        every = not any(is_undefined(value) for cells in wanted.values() for value in cells.values())
        for apart, oracle in ((apart, o) for apart in (False, True)[: 1 + bool(program.op.inplace)] for o in paths()):
            runs += 1
            outputs, machine = run(program, sizes, inputs, oracle, apart=apart)
            steps += machine.spent
            unstored, different = differences(wanted, outputs)
            wrong = unstored or different
            if unstored or (different and not oracle.soft):
                return Judged(WRONG, wrong, runs, steps)
            loose = loose or looseness(machine, wrong, every)
    except (Fault, OpFault) as fault:
        return Judged(WRONG, str(fault), runs, steps)
    except TooLarge as unable:
        return Judged(SKIPPED, str(unable), 0, runs)
    except (CannotJudge, OverflowError) as unable:
        return Judged(CANNOT, str(unable), runs, steps)
    return Judged(
        LOOSE if loose else RIGHT, loose, runs, steps, all(is_undefined(v) for cells in wanted.values() for v in cells.values())
    )


def looseness(machine: Machine, wrong: str, every: bool) -> str:
    """What a run does that is right, and that nobody may rely on. `every`: the equation has a value at every element."""
    if wrong or machine.oracle.soft:
        return f"rounding may have it that {wrong or 'another branch is taken'}"
    if machine.partial and every:
        return "it evaluates what has no value"
    if machine.leaning:
        return "a rounded value is compared with itself, or becomes an integer"
    if any(array.loose for array in machine.arrays.values()):
        return "an element is stored twice, or read where it is stored"
    return ""


def differences(wanted: dict[str, Cells], outputs: dict[str, Cells]) -> tuple[str, str]:
    """An element that is never stored, and one that is not what the equation says, where it says something; or no words."""
    unstored = different = ""
    for name, cells in wanted.items():
        for place, want in ((p, w) for p, w in cells.items() if not is_undefined(w)):
            if place not in outputs[name]:
                unstored = unstored or f"{name}{list(place)} is never stored; it is {want[0]}"
            elif is_undefined(outputs[name][place]) or not equal(outputs[name][place], want):
                different = different or f"{name}{list(place)} is {outputs[name][place][0]}; it should be {want[0]}"
    return unstored, different


def monoids_of(program: Program) -> Iterator[Carrier]:
    """The monoids of the file that the equations or the program use."""
    declared = set(program.op.monoids)
    inside = [step for launch in program.launches for step in steps(launch.body)]
    used = [s.dtype for s in inside if isinstance(s, Array)]
    for term in (*(e.value for e in program.op.equations), *(t for s in inside for t in terms(s))):
        used += [t.op if isinstance(t, App) else t.monoid for t in walk(term) if isinstance(t, App | Fold)]
    yield from (name for name in used if isinstance(name, Carrier) and name in declared)


def shown(sizes: dict[str, int], inputs: dict[str, Cells]) -> str:
    """Sizes and data, in words."""
    said = [f"{name} = {size}" for name, size in sizes.items()]
    said += [f"{name} = [{', '.join(str(value) for value, _ in cells.values())}]" for name, cells in inputs.items()]
    return ", ".join(said)
