"""What a precondition needs to have a value: that nothing in it divides by less than 1.

Comes in: guards over the sizes, in order. Goes out: the same, each after what its divisors have to be. The one idea: a precondition without a
value does not hold, so it says of its divisors that they are at least 1; whoever reads it, reads that too.
"""

from __future__ import annotations

from collections.abc import Iterable

from tinygpu.category.decide import holds
from tinygpu.category.region import Region
from tinygpu.category.term import INDEX, App, Read, Term, apply, walk


def with_divisors(guards: Iterable[Term], known: tuple[Term, ...] = ()) -> tuple[Term, ...]:
    """The guards with those that they need; none that is known, or that numbers decide.

    >>> from tinygpu.category.term import Var, equal, text
    >>> n, m = Var("n"), Var("m")
    >>> [text(g) for g in with_divisors([equal(n % m, 0), n // m >= 2]) + with_divisors([m >= 4, n % m < 2, n % 8 < 1])]
    ['m >= 1', 'n % m == 0', 'n // m >= 2', 'm >= 4', 'n % m < 2', 'n % 8 < 1']
    """
    out: list[Term] = []
    for guard in guards:
        for divisor in _divisors(guard):
            needed = apply("ge", divisor, 1)
            if holds(needed, Region((), (*known, *out))) is not True:
                out.append(needed)
        out.append(guard)
    return tuple(out)


def _divisors(guard: Term) -> Iterable[Term]:
    """What is divided by in a guard over the sizes."""
    if any(isinstance(part, Read) for part in walk(guard)):
        return ()
    return [t.args[1] for t in walk(guard) if isinstance(t, App) and t.op in ("floordiv", "mod", "ceildiv") and t.dtype == INDEX]
