"""What emitted modules do to have machine code: what makes it, and the folder in which it is kept.

Comes in: names of libraries, bytes. Goes out: versions, paths, and the bytes of an earlier process.
The one idea: a cubin is keyed by everything that made it (source, architecture, versions), so a cache is never wrong, only cold.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import os
import re
import tempfile
from importlib import metadata
from pathlib import Path


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
    """Write the content with its checksum; a folder that cannot be written is no error, only slower."""
    with contextlib.suppress(OSError):
        _write_whole(path, hashlib.sha256(content).digest() + content)


def _write_whole(path: Path, content: bytes) -> None:
    """Write a file so that another process sees all of it or nothing; its folder is made. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        if os.name == "posix":
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(name, 0o666 & ~mask)  # mkstemp's files are for their owner only
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


@functools.cache
def _toolchain() -> tuple[str, ...]:
    """What makes machine code, with versions; nothing where one of them does not say its own."""
    try:
        return (
            *map(_version, ("numba", "numba-cuda", "cuda-core")),
            _version("nvidia-nvvm", "nvvm"),
            _version("nvidia-nvjitlink", "nvJitLink"),
        )
    except (ImportError, OSError, RuntimeError):  # what cannot be named cannot be kept
        return ()


def _version(package: str, library: str = "") -> str:
    """The version of a package; of a library that was installed by another tool than pip, which file it is."""
    try:
        return f"{package} {metadata.version(package)}"
    except metadata.PackageNotFoundError:
        if not library:
            raise
    pathfinder = importlib.import_module("cuda.pathfinder")
    path = pathfinder.load_nvidia_dynamic_lib(library).abs_path
    found = os.stat(path)
    return f"{path} {found.st_size} {found.st_mtime_ns}"


def _for_linker(ptx: str) -> str:
    """The text for the assembler that is loaded. That may be older than what wrote the text (torch brings one of its own), and refuses a
    version that it does not know; what kernels consist of is in all versions for CUDA 13."""
    from cuda.bindings import nvjitlink

    major, minor = nvjitlink.version()
    said = re.search(r"(?m)^\.version (\d+)\.(\d+)", ptx)
    if said is None or (int(said[1]), int(said[2])) <= (major - 4, minor):
        return ptx
    return f"{ptx[: said.start()]}.version {major - 4}.{minor}{ptx[said.end() :]}"
