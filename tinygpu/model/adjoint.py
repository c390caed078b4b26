"""The gradient of an op as an op, by reverse mode: what each input changes a number by, from what each output changes it by.

    y[i] = Σ_{k | g} v(x[f(i, k)])        dx[p] = Σ_{i, k | g, f(i, k) = p} dy[i] · v′(x[f(i, k)])

Comes in: an op. Goes out: an op of its inputs and of a `dy` for each output, whose outputs are a `dx` for each input that is wanted. The one idea: how values change is linear, and what is linear has
a transpose: what is read at `f(i, k)` is added up there, so a sum becomes the same for all, and what all read becomes a sum.

A maximum changes by that one of its values which it is; where several are, by their mean: off a set of measure 0 only one is, or they change alike. A condition changes nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import reduce

from tinygpu.category.dtype import DTYPE
from tinygpu.category.operation import COMPARISONS, FUNCTION
from tinygpu.category.term import (
    BOOL,
    FLOATS,
    TRUE,
    App,
    Axis,
    Const,
    Fold,
    Read,
    Term,
    Var,
    conjunction,
    equal,
    fresh,
    negation,
    select,
    substitute,
    tensors,
    variables,
)
from tinygpu.category.text import claimed
from tinygpu.model.op import Equation, Op, Tensor
from tinygpu.record import dataclass, field, replace

CHANGE = "d"  # before the name of a tensor: what a number changes by with it


class Rough(ValueError):
    """What has no derivative that is known."""


@dataclass(frozen=True, slots=True)
class Share:
    """What the element at `index` of a tensor gets, at each point of the axes where the guard holds."""

    index: tuple[Term, ...]
    axes: tuple[Axis, ...]
    guard: Term
    value: Term


def adjoint(op: Op, wanted: Collection[str], through: Collection[str]) -> Op:
    """`A : x → y` to `A* : x, dy → dx`, for those inputs that are wanted, and those outputs that a number changes with. Raises Rough.

    >>> from tinygpu.pipeline import load_text
    >>> from tinygpu.emit.module import equations
    >>> (row,) = load_text("op f(x: f32[R, N], w: f32[N]) -> (y: f32[R]) { y[r] = sum[j] x[r, j] * w[j] }").spec.ops
    >>> equations(adjoint(row, ("x", "w"), ("y",)))
    ['y[r] = sum[j < N] x[r, j]*w[j]', 'dx[r, j] = dy[r]*w[j]', 'dw[j] = sum[r < R] dy[r]*x[r, j]']
    """
    if op.states:
        raise Rough("an op that is defined by induction")
    changes = [replace(t, name=CHANGE + t.name, role="input", inplace="", strided=False) for t in op.outputs if t.name in through]
    made = [replace(t, name=CHANGE + t.name, role="output", strided=False) for t in op.inputs if t.name in wanted]
    taken = {*op.sizes, *(t.name for t in (*op.tensors, *op.intermediates))}
    if clash := taken & {t.name for t in (*changes, *made)}:
        raise Rough(f"a tensor that has the name of a gradient, {min(clash)},")
    taken |= {t.name for t in (*changes, *made)}
    got: dict[str, list[Share]] = {t.name.removeprefix(CHANGE): [_given(t)] for t in changes}
    equations, between = list[Equation](), [replace(t, role="intermediate", inplace="", strided=False) for t in op.outputs]
    for equation in backwards(op):
        if not got.get(equation.target):
            continue
        tensor, there = op.tensor(equation.target), tuple(Var(a.name) for a in equation.axes)
        change = added_up(got[equation.target], equation.axes, tensor.dtype)
        if not isinstance(change, Read):
            name = claimed(CHANGE + tensor.name, taken)
            equations.append(Equation(name, equation.axes, change))
            between.append(replace(tensor, name=name, role="intermediate", inplace="", strided=False))
            change = Read(name, there, tensor.dtype)
        for name, share in Reverse(op, live(op, wanted)).of(equation.value, Share((), equation.axes, TRUE, change)):
            got.setdefault(name, []).append(share)
    for tensor in made:
        shares = got.get(tensor.name.removeprefix(CHANGE), [])
        axes = _axes(tensor, shares, {*op.sizes})
        equations.append(Equation(tensor.name, axes, added_up(shares, axes, tensor.dtype)))
    return replace(
        op,
        name=f"gradient of {op.name}",
        inputs=(*op.inputs, *changes),
        outputs=tuple(made),
        intermediates=(*op.intermediates, *between),
        equations=(*op.equations, *equations),
        via=None,
    )


def backwards(op: Op) -> list[Equation]:
    """The equations, each behind those that read it."""
    return sorted(op.equations, key=lambda e: len(op.reached(e.target)), reverse=True)


def live(op: Op, wanted: Collection[str]) -> set[str]:
    """The tensors of floats that change with one of these inputs."""
    defined = [
        e.target for e in op.equations if op.tensor(e.target).dtype in FLOATS and not op.reached(e.target).isdisjoint(wanted)
    ]
    return {*wanted, *defined}


def _given(change: Tensor) -> Share:
    """The share that an output gets from outside."""
    axes = tuple(Axis(f"{n}", extent) for n, extent in enumerate(change.shape))
    index = tuple(Var(a.name) for a in axes)
    return Share(index, axes, TRUE, Read(change.name, index, change.dtype))


# ── what is read, and how a value changes with it ──────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Reverse:
    """The shares of tensors that are `live` in a value, from what it changes by."""

    op: Op
    live: Collection[str] = field(compare=False)

    def of(self, term: Term, at: Share) -> Iterator[tuple[str, Share]]:
        """Of each read in a value its tensor, and what that gets."""
        if tensors(term).isdisjoint(self.live) or term.dtype not in FLOATS:
            return
        c = at.value
        match term:
            case Read(tensor, index):
                yield tensor, replace(at, index=index)
            case Fold():
                yield from self.folded(fresh(term, {*variables(c), *variables(at.guard), *(a.name for a in at.axes)}), at)
            case App("select", (condition, then, otherwise)):
                yield from self.of(then, replace(at, guard=conjunction(at.guard, condition)))
                yield from self.of(otherwise, replace(at, guard=conjunction(at.guard, negation(condition))))
            case App("cast", _, dtype) if DTYPE[dtype].saturates:
                raise Rough(f"a value that is rounded to {dtype}")
            case App("cast", (a,)):
                yield from self.of(a, replace(at, value=App("cast", (c,), a.dtype)))
            case App(_, args):
                for argument, slope in zip(args, slopes(term), strict=True):
                    yield from self.of(argument, replace(at, value=_times(c, slope)))

    def folded(self, fold: Fold, at: Share) -> Iterator[tuple[str, Share]]:
        """Of a sum all alike; of a maximum those that are it, the mean of them where there may be several."""
        inside = replace(at, axes=(*at.axes, *fold.axes), guard=conjunction(at.guard, fold.guard))
        if str(fold.monoid) in ("max", "min"):
            is_it = App("eq", (fold.body, fold), BOOL)
            one, nought = Const(1.0, fold.dtype), Const(0.0, fold.dtype)
            share: Term = App("select", (is_it, one, nought), fold.dtype)
            if not self.apart(fold):
                share = App("div", (share, Fold("sum", fold.axes, fold.guard, share, fold.dtype)), fold.dtype)
            inside = replace(inside, value=_times(at.value, share))
        elif str(fold.monoid) != "sum":
            raise Rough(f"a fold of {fold.monoid}")
        yield from self.of(fold.body, inside)

    def apart(self, fold: Fold) -> bool:
        """Whether a fold is of another element of an input at each of its points: off a set of measure 0 no two are equal."""
        match fold.body:
            case Read(tensor, index):
                return tensor in {t.name for t in self.op.inputs} and {Var(a.name) for a in fold.axes} <= {*index}
        return False


def slopes(term: App) -> tuple[Term, ...]:
    """By how much a value changes with each of its operands. Raises Rough.

    >>> from tinygpu.category.term import text
    >>> x, y = (Read(name, (), "f32") for name in "xy")
    >>> [text(s) for s in (*slopes(App("div", (x, y), "f32")), *slopes(App("tanh", (x,), "f32")))]
    ['1 / y', '-(x / y / y)', '1 - tanh(x)*tanh(x)']
    """
    dtype = term.dtype

    def make(op: str, *args: Term | float) -> Term:
        found = tuple(Const(float(a), dtype) if isinstance(a, int | float) else a for a in args)
        return App(op, found, BOOL if op in COMPARISONS else dtype)

    one = Const(1.0, dtype)
    match term.op, term.args:
        case "add", _:
            return one, one
        case "sub", _:
            return one, Const(-1.0, dtype)
        case "neg", _:
            return (Const(-1.0, dtype),)
        case "mul", (a, b):
            return b, a
        case "div", (a, b):
            return make("div", 1, b), make("neg", make("div", make("div", a, b), b))
        case ("max" | "min") as op, (a, b):
            swapped = isinstance(a, Const)
            first = make("select", make("gt" if op == "max" else "lt", *((b, a) if swapped else (a, b))), 1, 0)
            other = make("sub", 1, first)
            return (other, first) if swapped else (first, other)
        case op, (a,) if op in FUNCTION and (slope := FUNCTION[op].slope) is not None:
            found = slope(make, a)
            return (Const(float(found), dtype) if isinstance(found, int) else found,)
    raise Rough(f"the derivative of {term.op}")


def _times(c: Term, slope: Term) -> Term:
    match slope:
        case Const(1):
            return c
        case Const(-1):
            return App("neg", (c,), c.dtype)
    return App("mul", (c, slope), c.dtype)


# ── what an element gets, in all ───────────────────────────────────────────────────────────────────────────────────


def added_up(shares: Sequence[Share], axes: tuple[Axis, ...], dtype: str) -> Term:
    """What the element at the axes gets of all shares."""
    every = [_there(share, axes, dtype) for share in shares]
    return reduce(lambda a, b: App("add", (a, b), dtype), every) if every else Const(0.0, dtype)


def _there(share: Share, axes: tuple[Axis, ...], dtype: str) -> Term:
    """The sum over those points of a share at which its index is that of the axes: where a place of it is an axis of the share, that one is known."""
    taken = {*(a.name for a in axes), *(name for a in (*axes, *share.axes) for name in variables(a.extent))}
    taken |= variables(share.guard) | variables(share.value) - {a.name for a in share.axes}
    apart: dict[str, Term] = {a.name: Var(claimed(a.name, taken)) for a in share.axes}
    rest = {apart[a.name].name: a for a in share.axes}  # type: ignore[union-attr]
    known, asked = dict[str, Term](), list[Term]()
    for place, axis in zip((substitute(i, apart) for i in share.index), axes, strict=True):
        here = Var(axis.name)
        if isinstance(place, Var) and place.name in rest:
            known[place.name] = here
            extent = substitute(rest.pop(place.name).extent, apart)
            asked += [] if extent == axis.extent else [here < extent]
        else:
            asked.append(equal(place, here))
    guard = substitute(substitute(conjunction(*asked, substitute(share.guard, apart)), known), known)
    value = substitute(substitute(share.value, apart), known)
    bound = tuple(Axis(name, substitute(substitute(a.extent, apart), known), "reduction") for name, a in rest.items())
    return Fold("sum", bound, guard, value, dtype) if bound else select(guard, value, Const(0.0, dtype))


def _axes(tensor: Tensor, shares: Sequence[Share], taken: set[str]) -> tuple[Axis, ...]:
    """The axes of an input, called as where it is read."""
    first = shares[0].index if shares else ()
    names = [place.name if isinstance(place, Var) else "i" for place in first] or ["i"] * len(tensor.shape)
    return tuple(Axis(claimed(name, taken), extent) for name, extent in zip(names, tensor.shape, strict=True))
