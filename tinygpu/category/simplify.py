"""placeholder"""
from tinygpu.category.box import Box
from tinygpu.category.term import Term, FOLDED, Const


def simplify(term: Term, box: Box) -> Term:
    return term


def holds(guard: Term, box: Box) -> bool | None:
    return guard.value if isinstance(guard, Const) else None
