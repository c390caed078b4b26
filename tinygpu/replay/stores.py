"""What is in the outputs at the end: every element stored, once, and with the equation's value.

    one plain launch:   each store s of each worker w:  value(w) = equation at index(w)        and every element has its worker
    otherwise:          for each element o what all launches left in it = equation at o

Comes in: a machine's execution. Goes out: claims. The one idea: cover, once and the values are about the same arrows from workers to elements.
"""

from __future__ import annotations

from tinygpu.replay.cells import Node, Path, Text
from tinygpu.replay.equal import agree
from tinygpu.replay.execute import Execution
from tinygpu.replay.ir import FALSE, ZERO, Axis, Fold, Names, Read, Term, Var, both, compare, either, put, rebuild, within
from tinygpu.replay.judge import Judge, Place, Stuck
from tinygpu.replay.program import Assign, Equation, Operation, Tensor
from tinygpu.replay.writers import writer


def stores(run: Execution, judge: Judge) -> None:
    """The claims about all outputs."""
    for text in run.texts:
        for name in (*(t.name for t in judge.machine.op.outputs), *(w.name for w in judge.machine.workspaces)):
            apart(run, text, name, judge)
    for output in judge.machine.op.outputs:
        writing = [t for t in run.texts if any(t.sites(output.name))]
        judge.about("store", "TG502", f"{output.name} is what its equation says")
        sites = [(t, s) for t in writing for s in t.sites(output.name)]
        if len(writing) == 1 and not any(step.update for t, s in sites if isinstance(step := t.step(s), Assign)):
            for text, site in sites:
                judge.attempt(lambda text=text, site=site, output=output: pushed(run, text, site, output, judge))  # type: ignore[misc]
            judge.about("cover", "TG201", f"every element of {output.name} is stored")
            judge.attempt(lambda text=writing[0], output=output: covered(run, text, output, judge))  # type: ignore[misc]
        else:
            judge.attempt(lambda output=output: pulled(run, output, judge))  # type: ignore[misc]


def place_of(run: Execution, text: Text, path: Path) -> Place:
    """The place of an assignment, with all of its guards."""
    axes = text.around(path)
    plain = {a.name: Var(a.name) for a in axes}
    place = Place(axes)
    return place.under(run.resolve(run.condition(text, path, plain), place))


def pushed(run: Execution, text: Text, path: Path, output: Tensor, judge: Judge) -> None:
    """One store: for every worker, the value is that of the equation at the element."""
    step = text.step(path)
    assert isinstance(step, Assign)
    judge.about("store", "TG502", f"what is stored to {output.name} is what its equation says", step.span)
    plain = {a.name: Var(a.name) for a in text.around(path)}
    place = place_of(run, text, path)
    index = tuple(run.resolve(i, place) for i in run.target(text, path, step, plain))
    value = run.resolve(run.value(text, path, step, plain), place)
    agree(value, element(judge.machine.op, output.name, index, judge.names), place, judge)


def pulled(run: Execution, output: Tensor, judge: Judge) -> None:
    """Every element at the end."""
    axes = tuple(Axis(judge.names.fresh(f"{output.name}.{n}"), e) for n, e in enumerate(output.shape))
    index = tuple(Var(a.name) for a in axes)
    place = Place(axes)
    symbol = Read(Node(output.name, len(run.texts), ()).name, index, output.dtype)
    agree(run.resolve(symbol, place), element(judge.machine.op, output.name, index, judge.names), place, judge)


def covered(run: Execution, text: Text, output: Tensor, judge: Judge) -> None:
    """Every element has a worker that stores it."""
    axes = tuple(Axis(judge.names.fresh(f"{output.name}.{n}"), e) for n, e in enumerate(output.shape))
    index = tuple(Var(a.name) for a in axes)
    place = Place(axes)
    ways = []
    for path in text.sites(output.name):
        step = text.step(path)
        assert isinstance(step, Assign)
        around = text.around(path)
        there = writer(run, text, path, index, around, {})
        hit = [compare("eq", a, b) for a, b in zip(run.target(text, path, step, there), index, strict=True)]
        inside = [within(there[a.name], a.extent) for a in around]
        ways.append(run.resolve(both(*inside, *hit, run.condition(text, path, there)), place))
    judge.state(place, either(*ways))


def apart(run: Execution, text: Text, array: str, judge: Judge) -> None:
    """No element is stored twice in a launch: not by two workers at one place of the text, nor at two places."""
    sites = [s for s in text.sites(array) if isinstance(step := text.step(s), Assign) and not step.atomic]

    def state() -> None:
        for number, path in enumerate(sites):
            step = text.step(path)
            assert isinstance(step, Assign)
            judge.about("once", "TG202", f"no two workers store one element of {array}", step.span)
            writer(run, text, path, tuple(ZERO for _ in step.index), text.around(path), {})
            for other in sites[:number]:
                judge.about("once", "TG202", f"no element of {array} is stored at two places of the text", step.span)
                two_sites(run, text, path, other, judge)

    judge.about("once", "TG202", f"no element of {array} is stored twice")
    judge.attempt(state)


def two_sites(run: Execution, text: Text, path: Path, other: Path, judge: Judge) -> None:
    """The elements stored at two places of the text are different."""
    one, two = text.step(path), text.step(other)
    assert isinstance(one, Assign) and isinstance(two, Assign)
    axes, env = run.fresh(text.around(other), {})
    place = place_of(run, text, path)
    plain = {a.name: Var(a.name) for a in text.around(path)}
    place = place.inside(*axes)
    place = place.under(run.resolve(run.condition(text, other, env), place))
    pairs = zip(run.target(text, path, one, plain), run.target(text, other, two, env), strict=True)
    judge.state(place.under(run.resolve(both(*(compare("eq", a, b) for a, b in pairs)), place)), FALSE)


# ── the equation ──


def element(op: Operation, name: str, index: tuple[Term, ...], names: Names) -> Term:
    """The equation at an element, intermediates put in by their equations."""
    equation = op.equation(name)
    return inlined(op, at(equation, index, names), names)


def at(equation: Equation, index: tuple[Term, ...], names: Names) -> Term:
    """The value of an equation at an index."""
    bind = {a.name: i for a, i in zip(equation.axes, index, strict=True)}
    return put(renamed(equation.value, names), bind)


def renamed(term: Term, names: Names) -> Term:
    """The term with new names for all binders."""
    term = rebuild(term, lambda t: renamed(t, names))
    return names.apart(term) if isinstance(term, Fold) else term


def inlined(op: Operation, term: Term, names: Names) -> Term:
    """The term with every read of an intermediate replaced by its equation."""
    hidden = {e.target.name for e in op.equations} - {t.name for t in op.outputs}
    made = {t.name for t in op.outputs}
    match term:
        case Read(name, index) if name in hidden:
            return inlined(op, at(op.equation(name), tuple(inlined(op, i, names) for i in index), names), names)
        case Read(name, _) if name in made:
            raise Stuck(f"the equations read {name}")
    return rebuild(term, lambda t: inlined(op, t, names))
