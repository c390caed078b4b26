"""Layouts: those without a fault are one to one, for every cell of every small array; those that have one say which."""

from __future__ import annotations

from itertools import product

import pytest

from tinygpu.category.evaluate import evaluate
from tinygpu.category.layout import Layout, address, elements, fault
from tinygpu.category.term import Const, Var

EXTENTS = ((), (1,), (7,), (16,), (3, 4), (4, 8), (5, 6), (2, 3, 8), (64,), (8, 16))
SWIZZLES = tuple(Layout(swizzle=s) for s in product(range(4), range(3), range(5)))


def places(extents: tuple[int, ...], layout: Layout) -> list[int]:
    """The address of every cell."""
    names = tuple(f"i{axis}" for axis in range(len(extents)))
    term = address(tuple(map(Const, extents)), layout, tuple(map(Var, names)))
    return [int(evaluate(term, dict(zip(names, cell, strict=True)))) for cell in product(*map(range, extents))]


@pytest.mark.parametrize("extents", EXTENTS, ids=str)
def test_a_layout_without_a_fault_is_one_to_one(extents: tuple[int, ...]) -> None:
    terms = tuple(map(Const, extents))
    found = 0
    for layout in (*(Layout(pad=p) for p in range(4)), *SWIZZLES):
        if fault(terms, layout):
            continue
        found += layout.swizzle is not None
        seen = places(extents, layout)
        assert len(set(seen)) == len(seen), layout
        assert all(0 <= place < elements(terms, layout) for place in seen), layout
    assert found


def test_bits_that_are_added_to_themselves_are_lost() -> None:
    layout = Layout(swizzle=(1, 0, 0))
    assert fault((Const(16),), layout)
    assert len(set(places((16,), layout))) < 16


def test_an_array_that_is_no_row_of_blocks_takes_whole_ones() -> None:
    """Ten cells lie among twelve addresses."""
    layout = Layout(swizzle=(2, 0, 2))
    assert fault((Const(10),), layout) == "" and elements((Const(10),), layout) == 12 and max(places((10,), layout)) == 11
    assert elements((Const(3), Const(3)), Layout(swizzle=(2, 1, 2))) == 16
