"""The module that a build writes: every machine of a spec as kernels and a launcher, in one file that needs numpy and numba only.

Comes in: machines with their programs, what was proved of them, and the limits of the 32-bit kernels. Goes out: Python source.
The one idea: what is the same in every module is in the runtime beside it; nothing in it depends on when or where it was made.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Sequence
from functools import cache

from tinygpu.category.term import Axis, Term, text
from tinygpu.derive.unpack import unpack
from tinygpu.emit.cpu import Kernels, cpu_kernels, cpu_support
from tinygpu.emit.cpu_lanes import IMPORTS as LANES_IMPORTS
from tinygpu.emit.cpu_lanes import OPERATIONS, lanes_source
from tinygpu.emit.cpu_prelude import HEADER
from tinygpu.emit.cpu_prelude import TEXT as CPU_NAMES
from tinygpu.emit.cuda import kernel_source
from tinygpu.emit.launcher import launcher_source
from tinygpu.emit.mathlib import errors
from tinygpu.emit.naming import aliases, groups
from tinygpu.emit.prelude import HELPERS, makers
from tinygpu.emit.python import Lines, docstring
from tinygpu.hardware.arch import CPU
from tinygpu.model.machine import Machine
from tinygpu.model.op import Op
from tinygpu.program.promises import of_data, promises, rows
from tinygpu.program.step import Array, Program
from tinygpu.record import dataclass, replace
from tinygpu.runtime import NAME, VERSION
from tinygpu.schedule.contract import table

BESIDE = f"""
if __package__:
    from . import {NAME} as runtime
else:
    try:
        import {NAME} as runtime
    except ModuleNotFoundError:  # this file is loaded by itself, from a folder that is not on the path
        sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
        import {NAME} as runtime

        del sys.path[0]

if getattr(runtime, "VERSION", "") != "{VERSION}":
    raise ImportError(f"TG819 {{__file__}} was built with another version of {{runtime.__file__}}: build them again, into one folder")
"""

OURS = (
    *(
        "np",
        "njit",
        "prange",
        "get_num_threads",
        "ir",
        "types",
        "math",
        "Array",
        "Any",
        "TypeAlias",
        "annotations",
        "runtime",
        "os",
        "sys",
    ),
    *("abs", "bool", "float", "globals", "int", "len", "max", "min", "range", "tuple"),
)


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


def emit(title: str, machines: Sequence[Built]) -> str:
    """`machines of one spec → text of a module`, one launcher for each, and short names for the usual choice.

    `title` says where they come from, for people; the same machines give the same text.
    """
    names = launcher_names([b.machine for b in machines])
    programs = {name: replace(built.program, name=name) for name, built in zip(names, machines, strict=True)}
    alone = {name: replace(built.cpu or built.program, name=name) for name, built in zip(names, machines, strict=True)}
    cpu = dict(zip(programs, map(cpu_kernels, alone.values()), strict=True))
    support = cpu_support_text(tuple(cpu.values()))
    cuda = {name: cuda_kernels(program) for name, program in programs.items()}
    short = aliases(groups([b.machine for b in machines], reserved()), programs, reserved())
    lines = docstring(*opening(title, machines, set().union(*(k.needs for k in cpu.values()))))
    uses: frozenset[str] = frozenset().union(*(used for sources in cuda.values() for _, used in sources))
    called = makers(uses) if any(cuda.values()) else ()
    lines += [*head(sorted([*programs, *(name for name, _ in short)]), support.imports, called), "", support.text, "", ""]
    for built, (name, program) in zip(machines, programs.items(), strict=True):
        kernels = [source for source, _ in cuda[name]]
        spaces = unpack(alone[name]).workspaces
        keys = [hashlib.sha256(kernel.encode()).hexdigest() for kernel in kernels]
        launcher = launcher_source(program, table(program, built.limits, spaces, built.cpu_limits, keys), header(built))
        lines += [_rule(f"{built.machine.title} : {built.machine.op.name}"), ""]
        for text_ in (cached(support.kernels(cpu[name])), *kernels, launcher):
            lines += [text_.strip(), "", ""]
    for _, text_lines in short:
        lines += [*text_lines, "", ""]
    return "\n".join(lines).rstrip("\n") + "\n"


def kernel_texts(built: Built) -> tuple[tuple[str, str], ...]:
    """The text of a machine's kernels by where they run, as a module of this machine alone has them."""
    (name,) = launcher_names([built.machine])
    program, alone = (replace(p, name=name) for p in (built.program, built.cpu or built.program))
    cuda = "\n\n".join(source for source, _ in cuda_kernels(program))
    return ("cpu", cpu_kernels(alone).text), *((("cuda", cuda),) if cuda else ())


def cuda_kernels(program: Program) -> list[tuple[str, frozenset[str]]]:
    """The CUDA kernel of each launch, and what it calls; a machine on cpu has none."""
    return [] if program.arch == CPU else [kernel_source(program, number) for number in range(len(program.launches))]


