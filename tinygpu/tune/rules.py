"""What the language wants of a state, as arithmetic on its factors.

    RULES : a table of sentences, each with a test of one launch

Comes in: a launch of a state and its equations. Goes out: the sentences that it breaks. The one idea: the table saves time and decides nothing: what passes it is proved as any machine is, and what
the checker refuses all the same is a rule that is missing here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import prod

from tinygpu.category.term import Var, reads
from tinygpu.model.op import Op
from tinygpu.record import dataclass
from tinygpu.syntax import tree
from tinygpu.tune.facts import Group, folded, groups
from tinygpu.tune.state import CPU, Factor, Nest, State

WIDE = {"simd": (4, 8, 16), "vector": (2, 4)}  # the extents that a wide factor may have
LIMITS = {"": (128, 64, 48 << 10), CPU: (28, 48, 1 << 20)}  # cells, or vectors of them, unrolled turns, and bytes of a tile
THREADS = range(32, 1025, 32)
BYTES, CELLS = 4, 1 << 16


@dataclass(frozen=True, slots=True)
class Placed:
    """A launch with its equations, for a device."""

    nest: Nest
    group: Group
    device: str

    @property
    def outputs(self) -> frozenset[str]:
        """The indices of elements."""
        return frozenset(a.name for e in self.group.equations for a in e.axes)

    @property
    def folds(self) -> frozenset[str]:
        """The indices that are folded."""
        return frozenset(a.name for e in self.group.equations for a in folded(e))

    @property
    def fast(self) -> frozenset[str]:
        """The indices along which something lies in memory side by side."""
        every = [e.axes[-1].name for e in self.group.equations if e.axes]
        last = (r.index[-1] for e in self.group.equations for r in reads(e.value) if r.index)
        return frozenset((*every, *(i.name for i in last if isinstance(i, Var))))

    def carried(self, *levels: str) -> list[tuple[str, int, Factor]]:
        """The factors of some levels, with their indices and places."""
        return [(i, p, f) for i, cut in self.nest.cuts for p, f in enumerate(cut) if f.level in levels]


def open_outside(it: Placed) -> bool:
    return all(f.extent is not None or f.level in ("grid", "core", "time") for f in it.nest.factors)


def wide_last(it: Placed) -> bool:
    wide = it.carried(*WIDE)
    last = all(p == len(dict(it.nest.cuts)[i]) - 1 and p > 0 and i in it.fast for i, p, _ in wide)
    return last and len({i for i, *_ in wide}) <= 1


def wide_sizes(it: Placed) -> bool:
    return all(f.extent in WIDE[f.level] for *_, f in it.carried(*WIDE))


def folds_inside(it: Placed) -> bool:
    return not any(i in it.folds for i, *_ in it.carried("grid", "core"))


def whole_warps(it: Placed) -> bool:
    return it.device == CPU or prod(f.extent or 0 for *_, f in it.carried("block")) in THREADS


def somebody(it: Placed) -> bool:
    return bool(it.carried("grid", "block", "core"))


def cells_that_stay(it: Placed) -> bool:
    """On a core each turn of a loop of elements inside of a fold's has cells of its own."""
    order, index = it.nest.order, {f.name: (i, f) for i, cut in it.nest.cuts for f in cut}
    inside = [index[n] for at, n in enumerate(order) if any(index[m][0] in it.folds for m in order[:at])]
    held = prod(f.extent or 1 for i, f in inside if i in it.outputs and i not in it.folds)
    return held * prod(f.extent or 1 for i, _, f in it.carried("register", *WIDE) if i in it.outputs) <= CELLS


def few_cells(it: Placed) -> bool:
    cells, turns, _ = LIMITS[it.device]
    lanes = prod(f.extent or 1 for *_, f in it.carried("simd"))
    held = prod(f.extent or 1 for i, _, f in it.carried("register", *WIDE) if i in it.outputs)
    return held // lanes <= cells and prod(f.extent or 1 for *_, f in it.carried("register")) <= turns


def rolled(it: Placed) -> bool:
    return it.device != CPU or not any(i in it.folds for i, *_ in it.carried("register"))


def in_turn(it: Placed) -> bool:
    order = it.nest.order
    places = [[order.index(f.name) for f in cut if f.level == "time"] for _, cut in it.nest.cuts]
    return all(p == sorted(p) for p in places)


def elements_outside(it: Placed) -> bool:
    """On a GPU loops of elements stand outside of those of folds; on a core they have cells that stay, so their extents are numbers."""
    sort = {f.name: (i, f) for i, cut in it.nest.cuts for f in cut}
    inner = False
    for name in it.nest.order:
        index, factor = sort[name]
        if index in it.folds:
            inner = True
        elif inner and (it.device != CPU or factor.extent is None):
            return False
    return True


def tiles(it: Placed) -> bool:
    return all(0 < _bytes(it, s.access, s.at) <= LIMITS[it.device][2] for s in it.nest.stages)


def _bytes(it: Placed, access: tree.Cell, at: str) -> int:
    """Of a tile; none of one whose sides are no numbers, or that is the same in each turn of its loop."""
    order, sides = it.nest.order, 1
    if at not in order:
        return 0
    around = {*order[: order.index(at) + 1], *(f.name for *_, f in it.carried("grid", "core"))}
    names = [i.name for i in access.index if isinstance(i, tree.Name)]
    inside = [f for i, cut in it.nest.cuts if i in names for f in cut]
    for factor in (f for f in inside if f.name not in around):
        sides *= factor.extent or 0
    return sides * BYTES if at in {f.name for f in inside} else 0


Rule = tuple[str, Callable[[Placed], bool]]
RULES: tuple[Rule, ...] = (
    ("a factor without an extent is carried by grid, core or time", open_outside),
    ("one index has a wide factor, its last one, along which memory lies", wide_last),
    ("a wide factor has the extent of a vector", wide_sizes),
    ("some index is carried by the work", somebody),
    ("cells that stay from turn to turn fit into a cache", cells_that_stay),
    ("no fold goes over the grid of one launch", folds_inside),
    ("a block is of whole warps, at most 1024 threads", whole_warps),
    ("what a thread holds fits into registers", few_cells),
    ("on a core a fold's own loop is not unrolled", rolled),
    ("the loops of an index stand from slow to fast", in_turn),
    ("loops of elements stand outside of those of folds, or have numbers", elements_outside),
    ("a tile has numbers for sides, fits, and changes with its loop", tiles),
)


def broken(state: State, op: Op) -> Iterator[str]:
    """The rules that some launch of a state breaks."""
    for nest, group in zip(state.nests, matching(state, op), strict=True):
        it = Placed(nest, group, state.device)
        yield from (sentence for sentence, holds in RULES if not holds(it))


def matching(state: State, op: Op) -> tuple[Group, ...]:
    """The groups of equations of a state's launches."""
    for together in (True, False):
        found = groups(op, together)
        if len(found) == len(state.nests) and all(n.equations in ((), g.names) for n, g in zip(state.nests, found, strict=True)):
            return found
    raise ValueError("launches of other equations")
