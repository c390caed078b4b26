"""What an emitted module's tables of launches become: for each a function, compiled once, in which each check is a line.

Comes in: a table (`NAME_spec`: a literal of names, dtypes, and conditions in the words of the language), and the module that it stands in.
Goes out: the function that looks at a call's arrays, refuses what was not proved, and runs the kernels. The one idea: what differs between
launchers is data, so a reader compares it with the program; what they do with it is the same text, tested once.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tinygpu.runtime.allocate import _allocate, _copied  # noqa: F401  # by the text of launchers
from tinygpu.runtime.calls import (  # noqa: F401
    _distinct,
    _given,
    _on_cpu,
    _refused,
    _same_device,
    _scalar,
    _shape_error,
    _size_given,
    _strides,
    _writable,
)
from tinygpu.runtime.conditions import _divisors, _minus, _python, _surely
from tinygpu.runtime.cuda import _aligned, _Cuda, _memory, _stream_of  # noqa: F401
from tinygpu.runtime.data import _data, _promises  # noqa: F401
from tinygpu.runtime.go import _extents, _first, _known, _refusal, _seen, _Spec, _started, _views, _with_memory
from tinygpu.runtime.tensor_map import _Maps
from tinygpu.runtime.views import _fail, _view  # noqa: F401

_ENDED = ("    launch.go = go", "    return launch")


def launcher(spec: _Spec, home: dict[str, Any]) -> Callable[..., Any]:
    """The launcher of a table, for the module whose names are `home`."""
    name, described = spec["name"], spec.get("maps", ())
    near = spec.get("clusters", (1,) * len(spec["launches"]))
    cuda = [
        _Cuda(name, home[m], *rest, maps=len(described), cluster=n) for (m, _, *rest), n in zip(spec["launches"], near, strict=True)
    ]

    def make() -> Callable[..., Any]:
        made = _compiled(name, _source(spec))
        call = made(home[f"{name}_cpu"], spec["promises"], *([_Maps(spec)] if described else []), *cuda)
        call.cuda = cuda
        return call  # type: ignore[no-any-return]

    first = _at_first(name, home, make)
    first.cuda = cuda  # type: ignore[attr-defined]
    return first


def _at_first(name: str, home: dict[str, Any], make: Callable[[], Any]) -> Callable[..., Any]:
    """A launcher that is made at its first call, after which the module calls it itself. Its `go` is for a caller that has looked at all of a call."""

    def made() -> Any:
        home[f"{name}_launch"] = call = make()
        return call

    def first(*given: Any) -> Any:
        return made()(*given)

    first.go = lambda *given: made().go(*given)  # type: ignore[attr-defined]
    return first


def _compiled(name: str, lines: Iterator[str]) -> Callable[..., Any]:
    """The function `made` of a text."""
    text, file, made = "\n".join(lines), f"<the launcher {name}>", dict[str, Any]()
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)  # so that a traceback shows the check
    exec(compile(text, file, "exec"), globals(), made)
    return made["made"]  # type: ignore[no-any-return]


def _source(spec: _Spec) -> Iterator[str]:
    """The text of a launcher: `in_` are arguments, `v_` what is seen of them, `n_` sizes; so no name of a user's is in the way."""
    given = ["cpu", "promises", *["maps"] * bool(spec.get("maps")), *(f"cuda_{n}" for n in range(len(spec["launches"])))]
    yield f"def made({', '.join(given)}):"
    yield from _both(spec, [*_started(spec)])


def _both(spec: _Spec, then: list[str], *more: Callable[[_Spec], Iterator[str]]) -> Iterator[str]:
    """A launcher's `go`, which is told what was seen of a call and asks what no caller proves; and `launch`, which looks itself, and last at `more`."""
    yield f"    def go({', '.join(_seen(spec))}):"
    yield from ("        " + line for lines in (_data_checked(spec, ("scalars",)), _empty(spec, ""), then) for line in lines)
    yield f"    def launch({', '.join(_arguments(spec, 'workspace'))}):"
    for part in (_inputs, _sizes, _conditions, _outputs, _workspaces, *more):
        yield from ("        " + line for line in part(spec))
    yield from ("        " + line for line in (*then, f"return {_result(spec)}"))
    yield from _ENDED


def _arguments(spec: _Spec, workspace: str) -> list[str]:
    """What a launcher is given, by place; what is said of `workspace` where it has one."""
    arguments = [f"in_{name}" for name in spec["inputs"]] + [f"n_{s}" for s in spec["sizes"] if s not in spec["solved"]]
    return [*arguments, "out", "stream", *[workspace] * bool(spec["workspaces"]), *["check_data"] * bool(spec["promises"])]


def _inputs(spec: _Spec) -> Iterator[str]:
    for name, (dtype, shape) in spec["inputs"].items():
        look = "_scalar" if shape is None else "_view"
        more = "" if shape is None else f", {_shown(shape)!r}, {len(shape)}{_lying(spec, name)}"
        yield f"v_{name} = {look}({spec['name']!r}, {name!r}, in_{name}, {dtype!r}{more})"


def _sizes(spec: _Spec) -> Iterator[str]:
    """Every size from a shape or a keyword, then every extent against the sizes."""
    for size in (s for s in spec["sizes"] if s not in spec["solved"]):
        yield f"n_{size} = _size_given({spec['name']!r}, {size!r}, n_{size})"
    plain = set()
    for size, (name, axis, offset, factor) in spec["solved"].items():
        if spec["inputs"][name][1][axis] == size:
            plain.add((name, axis))
            yield f"n_{size} = v_{name}.shape[{axis}]"
        else:
            yield f"n_{size} = (v_{name}.shape[{axis}] - ({_python(offset)})) // {_python(factor)}"
    for name, (_, shape) in spec["inputs"].items():
        if shape is None or all((name, axis) in plain for axis in range(len(shape))):
            continue
        solved = ((size, place[:2]) for size, place in spec["solved"].items())
        signs = [f"n_{size} < 0" for size, place in solved if place[0] == name and place not in plain]
        yield from _fits(spec, name, shape, signs)


