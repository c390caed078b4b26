"""Unpacking: a program whose cells hold values of carriers, as one whose cells hold numbers.

Comes in: a program. Goes out: the same program with a cell for each component, which is what is simulated and emitted.
The one idea: an assignment becomes one for each component, and every component is evaluated before any of them is written, and so are
the guard and the index, where they read these cells:

    acc[] lse= lse(x, 1)    →    acc_m_in[] = x;  acc_m_out[] = max(acc_m[], acc_m_in[]);  acc_s[] = …;  acc_m[] = acc_m_out[]
"""

from __future__ import annotations

from collections.abc import Mapping

from tinygpu.category.carrier import combined
from tinygpu.category.monoid import Carrier, components
from tinygpu.category.near import approximate, rounded
from tinygpu.category.node import kept
from tinygpu.category.term import (
    SHUFFLES,
    TRUE,
    App,
    Const,
    Fold,
    Read,
    Term,
    Var,
    children,
    memoised,
    pack,
    reads,
    rebuild,
    select,
)
from tinygpu.category.text import claimed
from tinygpu.diagnostic import Span
from tinygpu.program.arrays import names_of
from tinygpu.program.space import LOCAL
from tinygpu.program.step import Array, Assign, Ghost, Launch, Program, Step
from tinygpu.program.traverse import map_every, map_steps, map_terms, terms
from tinygpu.record import dataclass, field, replace


def unpack(program: Program) -> Program:
    """`program → program` without carriers, and with casts for numbers next to others. A program that has neither is itself."""
    if any(approximate(term) for step in program.steps for term in terms(step)):
        program = replace(program, launches=tuple(replace(one, body=map_every(one.body, rounded)) for one in program.launches))
    names, taken = components_of(program)
    if not names and not any(composed(term) for step in program.steps for term in terms(step)):
        return program
    unpacker = Unpacker(names, taken)
    launches = tuple(unpacker.launch(launch) for launch in program.launches)
    workspaces = tuple(one for w in program.workspaces for one in unpacker.declared(w))
    return replace(program, launches=launches, workspaces=workspaces)


@kept
def composed(term: Term) -> bool:
    """Whether a value that has components stands in a term."""
    return isinstance(term.dtype, Carrier) or any(map(composed, children(term)))


def components_of(program: Program) -> tuple[Mapping[str, tuple[str, ...]], set[str]]:
    """The names of the cells of each array of a carrier, and all names that are taken then."""
    inner = (s for s in program.steps if isinstance(s, Array))
    declared = [a for a in (*program.workspaces, *inner) if isinstance(a.dtype, Carrier)]
    taken = names_of(program)
    names = {a.name: tuple(claimed(f"{a.name}_{n}", taken) for n, _ in components(a.dtype)) for a in declared}
    return names, taken


def array_of(program: Program, cell: str) -> str:
    """The array of a program that a cell of the unpacked one is a component of; else its own name."""
    return next((array for array, cells in components_of(program)[0].items() if cell in cells), cell)


@dataclass(slots=True)
class Now:
    """The assignment at hand: what has to be evaluated before it, where, and the temporaries that it uses."""

    guard: Term
    span: Span
    steps: list[Step] = field(default_factory=list)
    used: set[str] = field(default_factory=set)


