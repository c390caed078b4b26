"""Proofs of gradients: ops compute what the inputs of one change a number by, for all sizes, over the reals, off a set of measure 0.

    A ⟶ normal form ⟶ its adjoint ⟶ normal form ⟵ B ∘ A

Comes in: a `Gradient`. Goes out: `Proved`, or `Missing`. The one idea: two values that are equal for all inputs change alike, so what is differentiated is the normal form, in which no maximum is left that only
kept exponentials small; and that the adjoint is what is said is a theorem as any other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from tinygpu.algebra.beside import MARK, OTHER, Case, about, claims_of
from tinygpu.algebra.laws import Equal, Side, then
from tinygpu.algebra.lemma import opened
from tinygpu.algebra.masks import numbers
from tinygpu.algebra.normal import normal
from tinygpu.algebra.polynomial import Unfollowed, saturates
from tinygpu.algebra.sides import almost, needs
from tinygpu.algebra.theorem import Missing, Proved, asked, cases, equal, meanings_of, of_boxes, settle, sides_of, value
from tinygpu.category.term import Axis, Term, Var, substitute
from tinygpu.diagnostic import Label
from tinygpu.model.adjoint import Rough, adjoint
from tinygpu.model.gradient import Gradient
from tinygpu.model.op import Equation, Op
from tinygpu.model.theorem import Theorem
from tinygpu.obligations.obligation import Claim
from tinygpu.proof.kernel import BUDGET
from tinygpu.record import dataclass, replace


@dataclass(frozen=True, slots=True)
class Plain:
    """An output of an op in its normal form: where, that it is, and what its equations ask for there."""

    case: Case
    found: Equal
    needs: tuple[Side, ...]

    def equation(self, op: Op) -> Equation:
        """As an equation of inputs alone."""
        axes = op.equation(self.case.output).axes
        back: dict[str, Term] = {f"{a.name}{MARK}": Var(a.name) for a in axes}
        return Equation(self.case.output, axes, substitute(self.found.right, back))


def differentiated(gradient: Gradient, budget: int = BUDGET) -> Proved | Missing:
    """`Gradient → Proved or Missing`."""
    if gradient.whole.states:
        return Missing(gradient, "an op that is defined by induction is not followed")
    labels, laws = (Label(gradient.span, "this gradient"),), Counter[str]()
    try:
        plain = list(plain_of(gradient))
        equations = tuple(one.equation(gradient.op) for one in plain)
        op = adjoint(replace(gradient.op, equations=equations, intermediates=()), gradient.wanted, gradient.through)
        theorem = Theorem(gradient.name, op, gradient.whole, lemmas=gradient.lemmas, span=gradient.span)
        claims = dict[Claim, tuple[Term, ...]](dict.fromkeys(about(theorem, labels, gradient.op.family), ()))
        known = tuple(side for one in plain for side in one.needs)
        for one in plain:
            laws.update(dict(one.found.laws))
            wanted = [*(replace(side, axes=(*one.case.axes, *side.axes)) for side in sides_of(one.found)), *of_boxes(one.needs)]
            claims.update(dict.fromkeys(claims_of(theorem, one.case, wanted, known, labels), ()))
        for case in cases(theorem):
            a, b = (numbers(value(side, case, saturates)) for side in (theorem.left, theorem.right))
            b = then(b, opened(b.right, meanings_of(gradient.lemmas, [b.right])))
            found = equal(a, b)
            if not isinstance(found, Equal):
                return Missing(gradient, OTHER, found)
            laws.update(dict(found.laws))
            wanted = [replace(s, axes=(*case.axes, *s.axes)) for side in asked(found, a.right, b.right)[0] for s in almost(side)]
            forms = (normal(a.right).right, normal(b.right).right)
            claims.update(dict.fromkeys(claims_of(theorem, case, wanted, known, labels, mostly=True), forms))
    except (Unfollowed, Rough) as error:
        return Missing(gradient, f"{error} is not followed")
    return settle(gradient, laws, claims, gradient.op.promises, budget)


def plain_of(gradient: Gradient) -> Iterator[Plain]:
    """The outputs that a number changes with. Raises Unfollowed."""
    op = gradient.op
    for tensor in (t for t in op.outputs if t.name in gradient.through):
        axes = tuple(Axis(f"{a.name}{MARK}", a.extent) for a in op.equation(tensor.name).axes)
        case = Case(tensor.name, tuple(Var(a.name) for a in axes), axes, ())
        there = numbers(value(op, case, saturates))
        there = then(there, opened(there.right, meanings_of(gradient.lemmas, [there.right])))
        needed = tuple(replace(side, axes=(*axes, *side.axes)) for side in needs(there.right))
        yield Plain(case, then(there, normal(there.right)), needed)
