"""Expressions of the syntax tree, and their text with exactly the parentheses that it needs to be read back.

Comes in: what the parser or a Python program builds. Goes out: frozen nodes with spans, which say what was written, not what it means:
`(g, t)` is a group, whether it turns out to be factors or a parenthesis; and one line, in which `BREAK` stands for a space where a line
may be broken. The one idea: every node has the level of the grammar's rule it comes from, and a part is put in parentheses where it is too low.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from tinygpu.syntax.node import BREAK, Node, absent

PREFIX = "scan_"
DIGITS = 250  # of a whole number; longer ones no dtype can hold
SIGNS = {
    "": "=",
    "sum": "+=",
    "-": "-=",
    "prod": "*=",
    "bitor": "|=",
    "bitand": "&=",
    "xor": "^=",
}  # of updates, `-=` is `+=` of what is negated; the others are the name of their monoid and `=`


class Number(Node, number="text", shown="{text}"):
    """`12`, `0x1F`, `0.5`, `1e-3`: the text as written."""

    text: str

    @property
    def value(self) -> int | float:
        """The number; of one that no dtype can hold, the nearest float or infinity.

        >>> [Number(text).value for text in ("12", "0x1F", "0.5", "1e999", "0x" + "f" * 999)]
        [12, 31, 0.5, inf, inf]
        """
        if self.text.startswith("0x"):
            return int(self.text, 16) if len(self.text) <= DIGITS else float("inf")
        return int(self.text) if self.text.isdigit() and len(self.text) <= DIGITS else float(self.text)


class Name(Node, name="name", shown="{name}"):
    """A name: a size, an index, a factor, a param, `inf`, `true`, `false`."""

    name: str


class Cell(Node, cell="name index", padded="name index fill", shown="{name}[{index}⟨ | {fill}⟩]"):
    """`A[i, k]`, or `x[p + r - 1 | 0]` with a fill outside the tensor."""

    name: str
    index: tuple[Expr, ...]
    fill: Expr | None = None


class Call(Node, call="function args", shown="{function}({args:value})"):
    """`exp(x)`, `f32(x)`, `max(a, b)`, `where(c, a, b)`, `ceil(n / 4)`."""

    function: str
    args: tuple[Expr, ...]


class Unary(Node, unary="op operand"):
    """`-x`, `~x`, `not c`."""

    op: str
    operand: Expr


class Binary(Node, binary="left op right"):
    """`+ - * / // % << >> & ^ | < <= > >= == != and or`, the operator as written."""

    op: str
    left: Expr
    right: Expr


class IfElse(
    Node, conditional="value condition otherwise", shown="{value:disjunction} if~{condition:disjunction} else~{otherwise}"
):
    """`value if condition else otherwise`."""

    value: Expr
    condition: Expr
    otherwise: Expr


class Binder(
    Node,
    binder="name relation bound",
    binder_range="name start bound",
    shown=("{name} in {start:exclusive} .. {bound:exclusive}", "{name}⟨ {relation} {bound:exclusive}⟩"),
):
    """`k`, `k < 3` or `k <= q`: relation is empty, `<` or `<=`; with a `start`, `z in off[r] .. off[r + 1]`."""

    name: str
    relation: str = ""
    bound: Expr | None = None
    start: Expr | None = None


def ranged(place: Expr) -> Binder | None:
    """An index of a left side, with the range that is written of it: `p`, `p < H + 1 - K`; None where it is another term.

    >>> ranged(Name("p")), ranged(Binary("<", Name("p"), Number("3"))), ranged(Number("3"))
    (Binder(name='p', relation='', bound=None, start=None), Binder(name='p', relation='<', bound=Number(text='3'), start=None), None)
    """
    match place:
        case Name(name):
            return Binder(name, span=place.span)
        case Binary("<" | "<=" as relation, Name(name) as left, bound):
            return Binder(name, relation, bound, span=left.span)
    return None


class FoldExpr(
    Node,
    fold_named="monoid binders guard body named=True",
    scan_named="monoid binders guard body named=True prefix=True",
    shown="{head}[{binders}⟨ : {guard:disjunction}⟩] {body:term}",
):
    """`sum[k] A[i, k] * B[k, j]`, of the points where a `guard` holds; `named` for `fold NAME[k] …` of a user's monoid; `prefix` for `scan_sum[k <= i] …`, `scan NAME[k <= i] …`."""

    monoid: str
    binders: tuple[Binder, ...]
    body: Expr
    named: bool = False
    prefix: bool = False
    guard: Expr | None = None

    @property
    def head(self) -> str:
        """`sum`, `scan_sum`, `fold NAME`, `scan NAME`."""
        return (("scan " if self.named else PREFIX) if self.prefix else "fold " if self.named else "") + self.monoid


class Sized(Node, sized="name extent", shown="{name}: {extent}"):
    """`v: 4`, a factor with its extent."""

    name: str
    extent: Expr


class Group(Node, group="items", shown="({items:value})"):
    """`(g, t, v: 4)`, a list of factors, or `(g*256 + t)`, a parenthesis: elaboration tells them apart. `()` is empty."""

    items: tuple[Expr, ...]


