"""How items are shared out: the calls of a launch, the driver that gives each part of the items to a thread, the flags of numba.

Comes in: statements of an entry, and the driver's text. Goes out: nothing but that they are as they have to be.
The one idea: with b(p) = ⌊items·p/parts⌋ the parts [b(p), b(p + 1)) follow each other from b(0) = 0 to b(parts) = items, so every item is in
one of them; what all items update is a fold, and a fold of folds over the parts is the fold over all.
"""

from __future__ import annotations

import ast

from tinygpu.category.monoid import SCALARS
from tinygpu.category.term import Const, Read
from tinygpu.program.space import WORKSPACE
from tinygpu.program.step import Array, Assign, Launch, steps
from tinygpu.validate.cpu_meaning import CpuMeaning
from tinygpu.validate.cpu_reader import PRELUDE, CpuReader
from tinygpu.validate.module import Module
from tinygpu.validate.same import Here
from tinygpu.validate.typed import Pointer, Thing, Value, unread
from tinygpu.validate.width import Width

FLAGS = {"error_model": "'numpy'", "nogil": "True", "cache": "True", "parallel": "True", "forceinline": "True"}
FAST = {"contract", "reassoc"}
PARALLEL = """
def {name}_parallel(items, parts, {given}):
    for part in prange(parts):
        {name}_work(items * part // parts, items * (part + 1) // parts, {copied})
"""


def function(module: Module, name: str, node: ast.AST | None) -> ast.FunctionDef:
    """A function of the module. Raises Differs where there is none."""
    found = module.functions.get(name)
    if found is None:
        raise unread(node or ast.Pass(lineno=1, col_offset=0), f"the module has no function {name}")
    return found


def calls(module: Module, node: ast.stmt, given: list[str], sizes: set[str]) -> tuple[ast.FunctionDef, ast.FunctionDef]:
    """The work function behind `if few: work(0, items, …) else: parallel(items, …)`: whichever way is taken, all items are done once."""
    match node:
        case ast.If(test, [ast.Expr(ast.Call(ast.Name(name)) as alone)], [ast.Expr(parallel)]) if _pure(test, sizes):
            pass
        case _:
            raise unread(node, "a statement that no entry has")
    one, rest = name.removesuffix("_work"), ", ".join(given)
    wanted = (f"{one}_work(0, items, {rest})", f"{one}_parallel(items, min(items, get_num_threads()), {rest})")
    for call, text in zip((alone, parallel), wanted, strict=True):
        if ast.unparse(call) != text:
            raise unread(call, "no call for all items")
    return chosen(module, function(module, name, node), sizes), function(module, f"{one}_parallel", node)


def chosen(module: Module, work: ast.FunctionDef, sizes: set[str]) -> ast.FunctionDef:
    """What a work function calls, `if S == 1: items(…, 1) else: items(…, S)`: the same function, and the same numbers, whichever way is taken. Of
    sizes alone: a float of 1 is none of the integers."""
    match after_doc(work.body):
        case [ast.If(test, [ast.Expr(known)], [ast.Expr(ast.Call(ast.Name(name)))])] if (
            name == work.name.removesuffix("_work") + "_items"
        ):
            tests = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
            given = [a.arg for a in work.args.args]
            ones = [g for g in given if g in sizes and f"{g} == 1" in map(ast.unparse, tests)]
            alike = ", ".join("1" if g in ones else g for g in given)
            wanted = f"if {' and '.join(f'{g} == 1' for g in ones)}: {name}({alike})\nelse: {name}({', '.join(given)})"
            if not ones or ast.dump(ast.parse(wanted).body[0]) != ast.dump(after_doc(work.body)[0]):
                raise unread(known, "the two calls are not the same")
            decorated(work)
            return function(module, name, known)
    return work


def _pure(test: ast.expr, sizes: set[str]) -> bool:
    """Whether a choice between one thread and several, which may look at any number, does nothing else."""
    match test:
        case ast.Constant(int()) | ast.Attribute(ast.Name(), "size"):
            return True
        case ast.Name(name):
            return name in sizes
        case ast.Call(ast.Name("get_num_threads" | "max" | "min" | "quotient" | "remainder"), parts, []) | ast.BoolOp(_, parts):
            return all(_pure(part, sizes) for part in parts)
        case ast.BinOp(left, _, right) | ast.Compare(left, [_], [right]):
            return _pure(left, sizes) and _pure(right, sizes)
    return False


