"""Programs by hand, one for each thing that an emitter must get right, and what more of them are put together from.

Comes in: `programs.tgpu`. Goes out: programs by name, short names for terms and steps. The one idea: what has a text is given as one.
"""

from __future__ import annotations

from pathlib import Path

from tinygpu import pipeline
from tinygpu.category.layout import Layout
from tinygpu.category.term import App, Axis, Const, Read, Term, Var, ceildiv, substitute
from tinygpu.model.op import Equation, Op, Tensor
from tinygpu.program.step import Array, Assign, For, Launch, Program, Step, arrays_in
from tinygpu.record import replace


def f32(value: float) -> Const:
    return Const(value, "f32")


def times(a: Term, b: Term) -> App:
    return App("mul", (a, b), a.dtype)


def plus(a: Term, b: Term) -> App:
    return App("add", (a, b), a.dtype)


def tensor(name: str, dtype: str, *shape: Term | int, role: str = "input") -> Tensor:
    return Tensor(name, dtype, tuple(Const(s) if isinstance(s, int) else s for s in shape), role)


def at(name: str, dtype: str, *index: Term) -> Read:
    return Read(name, index, dtype)


n = Var("n")
i, v, g, t = Var("i"), Var("v"), Var("g"), Var("t")


def loop(name: str, extent: Term | int, *body: Step, sort: str = "time") -> For:
    return For(Axis(name, Const(extent) if isinstance(extent, int) else extent, sort), body)


def threads(**extents: int) -> tuple[Axis, ...]:
    return tuple(Axis(name, Const(extent), "block") for name, extent in extents.items())


def elementwise(name: str, inputs: tuple[Tensor, ...], output: Tensor, value: Term, lanes: int = 4, block: int = 256) -> Program:
    """`z[i] = value`, with `lanes` neighbours for each thread; the value is a term over i."""
    place = (g * block + t) * lanes + v
    op = Op(name, ("n",), inputs, (output,), (), (Equation(output.name, (Axis("i", n),), value),))
    store = Assign(output.name, (place,), substitute(value, {"i": place}), guard=place < n)
    grid = (Axis("g", ceildiv(n, block * lanes), "grid"),)
    return Program(name, op, (Launch(grid, threads(t=block), (loop("v", lanes, store, sort="vector"),)),))


def transpose(layout: Layout, name: str) -> Program:
    """The transposition through a tile of that layout."""
    plain = PROGRAMS["transpose_plain"]
    (launch,) = plain.launches
    body = tuple(replace(s, layout=layout) if isinstance(s, Array) and s.owner == "block" else s for s in launch.body)
    return replace(plain, name=name, launches=(replace(launch, body=body),))


PROGRAMS = {m.title: pipeline.program(m) for m in pipeline.load(Path(__file__).parent / "programs.tgpu").machines}
TOGETHER = {name: p for name, p in PROGRAMS.items() if len(p.launches) > 1 or arrays_in(p.launches[0].body, "block")}
ALONE = {name: p for name, p in PROGRAMS.items() if name not in TOGETHER}
