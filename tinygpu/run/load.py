"""Texts brought to life: kept on disk by content, imported, called; kernels compiled and assembled without a GPU.

Comes in: a text; the text of a module; a program and an architecture. Goes out: the path of a file that holds exactly that text; a Python module, imported from
such a file, because numba keeps compiled kernels beside files; for each launch its registers, memory and spills, which are those of the very text that is emitted. The one idea: a text is its own key, so nothing is ever stale: the same text is the same module, in this
process and in the next. An entry is written whole and moved into its place, and read back before it is trusted, so neither two processes nor a full
disk can leave a wrong one.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import importlib.util
import re
import shutil
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from tinygpu import runtime
from tinygpu.emit.cuda import block_threads, cuda_source, kernel_name
from tinygpu.hardware.arch import Assembled
from tinygpu.program.step import Program
from tinygpu.runtime.cubins import _cache_folder, _write_whole
from tinygpu.runtime.cuda import _Cuda


@functools.cache
def _temporary() -> Path:
    """A folder of this process, for a host whose cache folder cannot be written."""
    made = Path(tempfile.mkdtemp(prefix="tinygpu-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def digest(text: str) -> str:
    """The key of a text: 32 hexadecimal digits.

    >>> digest("x")
    '2d711642b726b04401627ca9fbac32f5'
    """
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def keep(text: str, kind: str, name: str) -> Path:
    """`text → path of a file that holds it`, under `kind/<hash>/name`. Falls back to a temporary folder where nothing can be written."""
    for base in (_cache_folder(), _temporary()):
        path = base / kind / digest(text) / name
        if holds(path, text):
            return path
        try:
            _write_whole(path, text.encode())
        except OSError:
            continue
        return path
    raise OSError(f"neither the cache {_cache_folder()} nor a temporary folder can be written")


def holds(path: Path, text: str) -> bool:
    """Whether a file is there and is exactly that text."""
    try:
        return path.read_bytes() == text.encode()
    except OSError:
        return False


_LOCK = threading.Lock()


def _package() -> ModuleType:
    """The package of all modules that are loaded here: the runtime is in it, as it is beside modules that are built into a folder."""
    made = sys.modules.setdefault("tinygpu_loaded", ModuleType("tinygpu_loaded"))
    made.__path__ = []
    setattr(made, runtime.NAME, runtime.loaded())
    return made


def load(text: str, name: str = "kernels") -> ModuleType:
    """`text of a module → module`. The same text gives the same module object; `name` is for messages only.

    >>> load("answer = 42").answer
    42
    """
    title = f"{_package().__name__}.{name}_{digest(text)}"
    with _LOCK:
        if title in sys.modules:
            return sys.modules[title]
        path = keep(text, "modules", f"{name}.py")
        spec = importlib.util.spec_from_file_location(title, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[title] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[title]
            raise
        return module


# ── kernels without a GPU ────────────────────────────────────────────────────────────────────────────────────────────


Arch = tuple[int, int] | tuple[int, int, str]


def assembled(program: Program, arch: tuple[int, int], wide: bool = True) -> tuple[Assembled, ...]:
    """`program → what the assembler says of each of its launches`, for indices of 32 bits. Needs numba-cuda and cuda-core, and no GPU."""
    space, threads = loaded(program), [block_threads(launch) for launch in program.launches]
    names = [f"kernel_{n}" for n in range(len(threads))]
    makers = [space[kernel_name(program, n)] for n in range(len(threads))]
    code = [_Cuda(*each, (0, 0), "").ptx(arch, 32, wide) for each in zip(names, makers, threads, strict=True)]
    _, said = linked(code, arch)
    return tuple(report_of(program.name, said[name]) for name in names)


def loaded(program: Program) -> Mapping[str, Any]:
    """The names of a module that holds the kernels, and what they take of the runtime."""
    space: dict[str, Any] = {"Any": Any} | {name: getattr(runtime.loaded(), name) for name in runtime.offered()}
    exec(compile(cuda_source(program), f"<kernels of {program.name}>", "exec"), space)
    return space


def linked(kernels: Sequence[str], arch: Arch) -> tuple[bytes, dict[str, str]]:
    """`PTX of one kernel… → machine code of all, and what the assembler says of each, by name`. Raises what nvJitLink raises."""
    from cuda.core import Linker, LinkerOptions, ObjectCode

    target = "sm_" + "".join(map(str, arch))
    codes = [ObjectCode.from_ptx(ptx.encode()) for ptx in kernels]
    linker = Linker(*codes, options=LinkerOptions(arch=target, verbose=True, ptxas_options=["-v"]))
    code = bytes(linker.link("cubin").code)
    return code, read_log(linker.get_info_log())


def report_of(name: str, said: str) -> Assembled:
    """The numbers in what the assembler said of one kernel."""

    def largest(*patterns: str) -> int:
        return max((int(found) for pattern in patterns for found in re.findall(pattern, said)), default=0)

    return Assembled(
        kernel=name,
        registers=largest(r"[Uu]sed (\d+) registers"),
        stack_bytes=largest(r"(\d+) bytes stack frame", r"(\d+) stack"),
        spill_bytes=largest(r"(\d+) bytes spill stores") + largest(r"(\d+) bytes spill loads"),
        local_bytes=largest(r"(\d+) bytes lmem"),
        shared_bytes=largest(r"(\d+) bytes smem"),
    )


def read_log(log: str) -> dict[str, str]:
    """The assembler's log by kernel.

    >>> read_log("Function properties for 'a':\\nused 5 registers\\nFunction properties for 'b':\\nused 7 registers")["b"]
    'used 7 registers'
    """
    found: dict[str, str] = {}
    name = ""
    for line in log.splitlines():
        heading = re.search(r"(?:Function properties for|Compiling entry function) '?(\w+)'?", line)
        name = heading[1] if heading else name
        if not heading:
            found[name] = "\n".join(filter(None, (found.get(name, ""), line)))
    return found
