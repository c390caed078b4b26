"""Texts brought to life: kept on disk by content, imported, called.

Comes in: a text; the text of a module. Goes out: the path of a file that holds exactly that text; a Python module, imported from such a file, because
numba keeps compiled kernels beside files. The one idea: a text is its own key, so nothing is ever stale: the same text is the same module, in this
process and in the next. An entry is written whole and moved into its place, and read back before it is trusted, so neither two processes nor a full
disk can leave a wrong one.
"""

from __future__ import annotations

import atexit
import functools
import hashlib
import importlib.util
import shutil
import sys
import tempfile
import threading
from pathlib import Path
from types import ModuleType

from tinygpu import runtime
from tinygpu.runtime.cubins import _cache_folder, _write_whole


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
    made = sys.modules.setdefault(runtime.LOADED, ModuleType(runtime.LOADED))
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
