"""Two cells of a block that live together lie at two addresses.

    address(x) = address(y) ⊢ x = y        0 ≤ address(x) < elements        start(a) + bytes(a) ≤ start(b) for the next array b

Comes in: the program. Goes out: formulas over the cells of each shared array, before its swizzle, which is one to one by the rule of
`category.layout`; and over the starts of a launch's arrays, which are carved from one memory and live as long as the block does.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from tinygpu.category.region import Region
from tinygpu.category.term import BOOL, Axis, Const, Term, Var, conjunction, equal, lift
from tinygpu.derive.unpack import unpack
from tinygpu.diagnostic import Label
from tinygpu.obligations.obligation import Claim, Obligation
from tinygpu.obligations.trace import Trace
from tinygpu.program.arrays import CARVE_BYTES, shared_bytes, shared_places
from tinygpu.program.layout import Layout, address, elements, fault
from tinygpu.program.step import Launch, Program, Shared, steps


def state(program: Program, trace: Trace) -> Iterator[Claim]:
    """The claims of this property."""
    for launch in unpack(program).launches:
        arrays = tuple(s for s in steps(launch.body) if isinstance(s, Shared))
        for array in arrays:
            yield from _layout(array)
        yield from _apart(launch, arrays)


def _layout(array: Shared) -> Iterator[Claim]:
    """Cells of one array have addresses of their own, inside of it."""
    label = (Label(array.span, "declared here"),)
    help = "leave out the layout, or take another pad or swizzle"
    title = f"two cells of {array.name} lie at one address"
    wrong = fault(array.extents, array.layout)
    sentence = f"the swizzle of {array.name} is one to one"
    yield Obligation("storage", "TG307", title, sentence, (), Const(not wrong, BOOL), label, wrong or help)
    if not array.extents:
        return
    plain = Layout(array.layout.pad)
    one, two = (tuple(Axis(f"{array.name}.{a}{mark}", e) for a, e in enumerate(array.extents)) for mark in ("", "~"))
    first, second = (address(array.extents, plain, tuple(Var(a.name) for a in axes)) for axes in (one, two))
    same = conjunction(*(equal(Var(a.name), Var(b.name)) for a, b in zip(one, two, strict=True)))
    hypotheses = (*Region((*one, *two)).facts, equal(first, second))
    sentence = f"two cells of {array.name} have two addresses"
    yield Obligation("storage", "TG307", title, sentence, hypotheses, same, label, help)
    inside = conjunction(first >= 0, first < elements(array.extents, array.layout))
    title, sentence = f"a cell of {array.name} lies outside of it", f"the cells of {array.name} lie inside of it"
    yield Obligation("storage", "TG307", title, sentence, Region(one).facts, inside, label, help)


def _apart(launch: Launch, arrays: tuple[Shared, ...]) -> Iterator[Claim]:
    """The arrays of a launch share no byte, and start where every access is aligned."""
    places, _ = shared_places(launch)
    for one, two in pairwise(sorted(arrays, key=lambda a: places[a.name])):
        start: Term = lift(places[two.name])
        goal = conjunction(start >= places[one.name] + shared_bytes(one), equal(start % CARVE_BYTES, 0))
        labels = (Label(one.span, "one array"), Label(two.span, "and another"))
        title = f"{one.name} and {two.name} share memory"
        sentence = f"{two.name} starts after {one.name} ends"
        yield Obligation("storage", "TG307", title, sentence, (), goal, labels)
