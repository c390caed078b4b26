"""CPU kernels to validate: their texts as emitted, run by Python itself, and with one function changed in one place.

Comes in: the name of a spec and the title of a machine. Goes out: the text with its program, the outputs of a run, mutants.
The one idea: a mutant that is accepted has to give the outputs of the text that it was made of, at sizes around the edges of its loops.
"""

from __future__ import annotations

import ast
import math
import random
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tests.emit.cpu_harness import run
from tests.program.library import machine
from tests.validate.mutants import mutants
from tinygpu import pipeline, runtime
from tinygpu.emit.cpu import cpu_kernels, cpu_name
from tinygpu.emit.python import identifier
from tinygpu.program.step import Program
from tinygpu.record import replace
from tinygpu.simulate.inputs import random_inputs

LANES = 8


@cache
def kernel(spec: str, title: str, given: bool = False) -> tuple[str, str, Program]:
    """The text of a machine's CPU kernels, the name they have there, and their program: as a build has it where its proof is found, or the one
    that is `given`, as a build has it where none is."""
    one = machine(spec, title)
    program = pipeline.on_core((None if given else next(pipeline.singles(one), None)) or pipeline.program(one))
    program = replace(program, name=identifier(program.name))
    return cpu_kernels(program), cpu_name(program).removesuffix("_cpu"), program


def runner(text: str, name: str, parallel: bool) -> Callable[..., None]:
    """`NAME_cpu` of a text, by Python itself: the decorators do nothing, vectors are arrays. `parallel`: however few items there are."""
    tree = ast.parse(text.replace("< 65536", "< 0") if parallel else text)
    names: dict[str, Any] = {**plain_runtime(), "prange": range, "get_num_threads": lambda: 3}
    names |= VECTORS
    exec(compile(tree, name, "exec"), names)
    return names[f"{name}_cpu"]  # type: ignore[no-any-return]


@cache
def plain_runtime() -> dict[str, Any]:
    """What kernels call of the runtime, as functions of Python."""
    names: dict[str, Any] = {"np": np, "math": math, "njit": lambda **_: lambda f: f, "Any": Any}
    tree = ast.parse(Path(runtime.__file__).with_name("arithmetic.py").read_text(encoding="utf-8"))
    tree.body = [n for n in tree.body if not isinstance(n, ast.ImportFrom) or n.module == "__future__"]
    exec(compile(tree, "arithmetic", "exec"), names)
    return names


def _loaded(count: int) -> Callable[[Any, Any], Any]:
    return lambda a, i: _inside(a, i, count) and a[int(i) : int(i) + count].copy()


def _inside(array: Any, first: Any, count: int) -> bool:
    assert 0 <= int(first) <= len(array) - count
    return True


VECTORS: dict[str, Any] = {"LANES_f32": LANES, "LANES_f64": LANES} | {
    f"{name}_{dtype}{width}": made
    for dtype in ("f32", "f64")
    for width, count in (("", LANES), ("x4", 4), ("x8", 8), ("x16", 16))
    for name, made in {
        "lanes_load": _loaded(count), "lanes_spread": lambda x, count=count: np.full(count, x),
        "lanes_store": lambda a, i, v: _inside(a, i, len(v)) and a.__setitem__(slice(int(i), int(i) + len(v)), v),
        "lanes_add": np.add, "lanes_sub": np.subtract, "lanes_mul": np.multiply, "lanes_div": np.divide,
        "lanes_max": np.maximum, "lanes_min": np.minimum,
    }.items()
}  # fmt: skip


def outputs(function: Callable[..., None], program: Program, sizes: dict[str, int], seed: int) -> list[Any]:
    """The outputs of a run; what is not stored keeps the number that was there."""
    with np.errstate(all="ignore"):
        return [*run(program, sizes, random_inputs(program.op, sizes, seed), function).values()]


def differs(text: str, mutant: str, name: str, program: Program, cases: tuple[dict[str, int], ...]) -> dict[str, int] | None:
    """Sizes at which two texts give different outputs, or one of them none."""
    for parallel in (False, True):
        one = runner(text, name, parallel)
        try:
            other = runner(mutant, name, parallel)
            for seed, sizes in enumerate(cases):
                pairs = zip(outputs(one, program, sizes, seed), outputs(other, program, sizes, seed), strict=True)
                if not all(np.allclose(a, b, rtol=2e-3, atol=2e-3, equal_nan=True) for a, b in pairs):
                    return sizes
        except (ArithmeticError, AssertionError, IndexError, NameError, TypeError, ValueError):
            return cases[0]
    return None


def mutated(text: str, name: str, chance: random.Random, count: int) -> Iterator[tuple[str, str]]:
    """Some of the mutants of the functions of a kernel: what was done, and the text."""
    tree = ast.parse(text)
    own = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name.startswith(name)]
    every = [(function, *one) for function in own for one in mutants(function, chance)]
    for function, done, made in chance.sample(every, min(count, len(every))):
        body = [made() if n is function else n for n in tree.body]
        yield done, ast.unparse(ast.fix_missing_locations(ast.Module(body, [])))
