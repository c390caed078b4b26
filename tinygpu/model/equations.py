"""The equations of an operation: what each says of its tensor, in the order of the text.

Comes in: the tree of an op and a scope with its inputs and outputs. Goes out: the equations, and the scope with the intermediates.
The one idea: a left side names one element by bare indices; the output's shape, or the reads, say over what they run.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tinygpu.category.monoid import Carrier
from tinygpu.category.term import BOOL, INDEX, Axis, Fold, Read, Term, apply, variables, walk
from tinygpu.diagnostic import Span
from tinygpu.model.dtype import LITERAL, integral, settle
from tinygpu.model.extent import same
from tinygpu.model.folds import fold
from tinygpu.model.length import Part, part
from tinygpu.model.op import Equation, Tensor
from tinygpu.model.problems import UNKNOWN, WRONG, counted
from tinygpu.model.ranges import Later, Occurrence, checked, inferred, used
from tinygpu.model.scope import Scope
from tinygpu.model.state import States
from tinygpu.model.value import index, value
from tinygpu.model.view import VIEW, viewed
from tinygpu.record import replace
from tinygpu.syntax import tree
from tinygpu.syntax.format import format_expr


def equations_of(op: tree.Op, scope: Scope, where: Sequence[Term]) -> tuple[Scope, tuple[Equation, ...]]:
    """The equations in order, and the scope with the intermediates that they bring; sizes are known to be as `where` says."""
    places = {t.name: t.span for e in op.equations for t in e.targets}
    equations: dict[str, Equation] = {}
    states = States(op, _equation)
    for place, equation in enumerate(op.equations):
        if isinstance(equation, tree.View):
            scope = _with_view(equation, equations, replace(scope, later=_later(places, equations, scope)), where)
            continue
        if len(equation.targets) == 1 and (piece := part(equation.targets[0])):
            around = replace(scope, later=_later(places, equations, scope))
            scope = _induced(equation, piece, states, equations, op.equations[place + 1 :], around)
            continue
        around = scope  # none of the targets of a tuple is known on its right side
        for number, target in enumerate(equation.targets if _alike(equation, scope) else ()):
            if not _may_define(target, equations, scope):
                continue
            later = _later(places, equations, around)
            known = {name: tensor for name, tensor in scope.tensors.items() if name == target.name}
            inside = replace(around, later=later, tensors={**around.tensors, **known})
            done = _equation(target, equation, number, op.equations[place + 1 :], inside)
            if target.name not in scope.tensors:
                scope = replace(scope, tensors={**scope.tensors, target.name: _intermediate(target, done)})
            if done:
                equations[target.name] = done
    for output in scope.tensors.values():
        if output.role == "output" and output.name not in places:
            scope.problems.say("TG115.output", output.span, name=output.name, axes=", ".join("ijklmn"[: len(output.shape)]))
    return scope, tuple(equations.values())


def _later(places: Mapping[str, Span], equations: Mapping[str, Equation], scope: Scope) -> dict[str, Span]:
    """The names that are computed further down."""
    return {n: s for n, s in places.items() if n not in equations and n not in scope.tensors}


def _with_view(view: tree.View, equations: dict[str, Equation], scope: Scope, where: Sequence[Term]) -> Scope:
    """The scope with a view, whose equation is one of the op's."""
    made = viewed(view, scope, where)
    if made is None:
        wrong = Tensor(view.name, UNKNOWN, tuple(Read("", (), UNKNOWN) for _ in view.shape), VIEW, view.span)
        return replace(scope, tensors={view.name: wrong, **scope.tensors})
    tensor, equations[view.name] = made
    return replace(scope, tensors={**scope.tensors, view.name: tensor})


def _induced(
    equation: tree.Equation, piece: Part, states: States, equations: dict[str, Equation], rest: Later, scope: Scope
) -> Scope:
    """One of the two equations of a state: the scope with the state after its base, and after its step the equation."""
    (target,) = equation.targets
    if piece.time:
        done = states.step(target, piece, equation, equations, rest, scope)
        if done:
            equations[target.name] = done
            return replace(scope, tensors={**scope.tensors, target.name: states.begun[target.name].tensor})
    elif target.name in scope.tensors or not scope.hides(target.name, target.span, "the tensor"):
        return states.begin(target, piece, equation, rest, scope)
    return scope


def _intermediate(target: tree.Cell, done: Equation | None) -> Tensor:
    """The tensor that an equation brings; of dtype `?` where the equation is wrong, so that its reads are not complained about."""
    if done is None:
        return Tensor(target.name, UNKNOWN, tuple(Read("", (), UNKNOWN) for _ in target.index), "intermediate", target.span)
    return Tensor(target.name, done.value.dtype, tuple(a.extent for a in done.axes), "intermediate", target.span)


def _may_define(target: tree.Cell, equations: Mapping[str, Equation], scope: Scope) -> bool:
    known = scope.tensors.get(target.name)
    if known and known.role == "input":
        scope.problems.say("TG114.input", target.span, known.span, name=target.name)
        return False
    if target.name in equations:
        scope.problems.say("TG114.twice", target.span, equations[target.name].span, name=target.name)
        return False
    return known is not None or not scope.hides(target.name, target.span, "the tensor")


