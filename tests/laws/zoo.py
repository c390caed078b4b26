"""One of each generator, with symbolic and with constant sizes, and some composites: what the laws and the interpreters are tested on.

Comes in: nothing. Goes out: named arrows, and the sizes to try them on.
The one idea: a law that is tested on every generator, and on how generators are put together, is tested.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tinygpu.category.arrow import Arrow, cases, identity
from tinygpu.category.box import Box, box
from tinygpu.category.digits import digits, merged
from tinygpu.category.finite import swizzle, table
from tinygpu.category.generators import affine, merge, pad, permute, project, rename, replicate, split
from tinygpu.category.term import Axis, Term, Var, ceildiv, equal, lift

M, N, n = Var("M"), Var("N"), Var("n")
i, j, p, r = map(Var, "ijpr")


def axis(name: str, extent: Term | int) -> Axis:
    """A data axis."""
    return Axis(name, lift(extent))


def _levels() -> Arrow:
    return digits(axis("i", n), (axis("g", ceildiv(n, 32)), axis("t", 8), axis("v", 4)))


def _middle() -> Arrow:
    return digits(axis("i", n), (axis("c", 2), axis("g", ceildiv(n, 6)), axis("t", 3)))


def _fragment(point: tuple[int, ...]) -> tuple[int, ...]:
    lane, value = point
    return lane // 4 + 8 * (value // 2), lane % 4 * 2 + value % 2


def nested(cut: Arrow, name: str, by: int, outer: str, inner: str) -> Arrow:
    """A split with one of its axes split again."""
    box = cut.codomain
    place = box.names.index(name)
    before, after = (identity(Box(axes)) for axes in (box.axes[:place], box.axes[place + 1 :]))
    return cut >> (before @ split(box.axis(name), by, outer, inner) @ after).restrict(box.guard)


ZOO: Mapping[str, Callable[[], Arrow]] = {
    "identity": lambda: identity(box(i=n)),
    "split": lambda: split(axis("i", n), 4, "q", "r"),
    "split by 7": lambda: split(axis("i", n), 7, "q", "r"),
    "split that divides": lambda: split(axis("i", n), 4, "q", "r", equal(n % 4, 0)),
    "split of a product": lambda: split(axis("i", n * 8), 4, "q", "r"),
    "split by a size": lambda: split(axis("i", M * N), N, "q", "r"),
    "merge": lambda: merge(axis("i", n), 4, "q", "r"),
    "permute": lambda: permute(box(i=M, j=N), "j", "i"),
    "rename": lambda: rename(box(i=n).guarded(i * 2 < n), {"i": "t"}),
    "pad": lambda: pad(axis("i", n), ceildiv(n, 8) * 8),
    "project": lambda: project(box(i=M, r=4, j=N), "r"),
    "replicate": lambda: replicate(box(i=n), axis("t", 3)),
    "halo": lambda: affine(box(p=n, r=3), axis("h", n + 2), p + r),
    "stride": lambda: affine(box(i=n), axis("e", n * 2), i * 2),
    "swizzle": lambda: swizzle(axis("i", 64), (1, 2, 4, 8 | 1, 16 | 2, 32 | 4)),
    "fragment": lambda: table(box(lane=32, value=4), box(m=16, k=8), _fragment),
    "table onto": lambda: table(box(i=6), box(j=3), lambda point: (point[0] // 2,)),
    "digits": _levels,
    "digits, the middle one inferred": _middle,
    "merged": lambda: merged((axis("i", M), axis("j", N)), (axis("g", ceildiv(M * N, 4)), axis("v", 4))),
    "cases": lambda: cases(identity(box(i=n).guarded(i < 8)), identity(box(i=n).guarded(i >= 8))),
    "split and permute": lambda: split(axis("i", n), 4, "q", "r") >> permute(split(axis("i", n), 4, "q", "r").codomain, "r", "q"),
    "two levels of splits": lambda: nested(split(axis("i", n), 16, "b", "t"), "t", 4, "w", "l"),
    "side by side": lambda: split(axis("i", M), 2, "q", "r") @ rename(box(j=N), {"j": "t"}),
    "restricted": lambda: split(axis("i", n), 4, "q", "r").restrict(i % 3 < 2),
}


def sizes_of(arrow: Arrow, limit: int = 64) -> list[dict[str, int]]:
    """Sizes to try: all up to the limit for one size, all pairs whose product is at most the limit for two (N divides, so it is positive)."""
    free = sorted(arrow.domain.free | arrow.codomain.free)
    match free:
        case []:
            return [{}]
        case [one]:
            return [{one: k} for k in range(limit + 1) if not _divisible(arrow) or k % 4 == 0]
        case [first, second]:
            return [{first: k, second: l} for k in range(limit + 1) for l in range(1, limit + 1) if k * l <= limit and (k or l < 4)]
    raise ValueError(f"too many sizes: {free}")


def _divisible(arrow: Arrow) -> bool:
    """Whether an arrow of the zoo was made under `n % 4 == 0`: its guard is gone although 4 does not divide n by form."""
    return arrow.codomain == Box((axis("q", n // 4), axis("r", 4)))
