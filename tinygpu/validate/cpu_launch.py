"""The functions of a CPU kernel as a program: entry, drivers, work functions.

Comes in: the module, the name of a launcher, its op, preconditions and workspaces. Goes out: the program that the text is, made by reading
it alone, with a thread for each point of the items. The one idea: a launch is `for item in range(items)` in any order. The text of a
driver is one of few, which share the items out over parts, each item to one part; the digits of an item are axes.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from tinygpu.category.term import Axis, Const, Read, Term, Var, conjuncts
from tinygpu.model.op import Tensor
from tinygpu.obligations.obligation import Point
from tinygpu.program.step import Launch, Program
from tinygpu.record import dataclass, replace
from tinygpu.validate.cpu_carrier import Role, groups_of
from tinygpu.validate.cpu_driver import DIVISIONS, after_doc, calls, decorated, function, shared_out
from tinygpu.validate.cpu_names import Digits, Global, Meaning, Number, Unread
from tinygpu.validate.cpu_phases import blocks
from tinygpu.validate.cpu_read import Reader
from tinygpu.schedule.scope import scoped
from tinygpu.validate.module import Module

SCALAR = {"f64": "np.float64", "f32": "np.float32", "i64": "np.int64", "i32": "np.int32", "u32": "np.uint32", "u8": "np.uint8",
          "i8": "np.int8", "bool": "np.bool_"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Text:
    """What is read: the module, and of the proved program only what callers hand in: the op, preconditions, workspaces.

    `phases`: whether loops over what may be the threads of a block, by its launches, are read as threads.
    """

    module: Module
    name: str
    program: Program
    dtype: str
    lanes: int
    phases: bool = False

    @property
    def globals(self) -> tuple[Tensor, ...]:
        """The arrays and numbers in the order of the parameters."""
        spaces = (Tensor(w.name, w.dtype, w.extents, "workspace", w.span) for w in self.program.workspaces)
        return (*self.program.op.tensors, *spaces)


@dataclass(frozen=True, slots=True)
class Done:
    """The program of a text, the functions of the module that it calls, and its arrays that begin as zeros."""

    program: Program
    called: frozenset[str]
    filled: frozenset[str]

    @property
    def blocks(self) -> bool:
        """Whether some launch has threads."""
        return any(launch.block for launch in self.program.launches)


def functions_of(module: Module, name: str) -> list[ast.FunctionDef]:
    """The entry of a kernel, its drivers and its work functions."""
    entry = function(module, f"{name}_cpu", None)
    called = {n.func.id for n in ast.walk(entry) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
    return [entry, *(function(module, c, entry) for c in sorted(called) if c.endswith(("_work", "_parallel")))]


def program_of(text: Text) -> Done:
    """`text → program`. Raises Unread."""
    entry = function(text.module, f"{text.name}_cpu", None)
    names, given = parameters(text, entry)
    taken = {t.name for t in text.globals} | set(text.program.op.sizes)
    launches: list[Launch] = []
    called: set[str] = set()
    filled: set[str] = set()
    items: ast.expr | None = None
    waiting = {n for n in given if isinstance(names[n], Global | Number)}
    for node in after_doc(entry.body):
        match node:
            case ast.Assign([ast.Name(name)], value) if name in waiting and items is None:
                _argument(text, node, name, value, names[name])
                waiting.remove(name)
            case ast.Assign([ast.Name("items")], value) if not waiting:
                items = value
            case _ if items is not None:
                work, driver = calls(text.module, node, given, {n for n, m in names.items() if isinstance(m, Var)})
                reader = Reader(
                    text.module,
                    _constants(text, names),
                    frozenset(text.program.op.sizes),
                    taken,
                    _writable(text),
                    _roles(text, work),
                    text.dtype,
                    work,
                )
                launches.append(_launch(text, reader, work, given, items, len(launches)))
                if driver is not None:
                    shared_out(driver, given, launches[-1], reader, names)
                called |= reader.called | {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and n.id in DIVISIONS}
                filled |= reader.filled
            case _:
                raise Unread(node, "a statement that no entry has")
    op, where = text.program.op, text.program.where
    made = Program(text.program.name, op, tuple(launches), where, span=text.module.span(entry), workspaces=text.program.workspaces)
    return Done(made, frozenset(called), frozenset(filled))


def _writable(text: Text) -> set[str]:
    return {t.name for t in text.globals if t.role != "input"}


def _roles(text: Text, work: ast.FunctionDef) -> dict[str, Role]:
    """What the names of a work function are to values of several components: names of its own."""
    return groups_of({n.id for n in ast.walk(work) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
                     | {n.value.id for n in ast.walk(work) if isinstance(n, ast.Subscript) and isinstance(n.value, ast.Name)
                        and isinstance(n.ctx, ast.Store)} - {a.arg for a in work.args.args}, text.program.op)  # fmt: skip


def _constants(text: Text, names: dict[str, Meaning]) -> dict[str, Meaning]:
    return {**names, "LANES": Const(text.lanes)} if text.dtype else dict(names)


def parameters(text: Text, entry: ast.FunctionDef) -> tuple[dict[str, Meaning], list[str]]:
    """What the parameters stand for: arrays and numbers, then sizes, in order."""
    given = [a.arg for a in entry.args.args]
    meanings: list[Meaning] = []
    for tensor in text.globals:
        scalar = tensor.role == "input" and not tensor.shape
        meanings.append(Number(_read(tensor)) if scalar else Global(tensor))
    meanings += [Var(s) for s in text.program.op.sizes]
    plain = ast.arguments([], [ast.arg(a) for a in given], None, [], [], None, [])
    if len(given) != len(meanings) or ast.dump(plain) != ast.dump(entry.args) or len(set(given)) < len(given):
        raise Unread(entry, "the parameters are not the arrays, workspaces and sizes")
    return dict(zip(given, meanings, strict=True)), given


def _read(tensor: Tensor) -> Term:
    return Read(tensor.name, (), tensor.dtype)


def _argument(text: Text, node: ast.Assign, name: str, value: ast.expr, meaning: Meaning) -> None:
    """`x = x.reshape(-1)`: flat views, bits of 16-bit floats, numbers in their dtype."""
    match meaning:
        case Global(tensor):
            bits = ".view(np.uint16)" if tensor.dtype in ("f16", "bf16") else ""
            wanted = f"{name}.reshape(-1){bits}"
        case Number(term) if term.dtype in SCALAR:
            wanted = f"{SCALAR[term.dtype]}({name})"
        case Number(term):
            wanted = f"round_{term.dtype}(narrow_to_odd(np.float64({name})))"
        case _:
            wanted = ""
    if ast.unparse(value) != wanted:
        raise Unread(node, f"{name} is changed to something else")


def _launch(text: Text, reader: Reader, work: ast.FunctionDef, given: list[str], items: ast.expr, number: int) -> Launch:
    """A work function as a launch: a block for each item, of one thread, or of those that it has loops over."""
    decorated(work)
    if [a.arg for a in work.args.args] != ["first", "last", *given]:
        raise Unread(work, "the parameters are not first, last and those of the entry")
    facts = tuple(Var(s) >= 0 for s in text.program.op.sizes) + tuple(c for w in text.program.where for c in conjuncts(w))
    reader.here = Point((), facts)
    grid = tuple(Axis(reader.fresh("item"), reader.index(f), "grid") for f in _product(items))
    grid = tuple(a for a in grid if a.extent != Const(1))
    *arrays, last = after_doc(work.body) or [work]
    for node in arrays:
        _array(reader, node)
    match last:
        case ast.For(ast.Name(name), ast.Call(ast.Name("range"), [ast.Name("first"), ast.Name("last")], []), body, []):
            reader.names[name] = Digits(grid)
        case _:
            raise Unread(last, "no loop over the items")
    steps = reader.body(body, Point(grid, facts))
    reader.pieces.left(work, steps)
    cells = {n: c for n, c in reader.cells.items() if n not in reader.pieces.arrays}
    made = Launch(grid, (), steps, text.module.span(work))
    if text.phases and number < len(text.program.launches):
        threads = tuple(a for a in text.program.launches[number].block if a.extent != Const(1))
        block = tuple(replace(a, name=reader.fresh(a.name)) for a in threads)
        found = blocks(made, cells, block, tuple(a.name for a in threads), reader.said) if block else None
        if found is not None:
            return found
    return replace(made, body=scoped(cells, steps))


def _array(reader: Reader, node: ast.stmt) -> None:
    match node:
        case ast.Assign([ast.Name("nought" as name)], value) if ast.unparse(value) == "min(0, first)":
            reader.names[name] = Const(0)  # items are numbered from 0
        case ast.Assign([ast.Name(name)], _):
            reader.array(node, name)
        case _:
            raise Unread(node, "a statement in front of the loop over items that kernels do not have")


def _product(items: ast.expr) -> Sequence[ast.expr]:
    match items:
        case ast.BinOp(left, ast.Mult(), right):
            return [*_product(left), right]
    return [items]
