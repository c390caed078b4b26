"""The gate: every emitted kernel is compiled and assembled without a GPU, and what came out is read.

Comes in: a program and an architecture. Goes out: a report of registers, stack, spills and instructions, and what in it is refused.
The one idea: a wide access that the disassembly does not show was not made, and a cell in local memory is a broken promise.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tinygpu.emit.cuda import block_threads, cuda_source, cuda_uses, kernel_name
from tinygpu.emit.prelude import IMPORTS, prelude_source
from tinygpu.emit.python import identifier
from tinygpu.program.step import Program
from tinygpu.program.wide import wide_accesses

Arch = tuple[int, int] | tuple[int, int, str]
INSTRUCTION = re.compile(r"^\s+/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P[\dT]+\s+)?([A-Z][A-Z0-9_.]*)([^;]*);")


@dataclass(frozen=True, slots=True)
class Instruction:
    """One line of the disassembly: its address, its name, and the rest."""

    address: int
    name: str
    operands: str


@dataclass(frozen=True, slots=True)
class Report:
    """What the assembler says of one kernel, and its instructions (none where there is no disassembler)."""

    kernel: str
    arch: str
    registers: int
    stack_bytes: int
    spill_bytes: int
    local_bytes: int
    shared_bytes: int
    instructions: tuple[Instruction, ...]

    def count(self, *prefixes: str) -> int:
        """How many instructions begin with one of the prefixes: `count("LDG.E.128", "LDG.E.128.CONSTANT")`."""
        return sum(i.name.startswith(prefixes) for i in self.instructions)

    def wide(self, stores: bool, bytes: int) -> int:
        """How many loads from (stores to) global memory move that many bytes a thread."""
        name = "STG" if stores else "LDG"
        return sum(i.name.startswith(name) and f".{8 * bytes}" in i.name for i in self.instructions)

    def refused(self) -> tuple[str, ...]:
        """What no emitted kernel may have: local memory in any form."""
        found = {"a stack": self.stack_bytes, "spills": self.spill_bytes, "local memory": self.local_bytes}
        reasons = [f"{what} of {size} bytes" for what, size in found.items() if size]
        moves = self.count("LDL", "STL")
        return (*reasons, *([f"{moves} accesses to local memory"] if moves else []))

    def hot_loop(self) -> tuple[Instruction, ...]:
        """The innermost loop with the most fused multiply-adds; everything, where there is no loop with one."""
        places = {i.address: n for n, i in enumerate(self.instructions)}
        loops: list[tuple[Instruction, ...]] = [()]
        for end, branch in enumerate(self.instructions):
            target = re.search(r"0x([0-9a-f]+)", branch.operands) if branch.name.startswith("BRA") else None
            start = places.get(int(target[1], 16), end + 1) if target else end + 1
            loops.append(self.instructions[start : end + 1])
        best = max(loops, key=lambda body: share(body) ** 2 * len(body))
        return best if share(best) else self.instructions


def share(instructions: tuple[Instruction, ...]) -> float:
    """The share of fused multiply-adds."""
    return sum(i.name.startswith("FFMA") for i in instructions) / max(1, len(instructions))


def gate(program: Program, arch: Arch = (8, 0), bits: int = 32, wide: bool = True) -> tuple[Report, ...]:
    """`program → a report for each launch`. Needs numba-cuda and cuda-core, and no GPU."""
    space = loaded(program)
    return tuple(
        assembled(identifier(program.name), *compile_ptx(space, program, number, arch, bits, wide), arch)
        for number in range(len(program.launches))
    )


def missing(report: Report, program: Program) -> tuple[str, ...]:
    """The wide accesses that the program promises and the disassembly does not show."""
    absent = []
    for wide in wide_accesses(program):
        if wide.bytes > 2 and not report.wide(wide.stores, wide.bytes) and wide.bytes >= 8:
            absent.append(f"{'stores to' if wide.stores else 'loads from'} {wide.tensor} of {wide.bytes} bytes")
    return tuple(dict.fromkeys(absent))


def loaded(program: Program) -> Mapping[str, Any]:
    """The names of a module that holds the prelude and the kernels."""
    space: dict[str, Any] = {}
    text = "\n".join(IMPORTS) + "\n\n\n" + prelude_source(cuda_uses(program)) + "\n\n" + cuda_source(program)
    exec(compile(text, f"<kernels of {program.name}>", "exec"), space)
    return space


def compile_ptx(space: Mapping[str, Any], program: Program, number: int, arch: Arch, bits: int, wide: bool) -> tuple[str, str]:
    """The PTX of one kernel, and the name of its entry."""
    kernel, signature = space[kernel_name(program, number)](bits, wide)
    from numba import cuda

    ptx, _ = cuda.compile_ptx(kernel, signature, cc=arch, launch_bounds=block_threads(program.launches[number]))
    entry = re.search(r"\.entry\s+(\w+)", ptx)
    assert entry is not None
    return ptx, entry[1]


def assembled(name: str, ptx: str, entry: str, arch: Arch) -> Report:
    """PTX through nvJitLink, its log, and the disassembly."""
    from cuda.core import Linker, LinkerOptions, ObjectCode

    target = "sm_" + "".join(map(str, arch))
    linker = Linker(ObjectCode.from_ptx(ptx.encode()), options=LinkerOptions(arch=target, verbose=True, ptxas_options=["-v"]))
    code = bytes(linker.link("cubin").code)
    log = linker.get_info_log()

    def largest(pattern: str) -> int:
        return max((int(found) for found in re.findall(pattern, log)), default=0)

    spills = largest(r"(\d+) bytes spill stores") + largest(r"(\d+) bytes spill loads")
    return Report(
        kernel=name,
        arch=target,
        registers=largest(r"[Uu]sed (\d+) registers"),
        stack_bytes=max(largest(r"(\d+) bytes stack frame"), largest(r"(\d+) stack")),
        spill_bytes=spills,
        local_bytes=largest(r"(\d+) bytes lmem"),
        shared_bytes=largest(r"(\d+) bytes smem"),
        instructions=disassembled(code),
    )


def disassembled(code: bytes) -> tuple[Instruction, ...]:
    """The instructions of a cubin; none where the disassembler's wheel is not installed."""
    tool = disassembler()
    if tool is None:
        return ()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(code)
        shown = subprocess.run([tool, "-c", str(path)], capture_output=True, text=True, check=True).stdout
    return read_disassembly(shown)


