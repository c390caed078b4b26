"""The gate: every emitted kernel is compiled and assembled without a GPU, and what came out is read.

Comes in: programs and an architecture. Goes out: a report of each kernel, and what in it is refused.
The one idea: a wide access that the disassembly does not show was not made, and a cell in local memory is a broken promise.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any

from tinygpu import runtime
from tinygpu.emit.cuda import block_threads, cuda_source, kernel_name
from tinygpu.hardware.arch import Assembled
from tinygpu.program.arrays import shared_places
from tinygpu.program.step import Program
from tinygpu.record import replace
from tinygpu.runtime.cuda import _Cuda
from tinygpu.schedule.roles import maps

Arch = tuple[int | str, ...]


def assembled(program: Program, arch: str, wide: bool = True) -> tuple[Assembled, ...]:
    """What the assembler says of each launch of a program, for indices of 32 bits; nothing where numba-cuda or cuda-core are not installed. A block's
    memory is what the launch gives it."""
    if find_spec("numba_cuda") is None or find_spec("cuda") is None:
        return ()
    name, space = arch.removeprefix("sm_"), loaded(program)
    number, letter = int(name.rstrip("af")), name.lstrip("0123456789")
    target, reports = (number // 10, number % 10, *letter), list[Assembled]()
    for n, launch in enumerate(program.launches):
        kernel = _Cuda(f"kernel_{n}", space[kernel_name(program, n)], block_threads(launch), (0, 0), "", maps=len(maps(program)))
        _, said = linked([code_of(kernel.library(target, 32, wide), target)], target)
        reports.append(replace(report_of(program.name, said[kernel.name]), shared_bytes=shared_places(launch)[1]))
    return tuple(reports)


def loaded(program: Program) -> Mapping[str, Any]:
    """The names of a module that holds the kernels, and what they take of the runtime."""
    space: dict[str, Any] = {"Any": Any} | {name: getattr(runtime.loaded(), name) for name in runtime.offered()}
    exec(compile(cuda_source(program), f"<kernels of {program.name}>", "exec"), space)
    return space


def code_of(library: Any, arch: Arch) -> str | bytes:
    """A kernel that numba has made, as it is assembled: PTX, or what comes before it, where its warps have registers of their own."""
    ptx = str(library.get_asm_str(cc=arch))
    return bytes(library.get_ltoir(cc=arch)) if "setmaxnreg" in ptx else ptx


def linked(kernels: Sequence[str | bytes], arch: Arch) -> tuple[bytes, dict[str, str]]:
    """`code of one kernel… → machine code of all, and what the assembler says of each, by name`. Raises what nvJitLink raises."""
    from cuda.core import Linker, LinkerOptions, ObjectCode

    whole = any(isinstance(code, bytes) for code in kernels)
    options = LinkerOptions(
        arch="sm_" + "".join(map(str, arch)), verbose=True, link_time_optimization=whole or None, ptxas_options=["-v"]
    )
    codes = [ObjectCode.from_ltoir(c) if isinstance(c, bytes) else ObjectCode.from_ptx(c.encode()) for c in kernels]
    linker = Linker(*codes, options=options)
    code = bytes(linker.link("cubin").code)
    return code, read_log(linker.get_info_log())


def report_of(name: str, said: str) -> Assembled:
    """The numbers in what the assembler said of one kernel."""

    def largest(*patterns: str) -> int:
        return max((int(found) for pattern in patterns for found in re.findall(pattern, said)), default=0)

    return Assembled(
        kernel=name,
        registers=largest(r"[Uu]sed (\d+) registers"),
        stack_bytes=largest(r"(\d+) bytes stack frame", r"(\d+) stack"),
        spill_bytes=largest(r"(\d+) bytes spill stores") + largest(r"(\d+) bytes spill loads"),
        local_bytes=largest(r"(\d+) bytes lmem"),
        shared_bytes=largest(r"(\d+) bytes smem"),
    )


def read_log(log: str) -> dict[str, str]:
    """The assembler's log by kernel.

    >>> read_log("Function properties for 'a':\\nused 5 registers\\nFunction properties for 'b':\\nused 7 registers")["b"]
    'used 7 registers'
    """
    found: dict[str, str] = {}
    name = ""
    for line in log.splitlines():
        heading = re.search(r"(?:Function properties for|Compiling entry function) '?(\w+)'?", line)
        name = heading[1] if heading else name
        if not heading:
            found[name] = "\n".join(filter(None, (found.get(name, ""), line)))
    return found
