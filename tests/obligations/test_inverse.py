"""An inverse is a function of the image: a witness that speaks of the point it should find shows nothing.

Comes in: arrows whose guards relate their axes. Goes out: whether they are said to be undone. The one idea: `t == u` ties two axes to each
other and neither to the image.
"""

from __future__ import annotations

from tinygpu.category.region import Region
from tinygpu.category.term import FALSE, TRUE, Axis, Const, Term, Var, equal, variables
from tinygpu.obligations.bijection import Part, collisions, restored
from tinygpu.obligations.cells import told

T, U = Axis("t", Const(2)), Axis("u", Const(2))
t, u, E = Var("t"), Var("u"), Var("E")
NOWHERE = Region((), ())


def part(terms: tuple[Term, ...], *guard: Term, axes: tuple[Axis, ...] = (T, U)) -> Part:
    return Part(axes, guard, terms)


def test_axes_that_are_tied_to_each_other_only_are_not_undone() -> None:
    assert restored(part((Const(0),), equal(t, u)), NOWHERE) != TRUE
    assert restored(part((), equal(t, u)), NOWHERE) != TRUE
    assert restored(part((Const(0),), equal(t, Const(1) - u)), NOWHERE) != TRUE


def test_axes_that_the_image_and_the_guard_tell_are_undone() -> None:
    assert restored(part((u,), equal(t, u)), NOWHERE) == TRUE
    assert restored(part((t * 2 + u,)), NOWHERE) == TRUE
    assert restored(part((t * E + u,), axes=(T, Axis("u", E))), NOWHERE) == TRUE
    assert restored(part((t * E + u,)), NOWHERE) != TRUE  # u may be E or more


def test_a_witness_is_told_by_the_cell_or_is_none() -> None:
    assert told({"t": Var("f") // 2, "u": Const(0)}, (T, U))
    assert not told({"t": u, "u": u}, (T, U))


def test_where_nothing_undoes_it_two_points_are_asked_about() -> None:
    ((p, q, hypotheses, goal),) = collisions((part((Const(0),), equal(t, u)),), NOWHERE)
    assert p == q and goal not in (TRUE, FALSE)
    assert any("~" in name for h in hypotheses for name in variables(h))
