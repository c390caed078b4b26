"""Values of an op as classes of a graph.

Comes in: the equations of an op. Goes out: the class of each output, with what callers of the op have called some values. The one idea: an index of a fold is called after where it goes and how
many of the kind are around it, so two folds through one box have one box, and what stands in both is one value. Beside each fold stands what the laws of the prover make of it, with its
products in their cheapest order: there is one normal form, so nothing has to be searched for what it knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import gcd, prod

from tinygpu.algebra.normal import normal
from tinygpu.algebra.polynomial import REAL, Unfollowed, bearable, is_truth, truth
from tinygpu.category.evaluate import evaluate
from tinygpu.category.linear import polynomial
from tinygpu.category.simplify import simplify
from tinygpu.category.term import (
    BOOL,
    FLOATS,
    INDEX,
    App,
    Axis,
    Const,
    Fold,
    Read,
    Term,
    Var,
    children,
    conjunction,
    conjuncts,
    substitute,
    text,
    variables,
    walk,
)
from tinygpu.category.text import sorting
from tinygpu.model.op import Equation, Op, put_in
from tinygpu.record import dataclass, field
from tinygpu.rewrite.contract import factored
from tinygpu.rewrite.graph import MUL, Box, Graph, Leaf, Over
from tinygpu.rewrite.rules import inverse

KINDS = ("sum", "max", "min")


@dataclass(slots=True)
class Reader:
    """The graph of an op at some sizes, with what `laws` make of it; `extents` of all indices, and for a class that is an intermediate of the op its name, at which indices."""

    op: Op
    sizes: Mapping[str, int]
    graph: Graph
    laws: bool = True
    extents: dict[str, Term] = field(default_factory=dict)
    called: dict[int, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    equations: dict[str, Equation] = field(default_factory=dict)
    known: dict[tuple[Term, bool], int] = field(default_factory=dict)
    roots: dict[str, int] = field(default_factory=dict)
    guards: dict[Box, Term] = field(default_factory=dict)

    def outputs(self) -> None:
        """The class of each output at the indices of its equation. Raises Unfollowed."""
        self.equations = {e.target: e for e in self.op.equations if e.target not in {t.name for t in self.op.outputs}}
        for tensor in self.op.outputs:
            equation = self.op.equation(tensor.name)
            self.extents |= {a.name: a.extent for a in equation.axes}
            bearable(self._whole(equation.value))
            self.roots[tensor.name] = self.value(equation.value)
        self.graph.rebuild()

    def value(self, term: Term, given: bool = True) -> int:
        """The class of a value; of one that is `given`, and not made by laws, with what laws make of it. Raises Unfollowed."""
        if (term, given) not in self.known:
            self.known[term, given] = self._value(term, given)
        return self.graph.find(self.known[term, given])

    def _value(self, term: Term, given: bool) -> int:
        add = self.graph.add
        match term:
            case Const(number):
                return add(Leaf(Const(float(number), REAL)))
            case Read(tensor, index) if tensor in self.equations:
                found = self.value(self.equations[tensor].at(index), given)
                if all(isinstance(i, Var) for i in index):
                    self.called.setdefault(found, (tensor, tuple(i.name for i in index if isinstance(i, Var))))
                return found
            case App("cast", (inner,)) if inner.dtype in FLOATS and term.dtype in FLOATS:
                return self.value(inner, given)
            case App("cast", (inner,)) if inner.dtype == INDEX:
                return add(Leaf(App("cast", (simplify(inner),), REAL)))
            case App("mul", args):
                return add(MUL, *(self.value(a, given) for a in args))
            case App("div", (a, b)):
                return add(MUL, self.value(a, given), inverse(self.graph, self.value(b, given)))
            case App("neg", (a,)):
                return add(MUL, add(Leaf(Const(-1.0, REAL))), self.value(a, given))
            case App("rsqrt", (a,)):
                found = add(("app", "rsqrt"), self.value(a, given))
                self.graph.union(found, inverse(self.graph, add(("app", "sqrt"), self.value(a, given))))
                return found
            case App("select", (condition, a, b)):
                return add(("app", "select", self._condition(condition)), self.value(a, given), self.value(b, given))
            case App(op, args) if term.dtype in FLOATS and all(a.dtype in FLOATS for a in args) and op not in ("part", "pack"):
                return add(("app", op), *(self.value(a, given) for a in args))
            case Fold():
                return self._fold(term, given)
        if term.dtype not in FLOATS:
            raise Unfollowed(f"a value of type {term.dtype}")
        return add(Leaf(term))

    def places(self, of: Term | str) -> int:
        """How many points an index has, or an extent; a size is no index. Of what follows another index, as many as there are at most."""
        if isinstance(of, str):
            return self.places(self.extents[of]) if of in self.extents else 1
        inner = {name: self.places(name) - 1 for name in variables(of) if name not in self.sizes}
        return max(1, int(evaluate(of, {**inner, **self.sizes})))

    def points(self, names: Iterable[str]) -> int:
        """Of all of these together."""
        return prod(map(self.places, names))

    def _condition(self, condition: Term) -> Term:
        if condition.dtype != BOOL or any(isinstance(t, Read) and t.tensor in self.equations for t in walk(condition)):
            raise Unfollowed("a condition on what is computed")
        return condition

    def _fold(self, fold: Fold, given: bool) -> int:
        if str(fold.monoid) not in KINDS:
            raise Unfollowed(f"a fold of {fold.monoid}")
        names = self._names(fold)
        to: dict[str, Term] = {a.name: Var(name) for a, name in zip(fold.axes, names, strict=True)}
        axes = tuple(Axis(name, substitute(a.extent, to), "reduction") for a, name in zip(fold.axes, names, strict=True))
        self.extents |= {a.name: a.extent for a in axes}
        guard = substitute(fold.guard, to)
        box = Box(tuple(sorted(axes, key=lambda a: a.name)), _asked(guard))
        self.guards.setdefault(box, guard)
        found = self.graph.add(Over((str(fold.monoid),), box), self.value(substitute(fold.body, to), given))
        if given and self.laws and str(fold.monoid) == "sum":
            whole = Fold(fold.monoid, axes, guard, self._whole(substitute(fold.body, to)), fold.dtype)
            if not any(map(_written_out, walk(whole))):
                self.graph.given = False
                self.graph.union(found, self.value(factored(normal(whole).right, self.places), given=False))
                self.graph.given = True
        return self.graph.find(found)

    def _whole(self, term: Term) -> Term:
        """With the values of equations put in."""
        return put_in(term, self.equations)

    def _names(self, fold: Fold) -> tuple[str, ...]:
        """Names that nobody around the fold has, the same ones wherever there are as many around it."""
        taken = set(variables(self._whole(fold)))
        names: list[str] = []
        for axis in fold.axes:
            free = (f"{text(axis.extent)}#{n}" for n in range(len(taken) + len(fold.axes) + 1))
            names.append(next(name for name in free if name not in taken and name not in names))
        return tuple(names)


def _asked(guard: Term) -> Term:
    """A condition in the form in which equal ones are the same."""
    parts: set[Term] = set()
    for part in conjuncts(guard):
        form = truth(part, set())
        (monomial,) = form if len(form) == 1 else ((),)
        single = len(monomial) == 1 and form[monomial] == 1 and is_truth(monomial[0][0])
        parts.add(children(monomial[0][0])[0] if single else part)
    return conjunction(*sorted(parts, key=sorting))


def _written_out(term: Term) -> bool:
    """Whether the normal form has a sum for each place of a fold, or for each of its parts, which costs no less."""
    return isinstance(term, Fold) and any(gcd(*polynomial(a.extent).values()) > 1 or isinstance(a.extent, Const) for a in term.axes)
