"""Folds that go on side by side in one loop, each of what the others have so far.

    m = max z;  s = Σ exp(z − m)   ↦   for c { old := m;  m max= max z;  s := s·exp(old − m) + Σ exp(z − m) }       each over the terms of turn c

Comes in: the plans of a launch. Goes out: the same, where each of these folds is a plan in that loop, and what follows it one behind it. The one idea:
where m changes, all terms exp(z − m) change by one factor, so what has been added up is multiplied by it. Nobody has to believe that: after each turn it is said what the cells hold, which is the equation's own fold as far as the loop has come, and that is proved.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from functools import partial, reduce

from tinygpu.category.decide import holds
from tinygpu.category.linear import polynomial
from tinygpu.category.monoid import INFINITY, as_monoid, neutral
from tinygpu.category.region import Region
from tinygpu.category.simplify import simplify
from tinygpu.category.term import (
    TRUE,
    App,
    Axis,
    Const,
    Fold,
    Read,
    Term,
    Var,
    conjunction,
    exchange,
    lift,
    outermost_folds,
    outside,
    reads,
    rebuild,
    select,
    substitute,
    variables,
)
from tinygpu.derive.fold import Place, folded, start
from tinygpu.derive.nest import REGISTER, VECTOR, Build, cells, guarded, loops, point
from tinygpu.derive.operand import within
from tinygpu.derive.plan import Online, Plan
from tinygpu.derive.reduce import collective
from tinygpu.model.machine import Launch, Phase, inlined
from tinygpu.model.op import Op, put_in
from tinygpu.model.problems import refused
from tinygpu.program.step import Assign, Ghost, Step
from tinygpu.record import dataclass, field, replace


def side_by_side(build: Build, op: Op, launch: Launch, todo: Sequence[Plan]) -> tuple[Plan, ...]:
    """The plans of a launch, with those folds in their loop."""
    if (clause := launch.online) is None:
        return tuple(todo)
    course = Course(build, op, launch, next(a for a in build.axes if a.name == clause.factor))
    build.running = {}
    for plan in todo:
        if plan.target in clause.equations:
            course.add(plan)
        else:
            (course.behind if course.turns else course.before).append(plan)
    return (*course.before, *course.turns.values(), *course.behind)


@dataclass(slots=True)
class Course:
    """The folds that go on in a loop, `turns` by the names of their cells, and what stands before the loop and behind it."""

    build: Build
    op: Op
    launch: Launch
    loop: Axis
    before: list[Plan] = field(default_factory=list)
    turns: dict[str, Plan] = field(default_factory=dict)
    behind: list[Plan] = field(default_factory=list)

    def add(self, plan: Plan) -> None:
        """One more of them; what its equation makes of it stands behind the loop. Raises TG539 where it cannot go on."""
        (phase,) = (p for p in self.launch.phases if p.equation.target == plan.target)
        inside = _fold(plan, self.loop, phase)
        fold = inside if plan.plain is None else _fold(replace(plan, value=plan.plain), self.loop, phase)
        self.tiles(inside)
        read = {r: p for r in reads(fold) for p in (*self.before, *self.behind) if r.tensor == p.kept}
        for late in (r for r, p in read.items() if p in self.behind):
            raise refused("TG539.first", plan.span, late.span, name=plan.target, other=read[late].target, loop=self.loop.name)
        others = {r: self.asked(r) for r in reads(fold) if r.tensor in self.turns}
        held = {p.target: r for r, p in (*read.items(), *others.items())}
        going = Online(self.loop, _change(plan, fold, others), self.known(phase, held))
        inner = replace(inside, axes=tuple(a for a in inside.axes if a != self.loop))
        kept = plan.kept if plan.value == inside and plan.kept else self.build.fresh("acc")
        time = (*plan.time, self.loop)
        self.build.running[plan.target] = partial(_cell, plan, kept)
        self.turns[kept] = replace(plan, value=inner, time=time, absent=(), stored=False, kept=kept, online=going)
        if plan.stored or kept != plan.kept:
            value = exchange(plan.value, {inside: Read(kept, point(plan.cells), plan.dtype)})
            self.behind.append(replace(plan, value=value, kept="" if kept == plan.kept else plan.kept))

    def tiles(self, fold: Fold) -> None:
        """The tiles that a fold reads and that are made of folds which go on: each is filled in every turn, behind these."""
        late = {self.build.tiles[s.name].array: s for s in self.launch.late(self.op)}
        for array in dict.fromkeys(r.tensor for r in reads(fold) if r.tensor in late and r.tensor not in self.turns):
            stage = late[array]
            if not self.build.core:
                raise refused("TG539.tile", stage.span, name=stage.tensor)
            going = Online(self.loop, lift(0), lift(0))
            self.turns[array] = Plan(
                stage.tensor, fold.dtype, (), lift(0), (), (self.loop,), (), (), False, array, stage.span, online=going
            )

    def asked(self, read: Read) -> Plan:
        """The fold in some cells, which from now on keeps what was there before each turn."""
        plan = self.turns[read.tensor]
        assert plan.online is not None
        if not plan.online.before:
            old = self.build.fresh(f"{plan.target}_before")
            self.build.local(old, plan.dtype, plan.cells, plan.span)
            plan = self.turns[read.tensor] = replace(plan, online=replace(plan.online, before=old))
        return plan

    def known(self, phase: Phase, held: Mapping[str, Read]) -> Term:
        """The fold of an equation as far as the loop has come, over factors; what is `held` is read from its cells."""
        owner, box = phase.owner.by_axis, Region(phase.owner.domain.axes)
        (fold,) = outermost_folds(inlined(self.launch.phases)[phase.equation.target])
        index, seen = _index(replace(fold, axes=box.axes), self.loop, phase) or ("", lift(0))
        far = replace(fold, guard=conjunction(fold.guard, Var(index) < Var("seen of it")))  # no text has such a name
        others = {t.name: self.op.equation(t.name) for t in self.op.intermediates if t.name not in held}
        named = _renamed(self.build, put_in(far, others))
        assert isinstance(named, Fold)
        mine = {a.name for a in fold.axes}
        bind = {name: term for name, term in owner.items() if name not in mine} | {"seen of it": seen}
        guard, body = (simplify(substitute(t, bind), box) for t in (named.guard, named.body))
        return replace(named, guard=guard, body=exchange(body, {r: held[r.tensor] for r in reads(body) if r.tensor in held}))


def _cell(plan: Plan, kept: str, index: tuple[Term, ...]) -> Read:
    """The cell in which a fold has an element."""
    place: dict[str, Term] = {}
    for given, mine in zip(index, plan.index, strict=True):
        offset = given - substitute(mine, {a.name: lift(0) for a in plan.cells})
        steps = {a.name: polynomial(mine).get((Var(a.name),), 0) for a in plan.cells}
        place |= {a.name: offset // steps[a.name] % a.extent for a in plan.cells if steps[a.name]}
    return Read(kept, tuple(place[a.name] for a in plan.cells), plan.dtype)


def _fold(plan: Plan, loop: Axis, phase: Phase) -> Fold:
    """The one fold that goes on. Raises TG539 where there is none, or it goes along that loop and others of the work."""
    folds = outermost_folds(plan.value)
    mine = [f for f in folds if loop in f.axes]
    chosen = any(isinstance(t, App) and t.op == "select" for t in outside(plan.value))  # whose condition is one of the fold
    if chosen or len(folds) != 1 or not mine or mine[0].dtype != plan.dtype or _index(mine[0], loop, phase) is None:
        raise refused("TG539.fold", plan.span, name=plan.target, loop=loop.name)
    return mine[0]


def _index(fold: Fold, loop: Axis, phase: Phase) -> tuple[str, Term] | None:
    """The index that the loop goes along, and before which of its values all are seen after a turn."""
    owner = phase.owner.by_axis
    (name, *others) = [n for n, term in owner.items() if loop.name in variables(term)]
    axes = [a for a in fold.axes if a.name in variables(owner[name])]
    seen = substitute(owner[name], {a.name: Var(loop.name) + 1 if a == loop else lift(0) for a in axes})
    rest = variables(owner[name]) - {a.name for a in axes}
    whole = not rest and holds(owner[name] < seen, Region(fold.axes)) is True
    return (name, simplify(seen, Region(fold.axes))) if whole and not others else None


def _change(plan: Plan, fold: Fold, others: Mapping[Read, Plan]) -> Term:
    """What each term of a fold is multiplied by where others change. Raises TG539 where that differs from term to term, or is no number in the first
    turn, before which the others are units."""
    counts: dict[tuple[str, Read], int] = {}
    found = [*_factors(fold.body, others.keys())] if others else []
    for op, read, sign in (f for f in found if f is not None):
        counts[op, read] = counts.get((op, read), 0) + sign
    grown = {key: n for key, n in counts.items() if n}
    endless = any(n * _unit(others[read]) == -INFINITY for (_, read), n in grown.items())
    asked = others.keys() & {*reads(fold.guard)}
    if asked or None in found or endless or (grown and fold.monoid != "sum"):
        names = sorted({other.target for other in others.values()})
        raise refused("TG539.term", plan.span, name=plan.target, others=names)
    return reduce(lambda a, b: App("mul", (a, b), fold.dtype), _powers(grown, others)) if grown else Const(1.0, fold.dtype)


def _powers(grown: Mapping[tuple[str, Read], int], others: Mapping[Read, Plan]) -> Iterator[Term]:
    for (op, now), n in grown.items():
        it = others[now].online
        assert it is not None
        old = replace(now, tensor=it.before)
        yield from [App(op, (App("sub", (now, old) if n > 0 else (old, now), now.dtype),), now.dtype)] * abs(n)


def _unit(plan: Plan) -> float:
    """What a fold is over nothing."""
    assert isinstance(plan.value, Fold)
    unit = neutral(plan.value.monoid, plan.dtype)
    return float(unit.value) if isinstance(unit, Const) else 0.0


def _factors(term: Term, now: Set[Read], sign: int = 0, op: str = "") -> Iterator[tuple[str, Read, int] | None]:
    """The factors of a product that reads change: of which function, and whether its exponent grows or falls with them. None where it is no factor."""
    if not {*reads(term)} & now:
        return
    match term:
        case App("mul", args) if not op:
            yield from (f for a in args for f in _factors(a, now))
        case App("div", (a, b)) if not op and not {*reads(b)} & now:
            yield from _factors(a, now)
        case App("select", (condition, then, Const(value))) if not op and value == 0 and not {*reads(condition)} & now:
            yield from _factors(then, now)
        case App("exp" | "exp2" as function, (exponent,)) if not op:
            yield from _factors(exponent, now, 1, function)
        case App("add", (a, b)) if op:
            yield from (*_factors(a, now, sign, op), *_factors(b, now, sign, op))
        case App("sub", (a, b)) if op:
            yield from (*_factors(a, now, sign, op), *_factors(b, now, -sign, op))
        case App("neg", (a,)):
            yield from _factors(a, now, -sign, op)
        case Read() if op:
            yield op, term, sign
        case _:
            yield None


def _renamed(build: Build, term: Term) -> Term:
    """The term whose folds have indices that nothing around has."""
    term = rebuild(term, lambda inner: _renamed(build, inner))
    if not isinstance(term, Fold):
        return term
    names: dict[str, str] = {a.name: build.fresh(a.name) for a in term.axes}
    bind: dict[str, Term] = {old: Var(new) for old, new in names.items()}
    axes = tuple(replace(a, name=names[a.name]) for a in term.axes)
    return replace(term, axes=axes, guard=substitute(term.guard, bind), body=substitute(term.body, bind))


def by_lanes(build: Build, fold: Fold) -> Fold:
    """A fold on a core as one of each lane and then one of the lanes: `⊕_{b, x} v = ⊕_x ⊕_b v`."""
    lanes = tuple(a for a in fold.axes if a.sort == VECTOR)
    rest = tuple(a for a in fold.axes if a not in lanes)
    if not (build.core and lanes and rest and as_monoid(fold.monoid).commutative):
        return fold
    return replace(fold, axes=lanes, guard=TRUE, body=replace(fold, axes=rest))


def turned(build: Build, plan: Plan, place: Place) -> tuple[Step, ...]:
    """A turn of a fold that goes on: what was there, by its factor, and the terms of the turn."""
    it, fold, span = plan.online, plan.value, plan.span
    if plan.kept in build.tiles:
        return build.copies.pop(plan.kept)
    assert it is not None and isinstance(fold, Fold)
    cell, steps = Read(plan.kept, point(plan.cells), plan.dtype), list[Step]()
    build.begins.setdefault(it.loop.name, []).extend(start(build, fold, plan.kept, place))
    if it.before:
        steps += cells(build, plan.cells, (Assign(it.before, cell.index, cell, span=span),), span)
    if it.change != Const(1.0, plan.dtype):
        own, factor = within(it.change, plan.cells), build.fresh(f"{plan.target}_factor")
        build.local(factor, plan.dtype, own, span)
        others = {a.name for a in plan.cells} - {a.name for a in own}
        asked = conjunction(*(p for p in place.rest if not variables(p) & others))
        value = select(asked, it.change, Const(1.0, plan.dtype))
        steps += cells(build, own, (Assign(factor, point(own), value, span=span),), span)
        steps += cells(
            build, plan.cells, (Assign(plan.kept, cell.index, Read(factor, point(own), plan.dtype), "prod", span=span),), span
        )
    if collective(fold):
        build.local(plan.kept, plan.dtype, plan.cells, span)
        inner, (value,) = folded(build, (fold,), place, ("",))
        inner += cells(build, plan.cells, (Assign(plan.kept, cell.index, value, str(fold.monoid), span=span),), span)
    else:
        inner, _ = folded(build, (by_lanes(build, fold),), place, (plan.kept,), begun=True)
    each = tuple(replace(a, sort=REGISTER if a.sort == VECTOR else a.sort) for a in plan.cells)
    fact = loops(each, guarded(place.rest, (Ghost(plan.kept, cell.index, it.known, span),), span), span)
    return (*steps, *inner, *fact)
