"""The equations of an operation: what each says of its tensor, in the order of the text.

Comes in: the tree of an op and a scope with its inputs and outputs. Goes out: the equations, and the scope with the intermediates.
The one idea: a left side names one element by bare indices; the output's shape, or the reads, say over what they run.
"""

from __future__ import annotations

from collections.abc import Mapping

from tinygpu.category.monoid import Carrier, components
from tinygpu.category.term import BOOL, INDEX, Axis, Read, Term
from tinygpu.diagnostic import Label
from tinygpu.model.dtype import LITERAL, settle
from tinygpu.model.folds import fold
from tinygpu.model.op import Equation, Tensor
from tinygpu.model.problems import UNKNOWN, WRONG
from tinygpu.model.ranges import checked, inferred
from tinygpu.model.scope import Scope
from tinygpu.model.value import value
from tinygpu.record import replace
from tinygpu.syntax import tree


def equations_of(op: tree.Op, scope: Scope) -> tuple[Scope, tuple[Equation, ...]]:
    """The equations in order, and the scope with the intermediates that they bring."""
    places = {t.name: t.span for e in op.equations for t in e.targets}
    equations: dict[str, Equation] = {}
    for equation in op.equations:
        around = scope  # none of the targets of a tuple is known on its right side
        for number, target in enumerate(equation.targets if _alike(equation, scope) else ()):
            if not _may_define(target, equations, scope):
                continue
            later = {n: s for n, s in places.items() if n not in equations and n not in around.tensors}
            known = {t.name: scope.tensors[t.name] for t in (target,) if t.name in scope.tensors}
            inside = replace(around, later=later, tensors={**around.tensors, **known})
            done = _equation(target, equation, number, inside)
            if target.name not in scope.tensors:
                scope = replace(scope, tensors={**scope.tensors, target.name: _intermediate(target, done)})
            if done:
                equations[target.name] = done
    for output in scope.tensors.values():
        if output.role == "output" and output.name not in places:
            axes = ", ".join("ijklmn"[: len(output.shape)])
            title, fix = f"the output {output.name} is never computed", f"add an equation {output.name}[{axes}] = …"
            scope.problems.add("TG115", title, output.span, "no equation has it on its left side", help=fix)
    return scope, tuple(equations.values())


def _intermediate(target: tree.Cell, done: Equation | None) -> Tensor:
    """The tensor that an equation brings; of dtype `?` where the equation is wrong, so that its reads are not complained about."""
    if done is None:
        return Tensor(target.name, UNKNOWN, tuple(Read("", (), UNKNOWN) for _ in target.index), "intermediate", target.span)
    return Tensor(target.name, done.value.dtype, tuple(a.extent for a in done.axes), "intermediate", target.span)


def _may_define(target: tree.Cell, equations: Mapping[str, Equation], scope: Scope) -> bool:
    known = scope.tensors.get(target.name)
    if known and known.role == "input":
        title, label = f"the input {target.name} is assigned", Label(known.span, f"{target.name} is an input")
        fix = "write to an output, or take another name for the value"
        scope.problems.add("TG114", title, target.span, "on the left side of an equation", label, help=fix)
        return False
    if target.name in equations:
        title, label = f"{target.name} is computed twice", Label(equations[target.name].span, "computed first here")
        fix = "one equation for each tensor: join them, or take another name"
        scope.problems.add("TG114", title, target.span, "computed again", label, help=fix)
        return False
    return known is not None or not scope.hides(target.name, target.span, "the tensor")


def _alike(equation: tree.Equation, scope: Scope) -> bool:
    """Whether the targets of a tuple have the same indices, and the right side is a fold that may give them."""
    first, *others = equation.targets
    for other in others:
        if other.index != first.index:
            title = f"{other.name} and {first.name} stand at different indices"
            label, fix = Label(first.span, "the first target"), f"write {other.name} with the indices of {first.name}"
            scope.problems.add("TG111", title, other.span, "a target of the same equation", label, help=fix)
            return False
    if others and not isinstance(equation.value, tree.FoldExpr):
        title = "only a fold gives several values"
        scope.problems.add("TG147", title, equation.value.span, "one value", help="write one equation for each target")
        return False
    return True


