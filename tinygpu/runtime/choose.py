"""What an emitted module's tables of cases become: a function that takes the case by the sizes of a call.

Comes in: a table (`NAME_spec`: the arrays and sizes of an op, and its cases in the words of the language), and the module that it stands in. Goes out: the function that looks at a call's
arrays as every launcher does, and hands them on to the launcher of the case. The one idea: which case it is follows from sizes, so one chain of comparisons of integers
decides it; that some case holds is proved, so the last one is not asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tinygpu.runtime.conditions import _python
from tinygpu.runtime.launch import _arguments, _compiled, _conditions, _inputs, _sizes, _Spec


def chooser(spec: _Spec, home: dict[str, Any]) -> Callable[..., Any]:
    """The launcher of a table of cases, for the module whose names are `home`: made at its first call."""
    name = spec["name"]

    def first(*given: Any) -> Any:
        home[f"{name}_launch"] = call = _compiled(name, _choosing(spec, home))(home)
        return call(*given)

    return first


def _choosing(spec: _Spec, home: dict[str, Any]) -> Iterator[str]:
    """The text of it, in the names of launchers."""
    yield "def made(home):"
    yield f"    def launch({', '.join(_arguments(spec, 'workspace'))}):"
    for part in (_inputs, _sizes, _conditions):
        yield from ("        " + line for line in part(spec))
    for number, (where, machine) in enumerate(spec["cases"], 1):
        call = f"return home[{machine + '_launch'!r}]({', '.join(_arguments(home[f'{machine}_spec'], 'None'))})"
        if number < len(spec["cases"]):
            yield f"        if {' and '.join(f'({_python(said)})' for said in where) or 'True'}:"
            yield f"            {call}"
        else:
            yield f"        {call}"
    yield "    return launch"
