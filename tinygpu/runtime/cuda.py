"""What emitted modules do for a GPU: compile a kernel at its first call, and launch it on the caller's stream.

Comes in: a kernel function with its signature, pointers and sizes. Goes out: one launch through `cuda.core`; nothing waits.
The one idea: all that takes long is done at a first call, so that a call is one call of the driver.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import importlib
import itertools
import re
import struct
import sys
import threading
from typing import Any

import numpy as np

from tinygpu.runtime import VERSION
from tinygpu.runtime.cubins import _cache_folder, _for_linker, _store, _stored, _toolchain
from tinygpu.runtime.kernel import _library
from tinygpu.runtime.tensor_map import _with_maps
from tinygpu.runtime.views import _driver, _fail, _importing


def _stream_of(function: str, stream: Any, *views: Any) -> int:
    """The handle of the stream to launch on: the one given, else the current one of torch or CuPy, of whichever the first array is that is
    of either, else the default stream."""
    if stream is None:
        for view in views:
            if view.family == "torch":
                torch = sys.modules["torch"]
                handle = getattr(getattr(torch, "_C", None), "_cuda_getCurrentRawStream", None)  # makes no object of the stream
                return int(handle(view.device)) if handle else int(torch.cuda.current_stream(view.device).cuda_stream)
            if view.family == "cupy":
                return int(sys.modules["cupy"].cuda.get_current_stream(view.device).ptr)
        return 0
    if isinstance(stream, (int, np.integer)) and not isinstance(stream, bool):
        return int(stream)
    if hasattr(stream, "__cuda_stream__"):
        protocol = stream.__cuda_stream__
        return int((protocol() if callable(protocol) else protocol)[1])
    for name in ("cuda_stream", "ptr", "handle"):  # torch, CuPy, numba
        handle = getattr(stream, name, None)
        if handle is not None:
            return int(getattr(handle, "value", handle) or 0)
    _fail(TypeError, "TG816", function, f"stream must be a CUDA stream or its handle, not {type(stream).__name__}")


def _aligned(*pairs: tuple[Any, int]) -> bool:
    """Whether the memory of each view starts at a multiple of that many bytes, as wide accesses need it."""
    for view, count in pairs:  # noqa: SIM110  # a generator for all() takes twice as long
        if view.pointer % count:
            return False
    return True


def _memory(number: Any, dtype: str) -> Any:
    """A scalar as the kernel takes it: of 16-bit floats the bits, of a truth value a byte."""
    if dtype == "f16":
        return np.float16(number).view(np.uint16)
    if dtype == "bf16":
        return np.uint16(int(np.float32(number).view(np.uint32)) >> 16)
    return np.uint8(number) if dtype == "bool" else number


@functools.cache
def _context(function: str, device: int) -> Any:
    """What a GPU's work is done in, held for good."""
    driver = _driver()
    driver.cuInit(0)
    status, context = driver.cuDevicePrimaryCtxRetain(device)
    if int(status):
        _fail(RuntimeError, "TG815", function, f"GPU {device} cannot be used: {status.name}")
    return context


def _need_cuda(function: str, library: str) -> None:
    """A library of the GPU path, or what to install."""
    try:
        with _importing():
            importlib.import_module(library)
    except ImportError as error:
        _fail(ImportError, "TG815", function, f"arrays on a GPU need numba-cuda[cu13] and cuda-core: {error}")


def _arch(arch: tuple[Any, ...]) -> str:
    """What an architecture is called: `sm_90a`."""
    return "sm_" + "".join(map(str, arch))


