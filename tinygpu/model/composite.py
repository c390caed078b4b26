"""Ops one after the other: `op block = linear then gelu then residual`. Here they become ops like any other; nothing behind this knows of them.

Comes in: a file with all that it imports. Goes out: the file with each composite as the op that it is, and messages. The one idea: composition is
substitution. What the first gives, the second takes for its first inputs, so the sizes of those are the extents of what is given; equal names
are one input, or one size; and a function of a value goes element by element.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tinygpu.category.term import FUNCTIONS
from tinygpu.category.text import claimed
from tinygpu.model.joint import Extents, bounded, hiding, kind, named, renamed
from tinygpu.model.problems import Problems, counted, head
from tinygpu.model.scope import SPECIAL
from tinygpu.record import dataclass, field, replace
from tinygpu.syntax import tree


def without_composites(file: tree.File, problems: Problems) -> tree.File:
    """`tree.File → tree.File` with equations in every op. Mistakes are added to `problems`.

    >>> from tinygpu.syntax.format import format_file
    >>> from tinygpu.syntax.parse import parse
    >>> file = parse("op sums(x: f32[R, N]) -> (y: f32[R]) { y[r] = sum[j] x[r, j] }\\nop a = sums then exp then abs")
    >>> print(format_file(without_composites(file, Problems())).partition("\\n\\n")[2], end="")
    op a(x: f32[R, N]) -> (y: f32[R]) {
      sums[r < R] = sum[j] x[r, j]
      exp[r < R]  = exp(sums[r])
      y[r]        = abs(exp[r])
    }
    """
    if not any(isinstance(d, tree.Op) and d.parts for d in file.declarations):
        return file
    declared: dict[type, dict[str, Any]] = {}
    for one in file.declarations:
        declared.setdefault(type(one), {}).setdefault(getattr(one, "name", ""), one)
    ops, defs, params = (declared.get(kind, {}) for kind in (tree.Op, tree.Def, tree.Param))
    every = Composites(ops, {*params, *SPECIAL, *(d.name for d in defs.values() if not d.params)}, defs, problems)
    made = ((every.chain(d) if isinstance(d, tree.Op) and d.parts else d) for d in file.declarations)
    return replace(file, declarations=tuple(d for d in made if d is not None))


@dataclass(slots=True)
class Composites:
    """The ops of a file by name, what is no size, and its defs; what has been made, None of what is wrong, and what is being made."""

    ops: Mapping[str, tree.Op]
    constants: set[str]
    defs: Mapping[str, tree.Def]
    problems: Problems
    made: dict[str, tree.Op | None] = field(default_factory=dict)
    making: list[str] = field(default_factory=list)

    def whole(self, name: tree.Name) -> tree.Op | None:
        """The op of that name, with equations; None after a message."""
        one = self.ops.get(name.name)
        if one is None:
            known = sorted({*self.ops, *self.defs})
            self.problems.say("TG105.composed", name.span, near=known, name=name.name, known=sorted(self.ops))
            return None
        if one.name in self.making:
            self.problems.say("TG174.itself", name.span, head(one.span, f"op {one.name}"), name=one.name)
            return None
        return self.chain(one) if one.parts else one

    def chain(self, one: tree.Op) -> tree.Op | None:
        """What a composite is."""
        if one.name not in self.made:
            self.making.append(one.name)
            first, *others = one.parts
            made = self.whole(first)
            for part in others:
                if made is not None:
                    made = self.then(made, part)
            self.made[one.name] = made and replace(made, name=one.name, span=one.span)
            self.making.pop()
        return self.made[one.name]

    def then(self, first: tree.Op, part: tree.Name) -> tree.Op | None:
        """What comes of an op, and of what takes that."""
        function = part.name not in self.ops and (part.name in FUNCTIONS or part.name in self.defs)
        after = self.pointwise(first, part) if function else self.whole(part)
        return after and self.joined(first, after, part)

    def pointwise(self, before: tree.Op, part: tree.Name) -> tree.Op | None:
        """A function of a value as an op on what is given: element by element; what else it takes are numbers."""
        if len(before.outputs) != 1:
            self.problems.say("TG174.several", part.span, before.outputs[1].span, name=part.name, other=before.name)
            return None
        (given,), equations = before.outputs, [e for e in before.equations if isinstance(e, tree.Equation)]
        left = next((t for e in equations for t in e.targets if t.name == given.name), tree.Cell(given.name, ()))
        index = tuple(tree.Name(place.name, span=part.span) for place in map(tree.ranged, left.index) if place is not None)
        more = self.defs[part.name].params[1:] if part.name in self.defs else ()
        taken = {*named(before), *more, *self.constants}
        x, shape = claimed("x", taken), tuple(tree.Name(claimed("n", taken, ""), span=part.span) for _ in index)
        cell = tree.Cell(x, index, span=part.span)
        value = tree.Call(part.name, (cell, *(tree.Name(name, span=part.span) for name in more)), span=part.span)
        numbers = (tree.TensorDecl(name, given.dtype, span=part.span) for name in more)
        line = tree.Equation((tree.Cell(given.name, index, span=part.span),), value, span=part.span)
        inputs = (replace(given, name=x, shape=shape), *numbers)
        return tree.Op(part.name, inputs, (replace(given, shape=shape),), (line,), span=part.span)

    def joined(self, first: tree.Op, then: tree.Op, part: tree.Name) -> tree.Op | None:
        """`(A → B), (B × C → D)  ↦  A × C → D`, called by the name of the second; None after a message."""
        say, before, extents = self.problems.say, len(self.problems), Extents(self.constants)
        taken, rest = then.inputs[: len(first.outputs)], then.inputs[len(first.outputs) :]
        words: dict[str, object] = {"name": then.name, "other": first.name}
        if len(taken) < len(first.outputs):
            say("TG174.inputs", part.span, takes=counted(len(taken), "input"), gives=len(first.outputs), **words)
        for given, wanted in zip(first.outputs, taken, strict=False):
            if given.dtype != wanted.dtype or len(given.shape or ()) != len(wanted.shape or ()) or wanted.shape is None:
                say("TG174.other", part.span, given.span, wanted.span, given=kind(given), wanted=kind(wanted), **words)
            else:
                extents.are(wanted.shape, given.shape or ())
        for one in then.outputs:
            if one.inplace in (t.name for t in taken):
                say("TG164.given", part.span, one.span, target=one.name, taken=one.inplace, **words)
        extents.rest(named(first))
        families = {f.variable: f for f in first.families}
        for family in then.families:
            if families.setdefault(family.variable, family) != family:
                say("TG174.family", part.span, families[family.variable].span, family.span, **words)
        rest, ours = extents.put(rest), {t.name: t for t in first.inputs}
        for one in rest:
            if ours.get(one.name, one) != one:
                say("TG174.input", part.span, ours[one.name].span, one.span, input=one.name, **words)
        if len(self.problems) > before:
            return None
        rest = tuple(t for t in rest if t.name not in ours)
        outputs, lines = extents.put(then.outputs), extents.put(then.equations)
        mine, theirs = hiding(first, then, (rest, outputs))
        equations = (*(bounded(line, first, mine) for line in first.equations), *renamed(lines, theirs))
        where = tuple(dict.fromkeys((*renamed(first.where, mine), *extents.where, *renamed(extents.put(then.where), theirs))))
        every = tuple(families.values())
        return tree.Op(then.name, (*first.inputs, *rest), renamed(outputs, theirs), equations, where, every, span=part.span)
