"""Machine code without a GPU: the disassembly of emitted kernels, what it does in its loops, and what of it is refused.

Comes in: programs, or PTX of one or more kernels, and an architecture. Goes out: for each a report of registers, stack, spills and instructions; innermost
loops, and counts; what an expert would not have written. The one idea: what one would look for in the disassembly is a number for each kernel, so that a
change of the emitter is seen in all of them at once: a wide access that the disassembly does not show was not made, and a cell in local memory is a broken
promise. A disassembler costs half a second however little it reads, so many kernels go through it as one piece of code.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tinygpu import runtime
from tinygpu.derive.wide import Wide, wide_accesses
from tinygpu.emit.cuda import block_threads, kernel_name
from tinygpu.hardware.arch import Assembled
from tinygpu.program.arrays import arrays
from tinygpu.program.pending import copies, source
from tinygpu.program.step import Assign, Program, steps
from tinygpu.program.traverse import reads_of
from tinygpu.record import dataclass, parts
from tinygpu.run.gate import Arch, code_of, linked, loaded, report_of

Kernels = tuple[tuple[str, str | bytes], ...]  # the name of each, and its PTX, or what is assembled alone
INSTRUCTION = re.compile(r"^\s+/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P[\dT]+\s+)?([A-Z][A-Z0-9_.]*)([^;]*);")
WIDTHS = {16: r"\.128", 8: r"\.64", 4: "", 2: r"\.[US]16", 1: r"\.[US]8"}


@dataclass(frozen=True, slots=True)
class Instruction:
    """One line of the disassembly: its address, its name, and the rest, with addresses in place of labels."""

    address: int
    name: str
    operands: str


@dataclass(frozen=True, slots=True)
class Report(Assembled):
    """What the assembler says of one kernel, with its instructions (none where there is no disassembler)."""

    arch: str = ""
    instructions: tuple[Instruction, ...] = ()

    def count(self, *prefixes: str) -> int:
        """How many instructions begin with one of the prefixes: `count("LDG", "STG")`."""
        return sum(i.name.startswith(prefixes) for i in self.instructions)

    def wide(self, stores: bool, bytes: int, shared: bool = False) -> int:
        """How many loads from (stores to) global or shared memory move that many bytes a thread."""
        kind = ("ST" if stores else "LD") + ("S" if shared else "G")
        names = [i.name for i in self.instructions if re.match(kind + r"(\.|$)", i.name)]
        size = {name: next((b for b, mark in WIDTHS.items() if mark and re.search(mark + r"\b", name)), 4) for name in names}
        return sum(size[name] == bytes for name in names)

    def copies(self, bytes: int) -> int:
        """How many copies from global to shared memory that land later move that many bytes."""
        marks = {16: r"\.128", 8: r"\.64", 4: ""}
        names = [i.name for i in self.instructions if i.name.startswith("LDGSTS")]
        return sum(bool(re.search(marks[bytes], n)) if marks[bytes] else not re.search(r"\.(128|64)", n) for n in names)

    def refused(self) -> tuple[str, ...]:
        """What no emitted kernel may have: local memory in any form."""
        found = {"a stack": self.stack_bytes, "spills": self.spill_bytes, "local memory": self.local_bytes}
        reasons = [f"{what} of {size} bytes" for what, size in found.items() if size]
        moves = self.count("LDL", "STL")
        return (*reasons, *([f"{moves} accesses to local memory"] if moves else []))

    def hot_loop(self) -> tuple[Instruction, ...]:
        """The loop with the most and densest fused multiply-adds; everything, where no loop has one."""
        best = max(loops(self.instructions), key=lambda body: share(body) ** 2 * len(body), default=())
        return best if share(best) else self.instructions


def share(instructions: Sequence[Instruction]) -> float:
    """The share of fused multiply-adds."""
    return sum(i.name.startswith("FFMA") for i in instructions) / max(1, len(instructions))


def compiled(programs: Sequence[Program], archs: Sequence[Arch], bits: int = 32, wide: bool = True) -> dict[Arch, Kernels]:
    """`programs → the code of each of their launches`, in order, for several architectures in little more than the time for one. Needs numba-cuda."""
    names: list[str] = []
    texts: list[tuple[str | bytes, ...]] = []
    for program in programs:
        space = loaded(program)
        libraries = [library(space, program, n, archs[0], bits, wide) for n in range(len(program.launches))]
        texts += [tuple(code_of(made, arch) for arch in archs) for made in libraries]
        names += [program.name] * len(program.launches)
    of_arch = zip(archs, zip(*texts, strict=True), strict=True) if texts else ()
    return dict.fromkeys(archs, ()) | {arch: tuple(zip(names, ptx, strict=True)) for arch, ptx in of_arch}


def compile_ptx(
    space: Mapping[str, Any], program: Program, number: int, archs: Sequence[Arch], bits: int, wide: bool
) -> tuple[str, ...]:
    """The PTX of one launch's kernel for each architecture."""
    made = library(space, program, number, archs[0], bits, wide)
    return tuple(str(made.get_asm_str(cc=arch)) for arch in archs)


