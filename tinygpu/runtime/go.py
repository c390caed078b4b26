"""What a launcher does when all of a call has been looked at: by the names of views and sizes, on a CPU or on a GPU.

    def go(v_x, …, v_y, …, n_M, …, stream)        `v_` what is seen of inputs, outputs, workspaces; `n_` sizes

Comes in: a launcher's table. Goes out: the lines behind its checks, and what these are given where they are a function. The one idea: whether a call comes from a user or from a
pipeline, which has seen all of it, what is done then is the same text; only what nobody proves is asked in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tinygpu.runtime.conditions import _limit, _python

_INT32, _INT64 = 2**31 - 1, 2**63 - 1
_COUNTED = 2**63 - 2**32  # a CPU kernel has indices of 64 bits, and loops that count beyond their ends
_ELSEWHERE = "is written for a CPU, and these arrays are on a GPU: copy them to the CPU, or build a machine for a GPU"
_ON_CPU = "stream is for arrays on a GPU; these are on the CPU, where a call returns when it is done"
_Spec = Mapping[str, Any]


def _seen(spec: _Spec, spaces: Iterable[str] | None = None) -> list[str]:
    """What `go` is given, by place; `spaces` are its workspaces, where they go by other names."""
    arrays = [f"v_{name}" for name in (*spec["inputs"], *spec["outputs"])]
    spaces = [f"v_{name}" for name in spec["workspaces"]] if spaces is None else spaces
    return [*arrays, *spaces, *(f"n_{size}" for size in spec["sizes"]), "stream"]


def _started(spec: _Spec) -> Iterator[str]:
    """Inputs that outputs go on from, then the kernels."""
    inputs = _views(name for name, (_, shape) in spec["inputs"].items() if shape is not None)
    for part in (_continued(spec, inputs), _on_cpus(spec), _on_gpus(spec)):
        yield from part


def _continued(spec: _Spec, inputs: str) -> Iterator[str]:
    """What goes on from an input begins as it, wherever it lies."""
    for number, place, goes_on in spec.get("inplace", ()):
        if goes_on:
            yield f"_copied({spec['name']!r}, v_{[*spec['outputs']][number]}, ({inputs})[{place}], stream)"


def _on_cpus(spec: _Spec) -> Iterator[str]:
    yield f"if {_first(spec)}.device < 0:"
    if spec["counted"]:
        yield from ("    " + line for line in _bounded(spec, spec["counted"], _COUNTED))
    arguments = [f"v_{n}" + (".base" if shape is not None else "") for n, (_, shape) in spec["inputs"].items()]
    arguments += [f"v_{name}.base" for name in spec["outputs"]]
    for name, (dtype, shape) in spec["cpu"].items():
        made = f"_allocate({spec['name']!r}, {name!r}, {_first(spec)}, {dtype!r}, {_extents(shape)}, None).base"
        arguments.append(f"v_{name}.base" if spec["workspaces"].get(name) == (dtype, shape) else made)
    yield "    if stream is not None:"
    yield f"        _fail(TypeError, 'TG816', {spec['name']!r}, {_ON_CPU!r})"
    yield f"    _on_cpu({', '.join(['cpu', *arguments, *(f'n_{s}' for s in spec['sizes'])])})"


def _on_gpus(spec: _Spec) -> Iterator[str]:
    """One call for each launch: the device's view, the stream, the variant, the blocks, then the kernel's own arguments."""
    yield "else:"
    if not spec["launches"]:
        yield f"    _fail(TypeError, 'TG818', {spec['name']!r}, {_ELSEWHERE!r})"
        return
    fits = " and ".join(f"{_term(spec, limit)} <= {_INT32}" for limit in spec["limits"])
    yield f"    bits = {f'32 if {fits} else 64' if fits else '32'}"
    if fits:
        yield "    if bits == 64:"
        yield from ("        " + line for line in _bounded(spec, spec["limits"], _INT64))
    yield f"    stream = _stream_of({spec['name']!r}, stream, {', '.join(f'v_{name}' for name in _with_memory(spec))})"
    yield from ("    " + line for line in _wide(spec))
    yield "    index = np.int32 if bits == 32 else np.int64"
    arguments = [f"v_{n}.pointer" for n in _with_memory(spec)] + [f"v_{n}.pointer" for n in spec["workspaces"]]
    arguments += [f"_memory(v_{n}, {dtype!r})" for n, (dtype, shape) in spec["inputs"].items() if shape is None]
    arguments += [f"index(n_{size})" for size in spec["sizes"]] + [f"*_strides(v_{name})" for name in spec.get("strided", ())]
    around: tuple[tuple[str, str], ...] = ()
    for number, (_, blocks, *_) in enumerate(spec["launches"]):
        turns = spec["turns"][number] if "turns" in spec else ()
        same = next((n for n, (a, b) in enumerate(zip(around, turns, strict=False)) if a != b), min(len(around), len(turns)))
        for depth, (name, extent) in enumerate(turns):
            if depth >= same:
                yield f"    {'    ' * depth}for t_{name} in range({_python(extent)}):"
        around, inner = turns, "    " * (len(turns) + 1)
        yield f"{inner}blocks = {_python(blocks)}"
        if not blocks.isdigit():
            yield f"{inner}if blocks > {_INT32}:"
            yield inner + _refusal(spec, "TG810", f"too large: the number of blocks, {blocks}, has to be at most {_INT32}")
        given = ", ".join([*arguments, *(f"index(t_{name})" for name, _ in turns), *["*mapped"] * bool(spec.get("maps"))])
        yield f"{inner}cuda_{number}({_first(spec)}, stream, bits, wide, blocks, {given})"


def _wide(spec: _Spec) -> Iterator[str]:
    """Whether arrays lie as wide accesses and tensor copies need them; and the maps of the latter, for kernels that make none zeros."""
    (asks, aligned), maps = spec["wide"], spec.get("maps", ())
    pairs = ", ".join(f"(v_{name}, {size})" for name, size in aligned.items())
    tests = [*(f"({_python(a)})" for a in asks), *[f"_aligned({pairs})"] * bool(aligned)] if aligned or maps else ["False"]
    yield f"wide = {' and '.join(tests) or 'True'}"
    if maps:
        yield f"mapped = maps({', '.join(f'v_{name}' for name, _, _ in maps)}) if wide else ()"
        yield f"wide, mapped = bool(mapped), mapped or {(0,) * len(maps)!r}"


def _bounded(spec: _Spec, limits: tuple[str, ...], largest: int) -> Iterator[str]:
    """No call has so large sizes that an index does not fit."""
    yield f"if {' or '.join(f'{_term(spec, limit)} > {largest}' for limit in limits)}:"
    yield _refusal(spec, "TG810", f"too large: {' and '.join(limits)} has to be at most {largest}")


def _refusal(spec: _Spec, code: str, said: str) -> str:
    """The line under a condition that sizes fail."""
    return f"    _refused({spec['name']!r}, {code!r}, {said!r}, {_known(spec)})"


def _term(spec: _Spec, limit: str) -> str:
    """A limit, which may speak of scalars too: each is a whole number of Python."""
    scalars = "|".join(name for name, (_, shape) in spec["inputs"].items() if shape is None)
    made = f"({_limit(limit)})"
    return re.sub(rf"\bn_({scalars})\b", r"int(v_\1)", made) if scalars else made


def _first(spec: _Spec) -> str:
    """The first output: what the call is made for is where it is."""
    return f"v_{next(iter(spec['outputs']))}"


def _with_memory(spec: _Spec) -> list[str]:
    return [name for name, (_, shape) in (spec["inputs"] | spec["outputs"]).items() if shape is not None]


def _views(names: Any) -> str:
    return "(" + "".join(f"v_{name}, " for name in names) + ")"


def _extents(shape: tuple[str, ...]) -> str:
    return "(" + "".join(f"{_python(extent)}, " for extent in shape) + ")"


def _known(spec: _Spec) -> str:
    return "{" + ", ".join(f"{size!r}: n_{size}" for size in spec["sizes"]) + "}"
