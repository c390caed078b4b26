"""What a cell holds, asked backwards: a symbol is taken apart at the one write before it, until only inputs and folds are left.

    before a write:   value(w) if it hits, else what the cell held before it           w is the writer: this thread, or the witness of `inverse`
    after k turns:    all updates:   before ⊕ ⊕{ contribution | turns < k }             one writer: its value if there is one, else before
                      otherwise:     the end of turn k − 1 if k ≥ 1, else before

Comes in: symbols of `cells`, a place. Goes out: terms without symbols; what was relied on is claimed at the judge.
The one idea: nothing is followed that nobody asks for.
"""

from __future__ import annotations

from tinygpu.record import dataclass, field
from tinygpu.replay.cells import Node, Path, Text, node_of
from tinygpu.replay.ir import (
    BOOL,
    FALSE,
    TRUE,
    Axis,
    Env,
    Fold,
    Op,
    Read,
    Term,
    Var,
    both,
    compare,
    negated,
    put,
    rebuild,
    select,
    within,
)
from tinygpu.replay.judge import Judge, Place, Stuck
from tinygpu.replay.merged import merged
from tinygpu.replay.narrow import narrowed
from tinygpu.replay.polynomials import opposite
from tinygpu.replay.program import Assign, Fresh, If, Loop, Machine
from tinygpu.replay.writers import writer

UNROLLED = 64  # turns of a loop without a closed form that are followed one by one
DEEP = 400  # symbols taken apart inside one another
MANY = 30_000  # terms taken apart for one machine; no shipped one has more than seven thousand


