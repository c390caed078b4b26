"""The names of a launcher: the user's own for sizes and arrays, wherever Python and the module leave them.

Comes in: a program. Goes out: for each size and tensor its name, for each array and workspace the variable that holds its view.
The one idea: a launcher is read by people who know the spec, so a name changes only where it has to.
"""

from __future__ import annotations

import json
import keyword

from tinygpu.emit import support, support_call, support_cubin, support_cuda, support_data, support_number
from tinygpu.emit.data import promises
from tinygpu.emit.python import fresh, identifier
from tinygpu.emit.sizes import python
from tinygpu.model.op import Tensor
from tinygpu.program.step import Program
from tinygpu.record import dataclass

SUPPORT = (support, support_number, support_call, support_cubin, support_cuda, support_data)
KEPT = frozenset(keyword.kwlist) | {
    "__debug__",
    "out",
    "stream",
    "Array",
    "Any",
    "np",
    "range",
    "tuple",
    "float",
    "int",
    "bool",
    "min",
    "max",
    "abs",
}
TAKEN = (
    KEPT
    | {name for module in SUPPORT for name in vars(module)}
    | {"_sizes", "_first", "_bits", "_stream", "_wide", "_index", "_blocks", "_held", "_holds"}
)


@dataclass(frozen=True, slots=True)
class Spelled:
    """A program with the Python names of its sizes and tensors."""

    program: Program
    function: str
    names: dict[str, str]
    views: dict[str, str]

    @property
    def title(self) -> str:
        return quoted(self.function)

    def view(self, tensor: Tensor) -> str:
        """The local variable that holds the view of a tensor."""
        return self.views[tensor.name]

    def shape(self, tensor: Tensor) -> str:
        """The extents as a tuple in Python."""
        parts = [python(e, self.names) for e in tensor.shape]
        return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


def spell(program: Program) -> Spelled:
    """The program with names that Python allows: the user's own wherever they can stay."""
    taken = {*TAKEN, "workspace"} if program.workspaces else set(TAKEN)
    taken |= {"check_data"} if promises(program) else set()
    names: dict[str, str] = {}
    views: dict[str, str] = {}
    for name in dict.fromkeys([*(t.name for t in program.op.tensors), *program.op.sizes]):
        names[name] = fresh(name, taken)
        taken.add(names[name])
    for name in (*(t.name for t in program.op.tensors), *(w.name for w in program.workspaces)):
        views[name] = fresh(f"_{names.get(name, identifier(name))}", taken)
        taken.add(views[name])
    return Spelled(program, identifier(program.name), names, views)


def quoted(text: str) -> str:
    """A string in Python, in double quotes."""
    return json.dumps(text, ensure_ascii=False)
