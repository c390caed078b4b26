"""What the names of an expression mean: sizes, indices, tensors, constants, and what was used of them.

Comes in: the declarations around an expression. Goes out: the term that a name stands for, or a message about it.
The one idea: one flat scope; nothing may hide anything, so a name means the same thing wherever it stands.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tinygpu.category.dtype import DTYPE
from tinygpu.category.monoid import Carrier
from tinygpu.category.term import BOOL, DTYPES, INDEX, INTEGERS, App, Const, Read, Term, Var
from tinygpu.diagnostic import Label, Span
from tinygpu.model.builtin import monoid_of
from tinygpu.model.dtype import LITERAL
from tinygpu.model.op import Tensor
from tinygpu.model.problems import Problems, listing, suggestion
from tinygpu.record import dataclass, field, replace

SPECIAL = {
    "inf": Const(float("inf"), LITERAL),
    "true": Const(True, BOOL),
    "false": Const(False, BOOL),
}
OUTSIDE = "outside a program"
# what other languages call them
ALIASES = {other: row.name for row in DTYPE.values() for other in row.others}


@dataclass(frozen=True, slots=True)
class Scope:
    """The names at one place. `indices` maps an index (or factor) to its extent, None where it is not known.

    `as_index`: reads of integers are cast to `index` at once, as inside brackets. `used` and `problems` are shared and grow.
    `elsewhere` are arrays of a program that do not live here. `place` says where a shuffle would stand, if it may not stand here.
    `monoids` are the file's (None for one that is wrong); `values` are names that stand for terms.
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
    as_index: bool = False
    place: str = OUTSIDE
    monoids: Mapping[str, Carrier | None] = field(default_factory=dict)
    values: Mapping[str, Term] = field(default_factory=dict)

    def inside_brackets(self) -> Scope:
        """The same names, read as indices."""
        return self if self.as_index else replace(self.at("in an index"), as_index=True)

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
        if not self.place and (monoid := monoid_of(name, self.monoids)) is not None:
            return monoid  # only the cells of a program hold a carrier's values
        fix = (
            f"did you mean {ALIASES[name]}?" if name in ALIASES else suggestion(name, DTYPES) or f"the dtypes are {listing(DTYPES)}"
        )
        self.problems.add("TG108", f"unknown dtype {name}", span, "no dtype has this name", help=fix)
        return None

    def name(self, name: str, span: Span) -> Term:
        """What a bare name stands for."""
        self.used.add(name)
        if name in self.values:
            return self.values[name]
        if name in self.indices:
            return Var(name)
        if name in self.constants:
            return Const(self.constants[name], LITERAL)
        if name in self.sizes:
            return Var(name)
        if name in SPECIAL:
            return SPECIAL[name]
        if name in self.tensors:
            tensor = self.tensors[name]
            if not tensor.shape:
                return Read(name, (), tensor.dtype, span)
            axes = ", ".join("…" for _ in tensor.shape)
            title, label = f"{name} needs {_count(len(tensor.shape))}", Label(tensor.span, f"{name} is declared here")
            return self.problems.add("TG110", title, span, "a tensor, not one element of it", label, help=f"write {name}[{axes}]")
        return self.unknown(name, span)

    def tensor(self, name: str, span: Span) -> Tensor | None:
        """The tensor that a cell reads; None after a message."""
        self.used.add(name)
        found = self.tensors.get(name)
        if found is None:
            self.unknown(name, span)
        elif found.role == "output":
            title = f"the output {name} is read"
            fix = f"give the value a name of its own (t[…] = …), read t, and let {name}[…] = t[…]"
            self.problems.add("TG116", title, span, "outputs are only written", Label(found.span, f"{name} is an output"), help=fix)
            return None
        return found

    def unknown(self, name: str, span: Span) -> Const:
        """The message for a name that stands for nothing."""
        if name in self.later:
            title, label = f"{name} is read before it is computed", Label(self.later[name], f"{name} is computed here")
            fix = f"move the equation of {name} up"
            return self.problems.add("TG117", title, span, f"{name} is not known yet here", label, help=fix)
        if name in self.elsewhere:
            title, label = f"{name} is not known here", Label(self.elsewhere[name], f"{name} is declared here")
            fix = "declare it before the loop or the guard; what a later launch needs is kept in a workspace"
            return self.problems.add("TG101", title, span, "outside of the place where it lives", label, help=fix)
        fix = suggestion(name, self.everything()) or self._offer()
        return self.problems.add("TG101", f"unknown name {name}", span, "nothing here has this name", help=fix)

    def wrong_rank(self, tensor: Tensor, given: int, span: Span) -> Const:
        """The message for a cell with too many or too few indices."""
        rank, name = len(tensor.shape), tensor.name
        title = f"{name} has {axes(rank)}, not {given}" if rank else f"{name} is a single value, without axes"
        fix = f"write {name}[{', '.join('…' for _ in tensor.shape)}]" if rank else f"write {name}"
        label = Label(tensor.span, f"{name} is declared here")
        return self.problems.add("TG110", title, span, f"{given} given here", label, help=fix)

    def _offer(self) -> str:
        names = sorted(self.everything() - set(SPECIAL))
        return f"known here: {listing(names)}" if names else ""

    def everything(self) -> set[str]:
        """Every name that stands for something."""
        return {*self.sizes, *self.tensors, *self.constants, *self.indices, *self.values, *SPECIAL}

    def hides(self, name: str, span: Span, kind: str, but: Iterable[str] = ()) -> bool:
        """Whether a new name would hide another one; says so."""
        kinds = {
            "a size": self.sizes,
            "a tensor": self.tensors,
            "a param": self.constants,
            "an index": self.indices,
            "a word of the language": SPECIAL,
        }
        for other, names in kinds.items():
            if name in names and name not in set(but):
                first = self.sizes.get(name) or (self.tensors[name].span if name in self.tensors else None)
                labels = (Label(first, f"{name} is {other}"),) if first else ()
                title = f"{kind} {name} hides {other} of the same name"
                self.problems.add("TG103", title, span, f"{name} is {other} already", *labels, help="take another name")
                return True
        return False


def _count(rank: int) -> str:
    return {0: "no index", 1: "an index"}.get(rank, f"{rank} indices")


def axes(count: int) -> str:
    """A count of axes in words.

    >>> axes(1), axes(2)
    ('1 axis', '2 axes')
    """
    return f"{count} {'axis' if count == 1 else 'axes'}"
