"""Programs of one machine at several points, as one program with names for the numbers.

    P(3, 5), P(5, 7), P(7, 11)        ⟼        P(T, R):        where they have 15, 35, 77, it has T*R

Comes in: programs, and the numbers of each. Goes out: a program, whose numbers are sizes of its op. The one idea: what differs in them is what the numbers made of it, and a
closed form that gives all of them is the guess; nobody has to believe it, as the program that comes out is proved itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations_with_replacement
from math import prod
from typing import Any, NoReturn

from tinygpu.category.term import INDEX, App, Const, Fold, Read, Term, Var, apply
from tinygpu.category.text import text
from tinygpu.diagnostic import Span, TinygpuError
from tinygpu.program.step import Program
from tinygpu.record import dataclass, fields, is_dataclass, replace

DEGREE = 4  # of a product of numbers
LARGEST = 4096  # what is divided
APART = "give the numbers, and it is a machine as any other; or a set, param T in {8, 16}"


@dataclass(frozen=True, slots=True)
class Several:
    """Points, each a number for each name."""

    names: tuple[str, ...]
    points: tuple[tuple[int, ...], ...]
    span: Span

    def same(self, parts: Sequence[Any]) -> Any:
        """What is one thing at all points, with names in it. Raises TG168 where it is not."""
        first = parts[0]
        if all(part == first for part in parts[1:]):
            return first
        if all(isinstance(p, tuple) and len(p) == len(first) for p in parts):
            return tuple(map(self.same, zip(*parts, strict=True)))
        if all(isinstance(p, Const) and p.dtype == INDEX for p in parts):
            return self.form(tuple(int(p.value) for p in parts))
        if not all(is_dataclass(p) and type(p) is type(first) for p in parts):
            self.differ(parts)
        new = {f.name: self.same([getattr(p, f.name) for p in parts]) for f in fields(first) if f.compare}
        return replace(first, **{name: part for name, part in new.items() if part is not getattr(first, name)})

    def form(self, values: tuple[int, ...]) -> Term:
        """A term that has these values at the points: of several the one with the shortest products. Raises TG168 where none is found.

        >>> three = Several(("T", "R"), ((3, 5), (5, 7), (7, 11)), Span())
        >>> from tinygpu.category.term import text
        >>> [text(three.form(v)) for v in ((15, 35, 77), (24, 40, 56), (2, 4, 6), (2, 2, 2))]
        ['T*R', 'T*8', 'T - 1', 'ceil(R / T)']
        """
        found = next((form for ways in (multiples, shifted, shares) for form in ways(self, values)), None)
        if found is None:
            self.differ(values)
        return found

    def differ(self, parts: Sequence[Any]) -> NoReturn:
        """Says that the program has another form at another point."""
        other = next((n for n, part in enumerate(parts) if part != parts[0] and _named(part) != _named(parts[0])), 1)
        there = ", ".join(f"at {self.at(n)} it has {_named(parts[n])}" for n in (0, other))
        title = f"the program of {', '.join(self.names)} is another one at other numbers"
        label = f"{there}, and what gives all of these is not seen"
        raise TinygpuError.of("TG168", title, self.span, label, APART)

    def at(self, number: int) -> str:
        """A point in words."""
        return ", ".join(f"{name}={value}" for name, value in zip(self.names, self.points[number], strict=True))


def _named(part: Any) -> str:
    """What differs, in few words and those of the language.

    >>> _named(Var("T") < 3), _named(Const(True, "bool")), _named((1, 2))
    ('T < 3', 'true', '2 parts')
    """
    match part:
        case bool(value) | Const(bool(value)):
            return str(value).lower()
        case Var() | Const() | App() | Read() | Fold():
            return text(part)
        case tuple():
            return f"{len(part)} parts"
    return f"a step {type(part).__name__.lower()}" if is_dataclass(part) else f"{part}"


def products(several: Several) -> Iterator[tuple[Term, tuple[int, ...]]]:
    """Products of the numbers, shortest first, with their values at the points."""
    for degree in range(1, DEGREE + 1):
        for names in combinations_with_replacement(range(len(several.names)), degree):
            term = prod((Var(several.names[n]) for n in names[1:]), start=Var(several.names[names[0]]))
            yield term, tuple(prod(point[n] for n in names) for point in several.points)


def multiples(several: Several, values: tuple[int, ...]) -> Iterator[Term]:
    """`c·T·R`."""
    for term, there in products(several):
        times, rest = divmod(values[0], there[0])
        if rest == 0 and times > 0 and all(times * t == v for t, v in zip(there, values, strict=True)):
            yield term if times == 1 else term * times


def shifted(several: Several, values: tuple[int, ...]) -> Iterator[Term]:
    """`c·T·R + d`, where three points say so."""
    for term, there in products(several):
        times, rest = divmod(values[1] - values[0], there[1] - there[0]) if there[0] != there[1] else (0, 1)
        more = values[0] - times * there[0]
        if rest == 0 and times and len(values) > 2 and all(times * t + more == v for t, v in zip(there, values, strict=True)):
            part = term if times == 1 else term * times
            yield part + more if more > 0 else part - -more


def shares(several: Several, values: tuple[int, ...]) -> Iterator[Term]:
    """`ceil(c·T·R / (T·T))`: the turns in which threads go through a box."""
    every = [(Const(1), (1,) * len(values)), *products(several)]
    for by, divisor in every[1:]:
        for term, there in every:
            if term == by or min(values) < 1:
                continue
            ends = [((v - 1) * d // t + 1, v * d // t) for v, d, t in zip(values, divisor, there, strict=True)]
            low, high = max(a for a, _ in ends), min(b for _, b in ends)
            if low <= high and high <= LARGEST:
                times = max(range(low, high + 1), key=lambda n: n & -n)  # the roundest one
                yield apply("ceildiv", term * times if term != Const(1) else Const(times), by)


def general(programs: Sequence[Program], points: Sequence[Mapping[str, int]], name: str, where: tuple[Term, ...]) -> Program:
    """`programs at points → program`, with what is asked of the numbers. Raises TG168 where they are not one program.

    Those who look at it need no machine: which one it is follows from the numbers.
    """
    several = Several(tuple(points[0]), tuple(tuple(point.values()) for point in points), programs[0].span)
    nameless = [replace(one, name=name, machine=None) for one in programs]
    found: Program = several.same(nameless)
    op = replace(found.op, sizes=(*found.op.sizes, *several.names))
    return replace(found, op=op, where=tuple(dict.fromkeys((*found.where, *where))))
