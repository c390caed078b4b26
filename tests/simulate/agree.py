"""Whether a program does what its equation says, by running it at some sizes.

Comes in: a program and sizes. Goes out: what disagrees, in words; nothing if all is well.
The one idea: faults of the simulator and elements that differ from the reference are both reasons, and there are no others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tinygpu.program.step import Program
from tinygpu.simulate.fault import sentence
from tinygpu.simulate.inputs import promised, random_inputs
from tinygpu.simulate.reference import reference
from tinygpu.simulate.simulate import simulate
from tinygpu.simulate.sizes import sizes_to_try, text_of
from tinygpu.simulate.tolerance import compare, tolerance


def disagreements(program: Program, sizes: Mapping[str, int], seed: int = 0, order: int | None = None) -> tuple[str, ...]:
    """Faults and wrong elements at these sizes, with random inputs of that seed, threads in the order of that seed.

    Nothing where no input can be as the op's data preconditions want it (an index into an empty axis).
    """
    inputs = random_inputs(program.op, sizes, seed)
    if not promised(program.op, sizes, inputs):
        return ()
    outcome = simulate(program, sizes, inputs, order=order)
    rtol, atol = tolerance(program.op, sizes)
    wrong = compare(program.op, outcome.outputs, reference(program.op, sizes, inputs), rtol=rtol, atol=atol)
    return (*map(sentence, outcome.faults), *map(str, wrong))


def first_disagreement(program: Program, tries: Iterable[Mapping[str, int]] | None = None, seed: int = 0) -> str:
    """The first sizes at which the program goes wrong and how, or an empty text. Every other run permutes the threads."""
    for number, sizes in enumerate(sizes_to_try(program) if tries is None else tries):
        found = disagreements(program, sizes, seed, number if number % 2 else None)
        if found:
            return f"at {text_of(sizes)}: {found[0]}"
    return ""
