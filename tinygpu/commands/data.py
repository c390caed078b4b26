"""The data of a run: sizes, arrays of files, ranges of random numbers, and the rest at random.

Comes in: `--size n=1000 --input x=x.npy --range y=-1..1`. Goes out: sizes and an array for each input of an op. The one idea: an array tells the sizes of its
extents, as it does at a call; and what the op promises of its data is asked of this data before anything is run.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from tinygpu.category.evaluate import evaluate
from tinygpu.category.term import FLOATS, Var, text
from tinygpu.commands.common import brief
from tinygpu.commands.specs import words
from tinygpu.diagnostic import TinygpuError
from tinygpu.record import dataclass

if TYPE_CHECKING:
    from tinygpu.model.choice import Choice
    from tinygpu.model.machine import Machine
    from tinygpu.model.op import Op, Tensor
    from tinygpu.model.pipeline import Pipeline

NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
HOW = "write NAME=FILE.npy, or NAME=NUMBER of a scalar"


@dataclass(frozen=True, slots=True)
class Given:
    """What somebody said of the data: sizes, arrays and numbers, lowest and highest numbers."""

    sizes: dict[str, int]
    arrays: dict[str, Any]
    ranges: dict[str, tuple[float, float]]


def add_data(parser: argparse.ArgumentParser) -> None:
    more: dict[str, Any] = {"action": "append", "default": []}
    parser.add_argument("--size", metavar="NAME=NUMBER", help="a size, as M=512 says it too", **more)
    parser.add_argument("--input", metavar="NAME=FILE", help="an input: a .npy file, or a number for a scalar", **more)
    parser.add_argument("--range", metavar="NAME=LOW..HIGH", help="where the random numbers of an input lie", **more)


def given(arguments: argparse.Namespace, sizes: Mapping[str, int]) -> Given:
    """What the options say, with sizes that were said otherwise. Raises TinygpuError for what cannot be read."""
    said, names = words(arguments.size)
    if names:
        raise TinygpuError.of("TG905", f"{brief(names[0])} is no size", help="write NAME=NUMBER, as in --size M=512")
    ranges = {}
    for word in arguments.range:
        found = re.fullmatch(rf"(\w+)=({NUMBER})\.\.({NUMBER})", word, re.ASCII)
        if not found or not float(found[2]) <= float(found[3]):
            raise TinygpuError.of("TG905", f"{brief(word)} is no range", help="write NAME=LOW..HIGH, as in --range x=-1..1")
        ranges[found[1]] = float(found[2]), float(found[3])
    return Given({**sizes, **said}, dict(map(_read, arguments.input)), ranges)


def _read(word: str) -> tuple[str, Any]:
    """A name with its array."""
    import numpy as np

    name, _, path = word.partition("=")
    if not name.isidentifier() or not path:
        raise TinygpuError.of("TG905", f"{brief(word)} is no input", help=HOW)
    if re.fullmatch(NUMBER, path):
        return name, np.asarray(float(path) if re.search(r"[.eE]", path) else int(path))
    try:
        found = np.load(path, allow_pickle=False)
    except FileNotFoundError:
        raise TinygpuError.of("TG902", f"there is no file {brief(path)}", help=HOW) from None
    except (OSError, ValueError, EOFError) as error:
        raise TinygpuError.of("TG903", f"{brief(path)} is no array: {brief(str(error))}", help="save it with numpy.save") from None
    if not isinstance(found, np.ndarray):
        raise TinygpuError.of("TG903", f"{brief(path)} has several arrays", help="save one with numpy.save")
    return name, found


def known(run: Iterable[Machine | Choice | Pipeline], data: Given) -> None:
    """Raises TG905 for a name that is no input of any that is run."""
    inputs = {t.name for one in run for t in one.op.inputs}
    if missing := sorted({*data.arrays, *data.ranges} - inputs):
        title = f"there is no input {', '.join(missing)}"
        raise TinygpuError.of("TG905", title, help=f"the inputs are {', '.join(sorted(inputs)) or 'none'}")


def told(op: Op, data: Given) -> dict[str, int]:
    """The sizes that are given, and those that arrays tell. Raises TG905 where these are not the same, or an array has another rank."""
    from tinygpu.model.solved import solve

    sizes = dict(data.sizes)
    arrays = {t.name: data.arrays[t.name] for t in op.inputs if t.name in data.arrays}
    found = [
        (e.name, arrays[t.name].shape[axis]) for t in _ranked(op, arrays) for axis, e in enumerate(t.shape) if isinstance(e, Var)
    ]
    for name, size in found:
        if sizes.setdefault(name, size) != size:
            raise TinygpuError.of("TG905", f"{name} is {sizes[name]}, and an input says that it is {size}", help="say it once")
    for one in solve(op)[0]:
        with suppress(KeyError, ValueError, ZeroDivisionError):  # of what is not known yet it is no number
            if one.tensor in arrays and one.size not in sizes:
                extent = arrays[one.tensor].shape[one.axis]
                sizes[one.size] = (extent - int(evaluate(one.offset, sizes))) // int(evaluate(one.factor, sizes))
    return sizes


def _ranked(op: Op, arrays: Mapping[str, Any]) -> list[Tensor]:
    """The inputs that are given, each with as many axes as it has."""
    for tensor in (t for t in op.inputs if t.name in arrays):
        if arrays[tensor.name].ndim != len(tensor.shape):
            title = f"{tensor.name} has {len(tensor.shape)} axes, not {arrays[tensor.name].ndim}"
            raise TinygpuError.of("TG905", title, help=f"its shape is [{', '.join(map(text, tensor.shape))}]")
    return [t for t in op.inputs if t.name in arrays]


def arrays(op: Op, sizes: dict[str, int], data: Given, seed: int) -> dict[str, Any]:
    """An array for each input, a strided one as every other element of a longer one. Raises TG905 for one of another shape or kind, or where the op
    promises something else of its data."""
    import numpy as np

    from tinygpu.category.number import load, outside_dtype
    from tinygpu.simulate.inputs import random_inputs
    from tinygpu.simulate.promised import broken

    found = random_inputs(op, sizes, seed, wide=True)
    chance = np.random.default_rng([seed, 7])
    for t in op.inputs:
        shape, dtype = found[t.name].shape, outside_dtype(t.dtype)
        if t.name in data.ranges:
            low, high = data.ranges[t.name]
            drawn = chance.uniform(low, high, shape) if t.dtype in FLOATS else chance.integers(int(low), int(high) + 1, shape)
            found[t.name] = np.asarray(load(drawn, t.dtype)).astype(dtype)
        if t.name in data.arrays:
            array = data.arrays[t.name]
            if array.shape != shape:
                said = f"{t.name} has the shape {list(array.shape)}, not {list(shape)}"
                raise TinygpuError.of("TG905", said, help="see the sizes")
            if not np.can_cast(array.dtype, np.float64 if t.dtype in FLOATS else dtype, "same_kind"):
                raise TinygpuError.of("TG905", f"{t.name} is {array.dtype}, not {t.dtype}", help=f"save it as {t.dtype}")
            found[t.name] = np.asarray(load(array, t.dtype)).astype(dtype)
        if t.strided:
            found[t.name] = np.stack([found[t.name]] * 2, -1)[..., 0]
    promise, ours = broken(op, sizes, found) if op.promises else None, data.arrays or data.ranges
    if promise is not None:
        said = f"the data is not as {op.name} wants it" if ours else f"no data were found as {op.name} wants them"
        other = "give them, --input NAME=FILE, or say where they lie, --range NAME=LOW..HIGH, or other sizes"
        help = "what is proved is said of such data alone" if ours else other
        raise TinygpuError.of("TG905", f"{said}: {text(promise)}", help=help)
    return found
