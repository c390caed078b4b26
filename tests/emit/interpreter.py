"""CUDA kernels' text run by Python itself: every block in turn, its threads stepped between barriers, on numpy scalars of the very
types that the text names.

Comes in: a program, sizes and inputs. Goes out: its outputs. The one idea: the prelude is replaced, the kernels are not. Pointers refuse
what is outside, wide accesses refuse what is not aligned, unwritten cells are poison, and an index that wraps is an error.
"""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from tests.emit.warps import Block, run_cluster, stopping
from tinygpu.category.dtype import DTYPE, PACKED
from tinygpu.category.encoding import bits_of, nearest_of, of_bits
from tinygpu.category.evaluate import evaluate
from tinygpu.category.number import HELD, load
from tinygpu.emit.cuda import block_threads, cuda_source, kernel_name, kernel_parameters
from tinygpu.program.arrays import arrays, shared_bytes, shared_places, strides
from tinygpu.program.step import Launch, Program, loops_around
from tinygpu.schedule.roles import maps, parameter
from tinygpu.schedule.threads import threads_of

STORED = {"bool": np.uint8, **{name: np.dtype(f"uint{DTYPE[name].bits}") for name in PACKED}}
POISON = 0x5A


class Pointer:
    """A tensor's elements, checked: numpy would read a negative index from the end. `first` is the place of the first one."""

    def __init__(self, elements: np.ndarray, first: int = 0):
        self.elements, self.first = elements, first

    def place(self, offset: Any) -> int:
        place = self.first + int(offset)
        assert 0 <= place < len(self.elements), f"at {place} of {len(self.elements)}"
        return place

    def __getitem__(self, offset: Any) -> Any:
        return self.elements[self.place(offset)]

    def __setitem__(self, offset: Any, value: Any) -> None:
        assert np.result_type(value) == self.elements.dtype or isinstance(value, int), f"{type(value)} into {self.elements.dtype}"
        self.elements[self.place(offset)] = value


def apart(array: np.ndarray) -> np.ndarray:
    """The same elements as a view: columns for rows, backwards along the first axis, and an element between neighbours that is no number."""
    held = local_array((*array.shape[::-1], 2), array.dtype.type)
    held[..., 1] = array[::-1].T
    return held[..., 1].T[::-1]


