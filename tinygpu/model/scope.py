"""What the names of an expression mean: sizes, indices, tensors, constants, and what was used of them.

Comes in: the declarations around an expression. Goes out: the term that a name stands for, or a message about it.
The one idea: one flat scope; nothing may hide anything, so a name means the same thing wherever it stands.
"""

from __future__ import annotations

from collections.abc import Mapping

from tinygpu.category.dtype import DTYPE
from tinygpu.category.monoid import Carrier, is_built_in
from tinygpu.category.term import BOOL, DTYPES, INDEX, INTEGERS, App, Const, Read, Term, Var
from tinygpu.diagnostic import Span
from tinygpu.model.dtype import LITERAL
from tinygpu.model.op import Tensor
from tinygpu.model.problems import UNKNOWN, WRONG, Problems, counted
from tinygpu.record import dataclass, field, replace

SPECIAL = {UNKNOWN: WRONG, "inf": Const(float("inf"), LITERAL), "true": Const(True, BOOL), "false": Const(False, BOOL)}
OUTSIDE, GHOST = "outside a program", "in a ghost fact"  # places where no shuffle may stand
# what other languages call them
ALIASES = {other: row.name for row in DTYPE.values() for other in row.others}


@dataclass(frozen=True, slots=True)
class Scope:
    """The names at one place. `indices` maps an index (or factor) to its extent, None where it is not known.

    `as_index`: reads of integers are cast to `index` at once, as inside brackets. `used` and `problems` are shared and grow.
    `elsewhere` are arrays of a program that do not live here. `place` says where a shuffle would stand, if it may not stand here.
    `monoids` are the file's (None for one that is wrong); `values` are names that stand for terms, `apart` indices of equations that have none here,
    with the factors that they wait for, `defs` those that the file gives to terms.
    """

    problems: Problems
    sizes: Mapping[str, Span] = field(default_factory=dict)
    tensors: Mapping[str, Tensor] = field(default_factory=dict)
    constants: Mapping[str, int] = field(default_factory=dict)
    indices: Mapping[str, Term | None] = field(default_factory=dict)
    dtypes: Mapping[str, str] = field(default_factory=dict)
    later: Mapping[str, Span] = field(default_factory=dict)
    elsewhere: Mapping[str, Span] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    folded: set[str] = field(default_factory=set)  # indices of folds, here and before
    as_index: bool = False
    place: str = OUTSIDE
    monoids: Mapping[str, Carrier | None] = field(default_factory=dict)
    values: Mapping[str, Term] = field(default_factory=dict)
    apart: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    defs: tuple[str, ...] = ()

    def inside_brackets(self) -> Scope:
        """The same names, read as indices."""
        return self if self.as_index else replace(self.at("in an index"), as_index=True)

    def outside_brackets(self) -> Scope:
        """The same names, read as what they are: a word for a dtype says in which one to compute."""
        return replace(self, as_index=False) if self.as_index else self

    def at(self, place: str) -> Scope:
        """The same names at a place where no shuffle may stand; empty for the value of an assignment, where one may."""
        return self if self.place and place else replace(self, place=place)

    def indexed(self, term: Term) -> Term:
        """A value that is read here: inside of brackets an integer is an index."""
        return App("cast", (term,), INDEX) if self.as_index and term.dtype in INTEGERS else term

    def with_indices(self, indices: Mapping[str, Term | None]) -> Scope:
        """The scope with more indices."""
        return replace(self, indices={**self.indices, **indices})

    def dtype(self, name: str, span: Span) -> str | None:
        """The dtype of that name, a family's variable resolved; None after a message."""
        found = self.dtypes.get(name, name)
        if found in DTYPES:
            self.used.add(name)
            return found
        if not self.place and (monoid := self.monoid(name)) is not None:
            return monoid  # only the cells of a program hold a carrier's values
        if name in ALIASES:
            self.problems.say("TG108.alias", span, name=name, alias=ALIASES[name])
        else:
            self.problems.say("TG108.dtype", span, near=DTYPES, name=name, known=DTYPES)
        return None

    def function(self, name: str) -> str:
        """A function's name, a family's variable resolved: that of a cast, `T(x)`, and of `near_T(x)`."""
        near, of, variable = name.rpartition("near_")
        return of + self.dtypes[variable] if not near and variable in self.dtypes else name

    def monoid(self, name: str) -> Carrier | None:
        """The monoid with components of that name, the file's or a built-in one; None if it is none, or a wrong one."""
        return self.monoids[name] if name in self.monoids or is_built_in(name) else None

    def name(self, name: str, span: Span) -> Term:
        """What a bare name stands for."""
        self.used.add(name)
        if name in self.values:
            return self.values[name]
        if name in self.constants and name not in self.indices:
            return Const(self.constants[name], LITERAL)
        if name in self.indices or name in self.sizes:
            return Var(name)
        if name in SPECIAL:
            return SPECIAL[name]
        if name in self.tensors:
            tensor = self.tensors[name]
            if not tensor.shape:
                return Read(tensor.name, (), tensor.dtype, span)
            message = "TG110.one" if len(tensor.shape) == 1 else "TG110.several"
            return self.problems.say(message, span, tensor.span, name=name, count=len(tensor.shape), dots=_dots(tensor))
        return self.unknown(name, span)

    def tensor(self, name: str, span: Span) -> Tensor | None:
        """The tensor that a cell reads; None after a message."""
        self.used.add(name)
        found = self.tensors.get(name)
        if found is None:
            self.unknown(name, span)
        elif found.role == "output":
            self.problems.say("TG116.output", span, found.span, name=name)
            return None
        elif found.role == "state" and self.place != GHOST:
            self.problems.say("TG116.state", span, found.span, name=name)
            return None
        return found

    def unknown(self, name: str, span: Span) -> Const:
        """The message for a name that stands for nothing."""
        if name in self.later:
            return self.problems.say("TG117.later", span, self.later[name], name=name)
        if name in self.apart:
            message = "TG175.factor" if self.apart[name] else "TG175.torn"
            return self.problems.say(message, span, once=True, name=name, factors=self.apart[name])
        if name in self.elsewhere:
            return self.problems.say("TG101.elsewhere", span, self.elsewhere[name], name=name)
        if name in self.folded:
            return self.problems.say("TG101.folded", span, name=name)
        known = sorted(n for n in self.everything() - set(SPECIAL) if " " not in n)  # of others nobody can speak
        return self.problems.say("TG101.name" if known else "TG101.none", span, near=self.everything(), name=name, known=known)

    def wrong_rank(self, tensor: Tensor, given: int, span: Span) -> Const:
        """The message for a cell with too many or too few indices."""
        words = {"name": tensor.name, "given": given, "axes": counted(len(tensor.shape), "axis"), "dots": _dots(tensor)}
        return self.problems.say("TG110.rank" if tensor.shape else "TG110.single", span, tensor.span, **words)

    def everything(self) -> set[str]:
        """Every name that stands for something."""
        return {*self.sizes, *self.tensors, *self.constants, *self.indices, *self.values, *SPECIAL}

    def hides(self, name: str, span: Span, kind: str) -> bool:
        """Whether a new name would hide another one; says so."""
        kinds = {"a size": self.sizes, "a tensor": self.tensors, "a param": self.constants, "an index": self.indices}
        derived = ("an index", {**self.values, **self.apart})
        for other, names in (*kinds.items(), derived, ("a word of the language", SPECIAL)):
            if name in names:
                first = self.sizes.get(name) or (self.tensors[name].span if name in self.tensors else None)
                self.problems.say("TG103.hides", span, first, kind=kind, name=name, other=other)
                return True
        return False


def _dots(tensor: Tensor) -> str:
    return ", ".join("…" for _ in tensor.shape)
