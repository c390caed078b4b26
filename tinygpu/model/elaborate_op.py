"""Operations, from the tree: tensors, sizes, preconditions, and every equation as a term.

Comes in: the tree of one `op`. Goes out: one `Op` for each dtype of its family (one, if it has none).
The one idea: equations are read in order, and each intermediate joins the scope of those after it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from tinygpu.category.term import BOOL, DTYPES, INDEX, Axis, Read, walk
from tinygpu.diagnostic import Label, Span
from tinygpu.model.dtype import LITERAL, settle
from tinygpu.model.extent import determined
from tinygpu.model.op import Equation, Op, Tensor
from tinygpu.model.problems import UNKNOWN, Problems
from tinygpu.model.ranges import checked, inferred
from tinygpu.model.scope import Scope
from tinygpu.model.value import condition, index, value
from tinygpu.syntax import tree


def elaborate_op(op: tree.Op, constants: Mapping[str, int], problems: Problems) -> tuple[Op, ...]:
    """`tree.Op → Op` for each dtype of the family; `constants` are the params of the file. Mistakes are added to `problems`."""
    if op.family is None:
        return (_one(op, op.name, {}, constants, problems),)
    family = op.family
    unknown = [d for d in family.dtypes if d not in DTYPES]
    for dtype in unknown:
        Scope(problems).dtype(dtype, family.span)
    ops: list[Op] = []
    before = len(problems)
    for dtype in family.dtypes:
        if len(problems) == before:  # the other dtypes would mostly say the same
            ops.append(_one(op, f"{op.name}[{dtype}]", {family.variable: dtype}, constants, problems))
    return tuple(ops)


def _one(op: tree.Op, name: str, dtypes: Mapping[str, str], constants: Mapping[str, int], problems: Problems) -> Op:
    sizes = _sizes(op, constants)
    scope = Scope(problems, sizes, {}, constants, dtypes=dtypes)
    tensors: dict[str, Tensor] = {}
    for role, declarations in (("input", op.inputs), ("output", op.outputs)):
        for declaration in declarations:
            tensor = _tensor(declaration, role, scope)
            if declaration.name in tensors:
                problems.add(
                    "TG102",
                    f"the tensor {declaration.name} is declared twice",
                    declaration.span,
                    "declared again",
                    Label(tensors[declaration.name].span, "declared first here"),
                    help="take another name",
                )
            elif not scope.hides(declaration.name, declaration.span, "the tensor"):
                tensors[declaration.name] = tensor
    scope = replace(scope, tensors=tensors)
    where = [condition(guard, replace(scope.inside_brackets(), tensors=tensors)) for guard in op.where]
    scope, equations = _equations(op, scope)
    every = tuple(scope.tensors.values())
    inputs, outputs, intermediates = (tuple(t for t in every if t.role == role) for role in ("input", "output", "intermediate"))
    _all_used(op, scope, equations)
    _all_determined(sizes, (*inputs, *outputs), problems)
    promises = tuple(w for w in where if any(isinstance(t, Read) for t in walk(w)))
    guards = tuple(w for w in where if w not in promises)
    return Op(name, tuple(sizes), inputs, outputs, intermediates, equations, guards, op.span, promises)


def _names(expr: tree.Expr) -> Iterator[tree.Name]:
    match expr:
        case tree.Name():
            yield expr
        case tree.Binary(_, a, b):
            yield from _names(a)
            yield from _names(b)
        case tree.Unary(_, a):
            yield from _names(a)
        case tree.Call(_, args) | tree.Group(args):
            for a in args:
                yield from _names(a)


def _sizes(op: tree.Op, constants: Mapping[str, int]) -> dict[str, Span]:
    """The free names of the shapes, in order of first use, with the place of that use."""
    sizes: dict[str, Span] = {}
    for tensor in (*op.inputs, *op.outputs):
        for extent in tensor.shape or ():
            for name in _names(extent):
                if name.name not in constants:
                    sizes.setdefault(name.name, name.span)
    return sizes


def _tensor(declaration: tree.TensorDecl, role: str, scope: Scope) -> Tensor:
    dtype = scope.dtype(declaration.dtype, declaration.span) or UNKNOWN
    shape = tuple(index(extent, scope) for extent in declaration.shape or ())
    return Tensor(declaration.name, dtype, shape, role, declaration.span)


def _equations(op: tree.Op, scope: Scope) -> tuple[Scope, tuple[Equation, ...]]:
    """The equations in order, and the scope with the intermediates that they bring."""
    places = {t.name: t.span for e in op.equations for t in e.targets}
    equations: dict[str, Equation] = {}
    broken: set[str] = set()
    for equation in op.equations:
        if len(equation.targets) > 1:
            scope.problems.add(
                "TG109",
                "equations with several targets are not in this version yet",
                equation.span,
                help="write one equation for each",
            )
            continue
        target = equation.targets[0]
        later = {n: s for n, s in places.items() if n not in equations and n not in scope.tensors}
        if not _may_define(target, equations, scope):
            continue
        done = _equation(target, equation, replace(scope, later=later))
        dtype = done.value.dtype if done else UNKNOWN
        if target.name not in scope.tensors:
            shape = tuple(a.extent for a in done.axes) if done else tuple(Read("", (), UNKNOWN) for _ in target.index)
            scope = replace(
                scope, tensors={**scope.tensors, target.name: Tensor(target.name, dtype, shape, "intermediate", target.span)}
            )
        if done:
            equations[target.name] = done
        else:
            broken.add(target.name)
    for output in scope.tensors.values():
        if output.role == "output" and output.name not in equations and output.name not in broken:
            scope.problems.add(
                "TG115",
                f"the output {output.name} is never computed",
                output.span,
                "no equation has it on its left side",
                help=f"add an equation {output.name}[{', '.join('ijklmn'[: len(output.shape)])}] = …",
            )
    return scope, tuple(equations.values())


def _may_define(target: tree.Cell, equations: Mapping[str, Equation], scope: Scope) -> bool:
    known = scope.tensors.get(target.name)
    if known and known.role == "input":
        scope.problems.add(
            "TG114",
            f"the input {target.name} is assigned",
            target.span,
            "on the left side of an equation",
            Label(known.span, f"{target.name} is an input"),
            help="write to an output, or take another name for the value",
        )
        return False
    if target.name in equations:
        scope.problems.add(
            "TG114",
            f"{target.name} is computed twice",
            target.span,
            "computed again",
            Label(equations[target.name].span, "computed first here"),
            help="one equation for each tensor: join them, or take another name",
        )
        return False
    return known is not None or not scope.hides(target.name, target.span, "the tensor")


def _equation(target: tree.Cell, equation: tree.Equation, scope: Scope) -> Equation | None:
    axes = _axes(target, equation.value, scope)
    if axes is None:
        return None
    inner = scope.with_indices({a.name: a.extent for a in axes})
    term = value(equation.value, inner)
    declared = scope.tensors.get(target.name)
    if declared is None and term.dtype in (LITERAL, INDEX):
        scope.problems.add(
            "TG126",
            f"the dtype of {target.name} is not known",
            equation.value.span,
            "only numbers and indices stand here",
            help="say it with a cast: f32(…)",
        )
        return None
    dtype = declared.dtype if declared else term.dtype
    term = settle(term, dtype, equation.value.span, scope.problems)
    if UNKNOWN in (term.dtype, dtype):
        return None
    if declared and term.dtype != dtype:
        fix = "1 if … else 0 makes a number of a condition" if term.dtype == BOOL else f"write {dtype}(…) around the right side"
        fix = (
            f"compare it: … != 0, or declare {target.name}: {term.dtype}"
            if dtype == BOOL
            else f"{fix}, or declare {target.name}: {term.dtype}"
        )
        scope.problems.add(
            "TG121",
            f"{target.name} is {dtype} but its value is {term.dtype}",
            equation.value.span,
            f"this is {term.dtype}",
            Label(declared.span, f"{target.name} is declared {dtype}"),
            help=fix,
        )
        return None
    return Equation(target.name, axes, term, equation.span)


def _axes(target: tree.Cell, body: tree.Expr, scope: Scope) -> tuple[Axis, ...] | None:
    """The axes of the left side: distinct bare names, with the extents of the output, or those that the reads give."""
    declared = scope.tensors.get(target.name)
    if declared and len(declared.shape) != len(target.index):
        scope.problems.add(
            "TG110",
            f"{target.name} has {len(declared.shape)} axes, not {len(target.index)}",
            target.span,
            f"{len(target.index)} given here",
            Label(declared.span, f"{target.name} is declared here"),
        )
        return None
    names = _bare(target, scope)
    if names is None:
        return None
    axes = []
    for place, name in enumerate(names):
        extent = declared.shape[place] if declared else inferred(name.name, name.span, body, scope)
        if extent is None:
            return None
        if declared:
            checked(name.name, extent, name.span, target.name, body, scope)
        axes.append(Axis(name.name, extent, "data", name.span))
    return tuple(axes)


def _bare(target: tree.Cell, scope: Scope) -> list[tree.Name] | None:
    names: list[tree.Name] = []
    before = len(scope.problems)
    if target.fill is not None:
        scope.problems.add(
            "TG111", "a left side has no fill", target.span, "a fill belongs to a read", help="leave out the part after |"
        )
    for place in target.index:
        if not isinstance(place, tree.Name):
            scope.problems.add(
                "TG111",
                "only bare indices stand on the left side",
                place.span,
                "a term, not the name of an index",
                help="name the index of the element that is computed, and put the arithmetic into the reads",
            )
        elif place.name in (n.name for n in names):
            scope.problems.add(
                "TG111",
                f"{place.name} stands twice on the left side",
                place.span,
                "the second time",
                help="give each axis its own index",
            )
        elif not scope.hides(place.name, place.span, "the index"):
            names.append(place)
    return names if len(scope.problems) == before else None


def _all_used(op: tree.Op, scope: Scope, equations: tuple[Equation, ...]) -> None:
    for tensor in scope.tensors.values():
        if tensor.role != "output" and tensor.name not in scope.used:
            kind = "input" if tensor.role == "input" else "value"
            scope.problems.add(
                "TG104",
                f"the {kind} {tensor.name} is never read",
                tensor.span,
                "no equation reads it",
                help="remove it, or read it",
            )
    if op.family and op.family.variable not in scope.used:
        scope.problems.add(
            "TG104", f"the dtype {op.family.variable} is never used", op.family.span, "no tensor has it", help="remove it"
        )


def _all_determined(sizes: Mapping[str, Span], tensors: tuple[Tensor, ...], problems: Problems) -> None:
    """Every size has to be read off the shape of some array when the kernel is called."""
    known = determined([extent for t in tensors for extent in t.shape if extent.dtype == INDEX], tuple(sizes))
    for size, span in sizes.items():
        if size not in known:
            problems.add(
                "TG118",
                f"the size {size} cannot be read off the arrays",
                span,
                f"no axis has the extent {size} or c*{size} + d",
                help=f"declare an axis of extent {size}, or write a number for it",
            )