@dataclass(slots=True)
class Execution:
    """The launches of a machine, and the way that was gone so far."""

    judge: Judge
    texts: tuple[Text, ...]
    stack: list[tuple[str, Term]] = field(default_factory=list)
    done: dict[tuple[Term, Place, str], Term] = field(default_factory=dict)
    unique: dict[tuple[Path, int, tuple[Axis, ...]], tuple[Env, tuple[Axis, ...]]] = field(default_factory=dict)
    held: str = ""  # symbols of this name stay as they are

    @classmethod
    def of(cls, machine: Machine, judge: Judge) -> Execution:
        return cls(judge, tuple(Text(machine, launch) for launch in machine.launches))

    # ── terms ──

    def resolve(self, term: Term, place: Place) -> Term:
        """The term with every symbol of a cell taken apart, as far as it is needed at the place."""
        key = (term, place, self.held)
        if key not in self.done:
            if len(self.done) > MANY:
                raise Stuck("what the cells hold is too large to write down")
            self.done[key] = self._resolve(self.judge.simplify(place, term), place)
        return self.done[key]

    def _resolve(self, term: Term, place: Place) -> Term:
        match term:
            case Op("select", (condition, then, otherwise)):
                condition = self.resolve(condition, place)
                if condition in (TRUE, negated(TRUE)):
                    return self.resolve(then if condition == TRUE else otherwise, place)
                first = self.resolve(then, place.under(condition))
                return select(condition, first, self.resolve(otherwise, place.under(opposite(condition))))
            case Op("and" | "or" as op, args):
                found: list[Term] = []
                for arg in args:
                    found.append(self.resolve(arg, place.under(*(found if op == "and" else map(opposite, found)))))
                return self.judge.simplify(place, Op(op, tuple(found), BOOL))
            case Fold():
                fold = self.judge.names.apart(term)
                inner = place.inside(*fold.binders)
                guard = self.resolve(fold.guard, inner)
                body = self.resolve(fold.body, inner.under(guard))
                fold = narrowed(Fold(fold.monoid, fold.binders, guard, body, fold.dtype), place, self.judge)
                return merged(fold, place, self.judge)
            case Read(name, index, dtype):
                index = tuple(self.resolve(i, place) for i in index)
                node = node_of(name)
                if node is None or name == self.held:
                    return Read(name, index, dtype)
                return self.expanded(node, Read(name, index, dtype), place)
        return self.judge.simplify(place, rebuild(term, lambda t: self.resolve(t, place)))

    def expanded(self, node: Node, symbol: Read, place: Place) -> Term:
        """A symbol taken apart once, and what comes out resolved."""
        if any(node.name == name and symbol == old for name, old in self.stack) or len(self.stack) > DEEP:
            raise Stuck(f"{node.cell} has no closed form in a loop")
        self.stack.append((node.name, symbol))
        try:
            return self.resolve(self.opened(node, symbol, place), place)
        finally:
            self.stack.pop()

    def opened(self, node: Node, symbol: Read, place: Place) -> Term:
        """What a symbol stands for, in terms of earlier ones."""
        if not node.path:
            from tinygpu.replay.memory import before_launch

            return before_launch(self, node, symbol, place)
        text = self.texts[node.launch]
        axes = text.around(node.path)
        rank = len(symbol.index) - len(axes) - node.turns
        index, values = symbol.index[:rank], symbol.index[rank : rank + len(axes)]
        env = dict(zip((a.name for a in axes), values, strict=True))
        if node.turns:
            from tinygpu.replay.turns import after_turns

            return after_turns(self, text, node, index, env, symbol, place)
        return self.before_step(text, node, index, env, symbol.dtype, place)

    def before_step(self, text: Text, node: Node, index: tuple[Term, ...], env: Env, dtype: str, place: Place) -> Term:
        """What a cell holds after the step before a position."""
        path = (*node.path[:-1], node.path[-1] - 1)
        match text.step(path):
            case Fresh():
                return self.unwritten(node.cell, symbol_dtype=dtype, place=place)
            case If(_, body):
                return text.at(node.cell, (*path, len(body)), index, env, dtype)
            case Loop(axis):
                turns = put(axis.extent, env)
                return text.symbol(Node(node.cell, node.launch, path, True), index, env, dtype, (turns,))
            case Assign() as step:
                if text.arrays[node.cell].space == "local":
                    return self.own_write(text, path, step, index, env, place)
                return self.shared_write(text, path, step, index, env, place)
        raise Stuck(f"{node.cell} is changed by a step that is not followed")

    def unwritten(self, cell: str, symbol_dtype: str, place: Place) -> Term:
        """A cell that nobody wrote: nothing may come here."""
        kind = self.judge.kind, self.judge.code, self.judge.sentence
        self.judge.about("initialised", "TG301", f"{cell} is written before it is read")
        if not self.judge.impossible(place):
            self.judge.state(place, FALSE)
        self.judge.kind, self.judge.code, self.judge.sentence = kind
        return Op("never", (), symbol_dtype)

    # ── one write ──

    def condition(self, text: Text, path: Path, env: Env) -> Term:
        """All guards of an assignment, at a writer."""
        step = text.step(path)
        assert isinstance(step, Assign)
        outer = [text.cells(guard, p, env) for p, guard in text.guards(path)]
        return both(*outer, text.cells(step.guard, path, env))

    def target(self, text: Text, path: Path, step: Assign, env: Env) -> tuple[Term, ...]:
        """The index that is written."""
        return tuple(text.cells(i, path, env) for i in step.index)

    def own_write(self, text: Text, path: Path, step: Assign, index: tuple[Term, ...], env: Env, place: Place) -> Term:
        """A write of this thread to a cell of its own."""
        hit = [compare("eq", a, b) for a, b in zip(self.target(text, path, step, env), index, strict=True)]
        return self.written(text, path, step, index, env, both(*hit, self.condition(text, path, env)), place)

    def shared_write(self, text: Text, path: Path, step: Assign, index: tuple[Term, ...], env: Env, place: Place) -> Term:
        """A write of all threads to shared cells, all in one step."""
        old = text.at(step.target, path, index, env, step.value.dtype)
        if step.atomic:
            self.judge.any_order(step.update)
            return joined(step.update, old, self.contributions(text, path, index, text.launch.block, env))
        who = writer(self, text, path, index, text.launch.block, env)
        there = {**env, **who}
        hit = [compare("eq", a, b) for a, b in zip(self.target(text, path, step, there), index, strict=True)]
        inside = [within(who[a.name], a.extent) for a in text.launch.block]
        return self.written(text, path, step, index, there, both(*inside, *hit, self.condition(text, path, there)), place)

    def written(self, text: Text, path: Path, step: Assign, index: tuple[Term, ...], env: Env, hit: Term, place: Place) -> Term:
        """The value after a write by the writer `env`: the new one where it hits, else the old one."""
        dtype = step.value.dtype
        old = text.at(step.target, path, index, env, dtype)
        hit = self.resolve(hit, place)
        if self.judge.decide(place, hit):
            hit = TRUE
        elif self.judge.decide(place, opposite(hit)):
            return old
        from tinygpu.replay.doubling import doubled

        both_values = doubled(self, text, path, step, old, hit, env, place)
        if both_values is not None:
            return both_values
        if not step.update:
            return select(hit, self.value(text, path, step, env, place), old)
        return joined(step.update, old, Fold(step.update, (), hit, self.value(text, path, step, env), dtype))

    def value(self, text: Text, path: Path, step: Assign, env: Env, place: Place | None = None) -> Term:
        """What is assigned."""
        from tinygpu.replay.doubling import folded_pairs

        return folded_pairs(text.cells(step.value, path, env), self.judge, place)

    # ── many writes ──

    def fresh(self, axes: tuple[Axis, ...], env: Env) -> tuple[tuple[Axis, ...], dict[str, Term]]:
        """New names for axes that writers run over, and the axes under these names."""
        found: dict[str, Term] = dict(env)
        made = []
        for axis in axes:
            name = self.judge.names.fresh(axis.name)
            made.append(Axis(name, put(axis.extent, found)))
            found[axis.name] = Var(name)
        return tuple(made), found

    def contributions(
        self, text: Text, path: Path, index: tuple[Term, ...], over: tuple[Axis, ...], env: Env, *more: tuple[str, Term]
    ) -> Fold:
        """All that an update adds to a cell, over the given axes; `more` are axes with their extents (turns made so far)."""
        step = text.step(path)
        assert isinstance(step, Assign)
        limits = dict(more)
        axes, there = self.fresh(tuple(Axis(a.name, limits.get(a.name, a.extent)) for a in over), env)
        hit = [compare("eq", a, b) for a, b in zip(self.target(text, path, step, there), index, strict=True)]
        guard = both(*hit, self.condition(text, path, there))
        return Fold(step.update, axes, guard, self.value(text, path, step, there), step.value.dtype)


def joined(monoid: str, old: Term, more: Term) -> Term:
    """`old ⊕ more`."""
    return Op(f"join.{monoid}", (old, more), old.dtype)
