"""The statements of a kernel's text, followed step by step along the program's.

    text ≈ steps        the same loops, barriers, and accesses in the same order, each with equal guard, place and value

Comes in: statements, the steps that they have to be, and what is known there. Goes out: nothing, or the error at the first difference.
The one idea: names of the text stand for terms and are put in where they are used; a choice of the text that the program has not is followed
twice, once where its condition holds and once where it does not. Wide accesses are those of the loop beside them (`moves.py`).
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from tinygpu.category.term import BOOL, TRUE, App, Read, Term, Var, conjunction, conjuncts, negation, reads, text
from tinygpu.program.statement import line
from tinygpu.program.step import Array, Assign, Call, Fact, For, If, Step, steps
from tinygpu.program.traverse import meets, terms
from tinygpu.record import dataclass, field, replace
from tinygpu.validate.moves import Sink, emptied, loads, stores, together
from tinygpu.validate.same import Here
from tinygpu.validate.scope import Effects, Scope, names_in
from tinygpu.validate.typed import Atom, Cells, Differs, Number, Pointer, unread
from tinygpu.validate.written import written


@dataclass(slots=True)
class Follower:
    """One kernel: `wide` is what the launcher has seen to where it takes the wide kernel, `skipped` are the declarations."""

    scope: Scope
    wide: tuple[Term, ...] = ()
    skipped: frozenset[ast.stmt] = frozenset()
    sinks: dict[str, tuple[Sink, Term, Sequence[ast.stmt]]] = field(default_factory=dict)

    def block(self, body: Sequence[ast.stmt], wanted: Sequence[Step], here: Here, sinks: dict[str, Sink] | None = None) -> None:
        """Statements that are these steps. `sinks` are the wide stores that stand behind the block."""
        queue, sinks, position = due(wanted), sinks or {}, 0
        while position < len(body):
            stmt = body[position]
            position += 1
            if stmt in self.skipped or isinstance(stmt, ast.Pass):
                continue
            if self.scope.given(stmt, here) or loads(self.scope, stmt, here):
                continue
            if isinstance(stmt, ast.For | ast.If):
                behind = stores(self.scope, body[position:], here, stmt)
                position += len(behind)
                last = position == len(body)
                self.nested(stmt, self.next(queue, stmt, here), here, together(sinks, behind) if last else together({}, behind))
                sinks = {} if last else sinks
            else:
                self.single(stmt, self.next(queue, stmt, here), here)
        self.scope.used()
        if sinks:
            raise Differs(next(iter(sinks.values())).node, "stores cells that were not all written just before")
        for step in queue:
            if not self.idle(step, here):
                raise Missing(step, body[-1] if body else None)

    def next(self, queue: list[Step], stmt: ast.stmt, here: Here) -> Step:
        """The step that is due; conditions that always or never hold here are decided, unless the text asks too."""
        while queue:
            step = queue.pop(0)
            if isinstance(step, If) and not isinstance(stmt, ast.If):
                guard = self.scope.meaning.term(step.guard)
                if here.holds(guard):
                    queue[:0] = due(step.body)
                    continue
                if here.holds(negation(guard)):
                    continue
                raise Differs(stmt, "is done in every case", f"it is done only where {text(guard)}")
            return step
        raise Differs(stmt, "is something that the program does not do here")

    def idle(self, step: Step, here: Here) -> bool:
        """Whether a step does nothing here."""
        match step:
            case If(guard, body):
                guard = self.scope.meaning.term(guard)
                return here.holds(negation(guard)) or all(self.idle(s, self.under(here, guard)) for s in due(body))
            case For(axis, body):
                inside = here.inside(replace(axis, extent=self.scope.meaning.term(axis.extent)))
                return all(self.idle(s, inside) for s in due(body))
        return here.impossible()

    def under(self, here: Here, guard: Term) -> Here:
        """A place under a guard. What is read of memory or cells that change is forgotten; the launcher has seen to what `wide` means."""
        kept = [c for c in conjuncts(guard) if all(r.tensor in self.scope.inputs for r in reads(c))]
        more = self.wide if Var("wide", BOOL) in kept else ()
        return replace(here.under(conjunction(*kept)), given=(*here.given, *(g for g in more if g not in here.given)))

    # ── statements with a body ─────────────────────────────────────────────────────────────────────────────────────

    def nested(self, stmt: ast.For | ast.If, step: Step, here: Here, sinks: dict[str, Sink]) -> None:
        """A loop or a choice."""
        self.scope.used()
        if isinstance(stmt, ast.If):
            self.choice(stmt, step, here, sinks)
        elif isinstance(step, For):
            self.loop(stmt, step, here, sinks)
        else:
            raise Differs(stmt, "is a loop", f"the program does here: {line(step)}")
        self.scope.ended(stmt, "it was given in a loop or under a condition before")

    def choice(self, stmt: ast.If, step: Step, here: Here, sinks: dict[str, Sink]) -> None:
        """A condition that the program has too, or one that splits what the program does."""
        reader = self.scope.reader(here)
        guard = reader.guard(stmt.test)
        if reader.shuffles:
            raise unread(stmt, "a shuffle in a condition")
        if isinstance(step, If) and not sinks and here.same(guard, wanted := self.scope.meaning.term(step.guard)):
            if stmt.orelse:
                raise Differs(stmt.orelse[0], "is done elsewhere", f"nothing is done but where {text(wanted)}")
            self.apart(stmt.body, step.body, self.under(here, guard), sinks)
            return
        if collective(step):
            raise Differs(stmt.test, f"asks {ast.unparse(stmt.test)} around a barrier or a shuffle", self.asked(step))
        for body, condition in ((stmt.body, guard), (stmt.orelse, negation(guard))):
            inside = self.under(here, condition)
            try:
                self.apart(body, (step,), inside, sinks)
            except Differs as difference:
                self.scope.pending.clear()
                if inside.impossible():
                    continue
                if isinstance(difference, Missing):
                    raise Differs(stmt.test, f"asks {ast.unparse(stmt.test)}", self.asked(step)) from None
                raise

    def asked(self, step: Step) -> str:
        """What the program does where the text asks something."""
        if isinstance(step, If):
            return f"asked is {text(self.scope.meaning.term(step.guard))}"
        return f"the program does here: {line(step)}"

    def apart(self, body: Sequence[ast.stmt], wanted: Sequence[Step], here: Here, sinks: dict[str, Sink]) -> None:
        """A block whose names are its own."""
        before = dict(self.scope.names)
        try:
            self.block(body, wanted, here, sinks)
        finally:
            self.scope.names = before
        self.scope.forget(self.scope.effects(*body))

    def loop(self, stmt: ast.For, step: For, here: Here, sinks: dict[str, Sink]) -> None:
        """A loop of as many turns."""
        name, turns = self.turns(stmt, here)
        axis = replace(step.axis, extent=self.scope.meaning.term(step.axis.extent))
        self.scope.forget(self.scope.effects(stmt))
        self.scope.ended(stmt, "it was given in another turn")
        before, body = dict(self.scope.names), stmt.body
        if not here.same(turns, axis.extent):
            raise Differs(stmt.iter, f"makes {text(turns)} turns", f"there are {text(axis.extent)} turns")
        self.scope.counts(stmt, name, Var(axis.name))
        emptied(self.scope, body, axis.extent, sinks)
        around = self.sinks
        self.sinks = {**around, **{cells: (sink, Var(axis.name), body) for cells, sink in sinks.items()}}
        self.block(body, step.body, here.inside(axis))
        self.sinks, self.scope.names = around, before
        self.scope.forget(self.scope.effects(stmt))
        for sink in sinks.values():
            self.scope.written(sink.pointer.array)

    def turns(self, stmt: ast.For, here: Here) -> tuple[str, Term]:
        """The variable of a loop, and how many turns it makes."""
        match stmt:
            case ast.For(target=ast.Name(id=name), iter=ast.Call(func=ast.Name(id=loop), args=[count], keywords=[]), orelse=[]) if (
                self.scope.names.get(loop) == Atom("upto")
            ):
                if not isinstance(self.scope.names.get(name), Number | Pointer | Cells | Atom):
                    return name, self.scope.reader(here).index(count)
        raise unread(stmt, f"{ast.unparse(stmt.iter)} is no loop of a kernel")

    # ── single statements ──────────────────────────────────────────────────────────────────────────────────────────

    def single(self, stmt: ast.stmt, step: Step, here: Here) -> None:
        """A call, or an assignment."""
        match stmt:
            case ast.Expr(value=ast.Call(func=function, args=arguments, keywords=[])) if called := self.called(function):
                self.call(stmt, called, arguments, step, here)
            case _ if isinstance(step, Assign):
                self.assign(stmt, step, here)
            case _:
                raise Differs(stmt, "is an assignment", f"the program does here: {line(step)}")

    def called(self, function: ast.expr) -> str:
        """What a function is called as a step; empty for what is none."""
        match function:
            case ast.Attribute(value=ast.Name(id=base), attr=which) if self.scope.names.get(base) == Atom("cuda"):
                return f"cuda.{which}"
            case ast.Name(id=name) if isinstance(atom := self.scope.names.get(name), Atom) and atom.what == "call":
                return atom.name
        return ""

    def call(self, stmt: ast.stmt, called: str, arguments: list[ast.expr], step: Step, here: Here) -> None:
        """A call of the same function, with the same elements."""
        self.scope.used()
        wants = f"the program does here: {line(step)}"
        if not isinstance(step, Call) or step.called != called:
            raise Differs(stmt, f"calls {called}", wants)
        elements, reader = [e for e in terms(step) if isinstance(e, Read)], self.scope.reader(here)
        if len(arguments) != 2 * len(elements):
            raise unread(stmt, f"{len(arguments)} arguments of {called}")
        for element, name, offset in zip(elements, arguments[::2], arguments[1::2], strict=True):
            pointer = self.scope.names.get(name.id) if isinstance(name, ast.Name) else None
            if not isinstance(pointer, Pointer) or pointer.array != element.tensor:
                raise Differs(name, f"is {ast.unparse(name)}", wants)
            mine, (theirs,) = reader.index(offset), self.scope.meaning.place(element.tensor, element.index)
            if not here.same(mine, theirs):
                raise Differs(offset, f"is element {text(mine)} of {element.tensor}", f"the program's is {text(theirs)}")
        if meets(step):
            self.scope.forget(Effects(barriers=True))

    def assign(self, stmt: ast.stmt, step: Assign, here: Here) -> None:
        """An assignment or an atomic update: one array, one place, one value."""
        reader, meaning = self.scope.reader(here), self.scope.meaning
        cell = written(self.scope, stmt, reader, self.sinks)
        if cell.array != step.target:
            raise Differs(stmt, f"writes {cell.array}", f"the program writes {step.target} here: {line(step)}")
        for mine, theirs in zip(cell.place, meaning.place(step.target, step.index), strict=True):
            if not here.same(mine, theirs):
                raise Differs(cell.where, f"is element {text(mine)} of {cell.array}", f"the program's is {text(theirs)}")
        if (cell.atomic, cell.update if cell.atomic else "") != (step.atomic, step.update if step.atomic else ""):
            raise Differs(
                stmt, "is an atomic update" if cell.atomic else "is no such update", f"the program does here: {line(step)}"
            )
        value = reader.value(cell.value)
        if value.kind != cell.item:
            raise unread(cell.value, f"{ast.unparse(cell.value)} is of type {value.kind}, the cell of type {cell.item}")
        term = reader.number(cell.value, cell.item)
        if cell.update and not cell.atomic:
            term = App(cell.update, (Read(cell.array, cell.place, cell.item), term), cell.item)
        wanted = self.scope.meaning.stored(step.target, step.value if step.atomic else step.whole)
        if not here.same(term, wanted):
            raise Differs(cell.value, f"gives {text(term)}", f"the program's value is {text(wanted)}")
        self.scope.used(names_in(stmt))
        self.scope.written(cell.array)


# ── steps as they are due ──────────────────────────────────────────────────────────────────────────────────────────


class Missing(Differs):
    """A step of the program that the text does not do."""

    def __init__(self, step: Step, after: ast.stmt | None):
        super().__init__(
            after or ast.Pass(lineno=1, col_offset=0), "is the last that is done here", f"the program goes on: {line(step)}"
        )


def due(wanted: Sequence[Step]) -> list[Step]:
    """Steps that are emitted, those under conditions that always hold without them."""
    out: list[Step] = []
    for step in wanted:
        match step:
            case Array() | Fact():
                continue
            case If(guard, body) if guard == TRUE:
                out += due(body)
            case Assign(guard=guard) if guard != TRUE:
                out.append(If(guard, (replace(step, guard=TRUE),)))
            case _:
                out.append(step)
    return out


def collective(step: Step) -> bool:
    """Whether threads do something together in a step."""
    return any(map(meets, steps((step,))))
