"""A maximum, and sums that are weighted by the exponential of how far each element is below it: the semidirect product of (max) and of sums, as a monoid of the language.

    (m, s) ⊕ (n, t) = (max(m, n), s·exp(m − max) + t·exp(n − max))              m = max h        sᵢ = Σ exp(h − m)·xᵢ

Comes in: which of the sums are of ones. Goes out: the monoid and its lemma, as text. The one idea: both follow from the structure alone, whatever the elements are.
"""

from __future__ import annotations

from collections.abc import Sequence


def called(place: int) -> str:
    """What a component is called, the maximum first."""
    return f"s{place - 1}" if place else "m"


def declared(name: str, dtype: str, ones: Sequence[bool], results: Sequence[str]) -> tuple[str, str]:
    """The monoid whose fold gives the `results`, terms over its components, and the lemma that says what these are.

    >>> print(declared("softmax_fold", "f32", [True], ["m", "s0"])[1])
    lemma softmax_fold[k] (score[k]) is {
      m = max[k] score[k]
      s0 = sum[k] exp(score[k] - m)
    }
    """
    sums = [called(n + 1) for n in range(len(ones))]
    given = ["score", *(f"x{n}" for n, one in enumerate(ones) if not one)]
    above = [f"{s} >= 0" for s, one in zip(sums, ones, strict=True) if one]
    lift = ["score", *("1" if one else f"x{n}" for n, one in enumerate(ones))]
    joined = [f"({_scaled('a', 'b', s)}) + ({_scaled('b', 'a', s)})" for s in sums]
    lines = [
        f"unit ({', '.join(['-inf', *['0'] * len(sums)])})",
        f"lift ({', '.join(f'{p}: {dtype}' for p in given)}) = ({', '.join(lift)})",
        f"combine (a, b) = ({', '.join(['max(a.m, b.m)', *joined])})",
        f"result ({', '.join(results)})",
    ]
    means = ["m = max[k] score[k]"]
    means += [
        f"{s} = sum[k] exp(score[k] - m)" + ("" if one else f" * x{n}[k]")
        for n, (s, one) in enumerate(zip(sums, ones, strict=True))
    ]
    components = ", ".join(f"{c}: {dtype}" for c in ("m", *sums))
    where = f" where {', '.join(above)}" if above else ""
    return (
        _block(f"monoid {name}({components}){where}", lines),
        _block(f"lemma {name}[k] ({', '.join(f'{p}[k]' for p in given)}) is", means),
    )


def _scaled(mine: str, other: str, s: str) -> str:
    """A component, less by how far its maximum is below the other one; a difference of infinities is not asked for."""
    return f"{mine}.{s} if {mine}.m >= {other}.m else {mine}.{s} * exp({mine}.m - {other}.m)"


def _block(head: str, lines: Sequence[str]) -> str:
    return "\n".join([f"{head} {{", *(f"  {line}" for line in lines), "}"])
