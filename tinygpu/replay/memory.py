"""What an element of an output or a workspace holds before a launch: what the launches before it left there.

Comes in: an element, the number of a launch. Goes out: a term over inputs and earlier symbols.
The one idea: a launch stores every element at most once, by the worker that the inverse of the index says; or it adds to it, in any order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tinygpu.replay.cells import Node, Path, Text
from tinygpu.replay.ir import Read, Term, both, compare, select, within
from tinygpu.replay.judge import Place, Stuck
from tinygpu.replay.program import Assign
from tinygpu.replay.writers import writer

if TYPE_CHECKING:
    from tinygpu.replay.execute import Execution


def before_launch(run: Execution, node: Node, symbol: Read, place: Place) -> Term:
    """An element before a launch."""
    for number in reversed(range(node.launch)):
        text = run.texts[number]
        sites = tuple(text.sites(node.cell))
        if sites:
            return left(run, text, node, sites, symbol, place)
    return run.unwritten(node.cell, symbol.dtype, place)


def left(run: Execution, text: Text, node: Node, sites: tuple[Path, ...], symbol: Read, place: Place) -> Term:
    """What one launch leaves in an element."""
    from tinygpu.replay.execute import joined

    steps = [step for site in sites if isinstance(step := text.step(site), Assign)]
    before: Term = Read(Node(node.cell, text.launch.number, ()).name, symbol.index, symbol.dtype)
    if all(s.atomic for s in steps) and len({s.update for s in steps}) == 1:
        run.judge.any_order(steps[0].update)
        for site, step in zip(sites, steps, strict=True):
            before = joined(step.update, before, run.contributions(text, site, symbol.index, text.around(site), {}))
        return before
    if any(s.update for s in steps):
        raise Stuck(f"{node.cell} is accumulated in memory")
    for site, step in zip(sites, steps, strict=True):
        axes = text.around(site)
        there = writer(run, text, site, symbol.index, axes, {})
        hit = [compare("eq", a, b) for a, b in zip(run.target(text, site, step, there), symbol.index, strict=True)]
        inside = [within(there[a.name], a.extent) for a in axes]
        whole = run.resolve(both(*inside, *hit, run.condition(text, site, there)), place)
        if run.judge.decide(place, whole):
            before = run.value(text, site, step, there, place)
        else:
            before = select(whole, run.value(text, site, step, there, place), before)
    return before
