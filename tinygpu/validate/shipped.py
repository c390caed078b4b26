"""What stands at the top of a module: imports, the runtime, launchers; nothing that runs when it is imported.

Comes in: a module. Goes out: each line at the top that is none of a module's. The one idea: a kernel calls what the runtime gives, and its
text is known by its version; so each name has one meaning.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Collection, Iterator

from tinygpu.runtime import NAME, VERSION
from tinygpu.validate.module import Module, names_of
from tinygpu.validate.typed import Differs, unread

IMPORTED = frozenset(  # `import m`, and `from m import n` as "m.n"
    {"math", "os", "sys", "numpy as np", "typing.Any", "typing.TypeAlias", "__future__.annotations"}
    | {"numba.get_num_threads", "numba.njit", "numba.prange", "numba.types", "numba.extending.intrinsic", "numba.extending.models"}
    | {"numba.extending.register_model", "llvmlite.ir", "llvmlite.binding.get_host_cpu_features"}
)
HELPERS = frozenset(  # of the runtime, that kernels take their names from
    {"cuda_names", "constant_memory", "counted", "division", "wide_load", "wide_store", "shared_memory", "shuffle", "atomic"}
    | {"conversion", "angle_function"}
)
QUIET = frozenset(  # calls and decorators that only make something
    {"njit", "inlined", "intrinsic", "register_model", "get_host_cpu_features", "get_host_cpu_features().get", "Lanes"}
    | {
        "lanes_operation",
        "lanes_choice",
        "ir.VectorType",
        "ir.FloatType",
        "ir.DoubleType",
        "ir.IntType",
        "np.float32",
        "np.float64",
    }
)
BESIDE = (  # where the runtime is, and which
    f"if __package__:\n    from . import {NAME} as runtime\nelse:\n    try:\n        import {NAME} as runtime\n    except ModuleNotFoundError:\n"
    f"        sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))\n        import {NAME} as runtime\n        del sys.path[0]",
    f"if getattr(runtime, 'VERSION', '') != '{VERSION}':\n    raise ImportError(f'TG819 {{__file__}} was built with another version of {{runtime.__file__}}: "
    "build them again, into one folder')",
)


def check(module: Module, others: Collection[str]) -> Iterator[Differs]:
    """What at the top of a module is not as it is shipped. `others` are names that are looked at elsewhere."""
    seen, beside = {"runtime"}, [*BESIDE]
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
            case ast.If() if beside:
                if ast.unparse(node) != beside.pop(0):
                    yield Differs(node, "takes another runtime", "a module takes the one that it is built with, from beside it")
            case ast.Import() | ast.ImportFrom():
                yield from _imported(node)
            case ast.Assign(value=value) if HELPERS & {*names}:
                if ast.unparse(value) != f"runtime.{names[0]}":
                    yield Differs(node, f"{names[0]} is not the helper of that name", "it is the runtime's")
            case ast.Assign() if names == ["__all__"]:
                yield from _offered(node, others)
            case ast.AnnAssign() if names == ["Array"]:
                if ast.unparse(node) != "Array: TypeAlias = Any":
                    yield unread(node, "Array is Any")
            case ast.FunctionDef() | ast.ClassDef() | ast.Assign() | ast.AnnAssign() if names:
                if HELPERS & {*names} or (not set(names) & set(others) and not quiet(node)):
                    yield unread(node, f"{', '.join(names)} is nothing of a module")
            case _:
                yield unread(node, "is no statement of a module")
    if beside or ast.unparse(module.tree.body[1]) != "from __future__ import annotations":
        yield unread(module.tree.body[0], "annotations are to be postponed, and a module takes the runtime from beside it")


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
    """Names that nothing gives a meaning."""
    for name, node in needed(module).items():
        if name not in module.names and name != "runtime":
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
