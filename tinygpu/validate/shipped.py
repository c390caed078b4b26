"""What is the same in every module: the helpers, compared word for word with the files that they are copies of.

Comes in: a module. Goes out: each helper that is not what this toolchain ships, and each line at the top that is none of a module's.
The one idea: a kernel calls helpers by name, and they are atoms of its proof; so each name has one meaning, which is known.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Collection, Iterator
from functools import cache
from importlib.resources import files

from tinygpu.validate.module import Module, names_of
from tinygpu.validate.typed import Differs, unread

FILES = (
    "prelude",
    "constant",
    "cooperation",
    "counted",
    "division",
    "wide_access",
    "trigonometry",
    "conversion",
    "support",
    "support_number",
    "support_call",
    "support_cubin",
    "support_cuda",
    "support_data",
)
IMPORTED = frozenset(  # `import m`, and `from m import n` as "m.n"
    {"contextlib", "ctypes", "functools", "hashlib", "importlib", "math", "operator", "os", "re", "struct", "sys", "tempfile", "threading"}
    | {"numpy as np", "importlib.metadata", "pathlib.Path", "typing.Any", "typing.NoReturn", "typing.TypeAlias"}
    | {"numba.get_num_threads", "numba.njit", "numba.prange", "numba.types", "numba.extending.intrinsic", "numba.extending.models"}
    | {"numba.extending.register_model", "llvmlite.ir", "llvmlite.binding.get_host_cpu_features", "__future__.annotations"}
)  # fmt: skip
QUIET = frozenset(  # calls and decorators that only make something
    {"njit", "inlined", "intrinsic", "register_model", "get_host_cpu_features", "get_host_cpu_features().get", "Lanes"}
    | {"lanes_operation", "lanes_choice", "functools.cache", "ir.VectorType", "ir.FloatType", "ir.DoubleType", "ir.IntType"}
    | {"np.float32", "np.float64"}
)


@cache
def helpers() -> dict[str, ast.stmt]:
    """The helpers of this toolchain: their names, and what stands behind each."""
    found: dict[str, ast.stmt] = {}
    for file in FILES:  # what else is in `prelude` puts these together, and stands in no module
        source = (files("tinygpu") / "emit" / f"{file}.py").read_text(encoding="utf-8")
        for node in ast.parse(source).body:
            if not isinstance(node, ast.Import | ast.ImportFrom) and (file != "prelude" or names_of(node) == ["cuda_names"]):
                found |= dict.fromkeys(names_of(node), node)
    return found


def check(module: Module, others: Collection[str]) -> Iterator[Differs]:
    """What at the top of a module is not as it is shipped. `others` are names that are looked at elsewhere."""
    known, seen = helpers(), set[str]()
    for number, node in enumerate(module.tree.body):
        names = names_of(node)
        for name in names:
            if name in seen:
                yield Differs(node, f"{name} is given a second time", "every name of a module has one meaning")
            if name in vars(builtins) and name not in others:
                yield Differs(node, f"{name} hides a name of Python", "every name of a module has one meaning")
            seen.add(name)
        match node:
            case ast.Expr(value=ast.Constant(value=str())) if number == 0:
                continue
            case ast.Import() | ast.ImportFrom():
                yield from _imported(node)
            case ast.Assign() if names == ["__all__"]:
                yield from _offered(node, others)
            case ast.AnnAssign() if names == ["Array"]:
                if ast.unparse(node) != "Array: TypeAlias = Any":
                    yield unread(node, "Array is Any")
            case ast.FunctionDef() | ast.ClassDef() | ast.Assign() | ast.AnnAssign() if names:
                for name in names:
                    if name in known and ast.dump(node) != ast.dump(known[name]):
                        yield Differs(
                            first_difference(node, known[name]),
                            f"{name} is not the helper of that name",
                            "it is the same in every module",
                        )
                if not set(names) & (known.keys() | set(others)) and not quiet(node):
                    yield unread(node, f"{', '.join(names)} is nothing of a module")
            case _:
                yield unread(node, "is no statement of a module")
    if len(module.tree.body) < 2 or ast.unparse(module.tree.body[1]) != "from __future__ import annotations":
        yield unread(module.tree.body[0], "annotations are to be postponed, so that none of them is run")
    for name in sorted({*needed(module)} - seen):
        if name in known:
            yield Differs(module.tree.body[-1], f"{name} is missing", "a helper that is called is there")


def first_difference(node: ast.AST, other: ast.AST) -> ast.AST:
    """The innermost place of a tree from which on it is another one."""
    if type(node) is type(other):
        for name, mine in ast.iter_fields(node):
            theirs = getattr(other, name, None)
            pairs = zip(mine, theirs, strict=False) if isinstance(mine, list) and isinstance(theirs, list) else ((mine, theirs),)
            for a, b in pairs:
                if isinstance(a, ast.AST) and isinstance(b, ast.AST) and ast.dump(a) != ast.dump(b):
                    inner = first_difference(a, b)
                    return inner if hasattr(inner, "lineno") else node
    return node


def quiet(node: ast.stmt) -> bool:
    """Whether a statement does nothing when a module is imported, but give its names: what the CPU kernels call is looked at with them."""
    match node:
        case ast.FunctionDef(decorator_list=decorators, args=arguments):
            given = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
            made, run = [*decorators], [*arguments.defaults, *(d for d in arguments.kw_defaults if d)]
            run += [a.annotation for a in given if a.annotation]
        case ast.ClassDef(decorator_list=decorators, bases=bases, body=body, keywords=[]):
            if not all(
                isinstance(s, ast.FunctionDef | ast.Expr) and (not isinstance(s, ast.FunctionDef) or quiet(s)) for s in body
            ):
                return False
            made, run = [*decorators], [*bases]
        case ast.Assign(targets=[ast.Name()], value=value):
            made, run = [], [value]
        case _:
            return False
    called = [n.func for part in (*made, *run) for n in ast.walk(part) if isinstance(n, ast.Call)]
    named = [n for n in made if not isinstance(n, ast.Call)]
    return all(re.sub(r"_f\d\d$", "", ast.unparse(f)) in QUIET for f in (*called, *named))


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[Differs]:
    place = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
    named = {place + (f"{a.name} as {a.asname}" if a.asname else a.name) for a in node.names}
    if not named <= IMPORTED or (isinstance(node, ast.ImportFrom) and node.level):
        yield unread(node, f"{ast.unparse(node)} is no import of a module")


def _offered(node: ast.Assign, launchers: Collection[str]) -> Iterator[Differs]:
    """`__all__`: launchers and their short names, so that what a user imports is what was looked at."""
    match node.value:
        case ast.List(elts=elts):
            names = [e.value if isinstance(e, ast.Constant) else "" for e in elts]
            wrong = [e for e, name in zip(elts, names, strict=True) if name not in launchers]
            if wrong:
                yield Differs(wrong[0], f"offers {ast.unparse(wrong[0])}", "a module offers launchers")
        case _:
            yield unread(node, "__all__ is a list")


def missing(module: Module) -> Iterator[Differs]:
    """Names that nothing gives a meaning, and that are no helper's."""
    for name, node in needed(module).items():
        if name not in module.names and name not in helpers():
            yield Differs(node, f"uses {name}, which has no meaning here", "what a module uses is in it")


def needed(module: Module) -> dict[str, ast.Name]:
    """The names that a module uses, and that no function of it gives a meaning, nor Python."""
    every = [n for node in module.tree.body for n in ast.walk(node)]
    own = {n.id for n in every if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    own |= {n.arg for n in every if isinstance(n, ast.arg)} | {
        n.name for n in every if isinstance(n, ast.FunctionDef | ast.ClassDef)
    }
    own |= {n.name for n in every if isinstance(n, ast.ExceptHandler) and n.name} | {*vars(builtins), "__file__", "__name__"}
    inside = (n for n in every if isinstance(n, ast.Import | ast.ImportFrom) and n not in module.tree.body)
    own |= {name for node in inside for name in names_of(node)}
    return {n.id: n for n in every if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and n.id not in own}
