"""The launcher of a machine: the typed function that users call, and the table of all that the proof assumed, which it is made of.

Comes in: a program, and its contract. Goes out: Python source of a table and one function.
The one idea: what a launcher checks is a literal in the spec's own names and words, so a reader sees the contract, and a checker compares it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tinygpu.emit.python import WIDTH, Lines, block, docstring, identifier, indent, joined_lines
from tinygpu.program.step import Program
from tinygpu.schedule.contract import Table, arguments, signature


def quoted(text: str) -> str:
    """A string in Python, in double quotes."""
    return json.dumps(text, ensure_ascii=False)


def launcher_source(program: Program, table: Table, header: tuple[str, ...] = (), maker: str = "launcher") -> str:
    """`program → source of def NAME(inputs, *, sizes no input tells, out=None, stream=None)`, behind the table that it is made of.

    Where launches leave something for later ones, there is also `workspace=None`: like `out`, an array for each, or none, and they are made.
    Where the data is promised something, there is `check_data=False`: with True the promise is checked before anything is launched.
    `header` are paragraphs of the docstring, and `maker` is what the runtime makes of the table: a `launcher`, or a `chooser` among several.
    """
    name = identifier(program.name)
    body = [*(docstring(*header) if header else []), f"return {name}_launch({', '.join(arguments(program))})"]
    function = block(f"def {name}{signature(program)}", body)
    made = ["", "", f"{name}_launch = runtime.{maker}({name}_spec, globals())"]
    return joined_lines([*_assigned(f"{name}_spec", table), "", "", *function, *made])


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
