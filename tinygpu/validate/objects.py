"""The objects of compiled kernels, at the end of a module: `_NAME_cuda = _Cuda("NAME", NAME_kernel, threads, arch, key, bytes)`.

Comes in: a module, and the launches of a program. Goes out: for each launch the function that makes its kernel; errors where threads, least
architecture or bytes are not the launch's. The one idea: a block has as many threads as the product of its factors, and its memory is what
its arrays take; the key is made of the text, so that no other kernel is found under it.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Mapping
from functools import reduce

from tinygpu.category.term import Const
from tinygpu.program.arrays import STATIC_BYTES, shared_places
from tinygpu.program.step import Launch, Program
from tinygpu.record import dataclass
from tinygpu.validate.module import Module
from tinygpu.validate.typed import Differs, unread

WORDS = ("wide_packed", "wide_unpacked", "wide_streamed")
PARTS = (  # what a kernel calls, and the helpers whose text is part of its key, in this order
    (("constant_memory",), ("constant_memory",)),
    (("counted",), ("counted",)),
    (("division",), ("division",)),
    (("wide_load", "wide_store"), ("wide_shape", "wide_place", "wide_cell", *WORDS, "wide_load", "wide_store")),
    (("shared_memory",), ("shared_memory",)),
    (("shuffle",), ("shuffle_source", "shuffle")),
    (("atomic",), ("atomic",)),
    (("conversion",), ("conversion", "conversion_text")),
    (("angle_function",), ("angle_function", "angle_value", "angle_reduced", "angle_series")),
)


@dataclass(frozen=True, slots=True)
class Object:
    """The compiled kernels of a launch: where it is made, the function that makes its kernel, the bytes that the launch gives."""

    node: ast.Assign
    function: ast.FunctionDef
    bytes: int
    key: ast.expr


def compiled(module: Module, name: str, program: Program, launch: Launch, at: ast.AST) -> Object:
    """The object of that name, if it is the launch's. Raises Differs."""
    node = module.values.get(name)
    match node:
        case ast.Assign(
            value=ast.Call(func=ast.Name(id="_Cuda"), args=[ast.Constant(), ast.Name(id=made), threads, arch, key, *rest])
        ):
            function = module.functions.get(made)
        case _:
            raise Differs(at, f"calls {name}, which is no compiled kernel", "each launch has one")
    if function is None or len(rest) > 1:
        raise unread(node, f"{name} is made of {made}")
    wanted = reduce(lambda a, b: a * b, (int(a.extent.value) for a in launch.block if isinstance(a.extent, Const)), 1)
    if ast.unparse(threads) != str(wanted):
        raise Differs(threads, f"launches blocks of {ast.unparse(threads)} threads", f"a block has {wanted}")
    least = re.fullmatch(r"sm_(\d+)(\d)[a-z]?", program.arch or "sm_00")
    if least is None or ast.unparse(arch) != f"({least[1]}, {least[2]})":
        raise Differs(arch, f"is for GPUs of {ast.unparse(arch)} and newer", f"the machine is for {program.arch or 'any'}")
    size = shared_places(launch)[1]
    given = int(rest[0].value) if rest and isinstance(rest[0], ast.Constant) and isinstance(rest[0].value, int) else 0
    if given != (size if size > STATIC_BYTES else 0):
        raise Differs(
            rest[0] if rest else node, f"gives a block {given} bytes", f"its arrays take {size}, static up to {STATIC_BYTES}"
        )
    return Object(node, function, given, key)


def keyed(module: Module, objects: Mapping[str, Object]) -> None:
    """That the key of each kernel is the hash of its text and of the helpers that the program's kernels call. Raises Differs."""
    called = {
        n.func.id
        for o in objects.values()
        for n in ast.walk(o.function)
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
    }
    parts = ["cuda_names", *(p for makers, helpers in PARTS if called & set(makers) for p in helpers)]
    prelude = "\n\n".join(text_of(module, p) for p in parts)
    for name, found in objects.items():
        key = hashlib.sha256((text_of(module, found.function.name) + prelude).encode()).hexdigest()
        if not isinstance(found.key, ast.Constant) or found.key.value != key:
            raise Differs(
                found.key, f"is no key of the text of {name}", f"another kernel may be found under it; the text's is {key}"
            )


def text_of(module: Module, name: str) -> str:
    """A function's text, decorators included; empty where there is none."""
    node = module.functions.get(name)
    if node is None:
        return ""
    first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
    return "\n".join(module.lines[first - 1 : node.end_lineno]) + "\n"
