"""How large an op may be: every intermediate is put in where it is read, so a short text can mean a very long equation.

    size(e) = Σ over the nodes of e of 1 + size(equation of what the node reads)          depth(e) likewise, along one path

Comes in: an op and its equations. Goes out: a message where they are too many, too long, or too deep. The one idea: sizes are counted
equation by equation, without putting anything in.
"""

from __future__ import annotations

from tinygpu.category.term import Read, Term, children
from tinygpu.model.op import Equation
from tinygpu.model.problems import Problems, head
from tinygpu.syntax import tree

MOST_PARTS = 200  # inputs, outputs and equations
MOST_NODES = 20_000
DEEPEST = 240  # of one value; all later stages descend into it by recursion


def too_many(op: tree.Op, problems: Problems) -> bool:
    """Whether the op has more tensors and equations than anybody writes; then that is said, and nothing else of it is looked at."""
    count = len(op.inputs) + len(op.outputs) + len(op.equations)
    if count > MOST_PARTS:
        title = f"an op has at most {MOST_PARTS} tensors and equations, not {count}"
        problems.add("TG161", title, head(op.span, f"op {op.name}"), "too large", help="make several ops of it")
    return count > MOST_PARTS


def too_long(equations: tuple[Equation, ...], problems: Problems) -> None:
    """Says which equation is the first that becomes too long, or too deep, when the others are put in."""
    known: dict[str, tuple[int, int]] = {}
    for equation in equations:
        size, depth = known[equation.target] = bulk(equation.value, known)
        if size > MOST_NODES or depth > DEEPEST:
            what = f"more than {MOST_NODES} operations" if size > MOST_NODES else f"more than {DEEPEST} levels"
            title = f"with everything that it reads put in, {equation.target} has {what}"
            problems.add(
                "TG161", title, equation.span, "too large", help="make several ops of it: one reads what the other has stored"
            )
            return


def bulk(term: Term, known: dict[str, tuple[int, int]]) -> tuple[int, int]:
    """How many nodes, and how many levels, with what is known of the tensors that are read.

    >>> from tinygpu.category.term import Var
    >>> bulk(Read("a", (Var("i"),), "f32") + Read("a", (Var("i"),), "f32"), {"a": (10, 5)})
    (25, 7)
    """
    sizes = [bulk(child, known) for child in children(term)]
    inner = known.get(term.tensor, (0, 0)) if isinstance(term, Read) else (0, 0)
    return 1 + inner[0] + sum(s for s, _ in sizes), 1 + max((inner[1], *(d for _, d in sizes)))
