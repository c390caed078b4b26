"""What a cell holds after some turns of a loop.

    only updates, which do not read the cell:   before ⊕ ⊕{ contribution of turn y | y < k }
    one plain write, whose writer is found:     value(y*) if y* < k and it hits, else before
    a ring of n slots:                          the same, with y* the latest turn before k that falls on the slot
    anything else:                              the end of turn k − 1 if k ≥ 1, else before

Comes in: a cell, a loop, how many turns were made. Goes out: a term over earlier symbols. The one idea: the last form is always right, and
the others are for loops in which it would not end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tinygpu.replay.cells import Node, Path, Text
from tinygpu.replay.ir import (
    INDEX,
    ONE,
    ZERO,
    Axis,
    Env,
    Num,
    Op,
    Read,
    Term,
    Var,
    both,
    compare,
    free,
    num,
    put,
    select,
    walk,
    within,
)
from tinygpu.replay.judge import Place, Stuck
from tinygpu.replay.polynomials import opposite, plus, polynomial
from tinygpu.replay.program import Assign, Fresh, If, Loop, Step
from tinygpu.replay.writers import writer

if TYPE_CHECKING:
    from tinygpu.replay.execute import Execution

UNROLLED = 64  # turns of a loop without a closed form that are followed one by one


def after_turns(run: Execution, text: Text, node: Node, index: tuple[Term, ...], env: Env, symbol: Read, place: Place) -> Term:
    """The cell after `symbol.index[-1]` turns."""
    path, turns = node.path, symbol.index[-1]
    loop = text.step(path)
    assert isinstance(loop, Loop)
    before = text.at(node.cell, path, index, env, symbol.dtype)
    if run.judge.simplify(place, compare("le", turns, ZERO)) == Num(True, "bool"):
        return before
    sites = tuple(text.sites(node.cell, path))
    steps = tuple(step for site in sites if isinstance(step := text.step(site), Assign))
    declared = any(isinstance(s, Fresh) and s.array == node.cell for s in inside(loop.body))
    local = node.cell in text.arrays and text.arrays[node.cell].space == "local"
    if not declared and sums(text, path, node.cell, steps, local) and (len(sites) == 1 or not run.judge.ordered(steps[0].update)):
        from tinygpu.replay.execute import joined

        if not local:
            run.judge.any_order(steps[0].update)
        found: Term = before
        for site, step in zip(sites, steps, strict=True):
            over = inner_axes(text, path, site)
            over = over if local else (*text.launch.block, *over)
            more = run.contributions(text, site, index, over, env, (loop.axis.name, turns))
            found = joined(step.update, found, more)
        return found
    if not declared and len(sites) == 1 and not steps[0].update:
        found_one = one_writer(run, text, path, sites[0], index, env, turns, before, place, local)
        if found_one is not None:
            return found_one
    if (isinstance(turns, Num) and turns.value > UNROLLED) or any(
        n == node.name and not isinstance(turns, Num) for n, _ in run.stack[:-1]
    ):
        raise Stuck(f"{node.cell} has no closed form in the loop over {loop.axis.name}")
    last = run.judge.simplify(place, Op("sub", (turns, ONE), INDEX))
    end = text.at(node.cell, (*path, len(loop.body)), index, {**env, loop.axis.name: last}, symbol.dtype)
    return select(compare("ge", turns, ONE), end, before)


def inside(body: tuple[Step, ...]) -> Iterator[Step]:
    """All steps of a body."""
    for step in body:
        yield step
        if isinstance(step, Loop | If):
            yield from inside(step.body)


def inner_axes(text: Text, path: Path, site: Path) -> tuple[Axis, ...]:
    """The loops from the one at `path` to a step inside of it."""
    return text.around(site)[len(text.around(path)) :]


def sums(text: Text, path: Path, cell: str, steps: tuple[Assign, ...], local: bool) -> bool:
    """Whether the loop only adds to the cell, what does not depend on it."""
    updates = {s.update for s in steps}
    if len(updates) != 1 or "" in updates or not (local or all(s.atomic for s in steps)):
        return False
    return cell not in sources(text, path, cell)


def sources(text: Text, path: Path, cell: str) -> frozenset[str]:
    """All arrays that the loop's writes to a cell depend on, through what the loop writes."""
    seen: set[str] = set()
    waiting = [cell]
    while waiting:
        for site in text.sites(waiting.pop(), path):
            step = text.step(site)
            assert isinstance(step, Assign)
            terms = [step.value, step.guard, *step.index, *(g for p, g in text.guards(site) if len(p) > len(path))]
            found = {t.array for term in terms for t in walk(term) if isinstance(t, Read)} - seen
            seen |= found
            waiting += found
    return frozenset(seen)


