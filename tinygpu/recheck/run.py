"""The second checker: a program and its equation, run on real numbers at small sizes.

    outputs(run(program, sizes, data))  =  values(equation, sizes, data)        wherever the equation has a value, and no fault on the way

Comes in: a program. Goes out: at how many sizes and data it agrees, or where it does not. The one idea: numbers drawn from the reals are free, so
two terms that agree at them are one term, but with chance nought (Schwartz and Zippel). No solver, no closed form, no matching of folds and no
inverse has a part in this, and nothing is taught for a step that the simulator does not know anyway.

A program changes its mind about a size where a number stands in its text, so each size alone goes just beyond every such number. Data decides
branches, so it is drawn in several ways: dense; with one place that stands out; equal, around 0, at the ends of the dtypes and around the numbers
of the text. A comparison of what has no value is true in every other run, and false in the others.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Mapping
from itertools import permutations

import numpy as np

from tinygpu.category.evaluate import evaluate
from tinygpu.category.monoid import Carrier
from tinygpu.category.number import HELD, Array, outside, outside_dtype, quiet
from tinygpu.category.term import BOOL, COMPARISONS, FLOATS, INDEX, App, Const, Fold, Term, walk
from tinygpu.model.op import Op, Tensor
from tinygpu.program.step import Program
from tinygpu.program.traverse import terms
from tinygpu.recheck import Agreement, Disagreement
from tinygpu.simulate.exact import retyped
from tinygpu.simulate.fault import Fault, NeverStored, SimulationBudget
from tinygpu.simulate.inputs import ends_inputs, random_inputs
from tinygpu.simulate.promised import promised
from tinygpu.simulate.reference import reference
from tinygpu.simulate.simulate import simulate
from tinygpu.simulate.sizes import admitted, sizes_to_try
from tinygpu.simulate.tolerance import Mismatch

SIZES = 32  # how many small ones are tried
LONGEST, WORK = 1 << 24, 1 << 26  # lane-steps of one run, and of all of a program
NEAR = 1e-8  # of reals in f64: far above what is rounded, far below what is another number
SMALL, VOLUME = (
    9,
    1 << 14,
)  # every size below it is among the small ones, whatever the program's tiles are, and their largest product
LARGE, SECOND = 2, 1 << 20  # how many large ones, and their largest product: long strides have a second turn there
NUMBERS = 1 << 10  # of the text, that are looked beyond
PLAIN = (0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -1.5, 300.0)
MOST = 4  # numbers of the text that are tried, with their differences

Inputs = Mapping[str, Array]


def rerun(program: Program, sizes: int = SIZES, work: int = WORK) -> Agreement | Disagreement:
    """`program → agreement or disagreement`."""
    real, runs, tried = retyped(program, "f64"), 0, 0
    both = decides(real.op)
    small = sizes_to_try(program, sizes, VOLUME, range(SMALL))
    large = [row for row in sizes_to_try(program, sizes, SECOND) if row not in small][-LARGE:]
    for rows, drawn, left in ((small, draws, [work]), (edges(program), the_end, [4 * work]), (large, draws, [work])):
        for number, row in enumerate(rows):
            if any(math.prod(max(0, int(evaluate(e, row))) for e in t.shape) > LONGEST for t in program.op.tensors):
                continue  # too large to be drawn
            before = runs
            for turn, inputs in drawn(real, row, number):
                try:
                    seen = _wrong(real, row, inputs, turn, left, both)
                except SimulationBudget:
                    continue  # too large to run
                if seen is not None:
                    return Disagreement(row, seen)
                runs += 1
            tried += runs > before
            if left[0] <= 0:
                break
    return Agreement(runs, tried)


def draws(program: Program, sizes: dict[str, int], number: int) -> Iterator[tuple[int, Inputs]]:
    """Data that the op's promises admit, each with the number of its run: at each size there are even ones and odd ones, and of each kind of data."""
    yield from (
        (turn, inputs)
        for turn, inputs in (
            (number, random_inputs(program.op, sizes, number)),
            (number + 1, ends_inputs(program.op, sizes, number)),
            (number, nasty_inputs(program, sizes, number)),
            (number, nasty_inputs(program, sizes, number + 1)),
        )
        if promised(program.op, sizes, inputs)
    )


def the_end(program: Program, sizes: dict[str, int], number: int) -> Iterator[tuple[int, Inputs]]:
    """Data of which the end of each axis stands out: what goes beyond a number by one is there."""
    inputs = ends_inputs(program.op, sizes)
    if promised(program.op, sizes, inputs):
        yield number, inputs


def _wrong(
    program: Program, sizes: dict[str, int], inputs: Inputs, number: int, left: list[int], both: bool
) -> Fault | Mismatch | str | None:
    """What goes wrong first in one run; where what is undefined decides something, the equation is asked with `both` truths of it."""
    with quiet():
        try:
            wanted = reference(program.op, sizes, inputs, undefined=False)
            other = reference(program.op, sizes, inputs, undefined=True) if both else wanted
        except IndexError as error:
            return str(error)
        except ZeroDivisionError:
            return None  # the equation has no value
        asked = {name: np.equal(wanted[name], other[name]) for name in wanted}  # else there is no value
        order = number if number % 2 else None
        try:
            outcome = simulate(program, sizes, inputs, order=order, budget=LONGEST, work=left, undefined=number % 2 == 1)
        except ZeroDivisionError as error:
            return str(error)  # in how many blocks and threads there are
        for fault in outcome.faults:
            if not isinstance(fault, NeverStored) or asked[fault.array][fault.index]:
                return fault
        return next(
            (m for t in program.op.outputs for m in _apart(t, outcome.outputs[t.name], wanted[t.name], asked[t.name])), None
        )


