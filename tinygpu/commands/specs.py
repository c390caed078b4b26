"""Specs, and what of them is asked for, as the commands need them.

Comes in: paths, names of machines, sizes. Goes out: loaded specs, the machines of these names, an op, sizes. The one idea: a name is that of a machine, or of what it is a part of.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from tinygpu.commands.common import brief, find, read_text
from tinygpu.diagnostic import Diagnostic, TinygpuError

if TYPE_CHECKING:
    from tinygpu.model.choice import Choice
    from tinygpu.model.free import Skeleton
    from tinygpu.model.machine import Machine
    from tinygpu.model.op import Op
    from tinygpu.model.pipeline import Pipeline
    from tinygpu.pipeline import Loaded

DIGITS = 18  # of a size: no array is as long


def load_all(paths: Sequence[str]) -> tuple[tuple[Loaded, ...], dict[str, str], tuple[Diagnostic, ...]]:
    """`paths → (specs, their texts, what is wrong or may be)`: neither does a file hide the others, nor a machine those of its file."""
    from tinygpu import pipeline

    specs: list[Loaded] = []
    problems: list[Diagnostic] = []
    sources: dict[str, str] = {}
    for path in find(paths):
        try:
            sources[path] = read_text(path)
            specs.append(pipeline.load_text(sources[path], path))
            problems.extend(specs[-1].spec.warnings)
        except TinygpuError as error:
            problems.extend(error.diagnostics)
            specs += [error.rest] if isinstance(error.rest, pipeline.Loaded) else []
    return tuple(specs), sources, tuple(problems)


def load_sound(paths: Sequence[str]) -> tuple[tuple[Loaded, ...], dict[str, str]]:
    """`paths → (specs, their texts)`. Raises TinygpuError with all that is wrong in any of them."""
    specs, sources, problems = load_all(paths)
    if any(problem.verdict == "error" for problem in problems):
        raise TinygpuError(*problems, texts=sources)
    return specs, sources


def chosen(specs: Iterable[Loaded], names: Sequence[str]) -> tuple[tuple[Loaded, Machine], ...]:
    """The machines of some specs: all, or those of these names, titles, ops, choices or pipelines. Raises TG905 for a name that is none of them."""
    specs = tuple(specs)
    every = [(spec, machine) for spec in specs for machine in spec.machines]
    free = [one for spec in specs for one in spec.spec.families]
    asked = [one for one in free if (one.name in names if names else not every)]
    if asked:
        raise without_numbers(asked[0])
    if specs and not every:
        title = f"there is no machine in {', '.join(s.path for s in specs)}"
        raise TinygpuError.of("TG905", title, help="an operation is computed by a machine: tinygpu new FILE --for OP writes one")
    if not names:
        return tuple(every)
    missing = [n for n in names if not any(n in names_of(m, s) for s, m in every)]
    if missing:
        known = ", ".join(dict.fromkeys(m.name for _, m in every)) or "none"
        raise TinygpuError(
            *(Diagnostic("TG905", f"there is no machine {n}", helps=(f"the machines are {known}",)) for n in missing)
        )
    return tuple((spec, machine) for spec, machine in every if any(n in names_of(machine, spec) for n in names))


def without_numbers(family: Skeleton) -> TinygpuError:
    """What is said where a family is to be a machine, and its numbers are not given."""
    title = f"{family.title} is a machine for each of its numbers, and they are not given"
    label = f"{', '.join(one.written for one in family.numbers)}"
    least = family.named(family.points[0])
    help = f"say which: {family.name} {' '.join(f'{name}={number}' for name, number in least.items())}; tinygpu check proves it for all"
    return TinygpuError.of("TG167", title, family.span, label, help)


def op_named(spec: Loaded, name: str | None) -> Op:
    """An op of a spec; its only one, where nobody says which. Raises TG905."""
    from tinygpu.model.problems import suggestion

    ops = {op.family: op for op in reversed(spec.spec.ops)}
    if name is None and len(ops) == 1:
        (name,) = ops
    if name is not None and name in ops:
        return ops[name]
    listed = ", ".join(reversed([*ops]))
    if not ops or name is None:
        help = f"say which with --op: {listed}" if ops else "write one: docs/tour.md shows how"
        raise TinygpuError.of("TG905", f"{spec.path} has {'several ops' if ops else 'no op'}", help=help)
    help = suggestion(name, ops) or f"the ops are {listed}"
    raise TinygpuError.of("TG905", f"there is no op {name} in {spec.path}", help=help)


def text_of(*ops: Op) -> str:
    """Ops with all that they were made of."""
    from tinygpu.model.source import needed
    from tinygpu.syntax import tree
    from tinygpu.syntax.format import format_file

    return format_file(tree.File(tuple(dict.fromkeys(d for op in ops for d in needed(op.source)))))


def sides_of(spec: Loaded, op: Op) -> tuple[Op, ...]:
    """What the theorems of a spec say is the same as an op: the other sides, as machines of the op compute them."""
    from tinygpu.model.served import mirrored, one_of

    stated = [t for t in spec.spec.theorems if op.family in (t.left.family, t.right.family) and t.left.tensors == t.right.tensors]
    return tuple(one_of(t if t.left.family == op.family else mirrored(t), (), spec.tree) for t in stated)


def among(specs: tuple[Loaded, ...], names: Sequence[str], problems: tuple[Diagnostic, ...]) -> tuple[tuple[Loaded, Machine], ...]:
    """The machines to look at; a name that is none of them may be that of one which is wrong."""
    try:
        return chosen(specs, names) if specs else ()
    except TinygpuError:
        if problems:
            return ()
        raise


def joined_among(spec: Loaded, machines: Sequence[Machine], names: Sequence[str]) -> list[Choice | Pipeline]:
    """The choices and pipelines of a spec that are made of some of its machines: all, or those of these names, or of these ops, and whom they call."""
    every = [one for one in spec.spec.joined if one.among(machines)]
    if not names:
        return every
    from tinygpu.model.pipeline import Pipeline

    found = [one for one in every if {one.name, one.op.family} & {*names}]
    for one in found:
        found += [other for other in (one.joined if isinstance(one, Pipeline) else ()) if other not in found]
    return [one for one in every if one in found]


def names_of(machine: Machine, spec: Loaded | None = None) -> tuple[str, ...]:
    """What a machine may be asked for by; with its spec, also a choice or a pipeline that it is a part of."""
    joined = [one.name for one in spec.spec.joined if machine in one.machines] if spec else []
    return machine.name, machine.title, machine.op.name, machine.op.family, *joined


# ── sizes ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def words(given: Sequence[str]) -> tuple[dict[str, int], list[str]]:
    """`M=512 matmul_tile → ({M: 512}, [matmul_tile])`. Raises TG905 for a size that is no natural number."""
    sizes: dict[str, int] = {}
    names: list[str] = []
    for word in given:
        if "=" not in word or word.endswith("]"):  # titles such as relu_v4[T=f16] have an = too
            names.append(word)
        elif (found := re.fullmatch(r"(\w+)=(\d[\d_]*)", word, re.ASCII)) and len(found[2].replace("_", "")) <= DIGITS:
            sizes[found[1]] = int(found[2])
        else:
            title = f"{brief(word)} is no size"
            raise TinygpuError.of("TG905", title, help=f"write NAME=NUMBER, as in M=512, with at most {DIGITS} digits")
    return sizes, names


def sized(specs: Iterable[Loaded], names: Sequence[str], given: Iterable[str]) -> tuple[Machine, ...]:
    """The machines of these names, some of which have the sizes that are given. Raises TG905 for a size that none has."""
    specs = tuple(specs)
    machines = tuple(machine for _, machine in chosen(specs, names))
    joined = [one for spec in specs for one in joined_among(spec, machines, names)]
    known = {size for one in (*machines, *joined) for size in one.op.sizes}
    if unknown := sorted(set(given) - known):
        title = f"there is no size {', '.join(unknown)}"
        raise TinygpuError.of("TG905", title, help=f"the sizes are {', '.join(sorted(known)) or 'none'}")
    return machines


def usual_sizes(op: Op, given: Mapping[str, int], usual: int, most: int) -> dict[str, int]:
    """The sizes given, and for the others one number that keeps every array below so many elements; halved until the preconditions hold;
    others are looked for where they never do."""
    from math import prod

    from tinygpu.category.evaluate import evaluate
    from tinygpu.category.term import reads

    start = usual
    while True:
        sizes = {s: given.get(s, usual) for s in op.sizes}
        small = max((prod(int(evaluate(e, sizes)) for e in t.shape) for t in op.tensors), default=0) <= most
        if small and all(evaluate(w, sizes) for w in op.where if not reads(w)):
            return sizes
        if usual <= 1:
            from tinygpu.simulate.usual import usual_sizes as search

            return search(op, given, start, most) or sizes
        usual //= 2
