"""What a run is compared with: sizes and data that an op takes, its equation at some elements, and how far rounding brings them.

Comes in: a machine, the program that is run for it, what somebody said of sizes and data. Goes out: sizes; what is wrong, or at how many elements it
agrees. The one idea: how long everything takes is counted before anything is done, so that nobody waits for what was not asked for.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from tinygpu.category.deadline import Expired, look, within
from tinygpu.category.term import text
from tinygpu.commands.data import Given, arrays, told
from tinygpu.diagnostic import TinygpuError
from tinygpu.record import dataclass, replace

if TYPE_CHECKING:
    from tinygpu.category.term import Term
    from tinygpu.model.machine import Machine
    from tinygpu.program.step import Program

MODERATE = 1 << 25  # elements of an array, where nobody gives its size
STEPS = {"cpu": 1 << 40, "gpu": 1 << 44}  # of one assignment, by all threads: minutes, where others may be years
QUICK = {"cpu": 1 << 29, "gpu": 1 << 34}  # the same, where nobody gives a size
BEARABLE = 1.5e9  # elements of numpy's arrays on the way to what a run is compared with: a second or two
SAMPLED = (
    2000,
    400,
    80,
    16,
)  # elements of each output that are compared with the equation, where there are more: as many as are bearable
SEARCHED = 4.0  # seconds in which data are looked for
DEFAULT = {1: 1 << 22, 2: 2048, 3: 512, 4: 96}  # a size, by how many there are
NOT_COMPARED = "not compared"


@dataclass(frozen=True, slots=True)
class Run:
    """A machine with the program that is run for it, the sizes and the data that it is run on, where, and how many seconds it may take to say what is
    right; of a pipeline `called` are the programs of the machines that it comes down to, with what their sizes are."""

    machine: Machine
    program: Program
    sizes: dict[str, int]
    seed: int
    data: Given
    device: str = "cpu"
    limit: float = 120.0
    called: tuple[tuple[Program, tuple[tuple[str, Term], ...]], ...] = ()

    @property
    def programs(self) -> list[tuple[Program, dict[str, int]]]:
        """Whatever runs, each with its sizes."""
        from tinygpu.category.evaluate import evaluate

        beneath = [(p, {size: int(evaluate(extent, self.sizes)) for size, extent in sizes}) for p, sizes in self.called]
        return beneath or [(self.program, self.sizes)]


def with_sizes(one: Run, usual: int = 0) -> Run:
    """The same at the sizes that are given, and others that the op takes, up to a usual one. Raises TG905 where there are none, or where a call would not end while
    somebody waits for it."""
    from tinygpu.simulate.usual import usual_sizes

    op = one.machine.op
    given, conditions = told(op, one.data), one.program.where
    usual = usual or DEFAULT.get(len(op.sizes), 32)
    search = partial(usual_sizes, op, given, most=MODERATE, where=conditions, odd=True)
    try:
        with within(2 * SEARCHED):
            found = search(usual=usual, bearable=partial(bearable, one))
    except Expired:  # what is missing is said of small ones
        found = search(usual=8)
    if found is None:
        said = " and ".join(dict.fromkeys(map(text, (*op.where, *conditions))))
        at = "".join(f", with {name} = {size}" for name, size in given.items())
        help = f"say them: {' '.join(f'--size {name}=…' for name in op.sizes if name not in given) or 'others'}"
        raise TinygpuError.of("TG905", f"no sizes were found for {one.machine.title} with {said}{at}", help=help)
    affordable(one, found)
    return replace(one, sizes=found)


def bearable(one: Run, sizes: dict[str, int]) -> bool:
    """Whether a run at these sizes takes a few seconds, and there are data for it."""
    from tinygpu.simulate.bounded import effort_of
    from tinygpu.simulate.fault import SimulationBudget
    from tinygpu.simulate.sizes import lane_steps

    op = one.machine.op
    if lane_steps(one.program, sizes) > QUICK[one.device] or effort_of(op, sizes, elements(one, sizes, SAMPLED[0])) > BEARABLE:
        return False
    try:
        with within(SEARCHED):
            if op.promises:
                arrays(op, sizes, one.data, one.seed)
            return True
    except (TinygpuError, SimulationBudget):
        return False
    except Expired:
        look()  # where the whole search is over, too
        return False


def elements(one: Run, sizes: dict[str, int], most: int) -> dict[str, int]:
    """How many elements of each output are looked at."""
    from math import prod

    from tinygpu.simulate.box import box_of

    return {t.name: min(most, prod(box_of(t.shape, sizes))) for t in one.machine.op.outputs}


def affordable(one: Run, sizes: dict[str, int]) -> None:
    """Raises TG905 where a call would not end while somebody waits for it: minutes, where sizes are said, else seconds."""
    from tinygpu.simulate.sizes import lane_steps

    said = bool(one.data.sizes) or not sizes
    most = STEPS[one.device] if said else 8 * QUICK[one.device]
    if lane_steps(one.program, sizes) > most:
        at = ", ".join(f"{name}={size}" for name, size in sizes.items()) or "its one size"
        title = f"{one.machine.title} would make more than {most} steps at {at}"
        help = (
            "choose smaller sizes, if the loops do not have their lengths in the spec"
            if said
            else "say the sizes, to run it all the same"
        )
        raise TinygpuError.of("TG905", title, help=help)


def compare_with_equation(one: Run, inputs: dict[str, Any], results: dict[str, Any]) -> tuple[list[Any], str]:
    """`(mismatches, at how many elements it agrees otherwise)` with the equation in float64; a mismatch is further away than rounding brings it, and an element
    that rounding may bring anywhere was not compared."""
    import numpy as np

    from tinygpu.category.number import load
    from tinygpu.simulate.bounded import bounded, chain, effort_of, near
    from tinygpu.simulate.tolerance import compare

    op, chance = one.machine.op, np.random.default_rng(one.seed + 1)
    most = next((n for n in SAMPLED if effort_of(op, one.sizes, elements(one, one.sizes, n)) <= BEARABLE), SAMPLED[-1])
    sample: dict[str, tuple[Any, ...]] = {}
    for name, array in results.items():
        flat = np.arange(array.size) if array.size <= most else chance.integers(0, array.size, most)
        sample[name] = np.unravel_index(flat, array.shape) if array.shape else ()
    try:
        with within(one.limit):
            longest = max(chain((program,), sizes) for program, sizes in one.programs)
            want, bounds = bounded(op, one.sizes, inputs, sample, longest, near(program for program, _ in one.programs))
    except Expired:
        return [], f"{NOT_COMPARED}: to evaluate the equation takes more than {one.limit:g} s; choose smaller sizes, or say --time"
    wrong = compare(op, results, want, sample=sample, bounds=bounds)
    count = sum(min(most, array.size) for array in results.values())
    within_bound = {name: bounds[name] + np.zeros(want[name].shape) <= telling(want[name]) for name in want}
    compared = sum(int(those.sum()) for those in within_bound.values())
    some = any(array.size > most for array in results.values())
    rest = [(load(results[t.name], t.dtype, exact=True)[sample[t.name]], t) for t in op.outputs]
    pairs = [(got[~within_bound[t.name]], np.asarray(want[t.name])[~within_bound[t.name]], want[t.name]) for got, t in rest]
    return wrong, agreement(compared, count, "random elements" if some else "elements", distance(pairs))


def distance(pairs: Iterable[tuple[Any, Any, Any]]) -> str:
    """How far elements are from the equation in f64 where nobody knows how far rounding may bring them: values, what they should be, and all that is like
    these, of which the largest is the measure.

    >>> import numpy as np
    >>> distance([(np.float32([1.0, 2.5]), np.array([1.0, 2.0]), np.array([1.0, 2.0, 4.0]))]), distance([(np.array([np.inf]), np.array([1e39]), 1e39)])
    ('which are at most 0.12 of the largest away from it in f64', 'of which 1 is a number on one side alone')
    """
    import numpy as np

    apart, alone = 0.0, 0
    for got, want, like in pairs:
        with np.errstate(all="ignore"):
            got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
            alone += int((np.isfinite(got) != np.isfinite(want)).sum())
            both = np.isfinite(got) & np.isfinite(want)
            largest = np.max(np.abs(np.asarray(like, np.float64))[np.isfinite(like)], initial=0.0)
            apart = max(apart, float(np.max(np.abs(got - want)[both], initial=0.0) / (largest or 1.0)))
    if alone:
        return f"of which {alone} {'is a number' if alone == 1 else 'are numbers'} on one side alone"
    return f"which are at most {apart:.2g} of the largest away from it in f64" if apart else "which are what it is in f64"


def telling(want: Any) -> float:
    """The widest bound that says something of such numbers: a quarter of the largest, or little."""
    import numpy as np

    finite = np.abs(np.asarray(want, np.float64))[np.isfinite(np.asarray(want, np.float64))]
    return max(0.01, float(np.max(finite, initial=0.0)) / 4)


def agreement(told: int, count: int, elements: str, rest: str = "") -> str:
    """At how many elements a run agrees, where rounding has a bound at so many of those that were looked at; of the `rest`, how far they are.

    >>> agreement(3, 3, "elements"), agreement(3, 3, "random elements")
    ('agrees at all 3 elements', 'agrees at 3 random elements')
    >>> agreement(1, 3, "elements", "which are near"), agreement(0, 3, "elements", "which are near")
    ('agrees at 1 of 3 elements, rounding has no bound at the others, which are near', 'not compared: rounding has no bound at any of 3 elements, which are near; try smaller sizes or numbers, --range NAME=LOW..HIGH')
    """
    if not count:
        return "has no elements to compare"
    if told == count:
        return f"agrees at {'all ' if elements == 'elements' else ''}{count} {elements}"
    if not told:
        return f"{NOT_COMPARED}: rounding has no bound at any of {count} {elements}, {rest}; try smaller sizes or numbers, --range NAME=LOW..HIGH"
    return f"agrees at {told} of {count} {elements}, rounding has no bound at the others, {rest}"
