"""What only the text of a CUDA kernel has: barriers, updates, wide accesses, and a choice between these and single ones.

Comes in: statements. Goes out: what they do to names and memory. The one idea: names of the text stand for terms and are put in where they are
used; a choice of the text that the program has not is followed twice, once where its condition holds and once where it does not. Wide accesses
are those of the loop beside them (`moves.py`).
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Sequence

from tinygpu.category.term import BOOL, Axis, Const, Read, Term, Var, conjuncts, negation, reads, text
from tinygpu.derive.operand import fill
from tinygpu.program.call import Call, Sent, Sync
from tinygpu.program.statement import line
from tinygpu.program.step import Assign, For, Step, steps
from tinygpu.program.traverse import meets, terms
from tinygpu.record import dataclass, field, replace
from tinygpu.schedule.registers import Called
from tinygpu.schedule.roles import map_of, parameter
from tinygpu.validate.expression import Reader
from tinygpu.validate.follow import Due, Follower, Written, does
from tinygpu.validate.inside import names_in
from tinygpu.validate.moves import Sink, divides, emptied, ends, loads, stores, together
from tinygpu.validate.same import Here, canonical
from tinygpu.validate.scope import Scope
from tinygpu.validate.typed import OPERATORS, Atom, Cells, Differs, Number, Pointer, Value, unread

Place = tuple[str, ast.expr]  # a pointer, and an offset


@dataclass(slots=True)
class CudaFollower(Follower):
    """`wide` is what the launcher has seen to where it takes the wide kernel, `skipped` are the declarations. `behind` are the wide stores behind
    the block at hand; `sinks` those behind loops around, each with the variable of the loop and its body."""

    scope: Scope
    wide: tuple[Term, ...] = ()
    skipped: frozenset[ast.stmt] = frozenset()
    behind: dict[str, Sink] = field(default_factory=dict)
    sinks: dict[str, tuple[Sink, Term, Sequence[ast.stmt]]] = field(default_factory=dict)

    def reader(self, here: Here) -> Reader:
        return self.scope.reader(here)

    def given(self, stmt: ast.stmt, here: Here) -> bool:
        return stmt in self.skipped or self.scope.given(stmt, here) or loads(self.scope, stmt, here)

    def under(self, here: Here, guard: Term) -> Here:
        """The launcher has seen to what `wide` means."""
        more = self.wide if Var("wide", BOOL) in conjuncts(guard) else ()
        return replace(Follower.under(self, here, guard), given=(*here.given, *(g for g in more if g not in here.given)))

    # ── statements with a body ─────────────────────────────────────────────────────────────────────────────────────

    def block(self, body: Sequence[ast.stmt], queue: deque[Due], here: Here) -> None:
        """Names that are given inside are the block's own."""
        before = dict(self.scope.names)
        try:
            Follower.block(self, body, queue, here)
            self.scope.used()
        finally:
            self.scope.names = before
        self.scope.forget(self.scope.effects(*body))
        if self.behind:
            raise Differs(next(iter(self.behind.values())).node, "stores cells that were not all written just before")

    def statement(self, rest: Sequence[ast.stmt], queue: deque[Due], here: Here) -> int:
        """Wide stores belong to the loop that is in front of them, also where it is the last of a block."""
        stmt = rest[0]
        if not isinstance(stmt, ast.For | ast.If):
            return Follower.statement(self, rest, queue, here)
        self.scope.used()
        stored, outer = stores(self.scope, rest[1:], here, stmt), self.behind
        last = len(rest) == 1 + len(stored)
        self.behind = together(outer if last else {}, stored)
        Follower.statement(self, rest, queue, here)
        self.behind = {} if last else outer
        self.scope.ended(stmt, "it was given in a loop or under a condition before")
        return 1 + len(stored)

    def choice(self, stmt: ast.If, queue: deque[Due], here: Here) -> None:
        """A condition that the program has too, or one that splits what the program does."""
        if not stmt.orelse:
            Follower.choice(self, stmt, queue, here)
            return
        guard, due = self.reader(here).guard(stmt.test), self.due(queue, here)
        if due is not None and not reads(guard) and {*conjuncts(guard)} <= {canonical(self.meaning.term(g)) for g in due.guards}:
            queue.appendleft(due)  # the program's own condition: one after the other, as nobody changes what is asked
            for body, condition in ((stmt.body, guard), (stmt.orelse, negation(guard))):
                self.block(body, queue, self.under(here, condition))
            return
        if due is None or reads(guard) or any(map(meets, steps((due.step,)))):
            raise Differs(stmt.test, f"asks {ast.unparse(stmt.test)}", does(due))
        for body, condition in ((stmt.body, guard), (stmt.orelse, negation(guard))):
            inside, around = self.under(here, condition), (self.behind, self.sinks, self.domain)
            try:
                self.whole(body, (replace(due, guards=(*due.guards, condition)),), inside)
            except Differs:
                if not inside.impossible():
                    raise
                self.scope.pending.clear()
            self.behind, self.sinks, self.domain = around

    def bounds(self, stmt: ast.For, axis: Axis, here: Here) -> tuple[Term, Term]:
        """A loop makes as many turns as the program's, or ends where the program does nothing more."""
        match stmt.iter:
            case ast.Call(func=ast.Name(loop), args=[count], keywords=[]) if self.scope.names.get(loop) == Atom("upto"):
                turns = self.reader(here).index(count)
                same = here.same(turns, axis.extent)
                if not same and isinstance(axis.extent, Const) and isinstance(turns, Const):
                    raise Differs(stmt.iter, f"makes {text(turns)} turns", f"there are {text(axis.extent)} turns")
                return Const(0), axis.extent if same else turns
            case ast.Call(func=ast.Name(loop), args=[first, last], keywords=[]) if self.scope.names.get(loop) == Atom("between"):
                return self.reader(here).index(first), self.reader(here).index(last)
        raise unread(stmt, f"{ast.unparse(stmt.iter)} is no loop of a kernel")

    def counts(self, stmt: ast.stmt, name: str, axis: Axis) -> None:
        if isinstance(self.scope.names.get(name), Number | Pointer | Cells | Atom):
            raise unread(stmt, f"gives {name} another meaning")
        self.scope.counts(stmt, name, Var(axis.name))

    def changed(self, stmt: ast.stmt) -> frozenset[str]:
        return self.scope.effects(stmt).written

    def turns(self, stmt: ast.For, name: str, axis: Axis, wanted: Sequence[Due], inside: Here) -> None:
        """What a loop may change is not known in any turn before it is given again."""
        self.scope.forget(self.scope.effects(stmt))
        self.scope.ended(stmt, "it was given in another turn")
        before, around, behind = dict(self.scope.names), self.sinks, self.behind
        emptied(self.scope, stmt.body, axis.extent, behind)
        self.sinks, self.behind = {**around, **{cells: (sink, Var(axis.name), stmt.body) for cells, sink in behind.items()}}, {}
        Follower.turns(self, stmt, name, axis, wanted, inside)
        self.sinks, self.scope.names = around, before
        self.scope.forget(self.scope.effects(stmt))
        for sink in behind.values():
            self.scope.written(sink.pointer.array)

    # ── single statements ──────────────────────────────────────────────────────────────────────────────────────────

    def between(self, stmt: ast.stmt, due: Due, queue: deque[Due], here: Here) -> bool:
        """Whether a statement is a call that is a step: of the same function, with the same elements."""
        match stmt:
            case ast.Expr(
                value=ast.Call(func=ast.Name(f), args=[ast.Name(near), to, ast.Name(far), start, asked], keywords=[])
            ) if isinstance(atom := self.scope.names.get(f), Atom) and atom.what == "copy":
                self.scope.used()
                reader = self.reader(here)
                guard = reader.guard(asked)
                if reader.shuffles or reads(guard):
                    raise unread(asked, "a copy that asks data whether it is inside")
                divides(self.scope, start, here)
                self.copied(stmt, atom.number, (near, to), (far, start), guard, due, here)
                return True
            case ast.Expr(value=ast.Call(func=function, args=arguments, keywords=[])) if called := self.called(function):
                step = due.step
                self.scope.used()
                wanted, elements = self.wanted(step)
                units = Called.of(self.launch).units(step)
                if called != wanted:
                    raise Differs(stmt, f"calls {called}", does(due))
                self.points(stmt, due.guards, here)
                reader = self.reader(here)
                sent = step.begins if isinstance(step, Sync) and isinstance(step.begins, Sent) else None
                behind = arguments[2 * len(elements) :] if sent else []
                if len(arguments) != 2 * len(elements) + len(behind):
                    raise unread(stmt, f"{len(arguments)} arguments of {called}")
                if sent:
                    self.box(stmt, sent, behind, reader)
                pairs = arguments[: 2 * len(elements)]
                for (array, index), name, offset in zip(elements, pairs[::2], pairs[1::2], strict=True):
                    thing = self.scope.names.get(name.id) if isinstance(name, ast.Name) else None
                    if (
                        not isinstance(thing, Pointer | Cells)
                        or thing.array != array
                        or (isinstance(thing, Pointer) and thing.axes)
                    ):
                        raise Differs(name, f"is {ast.unparse(name)}", does(due))
                    self.lies(offset, array, (reader.index(offset) * units.get(array, 1),), index, here)
                if isinstance(step, Sync) and step.applied:  # what its lanes do is behind it
                    while not isinstance(queue.popleft().step, Sync):
                        pass
                self.scope.forget(self.scope.effects(stmt))
                return True
        return False

    def box(self, stmt: ast.stmt, sent: Sent, behind: Sequence[ast.expr], reader: Reader) -> None:
        """That a box is of the tensor, cut as the copy says, and begins where it does."""
        match behind:
            case [ast.Name(id=name), *places] if len(places) == len(sent.first) + len(sent.origin):
                if self.scope.names.get(name) != Value(Var(parameter(map_of(sent)), "i64"), "i64"):
                    raise Differs(stmt, f"copies a box of {name}", f"the program's is of {parameter(map_of(sent))}")
                for place, wanted in zip(places, (*sent.first, *sent.origin), strict=True):
                    if not reader.here.same(reader.index(place), self.meaning.term(wanted)):
                        raise Differs(place, f"begins at {ast.unparse(place)}", f"the program's box begins at {text(wanted)}")
            case _:
                raise unread(stmt, f"{len(behind)} arguments say which box")

    def wanted(self, step: Step) -> tuple[str, list[tuple[str, tuple[Term, ...]]]]:
        """What is called for a step, and with which elements; nothing for one that is no call."""
        ours = Called.of(self.launch)
        if maker := ours.maker(step):
            return maker, ours.elements(step)
        return (
            (step.called, [(e.tensor, e.index) for e in terms(step) if isinstance(e, Read)]) if isinstance(step, Call) else ("", [])
        )

    def copied(self, stmt: ast.stmt, count: int, near: Place, far: Place, asked: Term, due: Due, here: Here) -> None:
        """A copy that lands later: in each lane of the program's loop, that loop's copy; 0 where it is not inside, as it asks."""
        match due.step:
            case For(Axis(extent=Const(turns)) as axis, (Assign(pending="copy") as step,)) if turns == count:
                inside, lane = here.inside(axis), Var(axis.name)
                there, beyond = (self.under(inside, guard) for guard in (asked, negation(asked)))
            case _:
                raise Differs(stmt, f"begins a copy of {count} elements", does(due))
        (to, begin), (source, start) = ends(self.scope, stmt, count, (*near, here), (*far, self.under(here, asked)))
        if to.array != step.target or source.item != to.item:
            raise Differs(stmt, f"copies elements of {source.item} to {to.array}", does(due))
        around, self.domain = self.domain, (*self.domain, axis)
        self.points(stmt, (*due.guards, *conjuncts(step.guard)), inside)
        self.domain = around
        self.lies(near[1], to.array, (begin + lane,), step.index, inside)
        element, wanted = Read(source.array, (start + lane,), source.item), self.meaning.stored(step.target, step.whole)
        if not there.same(element, wanted):
            raise Differs(far[1], f"copies {text(element)}", f"the program's value is {text(wanted)}")
        if not beyond.impossible() and not beyond.same(self.meaning.stored(step.target, fill(step.value.dtype)), wanted):
            raise Differs(stmt, f"leaves 0 where {text(negation(asked))}", f"the program's value is {text(wanted)}")
        self.done(stmt, to.array)

    def called(self, function: ast.expr) -> str:
        """What a function is called as a step; empty for what is none."""
        match function:
            case ast.Attribute(value=ast.Name(base), attr=which) if self.scope.names.get(base) == Atom("cuda"):
                return f"cuda.{which}"
            case ast.Name(name) if isinstance(atom := self.scope.names.get(name), Atom) and atom.what in ("call", "matrix"):
                return atom.name
        return ""

    def written(self, stmt: ast.stmt, step: Assign, here: Here) -> Written:
        match stmt:
            case ast.Assign(targets=[target], value=value):
                found = self.cell(stmt, target, value, here)
            case ast.AugAssign(target=target, op=op, value=value) if type(op) in OPERATORS:
                found = replace(self.cell(stmt, target, value, here), update=OPERATORS[type(op)])
                if found.item not in ("f32", "f64"):
                    raise unread(stmt, f"an update in place of {found.item}, which numba makes wider")
            case ast.Expr(value=ast.Call(func=ast.Name(function), args=[ast.Name(name), offset, value], keywords=[])) if (
                isinstance(atom := self.scope.names.get(function), Atom) and atom.what == "atomic"
            ):
                memory = self.scope.names.get(name)
                if not isinstance(memory, Pointer) or atom.shared != memory.shared or memory.array in self.inputs or memory.axes:
                    raise Differs(stmt, f"{function} is not for this memory")
                found = Written(memory.array, (self.reader(here).index(offset),), offset, memory.item, value, atom.name, True)
            case _:
                raise unread(stmt, f"{ast.unparse(stmt).splitlines()[0]} is no statement of a kernel")
        if (found.atomic, found.update * found.atomic) != (step.atomic, step.update * step.atomic):
            raise Differs(
                stmt, "is an atomic update" if found.atomic else "is no such update", f"the program does here: {line(step)}"
            )
        return found

    def cell(self, stmt: ast.stmt, target: ast.expr, value: ast.expr, here: Here) -> Written:
        """What a target is: what a loop writes to the cells of a wide store behind it is written to memory."""
        reader = self.reader(here)
        match target:
            case ast.Name(name) if isinstance(found := self.scope.names.get(name), Number):
                return Written(found.array, (), target, found.item, value)
            case ast.Subscript(value=ast.Name(name), slice=place):
                match self.scope.names.get(name):
                    case Pointer(array, item) as memory if array not in self.inputs:
                        return Written(array, reader.place(place, memory), place, item, value)
                    case Cells(array, item, shape) if array:
                        index = place.elts if isinstance(place, ast.Tuple) else [place]
                        if len(index) == len(shape):
                            return Written(array, tuple(map(reader.index, index)), place, item, value)
                    case Cells(_, item) if name in self.sinks:
                        sink, turn, body = self.sinks[name]
                        if stmt not in body or reader.index(place) != turn:
                            raise Differs(place, "is not the cell of this turn")
                        return Written(sink.pointer.array, (sink.offset + turn,), sink.node, item, value)
        raise unread(stmt, f"{ast.unparse(target)} is nothing that a kernel writes here")

    def done(self, stmt: ast.stmt, array: str) -> None:
        """Every shuffle that was made for an assignment is used by it; names that stand for what was read before are forgotten."""
        self.scope.used(names_in(stmt))
        self.scope.written(array)
