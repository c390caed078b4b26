"""Machines at random, of every kind: derived from random partitions and stages, given as programs, and mutants of both.

Comes in: a hypothesis draw. Goes out: a program, with the text it came from and what was done to it.
The one idea: what is derived is right, so the prover has to say so; what is drawn or mutated may be anything, and a run decides.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from hypothesis import assume
from hypothesis import strategies as st

from tests.chance import idioms
from tests.chance.elected import elected
from tests.mutants.mutate import any_mutant
from tests.program.test_random_folds import blocks, grids, threads
from tests.program.test_random_machines import texts
from tinygpu import pipeline
from tinygpu.diagnostic import TinygpuError
from tinygpu.program.step import Program

THREADS = 512


@dataclass(frozen=True, slots=True)
class Drawn:
    """A program by chance. `kind` is where it came from; `derived` machines are right by construction."""

    kind: str
    text: str
    program: Program
    done: str = ""

    @property
    def derived(self) -> bool:
        """Whether nothing but the compiler made the program."""
        return self.kind in ("threads", "folds", "grids", "stages") and not self.done


@st.composite
def stages(draw: st.DrawFn) -> str:
    """A product or a sum over a window, with tiles of its operands in shared memory."""
    ty, tx, tk = (draw(st.sampled_from((2, 4, 8))) for _ in range(3))
    ri, rj = draw(st.sampled_from((1, 1, 2))), draw(st.sampled_from((1, 1, 2)))
    layouts = ("", " { layout (k, m) }", " { layout pad 1 }", f" {{ layout (k, m) pad {draw(st.integers(1, 4))} }}")
    both = draw(st.sampled_from(("AB", "A", "B")))
    lines = []
    if "A" in both:
        lines.append(f"stage A[i, k] at ko in shared{draw(st.sampled_from(layouts)).replace('m', 'i')}")
    if "B" in both:
        lines.append(f"stage B[k, j] at ko in shared{draw(st.sampled_from(layouts)).replace('m', 'j')}")
    order = draw(st.permutations(("ri", "rj")))
    return (
        "op o(A: f32[M, K], B: f32[K, N]) -> (C: f32[M, N]) { C[i, j] = sum[k] A[i, k] * B[k, j] }\n"
        f"machine m : o {{\n  work grid = (by, bx), block = (ty: {ty}, tx: {tx})\n"
        f"  compute i = (by, ty, ri: {ri}), j = (bx, tx, rj: {rj}), k = (ko, ki: {tk})\n"
        f"  time ko, ki\n  register {', '.join(order)}\n  " + "\n  ".join(lines) + "\n}\n"
    )


DERIVED = {"threads": texts(), "folds": blocks(), "grids": grids(), "stages": stages()}


@st.composite
def machines(draw: st.DrawFn) -> Drawn:
    """A program: half of them derived, half given; a third of all with one or two mistakes made in it."""
    kind = draw(st.sampled_from((*DERIVED, *("idiom",) * 4)))
    if kind in DERIVED:
        text = draw(DERIVED[kind])
    else:
        idiom = draw(st.sampled_from((*idioms.IDIOMS, elected)))
        kind, text = idiom.__name__, idiom(draw)
    try:
        (machine,) = pipeline.load_text(text).machines
        assume(threads(machine) <= THREADS)
        program = pipeline.program(machine)
    except TinygpuError as problem:
        raise AssertionError(f"{text}\n{problem.diagnostics[0]}") from problem
    chance, done = random.Random(draw(st.integers(0, 1 << 30))), []
    for _ in range(draw(st.sampled_from((0, 0, 1, 2)))):
        mutant = any_mutant(program, chance)
        assume(mutant is not None)
        assert mutant is not None
        done.append(mutant.done)
        program = mutant.program
    return Drawn(kind, text, program, ", then ".join(done))
