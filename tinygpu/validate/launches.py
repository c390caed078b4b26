"""The branch of a launcher for GPUs: its launches, what it passes to kernels, and what holds there.

Comes in: what the launcher has looked at. Goes out: each call with its number of blocks, the arguments that all calls have, and facts in
the op's own names of sizes. The one idea: the sizes are those that the kernels get; that every shape is the op's at these sizes, and that
every precondition holds, follows from the checks before.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from tinygpu.category.term import (
    BOOL,
    App,
    Const,
    Fold,
    Term,
    Var,
    conjunction,
    conjuncts,
    equal,
    reads,
    substitute,
    text,
    variables,
    walk,
)
from tinygpu.hardware.arch import CPU
from tinygpu.program.step import Launch
from tinygpu.record import dataclass, replace
from tinygpu.validate.bits import LARGEST_ON_CPU, narrowed, refused
from tinygpu.validate.data import checks_data
from tinygpu.validate.effects import names_in
from tinygpu.validate.kernel import Given, Passed
from tinygpu.validate.same import Here
from tinygpu.validate.seen import Reading
from tinygpu.validate.typed import Differs, unread
from tinygpu.validate.whole import extent

BLOCKS = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Call:
    """A launch: the object that is called, and how many blocks."""

    node: ast.Call
    name: str
    blocks: Term


@dataclass(frozen=True, slots=True)
class Launcher:
    """What is known of a launcher: `passed` are the kernels' arguments, `given` what holds for them; `on_cpu` are the terms that are at
    most `LARGEST_ON_CPU` where the CPU kernel is called."""

    calls: tuple[Call, ...]
    passed: tuple[Passed, ...]
    given: Given
    on_cpu: tuple[Term, ...] = ()

    def counted(self, limits: Sequence[Term], function: ast.FunctionDef) -> None:
        """That what a CPU kernel counts to is looked at before it is called. Raises Differs."""
        here = Here((), (), self.given.facts)
        for limit in limits:
            if not any(here.same(limit, term) for term in self.on_cpu):
                raise Differs(
                    function, f"does not ask whether {text(limit)} is at most {LARGEST_ON_CPU}", "a CPU counts with 64 bits"
                )

    def given_to(self, bytes: int) -> Given:
        """What holds for a kernel whose launch gives that many bytes of a block's memory."""
        return replace(self.given, bytes=bytes)

    def grid(self, call: Call, launch: Launch) -> None:
        """That a launch has as many blocks as the program says. Raises Differs."""
        if not Here((), (), self.given.facts).same(call.blocks, launch.blocks):
            raise Differs(call.node.args[4], f"launches {text(call.blocks)} blocks", f"the grid has {text(launch.blocks)}")


def launches(reading: Reading, stmt: ast.If) -> Launcher:
    """The branch for GPUs: one call for each launch, all with the same arguments."""
    out = next(n for n, t in reading.tensors.items() if t.role == "output")
    if ast.unparse(stmt.test) not in {f"{n}.device < 0" for n, t in reading.tensors.items() if t.role == "output"}:
        raise Differs(stmt.test, f"asks {ast.unparse(stmt.test)}", f"it asks where {out} is")
    counted = on_cpu(reading, stmt)
    names: dict[str, ast.expr] = {}
    calls: list[Call] = []
    blocks: dict[str, Term] = {}
    for one in stmt.orelse:
        match one:
            case ast.Expr(value=ast.Call(func=ast.Name(id="_need_cuda"))):
                continue
            case (
                ast.Assign(targets=[ast.Name(id="_bits")]) | ast.If(body=[ast.Assign(targets=[ast.Name(id="_bits")])]) | ast.If()
            ) if "_bits" in names_in(one) and not names and not calls:
                narrowed(reading, one)
            case ast.Expr(value=ast.Call(func=ast.Name(id="_fail"))) if reading.program.arch == CPU:
                continue  # arrays on a GPU are refused
            case ast.Assign(targets=[ast.Name(id="_stream" | "_wide" | "_index" as name)], value=value) if (
                name not in names and not calls
            ):
                names[name] = value
            case ast.Assign(targets=[ast.Name(id="_blocks")], value=value):
                blocks = {"_blocks": reading.whole.number(value)}
            case ast.If(test=ast.Compare(left=ast.Name(id="_blocks"), ops=[ast.Gt()], comparators=[ast.Constant(value=most)])) if (
                blocks
            ):
                if most != BLOCKS or not isinstance(one.body[0], ast.Expr) or "_too_large" not in names_in(one.body[0]):
                    raise Differs(one.test, f"asks {ast.unparse(one.test)}", f"a grid has at most {BLOCKS} blocks")
                reading.facts.append(App("le", (blocks["_blocks"], Const(BLOCKS)), BOOL))
            case ast.Expr(value=ast.Call(func=ast.Name(id=name), args=[ast.Name() as view, stream, bits, wide, count, *_]) as call):
                if [ast.unparse(a) for a in (stream, bits, wide)] != ["_stream", "_bits", "_wide"] or ast.unparse(
                    view
                ) not in reading.tensors:
                    raise Differs(
                        call,
                        f"launches {name} in another way",
                        "with the stream, the width of indices, and whether accesses are wide",
                    )
                asked = names.get("_stream")
                if asked is None or not re.fullmatch(
                    rf"_stream_of\('[^']*', stream(, \w+)*, {view.id}(, \w+)*\)", ast.unparse(asked)
                ):
                    raise Differs(
                        asked or call, "launches on another stream", "a launch is on the caller's stream, of the array's device"
                    )
                total = blocks["_blocks"] if blocks and ast.unparse(count) == "_blocks" else reading.whole.number(count)
                if not reading.holds(App("le", (total, Const(BLOCKS)), BOOL)):
                    raise Differs(
                        count, f"launches {text(total)} blocks, which may be too many", f"a grid has at most {BLOCKS} blocks"
                    )
                calls.append(Call(call, name, total))
            case _:
                raise unread(one, f"{ast.unparse(one).splitlines()[0]} is no launch")
    return _given(reading, names, calls, stmt, counted)


