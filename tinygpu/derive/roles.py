"""A machine whose tiles are copied by a role of its own: what stands around the loop of the fold.

    ring tiles: n;  loop { if load { fill tiles { boxes } };  if work { use tiles { products } } };  if work { what they leave is stored }

Comes in: what was found of the instruction. Goes out: parts of the text of the program. The one idea: the block has one more group of lanes, of which the first warp
has boxes copied; all others do what they would do without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tinygpu.category.term import Axis, Const
from tinygpu.derive.used import Matched
from tinygpu.model.problems import refused
from tinygpu.model.tile import Stage
from tinygpu.program.expression import expression
from tinygpu.program.tiles import number
from tinygpu.record import dataclass, replace
from tinygpu.syntax import tree

if TYPE_CHECKING:
    from tinygpu.derive.use import Body


@dataclass(frozen=True, slots=True)
class Roles:
    """The factor that says which group of lanes it is, with one more than work; and the warp of a group, where it has several."""

    groups: Axis
    warp: str
    ring: str

    @property
    def work(self) -> tree.Expr:
        """Who multiplies."""
        return tree.Binary("<", tree.Name(self.groups.name), number(self.count - 1))

    @property
    def load(self) -> tree.Expr:
        """Who has boxes copied."""
        last: tree.Expr = tree.Binary("==", tree.Name(self.groups.name), number(self.count - 1))
        return tree.Binary("and", last, tree.Binary("==", tree.Name(self.warp), number(0))) if self.warp else last

    @property
    def count(self) -> int:
        """The groups of the block."""
        assert isinstance(self.groups.extent, Const), "a block's factors are numbers"
        return int(self.groups.extent.value)

    def loop(self, axis: Axis, copies: Body, inner: Body) -> Body:
        """The loop in which both take turns."""
        fill, use = (tree.Section(way, self.ring, axis.name, body) for way, body in (("fill", copies), ("use", inner)))
        body = tree.If(self.load, (fill,)), tree.If(self.work, (use,))
        return (tree.For(axis.name, expression(axis.extent), body, "time"),)


def roles_of(of: Matched, fresh: str, ring: str) -> Roles | None:
    """Those of a machine of which stages are copied by boxes; none of any other. Raises TinygpuError, TG184."""
    boxed = [s for s in of.stages.values() if s.by]
    if not boxed:
        return None
    block, lanes = of.machine.launches[0].block, of.use.lanes
    if reason := without(of, boxed[0], block):
        raise refused("TG184.roles", boxed[0].span, of.span, reason=reason)
    (group,) = block or (Axis(fresh, Const(1), "block", of.span),)
    assert isinstance(group.extent, Const), "a block's factors are numbers"
    return Roles(replace(group, extent=Const(int(group.extent.value) + 1)), lanes[0].name if len(lanes) > 1 else "", ring)


def without(of: Matched, boxed: Stage, block: Sequence[Axis]) -> str:
    """Why a machine has no roles, of which that stage is copied by boxes; empty where it has."""
    around = next((axis.name for axis in (*of.outer, *of.folds) if axis.name != boxed.at), "")
    copied = {(s.at, s.ring, s.by) for name, s in of.stages.items() if name != of.target}
    if of.outer or of.folds[0].name != boxed.at:
        return f"the loop over {around} stands around that over {boxed.at}, and a ring is filled in one loop of the launch"
    if len(block) > 1:
        return f"the block has {len(block)} factors beside the lanes"
    return "others are not, or elsewhere, or into another number of tiles" if len(copied) > 1 else ""
