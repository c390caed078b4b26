"""What every emitted module does for a GPU: compile a kernel at its first call, keep it on disk, launch it on the caller's stream.

Comes in: a kernel function with its signature, pointers and sizes. Goes out: one launch through `cuda.core`; nothing waits.
The one idea: a cubin is keyed by everything that made it (source, architecture, versions), so a cache is never wrong, only cold.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import tempfile
import threading
from importlib import metadata
from pathlib import Path
from typing import Any

from tinygpu.emit.support import _fail

# ── support: CUDA ──────────────────────────────────────────────────────────────────────────────────────────────────


def _device_of(pointer: int) -> int:
    """The GPU that a pointer belongs to; of an empty array, which has none, the current one."""
    from cuda.bindings import driver
    from cuda.core import Device

    if pointer:
        attribute = driver.CUpointer_attribute.CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL
        error, ordinal = driver.cuPointerGetAttribute(attribute, pointer)
        if not int(error):
            return int(ordinal)
    return int(Device().device_id)


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
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(named) if named else base / "tinygpu"


def _stored(path: Path) -> bytes | None:
    """What `_store` wrote there; None if it is missing or not whole."""
    try:
        held = path.read_bytes()
    except OSError:
        return None
    return held[32:] if hashlib.sha256(held[32:]).digest() == held[:32] else None


def _store(path: Path, content: bytes) -> None:
    """Write the content with its checksum, whole or not at all; a folder that cannot be written is no error, only slower."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(hashlib.sha256(content).digest() + content)
        os.replace(name, path)
    except OSError:
        return


class _Cuda:
    """One kernel: its function and signature, compiled for each architecture it meets."""

    def __init__(self, name: str, kernel: Any, signature: Any, threads: int, source: str):
        self.name, self.kernel, self.signature, self.threads, self.source = name, kernel, signature, threads, source
        self.loaded: dict[int, Any] = {}
        self.lock = threading.Lock()

    def cubin(self, arch: tuple[int, int]) -> bytes:
        """The machine code for `arch`, from the disk if it was made before. Needs no GPU."""
        versions = [f"{p}={metadata.version(p)}" for p in ("numba", "numba-cuda", "cuda-core", "nvidia-nvvm", "nvidia-nvjitlink")]
        key = "\n".join([self.source, self.name, repr(self.signature), repr(arch), str(self.threads), *versions])
        path = _cache_folder() / "cubin" / (hashlib.sha256(key.encode()).hexdigest() + ".cubin")
        held = _stored(path)
        if held is None:
            held = self.compile(arch)
            _store(path, held)
        return held

    def compile(self, arch: tuple[int, int]) -> bytes:
        """numba's NVVM for the text of PTX, nvJitLink for the assembly."""
        from cuda.core import Linker, LinkerOptions, ObjectCode
        from numba import cuda

        ptx, _ = cuda.compile_ptx(self.kernel, self.signature, cc=arch, launch_bounds=self.threads)
        entry = re.search(r"\.entry\s+(\w+)", ptx)
        assert entry is not None
        ptx = ptx.replace(entry[1], self.name)
        linker = Linker(ObjectCode.from_ptx(ptx.encode()), options=LinkerOptions(arch=f"sm_{arch[0]}{arch[1]}"))
        return bytes(linker.link("cubin").code)

    def __call__(self, view: Any, stream: int, blocks: int, *arguments: Any) -> None:
        """Launch on the GPU of `view`; the caller's current device is as it was."""
        from cuda.core import Device, LaunchConfig, Stream, launch

        before, device = Device(), Device(view.device)
        if before.device_id != device.device_id:
            device.set_current()
        try:
            code = self.loaded.get(view.device)
            if code is None:
                device.set_current()
                code = self.load(device)
            queue = Stream.from_handle(stream) if stream else device.default_stream
            launch(queue, LaunchConfig(grid=blocks, block=self.threads), code, *arguments)
        finally:
            if before.device_id != device.device_id:
                before.set_current()

    def load(self, device: Any) -> Any:
        from cuda.core import ObjectCode

        with self.lock:
            if device.device_id not in self.loaded:
                capability = device.compute_capability
                code = ObjectCode.from_cubin(self.cubin((capability.major, capability.minor)))
                self.loaded[device.device_id] = code.get_kernel(self.name)
            return self.loaded[device.device_id]
