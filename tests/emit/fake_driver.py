"""A stand-in for the driver of a GPU: the libraries of the launch path run as they are, on a library that notes what it is asked.

Comes in: a C compiler. Goes out: a folder with `libcuda.so.1` for LD_LIBRARY_PATH, and what a process sees of the driver's side.
The one idea: the driver is the last thing below Python, so with another one all of the launch path runs, and nothing of it is replaced.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
LAUNCHED = ctypes.CFUNCTYPE(
    None, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, *(ctypes.c_uint,) * 3, ctypes.c_size_t, ctypes.c_size_t,
    ctypes.POINTER(ctypes.c_uint64),
)  # fmt: skip


def built(folder: Path) -> Path:
    """The folder with the driver in it; a skip where there is no compiler, or nothing that asks a driver."""
    pytest.importorskip("cuda.core", reason="cuda-core is not installed: pip install 'tinygpu[cuda]'")
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("no C compiler on Linux to build the stand-in with")
    made = folder / "libcuda.so.1"
    command = [compiler, "-O1", "-shared", "-fPIC", "-o", str(made), str(HERE / "fake_driver.c"), "-ldl"]
    subprocess.run(command, check=True, capture_output=True)
    return folder


def run(folder: Path, code: str, *arguments: str, seconds: int = 300) -> str:
    """The output of a Python process that has this driver. Raises AssertionError with what it said, where it fails."""
    libraries = os.pathsep.join(filter(None, [str(folder), os.environ.get("LD_LIBRARY_PATH")]))
    env = {**os.environ, "LD_LIBRARY_PATH": libraries, "TINYGPU_CACHE": str(folder / "cache")}
    env["PYTHONPATH"] = os.pathsep.join([str(ROOT), *sys.path])
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, env=env, timeout=seconds)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class Driver:
    """The driver's side, in a process that has it."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL("libcuda.so.1")
        self.library.fake_noted.restype = ctypes.c_char_p
        self.library.fake_context.restype = ctypes.c_size_t
        self.kept: Any = None

    def noted(self) -> list[str]:
        """The calls since the last time this was asked."""
        names = self.library.fake_noted().decode().split()
        self.library.fake_forget()
        return [str(name) for name in names]

    def illegal(self) -> int:
        """How many calls a driver would have refused, because a stream was captured."""
        return int(self.library.fake_illegal())

    def on_launch(self, words: int, function: Callable[..., None], maps: int = 0) -> None:
        """`function(code, name, blocks, threads, shared, stream, context, values)` at each launch of up to `words` arguments; the last are `maps`, of 16 words each."""

        def called(code: bytes, size: int, name: bytes, *rest: Any) -> None:
            function(code.decode(), name.decode(), *rest[:-1], [int(rest[-1][k]) for k in range(words + 15 * maps)])

        self.kept = LAUNCHED(called)
        self.library.fake_words(words, maps)
        ctypes.c_void_p.in_dll(self.library, "fake_on_launch").value = ctypes.cast(self.kept, ctypes.c_void_p).value