def on_cpu(reading: Reading, stmt: ast.If) -> tuple[Term, ...]:
    """The branch for CPUs: one call of the launcher's CPU kernel, with the arrays and scalars, the workspaces, and the sizes. What is refused
    before, as no index of 64 bits counts so far."""
    first, *rest = stmt.body
    most = refused(reading, first, first.test, LARGEST_ON_CPU) if isinstance(first, ast.If) else ()
    match rest if isinstance(first, ast.If) else stmt.body:
        case [
            ast.Expr(value=ast.Call(func=ast.Name(id="_no_stream"), args=[ast.Constant(), ast.Name(id="stream")])),
            ast.Expr(value=ast.Call(func=ast.Name(id="_on_cpu"), args=[ast.Name(id=kernel), *arguments], keywords=[])),
        ] if kernel == f"{reading.function.name}_cpu":
            views = {tensor.name: view for view, tensor in reading.tensors.items()}
            op = reading.program.op
            wanted = [f"{views[t.name]}.base" if t.shape or t.role == "output" else views[t.name] for t in op.tensors]
            given = [ast.unparse(a) for a in arguments]
            sizes = given[len(given) - len(op.sizes) :]
            if given[: len(wanted)] == wanted and len(given) >= len(wanted) + len(sizes) and set(sizes) <= reading.whole.numbers:
                return most
    raise Differs(stmt.body[0], "calls no CPU kernel with the arrays and sizes", f"it calls {reading.function.name}_cpu")


def _given(
    reading: Reading, names: Mapping[str, ast.expr], calls: Sequence[Call], stmt: ast.If, most: tuple[Term, ...]
) -> Launcher:
    """What all calls pass, in the op's own names of sizes."""
    op = reading.program.op
    cpu = [ast.unparse(a) for a in stmt.body[-1].value.args]  # type: ignore[attr-defined]
    arguments = [] if reading.program.arch == CPU else _arguments(names, calls, stmt)
    sizes = [
        a.args[0].id
        for a in arguments
        if isinstance(a, ast.Call) and ast.unparse(a.func) == "_index" and isinstance(a.args[0], ast.Name)
    ]
    sizes = cpu[len(cpu) - len(op.sizes) :] if reading.program.arch == CPU else sizes
    if len(sizes) != len(op.sizes) or len(set(sizes)) != len(sizes) or not set(sizes) <= reading.whole.numbers:
        raise Differs(stmt.orelse[-1], f"passes {len(sizes)} sizes", f"the op has {len(op.sizes)}")
    spelled = dict(zip(sizes, op.sizes, strict=True))
    passed = tuple(_passed(reading, a, spelled) for a in arguments)
    for name, said in reading.given_sizes.items():
        if spelled.get(name) != said:
            raise Differs(stmt.orelse[-1], f"passes {name} as another size", f"a caller gives it as {said}")
    if cpu[len(cpu) - len(sizes) :] != sizes:
        raise Differs(stmt.body[-1], "passes the CPU kernel other sizes", "they are those of the kernels for GPUs")
    spell = {name: Var(f"size {spelled[name]}" if name in spelled else f"its {name}") for name in reading.whole.numbers}
    back = {f"size {size}": Var(size) for size in op.sizes}

    def known(term: Term) -> Term:
        return substitute(substitute(term, spell), back)

    facts = tuple(map(known, reading.facts))
    here = Here((), (), facts)
    for goal, node, said in _owed(reading):
        if not here.holds(goal):
            raise Differs(node, f"does not check that {said}", "it checks all that the proof assumes")
    fitting = Here((), (), tuple(goal for goal, _, _ in _owed(reading)))
    for stmt, tests in reading.tests:
        if not all(fitting.holds(known(t)) for t in tests):
            raise Differs(stmt.test, f"refuses where {ast.unparse(stmt.test)}", "arrays that fit the op are taken")
    limits = tuple(t for t in map(known, reading.narrow.get(32, ())) if t in {*map(known, reading.narrow.get(64, ()))})
    wide, aligned = _wide(reading, names.get("_wide"), known)
    own = frozenset(op.sizes)
    about = tuple(f for f in facts if variables(f) <= own)
    made = tuple(
        dict.fromkeys((*(Var(s) >= 0 for s in op.sizes), *(w for w in (*op.where, *reading.program.where) if not reads(w)), *about))
    )
    checks_data(reading, made, spelled)
    launched = tuple(Call(c.node, c.name, known(c.blocks)) for c in calls)
    return Launcher(launched, passed, Given(made, limits, wide, aligned), tuple(map(known, most)))


