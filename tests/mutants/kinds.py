"""The kinds of mutation: what was done to a program, without the names and numbers of that program.

Comes in: the sentence of a mutant. Goes out: its kind, as `value: add is sub` or `dropped: barrier of the block`.
The one idea: a survey that has one mutant of each kind of each machine has seen every mistake at every machine.
"""

from __future__ import annotations

import re

NUMBER = r"-?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|inf)"
PLACES: tuple[tuple[str, str], ...] = (  # where the mistake is; what comes after is how it is wrong
    (r"grid: extent of \w+, ", "grid: "),
    (r"block: extent of \w+, ", "block: "),
    (r"for \w+: extent of \w+, ", "loop: "),
    (r"fold: extent of \w+, ", "extent of a fold: "),
    (r"cells of \w+, ", "cells: "),
    (r"value of \w+: ", "value: "),
    (r"guard of \w+: ", "guard: "),
    (r"index of \w+: ", "index: "),
    (r"fold: ", "fold: "),
    (r"if: ", "if: "),
    (r"holds: ", "fact: "),
)
WHOLE: tuple[tuple[str, str], ...] = (  # mistakes that are no place and no way
    (r"precondition .*", "precondition dropped"),
    (r"factors of the block swapped", "factors of the block swapped"),
    (r"layout of \w+ plain", "layout dropped"),
    (r"barrier of the other scope", "barrier of the other scope"),
    (r"update of \w+ not atomic", "not atomic"),
    (r"indices of \w+ swapped", "indices swapped"),
    (r"for \w+ in (\w+)", r"loop in \1"),
    (r"\w+ updated by (\S+)", r"updated by \1"),
)
STEPS: tuple[tuple[str, str], ...] = (
    (r"array \w+", "array"),
    (r"barrier of the (\w+)", r"barrier of the \1"),
    (r"\w+ (\S*)=", r"assignment \1="),
    (r"for \w+", "loop"),
    (r"if .*", "if"),
    (r"\w+ holds", "fact"),
)
WAYS: tuple[tuple[str, str], ...] = (
    (r"no guard|never|guard negated|operands swapped|branches swapped|always the (?:first|second) branch", r"\g<0>"),
    (r"without .*", "without a part"),
    (r"only the left of \w+", r"\g<0>"),
    (r"\S+ transposed", "transposed"),
    (r"(?:True|False) negated", "truth negated"),
    (r"([a-z]\w*) is ([a-z]\w*)", r"\g<0>"),
    (r"\S+ \+ 1", "variable + 1"),
    (r"[^\W\d]\w* is 0(?:\.0)?", "name is 0"),
)


def kind(done: str) -> str:
    """The kind of a mutation.

    >>> kind("in ko: in v: guard of sA: 4 is 5"), kind("swapped: x max= and barrier of the block"), kind("in k: index of a: b[i + 1]")
    ('guard: number + 1', 'swapped: assignment max= and barrier of the block', 'index: in a read: variable + 1')
    """
    done = re.sub(r"^(in \w+: )+", "", done)
    for pattern, name in WHOLE:
        if found := re.fullmatch(pattern, done):
            return found.expand(name)
    if found := re.fullmatch(r"(dropped|twice): (.*)", done):
        return f"{found[1]}: {_step(found[2])}"
    if done.startswith("swapped: "):
        return f"swapped: {_both(done.removeprefix('swapped: '))}"
    for pattern, name in PLACES:
        if found := re.match(pattern, done):
            return name + _way(done[found.end() :])
    raise ValueError(f"no kind is known of: {done}")


def _step(step: str) -> str:
    for pattern, name in STEPS:
        if found := re.fullmatch(pattern, step):
            return found.expand(name)
    raise ValueError(f"no step is known of: {step}")


def _both(steps: str) -> str:
    """Two steps; a guard has an `and` of its own."""
    words = steps.split(" and ")
    for cut in range(1, len(words)):
        first, second = " and ".join(words[:cut]), " and ".join(words[cut:])
        if any(re.fullmatch(p, second) for p, _ in STEPS) and any(re.fullmatch(p, first) for p, _ in STEPS):
            return f"{_step(first)} and {_step(second)}"
    raise ValueError(f"no steps are known of: {steps}")


def _way(way: str) -> str:
    if found := re.fullmatch(r"\w+\[(.*)\]", way):
        return "in a read: " + _way(found[1])
    for pattern, name in PLACES:
        if name.startswith(("fold", "extent of a fold")) and (found := re.match(pattern, way)):
            return name + _way(way[found.end() :])
    if found := re.fullmatch(rf"({NUMBER}) is ({NUMBER})", way):
        return "number " + _changed(float(found[1]), float(found[2]))
    for pattern, name in WAYS:
        if found := re.fullmatch(pattern, way):
            return found.expand(name)
    raise ValueError(f"no way is known of: {way}")


def _changed(old: float, new: float) -> str:
    if new == 0:
        return "is 0"
    return "+ 1" if new == old + 1 else "- 1" if new == old - 1 else "doubled"
