"""The functor to source text: terms as Python expressions.

Comes in: terms, and from the emitter the text of reads, literals, casts and functions, and what to wrap integers in.
Goes out: text with as few parentheses as it needs. Python's own operators serve indices and guards.
The one idea: an interpreter is a table; a wrapper such as `int32(…)` stands around every intermediate, because numba promotes them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tinygpu.category.term import INDEX, App, Const, Read, Term, Var, text

# how it is written, how tightly that binds, and how tightly each operand has to
TEMPLATES: Mapping[str, tuple[str, int, tuple[int, ...]]] = {
    "select": ("{1} if {0} else {2}", 0, (1, 1, 0)),
    "not": ("not {0}", 3, (3,)),
    "lt": ("{0} < {1}", 4, (5, 5)),
    "le": ("{0} <= {1}", 4, (5, 5)),
    "gt": ("{0} > {1}", 4, (5, 5)),
    "ge": ("{0} >= {1}", 4, (5, 5)),
    "eq": ("{0} == {1}", 4, (5, 5)),
    "ne": ("{0} != {1}", 4, (5, 5)),
    "xor": ("{0} ^ {1}", 5, (5, 6)),
    "add": ("{0} + {1}", 6, (6, 7)),
    "sub": ("{0} - {1}", 6, (6, 7)),
    "mul": ("{0} * {1}", 7, (7, 8)),
    "div": ("{0} / {1}", 7, (7, 8)),
    "floordiv": ("{0} // {1}", 7, (7, 8)),
    "mod": ("{0} % {1}", 7, (7, 8)),
    "neg": ("-{0}", 8, (8,)),
    "ceildiv": ("-(-{0} // {1})", 8, (8, 8)),
    "min": ("min({0}, {1})", 9, (0, 0)),
    "max": ("max({0}, {1})", 9, (0, 0)),
}
CONNECTIVES = {"and": (" and ", 2), "or": (" or ", 1)}
ATOM = 9


def _plain(inner: str) -> str:
    return inner


def _no_read(read: Read, index: tuple[str, ...]) -> str:
    raise ValueError(f"no text for the read {text(read)}")


def _literal(constant: Const) -> str:
    match constant.value:
        case float(value) if value in (float("inf"), float("-inf")):
            return f'float("{value}")'
    return repr(constant.value)


@dataclass(frozen=True, slots=True)
class Source:
    """`term → text`. Each table may be replaced: the defaults are plain Python on integers and truth values.

    * `names`: the text of variables; others stand for themselves.
    * `wrap`: put around every index operation (`int32({})` as a function), inner ones too.
    * `functions`: `(op, dtype)` or `op` to a format with `{0}`, `{1}`, … for its operands, before the operators of Python.
    * `read(read, index)`: the text of an element; `literal(constant)`: that of a number.

    >>> i, n = Var("i"), Var("n")
    >>> Source().term((i // 4 + 1) * n % 8), Source(names={"i": "t"}).term(i ^ 1)
    ('(i // 4 + 1) * n % 8', 't ^ 1')
    >>> Source(wrap="int32({})".format).term(i * 4 + 1)
    'int32(int32(i * 4) + 1)'
    >>> Source(functions={("max", "f32"): "fmaxf({0}, {1})"}).term(App("max", (Var("a", "f32"), Var("b", "f32")), "f32"))
    'fmaxf(a, b)'
    """

    names: Mapping[str, str] = field(default_factory=dict)
    wrap: Callable[[str], str] = _plain
    functions: Mapping[str | tuple[str, str], str] = field(default_factory=dict)
    read: Callable[[Read, tuple[str, ...]], str] = _no_read
    literal: Callable[[Const], str] = _literal

    def term(self, term: Term, level: int = 0) -> str:
        """The text of a term, in parentheses where its surroundings bind tighter. Raises ValueError for what no table has."""
        match term:
            case Const():
                inner, rank = self.literal(term), ATOM
                rank = 8 if inner.startswith("-") else rank
            case Var(name):
                inner, rank = self.names.get(name, name), ATOM
            case Read(_, index):
                inner, rank = self.read(term, tuple(map(self.term, index))), ATOM
            case App():
                inner, rank = self._app(term)
                if term.dtype == INDEX and self.wrap is not _plain:
                    inner, rank = self.wrap(inner), ATOM
            case _:
                raise ValueError(f"no text for {text(term)}")
        return f"({inner})" if rank < level else inner

    def _app(self, term: App) -> tuple[str, int]:
        form = self.functions.get((term.op, term.dtype)) or self.functions.get(term.op)
        if form is not None:
            return form.format(*map(self.term, term.args)), ATOM
        if term.op in CONNECTIVES:
            word, rank = CONNECTIVES[term.op]
            return word.join(self.term(arg, rank + 1) for arg in term.args), rank
        if term.op == "table":
            index, *entries = map(self.term, term.args)
            return f"({', '.join(entries)},)[{index}]", ATOM
        if term.op not in TEMPLATES:
            raise ValueError(f"no text for {term.op} in {term.dtype}")
        form, rank, levels = TEMPLATES[term.op]
        return form.format(*(self.term(arg, need) for arg, need in zip(term.args, levels, strict=True))), rank


def source(term: Term) -> str:
    """A term of indices and guards as a Python expression over its variables.

    >>> from tinygpu.category.term import ceildiv
    >>> source(ceildiv(Var("n") + 1, 256) * 2)
    '-(-(n + 1) // 256) * 2'
    """
    return Source().term(term)