class _Cuda:
    """The kernel of one launch: `make(bits, wide)` gives its function and signature; compiled for each architecture that it meets.
    `least` is the architecture that it was proved on, with a letter where no newer one has what it takes. `shared` are the bytes of a block's memory that
    the launch gives, where they are more than a kernel may have by itself; `maps` is how many tensors the wide one copies boxes of, `cluster` how many blocks run
    at one time and know of each other."""

    def __init__(
        self,
        name: str,
        make: Any,
        threads: int,
        least: tuple[Any, ...],
        key: str,
        shared: int = 0,
        *,
        maps: int = 0,
        cluster: int = 1,
    ):
        self.name, self.make, self.threads, self.least, self.key = name, make, threads, least, key
        self.shared, self.maps, self.cluster = shared, maps, cluster
        self.loaded: dict[tuple[int, int, bool], _Loaded] = {}
        self.lock = threading.Lock()

    def cubin(self, arch: tuple[Any, ...], bits: int, wide: bool) -> bytes:
        """The machine code for `arch`, from the disk if it was made before, by the same toolchain. Needs no GPU."""
        versions = _toolchain()
        if not versions:
            return self.compile(arch, bits, wide)
        key = "\n".join(
            [VERSION, self.key, self.name, str(arch), str(bits), str(wide), str(self.threads), str(self.maps), *versions]
        )
        path = _cache_folder() / "cubin" / (hashlib.sha256(key.encode()).hexdigest() + ".cubin")
        held = _stored(path)
        if held is None:
            held = self.compile(arch, bits, wide)
            _store(path, held)
        return held

    def compile(self, arch: tuple[Any, ...], bits: int, wide: bool) -> bytes:
        """nvJitLink assembles the text of PTX. Where warps say how many registers they need, it has to know that it has the whole program, and does
        so of what is not yet PTX; a linker too old for that gives all warps the same."""
        library = self.library(arch, bits, wide)
        ptx = library.get_asm_str(cc=arch)
        from cuda.bindings.nvjitlink import nvJitLinkError
        from cuda.core import Linker, LinkerOptions, ObjectCode

        if "setmaxnreg" in ptx:
            with contextlib.suppress(nvJitLinkError):
                whole = LinkerOptions(arch=_arch(arch), link_time_optimization=True)
                return bytes(Linker(ObjectCode.from_ltoir(library.get_ltoir(cc=arch)), options=whole).link("cubin").code)
        linker = Linker(ObjectCode.from_ptx(_for_linker(ptx).encode()), options=LinkerOptions(arch=_arch(arch)))
        return bytes(linker.link("cubin").code)

    def ptx(self, arch: tuple[Any, ...], bits: int, wide: bool) -> str:
        """What numba's NVVM makes of the kernel, under its name."""
        return str(self.library(arch, bits, wide).get_asm_str(cc=arch))

    def library(self, arch: tuple[Any, ...], bits: int, wide: bool) -> Any:
        """What numba makes of the kernel, under its name."""
        _need_cuda(self.name, "numba_cuda")
        _need_cuda(self.name, "numba.cuda")
        from numba import cuda

        if "numba_cuda" not in (cuda.__file__ or ""):
            said = "numba-cuda is installed where Python does not run its .pth file: install it into site-packages"
            _fail(ImportError, "TG815", self.name, said)
        kernel, signature = self.make(bits, wide)
        made = _library(kernel, signature, arch, self.threads, self.symbol)
        if self.maps and wide:
            made._llvm_strs = [_with_maps(text, self.symbol, self.maps, arch[0] >= 10) for text in made._llvm_strs]
        return made

    @property
    def symbol(self) -> str:
        """The kernel's name in machine code, where a few words are not names."""
        return self.name + "_kernel" if re.fullmatch(r"_+|WARP_SZ", self.name) else self.name

    def __call__(self, view: Any, stream: int, bits: int, wide: bool, blocks: int, *arguments: Any) -> None:
        """Launch on the GPU of `view`, without waiting; the caller's current device is as it was. 1 is the legacy default stream, by
        whatever rules Python was started."""
        if not blocks:
            return
        loaded = self.loaded.get((view.device, bits, wide)) or self.load(view.device, bits, wide)
        try:
            buffer, places, pack = loaded.spare.pop()
        except IndexError:
            buffer, places, pack = loaded.buffer(arguments)
        pack(buffer, 0, *arguments)
        driver = loaded.driver
        _, before = driver.cuCtxGetCurrent()
        elsewhere = int(before) != loaded.place
        if elsewhere:
            driver.cuCtxSetCurrent(loaded.context)
        try:
            if self.cluster > 1:
                config = _config(driver, blocks, self.threads, self.shared, stream or 1, self.cluster)
                (error,) = driver.cuLaunchKernelEx(config, loaded.function, places, 0)
            else:
                (error,) = driver.cuLaunchKernel(
                    loaded.function, blocks, 1, 1, self.threads, 1, 1, self.shared, stream or 1, places, 0
                )
        finally:
            if elsewhere:
                driver.cuCtxSetCurrent(before)
        loaded.spare.append((buffer, places, pack))
        if error:
            _fail(RuntimeError, "TG815", self.name, f"the driver refuses the launch: {error.name}")

    def load(self, device: int, bits: int, wide: bool) -> _Loaded:
        """The kernel on a GPU: made, or read, and loaded at the first call; other threads that want it wait."""
        _need_cuda(self.name, "cuda.core")
        from cuda.core import Device

        with self.lock:
            if (device, bits, wide) not in self.loaded:
                try:
                    found = Device(device)
                except Exception as error:  # noqa: BLE001  # the driver's library is not there, or does not start
                    _fail(RuntimeError, "TG815", self.name, f"this machine has no driver for GPUs: {error}".split("\n")[0])
                arch = (found.compute_capability.major, found.compute_capability.minor)
                least, letter = self.least[:2], self.least[2:]
                if arch < least or (letter and arch[: 1 + (letter == ("a",))] != least[: 1 + (letter == ("a",))]):
                    needs = f"{_arch(self.least)}{'' if letter else ' and newer'}"
                    _fail(RuntimeError, "TG815", self.name, f"proved on {needs}; GPU {device} is {_arch(arch)}")
                self.loaded[device, bits, wide] = self.placed(found, self.cubin((*arch, *letter), bits, wide))
            return self.loaded[device, bits, wide]

    def placed(self, device: Any, cubin: bytes) -> _Loaded:
        """Machine code in a GPU's memory. A thread that captures a stream may load too, if it says that nothing of it is captured. The context
        is held for good: what loads it for us lets go of it when its thread ends."""
        from cuda.core import ObjectCode

        driver, context = _driver(), _context(self.name, device.device_id)
        _, before = driver.cuCtxGetCurrent()
        relaxed = driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        _, mode = driver.cuThreadExchangeStreamCaptureMode(relaxed)
        try:
            device.set_current()
            try:
                kernel = ObjectCode.from_cubin(cubin).get_kernel(self.symbol)
            except Exception as error:  # noqa: BLE001  # of a kind of its own
                said = f"GPU {device.device_id} cannot load the kernel: {error}".split("\n")[0]
                _fail(RuntimeError, "TG815", self.name, said)
            if self.shared:
                self.allow(kernel, device)
            status, function = driver.cuKernelGetFunction(kernel.handle)
            if self.shared and not int(status):  # what is launched is the function, which a driver may keep apart from the kernel
                attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
                (status,) = driver.cuFuncSetAttribute(function, attribute, self.shared)
            if int(status):
                _fail(RuntimeError, "TG815", self.name, f"GPU {device.device_id} cannot load the kernel: {status.name}")
            with contextlib.suppress(AttributeError, RuntimeError):  # drivers before 12.4 have no such function
                driver.cuFuncLoad(function)  # now, and not when it is first launched
            return _Loaded(kernel, function, context)
        finally:
            driver.cuThreadExchangeStreamCaptureMode(mode)
            driver.cuCtxSetCurrent(before)

    def allow(self, code: Any, device: Any) -> None:
        """Let the kernel's blocks have that much memory, if this GPU has it."""
        driver = _driver()
        attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        (error,) = driver.cuKernelSetAttribute(attribute, self.shared, code.handle, driver.CUdevice(device.device_id))
        if error != driver.CUresult.CUDA_SUCCESS:
            said = f"a block needs {self.shared} bytes of shared memory, which GPU {device.device_id} does not give: {error.name}"
            _fail(RuntimeError, "TG815", self.name, said)


