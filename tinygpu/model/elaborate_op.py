"""Operations, from the tree: tensors, sizes, preconditions, and every equation as a term.

Comes in: the tree of one `op`. Goes out: one `Op` for each choice of the dtypes of its families (one, if it has none).
The one idea: equations are read in order, and each intermediate joins the scope of those after it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tinygpu.category.dtype import PACKED, STORAGE
from tinygpu.category.linear import polynomial
from tinygpu.category.monoid import is_built_in
from tinygpu.category.term import DTYPES, INDEX, Read, Term, apply, conjuncts, walk
from tinygpu.diagnostic import Span
from tinygpu.model.bulk import too_long, too_many, too_wide
from tinygpu.model.call import CALLS
from tinygpu.model.equations import equations_of
from tinygpu.model.extent import needed, with_divisors
from tinygpu.model.op import Op, Tensor
from tinygpu.model.problems import UNKNOWN, Problems
from tinygpu.model.scope import SPECIAL, Scope
from tinygpu.model.source import variants
from tinygpu.model.value import condition, index
from tinygpu.model.view import VIEW
from tinygpu.record import replace
from tinygpu.syntax import tree
from tinygpu.syntax.node import nodes


def elaborate_op(op: tree.Op, file: Scope) -> tuple[Op, ...]:
    """`tree.Op → Op` for each choice of its dtypes; `file` has the params and monoids of the file. Mistakes are added to its problems."""
    problems = file.problems
    if too_many(op, problems) or too_wide(op, problems):
        return ()
    before = len(problems)
    _families(op, file)
    ops: list[Op] = []
    for variant in variants(op):
        if len(problems) == before:  # the other dtypes would mostly say the same
            name = f"{op.name}[{', '.join(dtype for _, dtype in variant)}]" if variant else op.name
            ops.append(_one(op, name, replace(file, dtypes=dict(variant))))
    return tuple(ops)


def _families(op: tree.Op, file: Scope) -> None:
    """Whether variables are names of their own, and stand for dtypes."""
    problems, met = file.problems, dict[str, tree.Family]()
    for family in op.families:
        if family.variable in (*DTYPES, *CALLS, *SPECIAL, *file.constants, *file.monoids) or is_built_in(family.variable):
            problems.say("TG103.dtype", family.span, name=family.variable)
        if family is not (first := met.setdefault(family.variable, family)):
            problems.say("TG102.declared", family.span, first.span, what=f"variable {family.variable}")
        for at, (name, dtype) in enumerate(zip(family.choices, family.dtypes, strict=True)):
            if name not in DTYPES and not isinstance(dtype, tree.Number):  # which is said already
                Scope(problems).dtype(name, dtype.span)
            if name in family.choices[:at]:
                problems.say("TG102.dtype", dtype.span, dtype=name)


def _one(op: tree.Op, name: str, file: Scope) -> Op:
    problems = file.problems
    before, sizes = len(problems), _sizes(op, file.constants)
    scope = replace(file, sizes=sizes, used=set(), folded=set())
    scope = replace(scope, tensors=_declared(op, scope))
    where = [part for guard in op.where for part in conjuncts(condition(guard, scope.inside_brackets()))]
    scope, equations = equations_of(op, scope, where)
    too_long(equations, problems)
    every = tuple(scope.tensors.values())
    inputs, outputs, intermediates = (
        tuple(t for t in every if t.role in roles) for roles in (("input",), ("output",), ("intermediate", VIEW))
    )
    written = [t for e in op.equations if _extents(e) for t in intermediates if t.name in (one.name for one in e.targets)]
    if len(problems) == before and UNKNOWN not in scope.used:  # a mistyped name leaves its tensor unread: one message is enough
        _all_used(op, scope)
    promises = tuple(w for w in where if any(isinstance(t, Read) for t in walk(w)))
    said = with_divisors(w for w in where if w not in promises)
    guards = tuple(dict.fromkeys((*said, *_possible((*inputs, *outputs, *written), said))))
    monoids = tuple(m for m in file.monoids.values() if m)
    return Op(name, tuple(sizes), inputs, outputs, intermediates, equations, guards, op.span, promises, monoids)


def _declared(op: tree.Op, scope: Scope) -> dict[str, Tensor]:
    """The inputs and outputs by name; says which stand twice."""
    tensors: dict[str, Tensor] = {}
    for role, declarations in (("input", op.inputs), ("output", op.outputs)):
        for one in declarations:
            tensor = _tensor(one, role, replace(scope, tensors=tensors))
            if role == "output" and one.shape is None:
                scope.problems.say("TG129.output", one.span, name=one.name, dtype=one.dtype)
            if one.name in tensors:
                scope.problems.say("TG102.declared", one.span, tensors[one.name].span, what=f"tensor {one.name}")
            elif not scope.hides(one.name, one.span, "the tensor"):
                tensors[one.name] = tensor
    return tensors


def _sizes(op: tree.Op, constants: Mapping[str, int]) -> dict[str, Span]:
    """The free names of the shapes, in order of first use, with the place of that use: of arrays, of views, and the ranges of equations; then those that
    `where` and the values of equations speak of."""
    sizes: dict[str, Span] = {}
    tensors, beside = (*op.inputs, *op.outputs), {*constants, *SPECIAL}
    known = beside.union(t.name for t in tensors).union(*(_indices(e) for e in op.equations))
    for shape, others in [(t.shape, beside) for t in tensors] + [(_extents(e), known) for e in op.equations]:
        for name in nodes(shape):
            if isinstance(name, tree.Name) and name.name not in others:
                sizes.setdefault(name.name, name.span)
    values = tuple(e.value for e in op.equations if isinstance(e, tree.Equation))
    used = {n.name for n in nodes(values) if isinstance(n, tree.Name)}
    bound = known.union(b.name for n in nodes((op.where, values)) if isinstance(n, tree.FoldExpr) for b in n.binders)
    for name in nodes(op.where):
        if isinstance(name, tree.Name) and name.name in used - bound:
            sizes.setdefault(name.name, name.span)
    return sizes


def _indices(equation: tree.Equation | tree.View) -> set[str]:
    """The indices of a left side; a view names none."""
    places = () if isinstance(equation, tree.View) else (tree.ranged(i) for t in equation.targets for i in t.index)
    return {place.name for place in places if place is not None}


def _extents(equation: tree.Equation | tree.View) -> tuple[tree.Expr, ...]:
    """The extents that are written in an equation, for the indices of its left side; of a view, all."""
    if isinstance(equation, tree.View):
        return equation.shape
    places = (tree.ranged(place) for target in equation.targets for place in target.index)
    return tuple(place.bound for place in places if place is not None and place.bound is not None)


def _tensor(declaration: tree.TensorDecl, role: str, scope: Scope) -> Tensor:
    dtype = scope.dtype(declaration.dtype, declaration.span) or UNKNOWN
    shape = tuple(index(extent, scope) for extent in declaration.shape or ())
    if declaration.strided and not shape:
        scope.problems.say("TG165.axes", declaration.span, name=declaration.name, dtype=declaration.dtype)
    placed = _placed(declaration, dtype, shape, role, scope)
    return Tensor(declaration.name, dtype, shape, role, declaration.span, placed, declaration.strided and bool(shape))


def _placed(declaration: tree.TensorDecl, dtype: str, shape: tuple[Term, ...], role: str, scope: Scope) -> str:
    """The input in whose memory an output may lie: an array of its dtype and shape, and no other output's. Empty after a message."""
    name, other, span = declaration.name, declaration.inplace, declaration.span
    there = scope.tensors.get(other)
    if not other or (there and UNKNOWN in (dtype, there.dtype)):
        return ""
    if role == "input":
        scope.problems.say("TG164.input", span, name=name, other=other)
    elif there is None or there.role != "input" or there.shape != shape or there.dtype != dtype or not shape:
        scope.problems.say("TG164.other", span, *(t.span for t in (there,) if t), name=name, other=other)
    elif any(t.inplace == other for t in scope.tensors.values()):
        scope.problems.say("TG164.twice", span, name=name, other=other)
    else:
        return other
    return ""