def one_writer(
    run: Execution, text: Text, path: Path, site: Path, index: tuple[Term, ...], env: Env, turns: Term, before: Term,
    place: Place, local: bool,
) -> Term | None:  # fmt: skip
    """The value that the one write in a loop leaves, if the index says which turn it was."""
    loop, step = text.step(path), text.step(site)
    assert isinstance(loop, Loop) and isinstance(step, Assign)
    over = inner_axes(text, path, site)
    spoken = frozenset().union(*map(free, step.index), free(step.guard))
    if loop.axis.name not in spoken:
        return None
    axes = over if local else (*text.launch.block, *over)
    limits = {a.name: put(a.extent, env) for a in axes} | {loop.axis.name: turns}
    last = latest(run, text, loop, site, index, turns)
    if last is None:
        who = writer(run, text, site, index, axes, env)
    else:
        env = {**env, loop.axis.name: last}
        who = {**writer(run, text, site, index, tuple(a for a in axes if a is not loop.axis), env), loop.axis.name: last}
    there = {**env, **who}
    hit = [compare("eq", a, b) for a, b in zip(run.target(text, site, step, there), index, strict=True)]
    ranges = [within(who[a.name], limits[a.name]) for a in axes]
    whole = run.resolve(both(*ranges, *hit, run.condition(text, site, there)), place)
    if last is not None:  # where it is no turn, there was none; where it is one, it has to be a write
        some = compare("ge", last, ZERO)
        if not run.judge.decide(place.under(run.judge.simplify(place, some)), whole):
            raise Stuck(f"the last turn that writes a slot of {step.target} may not write it")
        return select(some, run.value(text, site, step, there, place), before)
    if run.judge.decide(place, whole):
        return run.value(text, site, step, there, place)
    if run.judge.decide(place, opposite(whole)):
        return before
    return select(whole, run.value(text, site, step, there, place), before)


def latest(run: Execution, text: Text, loop: Loop, site: Path, index: tuple[Term, ...], turns: Term) -> Term | None:
    """The last turn of a ring before `turns` that writes a slot: of `(y + c) % n = i` it is `k − 1 − (k − 1 + c − i) % n`; claimed to be the last.

    None if the index is of another form.
    """
    step, name = text.step(site), loop.axis.name
    assert isinstance(step, Assign)
    plain: Env = {a.name: Var(a.name) for a in text.around(site)}
    targets = run.target(text, site, step, plain)
    slots = [n for n, t in enumerate(targets) if name in free(t)]
    match [targets[n] for n in slots]:
        case [Op("mod", (y, Num(int(size))))] if plus(polynomial(y), {(Var(name),): -1}).keys() <= {()} and size > 0:
            shift = plus(polynomial(y), {(Var(name),): -1}).get((), 0)
        case _:
            return None

    def last(turns: Term, slot: Term) -> Term:
        before = Op("sub", (turns, ONE), INDEX)
        back = Op("mod", (Op("sub", (Op("add", (before, num(shift)), INDEX), slot), INDEX), num(size)), INDEX)
        return Op("sub", (before, back), INDEX)

    made = Axis(run.judge.names.fresh("turns"), Op("add", (loop.axis.extent, ONE), INDEX))
    kind = run.judge.kind, run.judge.code, run.judge.sentence
    run.judge.about("dataflow", "TG501", f"the latest turn that writes a slot of {step.target}", step.span)
    place = Place((*text.around(site), made)).under(compare("lt", Var(name), Var(made.name)))
    run.judge.state(place, compare("le", Var(name), last(Var(made.name), targets[slots[0]])))
    run.judge.kind, run.judge.code, run.judge.sentence = kind
    return last(turns, index[slots[0]])
