"""Short names of a module: the usual machine of an op, and the launcher for the dtype of the first array.

    relu = relu_v4        def relu(x, *, out=None, stream=None): return runtime.by_dtype("relu", "x", x, {"f32": relu_f32, …})(x, out=out, stream=stream)

Comes in: a module and the programs of its launchers. Goes out: the short names that do nothing but hand on. The one idea: such a name
adds nothing: it passes what it gets, and each launcher in its table is of the dtype that it stands by.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from tinygpu.program.step import Program
from tinygpu.validate.form import signature
from tinygpu.validate.module import Module
from tinygpu.validate.typed import Differs


def dispatched(module: Module, programs: Mapping[str, Program]) -> Iterator[str]:
    """The short names of a module; one may stand for another one before it."""
    known = {*programs}
    for node in module.tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name(id=of)) if of in known:
                known.add(name)
                yield name
            case ast.FunctionDef(name=name, body=[ast.Expr(value=ast.Constant()), ast.Return(value=ast.Call() as call)]):
                if name not in programs and _hands_on(node, call, programs):
                    known.add(name)
                    yield name


def _hands_on(function: ast.FunctionDef, call: ast.Call, programs: Mapping[str, Program]) -> bool:
    """Whether a function passes its arguments, each under its name, to a launcher for the dtype of one of them."""
    places, keywords = [a.arg for a in function.args.args], [a.arg for a in function.args.kwonlyargs]
    same = [ast.unparse(a) for a in call.args] == places
    if not same or [(k.arg, ast.unparse(k.value)) for k in call.keywords] != [(k, k) for k in keywords]:
        return False
    match call.func:
        case ast.Call(
            func=ast.Attribute(ast.Name("runtime"), "by_dtype"),
            args=[_, _, ast.Name(id=given), ast.Dict(keys=keys, values=values)],
            keywords=[],
        ):
            if given not in places:
                return False
            position = places.index(given)
            return all(
                isinstance(k, ast.Constant)
                and isinstance(v, ast.Name)
                and v.id in programs
                and [t.dtype for t in programs[v.id].op.inputs][position] == k.value
                and _takes(function, programs[v.id])
                for k, v in zip(keys, values, strict=True)
            )
    return False


def _takes(function: ast.FunctionDef, program: Program) -> bool:
    """Whether a short name takes what the launcher of a program does."""
    try:
        signature(function, program)
    except Differs:
        return False
    return True
