"""One kernel of a module: the function that makes it, read, and its body followed along a launch.

    def NAME(bits, wide):  names of the prelude;  def kernel(pointers, scalars, sizes): body;  return kernel, its signature

Comes in: the function, the launch, and what the launcher passes in each place. Goes out: nothing, or the error at the first difference.
The one idea: a name means what the text binds it to: a type, an instruction of the prelude, a parameter, a piece of a block's memory.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from tinygpu.category.term import BOOL, INDEX, Read, Term, Var, reads
from tinygpu.program.arrays import arrays, strides
from tinygpu.program.instruction import INSTRUCTIONS
from tinygpu.program.step import Launch, Program
from tinygpu.program.traverse import written
from tinygpu.record import dataclass, field, replace
from tinygpu.schedule.roles import Map, apart, maps, parameter
from tinygpu.validate.boxes import boxes as copied_at_once
from tinygpu.validate.collective import collective
from tinygpu.validate.cuda_follow import CudaFollower
from tinygpu.validate.declared import carved, declarations, own, type_of
from tinygpu.validate.flat import Flat
from tinygpu.validate.follow import Due
from tinygpu.validate.meaning import Meaning, in_memory
from tinygpu.validate.roles import roles
from tinygpu.validate.same import Here, canonical
from tinygpu.validate.scope import Scope
from tinygpu.validate.typed import Atom, Cells, Differs, Pointer, Thing, Value, unread
from tinygpu.validate.width import Width

ATOMS = dict(INSTRUCTIONS.values())  # by what makes them
KEPT = ("wide", "min", "max", "abs")  # of Python, or of the function that makes the kernel


@dataclass(frozen=True, slots=True)
class Given:
    """What a launcher has seen to before it calls a kernel: guards over the sizes, the terms that are at most the largest index, and where
    the wide kernel is taken, more guards and the bytes that arrays start at a multiple of. `bytes` is the block's memory of the launch."""

    facts: tuple[Term, ...] = ()
    limits: tuple[Term, ...] = ()
    wide: tuple[Term, ...] = ()
    aligned: Mapping[str, int] = field(default_factory=dict)
    bytes: int = 0


def kernel(function: ast.FunctionDef, program: Program, launch: Launch, given: Given) -> None:
    """That the text of a kernel is a launch. Raises Differs."""
    (names, inner, space), boxes = prelude(function), maps(program)
    roles(launch, program.arch, inner)
    copied_at_once(launch, program.arch, inner)
    launch = apart(launch, program.arch)
    known = arrays(program)
    memory = parameters(function, inner, _signature(function, inner, names, space), names, program, launch, boxes)
    meaning = Meaning.of(program)
    flat = Flat(known, given.aligned)
    promises = tuple(meaning.term(p) for p in (*program.op.promises, *filter(reads, (*program.op.where, *program.where))))
    here = Here((*launch.turns, *launch.grid, *launch.block), (), tuple(map(canonical, given.facts)), promises)
    names |= memory | flat.registers(launch, here)
    names["wide"] = Value(Var("wide", BOOL), "bool")
    declared = dict(declarations(inner, names))
    names |= {name: thing for _, name, thing in own(inner, declared, launch, names)}
    names |= {name: thing for _, name, thing in carved(inner, declared, launch, names, given.bytes)}
    inputs = frozenset(t.name for t in program.op.inputs)
    cells = {n: t for n, t in names.items() if isinstance(t, Cells) and not t.array}
    scope = Scope(meaning, names, Width.of(given.limits), flat, inputs, cells)
    wide, skipped = tuple(map(canonical, given.wide)), frozenset(declared.values())
    follower = CudaFollower(meaning, launch, inputs, (), len(launch.block), scope, wide, skipped)
    collective(launch, replace(here, axes=()), inner)
    follower.whole(inner.body, tuple(Due(s) for s in launch.body), here)


def prelude(function: ast.FunctionDef) -> tuple[dict[str, Thing], ast.FunctionDef, str]:
    """What the lines before the kernel give names to, the kernel, and what the names of the prelude are taken from."""
    names: dict[str, Thing] = {}
    space = ""
    if [a.arg for a in function.args.args] != ["bits", "wide"] or function.decorator_list:
        raise unread(function, "the function that makes a kernel takes bits and wide")
    for stmt in function.body[1:-2]:
        match stmt:
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id="cuda_names"), args=[ast.Name(id="bits")])
            ):
                space = name
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if len(targets) == len(values):
                for target, value in zip(targets, values, strict=True):
                    _bind(names, target, _atom(value, space))
            case ast.Assign(targets=[target], value=value):
                _bind(names, target, _atom(value, space))
            case _:
                raise unread(stmt, f"{ast.unparse(stmt)} is no line of a kernel's prelude")
    first, inner = function.body[0], function.body[-2]
    if (
        not (isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant))
        or not isinstance(inner, ast.FunctionDef)
        or inner.decorator_list
    ):
        raise unread(function, "the function that makes a kernel is a docstring, names, the kernel, and what it returns")
    return names, inner, space


