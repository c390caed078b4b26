"""The module that a build writes: every machine of a spec as kernels and a launcher, in one file that needs numpy and numba only.

Comes in: machines with their programs, what was proved of them, and the limits of the 32-bit kernels. Goes out: Python source.
The one idea: what people call stands first, what is the same in every module last; nothing in it depends on when or where it was made.
"""

from __future__ import annotations

import hashlib
import inspect
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tinygpu.category.term import Axis, Term, text
from tinygpu.emit import support, support_call, support_cuda
from tinygpu.emit.cpu import cpu_kernels
from tinygpu.emit.cpu_prelude import TEXT as CPU_NAMES
from tinygpu.emit.cpu_prelude import prelude as cpu_prelude
from tinygpu.emit.cuda import block_threads, cuda_source, cuda_uses, kernel_name
from tinygpu.emit.launcher import cuda_object, launcher_source
from tinygpu.emit.mathlib import errors
from tinygpu.emit.prelude import prelude_source
from tinygpu.emit.python import Lines, docstring, fresh, identifier
from tinygpu.model.machine import Machine
from tinygpu.model.op import Op
from tinygpu.program.step import Program

_CUDA_NAMES = re.findall(r"^def (\w+)", prelude_source(("load4", "store4", "f16_bits", "sinf")), re.MULTILINE)
SUPPORT = (support, support_call, support_cuda)
MARK = "# ── support"


@dataclass(frozen=True, slots=True)
class Built:
    """A proved machine, ready to be emitted: `facts` are sentences for its docstring, `limits` what the 32-bit kernels need below 2³¹."""

    machine: Machine
    program: Program
    facts: tuple[str, ...] = ()
    limits: tuple[Term, ...] = ()


def emit(title: str, machines: Sequence[Built]) -> str:
    """`machines of one spec → text of a module`, one launcher for each, and for each op its name for its first machine.

    `title` says where they come from, for people; the same machines give the same text.
    """
    named = list(zip(function_names([b.machine for b in machines]), machines, strict=True))
    aliases = alias_names(named)
    needs: set[str] = set()
    uses: set[str] = set()
    sections: Lines = []
    objects: Lines = []
    for name, built in named:
        program = replace(built.program, name=name)
        kernels, used = cpu_kernels(program)
        needs |= used
        sections += [_rule(f"{built.machine.title} : {built.machine.op.name}"), "", cached(kernels).strip(), "", ""]
        uses |= cuda_uses(program)
        sections += [cuda_source(program).strip(), "", ""]
        objects += cuda_objects(name, program)
        sections += [launcher_source(program, built.limits, header(built)).strip(), "", ""]
    public = sorted({name for name, _ in named} | {alias for alias, _ in aliases})
    lines = docstring(*_opening(title, [b for _, b in named], needs)) + _head(public)
    lines += ["", cpu_prelude(needs).strip(), "", "", *sections]
    lines += [f"{alias} = {name}" for alias, name in aliases] + ["", ""] * bool(aliases)
    lines += [_rule("what CUDA kernels call"), "", prelude_source(uses).strip(), "", ""]
    lines += [_rule("the same in every module"), "", support_text(), "", *objects]
    return "\n".join(lines).rstrip("\n") + "\n"


def cuda_objects(name: str, program: Program) -> Lines:
    """The compiled kernels of each launch, keyed by all the text that they are made of."""
    key = hashlib.sha256((cuda_source(program) + prelude_source(cuda_uses(program))).encode()).hexdigest()
    least = re.fullmatch(r"sm_(\d+)(\d)[a-z]?", program.arch or "sm_00")
    arch = f"({least[1]}, {least[2]})" if least else "(0, 0)"
    return [
        f"{cuda_object(name, program, number)} = _Cuda(\n"
        f'    "{name}", {kernel_name(program, number)}, {block_threads(launch)}, {arch},\n    "{key}",\n)  # fmt: skip'
        for number, launch in enumerate(program.launches)
    ]


def function_names(machines: Sequence[Machine]) -> list[str]:
    """A name in Python for each machine: its own, with the variant in it; never one that the module itself uses."""
    taken = {"np", "njit", "prange", "get_num_threads", "at", "inlined", "Array", "Any", *CPU_NAMES, *_support_names(), *_CUDA_NAMES}
    names: list[str] = []
    for machine in machines:
        name = fresh(identifier(machine.title), taken)
        taken |= {name, f"{name}_cpu"}
        names.append(name)
    return names


