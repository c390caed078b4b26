"""What CPU kernels call: the helpers of a module, each compared with what this toolchain ships.

Comes in: the functions that make up a kernel. Goes out: nothing, but that every name in them has the meaning that it is read with, all the
way down; and the dtype of the vectors. The one idea: helpers are atoms of the proof, so their text is known, by its digest: a table that a
test compares with the emitter.
"""

from __future__ import annotations

import ast
import builtins
import copy
import hashlib
import re
from collections.abc import Iterable, Iterator

from tinygpu.validate.cpu_helpers import DIGESTS
from tinygpu.validate.module import Module
from tinygpu.validate.typed import unread

IMPORTS = {
    "np": "import numpy as np", "math": "import math", "njit": "from numba import njit", "prange": "from numba import prange",
    "get_num_threads": "from numba import get_num_threads", "ir": "from llvmlite import ir", "types": "from numba import types",
    "get_host_cpu_features": "from llvmlite.binding import get_host_cpu_features",
    "intrinsic": "from numba.extending import intrinsic", "models": "from numba.extending import models",
    "register_model": "from numba.extending import register_model",
}  # fmt: skip
APART = re.compile(r"\b(lanes_\w+?|LANES|VECTOR|Lanes(?:Model)?)_(f32|f64)\b")


def digest(node: ast.stmt) -> str:
    """What a statement is, without its docstring and its spaces, and without the dtype that its vectors' names may end in.

    >>> digest(ast.parse("def f(x): return x").body[0]) == digest(ast.parse("def f(x):\\n    'the same'\\n    return x").body[0])
    True
    """
    node = copy.deepcopy(node)
    for inner in ast.walk(node):
        if isinstance(inner, ast.FunctionDef | ast.ClassDef) and len(inner.body) > 1 and ast.get_docstring(inner) is not None:
            inner.body = inner.body[1:]
    return hashlib.sha256(APART.sub(r"\1", ast.unparse(node)).encode()).hexdigest()


def given(tree: ast.Module) -> Iterator[tuple[str, ast.stmt]]:
    """Every name that a statement at the top of a module gives a meaning, and the statement."""
    for node in tree.body:
        match node:
            case ast.FunctionDef(name) | ast.ClassDef(name):
                yield name, node
            case ast.Assign(targets):
                yield from ((n.id, node) for t in targets for n in ast.walk(t) if isinstance(n, ast.Name))
            case ast.AnnAssign(ast.Name(name)):
                yield name, node
            case ast.Import(aliases) | ast.ImportFrom(_, aliases):
                yield from ((a.asname or a.name, node) for a in aliases)
            case _:
                yield from ((n.id, node) for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))


def supported(module: Module, functions: Iterable[ast.FunctionDef]) -> str:
    """The dtype of the vectors of a kernel, "" where it has none. Raises Differs where a helper is not what is shipped."""
    top: dict[str, list[ast.stmt]] = {}
    for name, node in given(module.tree):
        top.setdefault(name, []).append(node)
    own = {f.name for f in functions}
    waiting = {name for f in functions for name in _used(f)} - own
    seen: set[str] = set()
    dtype = ""
    while waiting:
        name = waiting.pop()
        seen.add(name)
        if name not in top:
            if name not in vars(builtins):
                raise unread(ast.Pass(lineno=1, col_offset=0), f"{name} is not in the module")
            continue
        if len(top[name]) > 1:
            raise unread(top[name][1], f"{name} has two meanings")
        node = top[name][0]
        if isinstance(node, ast.Import | ast.ImportFrom):
            _imported(node, name)
            continue
        known = DIGESTS.get(APART.sub(r"\1", name), {})
        if digest(node) not in known:
            raise unread(node, f"{name} is not the helper of that name")
        dtype = known[digest(node)] or dtype
        waiting |= _used(node) - seen
    return dtype


def _imported(node: ast.Import | ast.ImportFrom, name: str) -> None:
    alias = next(a for a in node.names if (a.asname or a.name) == name)
    whole = f"from {node.module} " if isinstance(node, ast.ImportFrom) else ""
    if f"{whole}import {alias.name}{f' as {alias.asname}' if alias.asname else ''}" != IMPORTS.get(name):
        raise unread(node, f"{name} is something else")


def _used(node: ast.stmt) -> set[str]:
    """The names of the module that a statement uses: all but its own parameters and variables."""
    inner = [n for n in ast.walk(node) if isinstance(n, ast.Name)]
    own = {n.id for n in inner if isinstance(n.ctx, ast.Store)} | {a.arg for a in ast.walk(node) if isinstance(a, ast.arg)}
    own |= {f.name for f in ast.walk(node) if isinstance(f, ast.FunctionDef | ast.ClassDef)}
    if isinstance(node, ast.Assign):
        own = set()
    return {n.id for n in inner if isinstance(n.ctx, ast.Load)} - own
