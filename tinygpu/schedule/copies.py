"""Copies in local arrays that a CPU does not need: a cell that only repeats an input is read where it lies.

Comes in: the body of a launch, after `cpu_lift`. Goes out: the same without local arrays that are written once, from inputs, before
every read. The one idea: inputs do not change during a launch, so such a cell and what was written to it are one value; a copy in
memory would only keep the compiler from making vectors.
"""

from __future__ import annotations

from tinygpu.category.term import TRUE, Read, Term, Var, rebuild, substitute
from tinygpu.program.step import Array, Assign, For, If, Step, arrays_in
from tinygpu.record import replace
from tinygpu.schedule.lift import Site, sites, tensor_reads


def without_copies(body: tuple[Step, ...], inputs: frozenset[str]) -> tuple[Step, ...]:
    """`body → body` in which every local array that is such a copy is gone.

    >>> from tinygpu.category.term import Axis, Const, text
    >>> from tinygpu.program.space import LOCAL
    >>> r, w = Var("r"), Array("w_cell", "f32", (Const(3),), LOCAL)
    >>> copy = For(Axis("r", Const(3), "register"), (Assign("w_cell", (r,), Read("w", (r,), "f32")),))
    >>> use = Assign("y", (), Read("w_cell", (Const(2),), "f32"))
    >>> (left,) = without_copies((w, copy, use), frozenset({"w"}))
    >>> text(left.value)
    'w[2]'
    """
    for local in [s for s in arrays_in(body, "thread") if s.extents]:
        writer = _only_writer(body, local, inputs)
        if writer is not None:
            body = _replaced(body, local.name, writer)
    return body


def _only_writer(body: tuple[Step, ...], local: Array, inputs: frozenset[str]) -> Assign | None:
    """The one plain assignment that fills the array before every read, if its value is the same wherever it is read."""
    everywhere = list(sites(body))
    writers = [site for site in everywhere if site.step.target == local.name]
    if len(writers) != 1:
        return None
    writer = writers[0]
    step = writer.step
    if step.update or step.guard != TRUE or any(read.tensor not in inputs for read in tensor_reads(writer)):
        return None
    if any(not isinstance(t, Var) for t in step.index) or len(set(step.index)) != len(step.index):
        return None
    readers = [site for site in everywhere if any(read.tensor == local.name for read in tensor_reads(site))]
    after = everywhere.index(writer)
    return step if all(everywhere.index(site) > after and _same(writer, site, local) for site in readers) else None


def _same(writer: Site, reader: Site, local: Array) -> bool:
    """Whether the writer ran for this reader: under no guard of its own, and in no loops of its own but those over the array."""
    if reader.guards[: len(writer.guards)] != writer.guards:
        return False
    common = {id(loop) for loop in reader.loops}
    own = {loop.axis.name: loop.axis.extent for loop in writer.loops if id(loop) not in common}
    filled = {t.name: extent for t, extent in zip(writer.step.index, local.extents, strict=True) if isinstance(t, Var)}
    return own == filled


def _replaced(body: tuple[Step, ...], name: str, writer: Assign) -> tuple[Step, ...]:
    """The body without the array: reads become the value at their index."""

    def change(t: Term) -> Term:
        t = rebuild(t, change)
        if isinstance(t, Read) and t.tensor == name:
            places = {v.name: i for v, i in zip(writer.index, t.index, strict=True) if isinstance(v, Var)}
            return substitute(writer.value, places)
        return t

    out: list[Step] = []
    for step in body:
        match step:
            case Array(own, _, _, owner="thread") if own == name:
                continue
            case Assign(target, index, value, _, guard) if target != name:
                out.append(replace(step, index=tuple(map(change, index)), value=change(value), guard=change(guard)))
            case For(_, inner):
                left = _replaced(inner, name, writer)
                out.extend([replace(step, body=left)] if left else [])
            case If(guard, inner):
                out.append(replace(step, guard=change(guard), body=_replaced(inner, name, writer)))
            case Array(owner="thread"):
                out.append(step)
    return tuple(out)