def _side(equation: tree.Equation, number: int, scope: Scope) -> Term:
    """What the right side gives to one of the targets."""
    if len(equation.targets) == 1 or not isinstance(equation.value, tree.FoldExpr):
        term = value(equation.value, scope)
        if not isinstance(term.dtype, Carrier):
            return term
        names = ", ".join(f"{name}[…]" for name, _ in components(term.dtype))
        fix = f"write ({names}) = … for all of them, or take one: (…).{term.dtype.components[0][0]}"
        title = f"{equation.targets[0].name} is one value, and {term.dtype} has several"
        return scope.problems.add("TG147", title, equation.value.span, f"a value of {term.dtype}", help=fix)
    given = fold(equation.value, scope, value)[1]
    if WRONG in given:
        return WRONG
    if len(given) != len(equation.targets):
        title = f"the fold gives {len(given)} value{'s' if len(given) > 1 else ''}, not {len(equation.targets)}"
        span = equation.targets[0].span.to(equation.targets[-1].span)
        return scope.problems.add("TG147", title, span, f"{len(equation.targets)} targets", help="write one target for each value")
    return given[number]


def _equation(target: tree.Cell, equation: tree.Equation, number: int, scope: Scope) -> Equation | None:
    axes = _axes(target, equation.value, scope)
    if axes is None:
        return None
    inner = scope.with_indices({a.name: a.extent for a in axes})
    term = _side(equation, number, inner)
    declared = scope.tensors.get(target.name)
    if declared is None and term.dtype in (LITERAL, INDEX):
        title, fix = f"the dtype of {target.name} is not known", "say it with a cast: f32(…)"
        scope.problems.add("TG126", title, equation.value.span, "only numbers and indices stand here", help=fix)
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
        title = f"{target.name} is {dtype} but its value is {term.dtype}"
        label = Label(declared.span, f"{target.name} is declared {dtype}")
        scope.problems.add("TG121", title, equation.value.span, f"this is {term.dtype}", label, help=fix)
        return None
    return Equation(target.name, axes, term, equation.span)


def _axes(target: tree.Cell, body: tree.Expr, scope: Scope) -> tuple[Axis, ...] | None:
    """The axes of the left side: distinct bare names, with the extents of the output, or those that the reads give."""
    declared = scope.tensors.get(target.name)
    if declared and len(declared.shape) != len(target.index):
        scope.wrong_rank(declared, len(target.index), target.span)
        return None
    names = _bare(target, scope)
    if names is None:
        return None
    axes = []
    for place, name in enumerate(names):
        extent = declared.shape[place] if declared else inferred(name.name, name.span, body, scope, on_left=True)
        if extent is None:
            value(body, scope.with_indices(dict.fromkeys(n.name for n in names)))  # for its messages
            return None
        if declared:
            checked(name.name, extent, name.span, target.name, body, scope)
        axes.append(Axis(name.name, extent, "data", name.span))
    return tuple(axes)


def _bare(target: tree.Cell, scope: Scope) -> list[tree.Name] | None:
    names: list[tree.Name] = []
    before = len(scope.problems)
    if target.fill is not None:
        title = "a left side has no fill"
        scope.problems.add("TG111", title, target.span, "a fill belongs to a read", help="leave out the part after |")
    for place in target.index:
        if not isinstance(place, tree.Name):
            title = "only bare indices stand on the left side"
            fix = "name the index of the element that is computed, and put the arithmetic into the reads"
            scope.problems.add("TG111", title, place.span, "a term, not the name of an index", help=fix)
        elif place.name in (n.name for n in names):
            title = f"{place.name} stands twice on the left side"
            scope.problems.add("TG111", title, place.span, "the second time", help="give each axis its own index")
        elif not scope.hides(place.name, place.span, "the index"):
            names.append(place)
    return names if len(scope.problems) == before else None