@dataclass(slots=True)
class Unpacker:
    """`names` are the cells of each carrier's array; `locals` the temporaries of the launch at hand, by name and dtype."""

    names: Mapping[str, tuple[str, ...]]
    taken: set[str]
    locals: dict[str, str] = field(default_factory=dict)
    spare: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    now: Now | None = None

    def launch(self, launch: Launch) -> Launch:
        """The launch with its temporaries declared first."""
        self.locals, self.spare = {}, {}
        body = map_steps(launch.body, self.step)
        return replace(launch, body=(*(Array(name, dtype, (), LOCAL) for name, dtype in self.locals.items()), *body))

    def step(self, step: Step) -> tuple[Step, ...]:
        """The steps that a step stands for."""
        match step:
            case Array():
                return self.declared(step)
            case Assign():
                return self.assign(step)
            case Ghost(target, index, value, span):
                index, parts = tuple(map(self.term, index)), self.split(value)
                return tuple(Ghost(name, index, v, span) for name, v in zip(self.names.get(target, (target,)), parts, strict=True))
        return (map_terms(step, self.term),)

    def declared(self, array: Array) -> tuple[Array, ...]:
        """An array for each component."""
        if array.name not in self.names:
            return (array,)
        dtypes = (dtype for _, dtype in components(array.dtype))
        return tuple(replace(array, name=name, dtype=dtype) for name, dtype in zip(self.names[array.name], dtypes, strict=True))

    @memoised
    def term(self, term: Term) -> Term:
        """A term of a plain dtype, with components read from their own cells."""
        match term:
            case App("part", (value, Const(int(place)))):
                return self.split(value)[place]
        return rebuild(term, self.term)

    def split(self, value: Term) -> tuple[Term, ...]:
        """The components of a value; a plain value is its only one."""
        if not isinstance(value.dtype, Carrier):
            return (self.term(value),)
        carrier = value.dtype
        match value:
            case App("pack", args):
                return tuple(map(self.term, args))
            case App("select", (condition, then, otherwise)):
                guard, outside = self.term(condition), self.now
                self.now = None  # a branch is evaluated only where it is taken
                pairs = zip(self.split(then), self.split(otherwise), strict=True)
                self.now = outside
                return tuple(select(guard, a, b) for a, b in pairs)
            case Read(tensor, index, _, span) if tensor in self.names:
                index = tuple(map(self.term, index))
                cells = zip(self.names[tensor], carrier.components, strict=True)
                return tuple(Read(name, index, dtype, span) for name, (_, dtype) in cells)
            case App(op, (inner, lane), _) if op in SHUFFLES:
                return tuple(App(op, (v, self.term(lane)), v.dtype) for v in self.split(inner))
            case App(op, (a, b), _) if isinstance(op, Carrier):
                left, right = (
                    tuple(self.hold(f"{op}_{n}", v) for v, (n, _) in zip(self.split(side), carrier.components, strict=True))
                    for side in (a, b)
                )
                return self.combined(op, left, right)
            case Fold(monoid, axes, guard, body, dtype, span):
                whole = Fold(monoid, axes, self.term(guard), pack(self.split(body), dtype), dtype, span)
                return carrier.parts(whole)
        raise TypeError(f"not a value of {value.dtype}: {value!r}")

    def combined(self, monoid: str, a: tuple[Term, ...], b: tuple[Term, ...]) -> tuple[Term, ...]:
        """The components of `a ⊕ b`."""
        assert isinstance(monoid, Carrier)
        return combined(monoid, pack(a, monoid), pack(b, monoid))

    def hold(self, kind: str, value: Term) -> Term:
        """The value, evaluated now, unless it may be evaluated as often as it stands somewhere, or perhaps not at all."""
        if self.now is None or isinstance(value, Const | Var) or (isinstance(value, Read) and value.tensor in self.now.used):
            return value
        name = self.temporary(kind, value.dtype, self.now.used)
        self.now.steps.append(Assign(name, (), value, "", self.now.guard, self.now.span))
        return Read(name, (), value.dtype, self.now.span)

    @memoised
    def before(self, term: Term, cells: frozenset[str]) -> Term:
        """An index whose reads of these cells are made now, while nothing of them is written."""
        if isinstance(term, Read) and term.tensor in cells:
            return self.hold(f"{term.tensor}_at", term)
        return rebuild(term, lambda part: self.before(part, cells))

    def temporary(self, kind: str, dtype: str, used: set[str]) -> str:
        """A local that this assignment does not use yet; later assignments use it again."""
        pool = self.spare.setdefault((kind, dtype), [])
        name = next((n for n in pool if n not in used), "")
        if not name:
            name = claimed(kind, self.taken)
            pool.append(name)
            self.locals[name] = dtype
        used.add(name)
        return name

    def assign(self, step: Assign) -> tuple[Step, ...]:
        """One assignment, or one for each component."""
        self.now = now = Now(TRUE, step.span)
        index, guard = tuple(map(self.term, step.index)), self.term(step.guard)
        cells = self.names.get(step.target, (step.target,))
        if set(cells) & {r.tensor for r in reads(guard)}:
            guard = self.hold("asked", guard)
        now.guard = guard
        index = tuple(self.before(t, frozenset(cells)) for t in index) if step.target in self.names else index
        parts = self.split(step.value)
        if step.target not in self.names:
            self.now = None
            return (*now.steps, replace(step, index=index, value=parts[0], guard=guard))
        if step.update:
            own = components(step.value.dtype)
            old = tuple(Read(name, index, dtype, step.span) for name, (_, dtype) in zip(cells, own, strict=True))
            given = (self.hold(f"{step.target}_{n}_in", v) for v, (n, _) in zip(parts, own, strict=True))
            parts = self.combined(step.update, old, tuple(given))
        order = list(zip(cells, parts, strict=True))
        if any(r.tensor in cells and r.tensor != name for name, v in order for r in reads(v)):
            order = [order[-1], *((name, self.hold(f"{name}_out", v)) for name, v in order[:-1])]
        self.now = None
        return (*now.steps, *(Assign(name, index, v, "", guard, step.span) for name, v in order))
