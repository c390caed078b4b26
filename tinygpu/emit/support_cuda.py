"""What every emitted module does for a GPU: compile a kernel at its first call, keep it on disk, launch it on the caller's stream.

Comes in: a kernel function with its signature, pointers and sizes. Goes out: one launch through `cuda.core`; nothing waits.
The one idea: a cubin is keyed by everything that made it (source, architecture, versions), so a cache is never wrong, only cold.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import sys
import tempfile
import threading
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from tinygpu.emit.support import _fail

# ── support: CUDA ──────────────────────────────────────────────────────────────────────────────────────────────────


def _stream_of(function: str, stream: Any, family: str, device: int) -> int:
    """The handle of the stream to launch on: the one given, else the current one of torch or CuPy, else the default stream."""
    if stream is None:
        if family == "torch":
            return int(sys.modules["torch"].cuda.current_stream(device).cuda_stream)
        if family == "cupy":
            return int(sys.modules["cupy"].cuda.get_current_stream().ptr)
        return 0
    if isinstance(stream, int) and not isinstance(stream, bool):
        return stream
    if hasattr(stream, "__cuda_stream__"):
        protocol = stream.__cuda_stream__
        return int((protocol() if callable(protocol) else protocol)[1])
    for name in ("cuda_stream", "ptr", "handle"):  # torch, CuPy, numba
        handle = getattr(stream, name, None)
        if handle is not None:
            return int(getattr(handle, "value", handle) or 0)
    _fail(TypeError, "TG816", function, f"stream must be a CUDA stream or its handle, not {type(stream).__name__}")


def _cache_folder() -> Path:
    """Where cubins are kept: TINYGPU_CACHE, else the user's cache folder."""
    named = os.environ.get("TINYGPU_CACHE")
    if named:
        return Path(named)
    try:
        home = Path.home()
    except RuntimeError:  # no home at all
        home = Path(tempfile.gettempdir())
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "tinygpu"


def _stored(path: Path) -> bytes | None:
    """What `_store` wrote there; None if it is missing or not whole."""
    try:
        held = path.read_bytes()
    except OSError:
        return None
    return held[32:] if hashlib.sha256(held[32:]).digest() == held[:32] else None


def _store(path: Path, content: bytes) -> None:
    """Write the content with its checksum, whole or not at all; a folder that cannot be written is no error, only slower."""
    name = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(hashlib.sha256(content).digest() + content)
        os.replace(name, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(name)
        if not isinstance(error, OSError):
            raise


def _aligned(*pairs: tuple[Any, int]) -> bool:
    """Whether the memory of each view starts at a multiple of that many bytes, as wide accesses need it."""
    return all(view.pointer % count == 0 for view, count in pairs)


def _memory(number: Any, dtype: str) -> Any:
    """A scalar as the kernel takes it: of 16-bit floats the bits, of a truth value a byte."""
    if dtype == "f16":
        return np.float16(number).view(np.uint16)
    if dtype == "bf16":
        return np.uint16(int(np.float32(number).view(np.uint32)) >> 16)
    return np.uint8(number) if dtype == "bool" else number


class _Cuda:
    """The kernel of one launch: `make(bits, wide)` gives its function and signature; compiled for each architecture that it meets.
    `shared` are the bytes of a block's memory that the launch gives, where they are more than a kernel may have by itself."""

    def __init__(self, name: str, make: Any, threads: int, least: tuple[int, int], key: str, shared: int = 0):
        self.name, self.make, self.threads, self.least, self.key, self.shared = name, make, threads, least, key, shared
        self.loaded: dict[tuple[int, int, bool], Any] = {}
        self.lock = threading.Lock()

    def cubin(self, arch: tuple[int, int], bits: int, wide: bool) -> bytes:
        """The machine code for `arch`, from the disk if it was made before. Needs no GPU."""
        versions = [f"{p} {metadata.version(p)}" for p in ("numba", "numba-cuda", "cuda-core", "nvidia-nvvm", "nvidia-nvjitlink")]
        key = "\n".join([self.key, self.name, str(arch), str(bits), str(wide), str(self.threads), *versions])
        path = _cache_folder() / "cubin" / (hashlib.sha256(key.encode()).hexdigest() + ".cubin")
        held = _stored(path)
        if held is None:
            held = self.compile(arch, bits, wide)
            _store(path, held)
        return held

    def compile(self, arch: tuple[int, int], bits: int, wide: bool) -> bytes:
        """numba's NVVM for the text of PTX, nvJitLink for the assembly."""
        from cuda.core import Linker, LinkerOptions, ObjectCode
        from numba import cuda

        kernel, signature = self.make(bits, wide)
        ptx, _ = cuda.compile_ptx(kernel, signature, cc=arch, launch_bounds=self.threads)
        entry = re.search(r"\.entry\s+(\w+)", ptx)
        assert entry is not None
        ptx = ptx.replace(entry[1], self.name)
        linker = Linker(ObjectCode.from_ptx(ptx.encode()), options=LinkerOptions(arch=f"sm_{arch[0]}{arch[1]}"))
        return bytes(linker.link("cubin").code)

    def __call__(self, view: Any, stream: int, bits: int, wide: bool, blocks: int, *arguments: Any) -> None:
        """Launch on the GPU of `view`, without waiting; the caller's current device is as it was."""
        if blocks == 0:
            return
        from cuda.core import LEGACY_DEFAULT_STREAM, Device, LaunchConfig, Stream, launch

        try:
            before = Device()
        except RuntimeError as error:  # the driver's library is not there
            _fail(RuntimeError, "TG815", self.name, f"this machine has no driver for GPUs: {error}".split("\n")[0])
        device = Device(view.device)
        device.set_current()
        try:
            code = self.loaded.get((view.device, bits, wide)) or self.load(device, bits, wide)
            queue = Stream.from_handle(stream) if stream else LEGACY_DEFAULT_STREAM
            launch(queue, LaunchConfig(grid=blocks, block=self.threads, shmem_size=self.shared), code, *arguments)
        finally:
            if before.device_id != device.device_id:
                before.set_current()

    def load(self, device: Any, bits: int, wide: bool) -> Any:
        from cuda.core import ObjectCode

        with self.lock:
            key = (device.device_id, bits, wide)
            if key not in self.loaded:
                capability = device.compute_capability
                arch = (capability.major, capability.minor)
                if arch < self.least:
                    has, needs = (f"sm_{a}{b}" for a, b in (arch, self.least))
                    _fail(RuntimeError, "TG815", self.name, f"proved on {needs} and newer; GPU {device.device_id} is {has}")
                code = ObjectCode.from_cubin(self.cubin(arch, bits, wide)).get_kernel(self.name)
                if self.shared:
                    self.allow(code, device)
                self.loaded[key] = code
            return self.loaded[key]

    def allow(self, code: Any, device: Any) -> None:
        """Let the kernel's blocks have that much memory, if this GPU has it."""
        from cuda.bindings import driver

        attribute = driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        (error,) = driver.cuKernelSetAttribute(attribute, self.shared, code.handle, driver.CUdevice(device.device_id))
        if error != driver.CUresult.CUDA_SUCCESS:
            said = f"a block needs {self.shared} bytes of shared memory, which GPU {device.device_id} does not give: {error.name}"
            _fail(RuntimeError, "TG815", self.name, said)


def _need_cuda(function: str) -> None:
    """The libraries of the GPU path, or what to install."""
    try:
        import cuda.core  # noqa: F401
        import numba.cuda  # noqa: F401
    except ImportError as error:
        _fail(ImportError, "TG815", function, f"arrays on a GPU need numba-cuda[cu13] and cuda-core: {error}")
