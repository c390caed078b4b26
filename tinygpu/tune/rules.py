"""What the language wants of a state, as arithmetic on its factors.

    RULES : a table of sentences, each with a test of one launch

Comes in: a launch of a state and its equations. Goes out: the sentences that it breaks. The one idea: the table saves time and decides nothing: what passes it is proved as any machine is, and what
the checker refuses all the same is a rule that is missing here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import inf, prod

from tinygpu.category.term import Const, Term, Var
from tinygpu.cost.footprint import WORD
from tinygpu.hardware.arch import arch_named
from tinygpu.model.op import Op
from tinygpu.syntax import tree
from tinygpu.tune.facts import Group, folded, group_of
from tinygpu.tune.placed import Placed
from tinygpu.tune.state import BOX, CPU, OWN, WORK, State

WIDE = {"simd": (4, 8, 16), "vector": (2, 4)}  # the extents that a wide factor may have
THREADS = range(32, 1025, 32)
OF_SCANS = {"grid": 0, "core": 0, "time": 1, "block": 2}  # the order of levels; those of the thread's own are last
CELLS, ITSELF, COMBINED = 1 << 16, 24, 16


def open_outside(it: Placed) -> bool:
    return all(f.extent is not None or f.level in ("grid", "core", "time", BOX) for *_, f in it.carried(*WORK, *OWN, BOX))


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


def scan_in_order(it: Placed) -> bool:
    """Their loops are inside of those of other elements, their threads stand as their digits do."""
    cuts, of_elements = dict(it.nest.cuts), [(i, f.name) for i, f in it.loops if i in it.outputs | it.scanned]
    for index in it.scanned:
        levels = [OF_SCANS.get(f.level, len(OF_SCANS)) for f in cuts[index]]
        threads = [f.name for f in cuts[index] if f.level == "block"]
        inner = [i for i, _ in of_elements[len(of_elements) - sum(f.level == "time" for f in cuts[index]) :]]
        stand = [n for n in it.nest.of("block") if n in threads]
        if levels != sorted(levels) or threads != stand or {*inner} - {index}:
            return False
    return True


def scan_in_launches(it: Placed) -> bool:
    tops = [sum(f.level in ("grid", "core") for f in dict(it.nest.cuts)[i]) for i in it.scanned]
    return all(many == (it.turn in ((0, 3), (2, 3))) for many in tops)


def cells_that_stay(it: Placed) -> bool:
    """On a core each turn of a loop of elements inside of a fold's has cells of its own."""
    inside = [one for at, one in enumerate(it.loops) if any(outer in it.folds for outer, _ in it.loops[:at])]
    held = prod(f.extent or 1 for i, f in inside if i in it.outputs and i not in it.folds)
    return held * prod(f.extent or 1 for i, _, f in it.carried("register", *WIDE) if i in it.outputs) <= CELLS


