"""The text of a CPU kernel against the program that was proved.

    validate(module, name, program)        raises Differs where `NAME_cpu` does not do, for all sizes, what the program does

Comes in: a module, the name of a launcher, and the program that its CPU kernels were made of. Goes out: nothing, or a diagnostic that names a
line of the module. The one idea: nothing of the emitter is trusted. Its text is read, and followed along the program, as that of CUDA is.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from tinygpu.category.bounds import natural
from tinygpu.category.dtype import HALVES, NUMPY
from tinygpu.category.term import Axis, Const, Read, Term, Var, conjuncts, reads
from tinygpu.derive.unpack import unpack
from tinygpu.diagnostic import Diagnostic
from tinygpu.model.op import Tensor
from tinygpu.obligations.width import cpu_limits
from tinygpu.program.step import Launch, Program
from tinygpu.schedule.cpu import instances
from tinygpu.schedule.tiled import LANES
from tinygpu.validate.check import diagnostic
from tinygpu.validate.cpu_call import Values
from tinygpu.validate.cpu_driver import after_doc, calls, decorated, function, shared_out
from tinygpu.validate.cpu_follow import Due, Follower
from tinygpu.validate.cpu_names import Digits, Global, Meaning, Number
from tinygpu.validate.helpers import APART, DIGESTS, VECTORS, dtype_of
from tinygpu.validate.launcher import Expected
from tinygpu.validate.module import Module, names_of, read
from tinygpu.validate.same import Here, canonical
from tinygpu.validate.typed import Differs, unread
from tinygpu.validate.width import Width

LARGEST_ON_CPU = 2**63 - 2**32  # so that a loop may count a little beyond what the program counts to
SCALAR = {name: text for name, text in NUMPY.items() if name not in HALVES}
DTYPES = {text: dtype for dtype, text in SCALAR.items()}


def findings(text: str, machines: Sequence[Expected], file: str = "") -> tuple[Diagnostic, ...]:
    """What is wrong with the CPU kernels of a module; nothing where they do what the programs say."""
    module = read(text, file)
    out: list[Diagnostic] = []
    for machine in machines:
        try:
            validate(module, machine.name, machine.on_cpu)
            if machine.cpu is not None and not {*machine.cpu.where} <= {*machine.program.where}:
                entry = function(module, f"{machine.name}_cpu", module.tree.body[0])
                raise Differs(entry, "is proved only where its own preconditions hold", "the launcher checks those of the machine")
        except Differs as difference:
            out.append(diagnostic(module, "TG820", f"{machine.name}_cpu", difference))
    return tuple(out)


def validate(module: Module, name: str, program: Program) -> None:
    """That `NAME_cpu` of a module is a program. Raises Differs."""
    limits = cpu_limits(instances(program)[0])
    program = unpack(program)
    entry = function(module, f"{name}_cpu", ast.Pass(lineno=1, col_offset=0))
    helped(module)
    names, given = parameters(program, entry)
    launches = list(program.launches)
    items: ast.expr | None = None
    waiting = {n for n in given if isinstance(names[n], Global | Number)}
    for node in after_doc(entry.body):
        match node:
            case ast.Assign([ast.Name(one)], value) if one in waiting and items is None:
                _argument(node, one, value, names[one])
                waiting.remove(one)
            case ast.Assign([ast.Name("items")], value) if not waiting:
                items = value
            case _ if items is not None and launches:
                sizes = {n for n, m in names.items() if isinstance(m, Var)}
                work, driver = calls(module, node, given, sizes)
                launch = launches.pop(0)
                values = Values(module, {**names, "LANES": LANES}, Width(limits, LARGEST_ON_CPU))
                one_launch(program, launch, work, given, items, values)
                if driver is not None:
                    shared_out(driver, given, launch, values, names)
            case _:
                raise unread(node, "is a statement that no entry has")
    if launches or waiting:
        raise Differs(entry, "ends before all launches are done")


def helped(module: Module) -> None:
    """That what is called like a helper is one: so are those that it calls itself. Raises Differs."""
    for node in module.tree.body:
        for name in names_of(node):
            if APART.sub(r"\1", name) in DIGESTS.keys() | VECTORS["f32"].keys() and dtype_of(name, node) is None:
                raise unread(node, f"{name} is not the helper of that name")


def globals_of(program: Program) -> tuple[Tensor, ...]:
    """The arrays and numbers in the order of the parameters."""
    return (*program.op.tensors, *(Tensor(w.name, w.dtype, w.extents, "workspace", w.span) for w in program.workspaces))


def parameters(program: Program, entry: ast.FunctionDef) -> tuple[dict[str, Meaning], list[str]]:
    """What the parameters stand for: arrays and numbers, then sizes, in order."""
    given = [a.arg for a in entry.args.args]
    meanings: list[Meaning] = []
    for tensor in globals_of(program):
        scalar = tensor.role == "input" and not tensor.shape
        meanings.append(Number(Read(tensor.name, (), tensor.dtype)) if scalar else Global(tensor))
    meanings += [Var(s) for s in program.op.sizes]
    plain = ast.arguments([], [ast.arg(a) for a in given], None, [], [], None, [])
    if len(given) != len(meanings) or ast.dump(plain) != ast.dump(entry.args) or len(set(given)) < len(given):
        raise unread(entry, "the parameters are not the arrays, workspaces and sizes")
    return dict(zip(given, meanings, strict=True)), given


def _argument(node: ast.Assign, name: str, value: ast.expr, meaning: Meaning) -> None:
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
        raise unread(node, f"{name} is changed to something else")


def one_launch(program: Program, launch: Launch, work: ast.FunctionDef, given: list[str], items: ast.expr, values: Values) -> None:
    """That a work function does, for each item, what a block of the launch does."""
    decorated(work)
    if [a.arg for a in work.args.args] != ["first", "last", *given]:
        raise unread(work, "the parameters are not first, last and those of the entry")
    sizes = tuple(Var(s) >= 0 for s in program.op.sizes) + (LANES >= 1, LANES <= 64)
    facts = tuple(map(canonical, (*sizes, *(c for w in program.where for c in conjuncts(w) if not reads(c)))))
    values.here = Here((), (), facts)
    _items(items, launch, values)
    *made, last = after_doc(work.body) or [work]
    arrays = dict(one for node in made if (one := _array(node, values)) is not None)
    match last:
        case ast.For(ast.Name(name), ast.Call(ast.Name("range"), [ast.Name("first"), ast.Name("last")], []), body, []):
            values.names[name] = Digits(launch.grid)
        case _:
            raise unread(last, "is no loop over the items")
    grid = tuple(Axis(a.name, natural(a.extent), a.sort) for a in launch.grid)
    written = {t.name: t for t in globals_of(program)}
    follower = Follower(values, launch, written, arrays)
    values.shown = set(follower.computed(launch.body))
    follower.whole(body, tuple(Due(s) for s in launch.body), Here(grid, (), facts))


def _items(items: ast.expr, launch: Launch, values: Values) -> None:
    """That there are as many items as blocks."""
    found = [values.index(f) for f in _product(items, len(launch.grid))]
    wanted = [natural(a.extent) for a in launch.grid] or [Const(1)]
    if len(found) != len(wanted) or not all(map(values.here.same, found, wanted)):
        raise Differs(items, "is not the number of blocks")


def _product(items: ast.expr, count: int) -> Sequence[ast.expr]:
    match items:
        case ast.BinOp(left, ast.Mult(), right) if count > 1:
            return [*_product(left, count - 1), right]
    return [items]


def _array(node: ast.stmt, values: Values) -> tuple[str, tuple[Term, str]] | None:
    """An array of cells that a work function makes: its name, how many it has, of which dtype."""
    match node:
        case ast.Assign([ast.Name("nought")], value) if ast.unparse(value) == "min(0, first)":
            values.names["nought"] = Const(0)  # items are numbered from 0
            return None
        case ast.Assign([ast.Name(name)], ast.Call(ast.Attribute(ast.Name("np"), "empty"), [size, kind], [])):
            if ast.unparse(kind) in DTYPES and name not in values.names:
                return name, (canonical(values.index(size)), DTYPES[ast.unparse(kind)])
    raise unread(node, "is a statement in front of the loop over items that kernels do not have")
