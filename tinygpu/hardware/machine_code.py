"""Machine code without a GPU: PTX assembled by nvJitLink, its report, and the disassembly.

Comes in: PTX of one or more kernels and an architecture. Goes out: for each a report of registers, stack, spills and instructions.
The one idea: a disassembler costs half a second however little it reads, so many kernels go through it as one piece of code.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tinygpu.record import dataclass

Arch = tuple[int, int] | tuple[int, int, str]
INSTRUCTION = re.compile(r"^\s+/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P[\dT]+\s+)?([A-Z][A-Z0-9_.]*)([^;]*);")
WIDTHS = {16: r"\.128", 8: r"\.64", 4: "", 2: r"\.[US]16", 1: r"\.[US]8"}


@dataclass(frozen=True, slots=True)
class Instruction:
    """One line of the disassembly: its address, its name, and the rest, with addresses in place of labels."""

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
        """How many instructions begin with one of the prefixes: `count("LDG", "STG")`."""
        return sum(i.name.startswith(prefixes) for i in self.instructions)

    def wide(self, stores: bool, bytes: int, shared: bool = False) -> int:
        """How many loads from (stores to) global or shared memory move that many bytes a thread."""
        kind = ("ST" if stores else "LD") + ("S" if shared else "G")
        names = [i.name for i in self.instructions if re.match(kind + r"(\.|$)", i.name)]
        size = {name: next((b for b, mark in WIDTHS.items() if mark and re.search(mark + r"\b", name)), 4) for name in names}
        return sum(size[name] == bytes for name in names)

    def refused(self) -> tuple[str, ...]:
        """What no emitted kernel may have: local memory in any form."""
        found = {"a stack": self.stack_bytes, "spills": self.spill_bytes, "local memory": self.local_bytes}
        reasons = [f"{what} of {size} bytes" for what, size in found.items() if size]
        moves = self.count("LDL", "STL")
        return (*reasons, *([f"{moves} accesses to local memory"] if moves else []))

    def hot_loop(self) -> tuple[Instruction, ...]:
        """The loop with the most and densest fused multiply-adds; everything, where no loop has one."""
        places = {i.address: n for n, i in enumerate(self.instructions)}
        loops: list[tuple[Instruction, ...]] = [()]
        for end, branch in enumerate(self.instructions):
            target = re.search(r"0x([0-9a-f]+)", branch.operands) if branch.name.startswith("BRA") else None
            start = places.get(int(target[1], 16), end + 1) if target else end + 1
            loops.append(self.instructions[start : end + 1])
        best = max(loops, key=lambda body: share(body) ** 2 * len(body))
        return best if share(best) else self.instructions


def share(instructions: Sequence[Instruction]) -> float:
    """The share of fused multiply-adds."""
    return sum(i.name.startswith("FFMA") for i in instructions) / max(1, len(instructions))


def assembled(kernels: Sequence[tuple[str, str]], arch: Arch) -> tuple[Report, ...]:
    """`(name, PTX of one kernel)… → a report for each`. Needs cuda-core and nvJitLink, and no GPU. Raises what nvJitLink raises."""
    from cuda.core import Linker, LinkerOptions, ObjectCode

    target = "sm_" + "".join(map(str, arch))
    pieces = [ptx.replace(entry_of(ptx), f"kernel_{n}") for n, (_, ptx) in enumerate(kernels)]
    codes = [ObjectCode.from_ptx(piece.encode()) for piece in pieces]
    linker = Linker(*codes, options=LinkerOptions(arch=target, verbose=True, ptxas_options=["-v"]))
    code = bytes(linker.link("cubin").code)
    said = read_log(linker.get_info_log())
    shown = read_disassembly(disassembled(code))
    return tuple(report_of(name, target, said[f"kernel_{n}"], shown.get(f"kernel_{n}", ())) for n, (name, _) in enumerate(kernels))


def entry_of(ptx: str) -> str:
    """The name of the kernel in a text of PTX."""
    found = re.search(r"\.entry\s+(\w+)", ptx)
    if found is None:
        raise ValueError("this PTX has no kernel")
    return found[1]


def report_of(name: str, target: str, said: str, instructions: tuple[Instruction, ...]) -> Report:
    """The numbers in what the assembler said of one kernel."""

    def largest(*patterns: str) -> int:
        return max((int(found) for pattern in patterns for found in re.findall(pattern, said)), default=0)

    return Report(
        kernel=name,
        arch=target,
        registers=largest(r"[Uu]sed (\d+) registers"),
        stack_bytes=largest(r"(\d+) bytes stack frame", r"(\d+) stack"),
        spill_bytes=largest(r"(\d+) bytes spill stores") + largest(r"(\d+) bytes spill loads"),
        local_bytes=largest(r"(\d+) bytes lmem"),
        shared_bytes=largest(r"(\d+) bytes smem"),
        instructions=instructions,
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


def disassembled(code: bytes) -> str:
    """nvdisasm's text of a cubin; nothing where its wheel is not installed."""
    tool = disassembler()
    if tool is None:
        return ""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(code)
        return subprocess.run([tool, "-c", str(path)], capture_output=True, text=True, check=True).stdout


def read_disassembly(shown: str) -> dict[str, tuple[Instruction, ...]]:
    """The instructions of nvdisasm's text by kernel, with addresses in place of labels.

    >>> text = ".text.k:\\n.L_x_0:\\n        /*0010*/  @!P0 FFMA R1, R2, R3, R1 ;\\n        /*0020*/  BRA `(.L_x_0) ;"
    >>> [(i.address, i.name, i.operands) for i in read_disassembly(text)["k"]]
    [(16, 'FFMA', 'R1, R2, R3, R1'), (32, 'BRA', '0x10')]
    """
    found: dict[str, list[Instruction]] = {}
    waiting: list[str] = []
    places: dict[str, str] = {}
    name = ""
    for line in shown.splitlines():
        if kernel := re.match(r"\.text\.(\w+):", line):
            name = kernel[1]
        elif label := re.match(r"(\.L_\w+):", line):
            waiting.append(label[1])
        elif instruction := INSTRUCTION.match(line):
            address, operation, operands = instruction.groups()
            places |= dict.fromkeys(waiting, f"0x{int(address, 16):x}")
            waiting = []
            found.setdefault(name, []).append(Instruction(int(address, 16), operation, operands.strip()))
    return {kernel: tuple(_placed(i, places) for i in body) for kernel, body in found.items()}


def _placed(instruction: Instruction, places: dict[str, str]) -> Instruction:
    operands = re.sub(r"`\((\.L_\w+)\)", lambda label: places.get(label[1], label[1]), instruction.operands)
    return Instruction(instruction.address, instruction.name, operands)


def disassembler() -> str | None:
    """The path of nvdisasm (wheel nvidia-cuda-nvdisasm), or None."""
    try:
        from cuda import pathfinder
    except ImportError:
        return None
    found = pathfinder.find_nvidia_binary_utility("nvdisasm")
    return None if found is None else str(found)