def shared_out(driver: ast.FunctionDef, given: list[str], launch: Launch, meaning: CpuMeaning, width: Width) -> None:
    """The driver as it has to be. Part p of n has the items from ⌊items·p/n⌋ to ⌊items·(p + 1)/n⌋: from 0, without gaps, to all.

    What items update together, each part updates in a copy that starts with the unit, and the copies are combined: law 1 of folds.
    """
    decorated(driver)
    body = after_doc(driver.body)
    met = {s.target: s.update for s in steps(launch.body) if isinstance(s, Assign) and s.atomic}
    pointers = {name: thing.array for name, thing in meaning.names.items() if isinstance(thing, Pointer)}
    copies = {name: pointers[name] for name in given if pointers.get(name) in met}
    copied = [f"{g}_copies[part * {g}.size:(part + 1) * {g}.size]" if g in copies else g for g in given]
    name, rest = driver.name.removesuffix("_parallel"), ", ".join
    wanted = ast.parse(PARALLEL.format(name=name, given=rest(given), copied=rest(copied))).body[0]
    assert isinstance(wanted, ast.FunctionDef)
    first, shares, last = body[: len(copies)], body[len(copies) : len(copies) + 1], body[len(copies) + 1 :]
    if ast.dump(driver.args) != ast.dump(wanted.args) or [*map(ast.unparse, shares)] != [*map(ast.unparse, wanted.body)]:
        raise unread(driver, "this is not how items are shared out over parts")
    if len(last) != len(copies):
        raise unread(driver, "the copies of the parts are not made and combined one by one")
    for start, end, (array, tensor) in zip(first, last, copies.items(), strict=True):
        _copied(start, end, array, meaning.arrays[tensor].dtype, met[tensor], width)


def _copied(start: ast.stmt, end: ast.stmt, array: str, dtype: str, update: str, width: Width) -> None:
    """A copy for each part: it starts with the unit of the update, and is combined with the array by it."""
    monoid, sides = SCALARS[update], ("left", "right")
    meaning = CpuMeaning({side: Array(side, dtype, (Const(1),), WORKSPACE) for side in sides})
    left, right = (Read(side, (Const(0),), dtype) for side in sides)
    item, unit = meaning.item("left"), monoid.unit(dtype)
    names: dict[str, Thing] = {side: Value(Read(side, (Const(0),), item), item) for side in sides}
    reader = CpuReader({**PRELUDE, **names}, Here(), width)
    match start:
        case ast.Assign([ast.Name(name)], ast.Call(ast.Attribute(ast.Name("np"), "full"), [size, first], [])) if (
            name == f"{array}_copies" and ast.unparse(size) == f"parts * {array}.size" and unit is not None
        ):
            begins = reader.value(first) == Value(meaning.stored("left", unit), item)
        case _:
            begins = False
    if not begins:
        raise unread(start, "a copy for each part starts with the unit of the update")
    match end:
        case ast.For(ast.Name("cell"), over, [ast.Assign([place], value)], []) if (
            ast.unparse(over) == f"range(parts * {array}.size)" and ast.unparse(place) == f"{array}[at(cell % {array}.size)]"
        ):
            said = ast.unparse(value).replace(ast.unparse(place), "left").replace(f"{array}_copies[at(cell)]", "right")
            both = ast.parse(said, mode="eval").body
            for node in ast.walk(both):
                ast.copy_location(node, value)
            if reader.value(both) == Value(meaning.stored("left", monoid.combine(left, right)), item):
                return
    raise unread(end, "the copies of the parts are not combined as they were updated")


def decorated(node: ast.FunctionDef) -> None:
    """Compiled by numba, with nothing that may change what a number is: sums may be reassociated, products and sums contracted."""
    match node.decorator_list:
        case [ast.Call(ast.Name("njit"), [], keywords)]:
            for keyword in keywords:
                if keyword.arg == "fastmath" and isinstance(keyword.value, ast.Set):
                    if {ast.literal_eval(e) for e in keyword.value.elts} <= FAST:
                        continue
                elif keyword.arg in FLAGS and ast.unparse(keyword.value) == FLAGS[keyword.arg]:
                    continue
                raise unread(keyword.value, "a flag of numba that kernels do not have")
            return
    raise unread(node, "a function that is not compiled as kernels are")


def after_doc(body: list[ast.stmt]) -> list[ast.stmt]:
    """Statements without the docstring in front of them."""
    match body:
        case [ast.Expr(ast.Constant(str())), *rest]:
            return rest
    return body
