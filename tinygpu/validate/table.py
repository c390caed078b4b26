"""The table of a launcher, compared with what the program says, entry by entry.

    table["where"] = the preconditions        table["launches"] = (kernel, blocks, threads, least architecture, key, bytes) of each launch

Comes in: a module, the name of a launcher, and its program. Goes out: what holds where its kernels are called, and what they are passed. The
one idea: what a launcher does with its table is the runtime's, which is compared by its hash; so the table is all there is to read. What it
may choose (where indices have 32 bits, where accesses are wide) is read back as terms, and the kernels are followed with these.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterator, Sequence
from functools import reduce

from tinygpu.category.term import INDEX, TRUE, App, Const, Fold, Read, Term, Var, apply, conjuncts, reads, text, variables, walk
from tinygpu.derive.unpack import unpack
from tinygpu.obligations.width import cpu_limits
from tinygpu.program.arrays import STATIC_BYTES, shared_places
from tinygpu.program.promises import rows
from tinygpu.program.step import Array, Launch, Program
from tinygpu.record import dataclass
from tinygpu.schedule.cpu import instances
from tinygpu.validate.kernel import Given, Passed
from tinygpu.validate.module import Module
from tinygpu.validate.same import Here
from tinygpu.validate.typed import Differs, unread
from tinygpu.validate.words import term

BLOCKS = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Table:
    """The entries of a table, each with its place."""

    at: ast.AST
    nodes: dict[str, ast.expr]
    values: dict[str, object]

    @property
    def missing(self) -> tuple[str, ...]:
        """The sizes that no input tells."""
        sizes, told = self.values.get("sizes"), self.values.get("solved")
        return tuple(s for s in sizes if s not in told) if isinstance(sizes, tuple) and isinstance(told, dict) else ()


def table(module: Module, name: str, at: ast.AST) -> Table:
    """The table of a launcher: a literal. Raises Differs."""
    match module.values.get(f"{name}_spec"):
        case ast.Assign(value=ast.Dict(keys=keys, values=values) as whole):
            try:
                entries: dict[str, object] = ast.literal_eval(whole)
            except (ValueError, TypeError):
                raise unread(whole, "a table is a literal") from None
            nodes = {str(k.value): v for k, v in zip(keys, values, strict=True) if isinstance(k, ast.Constant)}
            if set(nodes) != set(entries) or len(keys) != len(entries):
                raise unread(whole, "a table names each entry once")
            return Table(whole, nodes, entries)
    raise Differs(at, f"{name}_spec is no table", "a launcher is made of one")


def given(
    module: Module, name: str, program: Program, alone: Program, found: Table
) -> tuple[tuple[Given, ...], list[ast.FunctionDef]]:
    """What holds where the kernels of each launch are called, and the functions that make them. Raises Differs."""
    wanted = entries(name, program, alone)
    for key in (*wanted, "launches", "solved", "limits", "wide"):
        if key not in found.values:
            raise Differs(found.at, f"says nothing of {key}", "a table says all that is checked")
    for key, value in found.values.items():
        if key in wanted and value != wanted[key]:
            raise Differs(found.nodes[key], f"{key} is {value}", f"of the program it is {wanted[key]}")
        if key not in wanted and key not in ("launches", "solved", "limits", "wide"):
            raise unread(found.nodes[key], f"{key} is no entry of a table")
    makers = launches(module, name, program, found)
    facts = known(program)
    solved(program, found, facts)
    scalars = {t.name: App("cast", (Read(t.name, (), t.dtype),), INDEX) for t in program.op.inputs if not t.shape}
    limits = tuple(term(found.nodes["limits"], said, program.op.sizes, scalars) for said in _texts(found, "limits"))
    asks, aligned = wide(program, found)
    sizes = [shared_places(launch)[1] for launch in program.launches]
    return tuple(Given(facts, limits, asks, aligned, size if size > STATIC_BYTES else 0) for size in sizes), makers


def entries(name: str, program: Program, alone: Program) -> dict[str, object]:
    """The entries of which there is one right value; `alone` is the program of the CPU kernels."""
    op = program.op
    where = (g for g in dict.fromkeys((*op.where, *program.where)) if not any(isinstance(t, Read | Fold) for t in walk(g)))
    spaces = {w.name: w for w in program.workspaces}
    return {
        "name": name,
        "inputs": {t.name: (t.dtype, tuple(map(text, t.shape)) if t.shape else None) for t in op.inputs},
        "outputs": {t.name: (t.dtype, tuple(map(text, t.shape))) for t in op.outputs},
        "workspaces": {n: _space(w) for n, w in spaces.items()},
        "sizes": op.sizes,
        "where": tuple(map(text, where)),
        "promises": rows(program),
        "counted": tuple(map(text, cpu_limits(instances(alone)[0]))),
        "cpu": {w.name: _space(w) for w in unpack(alone).workspaces},
    }


def _space(space: Array) -> tuple[str, tuple[str, ...]]:
    return space.dtype, tuple(map(text, space.extents))


def passed(program: Program) -> tuple[Passed, ...]:
    """What every kernel is passed: arrays, workspaces, scalars, sizes."""
    op = program.op
    arrays = [t.name for t in op.tensors if t.shape or t.role == "output"] + [w.name for w in program.workspaces]
    scalars = [t.name for t in op.inputs if not t.shape]
    kinds = (("pointer", arrays), ("scalar", scalars), ("size", op.sizes))
    return tuple(Passed(kind, name) for kind, names in kinds for name in names)


def known(program: Program) -> tuple[Term, ...]:
    """What a launcher has seen to before it launches: sizes and extents are not negative, preconditions hold, grids are not too large."""
    op = program.op
    guards = [part for w in (*op.where, *program.where) for part in conjuncts(w) if not reads(part)]
    plain = [g for g in guards if not any(isinstance(t, Fold) for t in walk(g))]
    extents = [e >= 0 for t in op.outputs for e in t.shape if not isinstance(e, Const)]
    grids = [apply("le", launch.blocks, BLOCKS) for launch in program.launches if not isinstance(launch.blocks, Const)]
    return tuple(dict.fromkeys((*(Var(s) >= 0 for s in op.sizes), *plain, *extents, *grids)))


def launches(module: Module, name: str, program: Program, found: Table) -> list[ast.FunctionDef]:
    """The functions that make the kernels of the launches. Raises Differs."""
    said, node = found.values["launches"], found.nodes["launches"]
    wanted = list(_launches(name, program))
    if not isinstance(said, tuple) or len(said) != len(wanted) or not isinstance(node, ast.Tuple):
        raise Differs(node, f"makes {len(said) if isinstance(said, tuple) else 'no'} launches", f"the program has {len(wanted)}")
    makers: list[ast.FunctionDef] = []
    for row, at, (kernel, blocks, threads, least, size) in zip(said, node.elts, wanted, strict=True):
        function = module.functions.get(kernel)
        columns = zip(row[:4] + row[5:], (kernel, blocks, threads, least, size), COLUMNS, strict=True)
        for value, right, what in columns:
            if value != right:
                raise Differs(at, what.format(value), f"of this launch it is {right}")
        if function is None:
            raise Differs(at, f"there is no {kernel}", "each launch has a kernel")
        makers.append(function)
    return makers


COLUMNS = (
    "launches {}",
    "launches {} blocks",
    "launches blocks of {} threads",
    "is for GPUs of {} and newer",
    "gives a block {} bytes",
)


def keyed(module: Module, makers: Sequence[ast.FunctionDef], found: Table) -> None:
    """That the key of each kernel is the hash of its text, so that no other kernel is found under it. Raises Differs."""
    for row, maker in zip(found.values["launches"], makers, strict=True):  # type: ignore[call-overload]
        key = hashlib.sha256(text_of(module, maker.name).encode()).hexdigest()
        if row[4] != key:
            raise Differs(
                found.nodes["launches"],
                f"is no key of the text of {maker.name}",
                f"another kernel may be found under it; the text's is {key}",
            )


def _launches(name: str, program: Program) -> Iterator[tuple[str, str, int, tuple[int, int], int]]:
    least = re.fullmatch(r"sm_(\d+)(\d)[a-z]?", program.arch or "sm_00")
    if least is None:
        return  # on a CPU
    for number, launch in enumerate(program.launches):
        kernel = f"{name}_kernel" + (f"_{number}" if len(program.launches) > 1 else "")
        size = shared_places(launch)[1]
        yield kernel, text(launch.blocks), threads(launch), (int(least[1]), int(least[2])), size if size > STATIC_BYTES else 0


def threads(launch: Launch) -> int:
    return reduce(lambda a, b: a * b, (int(a.extent.value) for a in launch.block if isinstance(a.extent, Const)), 1)


def text_of(module: Module, name: str) -> str:
    """A function's text, decorators included; empty where there is none."""
    node = module.functions.get(name)
    if node is None:
        return ""
    first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
    return "\n".join(module.lines[first - 1 : node.end_lineno]) + "\n"


