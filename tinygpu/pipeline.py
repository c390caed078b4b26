"""The whole compiler on one screen: every arrow from text to call, in order.

    text ─parse→ tree ─elaborate→ machine ─derive→ program ─check→ proof ─emit→ module ─load→ call

Comes in: the text of a spec. Goes out: whatever stage is asked for. The one idea: nothing else calls two stages, so here every
stage is timed, and `watch` sees every result.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from tinygpu.category.deadline import TIME, within
from tinygpu.category.node import forget
from tinygpu.derive.derive import derive
from tinygpu.diagnostic import Diagnostic, TinygpuError
from tinygpu.model.elaborate import elaborate
from tinygpu.model.machine import Machine
from tinygpu.model.source import said
from tinygpu.model.spec import Spec
from tinygpu.program.step import For, Program
from tinygpu.proof import check as verdicts
from tinygpu.proof.check import Refutation as Refutation
from tinygpu.proof.check import Stated, bounded
from tinygpu.proof.check import Unknown as Unknown
from tinygpu.proof.check import Verdict as Verdict
from tinygpu.proof.kernel import BUDGET, by_itself, prove
from tinygpu.proof.kernel import Proof as Proof
from tinygpu.record import Pictured, dataclass, replace
from tinygpu.syntax.parse import parse
from tinygpu.syntax.tree import File

if TYPE_CHECKING:
    from tinygpu.algebra.verdict import Known
    from tinygpu.emit.joined import Joined
    from tinygpu.emit.module import Built
    from tinygpu.model.pipeline import Claimed
    from tinygpu.proof.certificate import Certificate
    from tinygpu.validate.launcher import Expected

T = TypeVar("T")
Read: TypeAlias = tuple[str, tuple[Diagnostic, ...]]  # a text, and what is said of it
Each: TypeAlias = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]  # `map`, or one that several processes share
LAID_OUT = 20_000_000  # solver steps for a claim of a program that is laid out for a CPU: there is always another one
LAYOUT = "laid_out"  # the name of every such program
seconds: dict[str, float] = {}  # spent in each stage by this process
watchers: list[Callable[[str, object], None]] = []  # called with each stage's name and result


def stage(name: str, run: Callable[[], T]) -> T:
    """One arrow: run, timed and shown to the watchers."""
    start = time.perf_counter()
    result = run()
    seconds[name] = seconds.get(name, 0.0) + time.perf_counter() - start
    for watch in watchers:
        watch(name, result)
    return result


@dataclass(frozen=True, slots=True)
class Loaded(Pictured):
    """A spec with its text. Machines, choices and pipelines are attributes by name: `spec.matmul_tile`."""

    path: str
    text: str
    tree: File
    spec: Spec

    @property
    def machines(self) -> tuple[Machine, ...]:
        return self.spec.machines

    def __repr__(self) -> str:
        names = dict.fromkeys(one.name for one in (*self.spec.joined, *self.machines))
        return f"<Loaded {self.path or 'text'}: {', '.join(names) or 'no machine'}>"

    def __getattr__(self, name: str) -> Any:
        found = {one.name: one for one in (*self.machines[::-1], *self.spec.joined)}
        if name not in found:
            raise AttributeError(f"{self!r} has no {name!r}")
        return found[name]


def load_text(text: str, path: str = "") -> Loaded:
    """`text → spec`. Raises TinygpuError with everything that is wrong in it."""
    tree = stage("parse", lambda: parse(text, path))
    try:
        return Loaded(path, text, tree, stage("elaborate", lambda: elaborate(tree)))
    except TinygpuError as error:
        error.rest = Loaded(path, text, tree, error.rest) if isinstance(error.rest, Spec) else None
        raise


def load(path: str | Path) -> Loaded:
    """`path of a spec → spec`. Raises TinygpuError; OSError where the file cannot be read."""
    return load_text(Path(path).read_text(encoding="utf-8"), str(path))


def program(machine: Machine) -> Program:
    """`machine → program`, derived or read. Raises TinygpuError."""
    return replace(stage("derive", lambda: bounded(machine, lambda: derive(machine))), machine=machine)


def check(machine: Machine, budget: int = BUDGET, time: float = TIME) -> Verdict:
    """`machine → Proof, Refutation or Unknown`, for all sizes, in at most so many seconds. Raises TinygpuError where the machine has no program."""
    forget()
    with within(time):
        steps = program(machine)
        return stage("check", lambda: bounded(machine, lambda: verdict(steps, budget)))


def verdict(program: Program, budget: int = BUDGET) -> Verdict:
    """`program → Proof, Refutation or Unknown`: of one that computes the other side of a theorem, of both."""
    if program.op.via is None:
        return verdicts.check(program, budget)
    from tinygpu.algebra.verdict import check_both

    return check_both(program, budget)


def believed(one: Claimed, budget: int = BUDGET, time: float = TIME) -> Known | Diagnostic:
    """A theorem, a lemma or a choice, proved for all sizes, or a message, in at most so many seconds. Raises TinygpuError where that is not enough."""
    from tinygpu.algebra.verdict import judged

    forget()
    with within(time):
        return stage("check", lambda: bounded(one, lambda: judged(one, budget)))


def built(proof: Proof, machine: Machine | None = None) -> Built:
    """A proved machine with what the emitter needs to know of its proof. Raises TypeError for anything but a `Proof`."""
    if not isinstance(proof, Proof):
        raise TypeError(f"build needs a Proof, not {type(proof).__name__}: a machine that is not proved is not built")
    machine, proof = machine or proof.program.machine, by_itself(proof)
    if machine is not None and machine is not proof.program.machine and program(machine) != proof.program:
        title = f"the proof is of {proof.program.name}, and says nothing of the program of {machine.title}"
        raise TinygpuError(Diagnostic("TG905", title, helps=("build it with its own proof, which tinygpu.check gives",)))
    alone = _alone(machine, proof.program) if machine else None
    return _built(machine or Machine(proof.program.name, proof.program.op, ()), proof, alone)


def rebuilt(machine: Machine, program: Program, alone: Program | None = None) -> Built | None:
    """What is built of programs that were built before, for GPUs and for CPUs: both are proved again; None where one is not, or where the
    second may not run wherever the first may. Of the machine nothing counts but its names."""
    proof, beside = _proved(program), _proved(alone) if alone else None
    serves = alone is None or (beside is not None and alone.serves(program))
    return _built(machine, proof, beside) if proof is not None and serves else None


def _built(machine: Machine, proof: Proof, alone: Proof | None) -> Built:
    from tinygpu.algebra.verdict import insist
    from tinygpu.derive.unpack import unpack
    from tinygpu.emit.module import Built
    from tinygpu.obligations.width import cpu_limits, limits
    from tinygpu.proof.summary import facts, on_cpu, spelled_out

    insist(machine.op)
    numbers = unpack(proof.program)  # what runs has a cell for each component of a value
    sizes = limits(proof.program)  # the same as those of its components, whose values take longer to follow
    beside = (alone,) if alone else ()
    said = (*facts(proof), *map(on_cpu, beside), *spelled_out(proof, *beside))
    core = on_core(alone.program if alone else proof.program)
    return Built(machine, numbers, said, sizes, core, cpu_limits(core))


@lru_cache(maxsize=64)
def on_core(program: Program) -> Program:
    """What a CPU runs for a proved program: of the programs that it may run as, the best one that is proved."""
    from tinygpu.schedule.cpu import on_cpu

    return next(p for p in on_cpu(program) if p is program or _right(replace(p, name=LAYOUT)))


@lru_cache(maxsize=64)
def _right(laid_out: Program) -> bool:
    """Whether a layout is proved: as one program for any number of lanes, or else for each; places in tiles that launches hand on are hard to find if no number says how long these are. Machines of one op are often laid out alike, so it bears no machine's name."""
    from tinygpu.program.lanes import instances

    once = len(laid_out.launches) == 1 and _proved(laid_out, LAID_OUT) is not None
    return once or all(_proved(one, LAID_OUT) for one in instances(laid_out))


