"""What the op promises of its data, where a claim reads that data.

    all[t] φ(idx[t])   gives   0 ≤ e < T  ⇒  φ(idx[e])        for every read idx[e] of the claim

Comes in: a claim and the promises. Goes out: the claim with those facts among its hypotheses. They are
assumptions that the verdict states; a launcher checks them where it is asked to.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.category.linear import solve
from tinygpu.category.settle import within
from tinygpu.category.term import BOOL, App, Fold, Read, Term, conjunction, fresh, negation, reads, substitute, variables
from tinygpu.obligations.obligation import Claim, Gap, Inhabited, Obligation
from tinygpu.record import replace


def promised(claim: Claim, promises: tuple[Term, ...]) -> Claim:
    """The claim under what is promised of the data that it reads."""
    if not promises or isinstance(claim, Gap):
        return claim
    terms = claim.hypotheses + ((claim.goal,) if isinstance(claim, Obligation) else ())
    read = tuple(dict.fromkeys(r for t in terms for r in reads(t)))
    facts = tuple(dict.fromkeys(fact for p in promises for fact in instances(p, read)))
    match claim:
        case Obligation() | Inhabited():
            return replace(claim, hypotheses=claim.hypotheses + facts)


def instances(promise: Term, read: tuple[Read, ...]) -> Iterator[Term]:
    """What a promise says at the elements that are read.

    >>> from tinygpu.category.term import TRUE, Axis, Var, text
    >>> idx = lambda i: Read("idx", (i,), "i32")
    >>> t, T = Var("t"), Var("T")
    >>> says = Fold("all", (Axis("t", T),), TRUE, App("ge", (idx(t), Var("low", "i32")), BOOL), BOOL)
    >>> [text(f) for f in instances(says, (idx(Var("b") + 1),))]
    ['not (0 <= b + 1 and b + 1 < T) or idx[b + 1] >= low']
    """
    match promise:
        case Fold("all"):
            # a thread may have the name of a binder
            promise = fresh(promise, frozenset().union(*map(variables, read)))
            axes, guard, body = promise.axes, promise.guard, promise.body
            binders = {a.name for a in axes}
            for general in reads(body):
                for special in (r for r in read if r.tensor == general.tensor):
                    bind = _unified(general, special, binders)
                    if set(bind) == binders:
                        inside = conjunction(*(within(bind[a.name], a.extent) for a in axes), substitute(guard, bind))
                        yield App("or", (negation(inside), substitute(body, bind)), BOOL)
        case App("and", args):
            for arg in args:
                yield from instances(arg, read)
        case _:
            yield promise


def _unified(general: Read, special: Read, binders: set[str]) -> dict[str, Term]:
    found: dict[str, Term] = {}
    for pattern, term in zip(general.index, special.index, strict=True):
        unknown = sorted(variables(pattern) & binders - set(found))
        point = solve(pattern, term, unknown[0]) if len(unknown) == 1 else None
        if point is not None:
            found[unknown[0]] = point
    return found
