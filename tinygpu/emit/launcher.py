"""The launcher of a machine: the typed function that users call, and the table of all that the proof assumed, which it is made of.

Comes in: a program, and the terms that have to stay below 2³¹ for the 32-bit kernels. Goes out: Python source of a table and one function.
The one idea: what a launcher checks is a literal in the spec's own names and words, so a reader sees the contract, and a checker compares it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any

from tinygpu.category.term import TRUE, Term, text
from tinygpu.derive.wide import wide_accesses
from tinygpu.emit.cuda import block_threads, dynamic_bytes, kernel_name
from tinygpu.emit.python import WIDTH, Lines, block, docstring, indent, source
from tinygpu.emit.sizes import solve
from tinygpu.emit.spelled import Spelled, quoted, spell
from tinygpu.model.op import Op
from tinygpu.program.promises import of_data, promises, rows
from tinygpu.program.step import Array, Program

Table = dict[str, Any]


def launcher_source(
    program: Program,
    limits: tuple[Term, ...] = (),
    header: tuple[str, ...] = (),
    cpu: tuple[Array, ...] | None = None,
    cpu_limits: tuple[Term, ...] = (),
    kernels: Sequence[str] = (),
) -> str:
    """`program → source of def NAME(inputs, *, sizes no input tells, out=None, stream=None)`, behind the table that it is made of.

    Where launches leave something for later ones, there is also `workspace=None`: like `out`, an array for each, or none, and they are made.
    Where the data is promised something, there is `check_data=False`: with True the promise is checked before anything is launched.
    `limits` are terms over the sizes that the 32-bit kernels need to be at most 2³¹ - 1; `header` are paragraphs of the docstring.
    `cpu` are the workspaces of the CPU kernels: the program's, and others that are made at each call; `cpu_limits` what they count to.
    `kernels` are the texts of the CUDA kernels.
    """
    spelled = spell(program)
    _, missing = solve(program.op)
    name, given = spelled.function, [p.partition(":")[0] for p in parameters(spelled, missing).split(", ") if p != "*"]
    body = [*(docstring(*header) if header else []), f"return {name}_launch({', '.join(given)})"]
    table = launch_table(program, limits, program.workspaces if cpu is None else cpu, cpu_limits, kernels)
    function = block(f"def {name}({parameters(spelled, missing)}) -> {result_type(program.op)}", body)
    made = ["", "", f"{name}_launch = runtime.launcher({name}_spec, globals())"]
    return source([*_assigned(f"{name}_spec", table), "", "", *function, *made])


def launch_table(
    program: Program, limits: tuple[Term, ...], cpu: tuple[Array, ...], cpu_limits: tuple[Term, ...], kernels: Sequence[str]
) -> Table:
    """`program → all that its launcher has to know`, in words."""
    op = program.op
    arrays = {t.name: (t.dtype, _words(t.shape) if t.shape or t.role == "output" else None) for t in op.tensors}
    solved = {s.size: (s.tensor, s.axis, text(s.offset), text(s.factor)) for s in solve(op)[0]}
    where = (g for g in dict.fromkeys((*op.where, *program.where)) if not of_data(g))
    least = re.fullmatch(r"sm_(\d+)(\d)[a-z]?", program.arch or "sm_00")
    arch = (int(least[1]), int(least[2])) if least else (0, 0)
    keys = [hashlib.sha256(kernel.encode()).hexdigest() for kernel in kernels]
    launches = tuple(
        (kernel_name(program, n), text(launch.blocks), block_threads(launch), arch, key, dynamic_bytes(launch))
        for n, (launch, key) in enumerate(zip(program.launches, keys, strict=False))
    )
    return {
        "name": program.name,
        "inputs": {t.name: arrays[t.name] for t in op.inputs},
        "outputs": {t.name: arrays[t.name] for t in op.outputs},
        "workspaces": {w.name: (w.dtype, _words(w.extents)) for w in program.workspaces},
        "sizes": tuple(op.sizes),
        "solved": solved,  # size = (shape[axis] - offset) // factor
        "where": _words(where),
        "promises": rows(program),
        "limits": _words(limits),  # at most 2³¹ - 1 where indices have 32 bits
        "counted": _words(cpu_limits),  # by loops of the CPU
        "wide": _wide(program),
        "cpu": {w.name: (w.dtype, _words(w.extents)) for w in cpu},
        "launches": launches,
    }


def _wide(program: Program) -> tuple[tuple[str, ...], dict[str, int]]:
    """Where wide accesses are taken: what they ask of the sizes, and a multiple of how many bytes each array starts at."""
    found = [w for w in wide_accesses(program) if not w.shared]
    aligned: dict[str, int] = {}
    for wide in found:
        aligned[wide.tensor] = max(wide.bytes, aligned.get(wide.tensor, 0))
    return _words(dict.fromkeys(w.asks for w in found if w.asks != TRUE)), aligned


def _words(terms: Any) -> tuple[str, ...]:
    return tuple(map(text, terms))


def _assigned(name: str, table: Table) -> Lines:
    """A table with a line for each entry, or one for each of an entry's own where that is long."""
    lines: Lines = []
    for key, value in table.items():
        whole = f"{quoted(key)}: {written(value)},"
        if len(whole) <= WIDTH - 4 or not value:
            lines.append(whole)
        elif isinstance(value, dict):
            lines += [f"{quoted(key)}: {{", *indent(f"{quoted(k)}: {written(v)}," for k, v in value.items()), "},"]
        else:
            rows_ = _filled(value) if all(isinstance(v, str) for v in value) else [f"{written(v)}," for v in value]
            lines += [f"{quoted(key)}: (", *indent(rows_), "),"]
    return [f"{name} = {{", *indent(lines), "}  # fmt: skip"]


def _filled(values: Sequence[str]) -> Lines:
    """Texts, as many on a line as it holds."""
    lines = [""]
    for one in (f"{quoted(value)}," for value in values):
        together = f"{lines[-1]} {one}".strip()
        lines = [*lines[:-1], together] if len(together) <= WIDTH - 8 else [*lines, one]
    return lines


def written(value: Any) -> str:
    """A literal of Python.

    >>> written({"x": ("f32", ("n",)), "a": ("f32", None)}), written((0, 1))
    ('{"x": ("f32", ("n",)), "a": ("f32", None)}', '(0, 1)')
    """
    match value:
        case str():
            return quoted(value)
        case dict():
            return "{" + ", ".join(f"{quoted(k)}: {written(v)}" for k, v in value.items()) + "}"
        case tuple():
            return f"({', '.join(map(written, value))}{',' if len(value) == 1 else ''})"
    return repr(value)


def parameters(spelled: Spelled, missing: tuple[str, ...]) -> str:
    """The launcher's parameters with their types: inputs in order, then by keyword the sizes that no input tells, `out`, `stream`."""
    inputs = [f"{spelled.names[t.name]}: {'Array' if t.shape else _scalar_type(t.dtype)}" for t in spelled.program.op.inputs]
    keywords = [f"{spelled.names[s]}: int" for s in missing] + ["out: Array = None", "stream: Any = None"]
    keywords += ["workspace: Array = None"] if spelled.program.workspaces else []
    keywords += ["check_data: bool = False"] if promises(spelled.program) else []
    return ", ".join([*inputs, "*", *keywords])


def result_type(op: Op) -> str:
    """One array, or a tuple of them."""
    return "Array" if len(op.outputs) == 1 else f"tuple[{', '.join('Array' for _ in op.outputs)}]"


def _scalar_type(dtype: str) -> str:
    return "bool" if dtype == "bool" else "float" if "f" in dtype else "int"
