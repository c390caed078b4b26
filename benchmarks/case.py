"""What is measured on the CPU: an op at some sizes, numpy's way to compute it, and the machines that are to be as fast.

Comes in: a spec. Goes out: for each machine its module, and a row of the table. The one idea: numpy's own expression on the same
inputs in float64 says what is right, every output is poisoned before the first call, and nothing wrong is ever called fast.
"""

from __future__ import annotations

import inspect
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import peers_torch
from benchmarks.rounds import Race, race
from tinygpu import pipeline
from tinygpu.category.evaluate import evaluate
from tinygpu.category.number import outside, outside_dtype
from tinygpu.category.term import FLOATS
from tinygpu.model.machine import Machine
from tinygpu.model.op import Op
from tinygpu.run.load import load

ROOT = Path(__file__).resolve().parent.parent
RELATIVE, OF_ALL = 1e-4, 1e-4  # an error may be so much of the exact value, and so much of the exact values' root mean square
QUICK = 8  # `--quick` divides every size by this

Array = np.ndarray[Any, Any]
Inputs = dict[str, Any]
Peer = Callable[..., None]  # (inputs, *outputs): writes the outputs, of the dtype that they have
Plain = Callable[[Inputs], Any]  # the expression as anybody writes it, which makes its result and what is between
Draw = Callable[[np.random.Generator, tuple[int, ...], dict[str, int]], Any]