def _alone(machine: Machine, program: Program) -> Proof | None:
    """What a CPU does for a block of threads that work together: a program of its own, proved as any other, or not used. The launcher
    checks what the machine's program needs, and nothing else. The one whose layout has the fewest loops stands first, and one that a CPU can
    only run as it is last."""
    from tinygpu.schedule.cpu import on_cpu

    def loops(proof: Proof) -> int:
        return sum(isinstance(step, For) for step in next(iter(on_cpu(proof.program))).steps)

    proofs = [proof for single in singles(machine) if single.serves(program) and (proof := _proved(single))]
    proofs = sorted(proofs, key=loops) if len(proofs) > 1 else proofs
    laid_out = (p for p in proofs if len(proofs) == 1 or on_core(p.program) != p.program)
    return next(laid_out, proofs[0] if proofs else None)


def _proved(program: Program, budget: int = BUDGET) -> Proof | None:
    with contextlib.suppress(RecursionError):  # of values that are nested too deep: there is always another program
        return found if isinstance(found := stage("check", partial(prove, program, budget, enough=1)), Proof) else None
    return None


def singles(machine: Machine) -> Iterator[Program]:
    """Programs for the same op whose threads do not work together, best first: the same owners with their work one after the other, then
    the op itself where it is a tile of products. None where no thread works with another."""
    from tinygpu.derive.sequential import pointwise, sequential
    from tinygpu.schedule.cpu import tiled

    single = sequential(machine)
    together = single != machine
    if together:
        with contextlib.suppress(TinygpuError):
            yield program(single)
    if together or machine.by_hand:
        with contextlib.suppress(TinygpuError):
            found = program(pointwise(machine))
            if tiled(found):
                yield found


