"""Machines with free numbers, as the commands need them: with numbers they are machines as any other, without they are checked as families.

Comes in: specs, and words such as `T=16`. Goes out: specs with machines at these numbers; families with their verdicts, a line for each. The one idea: a machine with numbers
is the machine that its text is with them, so every command that takes machines takes it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from tinygpu.category.deadline import TIME
from tinygpu.category.node import forget
from tinygpu.category.term import text
from tinygpu.commands.common import how_long
from tinygpu.commands.specs import without_numbers, words
from tinygpu.diagnostic import Diagnostic, TinygpuError
from tinygpu.record import dataclass, field, replace

if TYPE_CHECKING:
    from tinygpu.model.free import Skeleton
    from tinygpu.pipeline import Loaded
    from tinygpu.proof.kernel import Family


@dataclass(frozen=True, slots=True)
class Proved:
    """A family and what came of checking it: one of the words of a machine. One that is `kept` is the verdict of an earlier process."""

    path: str
    family: Skeleton
    word: str
    diagnostics: tuple[Diagnostic, ...]
    seconds: float
    found: Family | None = field(default=None, repr=False)
    sizes: str = ""
    obligations: int = 0
    kept: bool = False

    @property
    def heading(self) -> str:
        """What it is, and of what."""
        return self.family.heading

    @property
    def row(self) -> dict[str, object]:
        """As plain data."""
        row = {"file": self.path, "family": self.family.title, "op": self.family.op.name, "verdict": self.word}
        numbers = {"numbers": [one.written for one in self.family.numbers], "where": [*asked(self.family)]}
        return {
            **row,
            **numbers,
            **({"kept": True} if self.kept else {}),
            "seconds": round(self.seconds, 4),
            "obligations": self.obligations,
        }


def asked(family: Skeleton) -> tuple[str, ...]:
    """What is asked of its numbers beside their ranges."""
    ranges = {fact for one in family.numbers for fact in one.facts}
    return tuple(text(fact) for fact in family.where if fact not in ranges)


def families(specs: Iterable[Loaded], names: Sequence[str]) -> tuple[tuple[Loaded, Skeleton], ...]:
    """The families of some specs: all, or those of these names, or of these ops."""
    every = [(spec, one) for spec in specs for one in spec.spec.families]
    return tuple((s, one) for s, one in every if not names or {one.name, one.title, one.op.name, one.op.family} & {*names})


def check_family(path: str, family: Skeleton, budget: int | None = None, limit: float = TIME) -> Proved:
    """Check one, timed, in at most so many seconds."""
    from tinygpu import pipeline
    from tinygpu.proof.everywhere import proved_everywhere
    from tinygpu.proof.family import EFFORT

    start = time.perf_counter()
    forget()
    try:
        found = pipeline.timely(limit, family, partial(proved_everywhere, family, EFFORT if budget is None else budget))
    except TinygpuError as error:
        word = "unknown" if all(d.verdict == "unknown" for d in error.diagnostics) else "error"
        return Proved(path, family, word, error.diagnostics, time.perf_counter() - start)
    except Exception as error:
        error.add_note(f"while checking {family.title} of {path}")
        raise
    seconds = time.perf_counter() - start
    match found:
        case pipeline.Refutation(_, diagnostic):
            return Proved(path, family, "refuted", (diagnostic,), seconds)
        case pipeline.Unknown(_, diagnostics):
            return Proved(path, family, "unknown", diagnostics, seconds)
    return Proved(path, family, "proved", (), seconds, found, for_all(family, found), len(found.theorems))


def family_line(one: Proved, width: int) -> str:
    """`proved   tile : matmul    all M, K, N; all T >= 1 with T*T <= 1024 that the hardware allows  (43 obligations, 0.31 s)`."""
    said = f"{one.word:<8} {one.family.heading:<{width}}"
    if one.word != "proved":
        return f"{said}  {one.diagnostics[0].headline}{'  (kept)' * one.kept}" if one.diagnostics else said
    return f"{said}  {one.sizes} that the hardware allows  ({one.obligations} obligations, {how_long(one)})"


def for_all(family: Skeleton, found: Family) -> str:
    """`all M, K, N; all T >= 1 with T*T <= 1024`: for which sizes and numbers it is proved."""
    from tinygpu.proof.summary import sizes

    names = {*family.names}
    program = found.program
    op = replace(program.op, sizes=tuple(s for s in program.op.sizes if s not in names))
    whole = sizes(replace(program, op=op, where=tuple(w for w in program.where if w not in family.where)))
    more = " and ".join(asked(family))
    return f"{whole}; all {', '.join(n.written for n in family.numbers)}{f' with {more}' if more else ''}"


def pointed(specs: Sequence[Loaded], given: Mapping[str, int], names: Sequence[str]) -> tuple[tuple[Loaded, ...], dict[str, int]]:
    """The specs with the machines of their families at these numbers, and the numbers that are not theirs, as sizes are. Of `names`, where there are any, only these
    families. Raises TG167 for some numbers of a family without the others, and for numbers that it does not have."""
    from tinygpu.model.family import machine_at

    rest = dict(given)
    made: list[Loaded] = []
    for spec in specs:
        here = [one for _, one in families([spec], names) if {*one.names} & given.keys()]
        machines = [machine_at(one, {n: given[n] for n in one.names}) for one in here if complete(one, given)]
        rest = {n: v for n, v in rest.items() if all(n not in one.names for one in here)}
        others = tuple(one for one in spec.spec.families if one not in here)
        made.append(replace(spec, spec=replace(spec.spec, machines=(*spec.machines, *machines), families=others)) if here else spec)
    return tuple(made), rest


def complete(family: Skeleton, given: Mapping[str, int]) -> bool:
    """Whether all numbers are there. Raises TG167."""
    if {*family.names} <= given.keys():
        return True
    raise without_numbers(family)


def settled_words(paths: Sequence[str]) -> tuple[list[str], list[str], dict[str, int]]:
    """`FILE MACHINE T=16 → ([FILE], [MACHINE], {T: 16})`: where numbers are given, a word that is no file is a machine's name."""
    numbers = [word for word in paths if "=" in word and not os.path.exists(word)]
    rest = [word for word in paths if word not in numbers]
    names = [word for word in rest[1:] if numbers and word != "-" and word.isidentifier() and not os.path.exists(word)]
    return [word for word in rest if word not in names], names, words(numbers)[0]


def pinned_specs(specs: Sequence[Loaded], given: Mapping[str, int], names: Sequence[str]) -> tuple[Loaded, ...]:
    """The same, where nothing but numbers of families may be given. Raises TG905."""
    found, rest = pointed(specs, given, names)
    if rest:
        known = ", ".join(f"{one.name} ({', '.join(one.names)})" for _, one in families(specs, ()))
        title = f"no machine has a free number {', '.join(rest)}"
        raise TinygpuError.of("TG905", title, help=f"machines with free numbers are {known or 'none'}")
    return found