def alias_names(named: Sequence[tuple[str, Built]]) -> list[tuple[str, str]]:
    """`(alias, launcher)`: the machine's name for the first of its variants, the op's name for its first machine, where that is free."""
    taken = {name for name, _ in named}
    aliases: dict[str, str] = {}
    for wanted in ("machine", "op"):
        for name, built in named:
            alias = identifier(built.machine.name if wanted == "machine" else built.machine.op.name)
            if alias not in taken:
                taken.add(alias)
                aliases[alias] = name
    return sorted(aliases.items())


def header(built: Built) -> tuple[str, ...]:
    """The paragraphs of a launcher's docstring: equation, arrays, preconditions, machine, proof."""
    op, program = built.machine.op, built.program
    arrays = [_array(op, t.name) for t in op.tensors]
    where = tuple(dict.fromkeys((*op.where, *program.where)))
    paragraphs = ["\n".join(equations(op)), "\n".join(arrays)]
    if where:
        paragraphs.append("Only where " + " and ".join(map(text, where)) + "; anything else is refused.")
    paragraphs.append("\n".join(work(program)))
    if built.facts:
        paragraphs.append("\n".join(built.facts))
    return tuple(paragraphs)


def equations(op: Op) -> list[str]:
    """Each equation on a line.

    >>> from tinygpu.category.term import Const, Read, Var
    >>> from tinygpu.model.op import Equation
    >>> i = Axis("i", Var("n"))
    >>> equations(Op("o", ("n",), (), (), (), (Equation("y", (i,), Read("x", (Var("i"),), "f32")),)))
    ['y[i] = x[i]']
    """
    return [f"{e.target}[{', '.join(a.name for a in e.axes)}] = {text(e.value)}" for e in op.equations]


def _array(op: Op, name: str) -> str:
    tensor = op.tensor(name)
    role = "out " if tensor.role == "output" else "in  "
    shape = f"[{', '.join(map(text, tensor.shape))}]" if tensor.shape or tensor.role == "output" else ", by value"
    return f"{role} {name}: {tensor.dtype}{shape}"


def work(program: Program) -> list[str]:
    """The work object of each launch on a line."""
    lines = []
    for launch in program.launches:
        levels = [f"{level} ({_factors(axes)})" for level, axes in (("grid", launch.grid), ("block", launch.block))]
        lines.append(f"Machine: {', '.join(levels)}{f' on {program.arch}' if program.arch else ''}.")
    return lines


def _factors(axes: tuple[Axis, ...]) -> str:
    return ", ".join(f"{a.name}: {text(a.extent)}" for a in axes)


def cached(kernels: str) -> str:
    """The kernels with numba's own cache on the disk, which sits beside the module."""
    return kernels.replace("@njit(parallel=True", "@njit(cache=True, parallel=True")


def support_text() -> str:
    """The files of support from their marks on, as one text."""
    return "\n\n".join(inspect.getsource(m).partition(MARK)[2].partition("\n")[2].strip("\n") + "\n" for m in SUPPORT)


def _support_names() -> set[str]:
    return set(re.findall(r"^(?:def |class )?(_\w+)", support_text(), re.MULTILINE))


def _rule(title: str) -> str:
    return f"# ── {title} " + "─" * max(3, 124 - len(title))


def _opening(title: str, machines: Sequence[Built], needs: set[str]) -> list[str]:
    """The module's docstring."""
    names = "\n".join(f"  {b.machine.title} : {b.machine.op.name}" for b in machines)
    bounds = errors(needs)
    paragraphs = [
        f"Kernels of {title}, emitted by tinygpu; every machine was proved for all sizes before it was written.",
        names,
        "Needs numpy and numba; for arrays on a GPU also numba-cuda and cuda-core. Nothing of tinygpu. Kernels are compiled at\n"
        "their first call and kept on disk. Arrays are never copied; a call on a GPU returns at once, on the caller's stream.",
        "Floating point: sums are in the order of the loops, products and sums may be fused or reassociated"
        + (f"; of the functions: {bounds}." if bounds else "."),
    ]
    return paragraphs


def _head(public: list[str]) -> Lines:
    """Imports and what the module offers."""
    return [
        "",
        "from __future__ import annotations",
        "",
        *(f"import {m}" for m in ("functools", "hashlib", "math", "operator", "os", "re", "sys", "tempfile", "threading")),
        "from importlib import metadata",
        "from pathlib import Path",
        "from typing import Any, NoReturn, TypeAlias",
        "",
        "import numpy as np",
        "from numba import get_num_threads, njit, prange",
        "",
        f"__all__ = {public!r}".replace("'", '"'),
        "",
        "Array: TypeAlias = Any  # of numpy, torch, CuPy, numba, or with a CUDA array interface or DLPack",
        "",
        'at = np.uintp  # the number of an element: unsigned, so that numba makes no test for negative indices',
        'inlined = njit(error_model="numpy", fastmath={"contract"}, forceinline=True)',
        "",
    ]
