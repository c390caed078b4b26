"""Pipelines: what is called has the extents that it wants, may be called there, and no two values that are live together overlap.

    where A ⊢ extents are equal          where A ⊢ what Mₖ wants          where A ⊢ a ends before b begins, if both are live at some call

Comes in: a `Pipeline`, and where what stands between its calls lies. Goes out: claims over its sizes. The one idea: each machine is proved by itself, for all sizes and all arrays that
do not overlap, so what is left of a composition is whether these are such sizes and such arrays.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.category.linear import polynomial
from tinygpu.category.term import App, Term, apply, conjuncts, substitute, text, walk
from tinygpu.derive.arena import Arena, Buffer, live
from tinygpu.diagnostic import Label
from tinygpu.model.op import Op
from tinygpu.model.pipeline import Agreement, Call, Pipeline
from tinygpu.obligations.choice import given
from tinygpu.obligations.equation import possible
from tinygpu.obligations.obligation import Inhabited, Obligation
from tinygpu.program.promises import of_data

KIND = "pipeline"


def claims_of_pipeline(pipeline: Pipeline, arena: Arena) -> Iterator[Obligation | Inhabited]:
    """That it may be called at all. Of each call that extents agree and that its machine may be called; of each two values that are live together that they lie apart, and of each that it has room."""
    known = given(pipeline.op)
    yield from possible(pipeline.op, known, Label(pipeline.span, "so this pipeline is for nothing"))
    for call in pipeline.calls:
        yield from _agrees(call.agreements, Label(call.span, "in this call"), known)
        yield from _allowed(call, pipeline.op, known)
    yield from _agrees(pipeline.agreements, Label(pipeline.span, "what is made, and what is declared"), known)
    label = (Label(pipeline.span, "of this pipeline"),)
    for one, other in live(arena):
        said = f"{one.name} lies before {other.name}"
        yield _apart(f"{one.name} and {other.name} overlap", said, known, ends(arena, one), arena.at(other), label)
    for one in arena.buffers:
        yield _apart(f"{one.name} has no room", f"there is room for {one.name}", known, ends(arena, one), arena.bytes, label)


def ends(arena: Arena, buffer: Buffer) -> Term:
    """The byte behind a buffer."""
    return arena.at(buffer) + buffer.bytes


def _agrees(agreements: tuple[Agreement, ...], label: Label, known: tuple[Term, ...]) -> Iterator[Obligation]:
    for wanted, there in agreements:
        if polynomial(wanted) != polynomial(there):
            said, goal = f"{text(wanted)} = {text(there)}", apply("eq", wanted, there)
            yield Obligation(
                KIND,
                "TG555",
                f"{text(there)} is given where {text(wanted)} is wanted, which differ at",
                said,
                known,
                goal,
                (label,),
                HELPS["TG555"],
            )


def _allowed(call: Call, op: Op, known: tuple[Term, ...]) -> Iterator[Obligation]:
    sizes = dict(call.sizes)
    extents = (*sizes.values(), *(extent for name in call.made for extent in op.tensor(name).shape))
    whole = (apply("ge", extent, 0) for extent in dict.fromkeys(extents) if _difference(extent))  # as a launcher sees to
    for part in (*whole, *(substitute(p, sizes) for guard in call.needs for p in conjuncts(guard) if not of_data(p))):
        if part not in known:
            said, title = f"where {call.to.title} is called, {text(part)}", f"{call.to.title} may not be called with"
            label = Label(call.span, f"it may be called where {text(part)}")
            yield Obligation(KIND, "TG556", title, said, known, part, (label,), HELPS["TG556"])


def _difference(extent: Term) -> bool:
    """Whether it may be negative where no size is: it is, or holds, a difference.

    >>> from tinygpu.category.term import Const, Var, ceildiv
    >>> n = Var("n")
    >>> [_difference(e) for e in (2 * n + 1, ceildiv(n, 4), n - 5, (5 - n) // 2, App("min", (n - 5, Const(3))))]
    [False, False, True, True, True]
    """
    return any(min(polynomial(t).values(), default=0) < 0 for t in walk(extent))


def _apart(title: str, said: str, known: tuple[Term, ...], end: Term, begin: Term, labels: tuple[Label, ...]) -> Obligation:
    return Obligation(KIND, "TG557", f"{title} at", said, known, App("le", (end, begin), "bool"), labels)


HELPS = {
    "TG555": "say at the pipeline that they are equal: where …; or call it with another tensor",
    "TG556": "say it at the pipeline: where …; or call a choice, which has a machine for other sizes",
}
