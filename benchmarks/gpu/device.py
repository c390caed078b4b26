"""A GPU by its driver alone: memory, a stream, events, graphs; nothing of torch or CuPy.

Comes in: the ordinal of a GPU. Goes out: arrays with a CUDA array interface, and times of graphs in seconds.
The one idea: the primary context is everybody's, so what other libraries put on this stream is timed by the same events.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

PERIOD = 1 << 20  # elements that are drawn; larger arrays repeat them
TYPES = {"bf16": "<u2", "bool": "|b1", "f16": "<f2", "f32": "<f4", "f64": "<f8", "i32": "<i4", "i64": "<i8", "i8": "|i1", "u32": "<u4", "u8": "|u1"}  # fmt: skip


class NoGpu(RuntimeError):
    """There is no driver, or no GPU; the text says what was missing."""


def in_a_line(error: BaseException) -> str:
    """What went wrong, as a row of a table has room for.

    >>> in_a_line(ValueError("no\\nmore"))
    'ValueError: no'
    """
    return f"{type(error).__name__}: {error}".split("\n")[0][:200]


def checked(answer: tuple[Any, ...], what: str) -> Any:
    """What the driver gave, without its status. Raises RuntimeError with the status, where that is an error."""
    status, *values = answer
    if int(status):
        raise RuntimeError(f"{what}: {status.name}")
    return values[0] if len(values) == 1 else tuple(values)


@dataclass(frozen=True, slots=True)
class Identity:
    """What the numbers were measured on."""

    name: str
    capability: tuple[int, int]
    multiprocessors: int
    l2_bytes: int
    memory_bytes: int
    driver: str

    def facts(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}


class DeviceArray:
    """Memory on the GPU that says what it is; freed with the last reference."""

    def __init__(self, gpu: Gpu, shape: tuple[int, ...], dtype: str):
        self.gpu, self.shape, self.dtype = gpu, tuple(shape), dtype
        self.itemsize = np.dtype(TYPES[dtype]).itemsize
        self.nbytes = math.prod(self.shape) * self.itemsize
        self.pointer = int(checked(gpu.driver.cuMemAlloc(max(1, self.nbytes)), f"{self.nbytes} bytes"))
        said: Any = {"shape": self.shape, "typestr": TYPES[dtype], "strides": None, "version": 3}
        self.__cuda_array_interface__ = {**said, "data": (self.pointer, False)}

    def poison(self) -> DeviceArray:
        """Every byte 255: NaN for floats, −1 for signed integers, the largest for others. Done when it returns: the stream of the benchmark
        waits for no other."""
        if self.nbytes:
            checked(self.gpu.driver.cuMemsetD8(self.pointer, 255, self.nbytes), "poison")
            checked(self.gpu.driver.cuCtxSynchronize(), "poison")
        return self

    def put(self, values: Any) -> DeviceArray:
        """The values of a numpy array, whose bytes are of the same dtype; done when it returns."""
        held = np.ascontiguousarray(values)
        assert held.nbytes == self.nbytes, (held.nbytes, self.nbytes)
        if self.nbytes:
            checked(self.gpu.driver.cuMemcpyHtoD(self.pointer, held.ctypes.data, self.nbytes), "copy to the GPU")
            checked(self.gpu.driver.cuCtxSynchronize(), "copy to the GPU")
        return self

    def get(self) -> Any:
        """The values on the host, after all that was asked of the GPU; bf16 as its bits."""
        made = np.empty(self.shape, TYPES[self.dtype])
        checked(self.gpu.driver.cuCtxSynchronize(), "what was launched")
        if self.nbytes:
            checked(self.gpu.driver.cuMemcpyDtoH(made.ctypes.data, self.pointer, self.nbytes), "copy from the GPU")
        return made

    def __del__(self) -> None:
        if getattr(self, "pointer", 0):
            self.gpu.driver.cuMemFree(self.pointer)


class Gpu:
    """One GPU, its primary context current, and a stream of its own. Raises NoGpu."""

    def __init__(self, ordinal: int = 0):
        try:
            from cuda.bindings import driver
            from cuda.core import Device

            self.driver: Any = driver
            self.ordinal = ordinal
            Device(ordinal).set_current()
            self.stream = int(checked(driver.cuStreamCreate(1), "a stream"))  # 1: does not wait for the legacy stream
            self.events = [checked(driver.cuEventCreate(0), "an event") for _ in range(2)]
        except Exception as error:  # noqa: BLE001  # no library, no driver, no GPU: each of a kind of its own
            raise NoGpu(str(error).split("\n")[0]) from None

    def attribute(self, name: str) -> int:
        wanted = getattr(self.driver.CUdevice_attribute, "CU_DEVICE_ATTRIBUTE_" + name)
        return int(checked(self.driver.cuDeviceGetAttribute(wanted, self.ordinal), name))

    def identity(self) -> Identity:
        """Name, architecture, sizes and the driver's version."""
        name = checked(self.driver.cuDeviceGetName(96, self.ordinal), "name").split(b"\0")[0].decode()
        capability = (self.attribute("COMPUTE_CAPABILITY_MAJOR"), self.attribute("COMPUTE_CAPABILITY_MINOR"))
        version = int(checked(self.driver.cuDriverGetVersion(), "version"))
        memory = int(checked(self.driver.cuDeviceTotalMem(self.ordinal), "memory"))
        counts = self.attribute("MULTIPROCESSOR_COUNT"), self.attribute("L2_CACHE_SIZE")
        return Identity(name, capability, *counts, memory, f"{version // 1000}.{version % 1000 // 10}")

    def empty(self, shape: tuple[int, ...], dtype: str) -> DeviceArray:
        return DeviceArray(self, shape, dtype)

    def free_bytes(self) -> int:
        return int(checked(self.driver.cuMemGetInfo(), "memory")[0])

    def repeat(self, array: DeviceArray, block: Any) -> DeviceArray:
        """The array filled with the block, again and again. Done when it returns."""
        part = DeviceArray(self, block.shape, array.dtype).put(block)
        for start in range(0, array.nbytes, max(1, part.nbytes)):
            self.copy(array.pointer + start, part.pointer, min(part.nbytes, array.nbytes - start))
        self.synchronize()
        return array

    def copy(self, to: int, source: int, count: int) -> None:
        """The driver's own copy within the GPU, on the stream."""
        checked(self.driver.cuMemcpyDtoDAsync(to, source, count, self.stream), "copy")

    def alive(self) -> bool:
        """Whether the GPU still answers: after an illegal address nothing in this process does."""
        return not int(self.driver.cuCtxSynchronize()[0])

    def synchronize(self) -> None:
        checked(self.driver.cuStreamSynchronize(self.stream), "the stream")

    def captured(self, work: Callable[[], Any]) -> Callable[[], None]:
        """What `work` puts on the stream, as a graph: a function that launches all of it on the stream again."""
        relaxed = self.driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        checked(self.driver.cuStreamBeginCapture(self.stream, relaxed), "begin of a capture")
        try:
            work()
        finally:
            graph = checked(self.driver.cuStreamEndCapture(self.stream), "end of a capture")
        ready = checked(self.driver.cuGraphInstantiate(graph, 0), "a graph")

        def replay(keep: Any = (graph, work)) -> None:
            checked(self.driver.cuGraphLaunch(ready, self.stream), "launch of a graph")

        return replay

    def seconds(self, replay: Callable[[], Any]) -> float:
        """The time between two events around what is put on the stream. It is put there twice, and the first time not timed: so the GPU is busy
        while the host says what is timed, and the host's share is in no time. The host waits after."""
        first, last = self.events
        self.synchronize()
        replay()
        checked(self.driver.cuEventRecord(first, self.stream), "an event")
        replay()
        checked(self.driver.cuEventRecord(last, self.stream), "an event")
        checked(self.driver.cuEventSynchronize(last), "what was timed")
        return float(checked(self.driver.cuEventElapsedTime(first, last), "a time")) / 1e3