def library(space: Mapping[str, Any], program: Program, number: int, arch: Arch, bits: int, wide: bool) -> Any:
    """What numba makes of one launch's kernel, which takes nearly all of the time; all architectures have the same."""
    kernel, signature = space[kernel_name(program, number)](bits, wide)
    return runtime.loaded()._library(kernel, signature, arch, block_threads(program.launches[number]))


def entry_of(ptx: str) -> str:
    """The name of the kernel in a text of PTX."""
    found = re.search(r"\.entry\s+(\w+)", ptx)
    if found is None:
        raise ValueError("this PTX has no kernel")
    return found[1]


def gate(programs: Sequence[Program], arch: Arch = (8, 0), bits: int = 32, wide: bool = True) -> tuple[Report, ...]:
    """`programs → a report for each of their launches`, in order. Needs numba-cuda and cuda-core, and no GPU."""
    return gates(programs, (arch,), bits, wide)[arch]


def gates(programs: Sequence[Program], archs: Sequence[Arch], bits: int = 32, wide: bool = True) -> dict[Arch, tuple[Report, ...]]:
    """The same for several architectures, in little more than the time for one."""
    return {arch: assembled(kernels, arch) for arch, kernels in compiled(programs, archs, bits, wide).items()}


def assembled(kernels: Sequence[tuple[str, str | bytes]], arch: Arch) -> tuple[Report, ...]:
    """`(name, code of one kernel)… → a report for each`. Needs cuda-core and nvJitLink, and no GPU. Raises what nvJitLink raises."""
    together = iter(texts_assembled([(name, code) for name, code in kernels if isinstance(code, str)], arch))
    return tuple(whole_assembled(name, code, arch) if isinstance(code, bytes) else next(together) for name, code in kernels)


def texts_assembled(kernels: Sequence[tuple[str, str]], arch: Arch) -> tuple[Report, ...]:
    """The same for those of which there is PTX."""
    names = [f"kernel_{n}" for n in range(len(kernels))]
    if not names:
        return ()
    code, said = linked([ptx.replace(entry_of(ptx), name) for name, (_, ptx) in zip(names, kernels, strict=True)], arch)
    shown = read_disassembly(disassembled(code))
    return tuple(reported(title, said[name], shown.get(name, ()), arch) for name, (title, _) in zip(names, kernels, strict=True))


def whole_assembled(name: str, code: bytes, arch: Arch) -> Report:
    """The same for one that is a program by itself."""
    made, said = linked([code], arch)
    (instructions,) = read_disassembly(disassembled(made)).values() or ((),)
    return reported(name, "\n".join(said.values()), instructions, arch)


def reported(name: str, said: str, instructions: tuple[Instruction, ...], arch: Arch) -> Report:
    return Report(**parts(report_of(name, said)), arch="sm_" + "".join(map(str, arch)), instructions=instructions)


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


MEMORY = re.compile(r"(LD|ST|ATOM|RED)[GS]?(\.|$)")
ADDRESS = re.compile(r"U?(IMAD|IADD3|LEA|SHF|LOP3|IMNMX|SEL|PRMT)(\.|$)")
COMPARE = re.compile(r"U?ISETP(\.|$)")
DIVISION = re.compile(r"I2F\.U(32|64)\.RP$")  # the reciprocal that a division of integers begins with
HIGH = re.compile(r"U?IMAD\.(HI|WIDE)\.U32$")  # the high half of a product, which a division by a number is
LONG = re.compile(r"U?(IADD3\.X|LEA\.HI\.X|IMAD\.X)(\.|$)")  # the high words of sums of 64 bits
COPY = re.compile(r"IMAD\.(MOV|U32)(\.|$)")


@dataclass(frozen=True, slots=True)
class Counts:
    """Of a piece of code: `accesses` to memory; `addresses`, the integer arithmetic that is no copy; `checks`, comparisons of integers;
    `divisions` of integers by what is not known, and by numbers; `long`, high words of sums of 64 bits."""

    instructions: int
    accesses: int
    addresses: int
    checks: int
    divisions: int
    by_numbers: int
    long: int

    @property
    def each(self) -> float:
        """Integer arithmetic for each access to memory."""
        return round(self.addresses / self.accesses, 2) if self.accesses else 0.0


