"""A shipped launcher as an operator that a graph may be given: what it takes, and how it is put where something else was.

Comes in: a spec and a machine; a node, and what the names of a pattern are there. Goes out: why it does not fit, or the node in its place. The one idea: the launcher's table says dtypes, ranks and
which arrays may lie anyhow, so what is asked of a graph is what the launcher will ask of a call.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from tinygpu.record import dataclass
from tinygpu.runtime.views import _HELD
from tinygpu.torch import register
from tinygpu.torch.shipped import launcher

NAMESPACE = "tinygpu_shipped"
UNKNOWN = -1  # as torch writes the one extent of a view that it may find by itself
Values = Mapping[str, Any]
Taken = tuple[str, tuple[str, ...] | None]  # the dtype and shape of an input, as a table has them


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator, with the table of its launcher."""

    spec: str
    machine: str
    op: Any
    table: Mapping[str, Any]

    def __str__(self) -> str:
        return f"{self.machine} of {self.spec}.tgpu"

    def refuses(self, node: Any, values: Values, axes: Sequence[int]) -> str:
        """Why it does not take what a match has for its inputs, or does not make what the node makes; nothing where it does."""
        for name, taken in self.table["inputs"].items():
            if why := unlike(name, values[name], taken, name in self.table.get("strided", ())):
                return why
        made = node.meta["val"]
        if not (made.permute([axes.index(axis) for axis in range(len(axes))]) if axes else made).is_contiguous():
            return f"{node.name} does not lie as it would be made"
        return "" if shown(node) is not None else f"no node says what the shape of {node.name} is"

    def placed(self, node: Any, values: Values, axes: Sequence[int]) -> Any:
        """The node that makes the same, in front of it: inputs are seen as a matrix or a vector, the output in the node's shape, or with its axes in another order."""
        import torch

        given = [viewed(node, values[name], taken) for name, taken in self.table["inputs"].items()]
        made = new(node, self.op, *given)
        if axes:
            return new(node, torch.ops.aten.permute.default, made, list(axes))
        if made.meta["val"].dim() == node.meta["val"].dim():
            return made
        return new(node, torch.ops.aten.view.default, made, shown(node))


@cache
def operator_of(spec: str, machine: str) -> Operator:
    """The operator of a shipped machine, built at its first use. Raises TinygpuError where it is not proved."""
    call = launcher(spec, machine)
    op = machine.partition("=")[2].rstrip("]")
    name = "_".join(filter(None, (spec, call.__name__, op)))
    return Operator(spec, machine, register(call, NAMESPACE, name), call.__globals__[f"{call.__name__}_spec"])


def unlike(name: str, value: Any, taken: Taken, strided: bool) -> str:
    """Why a value is none of an input; nothing where it is one."""
    dtype, shape = taken
    seen = value.meta.get("val") if hasattr(value, "meta") else value
    if shape is None:
        return "" if isinstance(seen, int | float) or hasattr(seen, "node") else f"{name} is no number"
    if seen is None or not hasattr(seen, "is_contiguous"):
        return f"{name} is not there"
    kind = str(seen.dtype).removeprefix("torch.")
    if kind != _HELD[dtype][0][0]:
        return f"{name} is {kind}, and the machine is for {_HELD[dtype][0][0]}"
    if not seen.dim() or (len(shape) > 2 and seen.dim() != len(shape)):
        return f"{name} has rank {seen.dim()} instead of {len(shape)}"
    if any(isinstance(extent, int) and not extent for extent in seen.shape):
        return f"{name} is empty"
    return "" if strided or seen.is_contiguous() else f"{name} does not lie in rows"


def viewed(node: Any, value: Any, taken: Taken) -> Any:
    """An input as an operator takes it: a matrix of its last axis, or a vector of all, where it has more axes."""
    import torch

    dtype, shape = taken
    if shape is None:
        return value if hasattr(value, "meta") or "f" not in dtype else float(value)
    extents = value.meta["val"].shape
    if len(extents) == len(shape):
        return value
    last = extents[-1] if isinstance(extents[-1], int) else new(node, torch.ops.aten.sym_size.int, value, len(extents) - 1)
    return new(node, torch.ops.aten.view.default, value, [UNKNOWN, last] if len(shape) > 1 else [UNKNOWN])


def shown(node: Any) -> list[Any] | None:
    """The shape of a node as a view says it: numbers, or nodes that make them; nothing where more than one of them is unknown."""
    found = [_extent(node, extent) for extent in node.meta["val"].shape]
    return found if found.count(UNKNOWN) <= 1 else None


def _extent(node: Any, extent: Any) -> Any:
    if isinstance(extent, int):
        return extent
    return next((other for other, size in _sizes(node) if size == extent.node.expr), UNKNOWN)


def _sizes(node: Any) -> Iterator[tuple[Any, Any]]:
    """The nodes before it that are sizes, with what they are."""
    for other in node.graph.nodes:
        if other is node:
            return
        size = getattr(other.meta.get("val"), "node", None)
        if size is not None and size.is_int():
            yield other, size.expr


def new(node: Any, target: Any, *arguments: Any) -> Any:
    """A node in front of another one, with what torch's fakes make there."""
    from torch.fx.node import map_arg

    with node.graph.inserting_before(node):
        made = node.graph.call_function(target, arguments)
    made.meta["val"] = target(*map_arg(list(arguments), lambda one: one.meta["val"]))
    return made
