"""What an emitted module's tables of calls become: a function that calls launchers in turn, on arrays that lie in one workspace.

Comes in: a table (`NAME_spec`: the arrays and sizes of an op, where each value between its calls lies, and the calls), and the module that it stands in. Goes out: the function that looks at a call's
arrays as every launcher does, makes the workspace or looks at the one it is given, and calls. The one idea: that extents agree, that values lie apart and that who is called may be is proved, and the rest
was looked at once, so what is called is the `go` of each launcher; nothing is made where `out` and `workspace` are given, so a CUDA graph holds all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tinygpu.runtime.allocate import _laid  # noqa: F401  # by the text of launchers
from tinygpu.runtime.conditions import _python
from tinygpu.runtime.go import _ON_CPU, _extents, _first, _Spec, _with_memory
from tinygpu.runtime.launch import _at_first, _both, _compiled


def chain(spec: _Spec, home: dict[str, Any]) -> Callable[..., Any]:
    """The launcher of a table of calls, for the module whose names are `home`."""
    return _at_first(spec["name"], home, lambda: _compiled(spec["name"], _calling(spec, home))(home, spec["promises"]))


def _calling(spec: _Spec, home: dict[str, Any]) -> Iterator[str]:
    """The text of it, in the names of launchers; `b_` are values between calls, `c_` numbers of a call."""
    yield "def made(home, promises):"
    for number, (to, given, *_) in enumerate(spec["calls"]):
        for (name, (dtype, _)), one in zip(home[f"{to}_spec"]["inputs"].items(), given, strict=True):
            if not isinstance(one, str):
                yield f"    c_{number}_{name} = _scalar({to!r}, {name!r}, {one!r}, {dtype!r})"
    yield from _both(spec, [*_calls(spec, home)], _begun)


def _begun(spec: _Spec) -> Iterator[str]:
    """The workspace that is given begins where any element may."""
    for arena in spec["workspaces"]:
        yield f"if v_{arena}.pointer % 16:"
        said = f"the workspace {arena} has to begin at a multiple of 16 bytes. Leave out workspace= to have it made"
        yield f"    _fail(ValueError, 'TG813', {spec['name']!r}, {said!r})"


def _calls(spec: _Spec, home: dict[str, Any]) -> Iterator[str]:
    """On a GPU the stream, which arrays between calls do not tell; what stands between the calls; then the calls."""
    yield f"if {_first(spec)}.device >= 0:"
    yield f"    stream = _stream_of({spec['name']!r}, stream, {', '.join(f'v_{name}' for name in _with_memory(spec))})"
    yield "elif stream is not None:"
    yield f"    _fail(TypeError, 'TG816', {spec['name']!r}, {_ON_CPU!r})"
    (arena,) = spec["workspaces"] or ("",)
    for name, (dtype, shape, at) in spec["between"].items():
        yield f"{_buffer(name)} = _laid(v_{arena}, {_python(at)}, {name!r}, {dtype!r}, {_extents(shape)})"
    for number, (to, *handed) in enumerate(spec["calls"]):
        yield f"home[{to + '_launch'!r}].go({', '.join(_handed(spec, home[f'{to}_spec'], number, *handed))})"


def _buffer(name: str) -> str:
    return "b_" + name.replace(".", "_")


def _handed(spec: _Spec, to: _Spec, number: int, given: Any, sizes: Any, made: Any, spaces: Any) -> Iterator[str]:
    """What `go` is given, by place."""
    for name, one in zip(to["inputs"], given, strict=True):
        yield _named(spec, one) if isinstance(one, str) else f"c_{number}_{name}"
    yield from (_named(spec, name) for name in made)
    yield from (_buffer(name) for name in spaces)
    yield from (_python(sizes[size]) for size in to["sizes"])
    yield "stream"


def _named(spec: _Spec, name: str) -> str:
    return _buffer(name) if name in spec["between"] else f"v_{name}"