def pointer_to(array: np.ndarray, strided: bool) -> Pointer:
    """What a kernel is given of an array."""
    if not strided:
        return Pointer(array.reshape(-1))
    whole = array
    while isinstance(whole.base, np.ndarray):
        whole = whole.base
    first = array.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
    return Pointer(whole.reshape(-1).view(array.dtype), first // array.itemsize)


class Word:
    """An unsigned number of 64 bits, whose arithmetic wraps; as an int64 it is the one with these bits."""

    def __init__(self, number: Any):
        assert isinstance(number, np.int64), f"u64 of {type(number)}"
        self.number = int(number)

    def __int__(self) -> int:
        return (self.number + 2**63) % 2**64 - 2**63

    def __add__(self, other: Word) -> Word:
        return self.of(self.number + other.number)

    def __sub__(self, other: Word) -> Word:
        return self.of(self.number - other.number)

    def __mul__(self, other: Word) -> Word:
        return self.of(self.number * other.number)

    @classmethod
    def of(cls, number: int) -> Word:
        return cls(np.int64((number + 2**63) % 2**64 - 2**63))


def unsigned(number: Any) -> Any:
    """A number of 64 bits: of an int64 its bits, which go back into one; else one that stays unsigned."""
    return Word(number) if isinstance(number, np.int64) else np.uint64(number)


def local_array(shape: Any, dtype: Any) -> np.ndarray:
    """Cells that nobody wrote yet."""
    return np.frombuffer(bytes([POISON]) * int(np.prod(shape)) * np.dtype(dtype).itemsize, dtype).reshape(shape).copy()


def division(what: str) -> Callable[[Any, Any], Any]:
    """Of indices that are not negative by positive ones."""

    def divided(a: Any, b: Any) -> Any:
        assert a >= 0 and b > 0, f"{what}({a}, {b})"
        kind = next((type(x) for x in (a, b) if isinstance(x, np.integer)), int)
        return kind({"div": int(a) // int(b), "mod": int(a) % int(b), "ceil": -(-int(a) // int(b))}[what])

    return divided


def constant_memory() -> Callable[[Any], type]:
    return lambda dtype: Pointer


def wide_load(count: int, space: str = "global") -> Callable[..., None]:
    def wide(cells: np.ndarray, pointer: Pointer, offset: Any) -> None:
        aligned(count, cells, offset)
        cells[:] = [pointer[int(offset) + n] for n in range(count)]

    return wide


def wide_store(count: int, space: str = "global") -> Callable[..., None]:
    def wide(pointer: Pointer, offset: Any, cells: np.ndarray) -> None:
        aligned(count, cells, offset)
        for n in range(count):
            pointer[int(offset) + n] = cells[n]

    return wide


class Copies:
    """Copies that land as late as they may: of each thread of a block its groups, the last of which is open."""

    def __init__(self, position: SimpleNamespace):
        self.position, self.groups = position, {}

    def start(self) -> None:
        self.groups = {}

    def mine(self) -> list[list[tuple[Pointer, int, Any]]]:
        return self.groups.setdefault((self.position.blockIdx.x, self.position.threadIdx.x), [[]])

    def wide_copy(self, count: int) -> Callable[..., None]:
        def begin(near: Pointer, to: Any, far: Pointer, start: Any, inside: Any) -> None:
            for offset in (to, start):
                aligned(count, near.elements, offset)
            for n in range(count):
                self.mine()[-1].append((near, int(to) + n, far[int(start) + n] if inside else near.elements.dtype.type(0)))
                near[int(to) + n] = local_array(1, near.elements.dtype)[0]

        return begin

    def copies(self, what: str, count: int = 0) -> Callable[[], None]:
        return lambda: self.mine().append([]) if what == "commit" else self.land(count)

    def land(self, count: int) -> None:
        groups = self.mine()
        while len(groups) > count + 1:
            for pointer, offset, value in groups.pop(0):
                pointer[offset] = value


def aligned(count: int, cells: np.ndarray, offset: Any) -> None:
    size = math.gcd(count * cells.itemsize, 16)
    assert int(offset) * cells.itemsize % size == 0, f"{offset} is not aligned to {size} bytes"


class BlockMemory:
    """What a block has: poison when it starts, and a checked pointer for each array that the launch carves out."""

    def __init__(self, program: Program, number: int):
        launch, shared = program.launches[number], program.shared
        places, self.size = shared_places(launch)
        self.ends = {start: start + shared_bytes(shared[name]) for name, start in places.items()}
        self.bytes = local_array(-(-self.size // 1024) * 1024, np.uint8)

    def start(self, position: SimpleNamespace, block: int, memory: np.ndarray) -> None:
        """From here on the threads of that block run, whose memory this is."""
        position.blockIdx.x, self.bytes = block, memory

    def shared(self, kind: Any, start: int) -> Pointer:
        assert start % 16 == 0
        return Pointer(self.bytes[start : self.ends[start]].view(kind))


def atomic(update: str, space: str) -> Callable[..., None]:
    """An update as one step."""
    combine: Callable[[Any, Any], Any] = {"sum": lambda a, b: a + b, "max": max, "min": min}[update]

    def change(pointer: Pointer, offset: Any, value: Any) -> None:
        pointer[offset] = combine(pointer[offset], value)

    return change


def conversion(name: str) -> Callable[[Any], Any]:
    """What the PTX of that name does."""
    limits = {"i32": np.iinfo(np.int32), "u32": np.iinfo(np.uint32), "i64": np.iinfo(np.int64)}
    kinds = {"i32": np.int32, "u32": np.uint32, "i64": np.int64}
    if name.startswith("trunc_"):
        kind, limit = kinds[name[6:]], limits[name[6:]]
        return lambda x: kind(0 if math.isnan(x) else min(max(math.trunc(min(max(float(x), -1e30), 1e30)), limit.min), limit.max))
    if name.startswith("round_"):
        return lambda x: np.float32(nearest_of(x, name[6:]))
    kind, _, way = name.partition("_")
    return lambda x: bits_of(x, kind)[()] if way == "bits" else np.float32(of_bits(x, kind))


def names_of(bits: int, position: SimpleNamespace) -> SimpleNamespace:
    """The prelude's names as numpy's."""
    names = SimpleNamespace(cuda=position, inf=math.inf, pointer=lambda dtype: Pointer, void=lambda *types: types)
    names.ix = np.int32 if bits == 32 else np.int64
    names.f64, names.f32, names.i64, names.i32, names.i8 = np.float64, np.float32, np.int64, np.int32, np.int8
    names.u64, names.u32, names.u16, names.u8 = unsigned, np.uint32, np.uint16, np.uint8
    functions = {"exp": np.exp, "exp2": np.exp2, "log": np.log, "sqrt": np.sqrt, "tanh": np.tanh, "floor": np.floor, "fabs": np.abs}
    functions |= {"rsqrt": lambda x: type(x)(1) / np.sqrt(x), "erf": lambda x: type(x)(math.erf(x))}
    for name, function in functions.items():
        setattr(names, name, function)
        setattr(names, name + "f", function)
    return names


ORDERS: dict[str, Callable[[int], Sequence[int]]] = {
    "forwards": range,
    "backwards": lambda count: range(count - 1, -1, -1),
    "mixed": lambda count: random.Random(count).sample(range(count), count),
}


def run(
    program: Program,
    sizes: Mapping[str, int],
    inputs: Mapping[str, Any],
    bits: int = 32,
    wide: bool = True,
    most: int = 1 << 16,
    order: str = "forwards",
    idle: Collection[int] = (),
) -> dict[str, np.ndarray]:
    """The outputs, as the kernels leave them; elements that nothing wrote are poison. Of a launch only the first `most` blocks and the
    last one run: a grid of constant extent has many that are idle at small sizes, and so are those of `idle`. `order` is that of the threads
    between barriers."""
    position = SimpleNamespace(
        blockIdx=SimpleNamespace(x=0), threadIdx=SimpleNamespace(x=0), local=SimpleNamespace(array=local_array)
    )
    space, copies = space_of(position), Copies(position)
    space |= {"wide_copy": copies.wide_copy, "copies": copies.copies}
    exec(stopping(cuda_source(program)), space)
    memory = {t.name: memory_of(t.dtype, inputs[t.name]) for t in program.op.inputs}
    memory |= {t.name: apart(memory[t.name]) for t in program.op.inputs if t.strided}
    shapes = {
        a.name: tuple(int(evaluate(e, sizes)) for e in a.extents)
        for a in arrays(program).values()
        if a.space.name in ("output", "workspace")
    }
    for name, shape in shapes.items():
        dtype = arrays(program)[name].dtype
        memory[name] = local_array(shape, STORED.get(dtype, HELD[dtype]))
        if arrays(program)[name].strided:
            memory[name] = apart(memory[name])
    for name, source in program.op.continued.items():
        memory[name][...] = memory[source].reshape(memory[name].shape)
    with warnings.catch_warnings(), np.errstate(over="ignore", invalid="ignore"):
        warnings.filterwarnings("error", "overflow encountered in scalar (add|subtract|multiply)")
        for number, launch, at in in_order(tuple(enumerate(program.launches)), sizes):
            arguments = arguments_of(program, launch, at, memory, bits)
            here = BlockMemory(program, number)
            space["shared_memory"] = lambda size, here=here: here.shared
            kernel, _ = space[kernel_name(program, number)](bits, wide)
            blocks = int(evaluate(launch.blocks, sizes))
            cluster = threads_of(launch.ranks)
            firsts = {*range(0, min(blocks, most), cluster), *range(blocks - cluster, blocks, cluster)}
            for first in sorted(firsts - {-cluster, *idle}):
                copies.start()
                each = [(n, local_array(here.bytes.shape, np.uint8)) for n in range(first, first + cluster)]
                starts = [partial(here.start, position, *one) for one in each]
                run_cluster(
                    position,
                    [Block(start, [kernel(*arguments) for _ in range(block_threads(launch))]) for start in starts],
                    ORDERS[order],
                )
    return {t.name: load(memory[t.name], t.dtype).reshape(shapes[t.name]) for t in program.op.outputs}


def space_of(position: SimpleNamespace) -> dict[str, Any]:
    """The prelude's makers as numpy's."""
    space: dict[str, Any] = {"cuda_names": lambda bits: names_of(bits, position), "wide_load": wide_load, "wide_store": wide_store}
    space |= {
        "division": division,
        "constant_memory": constant_memory,
        "counted": lambda *kind: range,
        "shuffle": lambda mode: None,
        "matrix": lambda text, form: f"{text}|{form}" if text.startswith(("wgmma.", "tcgen05.")) else text,
        "hint": lambda: lambda pointer, offset: pointer[offset],
        "warp_number": lambda: lambda number: number,
        "registers": lambda *how: lambda: None,
        "ring": lambda *how: ("ring", *how),
        "tensor": lambda *how: ("tensor", *how),
        "tensor_copy": lambda *how: ("tensor_copy", *how),
        "atomic": atomic,
    }
    return space | {"conversion": conversion, "angle_function": lambda name: {"s": np.sin, "c": np.cos}[name[0]], "Any": Any}


def in_order(
    launches: Sequence[tuple[int, Launch]], sizes: Mapping[str, int], depth: int = 0
) -> Iterator[tuple[int, Launch, dict[str, int]]]:
    """Launches as they are called, each with the sizes and the turns of the loops around it."""
    for axis, run in loops_around(tuple(launches), depth):
        if axis is None:
            yield *run[0], {**sizes}
        for turn in range(int(evaluate(axis.extent, sizes))) if axis else ():
            yield from in_order(run, {**sizes, axis.name: turn}, depth + 1)


def arguments_of(
    program: Program, launch: Launch, sizes: Mapping[str, int], memory: Mapping[str, np.ndarray], bits: int
) -> list[Any]:
    """What a kernel is called with: pointers, scalars, sizes, strides, turns, maps."""
    boxes = {parameter(one): (memory[one[0]], *one[1:]) for one in maps(program)}
    index, paces = np.int32 if bits == 32 else np.int64, strides(program.op)
    steps = {
        p: np.int64(s // memory[n].itemsize) for n, names in paces.items() for p, s in zip(names, memory[n].strides, strict=True)
    }
    return [
        index(sizes[p.name])
        if p.kind == "size"
        else steps[p.name]
        if p.kind == "stride"
        else pointer_to(memory[p.name], p.name in paces)
        if p.kind == "pointer"
        else boxes[p.name]
        if p.kind == "map"
        else memory[p.name][()]
        for p in kernel_parameters(program, launch)
    ]


def memory_of(dtype: str, values: Any) -> np.ndarray:
    """An input as memory has it."""
    array = np.asarray(values)
    if dtype in PACKED:
        return bits_of(array, dtype)
    return array.astype(STORED.get(dtype, HELD[dtype]))
