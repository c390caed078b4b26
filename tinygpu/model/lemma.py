"""Lemmas, from the tree: what each component of a fold means, in folds of numbers.

Comes in: a declaration `lemma NAME[k] (x[k], …) is { m = max[k] x[k] … }` and the monoids of its file. Goes out: a `Lemma`. The one idea: what a fold means is an op, from arrays of
elements to the components, so it is elaborated as one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tinygpu.category.carrier import lifted as lifted_of
from tinygpu.category.monoid import BUILT_IN, Carrier
from tinygpu.category.term import TRUE, Axis, Fold, Read, Var
from tinygpu.diagnostic import Span
from tinygpu.model.elaborate_op import elaborate_op
from tinygpu.model.monoid import built_in
from tinygpu.model.op import Equation, Op
from tinygpu.model.problems import head
from tinygpu.model.scope import Scope
from tinygpu.model.source import stated, words
from tinygpu.record import dataclass, field, replace
from tinygpu.syntax import tree
from tinygpu.syntax.node import rewritten

SIZE = "elements"  # of the arrays of elements
GIVEN = " of it"  # at the end of the name of an output, which is a component
USUAL = "f32"  # of a monoid on several dtypes the one that stands for all


@dataclass(frozen=True, slots=True)
class Lemma:
    """What the components of a fold over something are: `op` takes the elements, arrays of `SIZE`, in the order of the monoid's `lift`; it was `declared` so."""

    name: str
    op: Op
    carrier: Carrier
    declared: tree.Lemma = field(compare=False, repr=False)
    span: Span = field(default=Span(), compare=False, repr=False)

    @property
    def title(self) -> str:
        """As machines have one."""
        return self.name

    def text(self, file: tree.File) -> str:
        """With whatever it names, as a spec of its own; `file` declares it."""
        return stated(file, tree.Lemma, self.name)

    @property
    def said(self) -> str:
        """What it is about."""
        return "lemma"

    @property
    def sizes(self) -> str:
        """For what it holds."""
        return "every fold over something"

    @property
    def folded(self) -> Op:
        """The fold itself as an op, which the other one says the meaning of."""
        k = Axis("k", Var(SIZE), "reduction")
        lifted = lifted_of(self.carrier, tuple(Read(t.name, (Var("k"),), t.dtype) for t in self.op.inputs))
        fold = Fold(self.carrier, (k,), TRUE, lifted, self.carrier)
        parts = zip(self.op.outputs, self.carrier.parts(fold), strict=True)
        equations = tuple(Equation(t.name, (), value) for t, value in parts)
        return replace(self.op, name=f"fold {self.name}", intermediates=(), equations=equations)

    def of(self, carrier: Carrier) -> bool:
        """Whether it is about a monoid: the one of its name, or a built-in one of that name on some dtype."""
        base, _, dtype = carrier.rpartition("_")
        return carrier == self.name if self.name not in BUILT_IN else base == self.name and dtype in BUILT_IN[self.name]


def of_folds(lemmas: Iterable[Lemma], *ops: Op) -> tuple[Lemma, ...]:
    """Those of the lemmas whose monoids some ops name."""
    named = words(tuple(d for op in ops for d in op.source if isinstance(d, tree.Op)))
    return tuple(one for one in lemmas if one.name in named)


def lemma_of(declared: tree.Lemma, scope: Scope) -> Lemma | None:
    """`tree.Lemma → Lemma`; None after a message."""
    problems, before = scope.problems, len(scope.problems)
    place = head(declared.span, f"lemma {declared.name}")
    carrier = built_in(declared.name, USUAL) if declared.name in BUILT_IN else dict(scope.monoids).get(declared.name)
    if carrier is None:
        known = (*scope.monoids, *BUILT_IN)
        if declared.name not in scope.monoids:  # of one that is wrong all is said
            problems.say("TG563.monoid", place, near=known, name=declared.name, known=known)
        return None
    names = [
        i.name if isinstance(i, tree.Cell) and i.index == (tree.Name(declared.index),) else "" for i in declared.elements.items
    ]
    if "" in names or len(names) != len(carrier.parameters) or len(set(names)) != len(names):
        example = ", ".join(f"{name}[{declared.index}]" for name, _ in carrier.parameters)
        problems.say("TG563.elements", declared.elements.span, name=declared.name, example=example)
    given, wanted = [one.name for one in declared.meanings], [name for name, _ in carrier.components]
    if not {*wanted} <= {*given} or len(set(given)) != len(given):
        problems.say("TG563.components", place, name=declared.name, wanted=wanted, given=given)
    if len(problems) > before:
        return None
    made = elaborate_op(_op(declared, names, carrier), scope)
    return Lemma(declared.name, made[0], carrier, declared, place) if len(problems) == before and made else None


def _op(declared: tree.Lemma, names: list[str], carrier: Carrier) -> tree.Op:
    """What a fold means, as an op. Each component is an output and has its name, under which the others read it."""
    span, kinds = declared.span, dict(carrier.components)
    inputs = (
        tree.TensorDecl(n, dtype, (tree.Name(SIZE),), span=span) for n, (_, dtype) in zip(names, carrier.parameters, strict=True)
    )
    outputs = (tree.TensorDecl(f"{n}{GIVEN}", dtype, (), span=span) for n, dtype in kinds.items())
    cells: Mapping[str, tree.Cell] = {one.name: tree.Cell(one.name, (), span=one.span) for one in declared.meanings}

    def read(node: tree.Expr | tree.Binder) -> tree.Expr | tree.Binder:
        match node:
            case tree.Name(name) if name in cells:
                return cells[name]
            case tree.Binder(declared.index, relation="", bound=None):
                return replace(node, relation="<", bound=tree.Name(SIZE, span=node.span))
        return node

    equations = [tree.Equation((cells[one.name],), rewritten(one.value, read), span=one.span) for one in declared.meanings]
    equations += [tree.Equation((tree.Cell(f"{n}{GIVEN}", (), span=span),), cells[n], span=cells[n].span) for n in kinds]
    return tree.Op(declared.name, tuple(inputs), tuple(outputs), tuple(equations), span=span)
