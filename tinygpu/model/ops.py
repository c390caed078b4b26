"""All ops of a file: those that are written, and those that are pipelines of others.

Comes in: a file in which nothing has a name any more. Goes out: its ops by name, each with its dtypes, and its pipelines. The one idea: a pipeline is an op before it is anything else, so theorems and
machines may be about it; whom it calls is looked up when there are machines.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from tinygpu.model.chain import Chain, chain_of
from tinygpu.model.choice import Choice
from tinygpu.model.elaborate_op import elaborate_op, passed
from tinygpu.model.machine import Machine
from tinygpu.model.pipeline import Pipeline, pipeline_of
from tinygpu.model.problems import Problems
from tinygpu.model.scope import SPECIAL, Scope
from tinygpu.model.served import Instance, Served
from tinygpu.model.source import source, variants
from tinygpu.record import replace
from tinygpu.syntax import tree
from tinygpu.syntax.format import format_expr


def ops_of(file: tree.File, scope: Scope, wrong: Collection[str]) -> dict[str, list[Instance] | None]:
    """The ops by name, each with its dtypes; None for one that is wrong, whose machines are then passed over."""
    served: dict[str, list[Instance] | None] = {}
    for op in file.declarations:
        if isinstance(op, tree.Op) and op.name not in served:
            served[op.name] = _op(op, file, scope, wrong)
    return served


def _op(op: tree.Op, file: tree.File, scope: Scope, wrong: Collection[str]) -> list[Instance] | None:
    before = len(scope.problems)
    made = elaborate_op(scope.problems.enter(op), scope)
    if len(scope.problems) == before:
        passed(made, scope.problems)
    right = len(scope.problems) == before and op.name not in wrong
    ready = [Instance(replace(o, source=source(file, op, v)), v) for o, v in zip(made, variants(op), strict=right)]
    return ready if right else None


def chains_of(
    file: tree.File, served: dict[str, list[Instance] | None], scope: Scope, params: Collection[str], wrong: Collection[str]
) -> tuple[tree.File, list[Chain]]:
    """The pipelines as ops, which are `served`, too, and stand in the file before them."""
    chains, constants = list[Chain](), {*params, *SPECIAL}
    for one in (d for d in file.declarations if isinstance(d, tree.Pipeline)):
        chain = chain_of(scope.problems.enter(one), file, served, constants, scope.problems)
        served[one.name] = _chained(chain, file, scope, wrong) if chain else None
        if chain:
            chains.append(chain)
            place = file.declarations.index(one)
            file = replace(file, declarations=(*file.declarations[:place], chain.op, *file.declarations[place:]))
    return file, chains


def _chained(chain: Chain, file: tree.File, scope: Scope, wrong: Collection[str]) -> list[Instance] | None:
    """The op of a pipeline. Where its equations cannot be, because a call is given other extents than it wants, that is said, and not what follows."""
    alone = Problems()
    made, strange = _op(chain.op, file, replace(scope, problems=alone), wrong), chain.strangers()
    if made is None and alone.found and strange:
        span, wanted, there = strange
        scope.problems.say("TG192.extent", span, wanted=format_expr(wanted), there=format_expr(there))
    else:
        for one in (*alone.found, *alone.warnings):
            scope.problems.take(one)
    return made


def pipelines_of(
    file: tree.File,
    chains: Iterable[Chain],
    served: Served,
    callees: tuple[Machine | Choice | Pipeline, ...],
    constants: Mapping[str, int],
    problems: Problems,
) -> tuple[tree.File, tuple[Pipeline, ...]]:
    """The pipelines whose ops are right, each after those that it may call, and the file in which each says whom it calls."""
    found: list[Pipeline] = []
    for chain in chains:
        for instance in served[chain.op.name] or ():
            if made := pipeline_of(chain, instance.op, (*callees, *found), constants, problems):
                found.append(made)
                calls = (
                    replace(t, by=tree.Name(c.to.name, span=t.span)) for t, c in zip(chain.pipeline.calls, made.calls, strict=True)
                )
                said = replace(chain.pipeline, calls=tuple(calls))
                file = replace(file, declarations=tuple(said if d is chain.pipeline else d for d in file.declarations))
    return file, tuple(found)
