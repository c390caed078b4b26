"""A launcher of a module against the contract of its program, and the short names that stand for launchers.

    NAME_spec = the table of the contract;  def NAME(its arguments): return NAME_launch(its arguments);  NAME_launch = what the runtime makes of it

Comes in: a module, the name of a launcher, and its program. Goes out: what holds where its kernels are called, and what they are passed. The
one idea: what a launcher does with its table is the runtime's, which is compared by its hash; so table and arguments are all there is to
read, and nothing beside them runs anything, neither a default nor an annotation.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tinygpu.category.term import Const, Fold, Read, Term, Var, apply, conjuncts, text, variables, walk
from tinygpu.derive.unpack import unpack
from tinygpu.hardware.arch import CPU
from tinygpu.model.solved import solve
from tinygpu.program.step import Launch, Program
from tinygpu.record import dataclass, replace
from tinygpu.schedule.contract import aligned, arguments, asked, dynamic_bytes, kernel_name, signature
from tinygpu.schedule.contract import table as table_of
from tinygpu.validate.kernel import Given
from tinygpu.validate.module import Module
from tinygpu.validate.same import Here
from tinygpu.validate.typed import Differs, unread

BLOCKS = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Expected:
    """What is to stand behind a name of the module: the program that was proved, with a cell for each component of a value, the program of
    the CPU kernels, which may be another one, and what indices of 32 bits are limited by, and those of CPUs. These are of the emitter's `Built`,
    under its names."""

    name: str
    program: Program
    cpu: Program | None = None
    limits: tuple[Term, ...] = ()
    cpu_limits: tuple[Term, ...] = ()

    @property
    def on_cpu(self) -> Program:
        """The program of the CPU kernels, for the op and under the preconditions that the launcher checks: those of `program`, always."""
        return replace(self.cpu, op=self.program.op, where=self.program.where) if self.cpu else self.program


@dataclass(frozen=True, slots=True)
class Launched:
    """A launcher that is the contract of its program, with its table; of each launch the function that makes the kernel, and what holds there."""

    program: Program
    table: Table
    kernels: tuple[tuple[ast.FunctionDef, Launch, Given], ...]


def launched(module: Module, expected: Expected, function: ast.FunctionDef) -> Launched:
    """A launcher, read. Raises Differs."""
    name, program, cpu = expected.name, replace(unpack(expected.program), name=expected.name), expected.on_cpu
    formed(module, function, program)
    found = table(module, name, function)
    names = [] if program.arch == CPU else [kernel_name(name, program, n) for n in range(len(program.launches))]
    wide, starts, counted = asked(program), aligned(program), expected.cpu_limits
    assumed: dict[str, Any] = {"where": _words(where(program)), "limits": _words(expected.limits), "counted": _words(counted)}
    assumed["wide"] = _words(wide), starts
    compared(found, table_of(program, expected.limits, unpack(cpu).workspaces, counted, names) | assumed)
    for kernel in names:
        if kernel not in module.functions:
            raise Differs(found.nodes["launches"], f"there is no {kernel}", "each launch has a kernel")
    facts = assured(program)
    solved(found, program, facts)
    guards = tuple(part for guard in wide for part in conjuncts(guard))
    held = (Given(facts, expected.limits, guards, starts, dynamic_bytes(launch)) for launch in program.launches)
    kernels = zip(map(module.functions.__getitem__, names), program.launches, held, strict=False)
    return Launched(program, found, tuple(kernels))


def keyed(module: Module, launcher: Launched) -> None:
    """That the key of each kernel is the hash of its text, so that no other kernel is found under it. Raises Differs."""
    for row, (maker, _, _) in zip(launcher.table.values["launches"], launcher.kernels, strict=True):
        key = hashlib.sha256(module.text_of(maker).encode()).hexdigest()
        if row[KEY] != key:
            says = f"is no key of the text of {maker.name}"
            raise Differs(launcher.table.nodes["launches"], says, f"another kernel may be found under it; the text's is {key}")


# ── the table ──────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Table:
    """The entries of a table, each with its place."""

    at: ast.AST
    nodes: dict[str, ast.expr]
    values: dict[str, Any]


def table(module: Module, name: str, at: ast.AST) -> Table:
    """The table of a launcher: a literal. Raises Differs."""
    match module.values.get(f"{name}_spec"):
        case ast.Assign(value=ast.Dict(keys=keys, values=values) as whole):
            try:
                entries: dict[str, Any] = ast.literal_eval(whole)
            except (ValueError, TypeError):
                raise unread(whole, "a table is a literal") from None
            nodes = {str(k.value): v for k, v in zip(keys, values, strict=True) if isinstance(k, ast.Constant)}
            if set(nodes) != set(entries) or len(keys) != len(entries):
                raise unread(whole, "a table names each entry once")
            return Table(whole, nodes, entries)
    raise Differs(at, f"{name}_spec is no table", "a launcher is made of one")


COLUMNS = (
    "launches {}",
    "launches {} blocks",
    "launches blocks of {} threads",
    "is for GPUs of {} and newer",
    "",
    "gives a block {} bytes",
)
KEY = 4


def compared(found: Table, wanted: Mapping[str, Any]) -> None:
    """That a table is the one of the contract, entry by entry; but the keys of kernels. Raises Differs."""
    for key, value in found.values.items():
        if key not in wanted:
            raise unread(found.nodes[key], f"{key} is no entry of a table")
        if key != "launches" and repr(value) != repr(wanted[key]):
            raise Differs(found.nodes[key], f"{key} is {value}", f"of the program it is {wanted[key]}")
    for key in wanted:
        if key not in found.values:
            raise Differs(found.at, f"says nothing of {key}", "a table says all that is checked")
    if "launches" not in wanted:
        return  # those of the launchers that it calls
    launches, node, rows = found.values["launches"], found.nodes["launches"], wanted["launches"]
    if not isinstance(launches, tuple) or len(launches) != len(rows) or not isinstance(node, ast.Tuple):
        raise Differs(node, "makes other launches", f"the program has {len(rows)}")
    for row, at, right in zip(launches, node.elts, rows, strict=True):
        if not isinstance(row, tuple) or len(row) != len(COLUMNS):
            raise unread(at, "is no row of a launch")
        for value, other, what in zip(row, right, COLUMNS, strict=True):
            if what and repr(value) != repr(other):
                raise Differs(at, what.format(value), f"of this launch it is {other}")


def where(program: Program) -> tuple[Term, ...]:
    """The preconditions that a launcher looks at: those of sizes."""
    return tuple(g for g in dict.fromkeys((*program.op.where, *program.where)) if of_sizes(g))


def of_sizes(guard: Term) -> bool:
    """Whether a guard is about sizes alone."""
    return not any(isinstance(t, Read | Fold) for t in walk(guard))


def _words(terms: Sequence[Term]) -> tuple[str, ...]:
    return tuple(map(text, terms))


def assured(program: Program) -> tuple[Term, ...]:
    """What a launcher has seen to before it launches: sizes and extents are not negative, preconditions hold, grids are not too large."""
    op = program.op
    guards = [part for guard in (*op.where, *program.where) for part in conjuncts(guard) if of_sizes(part)]
    extents = [e >= 0 for t in op.outputs for e in t.shape if not isinstance(e, Const)]
    grids = [apply("le", launch.blocks, BLOCKS) for launch in program.launches if not isinstance(launch.blocks, Const)]
    return tuple(dict.fromkeys((*(Var(s) >= 0 for s in op.sizes), *guards, *extents, *grids)))


def solved(found: Table, program: Program, facts: tuple[Term, ...]) -> None:
    """That each size is read from an extent that tells it: `extent = offset + factor * size`, of sizes before it. Raises Differs."""
    before = {*solve(program.op)[1]}
    for one in solve(program.op)[0]:
        told, extent = one.offset + Var(one.size) * one.factor, program.op.tensor(one.tensor).shape[one.axis]
        if not variables(one.offset) <= before or not isinstance(one.factor, Const) or not Here((), (), facts).same(told, extent):
            raise Differs(
                found.nodes["solved"], f"reads {one.size} from {text(told)}", f"axis {one.axis} of {one.tensor} is {text(extent)}"
            )
        before.add(one.size)


# ── the function ───────────────────────────────────────────────────────────────────────────────────────────────────


def formed(module: Module, function: ast.FunctionDef, program: Program, maker: str = "launcher") -> None:
    """That a launcher hands its arguments on, in their order, to what the runtime makes of its table. Raises Differs."""
    name, wanted = function.name, header(function.name, program)
    if signature_of(function) != wanted:
        raise Differs(function, f"takes {signature_of(function)}", f"it takes {wanted}")
    match function.body:
        case [ast.Expr(ast.Constant(str())), ast.Return(ast.Call() as call)]:
            handed = f"{name}_launch({', '.join(arguments(program))})"
            if ast.unparse(call) != handed:
                raise Differs(call, f"returns {ast.unparse(call)}", f"it is {handed}")
        case _:
            raise Differs(function, "does something else than its table says", "it hands its arguments on")
    made = module.values.get(f"{name}_launch")
    if made is None or ast.unparse(made) != f"{name}_launch = runtime.{maker}({name}_spec, globals())":
        raise Differs(made or function, f"{name}_launch is made otherwise", f"the runtime makes it of {name}_spec")


def header(name: str, program: Program) -> str:
    """The line that a launcher of a program begins with."""
    return signature_of(ast.parse(f"def {name}{signature(program)}: pass").body[0])


def signature_of(function: ast.stmt) -> str:
    """A function without its body, with all that stands in front of it."""
    assert isinstance(function, ast.FunctionDef)
    alone = ast.FunctionDef(function.name, function.args, [ast.Pass()], function.decorator_list, function.returns, lineno=1)
    return ast.unparse(alone).removesuffix("\n    pass")


# ── short names ────────────────────────────────────────────────────────────────────────────────────────────────────


def dispatched(module: Module, programs: Mapping[str, Program]) -> Iterator[str]:
    """The short names of a module that do nothing but hand on; one may stand for another one before it."""
    known_ = {*programs}
    for node in module.tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name(id=of)) if of in known_:
                known_.add(name)
                yield name
            case ast.FunctionDef(name=name, body=[ast.Expr(ast.Constant()), ast.Return(ast.Call(called, places, keywords))]):
                given = [ast.unparse(a) for a in places], [(k.arg, ast.unparse(k.value)) for k in keywords]
                if name not in programs and _hands_on(node, called, given, programs):
                    known_.add(name)
                    yield name


def _hands_on(function: ast.FunctionDef, called: ast.expr, given: Sequence[Any], programs: Mapping[str, Program]) -> bool:
    """Whether a function passes its arguments, each under its name, to a launcher for the dtype of one of them."""
    places, keywords = [a.arg for a in function.args.args], [a.arg for a in function.args.kwonlyargs]
    match called:
        case ast.Call(ast.Attribute(ast.Name("runtime"), "by_dtype"), [_, _, ast.Name(one), ast.Dict(keys, values)], []) if (
            one in places
        ):
            if given != (places, [(k, k) for k in keywords]):
                return False
            chosen = [programs.get(ast.unparse(value)) for value in values]
            position, dtypes = places.index(one), [k.value if isinstance(k, ast.Constant) else None for k in keys]
            fits = [
                program is not None and [*arguments(program)] == [*places, *keywords] and program.op.inputs[position].dtype == dtype
                for program, dtype in zip(chosen, dtypes, strict=True)
            ]
            return all(fits) and signature_of(function) in {header(function.name, program) for program in chosen if program}
    return False
