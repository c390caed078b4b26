"""The module that a build writes: every machine of a spec as kernels and a launcher, in one file that needs numpy and numba only.

Comes in: machines with their programs, what was proved of them, and the limits of the 32-bit kernels. Goes out: Python source.
The one idea: what is the same in every module is in the runtime beside it; nothing in it depends on when or where it was made.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import cache

from tinygpu.category.term import Axis, Term, reads, text
from tinygpu.derive.unpack import unpack
from tinygpu.diagnostic import Diagnostic
from tinygpu.emit.cpu import cpu_kernels
from tinygpu.emit.cuda import kernel_source
from tinygpu.emit.gradients import STATED, Launchers, paired, said_of
from tinygpu.emit.joined import Joined, changing, joined_of, joined_source, proved, summary
from tinygpu.emit.launcher import launcher_source
from tinygpu.emit.naming import aliases, groups
from tinygpu.emit.python import Lines, docstring, identifiers
from tinygpu.hardware.arch import CPU
from tinygpu.model.choice import Choice
from tinygpu.model.machine import Machine
from tinygpu.model.op import Op
from tinygpu.model.pipeline import Pipeline
from tinygpu.model.problems import Problems
from tinygpu.program.call import Prefetch
from tinygpu.program.promises import of_data, promises, rows
from tinygpu.program.step import Array, Assign, For, Program
from tinygpu.proof.summary import between_calls
from tinygpu.record import dataclass, replace
from tinygpu.runtime import HEAD, NAME, offered
from tinygpu.schedule.ahead import STORED
from tinygpu.schedule.contract import table
from tinygpu.schedule.cpu import as_it_is
from tinygpu.schedule.joined import Calls, Cases

OURS = (
    *("np", "njit", "prange", "get_num_threads", "Array", "Any", "TypeAlias", "annotations", "runtime", "os", "sys"),
    "gradients",
    *("abs", "bool", "float", "globals", "int", "len", "max", "min", "range", "tuple"),
)
ULP = {  # the greatest errors of the runtime's functions of f32 against the real ones, of sine and cosine up to 2²⁷
    "exp": 1.5, "exp2": 1.5, "log": 1.5, "tanh": 2.0, "sigmoid": 2.5, "erf": 1.5, "sin": 1.75, "cos": 1.75, "rsqrt": 1.5,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Built:
    """A proved machine, ready to be emitted: `facts` are sentences for its docstring, `limits` what the 32-bit kernels need below 2³¹.

    `cpu` is the program of the CPU kernels, where it is another one (proved too, for the same op) or has carriers; `cpu_limits` are its
    limits.
    """

    machine: Machine
    program: Program
    facts: tuple[str, ...] = ()
    limits: tuple[Term, ...] = ()
    cpu: Program | None = None
    cpu_limits: tuple[Term, ...] = ()


def emit(title: str, machines: Sequence[Built], joined: Sequence[Joined] = ()) -> str:
    """`machines of one spec → text of a module`, one launcher for each, one for each choice and pipeline of them, and short names for what is usual.

    `title` says where they come from, for people; the same machines give the same text.
    """
    names = launcher_names([b.machine for b in machines])
    programs = {name: replace(built.program, name=name) for name, built in zip(names, machines, strict=True)}
    alone = {name: replace(built.cpu or built.program, name=name) for name, built in zip(names, machines, strict=True)}
    cpu = dict(zip(programs, map(cpu_kernels, alone.values()), strict=True))
    cuda = {name: cuda_kernels(program) for name, program in programs.items()}
    uses = called([*cpu.values(), *(source for sources in cuda.values() for source in sources)])
    made, ones = launchers([b.machine for b in machines], joined), proved(joined)
    public = programs | {one.name: one.program for one in made}
    named = groups([*(b.machine for b in machines), *ones], reserved())
    short = aliases(named, public, reserved())
    pairs = gradients_of([b.machine for b in machines], joined)
    stated = ["\n".join([STATED, *(one.spelled.rstrip("\n") for one in changing(joined))])] if pairs else []
    lines = docstring(*opening(title, machines, uses, ones), *stated)
    lines += [*head(sorted([*public, *(name for name, _ in short)]), uses), "", ""]
    for built, (name, program) in zip(machines, programs.items(), strict=True):
        kernels = cuda[name]
        spaces = unpack(alone[name]).workspaces
        keys = [hashlib.sha256(kernel.encode()).hexdigest() for kernel in kernels]
        paragraphs = header(built.machine.op, built.program, built.facts)
        launcher = launcher_source(program, table(program, built.limits, spaces, built.cpu_limits, keys), paragraphs)
        lines += [_rule(built.machine.heading), ""]
        for text_ in (cached(cpu[name]), *kernels, launcher):
            lines += [text_.strip(), "", ""]
    for table_, one in zip(made, ones, strict=True):
        paragraphs = header(one.op, table_.program, between_calls(one))
        lines += [_rule(summary(one)), "", joined_source(table_, one, paragraphs).strip(), "", ""]
    lines += [*said_of(pairs), "", ""] if pairs else []
    for _, text_lines in short:
        lines += [*text_lines, "", ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def surprises(built: Built) -> tuple[Diagnostic, ...]:
    """What nobody may expect of the CPU kernels: that they are the program as it is, as no layout of it is proved, or do not fetch what they were told to."""
    run = built.cpu or built.program
    message = as_it_is(run)
    problems = Problems()
    if message:
        problems.say(message, built.machine.span, verdict="note", machine=built.machine.title, op=built.machine.op.name)
    fetched = {read.tensor for step in run.steps if isinstance(step, Prefetch) for read in reads(step.element)}
    for name in dict.fromkeys(name for one in built.machine.launches for name in one.prefetches if name not in fetched):
        problems.say("TG186.none", built.machine.span, verdict="note", name=name)
    leaving = {
        inner.target
        for step in run.steps
        if isinstance(step, For) and step.axis.sort == STORED
        for inner in step.body
        if isinstance(inner, Assign)
    }
    for name in dict.fromkeys(name for one in built.machine.launches for name in one.streams if name not in leaving):
        problems.say("TG186.stays", built.machine.span, verdict="note", name=name)
    return tuple(problems.warnings)


def kernel_texts(built: Built) -> tuple[tuple[str, str], ...]:
    """The text of a machine's kernels by where they run, as a module of this machine alone has them."""
    (name,) = launcher_names([built.machine])
    program, alone = (replace(p, name=name) for p in (built.program, built.cpu or built.program))
    cuda = "\n\n".join(cuda_kernels(program))
    return ("cpu", cpu_kernels(alone)), *((("cuda", cuda),) if cuda else ())