@dataclass(frozen=True, slots=True)
class Case:
    """An op of a spec, the values of its sizes, numpy's in-place form and its text, and the ratio to reach.

    Where a goal is of numpy's plain expression, `plain` is that, and each of the two calls makes its result. `machines` are those to run, by name: all that serve the op where none is given. `draw` makes inputs that are not of normal distribution; sizes in `whole` are not divided.
    """

    name: str
    spec: str
    op: str
    sizes: dict[str, int]
    peer: Peer
    against: str
    goal: float = 0.2
    machines: tuple[str, ...] = ()
    draw: Mapping[str, Draw] = field(default_factory=dict)
    note: str = ""
    plain: Plain | None = None
    whole: tuple[str, ...] = ()

    def at(self, quick: bool) -> dict[str, int]:
        """The sizes, or small ones."""
        return (
            {name: value if name in self.whole else max(1, value // QUICK) for name, value in self.sizes.items()}
            if quick
            else self.sizes
        )

    def titles(self) -> tuple[str, ...]:
        """The machines of the case, by title. Raises LookupError where the spec has none."""
        found = tuple(m.title for m in machines(self.path()) if self.takes(m))
        if not found:
            raise LookupError(f"{self.spec}.tgpu has no machine for the case {self.name}")
        return found

    def takes(self, machine: Machine) -> bool:
        """Whether a machine of the spec is one of the case: an op with parameters goes by its bare name."""
        wanted = not self.machines or bool({machine.name, machine.title} & {*self.machines})
        return wanted and machine.op.name.partition("[")[0] == self.op

    def path(self) -> Path:
        return ROOT / "specs" / f"{self.spec}.tgpu"


@cache
def machines(spec: Path) -> tuple[Machine, ...]:
    """The machines of a spec, which many cases are of."""
    return pipeline.load(spec).machines


@dataclass(frozen=True, slots=True)
class Prepared:
    """The module of a proved machine, the name of its launcher, and what it took until its first call had returned."""

    title: str
    text: str
    launcher: str
    prove_seconds: float
    first_call_seconds: float


def prepare(case: Case, title: str) -> Prepared:
    """Prove, emit, and call once at small sizes, which leaves the compiled kernels beside the module, where the next process finds them."""
    from tinygpu.emit.module import launcher_names

    machine = next(m for m in machines(case.path()) if m.title == title)
    start = time.perf_counter()
    proof = pipeline.check(machine)
    if not isinstance(proof, pipeline.Proof):
        raise SystemExit(f"{title} of {case.spec}.tgpu is not proved: {type(proof).__name__}")
    ready = pipeline.built(proof, machine)
    text = pipeline.module(title, [ready])
    proved = time.perf_counter()
    made = Prepared(title, text, launcher_names([machine])[0], proved - start, 0.0)
    inputs, outputs = arrays(machine.op, case, case.at(quick=True))
    call(made, case.at(quick=True), inputs, outputs)()
    return Prepared(title, text, made.launcher, proved - start, time.perf_counter() - proved)


def arrays(op: Op, case: Case, sizes: dict[str, int]) -> tuple[Inputs, tuple[Array, ...]]:
    """Inputs of the same values every time, and poisoned outputs."""
    chance = np.random.default_rng(0)
    inputs: Inputs = {}
    for tensor in op.inputs:
        shape = tuple(int(evaluate(e, sizes)) for e in tensor.shape)
        if tensor.name in case.draw:
            inputs[tensor.name] = case.draw[tensor.name](chance, shape, sizes)
        elif tensor.shape:
            inputs[tensor.name] = outside(chance.standard_normal(shape, dtype=np.float32), tensor.dtype)
        else:
            inputs[tensor.name] = 1.5
    return inputs, tuple(poisoned(tuple(int(evaluate(e, sizes)) for e in t.shape), outside_dtype(t.dtype)) for t in op.outputs)


def poisoned(shape: tuple[int, ...], dtype: Any) -> Array:
    """An array of NaN, of −1 where there is no NaN."""
    made = np.empty(shape, dtype)
    made.fill(np.array(-1 if made.dtype.kind in "iub" else np.nan).astype(made.dtype))
    return made


def call(made: Prepared, sizes: Mapping[str, int], inputs: Inputs, outputs: tuple[Array, ...] = ()) -> Callable[[], Any]:
    """The whole call that a user makes: the launcher's checks, the kernels; `out=`, or a result that it makes. Sizes that no input tells
    go by keyword."""
    launcher = getattr(load(made.text, made.launcher), made.launcher)
    keywords: dict[str, Any] = {name: sizes[name] for name in inspect.signature(launcher).parameters if name in sizes}
    given = tuple(inputs.values())  # in the op's order
    if outputs:
        keywords["out"] = outputs[0] if len(outputs) == 1 else outputs
    return lambda: launcher(*given, **keywords)


def exact(op: Op, case: Case, inputs: Inputs, outputs: tuple[Array, ...]) -> tuple[Array, ...]:
    """The peer's own expression in float64."""
    wide = {t.name: inputs[t.name].astype(np.float64) if t.shape and t.dtype in FLOATS else inputs[t.name] for t in op.inputs}
    found = tuple(np.empty(a.shape, np.float64 if t.dtype in FLOATS else a.dtype) for t, a in zip(op.outputs, outputs, strict=True))
    case.peer(wide, *found)
    return found


def differs(got: tuple[Array, ...], want: tuple[Array, ...]) -> str:
    """Where an output is not what it should be: empty where it is."""
    for mine, true in zip(got, want, strict=True):
        if true.dtype.kind != "f":
            wrong = mine != true
        else:
            allowed = RELATIVE * np.abs(true) + OF_ALL * np.sqrt(np.mean(np.square(true)))
            wrong = ~(np.abs(mine - true) <= allowed)
        if wrong.any():
            place = tuple(int(i) for i in np.argwhere(np.atleast_1d(wrong))[0])
            first = np.atleast_1d(mine)[place], np.atleast_1d(true)[place]
            return f"{int(np.sum(wrong))} of {true.size} elements are wrong, the first at {place}: {first[0]}, not {first[1]}"
    return ""


def rows(case: Case, ready: Mapping[str, Prepared], quick: bool, rounds: int, seconds: float) -> list[dict[str, Any]]:
    """A row for each machine of the case."""
    taken = {m.title: m for m in machines(case.path()) if m.title in ready}
    found: list[dict[str, Any]] = []
    sizes = case.at(quick)
    for title, machine in taken.items():
        inputs, outputs = arrays(machine.op, case, sizes)
        if not found or any(t.dtype not in ("f32", "i32", "u8") for t in machine.op.tensors):
            want = exact(machine.op, case, inputs, outputs)
        theirs = tuple(np.empty_like(a) for a in outputs)
        ours = call(ready[title], sizes, inputs, outputs)
        ours()
        wrong = differs(outputs, want)
        result = race(ours, lambda i=inputs, t=theirs: case.peer(i, *t), rounds, seconds) if not wrong else None  # type: ignore[misc]
        plain = None
        if case.plain and result:
            del outputs, theirs, ours  # what is left of the memory is for the results of both
            plain = race(call(ready[title], sizes, inputs), lambda i=inputs: case.plain(i), rounds, seconds)  # type: ignore[misc]
        others = {}
        for name, theirs_too in peers_torch.forms(case.op, inputs, sizes) if result else ():
            others[name] = race(call(ready[title], sizes, inputs), theirs_too, rounds, seconds)
        found.append(row(case, ready[title], sizes, result, wrong, plain) | torch_columns(others))
    return found


def torch_columns(raced: Mapping[str, Race]) -> dict[str, Any]:
    """How many times faster ours is than torch, where both make their results, and torch's milliseconds."""
    named = {f"{name}_ratio": round(r.ratio, 3) for name, r in raced.items()}
    return named | {f"{name}_ms": round(statistics.median(r.theirs) * 1e3, 3) for name, r in raced.items()}


def row(
    case: Case, made: Prepared, sizes: dict[str, int], result: Race | None, wrong: str, plain: Race | None = None
) -> dict[str, Any]:
    """Numbers for the table and the file."""
    found: dict[str, Any] = {"case": case.name, "machine": made.title, "spec": case.spec, "sizes": sizes, "against": case.against}
    if result is None:
        return {**found, "goal": case.goal, "wrong": wrong}
    ours, theirs = (sorted(t)[len(t) // 2] * 1e3 for t in (result.ours, result.theirs))
    mine, other = result.spreads
    return {
        **found,
        "ours_ms": round(ours, 3),
        "numpy_ms": round(theirs, 3),
        "ours_spread": round(mine, 2),
        "numpy_spread": round(other, 2),
        "rounds": len(result.ours),
        "ratio": round(result.ratio, 3),
        "ratio_of_best": round(result.best, 3),
        "goal": case.goal,
        **({"plain_ratio": round(plain.ratio, 3), "plain_ms": round(statistics.median(plain.theirs) * 1e3, 3)} if plain else {}),
        "reached": (plain or result).ratio >= case.goal,
        "prove_s": round(made.prove_seconds, 2),
        "first_call_s": round(made.first_call_seconds, 2),
        "note": case.note,
    }
