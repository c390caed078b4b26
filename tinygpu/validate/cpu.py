"""The text of a CPU kernel against the program that was proved.

    validate(module, name, program, counted)    raises Differs where `NAME_cpu` does not do, for all sizes, what the program does

Comes in: a module, the name of a launcher, and the program that its CPU kernels were made of. Goes out: nothing, or a diagnostic that names a
line of the module. The one idea: nothing of the emitter is trusted. Its text is read, and followed along the program, as that of CUDA is.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from tinygpu.category.bounds import natural
from tinygpu.category.dtype import NATIVE, NUMPY, OF_BITS, PACKED
from tinygpu.category.term import BOOL, Const, Read, Term, Var, conjuncts, reads, text
from tinygpu.derive.unpack import unpack
from tinygpu.diagnostic import Diagnostic
from tinygpu.program.lanes import LANES, vectors_of
from tinygpu.program.space import INPUT
from tinygpu.program.step import Launch, Numbered, Program, loops_around
from tinygpu.record import dataclass, replace
from tinygpu.schedule.ahead import past_caches
from tinygpu.validate.check import diagnostic
from tinygpu.validate.cpu_driver import after_doc, calls, decorated, function, shared_out
from tinygpu.validate.cpu_meaning import CpuMeaning
from tinygpu.validate.cpu_reader import PRELUDE, CpuReader
from tinygpu.validate.cpu_vector import VectorFollower
from tinygpu.validate.flat import Flat
from tinygpu.validate.follow import Due
from tinygpu.validate.launcher import Expected
from tinygpu.validate.module import Module, read, taken
from tinygpu.validate.same import Here, canonical
from tinygpu.validate.typed import Differs, Pointer, Thing, Value, unread
from tinygpu.validate.width import Width

LARGEST_ON_CPU = 2**63 - 2**32  # so that a loop may count a little beyond what the program counts to
TYPES = {text: name for name, text in NUMPY.items() if name in (*NATIVE, BOOL)}


def findings(text: str, machines: Sequence[Expected], file: str = "") -> tuple[Diagnostic, ...]:
    """What is wrong with the CPU kernels of a module; nothing where they do what the programs say."""
    module = read(text, file)
    out: list[Diagnostic] = []
    for machine in machines:
        try:
            validate(module, machine.name, machine.on_cpu, machine.cpu_limits)
            if machine.cpu is not None and not {*machine.cpu.where} <= {*machine.program.where}:
                entry = function(module, f"{machine.name}_cpu", module.tree.body[0])
                raise Differs(entry, "is proved only where its own preconditions hold", "the launcher checks those of the machine")
        except Differs as difference:
            out.append(diagnostic(module, "TG820", f"{machine.name}_cpu", difference))
    return tuple(out)


def validate(module: Module, name: str, program: Program, counted: tuple[Term, ...]) -> None:
    """That `NAME_cpu` of a module is a program, where what a launcher has `counted` fits. Raises Differs."""
    width = Width.of(counted, LARGEST_ON_CPU)
    program = unpack(program)
    entry = function(module, f"{name}_cpu", ast.Pass(lineno=1, col_offset=0))
    for difference in (d for node in module.tree.body for d in taken(node)):
        raise difference
    meaning, given = CpuMeaning.of(program), [a.arg for a in entry.args.args]
    names = parameters(program, entry, given, meaning)
    waiting = [n for n in given if n not in sizes_of(names) and _argument(n, names[n], meaning) != n]
    body = after_doc(entry.body)
    for node, one in zip(body, waiting, strict=False):
        match node:
            case ast.Assign([ast.Name(name)], value) if name == one:
                if ast.unparse(value) != _argument(one, names[one], meaning):
                    raise unread(node, f"{one} is changed to something else")
            case _:
                raise unread(node, "is a statement that no entry has")
    if len(body) < len(waiting):
        raise Differs(entry, "ends before all launches are done")
    Entry(module, program, given, meaning, width).launches(
        entry, body[len(waiting) :], tuple(enumerate(program.launches)), names, 0
    )


@dataclass(frozen=True, slots=True)
class Entry:
    """The launches of an entry, and the loops around them, along those of the program."""

    module: Module
    program: Program
    given: list[str]
    meaning: CpuMeaning
    width: Width

    def launches(
        self, at: ast.AST, body: Sequence[ast.stmt], due: tuple[Numbered, ...], names: Mapping[str, Thing], depth: int
    ) -> None:
        """That statements are these launches; `names` are the parameters, and the turns of the loops around."""
        rest = list(body)
        for axis, run in loops_around(due, depth):
            match rest[:2]:
                case [ast.For(ast.Name(name), ast.Call(ast.Name("range"), [end], []), inner, []) as node, *_] if (
                    axis is not None and name not in {*names, *PRELUDE}
                ):
                    reader = CpuReader({**PRELUDE, **names}, Here((), (), facts_of(self.program)), self.width)
                    if not reader.here.same(reader.index(end), natural(axis.extent)):
                        raise Differs(
                            node, f"goes to {ast.unparse(end)}", f"the program's loop is {axis.name} < {text(axis.extent)}"
                        )
                    self.launches(node, inner, run, {**names, name: Value(Var(axis.name), "ix")}, depth + 1)
                    del rest[0]
                case [ast.Assign([ast.Name("items")], items), ast.If() as call] if axis is None:
                    self.launch(run[0][1], items, call, names)
                    del rest[:2]
                case [node, *_]:
                    raise unread(node, "is a statement that no entry has")
                case _:
                    raise Differs(at, "ends before all launches are done")
        for node in rest:
            raise unread(node, "is a statement that no entry has")

    def launch(self, launch: Launch, items: ast.expr, call: ast.stmt, names: Mapping[str, Thing]) -> None:
        """That a call is a launch, at any turn of the loops around it."""
        given = [*self.given, *(n for n in names if n not in self.given)]
        work, driver = calls(self.module, call, given, sizes_of(names))
        if [a.arg for a in work.args.args] != ["first", "last", *given]:
            raise unread(work, "the parameters are not first, last and those of the entry")
        known = {**PRELUDE, **names, f"LANES_{vectors_of(self.program)}": Value(LANES, "ix")}
        here = CpuMeaning(self.meaning.arrays, block=launch.block, names=known)
        shared_out(driver, given, launch, here, self.width)
        one_launch(self.program, launch, here, self.width, work, items)


def sizes_of(names: Mapping[str, Thing]) -> set[str]:
    """The parameters that are sizes."""
    return {n for n, thing in names.items() if isinstance(thing, Value) and thing.kind == "ix"}


def parameters(program: Program, entry: ast.FunctionDef, given: list[str], meaning: CpuMeaning) -> dict[str, Thing]:
    """What the parameters stand for: arrays and numbers, then sizes, in order."""
    things: list[Thing] = []
    for name in (*(t.name for t in program.op.tensors), *(w.name for w in program.workspaces)):
        array, item = meaning.arrays[name], meaning.item(name)
        scalar = array.space == INPUT and not array.extents
        things.append(Value(Read(name, (), item), item) if scalar else Pointer(name, item, axes=meaning.axes(name)))
    things += [Value(Var(size), "ix") for size in program.op.sizes]
    plain = ast.arguments([], [ast.arg(a) for a in given], None, [], [], None, [])
    if len(given) != len(things) or ast.dump(plain) != ast.dump(entry.args) or len({*given, *PRELUDE}) < len(given) + len(PRELUDE):
        raise unread(entry, "the parameters are not the arrays, workspaces and sizes")
    return dict(zip(given, things, strict=True))


def _argument(name: str, thing: Thing, meaning: CpuMeaning) -> str:
    """`x.reshape(-1)`: flat views, bits of 16-bit floats, numbers in their dtype; what is strided stays as it is."""
    match thing:
        case Value(Read(array)) if meaning.arrays[array].dtype in PACKED:
            return f"round_{meaning.arrays[array].dtype}(narrow_to_odd(np.float64({name})))"
        case Value(_, kind):
            return f"{next(text for text, one in TYPES.items() if one == kind)}({name})"
        case Pointer(array, axes=axes):
            kind = meaning.arrays[array].dtype
            return f"{name}{'' if axes else '.reshape(-1)'}{f'.view({OF_BITS[kind]})' if kind in PACKED else ''}"
    raise AssertionError("arguments are numbers and arrays")


def one_launch(program: Program, launch: Launch, meaning: CpuMeaning, width: Width, work: ast.FunctionDef, items: ast.expr) -> None:
    """That a work function does, for each item, what a block of the launch does."""
    decorated(work)
    facts = facts_of(program)
    grid = tuple(replace(a, extent=natural(a.extent)) for a in launch.grid)
    reader = CpuReader(meaning.names, Here((), (), facts), width)
    _items(items, [a.extent for a in grid], reader)
    *made, last = after_doc(work.body) or [work]
    if past_caches(launch.body):  # what went past the caches is seen before the launch ends
        if not isinstance(last, ast.Expr) or ast.unparse(last) != "settled()" or not made:
            raise Differs(last, "ends without settled()", "it stores past the caches")
        made, last = made[:-1], made[-1]
    for node in made:
        _array(node, meaning, reader)
    flat = Flat(meaning.arrays, {})
    first = flat.registers(replace(launch, grid=grid), reader.here)["blockIdx"].term
    match last:
        case ast.For(ast.Name(name), ast.Call(ast.Name("range"), [ast.Name("first"), ast.Name("last")], []), body, []) if (
            name not in meaning.names
        ):
            meaning.names[name] = Value(first, "ix")
        case _:
            raise unread(last, "is no loop over the items")
    inputs = frozenset(t.name for t in program.op.inputs)
    follower = VectorFollower(meaning, launch, inputs, (), 0, width, flat, {*meaning.computed(launch.body)})
    follower.whole(body, tuple(Due(s) for s in launch.body), Here((*launch.turns, *grid), (), facts))


def facts_of(program: Program) -> tuple[Term, ...]:
    """What a launcher has seen to before it calls an entry."""
    sizes = tuple(Var(s) >= 0 for s in program.op.sizes) + (LANES >= 1, LANES <= 64)
    return tuple(map(canonical, (*sizes, *(c for w in program.where for c in conjuncts(w) if not reads(c)))))


def _items(items: ast.expr, wanted: Sequence[Term], reader: CpuReader) -> None:
    """That there are as many items as blocks."""
    found = [reader.index(f) for f in _product(items, len(wanted))]
    if len(found) != max(len(wanted), 1) or not all(map(reader.here.same, found, wanted or [Const(1)])):
        raise Differs(items, "is not the number of blocks")


def _product(items: ast.expr, count: int) -> Sequence[ast.expr]:
    match items:
        case ast.BinOp(left, ast.Mult(), right) if count > 1:
            return [*_product(left, count - 1), right]
    return [items]


def _array(node: ast.stmt, meaning: CpuMeaning, reader: CpuReader) -> None:
    """An array of cells that a work function makes: its name, how many it has, of which type."""
    match node:
        case ast.Assign([ast.Name("nought")], value) if ast.unparse(value) == "min(0, first)" and "nought" not in meaning.names:
            meaning.names["nought"] = Value(Const(0), "ix")  # items are numbered from 0
            return
        case ast.Assign([ast.Name(name)], ast.Call(ast.Attribute(ast.Name("np"), "empty"), [size, kind], [])):
            if ast.unparse(kind) in TYPES and name not in {*meaning.names, *meaning.made}:
                meaning.made[name] = canonical(reader.index(size)), TYPES[ast.unparse(kind)]
                return
    raise unread(node, "is a statement in front of the loop over items that kernels do not have")