def read_disassembly(shown: str) -> tuple[Instruction, ...]:
    """The instructions of nvdisasm's text, with the addresses of labels in their place.

    >>> text = ".L_x_0:\\n        /*0010*/  @!P0 FFMA R1, R2, R3, R1 ;\\n        /*0020*/  BRA `(.L_x_0) ;"
    >>> [(i.address, i.name, i.operands) for i in read_disassembly(text)]
    [(16, 'FFMA', 'R1, R2, R3, R1'), (32, 'BRA', '0x10')]
    """
    found: list[Instruction] = []
    waiting: list[str] = []
    places: dict[str, str] = {}
    for line in shown.splitlines():
        if label := re.match(r"(\.L_\w+):", line):
            waiting.append(label[1])
        elif instruction := INSTRUCTION.match(line):
            address, name, operands = instruction.groups()
            places |= dict.fromkeys(waiting, f"0x{int(address, 16):x}")
            waiting = []
            found.append(Instruction(int(address, 16), name, operands.strip()))
    return tuple(
        Instruction(i.address, i.name, re.sub(r"`\((\.L_\w+)\)", lambda m: places.get(m[1], m[1]), i.operands)) for i in found
    )


def disassembler() -> str | None:
    """The path of nvdisasm (wheel nvidia-cuda-nvdisasm), or None."""
    try:
        from cuda import pathfinder
    except ImportError:
        return None
    found = pathfinder.find_nvidia_binary_utility("nvdisasm")
    return None if found is None else str(found)