def _arguments(names: Mapping[str, ast.expr], calls: Sequence[Call], stmt: ast.If) -> list[ast.expr]:
    """What every kernel for GPUs is given."""
    if not calls or len({tuple(ast.unparse(a) for a in c.node.args[5:]) for c in calls}) != 1:
        raise Differs(stmt, "launches kernels with several arguments", "all launches have the same")
    index = names.get("_index")
    if index is None or ast.unparse(index) != "np.int32 if _bits == 32 else np.int64":
        raise Differs(index or stmt, "passes sizes in another width", "a size has the bits of an index")
    return calls[0].node.args[5:]


def _owed(reading: Reading) -> Iterator[tuple[Term, ast.AST, str]]:
    """What a launcher has to see to."""
    program = reading.program
    for size in program.op.sizes:
        yield Var(size) >= 0, reading.function, f"{size} is at least 0"
    for view, tensor in reading.tensors.items():
        for axis, wanted in enumerate(tensor.shape):
            said = f"axis {axis} of {tensor.name} is {text(wanted)}"
            yield equal(extent(view, axis), wanted), reading.function, said
    for guard in dict.fromkeys((*program.op.where, *program.where)):
        for part in conjuncts(guard):
            if not any(reads(g) for g in (part,)) and _plain(part):
                yield part, reading.function, text(part)


def _plain(guard: Term) -> bool:
    """Whether a guard is about sizes alone: promises of data are assumed."""
    return not any(isinstance(t, Fold) for t in walk(guard))


def _passed(reading: Reading, node: ast.expr, spelled: Mapping[str, str]) -> Passed:
    """One argument of a kernel."""
    match node:
        case ast.Attribute(value=ast.Name(id=view), attr="pointer") if view in reading.memory():
            return Passed("pointer", reading.tensors[view].name)
        case ast.Call(func=ast.Name(id="_memory"), args=[ast.Name(id=view), ast.Constant(value=dtype)]) if view in reading.tensors:
            tensor = reading.tensors[view]
            if dtype == tensor.dtype and not tensor.shape:
                return Passed("scalar", tensor.name)
        case ast.Call(func=ast.Name(id="_index"), args=[ast.Name(id=size)]):
            return Passed("size", spelled[size])
    raise unread(node, f"{ast.unparse(node)} is no argument of a kernel")


def _wide(reading: Reading, node: ast.expr | None, known: Callable[[Term], Term]) -> tuple[tuple[Term, ...], dict[str, int]]:
    """Where the wide kernel is taken: guards over the sizes, and the bytes that arrays start at a multiple of."""
    guards: list[Term] = []
    aligned: dict[str, int] = {}
    parts = node.values if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And) else [node] if node is not None else []
    for part in parts:
        match part:
            case ast.Call(func=ast.Name(id="_aligned"), args=pairs, keywords=[]):
                for pair in pairs:
                    match pair:
                        case ast.Tuple(elts=[ast.Name(id=view), ast.Constant(value=int(size))]) if view in reading.tensors:
                            aligned[reading.tensors[view].name] = size
                        case _:
                            raise unread(pair, "a view and its bytes")
            case _:
                guards.append(known(reading.whole.test(part)))
    return tuple(g for g in conjuncts(conjunction(*guards))), aligned