def _alike(equation: tree.Equation, scope: Scope) -> bool:
    """Whether the targets of a tuple have the same indices, and the right side is a fold that may give them."""
    first, *others = equation.targets
    for other in others:
        if other.index != first.index:
            scope.problems.say("TG111.targets", other.span, first.span, name=other.name, first=first.name)
            return False
    if others and not isinstance(equation.value, tree.FoldExpr):
        scope.problems.say("TG147.fold", equation.value.span)
        return False
    return True


def _side(equation: tree.Equation, number: int, scope: Scope) -> Term:
    """What the right side gives to one of the targets."""
    if len(equation.targets) == 1 or not isinstance(equation.value, tree.FoldExpr):
        term = value(equation.value, scope)
        if not isinstance(term.dtype, Carrier):
            return term
        words = {"name": equation.targets[0].name, "dtype": term.dtype, "first": term.dtype.components[0][0]}
        every = ", ".join(f"{name}[…]" for name, _ in term.dtype.components)
        return scope.problems.say("TG147.one", equation.value.span, every=every, **words)
    given = fold(equation.value, scope, value)[1]
    if WRONG in given:
        return WRONG
    if len(given) != len(equation.targets):
        span = equation.targets[0].span.to(equation.targets[-1].span)
        return scope.problems.say("TG147.targets", span, given=counted(len(given), "value"), targets=len(equation.targets))
    return given[number]


def _equation(target: tree.Cell, equation: tree.Equation, number: int, later: Later, scope: Scope) -> Equation | None:
    axes = _axes(target, equation.value, later, scope)
    if axes is None:
        return None
    term, declared = _side(equation, number, scope.with_indices({a.name: a.extent for a in axes})), scope.tensors.get(target.name)
    if declared is None and term.dtype in (LITERAL, INDEX):
        here = equation.value
        while isinstance(here, tree.FoldExpr):
            here = here.body
        message = "TG126.whole" if integral(term) else "TG126.dtype"
        scope.problems.say(message, equation.value.span, name=target.name, here=format_expr(here))
        return None
    dtype = declared.dtype if declared else term.dtype
    term = settle(term, dtype, equation.value.span, scope.problems)
    counts = next((t for t in walk(term) if isinstance(t, Fold) and t.dtype == INDEX), None)
    if counts is not None:
        scope.problems.say("TG119.fold", counts.span, kind="a fold")
        return None
    if UNKNOWN in (term.dtype, dtype):
        return None
    if declared and term.dtype != dtype:
        message = "TG121.condition" if dtype == BOOL else "TG121.of_condition" if term.dtype == BOOL else "TG121.output"
        words = {"name": target.name, "dtype": dtype, "given": term.dtype}
        scope.problems.say(message, equation.value.span, declared.span, **words)
        return None
    return Equation(target.name, axes, term, equation.span)


def _axes(target: tree.Cell, body: tree.Expr, later: Later, scope: Scope) -> tuple[Axis, ...] | None:
    """The axes of the left side: distinct bare names, with the extents of the output, those that are written, or those that the reads give."""
    declared = scope.tensors.get(target.name)
    if declared and len(declared.shape) != len(target.index):
        scope.wrong_rank(declared, len(target.index), target.span)
        return None
    places = _places(target, scope)
    if places is None:
        return None
    axes, inside = [], scope.with_indices(dict.fromkeys(place.name for place in places))
    for at, place in enumerate(places):
        told = declared.shape[at] if declared else None
        extent = _range(place, told, target, body, used(target.name, at, later, scope), inside)
        if extent is None:
            value(body, inside)  # for its messages
            return None
        axes.append(Axis(place.name, extent, "data", place.span))
        inside = inside.with_indices({place.name: extent})
    return tuple(axes)


def _range(
    place: tree.Binder, told: Term | None, target: tree.Cell, body: tree.Expr, later: Iterable[Occurrence], scope: Scope
) -> Term | None:
    """Over what an index of the left side runs, where `told` is the extent of the output's axis; None after a message."""
    name, span, problems = place.name, place.span, scope.problems
    if place.bound is None and told is not None:
        checked(name, told, span, target.name, body, scope)
        return told
    if place.bound is None:
        return inferred(name, span, body, scope, value, later, "TG113.left")
    bound = index(place.bound, scope)
    extent = apply("add", bound, 1) if place.relation == "<=" else bound
    if bound.dtype == UNKNOWN:
        return None
    if variables(bound) & {*scope.indices} or any(isinstance(t, Read) for t in walk(bound)):
        problems.say("TG111.range", place.bound.span, name=name, bound=bound)
        return None
    if told is not None and not same(told, extent):
        problems.say(
            "TG112.written", place.bound.span, scope.tensors[target.name].span, name=name, a=extent, b=told, output=target.name
        )
        return None
    return extent


def _places(target: tree.Cell, scope: Scope) -> list[tree.Binder] | None:
    """The indices of the left side, each perhaps with its range; None after a message."""
    places: list[tree.Binder] = []
    before = len(scope.problems)
    if target.fill is not None:
        scope.problems.say("TG111.fill", target.span)
    for place, one in zip(map(tree.ranged, target.index), target.index, strict=True):
        if place is None:
            scope.problems.say("TG111.bare", one.span)
        elif place.name in (p.name for p in places):
            scope.problems.say("TG111.twice", place.span, name=place.name)
        elif not scope.hides(place.name, place.span, "the index"):
            places.append(place)
    return places if len(scope.problems) == before else None