def solved(program: Program, found: Table, facts: tuple[Term, ...]) -> None:
    """That each size is read from an extent that tells it: `extent = offset + factor * size`, of sizes before it. Raises Differs."""
    node, rows_ = found.nodes["solved"], found.values["solved"]
    inputs = {t.name: t for t in program.op.inputs}
    before = set(program.op.sizes) - set(rows_ if isinstance(rows_, dict) else ())
    for size, (name, axis, offset, factor) in rows_.items():  # type: ignore[attr-defined]
        if size not in program.op.sizes or name not in inputs or not 0 <= axis < len(inputs[name].shape) or not factor.isdigit():
            raise Differs(node, f"reads {size} from axis {axis} of {name}", "a size is read from an extent of an input")
        start = term(node, offset, program.op.sizes, {})
        told = start + Var(size) * int(factor)
        if not variables(start) <= before or int(factor) < 1 or not Here((), (), facts).same(told, inputs[name].shape[axis]):
            raise Differs(node, f"reads {size} from {text(told)}", f"axis {axis} of {name} is {text(inputs[name].shape[axis])}")
        before.add(size)


def wide(program: Program, found: Table) -> tuple[tuple[Term, ...], dict[str, int]]:
    """Where the wide kernel is taken: guards over the sizes, and the bytes that arrays start at a multiple of. Raises Differs."""
    node = found.nodes["wide"]
    match found.values["wide"]:
        case (tuple(asks), dict(aligned)) if all(isinstance(size, int) and size > 0 for size in aligned.values()):
            guards = [part for said in asks for part in conjuncts(term(node, said, program.op.sizes, {}))]
            return tuple(g for g in guards if g != TRUE), aligned
    raise unread(node, "where accesses are wide is said by guards and by bytes")


def _texts(found: Table, key: str) -> Sequence[str]:
    said = found.values[key]
    if not isinstance(said, tuple) or not all(isinstance(one, str) for one in said):
        raise unread(found.nodes[key], f"{key} are several terms")
    return said
