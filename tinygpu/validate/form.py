"""What a launcher is beside its table: its arguments, and one line that hands them on.

    def m(a: float, x: Array, *, n: int, out: Array = None, stream: Any = None) -> Array:    return m_launch(a, x, n, out, stream)

Comes in: the function of a launcher. Goes out: an error for whatever is of another kind. The one idea: nothing beside the table runs
anything, neither a default nor an annotation.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from tinygpu.program.promises import promises
from tinygpu.program.step import Program
from tinygpu.validate.module import Module
from tinygpu.validate.typed import Differs, unread


def formed(module: Module, function: ast.FunctionDef, program: Program, missing: Sequence[str]) -> None:
    """That a launcher hands its arguments on, in their order, to what the runtime makes of its table. Raises Differs."""
    signature(function, program, missing)
    name, given = function.name, [*function.args.args, *function.args.kwonlyargs]
    match function.body:
        case [ast.Expr(ast.Constant(str())), ast.Return(ast.Call() as call)]:
            wanted = f"{name}_launch({', '.join(a.arg for a in given)})"
            if ast.unparse(call) != wanted:
                raise Differs(call, f"returns {ast.unparse(call)}", f"it is {wanted}")
        case _:
            raise Differs(function, "does something else than its table says", "it hands its arguments on")
    made = module.values.get(f"{name}_launch")
    if made is None or ast.unparse(made) != f"{name}_launch = runtime.launcher({name}_spec, globals())":
        raise Differs(made or function, f"{name}_launch is made otherwise", f"the runtime makes it of {name}_spec")


def signature(function: ast.FunctionDef, program: Program, missing: Sequence[str] | None = None) -> None:
    """The arguments: inputs by place, the sizes that no input tells and what belongs to every launcher by name. Raises Differs."""
    given, op = function.args, program.op
    rest = {"out": ("Array", "None"), "stream": ("Any", "None")}
    rest |= {"workspace": ("Array", "None")} if program.workspaces else {}
    rest |= {"check_data": ("bool", "False")} if promises(program) else {}
    if len(given.args) != len(op.inputs) or given.vararg or given.kwarg or given.posonlyargs or function.decorator_list:
        raise Differs(function, f"takes {len(given.args)} arrays and scalars", f"the op has {len(op.inputs)}")
    if given.defaults:
        raise unread(given.defaults[0], "an array has no default")
    sizes = [a.arg for a in given.kwonlyargs if a.arg not in rest] if missing is None else missing
    named = [*(t.name for t in op.inputs), *sizes, *rest]
    for argument, name in zip([*given.args, *given.kwonlyargs], named, strict=False):
        if argument.arg != name and (argument.arg in (*named, *op.sizes) or argument.arg.rstrip("_") != name.rstrip("_")):
            raise Differs(argument, f"takes {argument.arg}", f"in this place it takes {name}")
    kinds = ["Array" if t.shape else "bool" if t.dtype == "bool" else "float" if "f" in t.dtype else "int" for t in op.inputs]
    for argument, kind in zip(given.args, kinds, strict=True):
        _annotated(argument, argument.annotation, kind)
    for argument, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        kind, wanted = rest.pop(argument.arg, ("int", ""))
        _annotated(argument, argument.annotation, kind)
        if (ast.unparse(default) if default else "") != wanted:
            raise unread(default or argument, f"{argument.arg} has {f'the default {wanted}' if wanted else 'no default'}")
    if rest:
        raise Differs(function, f"takes no {', '.join(rest)}", "every launcher does")
    results = ", ".join("Array" for _ in op.outputs)
    _annotated(function, function.returns, results if len(op.outputs) == 1 else f"tuple[{results}]")


def _annotated(at: ast.AST, node: ast.expr | None, wanted: str) -> None:
    """An annotation is run when the module is imported, unless all of them are postponed."""
    if node is None or ast.unparse(node) != wanted:
        raise unread(node or at, f"the annotation here is {wanted}")
