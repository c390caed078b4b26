"""What the memory of this GPU gives: the best copy, the best read, and torch's best product of matrices.

Comes in: a GPU, and torch if it is there. Goes out: bytes a second. The one idea: a ceiling is the best that anybody reaches on this machine
in this run, so a share of it means the same on every machine; the kernel that only reads is written here, and is none of ours.
"""

from __future__ import annotations

from typing import Any

from benchmarks.gpu.device import Gpu, checked
from benchmarks.gpu.peers import Library
from benchmarks.gpu.race import Ceilings
from benchmarks.gpu.timing import Contestant, Timed, sets, timed

BYTES = 1 << 28  # of each array
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
    linked = Linker(ObjectCode.from_ptx(ptx.encode()), options=LinkerOptions(arch=f"sm_{arch[0]}{arch[1]}")).link("cubin")
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
    """The ceilings, and what each of the contestants for them reached, in GB a second."""
    count = sets(l2, 2 * size, gpu.free_bytes())
    pairs = [(gpu.empty((size // 4,), "f32").poison(), gpu.empty((size // 4,), "f32").poison()) for _ in range(count)]
    copies = [lambda a=a, b=b: gpu.copy(b.pointer, a.pointer, a.nbytes) for a, b in pairs]  # type: ignore[misc]
    held = [({"x": a}, (b,)) for a, b in pairs]
    others = [c for library in peers for c in [library.contestant("copy", held)] if c]
    copied = timed(gpu, [Contestant("the driver's copy", copies, gpu.captured), *others])
    every = [a for pair in pairs for a in pair]
    scalars = [({"x": a}, (gpu.empty((), "f32"),)) for a in every]
    sums = [c for library in peers for c in [library.contestant("sum", scalars)] if c]
    read = timed(gpu, [Contestant("a kernel that reads", read_calls(gpu, every, reader(arch)), gpu.captured), *sums])
    told = {f"copy, {name}": speed(t, 2 * size) for name, t in copied.items()} | {
        f"read, {n}": speed(t, size) for n, t in read.items()
    }
    best = [max((v for n, v in told.items() if n.startswith(kind) and v), default=0.0) * 1e9 for kind in ("copy", "read")]
    return Ceilings(*best), {name: round(value, 1) for name, value in told.items()}


def speed(found: Timed, moved: int) -> float:
    """GB a second; 0 where it could not be timed."""
    return moved / found.median / 1e9 if found.seconds else 0.0