def few_cells(it: Placed) -> bool:
    """A block's threads share its registers, of which a thread needs some for itself; a scan has cells for what it reads, and for what it makes."""
    (cells, turns, _), each = it.limits, 2 if it.scanned else 1
    if it.device != CPU:
        threads = prod(f.extent or 1 for *_, f in it.carried("block"))
        cells = min(cells, arch_named(it.device).registers_per_block // max(1, threads) - ITSELF)
    wide = prod(f.extent or 1 for *_, f in it.carried("simd"))
    held = prod(it.extent(i, f) or 1 for i, _, f in it.carried("register", BOX, *WIDE) if i in it.outputs - it.away)
    return (
        held * each // wide // it.shared_out <= cells
        and prod(f.extent or 1 for i, _, f in it.carried("register") if i not in it.away) <= turns
    )


def few_combined(it: Placed) -> bool:
    """Threads that share a fold combine each cell by itself, step by step, and so many steps are a long program."""
    if it.device == CPU or not any(i in it.folds - it.outputs for i, *_ in it.carried("block")):
        return True
    return prod(f.extent or 1 for i, _, f in it.carried("register", *WIDE) if i in it.outputs) <= COMBINED


def rolled(it: Placed) -> bool:
    return it.device != CPU or not any(i in it.folds - it.away - it.outputs for i, *_ in it.carried("register"))


def in_turn(it: Placed) -> bool:
    order = it.nest.loops
    places = [[order.index(f.name) for f in cut if f.level == "time"] for _, cut in it.nest.cuts]
    return all(p == sorted(p) for p in places)


def elements_outside(it: Placed) -> bool:
    """On a GPU loops of elements stand outside of those of folds; on a core they have cells that stay, so their extents are numbers."""
    inner = False
    for index, factor in it.loops:
        if index in it.folds:
            inner = True
        elif inner and (it.device != CPU or factor.extent is None):
            return False
    return True


def tiles(it: Placed) -> bool:
    """With as many slots as they have."""
    each = [it.bytes_of(s) for s in it.nest.stages]
    return all(each) and sum(each) <= it.limits[2]


def kept_still(it: Placed) -> bool:
    """What is kept has cells: numbers of them, along which no loop goes, and no prefix; it is in no tile, too, and on a core it leaves room."""
    still = it.kept.keys().isdisjoint(s.access.name for s in it.nest.stages) and all(
        i not in names for names in it.kept.values() for i in (*(i for i, _ in it.loops), *it.group.along)
    )
    sides = [[f.extent or inf for i, _, f in it.carried("register", "time", *WIDE) if i in names] for names in it.kept.values()]
    fits = it.device != CPU or 2 * WORD * sum(map(prod, sides)) <= it.limits[2]
    return still and fits and all(inf not in one for one in sides)


def in_slots(it: Placed) -> bool:
    """Tiles take turns in a loop, those of one loop as many, one not beside another."""
    rings = {(s.at, s.ring, s.asynchronous) for s in it.nest.stages}
    apart = len({s.access.name for s in it.nest.stages}) == len(it.nest.stages)
    return apart and len({at for at, *_ in rings}) == len(rings) and all(s.at != "block" or s.ring is None for s in it.nest.stages)


def swizzled(it: Placed) -> bool:
    """A swizzle is chosen for rows of a power of two."""
    wide = [
        s for s in it.nest.stages if any(isinstance(c, tree.Layout) and c.place and c.place.kind == "swizzle" for c in s.clauses)
    ]
    return all(it.tile(s)[-1].bit_count() == 1 for s in wide)


def boxed(it: Placed) -> bool:
    """The digits of an instruction's box are those that a clause names, its lanes are those that lie side by side, and there is one launch."""
    named = {e.extent.name for c in it.nest.said if isinstance(c, tree.Use) for e in c.indices.items
             if isinstance(e, tree.Sized) and isinstance(e.extent, tree.Name)}  # fmt: skip
    used = [c.lanes for c in it.nest.said if isinstance(c, tree.Use)]
    lanes = tuple(
        n.name for one in used for n in (one.items if isinstance(one, tree.Group) else (one,)) if isinstance(n, tree.Name)
    )
    alone = not (named and it.nest.equations)
    return (
        alone
        and {f.name for *_, f in it.carried(BOX)} == named
        and it.nest.of("block")[-len(lanes) or len(it.nest.order) :] == lanes
    )


def around_box(it: Placed) -> bool:
    """Beside a box stand digits of elements in registers and folds' in time, no vectors; rows of a tile stay whole pieces of 16 bytes, and tiles that take turns land later."""
    if not it.carried(BOX):
        return True
    mine = {i for i, *_ in it.carried(BOX)}
    pads = [
        c.place.args for s in it.nest.stages for c in s.clauses if isinstance(c, tree.Layout) and c.place and c.place.kind == "pad"
    ]
    inside = all(s.ring is None or s.asynchronous or s.by for s in it.nest.stages) and it.read_in_shared
    inside = inside and all(f.level in ("time", BOX) for i, cut in it.nest.cuts if i in it.folds for f in cut)
    return inside and not any(i in mine for i, *_ in it.carried(*WIDE)) and all(args == (tree.Number("8"),) for args in pads)


def ends_covered(it: Placed) -> bool:
    """An index of which every digit has an extent goes as far as its size may."""
    ended = [(i, prod(f.extent or 1 for f in cut)) for i, cut in it.nest.cuts if all(f.extent is not None for f in cut)]
    ends = {a.name: a.extent for e in it.op.equations for a in (*e.axes, *folded(e))}
    return all(_end(ends[i], it.bounds) <= reach for i, reach in ended if i in ends)


def _end(extent: Term, bounds: Mapping[str, int]) -> float:
    match extent:
        case Const(value=value):
            return int(value)
        case Var(name=name):
            return bounds.get(name, inf)
    return inf


Rule = tuple[str, Callable[[Placed], bool]]
RULES: tuple[Rule, ...] = (
    ("a factor without an extent is carried by grid, core or time", open_outside),
    ("one index has a wide factor, its last one, along which memory lies", wide_last),
    ("a wide factor has the extent of a vector", wide_sizes),
    ("a scan goes over grid or cores in three launches, by one factor", scan_in_launches),
    ("the digits of a scan stand in the order grid, time, block, own", scan_in_order),
    ("cells that stay from turn to turn fit into a cache", cells_that_stay),
    ("no fold goes over the grid of one launch", folds_inside),
    ("a block is of whole warps, at most 1024 threads", whole_warps),
    ("what a thread holds fits into registers", few_cells),
    ("threads that share a fold combine few cells", few_combined),
    ("on a core a fold's own loop is not unrolled", rolled),
    ("the loops of an index stand from slow to fast", in_turn),
    ("loops of elements stand outside of those of folds, or have numbers", elements_outside),
    ("a tile has numbers for sides, fits, and changes with its loop", tiles),
    ("tiles of a loop take turns alike", in_slots),
    ("a swizzle is of rows of a power of two", swizzled),
    ("no loop and no prefix goes along what is kept", kept_still),
    ("an index that ends at a number covers its size", ends_covered),
    ("a box is an instruction's", boxed),
    ("around a box are registers and time", around_box),
)


def broken(state: State, op: Op) -> Iterator[str]:
    """The rules that some launch of a state breaks."""
    bounds = {e.left.name: int(e.right.text) for e in state.where if isinstance(e, tree.Binary) and e.op == "<="
              and isinstance(e.left, tree.Name) and isinstance(e.right, tree.Number)}  # fmt: skip
    every = [nest.equations for nest in state.nests]
    for number, (nest, group) in enumerate(zip(state.nests, matching(state, op), strict=True)):
        turn = every[:number].count(nest.equations), every.count(nest.equations)
        it = Placed(nest, group, state.device, op, bounds, turn)
        yield from (sentence for sentence, holds in RULES if not holds(it))


def matching(state: State, op: Op) -> tuple[Group, ...]:
    """The equations of each of a state's launches."""
    return tuple(group_of(op, n.equations) for n in state.nests)
