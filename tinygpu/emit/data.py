"""What an op promises of its data, in the form in which it is checked (`check_data=True`).

Comes in: the promises of a program. Goes out: for each `all` its axes and a condition of `and`, `or` and comparisons.
The one idea: every comparison also asks that what it reads is inside and what it divides by is positive, and no `not` stands above one;
so nothing that is not there can make a promise hold.
"""

from __future__ import annotations

from collections.abc import Mapping

from tinygpu.category.dtype import SIGNED
from tinygpu.category.term import BOOL, TRUE, App, Axis, Const, Fold, Read, Term, Var, apply, conjunction, conjuncts, negation, walk
from tinygpu.model.op import Op
from tinygpu.program.step import Program
from tinygpu.record import dataclass, field

OPPOSITE = {"lt": "ge", "ge": "lt", "le": "gt", "gt": "le", "eq": "ne", "ne": "eq"}


def of_data(term: Term) -> bool:
    """Whether a guard is about more than sizes: no launcher checks it unasked."""
    return any(isinstance(t, Read | Fold) for t in walk(term))


def promises(program: Program) -> tuple[Term, ...]:
    """What is promised of the data, each once: by the op, and by the machine."""
    return tuple(dict.fromkeys((*program.op.promises, *filter(of_data, (*program.op.where, *program.where)))))


def opposite(guard: Term) -> Term:
    """The negation, of a comparison by another one.

    >>> from tinygpu.category.term import text
    >>> text(opposite(Var("i") < 4))
    'i >= 4'
    """
    if isinstance(guard, App) and guard.op in OPPOSITE:
        return App(OPPOSITE[guard.op], guard.args, BOOL)
    return negation(guard)


@dataclass(frozen=True, slots=True)
class Part:
    """One `all` of a promise: `holds` at every point of the axes. Without axes it is about scalars, or single elements."""

    axes: tuple[Axis, ...]
    holds: Term


def of_scalars(part: Part) -> bool:
    """Whether a part speaks of sizes and of what is passed by value alone: every call can look at that."""
    return not part.axes and all(not t.index for t in walk(part.holds) if isinstance(t, Read))


def parts(promise: Term, axes: tuple[Axis, ...] = (), guard: Term = TRUE) -> tuple[Part, ...]:
    """The promise as one `all` after the other; an `all` inside an `all` has the axes of both.

    >>> from tinygpu.category.term import text
    >>> t, T = Var("t"), Var("T")
    >>> promise = Fold("all", (Axis("t", T),), t < 5, App("ge", (Read("x", (t,), "i32"), Const(0, "i32")), BOOL), BOOL)
    >>> [text(p.holds) for p in parts(promise)]
    ['t >= 5 or x[t] >= 0']
    """
    inner = [one for one in conjuncts(promise) if isinstance(one, Fold) and one.monoid == "all"]
    plainly = conjunction(*(one for one in conjuncts(promise) if one not in inner))
    own = plainly if guard == TRUE else App("or", (opposite(guard), plainly), BOOL)
    found = (Part(axes, own),) if plainly != TRUE else ()
    return found + tuple(p for one in inner for p in parts(one.body, axes + one.axes, conjunction(guard, one.guard)))


@dataclass(frozen=True, slots=True)
class Checked:
    """Terms of one part, in the form in which only what is defined holds."""

    op: Op
    extents: Mapping[str, Term] = field(default_factory=dict)

    def normal(self, term: Term, truth: bool = True) -> Term:
        """The term, or its negation: `and`, `or` over comparisons, each with what it needs to be defined."""
        match term:
            case Const(value):
                return Const(bool(value) == truth, BOOL)
            case App("not", (inner,)):
                return self.normal(inner, not truth)
            case App("and" | "or" as word, args):
                made = tuple(self.normal(a, truth) for a in args)
                return conjunction(*made) if (word == "and") == truth else App("or", made, BOOL)
            case App("select", (condition, then, otherwise), "bool"):
                ways = [
                    conjunction(self.normal(condition, c), self.normal(b, truth)) for c, b in ((True, then), (False, otherwise))
                ]
                return App("or", tuple(ways), BOOL)
        return conjunction(*dict.fromkeys(self.defined(term)), term if truth else opposite(term))

    def defined(self, term: Term, known: tuple[Term, ...] = ()) -> tuple[Term, ...]:
        """What has to hold for a term to have a value, besides what is `known`."""
        match term:
            case App("and" | "or" | "not", args):
                if not any(self.defined(a) for a in args):
                    return ()
                return (App("or", (self.normal(term), self.normal(term, False)), BOOL),)
            case App("select", (condition, then, otherwise)):
                asked = self.defined(condition, known)
                for truth, branch in ((True, then), (False, otherwise)):
                    more = self.defined(branch, (*known, *conjuncts(condition)) if truth else known)
                    asked += (App("or", (self.normal(condition, not truth), conjunction(*more)), BOOL),) if more else ()
                return asked
            case Read(name, index):
                shape = self.op.tensor(name).shape
                asked = tuple(a for e, extent in zip(index, shape, strict=True) for a in self.inside(e, extent) if a not in known)
                return (*(a for e in index for a in self.defined(e, known)), *asked)
            case App("floordiv" | "mod" | "ceildiv", (a, b), dtype):
                natural = (App("ge", (a, Const(0, dtype)), BOOL),) if dtype in SIGNED else ()
                positive = () if isinstance(b, Const) and b.value > 0 else (App("gt", (b, Const(0, dtype)), BOOL),)
                return (*self.defined(a, known), *self.defined(b, known), *natural, *positive)
            case App(_, args):
                return tuple(asked for a in args for asked in self.defined(a, known))
        return ()

    def inside(self, index: Term, extent: Term) -> tuple[Term, ...]:
        """That an index lies below the extent, unless it is a binder that runs up to it."""
        (name, more), (most, room) = offset(index), offset(extent)
        below = isinstance(name, Var) and self.extents.get(name.name) == most and more <= room
        asked = () if natural(index) else (apply("ge", index, 0),)
        return asked if below else (*asked, apply("lt", index, extent))


def offset(index: Term) -> tuple[Term, int]:
    """A term as another one and a constant: `t + 1`, `n`."""
    match index:
        case App("add", (a, Const(int(value)))):
            return a, value
    return index, 0


def natural(index: Term) -> bool:
    """Whether an index is seen not to be negative: sizes and binders are not."""
    match index:
        case Const(value):
            return value >= 0
        case Var():
            return True
        case App("add" | "mul" | "floordiv" | "mod" | "min" | "max", args):
            return all(map(natural, args))
    return False
