"""How much work an equation is, as `reference` evaluates it: the elements of all arrays that numpy makes on the way.

    effort(f(a, b)) = points + effort(a) + effort(b)        effort(Σ_k e) = effort(e) at `points · K`        effort(t[i]) = that of t's equation,
                                                             once for all of t, or at the points alone, where these are fewer

Comes in: an op, sizes, of how many elements. Goes out: a number of elements, before anything is evaluated. The one idea: a term is evaluated at as many
points as the indices in it have together, so its work is counted by walking it.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from tinygpu.category.evaluate import evaluate
from tinygpu.category.monoid import Carrier
from tinygpu.category.term import INDEX, TRUE, App, Fold, Read, Term, children, reads, variables, walk
from tinygpu.model.op import Op
from tinygpu.record import dataclass, field

STEP = 3000.0  # elements in whose time numpy makes an array of one
SLOW = ("exp", "exp2", "log", "tanh", "sigmoid", "erf", "sin", "cos", "pow")  # of operations, that take as long as several
Dims = Mapping[str, tuple[str, float]]  # of an index: what it goes along together with others, and how many points that has


def effort(op: Op, sizes: Mapping[str, int], elements: Mapping[str, int]) -> float:
    """The work of so many elements of the outputs, and of what is promised of the data.

    >>> from tinygpu.pipeline import load_text
    >>> op = load_text("op f(A: f32[M, K], x: f32[K]) -> (y: f32[M]) { y[i] = sum[k] A[i, k] * x[k] }").spec.ops[0]
    >>> small, large = (effort(op, {"M": n, "K": n}, {"y": n}) for n in (1000, 4000))
    >>> 10 < large / small < 16
    True
    """
    count = Effort(op, dict(sizes))
    found = sum(count.at(name, min(float(few), count.size(name))) for name, few in sorted(elements.items()))
    return found + count.once + sum(count.term(promise, {}, {}) for promise in op.promises)


@dataclass(slots=True)
class Effort:
    """What has been counted: `once` what is computed once for all, which are the tensors in `whole`, and what is the work of a tensor at so many points."""

    op: Op
    sizes: dict[str, int]
    once: float = 0.0
    whole: set[str] = field(default_factory=set)
    known: dict[tuple[str, float], float] = field(default_factory=dict)

    def size(self, name: str) -> float:
        """How many elements a tensor has."""
        return float(prod(max(0, int(evaluate(e, self.sizes))) for e in self.op.tensor(name).shape))

    def at(self, name: str, points: float) -> float:
        """The work of a tensor at so many points."""
        if (name, points) not in self.known:
            equation = self.op.equation(name)
            self.known[name, points] = self.term(equation.value, {a.name: ("points", points) for a in equation.axes}, {})
        return self.known[name, points]

    def all_of(self, name: str) -> None:
        """The work of a whole tensor, turn by turn where it is a state."""
        if name in self.whole:
            return
        self.whole.add(name)
        equation, extents = self.op.equation(name), [max(0, int(evaluate(e, self.sizes))) for e in self.op.tensor(name).shape]
        axes = zip((a.name for a in equation.axes), extents, strict=True)
        turns = dict(zip((a.name for a in equation.axes), extents, strict=True))[equation.along] if equation.along else 1
        dims = {axis: (axis, 1.0 if axis == equation.along else float(n)) for axis, n in axes}
        self.once += turns * self.term(equation.value, dims, {})

    def term(self, term: Term, dims: Dims, known: dict[Term, float]) -> float:
        """The work of a term whose indices go along these."""
        if term not in known:
            known[term] = 0.0
            known[term] = self._term(term, dims, known)
        return known[term]

    def _term(self, term: Term, dims: Dims, known: dict[Term, float]) -> float:
        below = () if isinstance(term, Fold) else children(term)
        found = STEP + sum(self.term(t, dims, known) for t in below)
        width = points(term, dims)
        match term:
            case Fold(_, axes, guard, body):
                box = prod(self._most(a.extent, dims) for a in axes)
                inner = {**dims, **{a.name: (" ".join(a.name for a in axes), box) for a in axes}}
                mine: dict[Term, float] = {}
                each = 2.0 * sum(
                    1 for part in (term.monoid.combination if isinstance(term.monoid, Carrier) else (TRUE,)) for _ in walk(part)
                )
                parts = [body, *(() if guard == TRUE else (guard,)), *(a.extent for a in axes)]
                return found + each * points(body, inner) + sum(self.term(t, inner, mine) for t in parts)
            case Read(name, index):
                if any(e.target == name for e in self.op.equations):
                    if width < self.size(name) and not self.op.equation(name).along:
                        found += self.at(name, width)
                    else:
                        self.all_of(name)
                return found + (2 + 2 * len(index)) * width
            case App(op):
                return found + width * (8 if op in SLOW else 1 if term.dtype == INDEX else 2)
        return found

    def _most(self, extent: Term, dims: Dims) -> float:
        """The most points of an axis."""
        if reads(extent):
            return float(max(self.sizes.values(), default=1))
        env = {name: self.sizes.get(name, int(n) - 1) for name in variables(extent) for n in (dims.get(name, ("", 1.0))[1],)}
        return float(max(1, int(evaluate(extent, env))))


def points(term: Term, dims: Dims) -> float:
    """At how many points a term is evaluated.

    >>> from tinygpu.category.term import Var
    >>> both = Var("i") + Var("j")
    >>> points(both, {"i": ("points", 7.0), "j": ("points", 7.0)}), points(both, {"i": ("i", 7.0), "j": ("j", 5.0)})
    (7.0, 35.0)
    """
    return prod(dict(dims[name] for name in variables(term) if name in dims).values(), start=1.0)
