"""Indices that are data, undone by what is promised of the data.

    all[k < n] a[b[k]] == k   gives   a[e] = o   at   e = b[o]

Comes in: equations between terms over axes and their targets; promises. Goes out: equations without those reads. The one idea: a promise that one
array undoes another is where a point comes from; nothing here is trusted (`preimage`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tinygpu.category.term import App, Fold, Read, Term, Var, conjuncts, substitute

Pair = tuple[Term, Term]  # a term over axes, and what it is to be


def undone(equations: Iterable[Pair], promises: tuple[Term, ...]) -> list[Pair]:
    """The equations, those of reads that a promise undoes as those of their indices.

    >>> from tinygpu.category.term import BOOL, INDEX, TRUE, Axis, text
    >>> def at(tensor: str, *index: Term) -> Term:
    ...     return App("cast", (Read(tensor, index, "i32"),), INDEX)
    >>> k, b, o = Var("k"), Var("b"), Var("o")
    >>> says = Fold("all", (Axis("b", Var("B")), Axis("k", Var("n"))), TRUE, App("eq", (at("p", b, at("q", b, k)), k), BOOL), BOOL)
    >>> [(text(term), text(target)) for term, target in undone([(at("p", Var("g"), Var("t") + 1), o)], (says,))]
    [('t + 1', 'q[g, o]')]
    """
    return [one for term, target in equations for one in next(_ways(term, target, promises), [(term, target)])]


def _ways(term: Term, target: Term, promises: tuple[Term, ...]) -> Iterator[list[Pair]]:
    """The equations of the indices of a read, by each promise that names the element that holds a number."""
    own = _data(term)
    for promise in (p for p in promises if isinstance(p, Fold) and isinstance(own, Read)):
        for read, number in _said(promise):
            if isinstance(own, Read) and read.tensor == own.tensor:
                rows: dict[str, Term] = {i.name: e for i, e in zip(read.index, own.index, strict=True) if isinstance(i, Var)}
                bind = {**rows, number.name: target}
                if bind.keys() >= {a.name for a in promise.axes}:
                    pairs = zip(own.index, read.index, strict=True)
                    yield [(e, substitute(i, bind)) for e, i in pairs if not isinstance(i, Var)]


def _said(promise: Fold) -> Iterator[tuple[Read, Var]]:
    """The elements of which a promise says which index they hold."""
    for said in conjuncts(promise.body):
        for one, other in (said.args, said.args[::-1]) if isinstance(said, App) and said.op == "eq" else ():
            read, number = _data(one), _data(other)
            if isinstance(read, Read) and isinstance(number, Var):
                yield read, number


def inverses(promise: Term) -> Iterator[tuple[str, str]]:
    """The arrays that undo one another by a promise: of `p[q[k]] == k` those two."""
    for read, _ in _said(promise) if isinstance(promise, Fold) else ():
        yield from ((read.tensor, inner.tensor) for i in read.index if isinstance(inner := _data(i), Read))


def _data(term: Term) -> Term:
    """What is converted to an index, or from one."""
    while isinstance(term, App) and term.op == "cast":
        term = term.args[0]
    return term
