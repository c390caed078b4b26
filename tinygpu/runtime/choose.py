"""What an emitted module's tables of cases become: a function that takes the case by the sizes of a call.

Comes in: a table (`NAME_spec`: the arrays and sizes of an op, and its cases in the words of the language), and the module that it stands in. Goes out: the function that looks at a call's
arrays as every launcher does, and hands them on to the launcher of the case; its `go` hands on what was seen. The one idea: which case it is follows from sizes, so one chain of comparisons of integers
decides it; that some case holds is proved, so the last one is not asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tinygpu.runtime.conditions import _python
from tinygpu.runtime.go import _seen, _Spec
from tinygpu.runtime.launch import _ENDED, _arguments, _at_first, _compiled, _conditions, _inputs, _sizes


def chooser(spec: _Spec, home: dict[str, Any]) -> Callable[..., Any]:
    """The launcher of a table of cases, for the module whose names are `home`."""
    return _at_first(spec["name"], home, lambda: _compiled(spec["name"], _choosing(spec, home))(home))


def _choosing(spec: _Spec, home: dict[str, Any]) -> Iterator[str]:
    """The text of it, in the names of launchers; `go` is given the workspaces of all cases, `w_`, of which one case needs its own."""
    tables = [home[f"{to}_spec"] for _, to in spec["cases"]]
    spaces = [[f"w_{number}_{name}" for name in to["workspaces"]] for number, to in enumerate(tables)]
    yield "def made(home):"
    yield f"    def go({', '.join(_seen(spec, [name for case in spaces for name in case]))}):"
    yield from _cases(spec, [f".go({', '.join(_seen(to, case))})" for to, case in zip(tables, spaces, strict=True)])
    yield f"    def launch({', '.join(_arguments(spec, 'workspace'))}):"
    for part in (_inputs, _sizes, _conditions):
        yield from ("        " + line for line in part(spec))
    yield from _cases(spec, [f"({', '.join(_arguments(to, 'None'))})" for to in tables])
    yield from _ENDED


def _cases(spec: _Spec, calls: list[str]) -> Iterator[str]:
    """The chain of comparisons, and what is called in each case."""
    cases = spec["cases"]
    for number, ((where, name), call) in enumerate(zip(cases, calls, strict=True), 1):
        indent = "        "
        if number < len(cases):
            yield f"{indent}if {' and '.join(f'({_python(said)})' for said in where) or 'True'}:"
            indent += "    "
        yield f"{indent}return home[{name + '_launch'!r}]{call}"