def _config(driver: Any, blocks: int, threads: int, shared: int, stream: int, cluster: int) -> Any:
    """How a kernel is launched of which so many blocks, next to each other, are a cluster."""
    made, asked = driver.CUlaunchConfig(), driver.CUlaunchAttribute()
    asked.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION
    asked.value.clusterDim.x, asked.value.clusterDim.y, asked.value.clusterDim.z = cluster, 1, 1
    made.gridDimX, made.gridDimY, made.gridDimZ = blocks, 1, 1
    made.blockDimX, made.blockDimY, made.blockDimZ = threads, 1, 1
    made.sharedMemBytes, made.hStream, made.attrs, made.numAttrs = shared, driver.CUstream(stream), [asked], 1
    return made


_PACKED = {int: "Q", np.float64: "d", np.float32: "f4x", np.int64: "q", np.int32: "i4x", np.uint32: "I4x", np.uint16: "H6x", np.int8: "b7x", np.uint8: "B7x", bytes: "128s"}  # fmt: skip


class _Loaded:
    """A kernel on one GPU, and memory for its arguments: each has eight bytes, of which the driver takes those that it needs, and a map
    has its own. The driver copies them before a launch returns, so a buffer in `spare` is used again; calls of several threads have one each."""

    __slots__ = ("code", "context", "driver", "function", "place", "spare")

    def __init__(self, code: Any, function: Any, context: Any):
        self.code, self.function = code, function  # without its code the function would be unloaded
        self.context, self.place, self.driver = context, int(context), _driver()
        self.spare: list[tuple[Any, int, Any]] = []

    def buffer(self, arguments: tuple[Any, ...]) -> tuple[Any, int, Any]:
        """Memory for arguments, the address of pointers to each, and how they are written; their types are those of every call."""
        kinds = ["<" + _PACKED[type(a)] for a in arguments]
        ends = [0, *itertools.accumulate(map(struct.calcsize, kinds))]
        memory = (ctypes.c_uint64 * (ends[-1] // 8 + len(kinds) + 1))()
        start = ctypes.addressof(memory)
        memory[ends[-1] // 8 : -1] = [start + end for end in ends[:-1]]
        return memory, start + ends[-1], struct.Struct("<" + "".join(_PACKED[type(a)] for a in arguments)).pack_into
