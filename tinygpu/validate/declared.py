"""What a kernel's text declares: a thread's cells, what wide accesses fill and empty, and pieces of a block's memory.

Comes in: the kernel, its names, and the launch. Goes out: what each declared name is. The one idea: cells are those of the program in
their order; a piece of a block's memory is the array that it is for, inside of that memory and apart from all others.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from tinygpu.category.term import Const
from tinygpu.program.arrays import CARVE_BYTES, PATTERN_BYTES, STATIC_BYTES, described, in_block, shared_bytes, shared_places
from tinygpu.program.step import Launch, arrays_in
from tinygpu.validate.meaning import in_memory, in_register
from tinygpu.validate.typed import Atom, Cells, Differs, Number, Pointer, Thing, unread


def declarations(inner: ast.FunctionDef, names: Mapping[str, Thing]) -> Iterator[tuple[str, ast.stmt]]:
    """The statements that declare a thread's cells and a block's arrays, by name, in order."""
    seen: set[str] = set()
    for stmt in inner.body:
        match stmt:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=function, args=[*arguments], keywords=[])):
                match function:
                    case ast.Attribute(value=ast.Attribute(value=ast.Name(id=base), attr="local"), attr="array"):
                        declares = names.get(base) == Atom("cuda")
                    case ast.Name(id=called):
                        atom, zero = names.get(called), arguments and ast.dump(arguments[0]) == ast.dump(ast.Constant(0))
                        declares = isinstance(atom, Atom) and (atom.what == "shared" or (atom.what == "type" and bool(zero)))
                    case _:
                        declares = False
                if declares and name not in seen and name not in names:
                    yield name, stmt
                seen.add(name)


def own(
    inner: ast.FunctionDef, declared: Mapping[str, ast.stmt], launch: Launch, names: Mapping[str, Thing]
) -> Iterator[tuple[ast.stmt, str, Thing]]:
    """The thread's cells: in order those of the program, but what wide accesses fill and empty is the text's own."""
    moved = {n for stmt in inner.body for node in ast.walk(stmt) for n in _moved(node, names)}
    wanted = [a for a in arrays_in(launch.body) if a.owner == "thread" or a.held is not None]
    numbers, cells = ([s for s in wanted if bool(s.extents) is many] for many in (False, True))
    for name, stmt in declared.items():
        assert isinstance(stmt, ast.Assign) and isinstance(stmt.value, ast.Call)
        call = stmt.value
        if isinstance(call.func, ast.Attribute):
            shape, item = _shape(call.args[0]), type_of(call.args[1], names)
            if name in moved:
                yield stmt, name, Cells("", item, shape)
                continue
            if not cells:
                raise Differs(stmt, f"declares {name}", "the program has no more cells")
            local = cells.pop(0)
            extents = tuple(int(e.value) for e in local.extents if isinstance(e, Const))
            extents, wants = (
                (extents, in_register(local.dtype)) if local.held is None else ((local.held.count,), in_memory(local.dtype))
            )
            if (shape, item) != (extents, wants):
                raise Differs(stmt, f"declares {shape} cells of {item}", f"{local.name} has {extents} of {wants}")
            yield stmt, name, Cells(local.name, item, shape)
        elif len(call.args) == 1:
            item = type_of(call.func, names)
            if not numbers:
                raise Differs(stmt, f"declares {name}", "the program has no more cells")
            local = numbers.pop(0)
            wants = "ix" if local.dtype == "index" else in_register(local.dtype)
            if item != wants:
                raise Differs(stmt, f"declares {name} as {item}", f"{local.name} is {wants}")
            yield stmt, name, Number(local.name, item)
    if numbers or cells:
        raise Differs(inner, "declares its cells here", f"the program has {(*numbers, *cells)[0].name} too")


def _moved(node: ast.AST, names: Mapping[str, Thing]) -> Iterator[str]:
    """The cells of a wide access."""
    match node:
        case ast.Call(func=ast.Name(id=name), args=[ast.Name(id=first), _, last]):
            atom = names.get(name)
            if isinstance(atom, Atom) and atom.what == "load":
                yield first
            elif isinstance(atom, Atom) and atom.what == "store" and isinstance(last, ast.Name):
                yield last.id


def _shape(node: ast.expr) -> tuple[int, ...]:
    match node:
        case ast.Constant(value=int(count)):
            return (count,)
        case ast.Tuple(elts=parts):
            return tuple(n for part in parts for n in _shape(part))
    raise unread(node, f"{ast.unparse(node)} is no shape")


def carved(
    inner: ast.FunctionDef, declared: Mapping[str, ast.stmt], launch: Launch, names: Mapping[str, Thing], dynamic: int
) -> Iterator[tuple[ast.stmt, str, Thing]]:
    """The block's arrays: pieces of its memory, apart from each other, inside of it, each at a multiple of 16 bytes, or of a pattern that a unit finds."""
    wanted, patterned = list(in_block(launch)), described(launch)
    most = shared_places(launch)[1]
    taken: list[tuple[int, int, str]] = []
    for name, stmt in declared.items():
        assert isinstance(stmt, ast.Assign) and isinstance(stmt.value, ast.Call)
        call = stmt.value
        atom = names.get(call.func.id) if isinstance(call.func, ast.Name) else None
        if not isinstance(atom, Atom) or atom.what != "shared":
            continue
        match call.args:
            case [kind, ast.Constant(value=int(start))] if wanted:
                shared = wanted.pop(0)
            case _:
                raise Differs(stmt, f"takes {name} of the block's memory", "the program has no such array")
        item, end = type_of(kind, names), start + shared_bytes(shared)
        if item != in_memory(shared.dtype):
            raise Differs(kind, f"has elements of {item}", f"those of {shared.name} are {in_memory(shared.dtype)}")
        size = atom.number or dynamic
        if not (size <= most and (atom.number == 0 or atom.number <= STATIC_BYTES)):
            raise Differs(stmt, f"is a piece of {size} bytes", f"a block has {most} bytes, {STATIC_BYTES} of them static")
        whole = PATTERN_BYTES if shared.name in patterned else CARVE_BYTES
        if start % whole or not 0 <= start <= end <= size:
            raise Differs(
                stmt, f"begins at byte {start} and ends at {end} of {size}", f"it begins at a multiple of {whole}, and ends inside"
            )
        for low, high, other in taken:
            if start < high and low < end:
                raise Differs(stmt, f"{name} lies at bytes {start} to {end}, {other} at {low} to {high}", "arrays lie apart")
        taken.append((start, end, name))
        yield stmt, name, Pointer(shared.name, item, True)
    if wanted:
        raise Differs(inner, "takes its pieces of the block's memory here", f"the program has {wanted[0].name} too")


def type_of(node: ast.expr, names: Mapping[str, Thing]) -> str:
    """A type of the prelude, or a pointer to one, perhaps to memory that nobody writes."""
    match node:
        case ast.Name(id=name) if isinstance(atom := names.get(name), Atom) and atom.what == "type":
            return atom.name
        case ast.Call(func=ast.Name(id=name), args=[inner], keywords=[]) if names.get(name) in (Atom("pointer"), Atom("constant")):
            return f"{names[name].what} {type_of(inner, names)}"  # type: ignore[union-attr]
    raise unread(node, f"{ast.unparse(node)} is no type")
