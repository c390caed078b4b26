"""The gate: every emitted kernel is compiled and assembled without a GPU, and what came out is read.

Comes in: programs and an architecture. Goes out: a report of each kernel, and what in it is refused.
The one idea: a wide access that the disassembly does not show was not made, and a cell in local memory is a broken promise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from tinygpu import runtime
from tinygpu.derive.wide import wide_accesses
from tinygpu.emit.cuda import block_threads, cuda_source, kernel_name
from tinygpu.hardware.machine_code import Arch, Report, assembled, count, innermost, loops, plain_loads
from tinygpu.program.arrays import arrays
from tinygpu.program.step import Assign, Program, steps
from tinygpu.program.traverse import reads_of


def gate(programs: Sequence[Program], arch: Arch = (8, 0), bits: int = 32, wide: bool = True) -> tuple[Report, ...]:
    """`programs → a report for each of their launches`, in order. Needs numba-cuda and cuda-core, and no GPU."""
    return gates(programs, (arch,), bits, wide)[arch]


def gates(programs: Sequence[Program], archs: Sequence[Arch], bits: int = 32, wide: bool = True) -> dict[Arch, tuple[Report, ...]]:
    """The same for several architectures, in little more than the time for one."""
    names: list[str] = []
    texts: list[tuple[str, ...]] = []
    for program in programs:
        space = loaded(program)
        texts += [compile_ptx(space, program, n, archs, bits, wide) for n in range(len(program.launches))]
        names += [program.name] * len(program.launches)
    of_arch = zip(archs, zip(*texts, strict=True), strict=True) if texts else ()
    return dict.fromkeys(archs, ()) | {a: assembled(tuple(zip(names, ptx, strict=True)), a) for a, ptx in of_arch}


def missing(reports: Sequence[Report], program: Program) -> tuple[str, ...]:
    """The wide accesses that a program promises and the disassembly of its launches shows too few of."""
    absent = []
    accesses = {(w.launch, w.stores, w.tensor, w.first): w for w in wide_accesses(program)}.values()
    promised = Counter((w.launch, w.stores, w.bytes, w.shared) for w in accesses for _ in range(w.count // w.lanes))
    for (launch, stores, size, shared), number in promised.items():
        seen = reports[launch].wide(stores, size, shared)
        if shared and stores:  # some assemblers make two of one, which moves the same in as many turns of the memory
            seen += reports[launch].wide(stores, size // 2, shared) // 2
        if seen < number:
            what = "shared " * shared + ("stores" if stores else "loads")
            absent.append(f"{number - seen} of {number} {what} of {size} bytes")
    return tuple(absent)


def slow(report: Report, program: Program, number: int) -> tuple[str, ...]:
    """What a kernel has that an expert would not write: divisions in innermost loops, and loads that wait for stores to other arrays."""
    hot = innermost(report.instructions) if loops(report.instructions) else ()
    divisions = sum(count(loop).divisions for loop in hot)
    plain = 0 if rewrites(program, number) else plain_loads(report.instructions)
    return (
        *([f"{divisions} divisions of integers in an innermost loop"] if divisions else []),
        *([f"{plain} loads from memory that nobody writes, not as such"] if plain else []),
    )


def rewrites(program: Program, number: int) -> bool:
    """Whether a launch reads an array in global memory that it writes too."""
    inside = [s for s in steps(program.launches[number].body) if isinstance(s, Assign)]
    far = {a.name for a in arrays(program).values() if a.owner == "grid"}
    read = {r.tensor for s in inside for r in reads_of(s)}
    return bool(far & ({s.target for s in inside} & read | {s.target for s in inside if s.update and not s.atomic}))


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
