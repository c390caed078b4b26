"""What an emitted module's tables of calls become: a function that calls launchers in turn, on arrays that lie in one workspace.

Comes in: a table (`NAME_spec`: the arrays and sizes of an op, where each value between its calls lies, and the calls), and the module that it stands in. Goes out: the function that looks at a call's
arrays as every launcher does, makes the workspace or looks at the one it is given, and calls. The one idea: who is called gets arrays like any other caller's, so it checks
them itself; nothing is made where `out` and `workspace` are given, so a CUDA graph holds all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tinygpu.runtime.allocate import _laid  # noqa: F401  # by the text of launchers
from tinygpu.runtime.conditions import _python
from tinygpu.runtime.launch import (
    _arguments,
    _compiled,
    _conditions,
    _extents,
    _inputs,
    _outputs,
    _result,
    _sizes,
    _Spec,
    _workspaces,
)


def chain(spec: _Spec, home: dict[str, Any]) -> Callable[..., Any]:
    """The launcher of a table of calls, for the module whose names are `home`: made at its first call."""
    name = spec["name"]

    def first(*given: Any) -> Any:
        home[f"{name}_launch"] = call = _compiled(name, _calling(spec, home))(home, spec["promises"])
        return call(*given)

    return first


def _calling(spec: _Spec, home: dict[str, Any]) -> Iterator[str]:
    """The text of it, in the names of launchers; `b_` are values between calls."""
    yield "def made(home, promises):"
    yield f"    def launch({', '.join(_arguments(spec, 'workspace'))}):"
    for part in (_inputs, _sizes, _conditions, _outputs, _workspaces, _buffers):
        yield from ("        " + line for line in part(spec))
    for call in spec["calls"]:
        yield f"        home[{call[0] + '_launch'!r}]({', '.join(_handed(spec, home[f'{call[0]}_spec'], *call[1:]))})"
    yield f"        return {_result(spec)}"
    yield "    return launch"


def _buffers(spec: _Spec) -> Iterator[str]:
    """What the calls are given, `a_` inputs and outputs: of a CPU arrays of numpy, whoever's they are, since these are looked at soonest."""
    arrays = [name for name, (_, shape) in (spec["inputs"] | spec["outputs"]).items() if shape is not None]
    for held, where in (("base", f"if v_{next(iter(spec['outputs']))}.device < 0:"), ("owner", "else:")):
        yield where
        yield from (f"    a_{name} = v_{name}.{held}" for name in arrays)
    (arena,) = spec["workspaces"] or ("",)
    if arena:
        yield f"if v_{arena}.pointer % 16:"
        said = f"the workspace {arena} has to begin at a multiple of 16 bytes. Leave out workspace= to have it made"
        yield f"    _fail(ValueError, 'TG813', {spec['name']!r}, {said!r})"
    for name, (dtype, shape, at) in spec["between"].items():
        yield f"{_buffer(name)} = _laid(v_{arena}, {_python(at)}, {dtype!r}, {_extents(shape)})"


def _buffer(name: str) -> str:
    return "b_" + name.replace(".", "_")


def _handed(spec: _Spec, to: _Spec, given: Any, sizes: Any, made: Any, spaces: Any) -> Iterator[str]:
    """What a launcher is given, by place."""
    yield from (_named(spec, one) if isinstance(one, str) else repr(one) for one in given)
    yield from (_python(sizes[size]) for size in to["sizes"] if size not in to["solved"])
    outputs = [_named(spec, name) for name in made]
    yield outputs[0] if len(outputs) == 1 else f"({', '.join(outputs)})"
    yield "stream"
    if to["workspaces"]:
        arrays = [_buffer(name) for name in spaces]
        yield "None" if not arrays else arrays[0] if len(arrays) == 1 else f"({', '.join(arrays)})"
    if to["promises"]:
        yield "False"


def _named(spec: _Spec, name: str) -> str:
    if name in spec["between"]:
        return _buffer(name)
    return f"in_{name}" if name in spec["inputs"] and spec["inputs"][name][1] is None else f"a_{name}"
