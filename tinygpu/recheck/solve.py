"""Both solvers on one text: z3 and cvc5, each in a fresh context, with a fixed seed and a budget counted in steps.

    unsat of hypotheses ∧ ¬goal  →  proved        sat  →  false        anything else  →  unknown

Comes in: SMT-LIB 2 text that ends in `(check-sat)`. Goes out: two verdicts. A claim that something exists is proved by `sat`.
The one idea: the text is all that a solver sees, so what is proved can be read, and given to a third one. Names are numbered first, as
many claims differ in nothing else, and those are asked once.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Literal, TypeAlias

import z3

from tinygpu.category.solver import solved
from tinygpu.record import dataclass

Verdict: TypeAlias = Literal["proved", "unknown", "false"]
Z3_STEPS = 20_000_000  # z3's resource units for one text: a few seconds
CVC5_STEPS = 200_000  # cvc5's resource units for one text: a few seconds
MISSING = "cvc5 is not installed"


@dataclass(frozen=True, slots=True)
class Answer:
    """What the solvers say of one text: each its verdict, `unknown` where it gave up or is not there."""

    z3: Verdict
    cvc5: Verdict

    @property
    def both(self) -> bool:
        """Whether each of them proved it."""
        return self.z3 == self.cvc5 == "proved"


def answer(text: str, exists: bool = False) -> Answer:
    """The verdicts on a text: `exists` where `sat` is what has to be shown.

    >>> answer("(set-logic ALL)(declare-const x Int)(assert (< x 0))(assert (> x 1))(check-sat)").z3
    'proved'
    >>> answer("(set-logic ALL)(declare-const x Int)(assert (< x 0))(check-sat)").z3
    'false'
    >>> answer("(set-logic ALL)(declare-const x Int)(assert (< x 0))(check-sat)", exists=True).z3
    'proved'
    """
    text = numbered(text)
    return Answer(_verdict(ask_z3(text), exists), _verdict(ask_cvc5(text), exists))


def _verdict(said: str, exists: bool) -> Verdict:
    if said not in ("sat", "unsat"):
        return "unknown"
    return "proved" if (said == "sat") == exists else "false"


def numbered(text: str) -> str:
    """The same text with its names numbered as they come.

    >>> numbered("(declare-const |i| Int)(assert (< |i| |n| |i|))")
    '(declare-const s0 Int)(assert (< s0 s1 s0))'
    """
    names: dict[str, str] = {}
    return re.sub(r"\|[^|]*\|", lambda found: names.setdefault(found[0], f"s{len(names)}"), text)


@cache
def ask_z3(text: str, steps: int = Z3_STEPS) -> str:
    """z3's answer: sat, unsat or unknown."""
    try:
        return str(solved(text, steps)[0])
    except z3.Z3Exception as error:
        return f"not read: {error}"


@cache
def ask_cvc5(text: str, steps: int = CVC5_STEPS) -> str:
    """cvc5's answer: sat, unsat, or why there is none."""
    module = cvc5_module()
    if module is None:
        return MISSING
    solver = module.Solver(module.TermManager())
    solver.setOption("rlimit", str(steps))
    solver.setOption("seed", "0")
    solver.setOption("decision", "internal")  # the usual way of deciding gets lost in digits: `g*64 + t` of two threads
    parser = module.InputParser(solver)
    parser.setStringInput(module.InputLanguage.SMT_LIB_2_6, text, "claim")
    said = ""
    try:
        while not (command := parser.nextCommand()).isNull():
            said += str(command.invoke(solver, parser.getSymbolManager()))
    except RuntimeError as error:
        return f"not read: {error}"
    return said.strip()


@cache
def cvc5_module() -> Any:
    """The module, or None where it is not installed."""
    try:
        import cvc5  # an extra: only who replays needs it
    except ImportError:
        return None
    return cvc5
