"""Ops in turn, as one op: `n = norm(x, g)  y = product(n, w)`.

    pipeline P(x) -> (z) { y = f(x)  z = g(y) }        ⟼        op P = the equations of f and of g, in the names of P

Comes in: a pipeline's tree, and the ops of its file. Goes out: its op, as a tree like any other, and for each call what the sizes of the called op are. The one idea:
a call is a substitution, of tensors for tensors and of extents for sizes; what is an op's own alone gives way to every name of the pipeline.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tinygpu.category.text import claimed
from tinygpu.diagnostic import Span
from tinygpu.model.given import literal_of, put, takes, with_name
from tinygpu.model.joint import bounded, inner, kind, named
from tinygpu.model.problems import Problems, counted
from tinygpu.model.scope import Scope
from tinygpu.model.served import Served
from tinygpu.model.source import source
from tinygpu.record import dataclass, field, replace
from tinygpu.syntax import tree
from tinygpu.syntax.format import format_expr
from tinygpu.syntax.node import rewritten


@dataclass(frozen=True, slots=True)
class Step:
    """A call: `op` with its dtypes, called `name`, what each of its inputs is, what its `sizes` are, which of these are `said`, and `pairs` of an extent that it wants with the one that is given."""

    turned: tree.Turned
    name: str
    op: tree.Op
    given: tuple[tree.Expr, ...]
    sizes: Mapping[str, tree.Expr]
    said: tuple[str, ...]
    pairs: tuple[tuple[tree.Expr, tree.Expr], ...]


@dataclass(frozen=True, slots=True)
class Chain:
    """The calls in order, what they are as one op, and of each output the extents that are made with those that are declared."""

    pipeline: tree.Pipeline
    steps: tuple[Step, ...]
    op: tree.Op
    pairs: tuple[tuple[tree.Expr, tree.Expr], ...]

    def strangers(self) -> tuple[Span, tree.Expr, tree.Expr] | None:
        """The first extents that are not written alike, and where: of what is wanted, or made, and of what is there."""
        every = [(step.turned.span, pair) for step in self.steps for pair in step.pairs]
        every += [(self.pipeline.outputs[0].span, pair) for pair in self.pairs]
        return next(((span, *pair) for span, pair in every if format_expr(pair[0]) != format_expr(pair[1])), None)


def chain_of(pipeline: tree.Pipeline, file: tree.File, served: Served, constants: set[str], problems: Problems) -> Chain | None:
    """`tree.Pipeline → Chain`; None after a message."""
    before, links = len(problems), Links(pipeline, file, served, constants, problems)
    links.declare()
    if len(problems) > before or not all(map(links.call, pipeline.calls)):  # what follows would say the same
        return None
    links.finish()
    if len(problems) > before:
        return None
    lines = (*links.lines, *links.handed_on())
    where = tuple(dict.fromkeys((*pipeline.where, *(w for step in links.steps for w in links.put(step, step.op.where)))))
    outputs = tuple(replace(t, inplace="") for t in pipeline.outputs)
    op = tree.Op(pipeline.name, pipeline.inputs, outputs, lines, where, span=pipeline.span)
    return Chain(pipeline, tuple(links.steps), op, tuple(links.declared()))


@dataclass(slots=True)
class Links:
    """A pipeline that is being read: the tensors that there are, those that were read, its calls and their equations."""

    pipeline: tree.Pipeline
    file: tree.File
    served: Served
    constants: set[str]
    problems: Problems
    known: dict[str, tree.TensorDecl] = field(default_factory=dict)
    read: set[str] = field(default_factory=set)
    steps: list[Step] = field(default_factory=list)
    lines: list[Any] = field(default_factory=list)
    taken: set[str] = field(default_factory=set)
    own: dict[tree.Turned, dict[str, str]] = field(default_factory=dict)
    again: dict[str, str] = field(default_factory=dict)

    def declare(self) -> None:
        """The inputs. No output of a pipeline lies in an input, which later calls may still read."""
        made = (name.name for turned in self.pipeline.calls for name in turned.made)
        said = [one for turned in self.pipeline.calls for one in turned.given]
        self.taken = named(self.pipeline.inputs, self.pipeline.outputs, self.pipeline.where, said) | {*made} | self.constants
        read = {one.name for one in said if isinstance(one, tree.Name)}
        self.again = {t.name: claimed(f"{t.name}_made", self.taken) for t in self.pipeline.outputs if t.name in read}
        self.taken |= {*self.again.values()}
        self.known = {t.name: t for t in self.pipeline.inputs}
        for one in (*self.pipeline.inputs, *self.pipeline.outputs):
            Scope(self.problems).dtype(one.dtype, one.span)
        for one in (t for t in self.pipeline.outputs if t.inplace):
            self.problems.say("TG192.inplace", one.span, name=one.name, other=one.inplace)

    def call(self, turned: tree.Turned) -> bool:
        """One call; False after a message, and where an op is wrong."""
        instances = self.served.get(turned.op.name)
        if turned.op.name not in self.served:
            self.problems.say("TG105.operation", turned.op.span, near=self.served, name=turned.op.name, known=sorted(self.served))
        given = tuple(one for one in turned.given if not isinstance(one, tree.Naming))
        found = instances and self.one_of(turned, given)
        step = self.step(turned, *found, given) if found else None
        if step is None:
            return False
        self.steps.append(step)
        shapes = put(tuple(t.shape or () for t in step.op.outputs), step.sizes)
        anyhow = {t.name for t in self.pipeline.outputs if t.strided}
        for name, one, shape in zip(turned.made, step.op.outputs, shapes, strict=True):
            if name.name in self.known:
                self.problems.say("TG102.declared", name.span, self.known[name.name].span, what=f"tensor {name.name}")
                return False
            self.known[name.name] = tree.TensorDecl(name.name, one.dtype, shape, span=name.span, strided=name.name in anyhow)
        self.lines += self.equations(step)
        return True

    def one_of(self, turned: tree.Turned, given: tuple[tree.Expr, ...]) -> tuple[str, tree.Op] | None:
        """The op of that name for these tensors, with its dtypes; None after a message."""
        declared = next(d for d in self.file.declarations if isinstance(d, tree.Op) and d.name == turned.op.name)
        every = [(i.op.name, source(self.file, declared, i.variant)[-1]) for i in self.served[turned.op.name] or ()]
        ops = [(name, one) for name, one in every if isinstance(one, tree.Op)]
        say, first = self.problems.say, declared
        if len(given) != len(first.inputs) or len(turned.made) != len(first.outputs):
            wants = f"{counted(len(first.inputs), 'input')} and gives {counted(len(first.outputs), 'output')}"
            say("TG192.many", turned.span, declared.span, name=turned.op.name, wants=wants)
            return None
        kinds = [self.kind_of(one) for one in given]
        if None in kinds:
            return None
        fit = [(name, op) for name, op in ops if all(takes(t, k) for t, k in zip(op.inputs, kinds, strict=True))]
        ends = {t.name: t.dtype for t in self.pipeline.outputs}
        if len(fit) > 1:  # what is declared of an output tells, too
            makes = [[ends.get(n.name, t.dtype) == t.dtype for n, t in zip(turned.made, op.outputs, strict=True)] for _, op in fit]
            fit = [one for one, right in zip(fit, makes, strict=True) if all(right)]
        if len(fit) == 1:
            return fit[0]
        if fit:
            say("TG192.several", turned.span, first.span, name=turned.op.name, known=[name for name, _ in fit])
            return None
        shown = (", ".join(self.shown(one) for one in given), ", ".join(f"{t.name}: {kind(t)}" for t in first.inputs))
        say("TG192.other", turned.span, first.span, name=turned.op.name, given=shown[0], wanted=shown[1])
        return None

    def kind_of(self, given: tree.Expr) -> tuple[str, int | None] | None:
        """The dtype and the number of axes of what is given; of a number no dtype, and None for none; None after a message."""
        match given:
            case tree.Number() | tree.Unary("-", tree.Number()) | tree.Name("true" | "false"):
                return "", None
            case tree.Name(name) if name in self.known:
                self.read.add(name)
                one = self.known[name]
                return one.dtype, None if one.shape is None else len(one.shape)
            case tree.Name(name):
                self.problems.say("TG192.unknown", given.span, near=self.known, name=name, known=[*self.known])
            case _:
                self.problems.say("TG192.value", given.span, value=format_expr(given))
        return None

    def shown(self, given: tree.Expr) -> str:
        one = self.known.get(given.name) if isinstance(given, tree.Name) else None
        return f"{one.name}: {kind(one)}" if one else format_expr(given)

    def step(self, turned: tree.Turned, name: str, op: tree.Op, given: tuple[tree.Expr, ...]) -> Step | None:
        """The call with its sizes: those that extents tell, and those that are said; None after a message."""
        if not self.fits(turned, op, given):
            return None
        told: dict[str, tree.Expr] = {}
        pairs: list[tuple[tree.Expr, tree.Expr]] = []
        for one, there in zip(op.inputs, given, strict=True):
            shape = self.known[there.name].shape if isinstance(there, tree.Name) and there.name in self.known else None
            for extent, is_there in zip(one.shape or (), shape or (), strict=True):
                if isinstance(extent, tree.Name) and extent.name not in self.constants and extent.name not in told:
                    told[extent.name] = is_there
                else:
                    pairs.append((extent, is_there))
        said: dict[str, tree.Expr] = {}
        sizes = dict.fromkeys(size for i in self.served[op.name] or () if i.op.name == name for size in i.op.sizes)
        for naming in (n for n in turned.given if isinstance(n, tree.Naming)):
            if naming.name in told:
                self.problems.say("TG192.told", naming.span, name=naming.name, op=op.name, extent=format_expr(told[naming.name]))
                return None
            if naming.name not in sizes:
                self.problems.say("TG192.size", naming.span, near=sizes, name=naming.name, op=op.name, known=[*sizes] or ["none"])
                return None
            if naming.name in said:
                self.problems.say("TG192.told", naming.span, name=naming.name, op=op.name, extent=format_expr(said[naming.name]))
                return None
            said[naming.name] = naming.value
        for size in sizes:
            if size not in told and size not in said:
                self.problems.say("TG192.untold", turned.span, op.span, name=size, op=op.name)
                return None
        every = {**told, **said}
        wanted = put(tuple(extent for extent, _ in pairs), every)
        return Step(turned, name, op, given, every, tuple(said), tuple(zip(wanted, (there for _, there in pairs), strict=True)))

    def fits(self, turned: tree.Turned, op: tree.Op, given: tuple[tree.Expr, ...]) -> bool:
        """Whether arrays lie in rows where that is wanted, and only inputs of the pipeline are promised anything of."""
        speaks, mine = named(op.where), {t.name for t in self.pipeline.inputs}
        for one, there in zip(op.inputs, given, strict=True):
            name = there.name if isinstance(there, tree.Name) and there.name in self.known else ""
            if not name and literal_of(there, one.dtype) is None:
                self.problems.say("TG192.number", there.span, one.span, value=format_expr(there), dtype=one.dtype)
                return False
            if name and self.known[name].strided and not one.strided:
                self.problems.say("TG192.strided", there.span, one.span, name=name, op=op.name)
                return False
            if name and name not in mine and not one.shape:
                self.problems.say("TG192.one", there.span, one.span, name=name, op=op.name)
                return False
            if name and one.name in speaks and name not in mine:
                self.problems.say("TG192.promise", there.span, name=name, op=op.name)
                return False
        return True

    def put(self, step: Step, part: Any) -> Any:
        """A part of the called op in the names of the pipeline."""
        mine = {t.name: self.term(there, t.dtype) for t, there in zip(step.op.inputs, step.given, strict=True)}
        mine |= {t.name: self.term(made, t.dtype) for t, made in zip(step.op.outputs, step.turned.made, strict=True)}
        return put(rewritten(part, lambda node: with_name(node, self.own[step.turned])), {**mine, **step.sizes})

    def term(self, given: tree.Expr, dtype: str) -> tree.Expr:
        """What is given, as equations say it: a number with its dtype; an output that is read again by the name that it has until then."""
        if isinstance(given, tree.Name):
            return replace(given, name=self.again.get(given.name, given.name))
        return tree.Call(dtype, (given,), span=given.span)

    def equations(self, step: Step) -> Iterator[Any]:
        """The lines of the called op, whose own names give way."""
        op, out = step.op, step.turned.made[0].name
        lines = tuple(bounded(line, op, {}) for line in op.equations)
        public = {t.name for t in (*op.inputs, *op.outputs)} | step.sizes.keys() | self.constants
        own = {name: claimed(f"{out}_{name}", self.taken | public) for name in inner(op)}
        self.taken |= {*own.values()}
        indices = named(lines, op.where) - public - own.keys()
        own |= {name: claimed(name, self.taken | public) for name in sorted(indices & self.taken)}
        self.own[step.turned] = own
        for line in lines:
            yield self.put(step, line)

    def handed_on(self) -> Iterator[Any]:
        """Outputs that later calls read: as each is, so is what it was until then."""
        for name, until in self.again.items():
            shape = self.known[name].shape or ()
            index = tuple(tree.Name(claimed(f"i{n}", self.taken)) for n in range(len(shape)))
            bounds = tuple(tree.Binary("<", i, extent) for i, extent in zip(index, shape, strict=True))
            span = self.known[name].span
            yield tree.Equation((tree.Cell(name, bounds, span=span),), tree.Cell(until, index, span=span), span=span)

    def declared(self) -> Iterator[tuple[tree.Expr, tree.Expr]]:
        """The extents of outputs as they are made, and as they are declared."""
        for one in self.pipeline.outputs:
            yield from zip(self.known[one.name].shape or (), one.shape or (), strict=True)

    def finish(self) -> None:
        """What is given and not read, what is made and not read, and what is not made."""
        outputs = {t.name for t in self.pipeline.outputs}
        for one in self.known.values():
            if one.name not in self.read | outputs:
                what = "input" if one in self.pipeline.inputs else "value"
                self.problems.say("TG104.tensor", one.span, kind=what, name=one.name)
        for one in self.pipeline.outputs:
            made = self.known.get(one.name)
            if made is None or made in self.pipeline.inputs:
                self.problems.say("TG192.unmade", one.span, name=one.name)
            elif (made.dtype, len(made.shape or ())) != (one.dtype, len(one.shape or ())):
                self.problems.say("TG192.output", one.span, made.span, name=one.name, made=kind(made), wanted=kind(one))
            elif one.strided and not self.laid_anywhere(one.name):
                self.problems.say("TG192.laid", one.span, made.span, name=one.name)

    def laid_anywhere(self, name: str) -> bool:
        """Whether the op that makes an output takes an array for it with any strides."""
        every = ((made.name, t.strided) for step in self.steps for made, t in zip(step.turned.made, step.op.outputs, strict=True))
        return dict(every)[name]
