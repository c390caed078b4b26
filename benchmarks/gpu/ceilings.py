"""What this GPU gives: the best copy and the best read of its memory, and the product of large matrices by the libraries that are there.

Comes in: a GPU, and its peers. Goes out: bytes a second, and multiply-adds, two operations each. The one idea: a ceiling is the best that anybody reaches on this machine
in this run, so a share of it means the same on every machine; the kernel that only reads is written here, and is none of ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from benchmarks.gpu.device import PERIOD, DeviceArray, Gpu, checked
from benchmarks.gpu.peers import Library
from benchmarks.gpu.race import Ceilings
from benchmarks.gpu.timing import Contestant, Timed, failed, sets, timed
from tinygpu.runtime.cubins import _for_linker

BYTES = 1 << 28  # of each array that is copied; those that are read are four times as large, as those of the sums are
SIDE = 8192  # of a product
THREADS, TURNS = 512, 8


def reader(arch: tuple[int, int]) -> tuple[bytes, str]:
    """The machine code of a kernel that only reads, eight bytes a thread and turn, and its name."""
    import re

    import numpy

    if not hasattr(numpy, "row_stack"):  # numba-cuda asks for a name that numpy 2.5 dropped
        numpy.row_stack = numpy.vstack  # type: ignore[attr-defined]
    from cuda.core import Linker, LinkerOptions, ObjectCode
    from numba import cuda, types

    u32, f64 = types.uint32, types.float64

    def read_only(x, out, count):  # type: ignore[no-untyped-def]
        step = u32(cuda.gridDim.x * u32(THREADS))
        at = u32(u32(cuda.blockIdx.x) * u32(THREADS) + u32(cuda.threadIdx.x))
        total = f64(0)
        for _ in range(TURNS):
            if at < count:
                total += x[at]
            at = u32(at + step)
        if total == f64(0.1234567):
            out[0] = total

    pointer = types.CPointer(f64)
    ptx, _ = cuda.compile_ptx(read_only, types.void(pointer, pointer, u32), cc=arch, launch_bounds=THREADS)
    entry = re.search(r"\.entry\s+(\w+)", ptx)
    assert entry is not None
    linked = Linker(ObjectCode.from_ptx(_for_linker(ptx).encode()), options=LinkerOptions(arch=f"sm_{arch[0]}{arch[1]}")).link(
        "cubin"
    )
    return bytes(linked.code), entry[1]


def read_calls(gpu: Gpu, arrays: list[Any], code: tuple[bytes, str]) -> list[Any]:
    """A call for each array that reads all of it."""
    import ctypes

    from cuda.core import ObjectCode

    kernel = ObjectCode.from_cubin(code[0]).get_kernel(code[1])
    function = checked(gpu.driver.cuKernelGetFunction(kernel.handle), "the kernel that reads")
    calls = []
    for array in arrays:
        count = array.nbytes // 8
        values = (ctypes.c_uint64 * 3)(array.pointer, array.pointer, count)
        places = (ctypes.c_void_p * 4)(*(ctypes.addressof(values) + 8 * k for k in range(3)), 0)
        blocks = -(-count // (THREADS * TURNS))

        def call(blocks: int = blocks, keep: Any = (kernel, values, places)) -> None:
            at = ctypes.addressof(keep[2])
            checked(gpu.driver.cuLaunchKernel(function, blocks, 1, 1, THREADS, 1, 1, 0, gpu.stream, at, 0), "a read")

        calls.append(call)
    return calls


def ceilings(
    gpu: Gpu, peers: tuple[Library, ...], l2: int, arch: tuple[int, int], size: int = BYTES
) -> tuple[Ceilings, dict[str, Any]]:
    """The ceilings, and what each of the contestants for them reached, in GB a second. One that fails is not known, and says why."""
    told: dict[str, Any] = {}
    best: list[float | None] = []
    side = min(SIDE, size >> 15)
    kinds: tuple[tuple[str, int, Callable[[], Mapping[str, Timed]]], ...] = (
        ("copy", 2 * size, lambda: copies(gpu, peers, l2, size)),
        ("read", 4 * size, lambda: reads(gpu, peers, l2, arch, 4 * size)),
        ("product", 2 * side**3, lambda: products(gpu, peers, side)),
    )
    for kind, count, work in kinds:
        try:
            found = work()
        except Exception as error:  # noqa: BLE001  # the others may still be known
            found = {"all": failed(error)}
        told |= {f"{kind}, {name}": speed(t, count) for name, t in found.items()}
        best.append(max((count / t.median for t in found.values() if t.seconds), default=None))
    return Ceilings(*best), told


def drawn(gpu: Gpu, size: int) -> DeviceArray:
    """Numbers by chance, some again and again."""
    array = gpu.empty((size // 4,), "f32")
    part = np.random.default_rng(size).standard_normal(min(PERIOD, size // 4), dtype=np.float32)
    return gpu.repeat(array, part)


def copies(gpu: Gpu, peers: tuple[Library, ...], l2: int, size: int) -> Mapping[str, Timed]:
    """The driver's copy and those of peers, of arrays of so many bytes."""
    pairs = [(drawn(gpu, size), drawn(gpu, size)) for _ in range(sets(l2, 2 * size, gpu.free_bytes()))]
    calls = [lambda a=a, b=b: gpu.copy(b.pointer, a.pointer, a.nbytes) for a, b in pairs]  # type: ignore[misc]
    others = [c for library in peers for c in [library.contestant("copy", [({"x": a}, (b,)) for a, b in pairs])] if c]
    return timed(gpu, [Contestant("the driver's copy", calls, gpu.captured), *others])


def reads(gpu: Gpu, peers: tuple[Library, ...], l2: int, arch: tuple[int, int], size: int) -> Mapping[str, Timed]:
    """A kernel that reads and the sums of peers, of arrays of so many bytes: as large as the sums that are timed."""
    arrays = [drawn(gpu, size) for _ in range(sets(l2, size, gpu.free_bytes()))]
    scalars = [({"x": a}, (gpu.empty((), "f32"),)) for a in arrays]
    sums = [c for library in peers for c in [library.contestant("sum", scalars)] if c]
    return timed(gpu, [Contestant("a kernel that reads", read_calls(gpu, arrays, reader(arch)), gpu.captured), *sums])


def products(gpu: Gpu, peers: tuple[Library, ...], side: int) -> Mapping[str, Timed]:
    """Square matrices of f32 by the libraries of peers."""
    a, b, c = (drawn(gpu, 4 * side * side) for _ in range(3))
    square = [({"A": view(a, side), "B": view(b, side)}, (view(c, side),))]
    return timed(gpu, [one for library in peers for one in [library.contestant("matmul", square)] if one])


def view(array: DeviceArray, side: int) -> DeviceArray:
    """The same memory as a square."""
    array.shape = (side, side)
    array.__cuda_array_interface__["shape"] = array.shape
    return array


def speed(found: Timed, count: int) -> float | str:
    """1e9 a second, or why it could not be timed."""
    return round(count / found.median / 1e9, 1) if found.seconds else found.wrong
