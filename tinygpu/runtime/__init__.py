"""What emitted modules call: one file, `tinygpu_runtime.py`, that is written beside them.

Comes in: the files of this folder. Goes out: the text of that file, and its version.
The one idea: a generated file is what its reader came for; what is the same for all of them is here, so what ships is what is tested, and a
module says which text it was built with.
"""

from __future__ import annotations

import ast
import hashlib
import re
import sys
from functools import cache
from importlib.resources import files
from types import ModuleType

NAME = "tinygpu_runtime"
LOADED = "tinygpu_loaded"  # the package of modules that are loaded here
FILES = (
    "launch", "go", "choose", "chain", "conditions", "views", "allocate", "calls", "data", "cubins", "tensor_map", "cuda", "kernel", "memory", "copies", "ring", "tensor", "matrix",
    "values", "arithmetic", "floats", "lanes", "torch_op",
)  # fmt: skip
GIVEN = re.compile(r"^(?:def |class |(?=[\w, ]+ = ))(\w+(?:, \w+)*)", re.MULTILINE)  # names, at the top
OPENING = '''"""What modules emitted by tinygpu call: their launchers, and names of their kernels. Needs numpy and numba, and nothing of tinygpu.

It is written beside the modules, by the tinygpu that they were built with; VERSION is the hash of this text.
"""'''


@cache
def text() -> str:
    """The runtime as one file: the imports of these files, then what follows them in each."""
    parts = [_parted((files(__name__) / f"{name}.py").read_text(encoding="utf-8")) for name in FILES]
    imports = {line for lines, _ in parts for line in lines}
    future, ours = "from __future__ import annotations", "import numpy as np"
    standard = sorted(imports - {future, ours}, key=lambda line: (line.startswith("from"), line))
    body = "\n\n\n".join(rest for _, rest in parts) + "\n"
    version = hashlib.sha256(("\n".join(standard) + body).encode()).hexdigest()[:16]
    return "\n".join([OPENING, "", future, "", *standard, "", ours, "", f'VERSION = "{version}"', "", "", body])


def _parted(source: str) -> tuple[set[str], str]:
    """The imports at the top of a file, which two empty lines end, but for our own; and the text behind them."""
    tree = ast.parse(source.partition("\n\n\n")[0])
    found = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    own = {ast.unparse(node) for node in found if not (isinstance(node, ast.ImportFrom) and str(node.module).startswith("tinygpu"))}
    return own, "\n".join(source.split("\n")[max(node.end_lineno or 0 for node in found) :]).strip("\n")


@cache
def offered() -> frozenset[str]:
    """The names that modules may take from the runtime: those at its top that do not begin with an underscore."""
    return frozenset(name for names in GIVEN.findall(text()) for name in names.split(", ") if not name.startswith("_"))


def version() -> str:
    """The version of the runtime: a hash of its text."""
    return text().partition('\nVERSION = "')[2].partition('"')[0]


@cache
def loaded() -> ModuleType:
    """The runtime as a module, for modules that are loaded without a file of it beside them. It goes by its name in their package, as what numba keeps of kernels is
    found again by the names of modules."""
    made = sys.modules[f"{LOADED}.{NAME}"] = ModuleType(f"{LOADED}.{NAME}", OPENING.strip('"'))
    made.__file__ = f"<{NAME} of tinygpu>"
    exec(compile(text(), made.__file__, "exec"), vars(made))
    return made


VERSION = version()
HEAD = f"""
from __future__ import annotations

import os
import sys
from typing import Any, TypeAlias

import numpy as np
from numba import get_num_threads, njit, prange

if __package__:
    from . import {NAME} as runtime
else:
    try:
        import {NAME} as runtime
    except ModuleNotFoundError:  # this file is loaded by itself, from a folder that is not on the path
        sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
        import {NAME} as runtime

        del sys.path[0]

if getattr(runtime, "VERSION", "") != "{VERSION}":
    raise ImportError(f"TG819 {{__file__}} was built with another version of {{runtime.__file__}}: build them again, into one folder")
"""
