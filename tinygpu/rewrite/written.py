"""What a search chose, as the text of a spec: an op, with the monoids that its folds need and a lemma for each.

Comes in: a node for each class that is needed. Goes out: declarations, as text. The one idea: a fold is an equation of its own, so whoever writes a machine can say where it is done; what is weighted by
its maximum is a fold of the semidirect product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from itertools import chain, count

from tinygpu.algebra.polynomial import Unfollowed
from tinygpu.category.term import TRUE, App, Axis, Const, Fold, Read, Term, Var, substitute, variables, walk
from tinygpu.program.expression import expression, unsaid
from tinygpu.record import dataclass, field, replace
from tinygpu.rewrite.cost import is_one
from tinygpu.rewrite.extract import Chosen
from tinygpu.rewrite.graph import INV, Box, Leaf, Node, Over
from tinygpu.rewrite.read import Reader
from tinygpu.rewrite.semidirect import called, declared
from tinygpu.syntax import tree
from tinygpu.syntax.format import format_expr, format_file

WIDE = ("f32", "f64")


@dataclass(slots=True)
class Writer:
    """One op, as it is written: its equations so far, and where each class is found."""

    reader: Reader
    chosen: Chosen
    name: str
    taken: set[str]
    equations: list[str] = field(default_factory=list)
    monoids: list[str] = field(default_factory=list)
    places: dict[int, tuple[str, tuple[str, ...]]] = field(default_factory=dict)
    letters: dict[str, str] = field(default_factory=dict)
    results: dict[int, int] = field(default_factory=dict)

    @property
    def own(self) -> tree.Op:
        """The op that was asked about, as its file has it."""
        return next(d for d in self.reader.op.source if isinstance(d, tree.Op))

    @property
    def dtype(self) -> str:
        """What is computed in."""
        wide = {t.dtype for t in self.reader.op.outputs} & {*WIDE}
        return max(wide, default="f32")

    def text(self) -> str:
        """The declarations. Raises Unfollowed for what the language has no words for."""
        roots = {t.name: self.reader.graph.find(self.reader.roots[t.name]) for t in self.reader.op.outputs}
        for root in roots.values():
            self._find_results(root)
        lines = [self._output(name, root) for name, root in roots.items()]
        header = format_file(tree.File((replace(self.own, name=self.name, equations=(), families=()),))).rstrip()
        body = "\n".join(f"  {line}" for line in (*self.equations, *lines))
        return "\n\n".join([*self.monoids, f"{header.removesuffix('}').rstrip()}\n{body}\n}}"])

    # ── names ──

    def fresh(self, wanted: str) -> str:
        """A name that nothing has."""
        name = next(n for n in chain([wanted], (f"{wanted}{number}" for number in count(2))) if n not in self.taken)
        self.taken.add(name)
        return name

    def letter(self, index: str) -> str:
        """What an index is called: as a fold of the op over as many calls one, if that is free."""
        outer = {a.name for e in self.reader.op.equations if e.target in self.reader.roots for a in e.axes}
        if "#" not in index:
            return index
        if index not in self.letters:
            extent = self.reader.extents[index]
            folds = [f for e in self.reader.op.equations for f in walk(e.value) if isinstance(f, Fold)]
            used = {*self.letters.values(), *outer}
            own = (a.name for f in folds for a in f.axes if a.extent == extent)
            self.letters[index] = next((n for n in own if n not in used), "") or self.fresh("k")
        return self.letters[index]

    def put(self, term: Term) -> Term:
        """With letters for indices."""
        return substitute(term, {name: Var(self.letter(name)) for name in variables(term) if "#" in name})

    def axes(self, names: frozenset[str]) -> tuple[str, ...]:
        """Indices in order: those of the outputs first."""
        outer = [a.name for e in self.reader.op.equations if e.target in self.reader.roots for a in e.axes]
        return tuple(sorted(names, key=lambda n: (outer.index(n) if n in outer else len(outer), n)))

    def cell(self, name: str, axes: Sequence[str]) -> Read:
        """An intermediate at its own indices."""
        return Read(name, tuple(Var(a) for a in axes), self.dtype)

    # ── values ──

    def node(self, one: int) -> Node:
        """The node of a class."""
        return self.chosen[self.reader.graph.find(one)]

    def free(self, one: int) -> frozenset[str]:
        """What a class speaks of, as it is computed."""
        return self.reader.graph.free[self.reader.graph.find(one)]

    def value(self, one: int) -> Term:
        """A class as a term over inputs and intermediates, which are written as they are met."""
        one = self.reader.graph.find(one)
        if one in self.results and one not in self.places:
            self._weighted(self.results[one])
        if one in self.places:
            return self.cell(*self.places[one])
        label, below = self.node(one)
        if isinstance(label, Over) or (label[0] == "part" if isinstance(label, tuple) else False):
            self._intermediate(one)
            return self.cell(*self.places[one])
        return self._computed(label, below, self.value)

    def _computed(self, label: object, below: Sequence[int], value: Callable[[int], Term]) -> Term:
        match label:
            case Leaf(term):
                return self._typed(term)
            case ("mul",):
                above = [c for c in below if self.node(c)[0] != INV]
                under = [self.node(c)[1][0] for c in below if self.node(c)[0] == INV]
                factors = [value(c) for c in above]
                minus = [f for f in factors if f == Const(-1.0, self.dtype)]
                factors = [f for f in factors if f not in minus]
                whole = reduce(lambda a, b: App("mul", (a, b), self.dtype), factors) if factors else Const(1.0, self.dtype)
                whole = reduce(lambda a, b: App("div", (a, value(b)), self.dtype), under, whole)
                return App("neg", (whole,), self.dtype) if len(minus) % 2 else whole
            case ("inv",):
                return App("div", (Const(1.0, self.dtype), value(below[0])), self.dtype)
            case ("app", "select", condition):
                return App("select", (self.put(condition), *(value(c) for c in below)), self.dtype)  # type: ignore[arg-type]
            case ("app", "add"):
                a, b = (value(c) for c in below)
                match a, b:
                    case _, App("neg", (inner,)):
                        return App("sub", (a, inner), self.dtype)
                    case App("neg", (inner,)), _:
                        return App("sub", (b, inner), self.dtype)
                return App("add", (a, b), self.dtype)
            case ("app", str(op)):
                return App(op, tuple(value(c) for c in below), self.dtype)
        raise Unfollowed(f"{label}")

    def _typed(self, term: Term) -> Term:
        """A leaf as a number of the dtype that is computed in."""
        match term:
            case Const(number):
                return Const(number, self.dtype)
            case App("cast", (inner,)):
                return App("cast", (self.put(inner),), self.dtype)
        found = self.put(term)
        return found if found.dtype == self.dtype else App("cast", (found,), self.dtype)

    # ── equations ──

    def _output(self, name: str, root: int) -> str:
        equation = self.reader.op.equation(name)
        axes = [a.name for a in equation.axes]
        label, below = self.node(root)
        if root in self.results and root not in self.places:
            return self._fold_line(self.results[root], [(name, axes)], [root])
        plain = isinstance(label, Over) and not label.weighted and len(label.kinds) == 1 and root not in self.places
        value = self._fold(label, below[0]) if plain and isinstance(label, Over) else self.value(root)
        dtype = self.reader.op.tensor(name).dtype
        value = self._said(value) if dtype == self.dtype else App("cast", (value,), dtype)
        return f"{name}[{', '.join(axes)}] = {format_expr(self._shown(value))}"

    @property
    def _scalars(self) -> frozenset[str]:
        return frozenset(t.name for t in self.reader.op.inputs if not t.shape)

    def _place(self, one: int) -> tuple[str, tuple[str, ...]]:
        """A name and the indices of an intermediate: those of the op, where it has it."""
        free = self.free(one)
        for known, (name, index) in self.reader.called.items():
            if self.reader.graph.find(known) == one and {*index} == free and name not in (p for p, _ in self.places.values()):
                return name, tuple(map(self.letter, index))
        return self.fresh("t"), tuple(map(self.letter, self.axes(free)))

    def _intermediate(self, one: int) -> None:
        """A fold as an equation of its own; of several side by side each."""
        label, below = self.node(one)
        if isinstance(label, tuple):  # a part
            whole, place = self.node(below[0]), int(label[1])
            assert isinstance(whole[0], Over)
            if whole[0].weighted:
                raise Unfollowed("a component of a fold over fewer indices")
            label, below = Over((whole[0].kinds[place],), whole[0].box), (whole[1][place],)
        assert isinstance(label, Over)
        fold = self._fold(label, below[0])
        self.places[one] = name, axes = self._place(one)
        self.equations.append(f"{name}[{', '.join(self._ranged(axes, fold))}] = {format_expr(self._shown(fold))}")

    def _fold(self, over: Over, body: int) -> Term:
        axes, guard = self._box(over.box)
        return Fold(over.kinds[0], axes, guard, self._said(self.value(body)), self.dtype)

    def _ranged(self, axes: Sequence[str], value: Term) -> list[str]:
        """Indices of a target, with their ranges where nothing is read at them."""
        extents = {
            self.letter(name): extent for name, extent in self.reader.extents.items() if "#" not in name or name in self.letters
        }
        read = {i.name for t in walk(value) if isinstance(t, Read) for i in t.index if isinstance(i, Var)}
        return [a if a in read else f"{a} < {format_expr(expression(self.put(extents[a])))}" for a in axes]

    def _shown(self, value: Term) -> tree.Expr:
        """As an expression; the range of an index that nothing is read at stands beside what is asked of it."""
        shown = expression(value, self._scalars)
        if not isinstance(value, Fold) or not isinstance(shown, tree.FoldExpr):
            return shown
        read = {i.name for t in walk(value.body) if isinstance(t, Read) for i in t.index if isinstance(i, Var)}
        if value.guard == TRUE or {a.name for a in value.axes} <= read:
            return shown
        binders = tuple(tree.Binder(a.name, "<", expression(a.extent, self._scalars)) for a in value.axes)
        return replace(shown, binders=binders, guard=expression(value.guard, self._scalars))

    def _said(self, value: Term) -> Term:
        """With its dtype, where nothing in it says that."""
        return App("cast", (value,), self.dtype) if unsaid(value) else value

    def _box(self, box: Box) -> tuple[tuple[Axis, ...], Term]:
        axes = tuple(Axis(self.letter(a.name), self.put(a.extent), a.sort) for a in box.axes)
        return axes, self.put(self.reader.guards[box])

    # ── folds of a semidirect product ──

    def _find_results(self, one: int) -> None:
        """What is made of the components of one weighted fold alone, as much of it as there is."""
        one = self.reader.graph.find(one)
        whole = self._only(one)
        if whole is not None and self.node(one)[0] != INV:
            self.results[one] = whole
            return
        for child in self.node(one)[1]:
            self._find_results(child)

    def _only(self, one: int) -> int | None:
        """The weighted fold that a class is made of, and of numbers."""
        wholes = set(self._made_of(one))
        return wholes.pop() if len(wholes) == 1 and None not in wholes else None

    def _made_of(self, one: int) -> Iterator[int | None]:
        label, below = self.node(one)
        if isinstance(label, tuple) and label[0] == "part":
            over = self.node(below[0])[0]
            yield self.reader.graph.find(below[0]) if isinstance(over, Over) and over.weighted else None
        elif isinstance(label, Over) or (isinstance(label, Leaf) and not isinstance(label.term, Const)) or "select" in str(label):
            yield None
        else:
            for child in below:
                yield from self._made_of(child)

    def _weighted(self, whole: int) -> None:
        """A weighted fold as an equation, of all that is made of its components."""
        results = [r for r, of in self.results.items() if of == whole and r not in self.places]
        places = [self._place(r) for r in results]
        line = self._fold_line(whole, places, results)
        self.equations.append(line)
        self.places.update(zip(results, places, strict=True))

    def _fold_line(self, whole: int, places: Sequence[tuple[str, Sequence[str]]], results: Sequence[int]) -> str:
        over, (h, *bodies) = self.node(whole)
        assert isinstance(over, Over)
        free = {self.letter(n) for n in self.free(whole)}
        if any({*axes} != free for _, axes in places):
            raise Unfollowed("a component of a fold over fewer indices")
        kept = [c for c in bodies if not is_one(self.reader.graph, c)]
        values = [self._said(self.value(c)) for c in (h, *kept)]
        monoid = self.fresh(f"{self.name}_fold")
        ones = [is_one(self.reader.graph, c) for c in bodies]
        worth = [format_expr(expression(self._result(r, whole))) for r in results]
        self.monoids += declared(monoid, self.dtype, ones, worth)
        axes, guard = self._box(over.box)
        shown = self._shown(Fold("sum", axes, guard, reduce(lambda a, b: App("add", (a, b), self.dtype), values), self.dtype))
        assert isinstance(shown, tree.FoldExpr)
        items = tuple(expression(v, self._scalars) for v in values)
        body: tree.Expr = tree.Group(items) if len(items) > 1 else items[0]
        cells = ", ".join(f"{name}[{', '.join(index)}]" for name, index in places)
        cells = f"({cells})" if len(places) > 1 else cells
        return f"{cells} = {format_expr(replace(shown, monoid=monoid, named=True, body=body))}"

    def _result(self, one: int, whole: int) -> Term:
        """What is made of components, over their names."""
        label, below = self.node(one)
        if isinstance(label, tuple) and label[0] == "part":
            return Var(called(int(label[1])), self.dtype)
        return self._computed(label, below, lambda c: self._result(c, whole))