def _fits(spec: _Spec, name: str, shape: tuple[str, ...], signs: list[str]) -> Iterator[str]:
    """The shape of an array against its extents."""
    yield f"if {' or '.join([*signs, f'v_{name}.shape != {_extents(shape)}'])}:"
    yield f"    _shape_error({spec['name']!r}, v_{name}, {_shown(shape)!r}, {_extents(shape)}, {_known(spec)})"


def _conditions(spec: _Spec) -> Iterator[str]:
    """Every precondition. A divisor that is 0 counts as one that does not hold; so does an extent that comes out negative."""
    for said in spec["where"]:
        tests = [f"({divisor}) == 0" for divisor in _divisors(said)]
        yield f"if {' or '.join([*tests, f'not ({_python(said)})'])}:"
        yield _refusal(spec, "TG808", f"proved only where {said}")
    for name, (_, shape) in spec["outputs"].items():
        risky = [f"({_python(extent)}) < 0" for extent in shape if _minus(extent)]
        if risky:
            yield f"if {' or '.join(risky)}:"
            said = f"proved only where {name} of shape {_shown(shape)} exists, so every extent is at least 0"
            yield _refusal(spec, "TG808", said)


def _outputs(spec: _Spec) -> Iterator[str]:
    """Outputs made, or those of `out=` checked; data, where that is asked for; then the early return, if all outputs are empty."""
    inputs = _views(name for name, (_, shape) in spec["inputs"].items() if shape is not None)
    yield f"first = _same_device({spec['name']!r}, {inputs})"
    yield from _arrays(spec, "out", spec["outputs"], "first", inputs)
    yield from _data_checked(spec, ("scalars", "arrays", "nothing"))
    yield from _empty(spec, _result(spec))


def _empty(spec: _Spec, result: str) -> Iterator[str]:
    """There is nothing to do."""
    yield f"if {' and '.join(f'not v_{name}.nbytes' for name in spec['outputs'])}:"
    yield f"    return {result}"


def _workspaces(spec: _Spec) -> Iterator[str]:
    """Workspaces made, or those of `workspace=` checked: they live where the outputs do, and share no memory with anything."""
    if spec["workspaces"]:
        yield from _arrays(spec, "workspace", spec["workspaces"], _first(spec), _views(_with_memory(spec)))


def _arrays(spec: _Spec, keyword: str, arrays: Mapping[str, Any], like: str, others: str) -> Iterator[str]:
    """The arrays of a keyword: made where `like` is, or looked at; those given share no memory with `others`."""
    title, mine = repr(spec["name"]), _views(arrays)
    yield f"if {keyword} is None:"
    for name, (dtype, shape) in arrays.items():
        yield f"    v_{name} = _allocate({title}, {name!r}, {like}, {dtype!r}, {_extents(shape)}, stream)"
    yield "else:"
    yield f"    {mine} = _given({title}, {keyword}, {len(arrays)}, {keyword!r})"
    for number, (name, (dtype, shape)) in enumerate(arrays.items()):
        said = keyword if len(arrays) == 1 else f"{keyword}[{number}]"
        yield f"    v_{name} = _writable({title}, {said!r}, v_{name}, {dtype!r}, {_shown(shape)!r}, {len(shape)}{_lying(spec, name)})"
        yield from ("    " + line for line in _fits(spec, name, shape, []))
    yield f"    _same_device({title}, {others} + {mine})"
    same = f", {tuple((n, place) for n, place, _ in spec['inplace'])!r}" if keyword == "out" and spec.get("inplace") else ""
    yield f"    _distinct({title}, {mine}, {others}{same})"


def _data_checked(spec: _Spec, ways: tuple[str, ...]) -> Iterator[str]:
    """What is promised of scalars, in every call; of arrays, where it is asked for; a promise that no call can check is refused."""
    for word in ways:
        test = "check_data"
        chosen = [n for n, (_, _, _, _, way) in enumerate(spec["promises"]) if way == word]
        if not chosen:
            continue
        if word == "scalars":  # most calls keep them, which is quick to see
            dtypes = {name: dtype for name, (dtype, shape) in spec["inputs"].items() if shape is None}
            test = f"not ({' and '.join(_surely(spec['promises'][n][2], dtypes) for n in chosen)})"
        yield f"if {test}:"
        if word == "nothing":
            said = f"check_data cannot check {spec['promises'][chosen[0]][0]}: it stays an assumption. Call without check_data"
            yield f"    _fail(ValueError, 'TG817', {spec['name']!r}, {said!r})"
            continue
        names = {name for n in chosen for name in spec["promises"][n][3]}
        held = [
            f"{n!r}: _data({spec['name']!r}, {n!r}, v_{n}, {d!r}, stream)" for n, (d, _) in spec["inputs"].items() if n in names
        ]
        yield f"    _promises({spec['name']!r}, [{', '.join(f'promises[{n}]' for n in chosen)}], {{{', '.join(held)}}}, {_known(spec)})"


def _lying(spec: _Spec, name: str) -> str:
    return ", True" if name in spec.get("strided", ()) else ""


def _shown(shape: tuple[str, ...]) -> str:
    return f"[{', '.join(shape)}]"


def _result(spec: _Spec) -> str:
    owners = [f"v_{name}.owner" for name in spec["outputs"]]
    return owners[0] if len(owners) == 1 else f"({', '.join(owners)})"
