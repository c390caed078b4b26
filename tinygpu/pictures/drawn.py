"""`tinygpu.draw`: what is asked for, of what, at which sizes.

Comes in: a spec, a machine or a verdict, the kind of a picture, sizes, a device. Goes out: a `Picture`. The one idea: a kind is a row of a table, and where a machine has nothing of it, that is said by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from tinygpu import pipeline
from tinygpu.category.evaluate import evaluate
from tinygpu.category.term import reads, text
from tinygpu.cost.measure import measure
from tinygpu.cost.parts import Unclear
from tinygpu.derive.unpack import unpack
from tinygpu.diagnostic import TinygpuError
from tinygpu.hardware.arch import CPU, Device, device_named, devices, runs_on
from tinygpu.hardware.processor import LEADS, OWN, Processor, processor_named, processors
from tinygpu.model.machine import Machine
from tinygpu.pictures.banks import banks
from tinygpu.pictures.fragments import fragments
from tinygpu.pictures.paper import Picture
from tinygpu.pictures.partition import partition
from tinygpu.pictures.refuted import refuted
from tinygpu.pictures.roofline import roofline
from tinygpu.pictures.roofs import sizes_of
from tinygpu.pictures.sizes import picture_sizes
from tinygpu.pictures.timeline import timeline
from tinygpu.pipeline import Loaded, Proof, Refutation, Unknown
from tinygpu.program.step import Program

Drawn: TypeAlias = Loaded | Machine | Proof | Refutation | Unknown
DEVICE = "h100"  # of a roofline, where nobody names one
COUNTED = "floating-point operations that are counted"
KINDS: Mapping[str, str] = {  # and what a machine has not, of which there is none
    "partition": "no tensor whose elements have places that are no data",
    "banks": "no shared memory",
    "fragments": "no instruction that many lanes run together",
    "timeline": "no tiles in shared memory",
    "roofline": f"no {COUNTED}",
    "counterexample": "no case in which it goes wrong",
}


def draw(what: Drawn | Sequence[Machine], kind: str = "", device: str = DEVICE, **sizes: int) -> Picture:
    """A picture of a machine, or of what is known of it: one of KINDS, of a refutation the counterexample and else the partition, where none is named.

    `sizes` are those of the op (`M=96`); small ones are chosen for the others. A roofline takes several machines, and a `device` (h100, a100, …, cpu-avx512). Raises TinygpuError: TG930 where the
    machine has nothing of that kind, TG931 for a kind that is none, TG932 where there is too much to draw, TG933 for sizes that the op does not have or allow, TG934 where several
    machines are given and one is drawn.
    """
    kind = kind or ("counterexample" if isinstance(what, Refutation) else "partition")
    if kind not in KINDS:
        raise TinygpuError.of("TG931", f"there is no picture {kind}", help=f"the pictures are {', '.join(KINDS)}")
    if kind == "counterexample":
        return counterexample(what)
    machines = [*machines_of(what)]
    if kind == "roofline":
        return under_roofs(machines, device, sizes)
    program = unpack(one_of(machines))
    at = allowed(program, sizes, picture_sizes(program, {s: n for s, n in sizes.items() if s in program.op.sizes}))
    try:
        return PICTURES[kind](program, at, sizes)
    except Unclear:
        raise nothing(program.name, kind) from None


def outputs(what: Machine | Proof) -> Picture:
    """Who stores the outputs of a machine. Raises TinygpuError as `draw` does."""
    program = unpack(one_of(machines_of(what)))
    try:
        return partition(program, allowed(program, {}, picture_sizes(program, {})), program.op.outputs)
    except Unclear:
        raise nothing(program.name, "partition") from None


def machines_of(what: Drawn | Sequence[Machine]) -> Sequence[Program]:
    """The programs to draw."""
    match what:
        case Machine():
            return (pipeline.program(what),)
        case Loaded():
            return tuple(pipeline.program(m) for m in what.machines)
        case Proof(program) | Refutation(program) | Unknown(program):
            return (program,)
    return tuple(pipeline.program(m) for m in what)


def one_of(programs: Sequence[Program]) -> Program:
    """The program of the only machine; of several in one name, as for several dtypes, the first one. Raises TG934."""
    names = list(dict.fromkeys(p.machine.name if p.machine else p.name for p in programs))
    if len(names) == 1:
        return programs[0]
    raise TinygpuError.of(
        "TG934",
        f"one machine is drawn, and there are {len(names) or 'none'}",
        help=f"say which: {', '.join(names)}" if names else "",
    )


def allowed(program: Program, given: Mapping[str, int], sizes: Mapping[str, int]) -> Mapping[str, int]:
    """The sizes. Raises TG933 where some are given that the op does not have, or where they are not allowed."""
    if unknown := sorted(given.keys() - {*program.op.sizes}):
        known = ", ".join(program.op.sizes) or "none"
        raise TinygpuError.of("TG933", f"{program.op.name} has no size {', '.join(unknown)}", help=f"its sizes are {known}")
    for condition in (*program.op.where, *program.where):
        if not reads(condition) and not evaluate(condition, sizes):
            at = ", ".join(f"{k}={v}" for k, v in given.items()) or "no size that was tried"
            raise TinygpuError.of(
                "TG933", f"{program.name} asks for {text(condition)}, and {at} breaks it", help="give other sizes"
            )
    return sizes


def nothing(name: str, kind: str) -> TinygpuError:
    """What is said where a machine has nothing of a kind."""
    return TinygpuError.of(
        "TG930",
        f"{name} has {KINDS[kind]}: there is no picture of its {kind}",
        help=f"the other pictures are {', '.join(k for k in KINDS if k != kind)}",
    )


PICTURES: Mapping[
    str, Callable[[Program, Mapping[str, int], Mapping[str, int]], Picture]
] = {  # of a program, its sizes, and those that were given
    "partition": lambda program, sizes, _: partition(program, sizes),
    "banks": lambda program, sizes, _: banks(measure(program, sizes)),
    "fragments": lambda program, *_: fragments(program),
    "timeline": timeline,
}


def under_roofs(programs: Sequence[Program], device: str, given: Mapping[str, int]) -> Picture:
    """All machines that run on a device, or on a CPU as they are laid out for one."""
    found = processor_named(device) if device.startswith(LEADS) or device.endswith(OWN) else device_named(device)
    if found is None:
        raise TinygpuError.of(
            "TG905", f"there is no device {device}", help=f"the devices are {', '.join((*devices(), *processors()))}"
        )
    named = []
    known = frozenset[str]().union(*(p.op.sizes for p in programs))
    for one in programs:
        if (runs := as_it_runs(one, found)) is not None:
            own = {s: n for s, n in given.items() if s in one.op.sizes or s not in known}
            sizes = allowed(one, own, sizes_of(one, own))
            cost = measure(runs, sizes, found if isinstance(found, Processor) else None)
            named.append((one.machine.title if one.machine else one.name, cost))
    try:
        return roofline(named, found)
    except Unclear:
        who = programs[0].name if len(programs) == 1 else "the spec"
        title = f"{who} has no machine on {found.name} with {COUNTED}, which a roofline is about"
        other = ", ".join(name for name in (*devices(), *processors()) if name != device)
        raise TinygpuError.of("TG930", title, help=f"the other devices are {other}") from None


def as_it_runs(program: Program, device: Device | Processor) -> Program | None:
    """What a device runs for a program; None where it does not run it, or in a way that is not counted."""
    if not isinstance(device, Processor):
        return program if program.arch != CPU and runs_on(program.arch, device.arch) else None
    alone = next(pipeline.singles(program.machine), program) if program.machine else program
    laid_out = pipeline.on_core(alone)
    return None if any(launch.block for launch in laid_out.launches) else laid_out


def counterexample(what: Drawn | Sequence[Machine]) -> Picture:
    """The case of a refutation; a machine is checked first. Raises TG930 where it is not refuted."""
    if isinstance(what, Loaded | Sequence):
        every = [*(what.machines if isinstance(what, Loaded) else what)]
        one_of([pipeline.program(m) for m in every])
        what = every[0]
    verdict = pipeline.check(what) if isinstance(what, Machine) else what
    if isinstance(verdict, Refutation):
        return refuted(verdict)
    raise nothing(verdict.program.name, "counterexample")
