"""Names that nothing has yet.

Comes in: a name, and what is taken. Goes out: the name, or the nearest that is not. The one idea: who wants a new name asks here, and says
only how the next ones are spelled.
"""

from __future__ import annotations

from collections.abc import Container


def unused(name: str, taken: Container[str], number: str | None = None) -> str:
    """The name, with underscores at its end until it is not taken; or with `number`, a mark, and a number behind it.

    >>> unused("i", {"i", "i_"}), unused("i", {"i", "i_2"}, "_"), unused("acc", {"acc"}, ""), unused("j", {"i"})
    ('i__', 'i_3', 'acc2', 'j')
    """
    free, count = name, 1
    while free in taken:
        count += 1
        free = f"{free}_" if number is None else f"{name}{number}{count}"
    return free


def claimed(name: str, taken: set[str], number: str | None = None) -> str:
    """The same, and it is taken from now on."""
    taken.add(free := unused(name, taken, number))
    return free