def cuda_kernels(program: Program) -> list[str]:
    """The CUDA kernel of each launch, and what it calls; a machine on cpu has none."""
    return [] if program.arch == CPU else [kernel_source(program, number) for number in range(len(program.launches))]


def called(texts: Sequence[str]) -> list[str]:
    """What kernels take of the runtime: the names of it that stand in their texts."""
    return sorted({name for one in texts for name in identifiers(one)} & offered())


def launcher_names(machines: Sequence[Machine | Choice | Pipeline]) -> list[str]:
    """The name of each machine's launcher in a module of these machines, behind which choices and pipelines stand."""
    names = {id(machine): name for group in groups(machines, reserved()) for name, machine in group.members}
    return [names[id(machine)] for machine in machines]


def launchers(machines: Sequence[Machine], joined: Sequence[Joined]) -> tuple[Cases | Calls, ...]:
    """What a module of these machines has of choices and pipelines of them."""
    return joined_of(machines, joined, launcher_names([*machines, *proved(joined)]))


def gradients_of(machines: Sequence[Machine], joined: Sequence[Joined]) -> dict[str, tuple[str, ...]]:
    """Which launchers of a module of these machines give the gradients of which."""
    ones = [*proved(joined), *machines]  # a choice before those that it chooses among
    names = dict(zip(map(id, [*machines, *proved(joined)]), launcher_names([*machines, *proved(joined)]), strict=True))
    served: Launchers = {names[id(one)]: one for one in ones}
    return paired(changing(joined), served)


@cache
def reserved() -> frozenset[str]:
    """The names that a module uses for itself, also Python's own."""
    return frozenset({*OURS, *offered()})


def header(op: Op, program: Program, facts: Sequence[str] = ()) -> tuple[str, ...]:
    """The paragraphs of a launcher's docstring: equation, arrays, preconditions, machine, proof; of `facts` a line each."""
    arrays = [_array(op, t.name) for t in op.tensors] + [_space(w) for w in program.workspaces]
    where = tuple(dict.fromkeys(w for w in (*op.where, *program.where) if not of_data(w)))
    paragraphs = ["\n".join(equations(op.meant)), "\n".join(arrays)]
    if op.via is not None:
        paragraphs.insert(1, "\n".join([f"By the theorem {op.via.name} ({op.via.said}) computed as", *equations(op)]))
    if where:
        paragraphs.append("Only where " + " and ".join(map(text, where)) + "; anything else is refused.")
    paragraphs.append(promised(program))
    paragraphs.append("\n".join(work(program)))
    if facts:
        paragraphs.append("\n".join(facts))
    return tuple(paragraphs)


