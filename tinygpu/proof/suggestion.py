"""The smallest sizes at which the solver says that a claim is false.

Comes in: an open claim with a model. Goes out: sizes to run. The one idea: all questions about one claim differ in what they say of the sizes
alone, so the claim is translated once, and every question has a fresh solver.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import z3

from tinygpu.category.smtlib import Writer
from tinygpu.category.solver import solved
from tinygpu.category.term import Term, Var, equal
from tinygpu.obligations.obligation import Obligation
from tinygpu.program.step import Program
from tinygpu.proof.kernel import BUDGET, Open, affordable, integers
from tinygpu.proof.replay import evaluates_false

CAPS = (1, 2, 3, 4, 5, 8, 9, 16, 17, 32, 33, 64, 65, 128, 129, 256, 512, 1024, 4096, 1 << 14, 1 << 16, 1 << 20)  # on all sizes


class Question:
    """`hypotheses ∧ ¬goal`, to be asked under one thing after the other."""

    def __init__(self, hypotheses: tuple[Term, ...], goal: Term, budget: int) -> None:
        self.budget = affordable(budget, (*hypotheses, goal))
        self.writer = Writer()
        self.before = [self.writer.term(h) for h in dict.fromkeys(hypotheses)]
        self.after = [self.writer.denied(goal), *self.writer.facts()]

    def ask(self, more: tuple[Term, ...]) -> tuple[Any, dict[str, int]]:
        """`(unsat | sat | unknown, a model of the integers)`; `more` compares sizes with numbers."""
        text = self.writer.script([*self.before, *map(self.writer.term, more), *self.after])
        verdict, model, _ = solved(text, self.budget)
        if verdict == z3.unknown:
            self.budget //= 8  # so that all that are too hard together cost little more than one
        return verdict, {} if model is None else integers(model)


def suggested(program: Program, open: Open, budget: int = BUDGET) -> Iterator[dict[str, int]]:
    """The smallest sizes at which the solver says that a claim is false; where it gave up below them, smaller ones first."""
    if open.model is None or not isinstance(open.claim, Obligation):
        return
    first = tuple((s, open.model.get(s, 1)) for s in program.op.sizes)
    told, sure = _smallest(open.claim, first, budget)
    sizes = dict(told)
    if not sure:
        smaller = ({s: min(v, cap) for s, v in sizes.items()} for cap in CAPS if cap < max(sizes.values()))
        yield from (dict(one) for one in dict.fromkeys(tuple(small.items()) for small in smaller))
    yield sizes


def smallest(program: Program, open: Open, budget: int = BUDGET) -> dict[str, int]:
    """A model that makes a claim false, of the smallest sizes; the one that is known where there is no other."""
    assert open.model is not None and isinstance(open.claim, Obligation)
    question = Question(open.claim.hypotheses, open.claim.goal, budget // 10)
    for sizes in list(suggested(program, open, budget))[::-1]:
        verdict, model = question.ask(tuple(equal(Var(s), v) for s, v in sizes.items()))
        if verdict == z3.sat:
            return model
    return open.model


def least(claim: Obligation, names: Sequence[str], model: Mapping[str, int], budget: int = BUDGET) -> dict[str, int]:
    """The smallest sizes at which a claim about sizes is false, as far as the solver says so; those of a model where it does not."""
    return dict(_smallest(claim, tuple((name, model.get(name, 1)) for name in names), budget)[0])


@lru_cache(maxsize=256)
def _smallest(claim: Obligation, known: tuple[tuple[str, int], ...], budget: int) -> tuple[tuple[tuple[str, int], ...], bool]:
    """Sizes at which it is false, `known` or smaller ones; and whether the solver has decided that none below are."""
    found = dict(known)
    least = dict.fromkeys(found, 1)  # a size of 0 is shown only where nothing else goes wrong
    if found == least or evaluates_false(claim, least):  # there, at a point that is known or at the first one: nobody need be asked
        return tuple(least.items()), True
    question = Question(claim.hypotheses, claim.goal, budget // 10)
    positive = tuple(Var(s) >= 1 for s in found)
    enough = min(found.values()) >= 1  # then the largest size of the model is a cap under which the claim is false
    low, high, true, below = 0, _cap(found) if enough else len(CAPS), 0, 1
    while low < high:  # what is false under a cap is false under a larger one; most models are as small as can be
        middle = max(low, high - below)
        verdict, model = question.ask((*(Var(s) <= CAPS[middle] for s in found), *positive))
        if verdict == z3.sat:
            found, enough = {s: model.get(s, 1) for s in found}, True
            high, below = min(middle, _cap(found)), 2 * below
        elif verdict == z3.unsat:
            low, true = middle + 1, CAPS[middle]
            below = (high - low + 1) // 2
        else:  # what it does not decide here it would not decide for less
            return tuple(found.items()) if enough else known, False
    return tuple(descend(question, found, true).items()) if enough else known, True


def _cap(sizes: dict[str, int]) -> int:
    """Which of CAPS is on all of them."""
    return bisect_left(CAPS, max(sizes.values()))


def descend(question: Question, sizes: dict[str, int], true: int = 0) -> dict[str, int]:
    """One size after the other made as small as the claim's falsity allows, by halves; where all are at most `true`, it is not false."""
    for number, name in enumerate(tuple(sizes)):
        done = tuple(sizes)[:number]
        low = 1 if max((v for s, v in sizes.items() if s != name), default=1) > true else true + 1
        while low < sizes[name]:
            middle = (low + sizes[name]) // 2
            rest = tuple(bound for s, v in sizes.items() if s not in done for bound in (Var(s) >= min(v, 1), Var(s) <= v))
            before = tuple(equal(Var(s), v) for s, v in sizes.items() if s in done)
            verdict, model = question.ask((Var(name) >= low, Var(name) <= middle, *before, *rest))
            if verdict == z3.sat:
                sizes = {s: model.get(s, sizes[s]) for s in sizes}
            elif verdict == z3.unsat:
                low = middle + 1
            else:  # what it does not decide here it would hardly decide for the next one
                break
    return sizes
