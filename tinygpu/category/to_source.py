"""The functor to source text: terms as Python expressions.

Comes in: terms, and from an emitter the text of reads and literals, what operations are lowered to, and the forms that are not Python's.
Goes out: text with as few parentheses as it needs. Python's own operators serve indices and guards.
The one idea: an interpreter is a table. A form says how an operation is written and how tightly that binds, so that no emitter ever
places a parenthesis itself; what a target lacks is lowered to terms that it has, one node at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from tinygpu.category.operation import COUNTS
from tinygpu.category.term import BOOL, COMPARISONS, INDEX, SYMBOL, App, Const, Read, Term, Var, select, text
from tinygpu.record import dataclass, field

Form: TypeAlias = tuple[str, float, tuple[float, ...]]  # how it is written, how tightly that binds, how tightly each operand has to

ATOM: float = 9
OPERAND: Form = ("{0}", ATOM, (0,))
FORMS: Mapping[str, Form] = {
    "select": ("{1} if {0} else {2}", 0, (1, 1, 0)),
    "ceildiv": ("-(-{0} // {1})", 8, (8, 8)),
    "min": ("min({0}, {1})", ATOM, (0, 0)),
    "max": ("max({0}, {1})", ATOM, (0, 0)),
    "abs": ("abs({0})", ATOM, (0,)),
    **{name: (f"{name}({{0}})", ATOM, (0,)) for name in COUNTS},
}


def plain(term: App) -> Form:
    """How Python writes an operation of indices or guards. Raises ValueError for what it has no operator for.

    >>> plain(Var("i") - 1), plain(App("abs", (Var("i"),)))
    (('{0} - {1}', 6, (6, 7)), ('abs({0})', 9, (0,)))
    """
    op, operands = term.op, [f"{{{number}}}" for number in range(len(term.args))]
    if op in FORMS:
        return FORMS[op]
    if op == "table":
        return f"({', '.join(operands[1:])},)[{operands[0]}]", ATOM, (0,) * len(operands)
    if op not in SYMBOL:
        raise ValueError(f"no text for {op} in {term.dtype}")
    symbol, rank = SYMBOL[op]
    if op in ("neg", "not"):
        return symbol + "{0}", rank, (rank,)
    # comparisons do not chain; the others associate to the left
    return symbol.join(operands), rank, (rank + (op in COMPARISONS), *(rank + 1,) * (len(operands) - 1))


def called(function: str, form: Form = OPERAND) -> Form:
    """A form inside a call: `int32({0} + {1})`. It needs no parentheses, and none around a single operand."""
    inner, _, levels = form
    return f"{function}({inner})", ATOM, levels


def rounded_up(a: Term, b: Term) -> Term:
    """`⌈a / b⌉` for b > 0 by a quotient and a remainder, where `-(-a // b)` is none: unsigned types have no negative numbers.

    >>> source(rounded_up(Var("a", "u8"), Var("b", "u8")))
    'a // b + (1 if a % b != 0 else 0)'
    """
    dtype = a.dtype
    more = App("ne", (App("mod", (a, b), dtype), Const(0, dtype)), BOOL)
    return App("add", (App("floordiv", (a, b), dtype), select(more, Const(1, dtype), Const(0, dtype))), dtype)


def _same(term: Term) -> Term:
    return term


def _no_read(read: Read) -> str:
    raise ValueError(f"no text for the read {text(read)}")


def _literal(constant: Const) -> str:
    match constant.value:
        case float(value) if value in (float("inf"), float("-inf")):
            return f'float("{value}")'
    return repr(constant.value)


@dataclass(frozen=True, slots=True)
class Source:
    """`term → text`. Everything may be replaced: the defaults are plain Python on integers and truth values.

    * `names`: the text of variables, others stand for themselves; `bound`: that of whole terms.
    * `lower(term)`: a term of the same value in operations that have a form; it is asked once for every node, outermost first.
    * `form(app)`: how an operation is written; `read(read)`: the text of an element; `literal(constant)`: that of a number.

    >>> i, n = Var("i"), Var("n")
    >>> Source().term((i // 4 + 1) * n % 8), Source(names={"i": "t"}).term(i ^ 1), Source(bound={i * 4: "j"}).term(i * 4 + 1)
    ('(i // 4 + 1)*n % 8', 't ^ 1', 'j + 1')
    >>> Source(form=lambda app: called("int32", plain(app))).term(i * 4 + 1)
    'int32(int32(i*4) + 1)'
    """

    names: Mapping[str, str] = field(default_factory=dict)
    bound: Mapping[Term, str] = field(default_factory=dict)
    lower: Callable[[Term], Term] = _same
    form: Callable[[App], Form] = plain
    read: Callable[[Read], str] = _no_read
    literal: Callable[[Const], str] = _literal

    def term(self, term: Term, level: float = 0) -> str:
        """The text of a term, in parentheses where its surroundings bind tighter. Raises ValueError for what has no form."""
        if term.dtype == INDEX and term in self.bound:
            return self.bound[term]
        rank: float = ATOM
        match self.lower(term):
            case Const() as constant:
                inner = self.literal(constant)
                rank = SYMBOL["neg"][1] if inner.startswith("-") else ATOM
            case Var(name):
                inner = self.names.get(name, name)
            case Read() as read:
                inner = self.read(read)
            case App() as app:
                form, rank, levels = self.form(app)
                inner = form.format(*(self.term(arg, need) for arg, need in zip(app.args, levels, strict=True)))
            case _:
                raise ValueError(f"no text for {text(term)}")
        return f"({inner})" if rank < level else inner


def source(term: Term) -> str:
    """A term of indices and guards as a Python expression over its variables.

    >>> from tinygpu.category.term import ceildiv
    >>> source(ceildiv(Var("n") + 1, 256) * 2)
    '-(-(n + 1) // 256)*2'
    """
    return Source().term(term)