def promised(program: Program) -> str:
    """What a docstring says of the promises; nothing where there are none."""
    ways = {way for *_, way in rows(program)}
    if not ways:
        return ""
    said = "Promised of the data: " + " and ".join(map(text, promises(program))) + ".\n"
    if "scalars" in ways:
        said += "What is said of scalars alone is checked at each call.\n"
    if "nothing" in ways:
        never = " and ".join(one for one, *_, way in rows(program) if way == "nothing")
        return f"{said}Assumed: no call can check {never}, so check_data=True is refused."
    asked = (
        "Assumed, unless check_data=True: then it is checked before anything is launched. On a GPU that copies the inputs it\n"
        "speaks of to the host, and waits for the stream."
    )
    return said + asked * ("arrays" in ways)


def equations(op: Op) -> list[str]:
    """Each equation on a line.

    >>> from tinygpu.category.term import Const, Read, Var
    >>> from tinygpu.model.op import Equation
    >>> i = Axis("i", Var("n"))
    >>> equations(Op("o", ("n",), (), (), (), (Equation("y", (i,), Read("x", (Var("i"),), "f32")),)))
    ['y[i] = x[i]']
    """
    lines = [f"{e.target}[{', '.join(a.name for a in e.axes)}] = {text(e.value)}" for e in op.equations]
    numbers = "|".join(re.escape(t.name) for t in op.inputs if not t.shape)
    return [re.sub(rf"\b({numbers})\[\]", r"\1", line) for line in lines] if numbers else lines


def _array(op: Op, name: str) -> str:
    tensor = op.tensor(name)
    role = "out " if tensor.role == "output" else "in  "
    shape = f"[{', '.join(map(text, tensor.shape))}]" if tensor.shape or tensor.role == "output" else ", by value"
    return f"{role} {name}: {tensor.dtype}{shape}{', strided' * tensor.strided}{f', which may be the array {tensor.inplace}' if tensor.inplace else ''}"


def _space(space: Array) -> str:
    return (
        f"between {space.name}: {space.dtype}[{', '.join(map(text, space.extents))}], made by the launcher or given as workspace="
    )


def work(program: Program) -> list[str]:
    """The work object of each launch on a line."""
    lines = []
    for launch in program.launches:
        carried = (("core", launch.grid),) if program.arch == CPU else (("grid", launch.grid), ("block", launch.block))
        levels = [f"{level} ({_factors(axes)})" for level, axes in carried]
        lines.append(f"Machine: {', '.join(levels)}{f' on {program.arch}' if program.arch else ''}.")
    return lines


def _factors(axes: tuple[Axis, ...]) -> str:
    return ", ".join(f"{a.name}: {text(a.extent)}" for a in axes)


def cached(kernels: str) -> str:
    """The kernels with numba's own cache on the disk, which sits beside the module."""
    return kernels.replace("@njit(", "@njit(cache=True, ")


def _rule(title: str) -> str:
    return f"# ── {title} " + "─" * max(3, 124 - len(title))


def opening(title: str, machines: Sequence[Built], uses: Sequence[str], joined: Sequence[Choice | Pipeline]) -> list[str]:
    """The module's docstring."""
    names = "\n".join([*(f"  {b.machine.heading}" for b in machines), *(f"  {summary(one)}" for one in joined)])
    bounds, data = errors(uses), any(way == "arrays" for b in machines for *_, way in rows(b.program))
    return [
        f"Kernels of {title}, emitted by tinygpu; every machine was proved for all sizes before it was written.",
        names,
        f"Needs {NAME}.py beside it, numpy and numba; for arrays on a GPU also numba-cuda and cuda-core. Nothing of tinygpu.\n"
        "Kernels are compiled at their first call and kept on disk. Arrays are never copied; a call on a GPU returns at once, on the\n"
        "caller's stream." + (" With\ncheck_data=True it first copies what it checks to the host, and waits." if data else ""),
        "Floating point: sums are in the order of the loops, products and sums may be fused or reassociated"
        + (f"; of the functions: {bounds}." if bounds else "."),
    ]


def errors(uses: Sequence[str]) -> str:
    """The greatest errors of the functions that kernels call.

    >>> errors(["exp_f32", "at", "sin_f32"])
    'exp within 1.5 ulp, sin within 1.75 ulp for |x| <= 134217728'
    """
    limit = dict.fromkeys(("sin", "cos"), " for |x| <= 134217728")
    return ", ".join(f"{name} within {ulp} ulp{limit.get(name, '')}" for name, ulp in ULP.items() if f"{name}_f32" in uses)


def head(public: list[str], uses: Sequence[str]) -> Lines:
    """Imports, the runtime, what the module offers, and what its kernels take of the runtime."""
    return [
        *HEAD.rstrip("\n").split("\n"),
        "",
        f"__all__ = {public!r}".replace("'", '"'),
        "",
        "Array: TypeAlias = Any  # of numpy, torch, CuPy, numba, or with a CUDA array interface or DLPack",
        *(f"{name} = runtime.{name}" for name in uses),
    ]
