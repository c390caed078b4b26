"""Choices: each machine is called where it may be, no sizes have two cases, and all have one.

    where A, gᵢ ⊢ what Mᵢ wants          where A, gᵢ ⊢ not gⱼ          where A ⊢ g₁ or … or gₙ

Comes in: a `Choice`. Goes out: claims over its sizes. The one idea: what a launcher has seen to before it looks for a case is a hypothesis: sizes and extents are not negative, and what
the op wants of its sizes holds.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.category.term import Const, Term, Var, conjunction, conjuncts, disjunction, negation, text
from tinygpu.diagnostic import Label
from tinygpu.model.choice import Branch, Choice
from tinygpu.model.op import Op
from tinygpu.model.problems import head
from tinygpu.obligations.obligation import Inhabited, Obligation
from tinygpu.program.promises import of_data

KIND = "choice"


def given(op: Op) -> tuple[Term, ...]:
    """What is known of the sizes of a call."""
    extents = (extent >= 0 for t in op.outputs for extent in t.shape if not isinstance(extent, Const))
    wanted = (part for guard in op.where for part in conjuncts(guard) if not of_data(part))
    return tuple(dict.fromkeys((*(Var(size) >= 0 for size in op.sizes), *wanted, *extents)))


def claims_of_choice(choice: Choice) -> Iterator[Obligation]:
    """Of each case what its machine wants, of each two that they exclude each other, and that there is one."""
    known, branches = given(choice.op), choice.branches
    for branch in branches:
        yield from _allowed(branch, known)
    for at, one in enumerate(branches):
        for other in branches[at + 1 :]:
            names = f"{one.machine.name} and {other.machine.name}"
            labels = (Label(other.span, "this case"), Label(one.span, "and this one"))
            said = f"no sizes are those of the cases of {names}"
            goal = negation(conjunction(*other.where))
            yield Obligation(KIND, "TG552", f"{names} both take", said, (*known, *one.where), goal, labels, HELPS["TG552"])
    goal = disjunction(*(conjunction(*one.where) for one in branches))
    whole = (Label(choice.span, "this choice"),)
    yield Obligation(KIND, "TG551", "no case takes", "some case takes all sizes", known, goal, whole, HELPS["TG551"])


def _allowed(branch: Branch, known: tuple[Term, ...]) -> Iterator[Obligation]:
    name, given_ = branch.machine.name, (*known, *branch.where)
    for part in (part for guard in branch.needs for part in conjuncts(guard) if not of_data(part)):
        if part not in given_:
            said = f"where {name} is called, {text(part)}"
            labels = (
                Label(branch.span, f"it may be called where {text(part)}"),
                Label(head(branch.machine.span, f"machine {name}"), "this machine"),
            )
            yield Obligation(KIND, "TG553", f"{name} may not be called with", said, given_, part, labels, HELPS["TG553"])


def taken(choice: Choice) -> Iterator[Inhabited]:
    """Of each case that some sizes are its own. A choice is right without."""
    for branch in choice.branches:
        title = f"the case of {branch.machine.name} is never taken"
        said = f"some sizes are those of the case of {branch.machine.name}"
        labels = (Label(branch.span, "no sizes are so"),)
        yield Inhabited(KIND, "TG554", title, said, (*given(choice.op), *branch.where), labels, HELPS["TG554"])


HELPS = {
    "TG551": "add a case for these sizes; where no call has them, say so at the op: where …",
    "TG552": "let one case end where the other begins, as in N <= 1024 and N > 1024",
    "TG553": "say it in the case, and give the other sizes to another machine",
    "TG554": "remove it, or say which sizes are meant",
}
