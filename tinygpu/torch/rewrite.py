"""A graph of torch in which proved operators stand where the table has a row for what was there.

Comes in: a graph of ATen's operators, as autograd leaves it. Goes out: the same graph, changed, with a line for each place: what was taken, what was left and why. The one idea: nothing is
copied to make a row fit: what does not lie as its kernel reads it, has another dtype or is wanted by somebody else too, stays as it is, and that is said.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from tinygpu.diagnostic import TinygpuError
from tinygpu.record import dataclass
from tinygpu.torch.match import VIEWS, Match, aten_name, matches, pattern
from tinygpu.torch.operators import Operator, operator_of
from tinygpu.torch.table import ROWS, Row

FREE = VIEWS | {"t", "getitem"}  # what costs nothing: others may want it too
PLUMBING = FREE.union(
    ["sym_size", "permute", "transpose", "select", "unsqueeze", "squeeze", "expand", "detach", "alias", "slice", "clone"]
)  # of which nothing is said


@dataclass(frozen=True, slots=True)
class Said:
    """What is said of a node: what was taken for it, or why a row that it is does not serve it."""

    node: str
    row: str
    taken: str = ""
    why: str = ""

    def __str__(self) -> str:
        return f"{self.row} at {self.node}: " + (f"by {self.taken}" if self.taken else f"left, because {self.why}")


def rewritten(graph: Any) -> tuple[tuple[Said, ...], Counter[str]]:
    """The graph, changed in place: what is said of its nodes, in order, and how often each operator stands that no row is for."""
    said, others, gone = list[Said](), Counter[str](), set[Any]()
    for node in reversed([node for node in graph.nodes if node.op == "call_function"]):
        if node in gone:
            continue
        found = taken(node, gone)
        said += found
        if not found and aten_name(node) not in PLUMBING and not hasattr(node.meta.get("val"), "node"):  # which is a size
            others[aten_name(node) or str(node.target)] += 1
    return tuple(reversed(said)), others


def taken(node: Any, gone: set[Any]) -> list[Said]:
    """What is said of a node: that a row serves it, which is put in its place, or why the first row that it is does not. What nobody wants any more is `gone`."""
    left = list[Said]()
    for row in ROWS:
        for match in matches(pattern(row.pattern), node):
            found = serving(row, match, node)
            if isinstance(found, Operator):
                node.replace_all_uses_with(found.placed(node, row.values(match), row.axes))
                for inner in (inner for inner in match.inside if not inner.users):
                    node.graph.erase_node(inner)
                    gone.add(inner)
                return [Said(node.name, row.name, str(found))]
            left.append(Said(node.name, row.name, "", found))
    return left[:1]


def serving(row: Row, match: Match, node: Any) -> Operator | str:
    """The operator of a row that serves a match, built now if it was not before; or why there is none."""
    if why := wanted_elsewhere(match) or next((why for check in row.checks if (why := check(match))), ""):
        return why
    device = node.meta["val"].device.type
    if device not in row.machines:
        return f"there is no machine of it for {device}"
    try:
        found = operator_of(*row.machines[device])
    except TinygpuError as error:
        return f"{row.machines[device][1]} is not proved here: {error}"
    return found.refuses(node, row.values(match), row.axes) or found


def wanted_elsewhere(match: Match) -> str:
    """An inner result that others want, be it as a view, is one that has to be made anyway."""
    root, *inner = match.inside

    def escapes(node: Any) -> bool:
        return any(
            user not in match.inside or (user is not root and aten_name(user) in FREE and escapes(user)) for user in node.users
        )

    found = next((node for node in inner if aten_name(node) not in FREE and escapes(node)), None)
    return f"{found.name}, which is inside of it, is wanted elsewhere too" if found is not None else ""