def _possible(tensors: tuple[Tensor, ...], known: tuple[Term, ...]) -> Iterator[Term]:
    """What arrays promise by being there, and intermediates whose ranges are written: extents such as `n - 2` are not negative, and what `n // S`
    divides by is at least 1."""
    for tensor in tensors:
        for extent in tensor.shape:
            yield from needed(extent, known)
            if extent.dtype == INDEX and min(polynomial(extent).values(), default=0) < 0:
                yield apply("ge", extent, 0)


def _all_used(op: tree.Op, scope: Scope) -> None:
    written = {tensor.inplace for tensor in scope.tensors.values()}  # what an output stands in needs no reader
    for tensor in scope.tensors.values():
        if tensor.role != "output" and tensor.name not in scope.used | written:
            kind = "input" if tensor.role == "input" else "value"
            scope.problems.say("TG104.tensor", tensor.span, kind=kind, name=tensor.name)
    for family in op.families:
        if family.variable not in scope.used:
            scope.problems.say("TG104.dtype", family.span, name=family.variable)


def passed(ops: Iterable[Op], problems: Problems) -> None:
    """Says which dtypes callers do not give: their arrays of f32 may have more digits than tf32, and two numbers of 4 bits are one byte."""
    for tensor in (t for op in ops for t in (*op.inputs, *op.outputs) if t.dtype in STORAGE):
        if tensor.dtype not in PACKED:
            instead = "f32" if tensor.dtype == "tf32" else "u8"
            problems.say("TG108.array", tensor.span, name=tensor.name, dtype=tensor.dtype, instead=instead)
        elif not tensor.shape and tensor.role == "input":
            problems.say("TG108.number", tensor.span, name=tensor.name, dtype=tensor.dtype)