def _bind(names: dict[str, Thing], target: ast.expr, atom: Atom) -> None:
    if not isinstance(target, ast.Name) or target.id in names or target.id in ("bits", *KEPT):
        raise unread(target, f"{ast.unparse(target)} is given here")
    names[target.id] = atom


def _atom(node: ast.expr, space: str) -> Atom:
    """What the prelude calls by an expression."""
    match node:
        case ast.Attribute(value=ast.Name(id=base), attr=name) if base == space and f"names.{name}" in ATOMS:
            return ATOMS[f"names.{name}"]
        case ast.Call(func=ast.Name(id="shared_memory"), args=[ast.Constant(value=int(number))], keywords=[]):
            return Atom("shared", "", number)
        case ast.Call(
            func=ast.Name(id="matrix" | "ring" | "tensor" | "tensor_copy" | "registers")
        ):  # which one it has to be is asked where it is called
            return Atom("matrix", ast.unparse(node))
        case ast.Call() if ast.unparse(node) in ATOMS:
            return ATOMS[ast.unparse(node)]
    raise unread(node, f"{ast.unparse(node)} is nothing of the prelude")


def parameters(
    function: ast.FunctionDef,
    inner: ast.FunctionDef,
    types: Sequence[str],
    names: Mapping[str, Thing],
    program: Program,
    launch: Launch,
    boxes: Sequence[Map] = (),
) -> dict[str, Thing]:
    """What the kernel's parameters are, by the place in which the launcher passes them; the signature says the same, and which arrays
    nobody writes: these the hardware may read before the launch's other accesses."""
    arguments, known, op = [a.arg for a in inner.args.args], arrays(program), program.op
    pointers = [t.name for t in op.tensors if t.shape or t.role == "output"] + [w.name for w in program.workspaces]
    paces = strides(op)
    steps = [name for each in paces.values() for name in each]
    passed = [*pointers, *(t.name for t in op.inputs if not t.shape), *op.sizes, *steps, *(a.name for a in launch.turns)]
    passed += map(parameter, boxes)
    if not len(arguments) == len(types) == len(passed) == len(set(arguments)):
        raise Differs(inner, f"has {len(arguments)} parameters and {len(types)} types", f"the launcher passes {len(passed)}")
    found, changed = dict[str, Thing](), written(launch.body)
    changed |= {source for output, source in op.inplace.items() if output in changed}
    for name, kind, given in zip(arguments, types, passed, strict=True):
        if name in names or name in KEPT:
            raise unread(inner, f"the parameter {name} hides a name of the prelude")
        whole = given in steps or given in passed[len(passed) - len(boxes) :]
        item = in_memory(known[given].dtype) if given in known else "i64" if whole else "ix"
        wanted = f"pointer {item}" if given in pointers else item
        scalar: Term = Read(given, (), item) if given in known else Var(given, INDEX if item == "ix" else item)
        axes, extents = len(paces.get(given, ())), known[given].extents if given in known else ()
        found[name] = Pointer(given, item, axes=axes, extents=extents) if given in pointers else Value(scalar, item)
        if given in pointers and kind == f"constant {item}":
            if given in changed:
                raise Differs(function.body[-1], f"says that nobody writes {name}", f"the program writes {given} in this launch")
        elif kind != wanted:
            raise Differs(function.body[-1], f"says that {name} is of type {kind}", f"the launcher passes {wanted}")
    return found


def _signature(function: ast.FunctionDef, inner: ast.FunctionDef, names: Mapping[str, Thing], space: str) -> list[str]:
    """The types of the parameters, as the last line says them."""
    match function.body[-1]:
        case ast.Return(
            value=ast.Tuple(
                elts=[ast.Name(id=name), ast.Call(func=ast.Attribute(value=base, attr="void"), args=types, keywords=[])]
            )
        ):
            if name == inner.name and ast.unparse(base) == space:
                return [type_of(t, names) for t in types]
    raise unread(function.body[-1], "the kernel and its signature are returned")
