"""Kernels compiled and assembled without a GPU, and what the assembler says of them.

Comes in: programs and an architecture. Goes out: for each launch its registers, memory and spills. The one idea: these are numbers of the very text that
is emitted, and many kernels go through the assembler as one piece of code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tinygpu import runtime
from tinygpu.emit.cuda import block_threads, cuda_source, kernel_name
from tinygpu.hardware.arch import Assembled
from tinygpu.program.step import Program

Arch = tuple[int, int] | tuple[int, int, str]
Kernels = tuple[tuple[str, str], ...]  # the name and the PTX of each


def compiled(programs: Sequence[Program], archs: Sequence[Arch], bits: int = 32, wide: bool = True) -> dict[Arch, Kernels]:
    """`programs → the PTX of each of their launches`, in order, for several architectures in little more than the time for one. Needs numba-cuda."""
    names: list[str] = []
    texts: list[tuple[str, ...]] = []
    for program in programs:
        space = loaded(program)
        texts += [compile_ptx(space, program, n, archs, bits, wide) for n in range(len(program.launches))]
        names += [program.name] * len(program.launches)
    of_arch = zip(archs, zip(*texts, strict=True), strict=True) if texts else ()
    return dict.fromkeys(archs, ()) | {arch: tuple(zip(names, ptx, strict=True)) for arch, ptx in of_arch}


def loaded(program: Program) -> Mapping[str, Any]:
    """The names of a module that holds the kernels, and what they take of the runtime."""
    space: dict[str, Any] = {"Any": Any} | {name: getattr(runtime.loaded(), name) for name in runtime.offered()}
    exec(compile(cuda_source(program), f"<kernels of {program.name}>", "exec"), space)
    return space


def compile_ptx(
    space: Mapping[str, Any], program: Program, number: int, archs: Sequence[Arch], bits: int, wide: bool
) -> tuple[str, ...]:
    """The PTX of one launch's kernel for each architecture: all of them have what numba makes of it, which takes nearly all of the time."""
    kernel, signature = space[kernel_name(program, number)](bits, wide)
    from numba.cuda import compiler  # 0.30.4, which the project pins: `cuda.compile_ptx` is these two calls for one architecture

    threads = block_threads(program.launches[number])
    library, _ = compiler._compile_pyfunc_with_fixup(
        kernel, signature, device=False, abi="numba", cc=archs[0], launch_bounds=threads
    )
    return tuple(str(library.get_asm_str(cc=arch)) for arch in archs)


def linked(kernels: Sequence[tuple[str, str]], arch: Arch) -> tuple[bytes, tuple[Assembled, ...]]:
    """`(name, PTX of one kernel)… → machine code of all, kernel_0, kernel_1, …, and what the assembler says of each`. Needs cuda-core and nvJitLink, and
    no GPU. Raises what nvJitLink raises."""
    from cuda.core import Linker, LinkerOptions, ObjectCode

    target = "sm_" + "".join(map(str, arch))
    pieces = [ptx.replace(entry_of(ptx), f"kernel_{n}") for n, (_, ptx) in enumerate(kernels)]
    codes = [ObjectCode.from_ptx(piece.encode()) for piece in pieces]
    linker = Linker(*codes, options=LinkerOptions(arch=target, verbose=True, ptxas_options=["-v"]))
    code = bytes(linker.link("cubin").code)
    said = read_log(linker.get_info_log())
    return code, tuple(report_of(name, target, said[f"kernel_{n}"]) for n, (name, _) in enumerate(kernels))


def entry_of(ptx: str) -> str:
    """The name of the kernel in a text of PTX."""
    found = re.search(r"\.entry\s+(\w+)", ptx)
    if found is None:
        raise ValueError("this PTX has no kernel")
    return found[1]


def report_of(name: str, target: str, said: str) -> Assembled:
    """The numbers in what the assembler said of one kernel."""

    def largest(*patterns: str) -> int:
        return max((int(found) for pattern in patterns for found in re.findall(pattern, said)), default=0)

    return Assembled(
        kernel=name,
        arch=target,
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