def count(code: Sequence[Instruction]) -> Counts:
    """The counts of a piece of code; instructions that only fill up the end are none.

    >>> code = [Instruction(0, "IMAD.WIDE", ""), Instruction(16, "LDG.E.CONSTANT", ""), Instruction(32, "I2F.U32.RP", ""), Instruction(48, "NOP", "")]
    >>> count(code)
    Counts(instructions=3, accesses=1, addresses=1, checks=0, divisions=1, by_numbers=0, long=0)
    """

    def seen(pattern: re.Pattern[str]) -> int:
        return sum(pattern.match(i.name) is not None for i in code)

    return Counts(
        instructions=sum(i.name != "NOP" for i in code),
        accesses=seen(MEMORY),
        addresses=seen(ADDRESS) - seen(COPY),
        checks=seen(COMPARE),
        divisions=seen(DIVISION),
        by_numbers=sum(HIGH.match(i.name) is not None and re.search(r"-?0x[0-9a-f]{8}", i.operands) is not None for i in code),
        long=seen(LONG),
    )


def spans(code: Sequence[Instruction]) -> tuple[tuple[int, int], ...]:
    """The loops as places of their first and last instruction: what a branch backwards goes over. The idle one at the end is none.

    >>> spans([Instruction(0, "FADD", ""), Instruction(16, "BRA", "0x0"), Instruction(32, "EXIT", ""), Instruction(48, "BRA", "0x30")])
    ((0, 1),)
    """
    places = {i.address: n for n, i in enumerate(code)}
    found: dict[int, int] = {}
    for end, branch in enumerate(code):
        target = re.search(r"0x([0-9a-f]+)", branch.operands) if branch.name.startswith("BRA") else None
        start = places.get(int(target[1], 16), end) if target else end
        if start < end:
            found[start] = max(end, found.get(start, end))
    return tuple(sorted(found.items()))


def loops(code: Sequence[Instruction]) -> tuple[tuple[Instruction, ...], ...]:
    """All loops, outer ones too."""
    return tuple(tuple(code[start : end + 1]) for start, end in spans(code))


def innermost(code: Sequence[Instruction]) -> tuple[tuple[Instruction, ...], ...]:
    """The loops that have no loop in them; all of the code where there is no loop.

    >>> nest = [Instruction(0, "MOV", ""), Instruction(16, "FADD", ""), Instruction(32, "BRA", "0x10"), Instruction(48, "BRA", "0x0")]
    >>> [len(loop) for loop in innermost(nest)], [len(loop) for loop in loops(nest)], len(innermost(nest[:2])[0])
    ([2], [4, 2], 2)
    """
    all_ = spans(code)
    inner = [(a, b) for a, b in all_ if not any((c, d) != (a, b) and a <= c and d <= b for c, d in all_)]
    return tuple(tuple(code[a : b + 1]) for a, b in inner) or (tuple(code),)


def plain_loads(code: Sequence[Instruction]) -> int:
    """Loads from global memory that do not say that nobody writes it."""
    return sum(i.name.startswith("LDG.") and "CONSTANT" not in i.name for i in code)


# ── what is refused ────────────────────────────────────────────────────────────────────────────────────────────────


def missing(reports: Sequence[Report], program: Program) -> tuple[str, ...]:
    """The wide accesses that a program promises and the disassembly of its launches shows too few of."""
    absent = []
    accesses = {(w.launch, w.stores, w.tensor, w.first): w for w in wide_accesses(program)}.values()
    promised = Counter(
        (w.launch, w.stores, w.bytes, w.shared) for w in accesses if not begun(program, w) for _ in range(w.count // w.lanes)
    )
    copied = Counter((w.launch, w.bytes) for w in accesses if not w.stores and begun(program, w) for _ in range(w.count // w.lanes))
    for (launch, size), number in copied.items():
        if (seen := reports[launch].copies(size)) < number:
            absent.append(f"{number - seen} of {number} copies of {size} bytes that land later")
    for (launch, stores, size, shared), number in promised.items():
        seen = reports[launch].wide(stores, size, shared)
        if shared and stores:  # some assemblers make two of one, which moves the same in as many turns of the memory
            seen += reports[launch].wide(stores, size // 2, shared) // 2
        if seen < number:
            what = "shared " * shared + ("stores" if stores else "loads")
            absent.append(f"{number - seen} of {number} {what} of {size} bytes")
    return tuple(absent)


def begun(program: Program, wide: Wide) -> bool:
    """Whether a wide access is half of a copy that lands later, of which the other half is wide too."""
    every = {one.access for one in wide_accesses(program)}
    pairs = ({step, source(step.value)} for step in copies(program.launches[wide.launch].body))
    return any(wide.access in both and both <= every for both in pairs)


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
    if {s.target for s in inside} & program.op.inplace.keys():
        return True
    return bool(far & ({s.target for s in inside} & read | {s.target for s in inside if s.update and not s.atomic}))
