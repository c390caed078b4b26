"""What a machine may compute: the elements that an equation names, and how far from each one floats may be.

Comes in: an op, sizes, the data of a run, and the programs that compute it. Goes out: the sampled elements of its outputs, and a bound for each. The one
idea: bounds are equations too, so they are one more op, and `reference` evaluates it on the same data.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf, prod

from tinygpu.category.dtype import EPSILON
from tinygpu.category.evaluate import evaluate
from tinygpu.category.near import is_near
from tinygpu.category.number import Array
from tinygpu.category.region import Region
from tinygpu.category.term import App, variables, walk
from tinygpu.model.op import Equation, Op, Tensor
from tinygpu.program.call import Call, Commit, Sync, Wait
from tinygpu.program.step import Assign, Program
from tinygpu.program.traverse import terms, walk_steps
from tinygpu.record import replace
from tinygpu.simulate.effort import effort
from tinygpu.simulate.magnitude import F64, SMALLEST
from tinygpu.simulate.reference import reference
from tinygpu.simulate.rounding import Rules

LEAST = 64  # roundings of what is too small to have all its digits: f16 has some of them, the others may be flushed to 0
Arrays = dict[str, Array]


def bounded(
    op: Op,
    sizes: Mapping[str, int],
    inputs: Mapping[str, Array],
    sample: Mapping[str, tuple[Array, ...]],
    chain: float = inf,
    near: float = 0.0,
) -> tuple[Arrays, Arrays]:
    """The sampled elements of the outputs, and how far from each one may be what is computed with so long a chain of sums, of what is so near."""
    errors = {t.name: f"{t.name} error" for t in op.outputs}
    more = {errors[name]: index for name, index in sample.items()}
    found = reference(with_errors(op, sizes, chain, near), sizes, inputs, {**sample, **more})
    least = {t.name: LEAST * SMALLEST.get(t.dtype, 0.0) for t in op.outputs}
    return {n: found[n] for n in sample}, {n: found[errors[n]] + least[n] for n in sample}


def effort_of(op: Op, sizes: Mapping[str, int], elements: Mapping[str, int]) -> float:
    """The work of `bounded`, of so many elements of the outputs."""
    return effort(with_errors(op, sizes), sizes, {**elements, **{f"{name} error": few for name, few in elements.items()}})


def with_errors(op: Op, sizes: Mapping[str, int], chain: float = inf, near: float = 0.0) -> Op:
    """The op with `t size` and `t error` for each tensor t that an equation defines; of its outputs the errors are outputs, too."""
    rules = Rules({e.target for e in op.equations}, dict(sizes), chain, near)
    outputs, intermediates, equations = list(op.outputs), list(op.intermediates), list(op.equations)
    for equation in op.equations:
        like = op.tensor(equation.target)
        bound = rules.bound(equation.value).held(like.dtype)
        kept = outputs if like in op.outputs else intermediates
        for name, value, where in (("size", bound.size, intermediates), ("error", bound.error, kept)):
            where.append(Tensor(f"{like.name} {name}", F64, like.shape, like.role))
            equations.append(Equation(f"{like.name} {name}", equation.axes, value, along=equation.along))
    return replace(op, outputs=tuple(outputs), intermediates=tuple(intermediates), equations=tuple(equations))


def chain(programs: Iterable[Program], sizes: Mapping[str, int]) -> float:
    """The most sums that wait for each other in one of the programs, whoever makes them: those of a thread, one turn after the other, those of lanes
    and warps, and of atomic updates all of them; infinitely many where a loop is as long as another one or the data says."""
    return max((sum(_waits(program, sizes)) for program in programs), default=inf)


def near(programs: Iterable[Program]) -> float:
    """How far from a number what stands for it may be, in parts of it: all roundings of one program, one after the other."""
    return max(
        (sum(EPSILON[t.dtype] for s in p.steps for v in terms(s) for t in walk(v) if is_near(t)) for p in programs), default=0.0
    )


def _waits(program: Program, sizes: Mapping[str, int]) -> Iterable[float]:
    for launch in program.launches:
        for step, here, _ in walk_steps(launch.body, Region()):
            if isinstance(step, Assign):
                sums = bool(step.update) + sum(
                    isinstance(t, App) and t.op in ("add", "sub") and t.dtype != "index" for t in walk(step.value)
                )
                axes = here.axes + (launch.axes if step.atomic else ())
                counted = all(variables(a.extent) <= sizes.keys() for a in axes)
                turns = prod(max(0, int(evaluate(a.extent, sizes))) for a in axes) if counted else inf
                yield sums * turns if sums else 0
            elif isinstance(step, Call) and not isinstance(step, Sync | Commit | Wait):
                yield inf
