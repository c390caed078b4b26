"""The gate: every emitted kernel is compiled and assembled without a GPU, and what came out is read.

Comes in: programs and an architecture. Goes out: a report of each kernel, and what in it is refused.
The one idea: a wide access that the disassembly does not show was not made, and a cell in local memory is a broken promise.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tinygpu import runtime
from tinygpu.emit.cuda import block_threads, cuda_source, kernel_name
from tinygpu.hardware.arch import Assembled
from tinygpu.program.step import Program
from tinygpu.runtime.cuda import _Cuda

Arch = tuple[int, int] | tuple[int, int, str]


def assembled(program: Program, arch: tuple[int, int], wide: bool = True) -> tuple[Assembled, ...]:
    """`program → what the assembler says of each of its launches`, for indices of 32 bits. Needs numba-cuda and cuda-core, and no GPU."""
    space, threads = loaded(program), [block_threads(launch) for launch in program.launches]
    names = [f"kernel_{n}" for n in range(len(threads))]
    makers = [space[kernel_name(program, n)] for n in range(len(threads))]
    code = [_Cuda(*each, (0, 0), "").ptx(arch, 32, wide) for each in zip(names, makers, threads, strict=True)]
    _, said = linked(code, arch)
    return tuple(report_of(program.name, said[name]) for name in names)


def loaded(program: Program) -> Mapping[str, Any]:
    """The names of a module that holds the kernels, and what they take of the runtime."""
    space: dict[str, Any] = {"Any": Any} | {name: getattr(runtime.loaded(), name) for name in runtime.offered()}
    exec(compile(cuda_source(program), f"<kernels of {program.name}>", "exec"), space)
    return space


def linked(kernels: Sequence[str], arch: Arch) -> tuple[bytes, dict[str, str]]:
    """`PTX of one kernel… → machine code of all, and what the assembler says of each, by name`. Raises what nvJitLink raises."""
    from cuda.core import Linker, LinkerOptions, ObjectCode

    target = "sm_" + "".join(map(str, arch))
    codes = [ObjectCode.from_ptx(ptx.encode()) for ptx in kernels]
    linker = Linker(*codes, options=LinkerOptions(arch=target, verbose=True, ptxas_options=["-v"]))
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
