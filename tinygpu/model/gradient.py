"""Gradients, from the tree: ops that are said to compute what an op's inputs change a number by, from what its outputs change it by.

    gradient of softmax is softmax_backward        y = softmax(x)        dx = softmax_backward(x, y, dy)

Comes in: a declaration `gradient of A is B, …` and the ops of its file. Goes out: a `Gradient`, whose `whole` is B behind A, an op from x and dy to dx. The one idea: tensors go by their names: of an input x
and an output y of A, an op B takes any of x, y and dy, and gives dx; so there is nothing to write but the names of the ops.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tinygpu.category.term import FLOATS, Axis, Read, Term, Var, rebuild, substitute, text
from tinygpu.category.text import claimed
from tinygpu.diagnostic import Span
from tinygpu.model.adjoint import CHANGE
from tinygpu.model.lemma import Lemma, of_folds
from tinygpu.model.op import Equation, Op, Tensor
from tinygpu.model.problems import Problems, head
from tinygpu.model.source import stated
from tinygpu.record import dataclass, field, replace
from tinygpu.syntax import tree
from tinygpu.syntax.format import format_file

Shapes = Mapping[str, tuple[Term, ...]]


@dataclass(frozen=True, slots=True)
class Gradient:
    """The ops `by` give gradients of `op`, and `whole` is what they compute of its inputs and of what its outputs change a number by. `lemmas` say what folds of monoids mean."""

    op: Op
    by: tuple[Op, ...]
    whole: Op
    lemmas: tuple[Lemma, ...] = ()
    span: Span = field(default=Span(), compare=False, repr=False)

    @property
    def name(self) -> str:
        """One word for it."""
        return f"gradient_of_{self.op.family}"

    @property
    def title(self) -> str:
        """As machines have one."""
        return self.name

    @property
    def said(self) -> str:
        """Who gives it."""
        return ", ".join(one.family for one in self.by)

    @property
    def wanted(self) -> tuple[str, ...]:
        """The inputs whose gradients are given."""
        return tuple(t.name.removeprefix(CHANGE) for t in self.whole.outputs)

    @property
    def sizes(self) -> str:
        """For what it holds."""
        sizes = f"all {', '.join(self.op.sizes)}" if self.op.sizes else "its one size"
        said = sizes + (f" with {' and '.join(map(text, self.op.where))}" if self.op.where else "")
        said += f", assuming {' and '.join(map(text, self.op.promises))}" if self.op.promises else ""
        return said + (f", through {', '.join(self.through)} alone" if len(self.through) < len(self.op.outputs) else "")

    @property
    def through(self) -> tuple[str, ...]:
        """The outputs by which inputs change a number: those of whose changes somebody takes note."""
        given = {t.name for t in self.whole.inputs}
        return tuple(t.name for t in self.op.outputs if CHANGE + t.name in given)

    @property
    def spelled(self) -> str:
        """As it is written, behind the lemmas that it needs."""
        names = (tree.Name(one.family) for one in self.by)
        return format_file(
            tree.File((*(one.declared for one in self.lemmas), tree.Gradient(tree.Name(self.op.family), tuple(names))))
        )

    def text(self, file: tree.File) -> str:
        """With whatever it names, as a spec of its own; `file` declares it."""
        return stated(file, tree.Gradient, self.name)


def gradients_of(
    declared: Iterable[tree.Gradient], served: Mapping[str, Sequence[Op] | None], lemmas: Iterable[Lemma], problems: Problems
) -> tuple[Gradient, ...]:
    """The gradients of a file, one for each op."""
    found, seen = list[Gradient](), dict[str, tree.Gradient]()
    for one in declared:
        first = seen.setdefault(one.op.name, one)
        if first is not one:
            every = ", ".join(name.name for name in (*first.by, *one.by))
            problems.say("TG568.again", one.op.span, first.op.span, op=one.op.name, all=every)
        elif made := gradient_of(one, served, lemmas, problems):
            found.append(made)
    return tuple(found)


def gradient_of(
    declared: tree.Gradient, served: Mapping[str, Sequence[Op] | None], lemmas: Iterable[Lemma], problems: Problems
) -> Gradient | None:
    """`tree.Gradient → Gradient`, with those of the lemmas that it needs; None after a message, or where an op is wrong."""
    before, ops = len(problems), list[Op]()
    for name in (declared.op, *declared.by):
        if name.name not in served:
            message = "TG105.operation" if served else "TG105.none"
            problems.say(message, name.span, near=served, name=name.name, known=sorted(served))
        ops += (served.get(name.name) or ())[:1]
    if len(ops) <= len(declared.by):
        return None
    op, *by = ops
    given, seen = Given.of(op), dict[str, Span]()
    changes = {CHANGE + t.name for t in op.tensors}
    for tensor in (t for t in (*op.tensors, *op.intermediates) if t.name in changes):
        problems.say("TG568.name", declared.op.span, tensor.span, op=op.family, tensor=tensor.name)
        return None
    for name, one in zip(declared.by, by, strict=True):
        given.fits(one, name, problems)
        for tensor in one.outputs:
            if tensor.name in seen:
                problems.say("TG568.twice", name.span, seen[tensor.name], name=tensor.name)
            seen[tensor.name] = name.span
    noted, wanted = {t.name for one in by for t in one.inputs}, [CHANGE + t.name for t in op.outputs if t.dtype in FLOATS]
    if len(problems) == before and noted.isdisjoint(wanted):
        problems.say("TG568.nothing", declared.op.span, op=op.family, known=wanted or ["nothing"])
    if len(problems) > before:
        return None
    return Gradient(op, tuple(by), given.behind(by), of_folds(lemmas, *ops), head(declared.span, f"gradient of {op.family}"))


@dataclass(frozen=True, slots=True)
class Given:
    """What a gradient of an op may take, and what it may give, by name with their shapes."""

    op: Op
    takes: Shapes
    gives: Shapes

    @staticmethod
    def of(op: Op) -> Given:
        """By the names of its tensors."""
        takes = {t.name: t.shape for t in op.tensors} | {CHANGE + t.name: t.shape for t in op.outputs if t.dtype in FLOATS}
        return Given(op, takes, {CHANGE + t.name: t.shape for t in op.inputs if t.dtype in FLOATS and t.shape})

    def fits(self, one: Op, name: tree.Name, problems: Problems) -> None:
        """Says what an op takes or gives that is none of these, or is of another shape."""
        said = {"name": one.family, "op": self.op.family}
        for tensor in one.tensors:
            known, message = (self.gives, "TG568.gives") if tensor in one.outputs else (self.takes, "TG568.takes")
            if tensor.name not in known:
                problems.say(message, name.span, **said, tensor=tensor.name, known=sorted(known) or ["nothing"])
                return
        sizes = self.sizes(one)
        for tensor in one.tensors:
            wanted = (self.gives if tensor in one.outputs else self.takes)[tensor.name]
            if tuple(substitute(extent, sizes) for extent in tensor.shape) != wanted:
                shapes = {"has": _shape(tensor.shape), "wanted": _shape(wanted)}
                problems.say("TG568.shape", name.span, **said, tensor=tensor.name, **shapes)
                return
        for size in one.sizes:
            if size not in sizes:
                problems.say("TG568.size", name.span, **said, size=size)

    def sizes(self, one: Op) -> dict[str, Term]:
        """What the sizes of such an op are, by the shapes of what it takes and gives, and then by their names."""
        found: dict[str, Term] = {}
        for tensor in one.tensors:
            for extent, there in zip(tensor.shape, (self.takes | self.gives)[tensor.name], strict=False):  # type: ignore[operator]
                if isinstance(extent, Var):
                    found.setdefault(extent.name, there)
        return {size: Var(size) for size in one.sizes if size in self.op.sizes} | found

    def behind(self, by: Sequence[Op]) -> Op:
        """These ops behind this one, as one op."""
        op, noted = self.op, {t.name for one in by for t in one.inputs}
        changes = [replace(t, name=CHANGE + t.name, role="input", inplace="") for t in op.outputs if CHANGE + t.name in noted]
        taken = {*op.sizes, *(t.name for one in (op, *by) for t in (*one.tensors, *one.intermediates)), *(t.name for t in changes)}
        between = [replace(t, role="intermediate", inplace="", strided=False) for t in op.outputs]
        equations, where, promises = [*op.equations], [*op.where], [*op.promises]
        for one in by:
            names = {t.name: claimed(t.name, taken) for t in one.intermediates}
            moved = Moved(names, self.sizes(one), op.sizes)
            between += [moved.tensor(t) for t in one.intermediates]
            equations += map(moved.equation, one.equations)
            where += map(moved.term, one.where)
            promises += map(moved.term, one.promises)
        outputs = tuple(replace(t, shape=self.gives[t.name], inplace="") for one in by for t in one.outputs)
        return replace(
            op,
            name=" and ".join(one.name for one in by),
            inputs=(*op.inputs, *changes),
            outputs=outputs,
            intermediates=(*op.intermediates, *between),
            equations=tuple(equations),
            where=tuple(dict.fromkeys(where)),
            promises=tuple(dict.fromkeys(promises)),
        )


@dataclass(frozen=True, slots=True)
class Moved:
    """An op among the tensors and the sizes of another one."""

    names: Mapping[str, str]
    sizes: Mapping[str, Term]
    taken: tuple[str, ...]

    def term(self, term: Term) -> Term:
        """With other names of tensors and other sizes."""
        return self._read(substitute(term, self.sizes))

    def _read(self, term: Term) -> Term:
        if isinstance(term, Read) and term.tensor in self.names:
            return Read(self.names[term.tensor], tuple(map(self._read, term.index)), term.dtype, term.span)
        return rebuild(term, self._read)

    def tensor(self, one: Tensor) -> Tensor:
        """What stands between."""
        return replace(one, name=self.names[one.name], shape=tuple(map(self.term, one.shape)))

    def equation(self, one: Equation) -> Equation:
        """With axes that hide no size."""
        taken = {*self.taken, *(a.name for a in one.axes if a.name not in self.taken)}
        to = {a.name: Var(claimed(a.name, taken)) for a in one.axes if a.name in self.taken}
        axes = tuple(Axis(to.get(a.name, Var(a.name)).name, self.term(a.extent), a.sort, a.span) for a in one.axes)
        value = self.term(substitute(one.value, to))
        return replace(one, target=self.names.get(one.target, one.target), axes=axes, value=value)


def _shape(shape: tuple[Term, ...]) -> str:
    return f"[{', '.join(map(text, shape))}]"
