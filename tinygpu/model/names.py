"""Names for terms: `def` of a file, `let` of an op, a machine or a block. Here they go away; nothing behind this knows of them.

    def f(x) = e         f(a) is e with a for x                     let y = e      y is e, to the end of the block
    let t[i] = x[e | c]  t[a] is x[e | c] with a for i, and where it is stored to, that is done inside of x alone

Comes in: the tree of a file. Goes out: the tree without names for terms, and messages about them. The one idea: composition is substitution,
so a name is its term wherever it stands. What is put in bears the place of its name, and the origin of what is written there instead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tinygpu.category.monoid import is_built_in
from tinygpu.category.term import DTYPES, OPERATIONS, SHUFFLES
from tinygpu.diagnostic import Span
from tinygpu.model.binders import binders, both, boxed, flat, in_array, nest, ranges, standing, too_large, wholes
from tinygpu.model.call import CALLS
from tinygpu.model.clauses import names_in
from tinygpu.model.problems import UNKNOWN, Problems, counted, head
from tinygpu.model.scope import SPECIAL
from tinygpu.model.source import computed
from tinygpu.record import dataclass, field, fields, replace
from tinygpu.syntax import tree
from tinygpu.syntax.format import format_expr
from tinygpu.syntax.node import Node, nodes

Env = Mapping[str, tree.Naming]
POISON = tree.Name(UNKNOWN)  # what stands for a name that has been complained about
SHORT = tree.Let | tree.Where | tree.Arrays | tree.Loops | tree.Copy  # what goes away here, or parts of which
RESERVED = {*OPERATIONS, *DTYPES, *CALLS, *SPECIAL, *SHUFFLES}


def without_names(file: tree.File, problems: Problems) -> tuple[tree.File, Names]:
    """`tree.File → tree.File` without `def` and `let`, the preconditions of an op in one place; and what is to be known of the names: which
    declarations are wrong, of which nothing is to be made, and what the terms of a machine are called. Mistakes are added to `problems`.

    >>> from tinygpu.syntax.format import format_file
    >>> from tinygpu.syntax.parse import parse
    >>> file = parse("def twice(x) = 2 * x\\nop f(x: f32[n]) -> (y: f32[n]) { let a = twice(x[i])\\n y[i] = a + 1 }")
    >>> print(format_file(without_names(file, Problems())[0]), end="")
    op f(x: f32[n]) -> (y: f32[n]) {
      y[i] = 2 * x[i] + 1
    }
    """
    names = Names(problems, {d.name: d for d in reversed(file.declarations) if isinstance(d, tree.Def)})
    params = {d.name: d for d in file.declarations if isinstance(d, tree.Param)}
    for one in names.defs.values():
        names.lawful(one, params)
    kept = (d for d in file.declarations if not isinstance(d, tree.Def))
    made = tuple(names.declaration(problems.enter(d), computed(d, file.declarations), params) for d in kept)
    return replace(problems.enter(file), declarations=made), names


@dataclass(slots=True)
class Names:
    """The defs of a file, with the terms that they are worth so far and those at hand; and of the declaration at hand, what its names may not
    be, the arrays that it writes, and its lets, some of which are used; of a machine the shapes of its arrays and the extents of
    its factors and loops; `wrong` are the declarations with a mistake, `terms` those that have names, by declaration, and `here` those of this one."""

    problems: Problems
    defs: Mapping[str, tree.Def]
    worth: dict[str, tree.Expr] = field(default_factory=dict)
    making: list[str] = field(default_factory=list)
    taken: dict[str, tuple[str, Span]] = field(default_factory=dict)
    written: dict[str, Span] = field(default_factory=dict)
    lets: dict[Span, str] = field(default_factory=dict)
    used: set[Span] = field(default_factory=set)
    wrong: set[str] = field(default_factory=set)
    terms: dict[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)
    here: list[tuple[str, str]] = field(default_factory=list)
    shapes: dict[str, set[tuple[tree.Expr, ...]]] = field(default_factory=dict)
    extents: dict[str, tree.Expr] = field(default_factory=dict)

    def declaration(self, one: Any, served: Sequence[tree.Op], params: Mapping[str, tree.Param]) -> Any:
        """A declaration without names for terms; `served` are the ops that a machine computes."""
        if not self.defs and not any(isinstance(node, SHORT) for node in nodes(one)):
            return one
        around = (*((op.inputs, op.outputs) for op in served), *params.values())
        self.taken = {n.name: ("an op", n.span) for n in wholes(one)}
        self.taken |= {name: (kind, span) for name, kind, span in binders((one, *around))}
        before = len(self.problems)
        self.written = {n.target.name: n.span for n in nodes(one) if isinstance(n, tree.Assign)}
        self.lets, self.used, self.here = {}, set(), []
        self.shapes, self.extents = ranges(one, served) if isinstance(one, tree.Machine) else ({}, {})
        for name in self.taken.keys() & {d.name for d in self.defs.values() if not d.params}:
            kind, span = self.taken[name]
            other = head(self.defs[name].span, f"def {name}")
            self.problems.say("TG103.hides", span, other, kind=f"the {kind.split()[1]}", name=name, other="a def")
        made = self.put(one, {})
        self.terms[getattr(one, "name", "")] = tuple(dict.fromkeys(self.here))
        if len(self.problems) > before or UNKNOWN in names_in(made):
            self.wrong.add(getattr(made, "name", ""))
        for span, name in self.lets.items():
            if span not in self.used:
                self.problems.say("TG104.let", span, verdict="warning", name=name)
        if isinstance(made, tree.Op):
            lines = made.equations
            conditions = (c for line in lines if isinstance(line, tree.Where) for c in line.conditions)
            equations = tuple(line for line in lines if not isinstance(line, tree.Where))
            return replace(made, where=(*made.where, *conditions), equations=equations)
        return made

    def put(self, node: Any, env: Env) -> Any:
        """A part of a tree with names put in: those of `env`, and the file's."""
        if isinstance(node, tuple):
            return self.block(node, env)
        if not isinstance(node, Node) or isinstance(node, tree.Number):
            return node
        if isinstance(node, tree.Copy):
            return self.copied(node, env)
        if isinstance(node, tree.Assign | tree.Holds) and node.target.name in env:
            node = self.stored(node, env)
        old = {one.name: getattr(node, one.name) for one in fields(node)}
        new = {name: made for name, part in old.items() if (made := self.put(part, env)) is not part}
        node = replace(node, **new) if new else node
        match node:
            case tree.Name(name) if name in env:
                self.used.add(env[name].span)
                return standing(env[name].value, node.span)
            case tree.Cell(_, index) if new:
                node = replace(node, index=tuple(map(flat, index)))
        match node:
            case tree.Cell(name) if name in env:
                self.used.add(env[name].span)
                return self.read(node, env[name])
            case tree.Name(name) if name in self.defs and name not in self.taken:
                return self.called(tree.Call(name, (), span=node.span))
            case tree.Call(name) if name in self.defs:
                return self.called(node)
        return nest(node) if isinstance(node, tree.Loops) else node

    def copied(self, copy: tree.Copy, env: Env) -> tree.Copy:
        """A copy, whose indices go as far as it says, or as what they stand at."""
        around = self.extents
        copy, found = boxed(copy, self.shapes)
        self.extents = {**around, **found}
        made = replace(copy, step=self.put(copy.step, env), clauses=self.put(copy.clauses, env), box=self.put(copy.box, env))
        self.extents = around
        return made

    # ── lets ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def block(self, parts: tuple[Any, ...], env: Env) -> tuple[Any, ...]:
        """A list; a `let` in it holds for what follows, and is left out."""
        found, changed = [], False
        for part in parts:
            if isinstance(part, tree.Let):
                changed = True
                for one in part.parts:
                    env = self.named(one, env)
            elif isinstance(part, tree.Arrays):
                changed = True
                found += self.put(part.parts, env)
            else:
                found.append(self.put(part, env))
                changed = changed or found[-1] is not part
        return tuple(found) if changed else parts

    def named(self, one: tree.Naming, env: Env) -> Env:
        """The names with one more."""
        before, name, say = len(self.problems), one.name, self.problems.say
        if name in env:
            say("TG102.declared", one.span, env[name].span, what=f"name {name}")
        elif name in self.taken or name in self.defs or name in SPECIAL:
            other, span = self.taken.get(name, ("a word of the language", None))
            if name in self.defs:
                other, span = "a def", head(self.defs[name].span, f"def {name}")
            say("TG103.hides", one.span, span, kind="the name", name=name, other=other)
        if len(self.problems) > before:
            return env  # what it hides is meant
        self.lets[one.span] = name
        value = self.whole(self.put(one.value, {n: v for n, v in env.items() if n not in one.indices}), name, one.span)
        inner = value.index if one.indices and isinstance(value, tree.Cell) else value  # a tile is a place, whatever is there
        cells = (cell for cell in nodes(inner) if isinstance(cell, tree.Cell) and cell.name in self.written)
        if cell := next(cells, None):
            say("TG172.written", cell.span, self.written[cell.name], name=name, array=cell.name)
        if not one.indices:
            self.here.append((name, format_expr(value)))
        return {**env, name: replace(one, value=value if len(self.problems) == before else POISON)}

    def tile(self, cell: tree.Cell, one: tree.Naming) -> tree.Expr:
        """What a cell of a tile is: a cell of the array, with the fill that it has outside."""
        if len(cell.index) != len(one.indices):
            words = {"name": one.name, "takes": counted(len(one.indices), "index"), "given": len(cell.index)}
            self.problems.say("TG110.tile", cell.span, one.span, dots=", ".join(one.indices), **words)
            return POISON
        if caught := {index for index, _, _ in binders(one.value)} & {*names_in(cell.index)}:
            self.problems.say("TG103.caught", cell.span, one.span, name=one.name, index=min(caught))
            return POISON
        found = self.placed(one.value, dict(zip(one.indices, cell.index, strict=True)), cell.span)
        return replace(found, index=tuple(map(flat, found.index))) if isinstance(found, tree.Cell) else found  # type: ignore[no-any-return]

    def read(self, cell: tree.Cell, one: tree.Naming) -> tree.Expr:
        """A cell of a tile, or of a tensor that has a name, as a value. In a machine the fill is what it is where the array ends."""
        found = self.tile(cell, one) if one.indices else self.cell(cell, one.value)
        if not isinstance(found, tree.Cell) or found.fill is None or not self.shapes:
            return found
        inside, plain = self.inside(found), replace(found, fill=None)
        return tree.IfElse(plain, inside, found.fill, span=found.span) if inside else plain

    def stored(self, step: tree.Assign | tree.Holds, env: Env) -> tree.Assign | tree.Holds:
        """A step whose target has a name: what is outside of the array is not stored."""
        one = env[step.target.name]
        self.used.add(one.span)
        target = replace(step.target, index=self.put(step.target.index, env))
        found = self.tile(target, one) if one.indices else self.cell(target, one.value)
        if not isinstance(found, tree.Cell):
            if found is not POISON:
                self.problems.say("TG172.place", step.target.span, one.span, name=one.name)
            return replace(step, target=tree.Cell(UNKNOWN, ()))
        inside = None if found.fill is None or isinstance(step, tree.Holds) else self.inside(found)
        made = replace(step, target=replace(found, fill=None))
        return replace(made, guard=both(inside, made.guard)) if inside and isinstance(made, tree.Assign) else made

    def inside(self, cell: tree.Cell) -> tree.Expr | None:
        """Where a cell is one of its array; None where it always is, and after a message."""
        shapes = self.shapes.get(cell.name, set())
        if len(shapes) > 1:
            self.problems.say("TG172.shapes", cell.span, name=cell.name)
        sizes = {name for name, (kind, _) in self.taken.items() if kind == "a size"}
        return in_array(cell.index, next(iter(shapes), ()), self.extents, sizes)

    # ── defs ───────────────────────────────────────────────────────────────────────────────────────────────────────

    def lawful(self, one: tree.Def, params: Mapping[str, tree.Param]) -> None:
        """Says what is wrong with a def by itself. It sees its arguments, and the params and defs of the file."""
        before, place, say = len(self.problems), head(one.span, f"def {one.name}"), self.problems.say
        if one.name in RESERVED or is_built_in(one.name):
            say("TG103.def", place, name=one.name)
        for at, name in enumerate(one.params):
            if name in one.params[:at]:
                say("TG102.stands", place, name=name)
            if name in params or name in SPECIAL:
                span, other = (params[name].span, "a param") if name in params else (None, "a word of the language")
                say("TG103.hides", place, span, kind="the argument", name=name, other=other)
        known = {*one.params, *params, *self.defs, *SPECIAL, *(name for name, _, _ in binders(one.value))}
        for node in nodes(one.value):
            if isinstance(node, tree.Name | tree.Cell) and node.name not in known:
                say("TG101.def", node.span, near={*one.params, *params}, name=node.name)
        if len(self.problems) > before:
            self.worth[one.name] = POISON

    def term(self, name: str, span: Span) -> tree.Expr:
        """What a def is worth, with the defs in it put in."""
        if name in self.making:
            self.problems.say("TG171.itself", span, head(self.defs[name].span, f"def {name}"), name=name)
            return POISON
        if name not in self.worth:
            self.making.append(name)
            self.worth[name] = self.put(self.defs[name].value, {})
            self.making.pop()
        return self.worth[name]

    def called(self, call: tree.Call) -> tree.Expr:
        """A call of a def, its arguments put in already; a name alone has none."""
        one, say, name = self.defs[call.function], self.problems.say, call.function
        place = head(one.span, f"def {name}")
        if self.worth.get(name) is POISON:
            return POISON
        if len(call.args) != len(one.params):
            takes, dots = counted(len(one.params), "argument"), ", ".join(one.params)
            message = "TG125.def" if one.params else "TG125.constant"
            say(message, call.span, place, name=name, takes=takes, given=len(call.args), dots=dots)
            return POISON
        body = self.term(name, call.span)
        if caught := {index for index, _, _ in binders(body)} & {*names_in(call.args)}:
            say("TG103.caught", call.span, place, name=name, index=min(caught))
            return POISON
        return self.whole(self.placed(body, dict(zip(one.params, call.args, strict=True)), call.span), name, call.span)

    def placed(self, node: Any, given: Mapping[str, tree.Expr], at: Span) -> Any:
        """A part of a def's term with its arguments put in, at the place of a call."""
        if isinstance(node, tuple):
            return tuple(self.placed(part, given, at) for part in node)
        if not isinstance(node, Node):
            return node
        if isinstance(node, tree.Name) and node.name in given:
            return given[node.name]
        parts = {one.name: self.placed(getattr(node, one.name), given, at) for one in fields(node)}
        made = type(node)(**{**parts, "span": replace(at, origin=node.span)})
        return self.cell(made, given[made.name]) if isinstance(made, tree.Cell) and made.name in given else made

    def cell(self, cell: tree.Cell, tensor: tree.Expr) -> tree.Expr:
        """A cell of what a name stands for."""
        if isinstance(tensor, tree.Name):
            return POISON if tensor.name == UNKNOWN else replace(cell, name=tensor.name)
        self.problems.say("TG107.cell", cell.span, name=cell.name)
        return POISON

    def whole(self, made: tree.Expr, name: str, span: Span) -> tree.Expr:
        """A term, unless it has become larger than anybody writes."""
        if what := too_large(made):
            self.problems.say("TG161.name", span, name=name, what=what)
            return POISON
        return made
