"""The text of an emitted module as a module.

Comes in: text. Goes out: a Python module, imported from a file of the cache, because numba keeps compiled kernels beside files.
The one idea: the same text is the same module, in this process and, through the cache, in the next.
"""

from __future__ import annotations

import importlib.util
import sys
import threading
from types import ModuleType

from tinygpu import runtime
from tinygpu.run.cache import digest, keep

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
