"""Wide accesses of a kernel's text: cells that a load fills before a loop, and a store empties behind it.

    load4(c, x, o)  ⇒  c[v] = x[o + v]        for v: c[v] = e;  store4(y, o, c)  ⇒  for v: y[o + v] = e

Comes in: statements. Goes out: what the cells stand for, and where what a loop writes to cells goes. The one idea: a thread's accesses to
different places may change their order between two barriers, so a load may come later and a store sooner if nothing near touches the array.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from tinygpu.category.term import Const, Term, reads, text
from tinygpu.record import dataclass
from tinygpu.validate.inside import names_in, parts_of
from tinygpu.validate.same import Here
from tinygpu.validate.scope import Scope
from tinygpu.validate.typed import Atom, Cells, Differs, Loaded, Pointer, Thing, unread


@dataclass(frozen=True, slots=True)
class Sink:
    """A wide store behind a loop: what the loop writes to these cells goes to memory from `offset` on."""

    pointer: Pointer
    offset: Term
    count: int
    node: ast.stmt


def loads(scope: Scope, stmt: ast.stmt, here: Here) -> bool:
    """Whether a statement is a wide load; then its cells stand for the memory that they were filled from."""
    match stmt:
        case ast.Expr(value=ast.Call(func=ast.Name(id=f), args=[ast.Name(id=cells), ast.Name(id=name), offset], keywords=[])):
            atom, pointer = scope.names.get(f), scope.names.get(name)
            if isinstance(atom, Atom) and atom.what == "load":
                start, memory = moved(scope, stmt, atom, scope.cells.get(cells), pointer, offset, here)
                size = scope.flat.elements(memory.array)
                if not scope.width.inside(start, start + (atom.number - 1), size, here):
                    says = f"loads {atom.number} elements of {memory.array} from {text(start)} on"
                    raise Differs(stmt, says, f"it has {text(size)} elements", open_=True)
                scope.names[cells] = Loaded(memory, start, atom.number)
                return True
    return False


def stores(scope: Scope, rest: Sequence[ast.stmt], here: Here, stmt: ast.stmt) -> dict[str, Sink]:
    """The wide stores that stand right behind a loop or a choice of loops."""
    found: dict[str, Sink] = {}
    for one in rest:
        match one:
            case ast.Expr(value=ast.Call(func=ast.Name(id=f), args=[ast.Name(id=name), offset, ast.Name(id=cells)], keywords=[])):
                atom, pointer = scope.names.get(f), scope.names.get(name)
                if isinstance(atom, Atom) and atom.what == "store":
                    if cells in found or names_in(offset) & scope.effects(stmt).assigned:
                        raise unread(one, "a wide store of what a loop before gives")
                    start, memory = moved(scope, one, atom, scope.cells.get(cells), pointer, offset, here)
                    if memory.array in scope.inputs:
                        raise unread(one, "a wide store to an input")
                    found[cells] = Sink(memory, start, atom.number, one)
                    continue
        break
    return found


def moved(
    scope: Scope, stmt: ast.stmt, atom: Atom, cells: Cells | None, pointer: Thing | None, offset: ast.expr, here: Here
) -> tuple[Term, Pointer]:
    """The first element of a wide access: aligned, and of the memory and the number that the instruction is for."""
    if cells is None or not isinstance(pointer, Pointer) or pointer.axes:
        raise unread(stmt, f"{ast.unparse(stmt)} is no wide access")
    if pointer.shared != atom.shared:
        raise Differs(stmt, f"moves {pointer.array} with an instruction for other memory")
    if cells.item != pointer.item or cells.shape != (atom.number,):
        raise Differs(stmt, f"moves {atom.number} elements of {pointer.item} and has cells for {cells.shape} of {cells.item}")
    start = scope.reader(here).index(offset)
    if reads(start):
        raise unread(offset, "a wide access at a place that is read from memory")
    problem = scope.flat.unaligned(pointer, start, atom.number, here)
    if problem:
        raise Differs(stmt, problem, "a wide access starts at a multiple of its width", open_=True)
    return start, pointer


def ends(
    scope: Scope, stmt: ast.stmt, count: int, near: tuple[str, ast.expr, Here], far: tuple[str, ast.expr, Here]
) -> tuple[tuple[Pointer, Term], tuple[Pointer, Term]]:
    """The two ends of a copy that lands later, each a pointer, and an offset where it is needed: the first element of each, aligned; what is read is there."""
    found = []
    for (name, offset, here), shared in ((near, True), (far, False)):
        pointer, start = scope.names.get(name), scope.reader(here).index(offset)
        if not isinstance(pointer, Pointer) or pointer.axes or pointer.shared != shared or reads(start):
            raise unread(stmt, f"{ast.unparse(stmt)} copies nothing from global to a block's memory")
        if problem := scope.flat.unaligned(pointer, start, count, here):
            raise Differs(stmt, problem, "a copy starts at multiples of its width", open_=True)
        found.append((pointer, start))
    to, (source, first) = found
    if not scope.width.inside(first, first + (count - 1), scope.flat.elements(source.array), far[2]):
        raise Differs(stmt, f"copies {count} elements of {source.array} from {text(first)} on", "they are inside", open_=True)
    return to, (source, first)


def divides(scope: Scope, offset: ast.expr, here: Here) -> None:
    """That no divisor of an offset is 0, wherever it is needed: a kernel divides everywhere."""
    for node in ast.walk(offset):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            atom = scope.names.get(node.func.id)
            if isinstance(atom, Atom) and atom.what == "division":
                scope.reader(here).index(node)


def together(first: Mapping[str, Sink], second: Mapping[str, Sink]) -> dict[str, Sink]:
    """The wide stores behind a loop, of the block that it ends and of those around: each of its own cells and its own array."""
    both = {**first, **second}
    if len(both) < len(first) + len(second) or len({s.pointer.array for s in both.values()}) < len(both):
        raise unread(next(iter(both.values())).node, "two wide stores of one array")
    return both


def emptied(scope: Scope, body: Sequence[ast.stmt], turns: Term, sinks: Mapping[str, Sink]) -> None:
    """That a loop writes every cell of the wide stores behind it once, in its turn, and that nothing else meets what is stored."""
    inside = scope.effects(*body)
    for cells, sink in sinks.items():
        own = [s for s in body if isinstance(s, ast.Assign) and base(s.targets[0]) == cells]
        used = [n for s in body for n in parts_of(s) if isinstance(n, ast.Name) and n.id == cells]
        pointers = [name for name, thing in scope.names.items() if isinstance(thing, Pointer) and thing.array == sink.pointer.array]
        meets = [n for s in body for n in parts_of(s) if isinstance(n, ast.Name) and n.id in pointers]
        if turns != Const(sink.count) or len(own) != 1 or len(used) != 1 or meets or inside.barriers:
            raise Differs(sink.node, "stores cells that the loop before does not write one by one, or beside other accesses")


def base(target: ast.expr) -> str:
    """The name of the cells that an element belongs to."""
    match target:
        case ast.Subscript(value=ast.Name(id=name)):
            return name
    return ""