class Field(Node, field="value name", shown="{value:primary}.{name}"):
    """`p.mean`, a component of a tuple value."""

    value: Expr
    name: str


class Joined(Node):
    """`f32(K_a) * ..`: the term once for each axis of a family, joined by `*`, `+`, `and` or `or`."""

    value: Expr
    op: str


class Each(Node, repeated="value"):
    """`K_a..`: a part of a list, there once for each axis of a family. What is only a name there, as in `(p_a..) = (g, t)`, is the text `p_a..`."""

    value: Any


# Sized stands only inside a Group; Joined and Each are gone when a term is asked what it means
Expr: TypeAlias = Number | Name | Cell | Call | Unary | Binary | IfElse | FoldExpr | Sized | Group | Field


# ── as text ────────────────────────────────────────────────────────────────────────────────────────────────────────

# the rules of the grammar that expressions are, loosest first
RANK = {
    "value": -1, "expr": 0, "disjunction": 1, "negation": 3, "exclusive": 5, "masked": 5.3, "shifted": 5.6, "term": 7, "product": 8, "signed": 9,
    "primary": 10,
}  # fmt: skip
# operator: its own level, the levels that its left and its right part must have
LEVELS: dict[str, tuple[float, float, float]] = (
    {"or": (1, 1, 2), "and": (2, 2, 3), "|": (-1, 5, 5), "^": (5, 5, 5.3), "&": (5.3, 5.3, 5.6)}
    | dict.fromkeys(("<<", ">>"), (5.6, 5.6, 6))
    | dict.fromkeys(("<", "<=", ">", ">=", "==", "!="), (4, 5, 5))
    | dict.fromkeys(("+", "-"), (6, 6, 7))
    | dict.fromkeys(("*", "/", "//", "%"), (8, 8, 9))
)


def level(expr: Any) -> float:
    """The level of the grammar's rule that an expression is."""
    match expr:
        case IfElse():
            return RANK["expr"]
        case Unary("not"):
            return RANK["negation"]
        case FoldExpr() | Unary(_, FoldExpr()) | Binary("*" | "/" | "//" | "%", _, FoldExpr()):
            return RANK["term"]
        case Binary(op) | Joined(_, op):
            return LEVELS[op][0]
        case Unary():
            return RANK["signed"]
    return RANK["primary"]


def show(part: Any, wanted: float = 0) -> str:
    """A word, a list, or a node as the head of its class shows it: an expression in parentheses where its level is below `wanted`; `BREAK` where a
    line may be broken."""
    if isinstance(part, tuple):
        return ", ".join(part) if part and isinstance(part[0], str) else f",{BREAK}".join(show(one, wanted) for one in part)
    if isinstance(part, Each):
        text = show(part.value, wanted)
        return f"{text}.." if text.isidentifier() else f"{text} .."
    if not isinstance(part, Node):
        return part or ""
    text = _show(part)
    return text if level(part) >= wanted else f"({text})"


def _show(node: Any) -> str:
    match node:
        case Unary("not", operand):
            return f"not {show(operand, RANK['negation'])}"
        case Unary(op, operand):
            return f"{op}{show(operand, RANK['term' if isinstance(operand, FoldExpr) else 'signed'])}"
        case Binary(op, left, right):
            own, before, behind = LEVELS[op]
            before = own if op == "|" and isinstance(left, Binary) and left.op == op else before
            a, b = show(left, before), show(right, RANK["term"] if level(node) == RANK["term"] else behind)
            return f"{a}*{b}" if op == "*" and _small(left) and _small(right) else f"{a} {op}{BREAK}{b}"

        case Joined(value, op):
            return f"{show(value, LEVELS[op][1])} {op} .."

    def there(pieces: Any) -> bool:
        plain = ((name, rule) for _, name, rule in pieces if name)
        return all(rule == "sign" or getattr(node, name) not in absent(node.__class__, name) for name, rule in plain)

    *others, last = node.shown
    parts = next((one for one in others if all(optional or there(pieces) for optional, pieces in one)), last)
    pieces = (piece for optional, pieces in parts if not optional or there(pieces) for piece in pieces)
    return "".join(word + (_field(getattr(node, name), rule or "expr") if name else "") for word, name, rule in pieces)


def _field(value: Any, rule: str) -> str:
    """What a field is shown as: an expression of a rule, the `left` side of an equation, the `sign` of an update; of a truth value its word."""
    if rule == "left":
        alone = len(value) == 1 and not (isinstance(value[0], str) and value[0].endswith(".."))
        return show(value) if alone else f"({show(value)})"
    if rule == "then":
        return " then ".join(map(show, value))
    if rule == "sign":
        return SIGNS.get(value, f"{value}=")
    return rule if value is True else show(value, RANK[rule])


def _small(expr: Expr) -> bool:
    """Names and numbers, and products of them: `by*64` is read as one thing."""
    match expr:
        case Binary("*", left, right):
            return _small(left) and _small(right)
    return isinstance(expr, Name | Number)