def certificate(spec: Loaded, machine: Machine, proof: Proof) -> Certificate:
    """`proof → certificate`, with the hashes of the machine's spec and of its kernels."""
    from tinygpu.emit.module import kernel_texts
    from tinygpu.proof.certificate import certify

    return certify(by_itself(proof), said(spec.spec.tree, machine.name), stage("emit", lambda: kernel_texts(built(proof, machine))))


def module(title: str, machines: Sequence[Built], joined: Sequence[Joined] = ()) -> str:
    """`proved machines, choices and pipelines of them → text of a module` that needs numpy and numba only."""
    from tinygpu.emit.module import emit

    return stage("emit", lambda: emit(title, machines, joined))


def validate(text: str, machines: Sequence[Built], file: str = "", joined: Sequence[Joined] = ()) -> tuple[Diagnostic, ...]:
    """`text of a module → what is wrong with it`: nothing where its kernels and launchers do what these machines say, for all sizes."""
    from tinygpu.emit.module import gradients_of, launchers
    from tinygpu.validate.check import validate as check_text

    alone = [b.machine for b in machines]
    also = launchers(alone, joined), gradients_of(alone, joined)
    return stage("validate", lambda: check_text(text, expected(machines), file, *also))


def validate_cpu(text: str, machines: Sequence[Built], file: str = "") -> tuple[Diagnostic, ...]:
    """`text of a module → what is wrong with its CPU kernels`: nothing where they do what these machines say, for all sizes."""
    from tinygpu.validate.cpu import findings

    return stage("validate", lambda: findings(text, expected(machines), file))


def expected(machines: Sequence[Built]) -> list[Expected]:
    """What is to stand behind the names of a module."""
    from tinygpu.emit.module import launcher_names
    from tinygpu.validate.launcher import Expected

    names = launcher_names([built.machine for built in machines])
    return [Expected(n, b.program, b.cpu, b.limits, b.cpu_limits) for n, b in zip(names, machines, strict=True)]


def read_back(title: str, machines: Sequence[Built], file: str = "", each: Each = map, joined: Sequence[Joined] = ()) -> Read:
    """`proved machines → text of a module, and what is said of it`: what everybody builds with. An error among these says that the text is
    not what was proved, an unknown that this is not known; then nobody may run it. Both kinds of kernels are read by `each`: machines of one kind have much in common."""
    text = module(title, machines, joined)
    gpu, cpu = each(lambda read: read(text, machines, file), (partial(validate, joined=joined), validate_cpu))
    return text, (*gpu, *cpu)


def sound(title: str, machines: Sequence[Built], joined: Sequence[Joined] = ()) -> str:
    """`proved machines → text of a module` that does what was proved. Raises TinygpuError where it does something else, or cannot be read back."""
    text, found = read_back(title, machines, joined=joined)
    if wrong := [d for d in found if d.verdict in ("error", "unknown")]:
        raise TinygpuError(*wrong)
    return text


def build(proof: Proof, machine: Machine | None = None, time: float = TIME) -> Callable[..., Any]:
    """`proof → launcher`, compiled at its first call, made in at most so many seconds. Raises TinygpuError where the module is not what was proved."""
    from tinygpu.emit.module import launcher_names
    from tinygpu.emit.python import identifier
    from tinygpu.run.load import load as load_module

    named = machine or proof.program.machine or Machine(proof.program.name, proof.program.op, ())
    ready = timely(time, named, partial(built, proof, machine))
    text = timely(time, named, partial(sound, proof.program.name, [ready]))
    loaded = stage("load", lambda: load_module(text, identifier(proof.program.op.name)))
    return getattr(loaded, launcher_names([ready.machine])[0])  # type: ignore[no-any-return]


def timely(time: float, machine: Stated, run: Callable[[], T]) -> T:
    """What is done of a proved machine, in at most so many seconds. Raises TinygpuError, TG515, where that is not enough."""
    with within(time):
        return bounded(machine, run)
