"""What a kernel's machine code does in its loops: divisions, addresses, checks, and how it loads.

Comes in: the instructions of a kernel. Goes out: its innermost loops, and counts. The one idea: what an expert would look for in the
disassembly is a number for each kernel, so that a change of the emitter is seen in all of them at once.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from tinygpu.hardware.machine_code import Instruction
from tinygpu.record import dataclass

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
    return sum(i.name.startswith("LDG") and "CONSTANT" not in i.name for i in code)
