"""At which sizes a program is run: small ones, edges, and a few large ones.

Comes in: a program. Goes out: size assignments that its preconditions admit. The one idea: a program changes its mind about a size where a number
stands in its text, so each size alone goes just beyond every such number, while the others are 1; that is cheap, and what counterexamples look like.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

from tinygpu.category.evaluate import evaluate
from tinygpu.category.term import INDEX, Const, walk
from tinygpu.program.step import Program
from tinygpu.program.traverse import terms
from tinygpu.simulate.sizes import sizes_to_try

VOLUME = 1 << 14  # the largest product of small sizes
SMALL = 9  # every size below it is among them, whatever the program's tiles are
LARGE, SECOND = 2, 1 << 20  # how many large ones, and their largest product: long strides have a second turn there
NUMBERS = 1 << 10  # of the text, that are looked beyond


def small(program: Program, most: int) -> list[dict[str, int]]:
    """At most so many, each size taking each of its candidates."""
    return sizes_to_try(program, most, VOLUME, range(SMALL))


def large(program: Program, most: int) -> list[dict[str, int]]:
    """A few, where there are more than small ones."""
    near = small(program, most)
    return [row for row in sizes_to_try(program, most, SECOND) if row not in near][-LARGE:]


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
    extents = (axis.extent for launch in program.launches for axis in launch.grid + launch.block)
    return frozenset(
        int(node.value)
        for term in (*every, *extents)
        for node in walk(term)
        if isinstance(node, Const) and node.dtype == INDEX and SMALL <= node.value <= NUMBERS
    )


def admitted(program: Program, sizes: dict[str, int]) -> bool:
    """Whether sizes satisfy the preconditions."""
    try:
        return all(evaluate(guard, sizes) for guard in (*program.op.where, *program.where))
    except ZeroDivisionError:
        return False
