"""What a launcher is made of, before anybody asks what it does: its arguments, and a few kinds of expressions.

    def m(a: float, x: Array, *, n: int, out: Array = None, stream: Any = None) -> Array

Comes in: the function of a launcher. Goes out: an error for whatever is of another kind. The one idea: the readers of statements look at
what they need; that nothing beside it runs anything (a default, an annotation, an argument of a message) is said here, of all of it.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Sequence

from tinygpu.program.step import Program
from tinygpu.validate.promised import looks, promises
from tinygpu.validate.shipped import helpers
from tinygpu.validate.typed import Differs, unread

KINDS = (
    (ast.Assign, ast.Expr, ast.If, ast.Return, ast.Name, ast.Constant, ast.Call, ast.Attribute, ast.Subscript, ast.Tuple, ast.Dict)
    + (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.expr_context)
)  # fmt: skip
NUMBERS = ("int", "max", "min", "_index")


def formed(function: ast.FunctionDef, program: Program, names: Collection[str] = ()) -> None:
    """That a launcher is made of these kinds alone, its checks of data aside, that it calls helpers and its own kernels, and, where the
    `names` of its module are known, that each name has a value before it is used. Raises Differs."""
    own = {f"_{function.name}_cuda", *(f"_{function.name}_cuda_{n}" for n in range(len(program.launches)))}
    for stmt in function.body:
        if looks(stmt):
            continue  # `data.py` reads all of it
        for node in ast.walk(stmt):
            if not isinstance(node, KINDS):
                raise unread(node if hasattr(node, "lineno") else stmt, f"{type(node).__name__} is nothing of a launcher")
            if isinstance(node, ast.Call) and not (
                isinstance(node.func, ast.Name) and (node.func.id in own or node.func.id in NUMBERS or node.func.id in helpers())
            ):
                raise unread(node, f"{ast.unparse(node.func)} is no helper, and no kernel of this launcher")
    if names:
        given = {a.arg for a in (*function.args.args, *function.args.kwonlyargs)}
        valued(function.body, given | {*names, *helpers(), *vars(builtins)})
    if not isinstance(function.body[-1], ast.Return):
        raise Differs(function.body[-1], "is the last that is done here", "a launcher returns its outputs")


def valued(body: Sequence[ast.stmt], known: set[str]) -> set[str]:
    """The names that have a value after these statements. Raises Differs where one is used that has none."""
    for stmt in body:
        inner = [n for s in (*stmt.body, *stmt.orelse) for n in ast.walk(s)] if isinstance(stmt, ast.If) else []
        skipped = {*map(id, inner)}
        for node in ast.walk(stmt):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in skipped and node.id not in known:
                raise Differs(node, f"uses {node.id}, which has no value here", "a name has a value before it is used")
        if isinstance(stmt, ast.If) and not looks(stmt):
            ways = [valued(part, {*known}) for part in (stmt.body, stmt.orelse) if not part or not _ends(part[-1])]
            known = set.intersection(*ways) if ways else known
        elif not isinstance(stmt, ast.If):
            known = known | {n.id for n in ast.walk(stmt) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return known


def _ends(stmt: ast.stmt) -> bool:
    return isinstance(stmt, ast.Return)


def signature(function: ast.FunctionDef, program: Program) -> None:
    """The arguments: inputs by place, sizes that a caller gives and what belongs to every launcher by name. Raises Differs."""
    given, op = function.args, program.op
    rest = {"out": ("Array", "None"), "stream": ("Any", "None")}
    rest |= {"workspace": ("Array", "None")} if program.workspaces else {}
    rest |= {"check_data": ("bool", "False")} if promises(program) else {}
    if len(given.args) != len(op.inputs) or given.vararg or given.kwarg or given.posonlyargs or function.decorator_list:
        raise Differs(function, f"takes {len(given.args)} arrays and scalars", f"the op has {len(op.inputs)}")
    if given.defaults:
        raise unread(given.defaults[0], "an array has no default")
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
