"""Machines at random whose threads and blocks share folds: shuffles, shared memory, atomic updates, further launches, and the
sequential view of each.

The one idea: a fold may be cut in any way and carried by anybody, so whatever the elaborator lets through computes the equations, in
every order of threads, without a race.
"""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.derive.test_random_machines import OPS, _sized
from tests.program.library import agrees, machines, reread
from tinygpu.category.evaluate import evaluate
from tinygpu.category.term import Read, walk
from tinygpu.derive.derive import derive
from tinygpu.derive.sequential import sequential
from tinygpu.model.machine import Machine
from tinygpu.program.step import Array, Assign, Program, Sync, steps

Factor = tuple[str, str, int | None]
EXTENTS = {"grid": (1, 3), "block": (1, 9), "time": (1, 3), "register": (1, 3), "vector": (2, 4)}
POWERS = (2, 4, 8, 16, 32)
ALONE = ("linear", "causal", "window")  # one equation that is a fold, so that further launches can go on with it


@st.composite
def digits(draw: st.DrawFn, index: str, sorts: tuple[str, ...], open_: tuple[str, ...]) -> list[Factor]:
    """The factors of one index, slowest first: name, sort, and an extent for all but the one that is inferred."""
    chosen = draw(st.lists(st.sampled_from(sorts), max_size=3)) + ["vector"] * draw(st.integers(0, 1))
    chosen.insert(draw(st.integers(0, len(chosen) - (chosen[-1:] == ["vector"]))), draw(st.sampled_from(open_)) + "?")
    return [(f"{index}{n}", sort.rstrip("?"), None if sort.endswith("?") else draw(size(sort))) for n, sort in enumerate(chosen)]


def size(sort: str) -> st.SearchStrategy[int]:
    """An extent for a factor of that sort; powers of two for lanes more often than others."""
    some = st.integers(*EXTENTS[sort])
    return st.one_of(st.sampled_from(POWERS), some) if sort == "block" else some


def clauses(draw: st.DrawFn, placed: dict[str, list[Factor]], outputs: str) -> list[str]:
    """The lines of a launch."""
    factors = [f for several in placed.values() for f in several]
    levels = {level: [f for f in factors if f[1] == level] for level in ("grid", "block")}
    work = ", ".join(f"{level} = ({', '.join(map(_sized, draw(st.permutations(fs))))})" for level, fs in levels.items())
    lines = [f"work {work}"]
    for i, fs in placed.items():
        lines.append(f"compute {i} = ({', '.join(f[0] if f[1] in levels else _sized(f) for f in fs)})")
    for sort in ("time", "register", "vector"):
        own = [f[0] for f in factors if f[1] == sort]
        outer = [n for n in own if n[0] in outputs]
        order = draw(st.permutations(outer)) + draw(st.permutations([n for n in own if n not in outer]))
        lines += [f"{sort} {', '.join(order)}"] if order else []
    return lines


@st.composite
def blocks(draw: st.DrawFn) -> str:
    """An op and a machine whose blocks fold."""
    op, outputs, folds = OPS[draw(st.sampled_from([name for name, (_, _, folds) in sorted(OPS.items()) if folds]))]
    own = ("block", "block", "time", "register")
    placed = {i: draw(digits(i, ("grid", "block", "time", "register"), ("grid", "time"))) for i in outputs}
    placed |= {k: draw(digits(k, own, ("time",))) for k in folds}
    body = "\n  ".join(clauses(draw, placed, outputs))
    return f"op o{op}\nmachine m : o {{\n  {body}\n}}\n"


@st.composite
def grids(draw: st.DrawFn) -> str:
    """An op and a machine of two launches, or with atomic updates, for a fold over the grid."""
    op, outputs, folds = OPS[draw(st.sampled_from(ALONE))]
    sums = op.replace("max((", "((").replace(", 0) }", ") }")
    placed = {i: draw(digits(i, ("grid", "block", "time", "register"), ("grid", "time"))) for i in outputs}
    placed |= {k: [(f"{k}g", "grid", draw(st.integers(1, 4))), *draw(digits(k, ("block", "time"), ("time",)))] for k in folds}
    first = "\n  ".join(clauses(draw, placed, outputs))
    if "c[j]" not in op and draw(st.booleans()):
        return f"op o{sums}\nmachine m : o {{\n  {first}\n  reduce y over kg by atomic\n}}\n"
    placed = {i: draw(digits(i, ("grid", "block", "time", "register"), ("grid", "time"))) for i in outputs}
    placed["kg"] = draw(digits("q", ("block", "time"), ("time",)))
    second = "\n  ".join(clauses(draw, placed, outputs))
    return f"op o{op}\nmachine m : o {{\n  launch one {{\n  {first}\n  }}\n  launch two {{\n  {second}\n  }}\n}}\n"


def runs(machine: Machine, data: st.DataObject, text: str) -> Program:
    """The program, seen to compute the equations for a few sizes."""
    program = derive(machine)
    assert reread(program, machine) == program
    for seed in range(3):
        sizes = {n: data.draw(st.integers(0, 14), label=n) for n in program.op.sizes}
        if all(evaluate(guard, sizes) for guard in program.where):
            assert not agrees(program, sizes, seed), text
    return program


def alone(program: Program) -> bool:
    """Whether no step of a program is about other threads."""
    every = [step for launch in program.launches for step in steps(launch.body)]
    assigns = [s for s in every if isinstance(s, Assign)]
    shuffles = [t for s in assigns for t in walk(s.value) if not isinstance(t, Read) and getattr(t, "op", "").startswith("shuffle")]
    return (
        not any(isinstance(s, Sync) or (isinstance(s, Array) and s.owner == "block") for s in every)
        and not any(s.atomic for s in assigns)
        and not shuffles
    )


def threads(machine: Machine) -> int:
    """The most threads of a block."""
    most = 1
    for launch in machine.launches:
        count = 1
        for axis in launch.block:
            count *= int(axis.extent.value)  # type: ignore[union-attr]
        most = max(most, count)
    return most


@settings(max_examples=30)
@given(st.one_of(blocks(), grids()), st.data())
def test_a_random_fold_across_workers_computes_its_equations(text: str, data: st.DataObject) -> None:
    (machine,) = machines(text).values()
    if threads(machine) <= 512:
        runs(machine, data, text)
        assert alone(runs(sequential(machine), data, text))