@dataclass(frozen=True, slots=True)
class CpuSupport:
    """What the CPU kernels of a module call: imports, text, and the dtypes for which there are vectors."""

    imports: frozenset[str]
    text: str
    dtypes: tuple[str, ...]

    def kernels(self, kernels: Kernels) -> str:
        """The kernels' own text; where a module has vectors of two dtypes, their names end in the dtype."""
        text_ = kernels.text
        for dtype, _ in kernels.vectors:
            text_ = self.apart(text_, dtype)
        return text_

    def apart(self, text_: str, dtype: str) -> str:
        """The names of the vectors of a dtype, in a text."""
        return text_ if len(self.dtypes) < 2 else re.sub(r"\b(lanes_\w+|LANES|VECTOR|Lanes(?:Model)?)\b", rf"\1_{dtype}", text_)


def cpu_support_text(kernels: tuple[Kernels, ...]) -> CpuSupport:
    """Imports, prelude and vectors for all kernels of a module, each once."""
    operations: dict[str, set[str]] = {}
    for dtype, used in (v for k in kernels for v in k.vectors):
        operations.setdefault(dtype, set()).update(used)
    plain = cpu_support(replace(k, vectors=()) for k in kernels)
    imports = re.findall(r"^(?:import|from) .*$", plain + (LANES_IMPORTS if operations else ""), re.MULTILINE)
    support = CpuSupport(frozenset(imports), "", tuple(sorted(operations)))
    texts = [re.sub(r"^(?:import|from) .*\n", "", plain, flags=re.MULTILINE).strip("\n")]
    texts += [support.apart(lanes_source(dtype, operations[dtype]), dtype).strip("\n") for dtype in support.dtypes]
    return replace(support, text="\n\n\n".join(texts))


def launcher_names(machines: Sequence[Machine]) -> list[str]:
    """The name of each machine's launcher in a module of these machines."""
    names = {id(machine): name for group in groups(machines, reserved()) for name, machine in group.members}
    return [names[id(machine)] for machine in machines]


@cache
def reserved() -> frozenset[str]:
    """The names that a module uses for itself, also Python's own."""
    given = re.findall(r"^(?:def |class )?(\w+)(?= =|\(|:)", lanes_source("f32", set(OPERATIONS)) + HEADER, re.MULTILINE)
    return frozenset({*OURS, *CPU_NAMES, *HELPERS, *given})


def header(built: Built) -> tuple[str, ...]:
    """The paragraphs of a launcher's docstring: equation, arrays, preconditions, machine, proof."""
    op, program = built.machine.op, built.program
    arrays = [_array(op, t.name) for t in op.tensors] + [_space(w) for w in program.workspaces]
    where = tuple(dict.fromkeys(w for w in (*op.where, *program.where) if not of_data(w)))
    paragraphs = ["\n".join(equations(op)), "\n".join(arrays)]
    if where:
        paragraphs.append("Only where " + " and ".join(map(text, where)) + "; anything else is refused.")
    paragraphs.append(promised(program))
    paragraphs.append("\n".join(work(program)))
    if built.facts:
        paragraphs.append("\n".join(built.facts))
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
    return f"{role} {name}: {tensor.dtype}{shape}"


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


def opening(title: str, machines: Sequence[Built], needs: set[str]) -> list[str]:
    """The module's docstring."""
    names = "\n".join(f"  {b.machine.title} : {b.machine.op.name}" for b in machines)
    bounds, data = errors(needs), any(way == "arrays" for b in machines for *_, way in rows(b.program))
    return [
        f"Kernels of {title}, emitted by tinygpu; every machine was proved for all sizes before it was written.",
        names,
        f"Needs {NAME}.py beside it, numpy and numba; for arrays on a GPU also numba-cuda and cuda-core. Nothing of tinygpu.\n"
        "Kernels are compiled at their first call and kept on disk. Arrays are never copied; a call on a GPU returns at once, on the\n"
        "caller's stream." + (" With\ncheck_data=True it first copies what it checks to the host, and waits." if data else ""),
        "Floating point: sums are in the order of the loops, products and sums may be fused or reassociated"
        + (f"; of the functions: {bounds}." if bounds else "."),
    ]


def head(public: list[str], more: frozenset[str], called: tuple[str, ...]) -> Lines:
    """Imports, the runtime, and what the module offers; `called` are functions of the runtime that kernels call."""
    imports = {"import os", "import sys", "from typing import Any, TypeAlias", "import numpy as np"} | more
    standard = sorted(
        (i for i in imports if i.split()[1].split(".")[0] in sys.stdlib_module_names), key=lambda i: (i.startswith("from"), i)
    )
    others = sorted(imports - set(standard), key=lambda i: (i.startswith("from"), i))
    return [
        "",
        "from __future__ import annotations",
        "",
        *standard,
        "",
        *others,
        *BESIDE.rstrip("\n").split("\n"),
        "",
        f"__all__ = {public!r}".replace("'", '"'),
        "",
        "Array: TypeAlias = Any  # of numpy, torch, CuPy, numba, or with a CUDA array interface or DLPack",
        *(f"{name} = runtime.{name}" for name in called),
    ]
