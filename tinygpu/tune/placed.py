"""A launch of a state beside its equations: which indices are folded, what a tile has for sides.

Comes in: a launch, its equations, a device. Goes out: a `Placed`, of which rules ask. The one idea: what a rule asks is arithmetic on factors and the indices of reads.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import prod

from tinygpu.category.dtype import BYTES
from tinygpu.category.term import Var, reads, variables
from tinygpu.hardware.arch import arch_named
from tinygpu.model.instruction import shipped
from tinygpu.model.op import Op
from tinygpu.record import dataclass, field
from tinygpu.syntax import tree
from tinygpu.tune.facts import Group, accesses, folded
from tinygpu.tune.state import BOX, CPU, Factor, Nest

LIMITS = {CPU: (28, 48, 1 << 20)}  # cells, or vectors of them, unrolled turns, and bytes of tiles
LARGE = 160, 64  # of an architecture that says so, with what its blocks may have
OF_ANY = 128, 64, 48 << 10
PADDED = 1 / 8  # of a tile, for rows that are longer


@dataclass(frozen=True, slots=True)
class Placed:
    """A launch with its equations, for a device."""

    nest: Nest
    group: Group
    device: str
    op: Op
    bounds: Mapping[str, int] = field(default_factory=dict)  # of sizes
    turn: tuple[int, int] = (0, 1)  # which of how many launches of these equations it is

    @property
    def outputs(self) -> frozenset[str]:
        """The indices of elements."""
        return frozenset(a.name for e in self.group.equations for a in e.axes)

    @property
    def folds(self) -> frozenset[str]:
        """The indices that are folded."""
        return frozenset(a.name for e in self.group.equations for a in folded(e))

    @property
    def scanned(self) -> frozenset[str]:
        """The indices that prefixes go along: of the second of three launches that of the blocks."""
        cut = dict(self.nest.cuts).keys()
        along = {i for k, i in self.group.along.items() if k not in cut}
        return frozenset(cut - self.group.indices if self.turn == (1, 3) else cut & along)

    @property
    def fast(self) -> frozenset[str]:
        """The indices along which something lies in memory side by side."""
        every = [e.axes[-1].name for e in self.group.equations if e.axes]
        last = (r.index[-1] for e in self.group.equations for r in reads(e.value) if r.index)
        return frozenset((*every, *(i.name for i in last if isinstance(i, Var))))

    @property
    def loops(self) -> list[tuple[str, Factor]]:
        """The loops, outermost first, with their indices."""
        named = {f.name: (i, f) for i, _, f in self.carried("time")}
        return [named[name] for name in self.nest.loops if name in named]

    @property
    def limits(self) -> tuple[int, int, int]:
        """What fits."""
        if self.device == CPU or not self.device:
            return LIMITS.get(self.device, OF_ANY)
        return *LARGE, arch_named(self.device).shared_bytes_per_block_opt_in

    @property
    def kept(self) -> dict[str, frozenset[str]]:
        """What is kept, with the indices that it has."""
        named = {c.tensor for c in self.nest.said if isinstance(c, tree.Keep)}
        return {name: self.indices(name) for name in named}

    @property
    def away(self) -> frozenset[str]:
        """The indices of what a core keeps in its memory, and not in registers."""
        return frozenset[str]().union(*self.kept.values()) if self.device == CPU else frozenset()

    def indices(self, tensor: str) -> frozenset[str]:
        """The indices at which a tensor is made or read."""
        made = (a.name for e in self.op.equations if e.target == tensor for a in e.axes)
        read = (r for e in self.op.equations for r in reads(e.value) if r.tensor == tensor)
        return frozenset((*made, *(name for r in read for i in r.index for name in variables(i))))

    def carried(self, *levels: str) -> list[tuple[str, int, Factor]]:
        """The factors of some levels, with their indices and places."""
        elsewhere = self.nest.elsewhere
        mine = ((i, cut) for i, cut in self.nest.cuts if i not in elsewhere)
        return [(i, p, f) for i, cut in mine for p, f in enumerate(cut) if f.level in levels]

    def extent(self, index: str, factor: Factor) -> int:
        """Of a factor, also of one that goes as far as an instruction's box; 0 where it is no number."""
        if factor.level != BOX:
            return factor.extent or 0
        used = next((c for c in self.nest.said if isinstance(c, tree.Use)), None)
        names = (
            [e.extent.name for e in used.indices.items if isinstance(e, tree.Sized) and isinstance(e.extent, tree.Name)]
            if used
            else []
        )
        numbers = [int(n) for n in re.findall(r"[mnk](\d+)", used.name)] if used else []
        return dict(zip(names, numbers, strict=False)).get(factor.name, 0)

    @property
    def shared_out(self) -> int:
        """Among how many threads the elements of a box are shared out: those that no index has."""
        if not self.carried(BOX):
            return 1
        has = self.group.indices
        return prod(f.extent or 1 for i, _, f in self.carried("block") if i not in has)

    @property
    def read_in_shared(self) -> bool:
        """Whether an instruction that reads shared memory has tiles of all that it multiplies, as it wants them."""
        used = next((c for c in self.nest.said if isinstance(c, tree.Use)), None)
        described = [o for one in shipped(used.name) for o in one.operands if o.kind == "descriptor"] if used else []
        staged = {s.access.name for s in self.nest.stages}
        panels = {r.tensor for e in self.group.equations for r in accesses(e)}
        return not described or (panels <= staged and not any(s.clauses for s in self.nest.stages))

    def bytes_of(self, stage: tree.Stage) -> int:
        """What a tile takes, with all of its slots."""
        slots = int(stage.ring.text) if isinstance(stage.ring, tree.Number) else 1
        padded = any(isinstance(c, tree.Layout) and c.place and c.place.kind == "pad" for c in stage.clauses)
        each = prod(self.tile(stage)) * BYTES[self.op.tensor(stage.access.name).dtype] * slots
        return int(each * (1 + PADDED)) if padded else each

    def tile(self, stage: tree.Stage) -> tuple[int, ...]:
        """The sides of a tile; 0 of one that is no number, or of what is the same in each turn of its loop."""
        loops, named = self.nest.loops, dict(self.nest.cuts)
        if stage.at not in (*loops, "block"):
            return (0,)
        around = {
            *(loops[: loops.index(stage.at) + 1] if stage.at in loops else ()),
            *(f.name for *_, f in self.carried("grid", "core")),
        }
        indices = [i.name for i in stage.access.index if isinstance(i, tree.Name)]
        changes = stage.at == "block" or any(f.name == stage.at for i in indices for f in named.get(i, ()))
        sides = tuple(prod(self.extent(i, f) for f in named[i] if f.name not in around) if i in named else 0 for i in indices)
        return sides if changes else (0,)