def decides(op: Op) -> bool:
    """Whether what has no value may decide something that has one: a comparison of floats, or an integer made of them or of a division or a shift. In all other equations
    nothing asks which truth an undefined comparison has.

    >>> from tinygpu.pipeline import load_text
    >>> of = lambda value: decides(load_text(f"op f(x: f32[n], k: i32[n]) -> (y: f32[n]) {{ y[i] = x[i] + f32(k[i]) + ({value}) }}").spec.ops[-1])
    >>> [of(v) for v in ("x[i] / x[i]", "x[i] if i < 3 else log(x[i])", "1 if x[i] < 3 else 0", "f32(i32(x[i]))", "f32(k[i] // 2)")]
    [False, False, True, True, True]
    """
    terms = [t for e in op.equations for t in walk(e.value)]
    carriers = [t.monoid for t in terms if isinstance(t, Fold) and isinstance(t.monoid, Carrier)]
    terms += [t for c in carriers for one in (*c.lift, *c.combination, *c.results) for t in walk(one)]
    return any(dtype not in FLOATS for c in carriers for _, dtype in c.components) or any(map(_abrupt, terms))


def _abrupt(term: Term) -> bool:
    match term:
        case App("cast", (value,)):
            return value.dtype in FLOATS and term.dtype not in FLOATS
        case App("floordiv" | "mod" | "ceildiv" | "div" | "shl" | "shr"):
            return term.dtype not in (INDEX, *FLOATS)
        case App(op, (value, *_)):
            return op in COMPARISONS and value.dtype in FLOATS
    return False


def _apart(tensor: Tensor, got: Array, want: Array, asked: Array) -> Iterator[Mismatch]:
    """The elements that are not what they should be, of those that are asked of."""
    same = np.equal(got, want)
    if tensor.dtype in FLOATS:
        same |= np.isfinite(want) & (np.abs(got - want) <= NEAR * (1 + np.abs(want)))
    for place in np.argwhere(asked & np.logical_not(same)):
        at = tuple(map(int, place))
        yield Mismatch(tensor.name, at, got[at].item(), want[at].item())


def edges(program: Program) -> Iterator[dict[str, int]]:
    """Each size alone one beyond every number of the text, one beyond three times it, where rings of three are full, and at it; then two together."""
    names, found = program.op.sizes, sorted(numbers(program))
    alone = ([n + 1 for n in found], [3 * n + 1 for n in found], found)
    rows = [{name: value} for values in alone for value in values for name in names]
    rows += [{a: n + d, b: n + d + 1} for n in found for d in (0, 1) for a, b in permutations(names, 2)]
    for row in rows:
        if admitted(program, whole := dict.fromkeys(names, 1) | row):
            yield whole


def numbers(program: Program) -> frozenset[int]:
    """The numbers of a program's index terms."""
    every = (term for step in program.steps for term in terms(step))
    extents = (axis.extent for launch in program.launches for axis in launch.axes)
    return frozenset(
        int(node.value)
        for term in (*every, *extents)
        for node in walk(term)
        if isinstance(node, Const) and node.dtype == INDEX and SMALL <= node.value <= NUMBERS
    )


def nasty_inputs(program: Program, sizes: Mapping[str, int], seed: int) -> dict[str, Array]:
    """Of every tensor elements that stand out; for every third seed they are all equal."""
    found: dict[str, Array] = {}
    for name, values in random_inputs(program.op, sizes, seed).items():
        dtype = program.op.tensor(name).dtype
        chance = np.random.default_rng([seed, 4, zlib.crc32(name.encode())])
        pool = floats(program) if dtype in FLOATS else (False, True) if dtype == BOOL else integers(dtype, sizes)
        shape = () if seed % 3 == 2 else values.shape
        drawn = np.asarray(pool, HELD[dtype])[chance.integers(len(pool), size=shape)]
        found[name] = np.broadcast_to(outside(drawn, dtype) if values.dtype == outside_dtype(dtype) else drawn, values.shape)
    return found


def integers(dtype: str, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """Integers of a dtype that stand out.

    >>> integers("i8", {"n": 5})
    (-128, -127, -1, 0, 1, 2, 3, 4, 5, 7, 8, 12, 64, 126, 127)
    """
    limits = np.iinfo(outside_dtype(dtype))
    low, high = int(limits.min), int(limits.max)
    near = {0, 1, 2, 3, 7, 8, *(n + d for n in sizes.values() for d in (-1, 0)), math.isqrt(high) + 1, high // 2 + 1}
    return tuple(sorted({n for n in near if 0 <= n <= high} | {low, low + 1, high - 1, high, max(low, -1)}))


def floats(program: Program) -> tuple[float, ...]:
    """Numbers around 0, those of the text, and their differences: at these a sum is what it is compared with."""
    every = (*(e.value for e in program.op.equations), *(t for step in program.steps for t in terms(step, facts=True)))
    found = (abs(t.value) for term in every for t in walk(term) if isinstance(t, Const) and t.dtype in FLOATS)
    written = sorted({float(n) for n in found if math.isfinite(n)})[:MOST]
    return tuple(dict.fromkeys((*PLAIN, *written, *(a - b for a in written for b in written if a > b > 0))))
