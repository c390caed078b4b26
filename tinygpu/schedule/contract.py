"""The contract of a call: what a launcher takes, and the literal of all that it has to know of the programs behind it.

    table["where"] = the preconditions        table["launches"] = (kernel, blocks, threads, least architecture, key, bytes) of each launch

Comes in: the program of the GPU, the workspaces and limits of the one that a CPU runs. Goes out: the arguments, and the table, in the spec's
own names and words. The one idea: what a caller owes is a function of the program: the emitter writes it, and validation compares with it.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Sequence
from typing import Any

from tinygpu.category.term import TRUE, Term, text
from tinygpu.category.text import claimed
from tinygpu.derive.wide import wide_accesses
from tinygpu.model.op import Tensor
from tinygpu.model.solved import solve
from tinygpu.program.arrays import STATIC_BYTES, shared_places, strides
from tinygpu.program.promises import of_data, promises, rows
from tinygpu.program.step import Array, Launch, Program
from tinygpu.schedule.roles import maps
from tinygpu.schedule.threads import threads_of

KEPT = frozenset(keyword.kwlist) | {"__debug__", "out", "stream", "runtime"}
Table = dict[str, Any]


def table(program: Program, limits: Sequence[Term], cpu: Sequence[Array], counted: Sequence[Term], keys: Sequence[str]) -> Table:
    """`program → all that its launcher has to know`. `limits` are at most 2³¹ − 1 where indices have 32 bits; `cpu` are the workspaces of the
    program that a CPU runs, and `counted` what its loops count to; `keys` are the hashes of the kernels' texts."""
    op = program.op
    least = re.fullmatch(r"sm_(\d+)(\d)([a-z]?)", program.arch or "sm_00")
    places = [t.name for t in op.inputs if t.shape]
    inplace = tuple((n, places.index(t.inplace), t.name in op.continued) for n, t in enumerate(op.outputs) if t.inplace)
    turns = tuple(tuple((a.name, text(a.extent)) for a in launch.turns) for launch in program.launches)
    return {
        "name": program.name,
        "inputs": {t.name: (t.dtype, _words(t.shape) if t.shape else None) for t in op.inputs},
        "outputs": {t.name: (t.dtype, _words(t.shape)) for t in op.outputs},
        **({"inplace": inplace} if inplace else {}),
        **({"strided": tuple(paces)} if (paces := strides(op)) else {}),
        "workspaces": {w.name: (w.dtype, _words(w.extents)) for w in program.workspaces},
        "sizes": tuple(op.sizes),
        "solved": {s.size: (s.tensor, s.axis, text(s.offset), text(s.factor)) for s in solve(op)[0]},
        "where": _words(g for g in dict.fromkeys((*op.where, *program.where)) if not of_data(g)),
        "promises": rows(program),
        "limits": _words(limits),
        "counted": _words(counted),
        "wide": (_words(asked(program)), aligned(program)),
        "cpu": {w.name: (w.dtype, _words(w.extents)) for w in cpu},
        "launches": tuple(
            (
                kernel_name(program.name, program, number),
                text(launch.blocks),
                threads_of(launch.block),
                (int(least[1]), int(least[2]), *least[3]) if least else (0, 0),
                key,
                dynamic_bytes(launch),
            )
            for number, (launch, key) in enumerate(zip(program.launches, keys, strict=False))
        ),
        **({"turns": turns} if any(turns) and keys else {}),
        **({"maps": found} if (found := maps(program)) and keys else {}),
        **(
            {"clusters": near}
            if max((near := tuple(threads_of(one.ranks) for one in program.launches)), default=1) > 1 and keys
            else {}
        ),
    }


def _words(terms: Iterable[Term]) -> tuple[str, ...]:
    return tuple(map(text, terms))


def kernel_name(name: str, program: Program, number: int) -> str:
    """The function that makes the kernel of a launch, with the number of the launch where there are several."""
    return f"{name}_kernel" + (f"_{number}" if len(program.launches) > 1 else "")


def dynamic_bytes(launch: Launch) -> int:
    """The bytes of a block's memory that the launch has to give: none where they are static."""
    size = shared_places(launch)[1]
    return size if size > STATIC_BYTES else 0


def asked(program: Program) -> tuple[Term, ...]:
    """What wide accesses ask of the sizes."""
    return tuple(dict.fromkeys(w.asks for w in wide_accesses(program) if not w.shared and w.asks != TRUE))


def aligned(program: Program) -> dict[str, int]:
    """A multiple of how many bytes each array starts at, where accesses are wide."""
    found: dict[str, int] = {}
    for wide in wide_accesses(program):
        if not wide.shared:
            found[wide.tensor] = max(wide.bytes, found.get(wide.tensor, 0))
    return found


# ── arguments ──────────────────────────────────────────────────────────────────────────────────────────────────────


def argument_names(program: Program) -> dict[str, str]:
    """The argument for each tensor and size: the user's own name wherever Python leaves it."""
    taken = set(KEPT) | ({"workspace"} if program.workspaces else set()) | ({"check_data"} if promises(program) else set())
    return {name: claimed(name, taken) for name in dict.fromkeys([*(t.name for t in program.op.tensors), *program.op.sizes])}


def arguments(program: Program) -> dict[str, str]:
    """The arguments that stand by their place, and then by their name, each with its annotation and default: inputs in order; the sizes that no
    input tells, and what belongs to every launcher."""
    names, op = argument_names(program), program.op
    found = {names[t.name]: "Array" if t.shape else _scalar(t) for t in op.inputs}
    found |= {names[size]: "int" for size in solve(op)[1]} | {"out": "Array = None", "stream": "Any = None"}
    found |= {"workspace": "Array = None"} if program.workspaces else {}
    return found | ({"check_data": "bool = False"} if promises(program) else {})


def _scalar(tensor: Tensor) -> str:
    return "bool" if tensor.dtype == "bool" else "float" if "f" in tensor.dtype else "int"


def signature(program: Program) -> str:
    """`(a: float, x: Array, *, n: int, out: Array = None, stream: Any = None) -> Array`"""
    given = [f"{name}: {kind}" for name, kind in arguments(program).items()]
    given.insert(len(program.op.inputs), "*")
    results = ", ".join("Array" for _ in program.op.outputs)
    return f"({', '.join(given)}) -> {results if len(program.op.outputs) == 1 else f'tuple[{results}]'}"
