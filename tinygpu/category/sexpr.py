"""Expressions of SMT-LIB: made once, counted, and printed with a name for what stands in several places.

Comes in: operators and operands. Goes out: a script. The one idea: equal expressions are one number, so that a formula whose terms
share much is as short as its graph, and the same formula is the same text in every process.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

Node = int


class Builder:
    """A graph of expressions, and what they declare.

    >>> b = Builder()
    >>> x = b.declare("x", (), "Int")
    >>> twice = b.make("Int", "+", x, x)
    >>> print(b.script([b.compare("=", b.make("Int", "*", twice, twice), b.number(4))]))
    (set-logic ALL)
    (declare-const |x| Int)
    (define-fun s!0 () Int (+ |x| |x|))
    (assert (= (* s!0 s!0) 4))
    (check-sat)
    <BLANKLINE>
    """

    def __init__(self) -> None:
        self.heads: list[tuple[str, str, tuple[Node, ...]]] = []  # sort, operator, operands
        self.numbers: dict[tuple[str, str, tuple[Node, ...]], Node] = {}
        self.literals: dict[Node, int] = {}
        self.sorts: dict[str, None] = {}
        self.declared: dict[str, tuple[tuple[str, ...], str]] = {}  # a function's name to the sorts of its arguments and its own

    def make(self, sort: str, operator: str, *operands: Node) -> Node:
        """`(operator operands…)`, once. Sums, differences and products of numbers are numbers."""
        known = [self.literals.get(o) for o in operands]
        if sort == "Int" and operator in ("+", "-", "*") and None not in known:
            return self.number(_folded(operator, [k for k in known if k is not None]))
        key = (sort, operator, operands)
        if key not in self.numbers:
            self.numbers[key] = len(self.heads)
            self.heads.append(key)
        return self.numbers[key]

    def number(self, value: int) -> Node:
        """An integer."""
        node = self.make("Int", str(value) if value >= 0 else f"(- {-value})")
        self.literals[node] = value
        return node

    def literal(self, node: Node) -> int | None:
        """The value of an integer that is written out."""
        return self.literals.get(node)

    def real(self, value: Fraction | int) -> Node:
        """A real number."""
        exact = Fraction(value)
        over, under = f"{abs(exact.numerator)}.0", exact.denominator
        positive = over if under == 1 else f"(/ {over} {under}.0)"
        return self.make("Real", positive if exact >= 0 else f"(- {positive})")

    def truth(self, value: bool) -> Node:
        return self.make("Bool", "true" if value else "false")

    def both(self, *parts: Node) -> Node:
        """A conjunction."""
        return self.make("Bool", "and", *parts) if len(parts) > 1 else parts[0] if parts else self.truth(True)

    def implies(self, given: Node, then: Node) -> Node:
        return self.make("Bool", "=>", given, then)

    def compare(self, operator: str, a: Node, b: Node) -> Node:
        """`(operator a b)`; an integer beside a real is that real."""
        return self.make("Bool", operator, *self._alike(a, b))

    def choice(self, condition: Node, then: Node, otherwise: Node) -> Node:
        then, otherwise = self._alike(then, otherwise)
        return self.make(self.heads[then][0], "ite", condition, then, otherwise)

    def _alike(self, a: Node, b: Node) -> tuple[Node, Node]:
        sorts = [self.heads[x][0] for x in (a, b)]
        a, b = (
            self.make("Real", "to_real", x) if s == "Int" and "Real" in sorts else x for x, s in zip((a, b), sorts, strict=True)
        )
        return a, b

    def cleared(self, a: Node, b: Node) -> Node | None:
        """The theorem that `a = b` is what it is without fractions, wherever no divisor is 0; None where there is no fraction.

        >>> x = Builder()
        >>> a, b, c = (x.declare(name, (), "Real") for name in "abc")
        >>> print(x.script([x.cleared(x.make("Real", "/", a, b), c)]).splitlines()[-2])
        (assert (=> (not (= |b| 0.0)) (= (= (/ |a| |b|) |c|) (= |a| (* |c| |b|)))))
        """
        divisors: dict[Node, None] = {}
        known: dict[Node, tuple[Node, Node | None]] = {}
        (over, under), (above, below) = (self._fraction(x, divisors, known) for x in (a, b))
        if not divisors:
            return None
        apart = [self.make("Bool", "not", self.make("Bool", "=", d, self.real(0))) for d in divisors]
        whole = self.make("Bool", "=", self._times(over, below), self._times(above, under))
        return self.implies(self.both(*apart), self.make("Bool", "=", self.make("Bool", "=", a, b), whole))

    def _fraction(
        self, node: Node, divisors: dict[Node, None], known: dict[Node, tuple[Node, Node | None]]
    ) -> tuple[Node, Node | None]:
        """Numerator and denominator (None for 1) of a real; `divisors` collects what may not be 0."""
        if node not in known:
            known[node] = self._divided(node, divisors, known)
        return known[node]

    def _divided(
        self, node: Node, divisors: dict[Node, None], known: dict[Node, tuple[Node, Node | None]]
    ) -> tuple[Node, Node | None]:
        sort, operator, operands = self.heads[node]
        if sort != "Real" or operator not in ("+", "-", "*", "/"):
            return node, None
        parts = [self._fraction(o, divisors, known) for o in operands]
        over, under = parts[0]
        if operator == "/":
            divisors[operands[1]] = None
            above, below = parts[1]
            return self._times(over, below), self._times(above, under)
        if len(parts) == 1:
            return self.make(sort, operator, over), under
        for above, below in parts[1:]:
            if operator == "*":
                over, under = self._times(over, above), self._product(under, below)
            elif under == below:
                over = self.make(sort, operator, over, above)
            else:
                over, under = (
                    self.make(sort, operator, self._times(over, below), self._times(above, under)),
                    self._product(under, below),
                )
        return over, under

    def _times(self, a: Node, b: Node | None) -> Node:
        return a if b is None else self.make("Real", "*", a, b)

    def _product(self, a: Node | None, b: Node | None) -> Node | None:
        return b if a is None else self._times(a, b)

    def declare_sort(self, name: str) -> str:
        self.sorts[name] = None
        return f"|{name}|"

    def declare(self, name: str, args: tuple[Node, ...], sort: str) -> Node:
        """A function of which nothing is known, applied; where its name is taken by one of other sorts, it gets a number."""
        signature = (tuple(self.heads[a][0] for a in args), sort)
        own, number = name, 1
        while self.declared.setdefault(own, signature) != signature:
            number += 1
            own = f"{name} {number}"
        return self.make(sort, f"|{own}|", *args)

    def script(self, asserted: Sequence[Node]) -> str:
        """The declarations, sorted by name, and the assertions in order, each once."""
        roots = list(dict.fromkeys(asserted))
        used = self._uses(roots)
        lines = ["(set-logic ALL)", *(f"(declare-sort |{name}| 0)" for name in sorted(self.sorts))]
        for name, (args, sort) in sorted(self.declared.items()):
            lines.append(f"(declare-fun |{name}| ({' '.join(args)}) {sort})" if args else f"(declare-const |{name}| {sort})")
        texts: dict[Node, str] = {}
        count = 0
        for node in sorted(used):  # an operand is made before what it is in
            sort, operator, operands = self.heads[node]
            inside = f"({operator} {' '.join(texts[o] for o in operands)})" if operands else operator
            if operands and used[node] > 1:
                lines.append(f"(define-fun s!{count} () {sort} {inside})")
                inside, count = f"s!{count}", count + 1
            texts[node] = inside
        lines += [f"(assert {texts[root]})" for root in roots]
        return "\n".join([*lines, "(check-sat)", ""])

    def _uses(self, roots: Sequence[Node]) -> dict[Node, int]:
        """How often each expression under the roots stands in another one, or is asserted."""
        used: dict[Node, int] = {}
        waiting = list(roots)
        while waiting:
            node = waiting.pop()
            used[node] = used.get(node, 0) + 1
            if used[node] == 1:
                waiting.extend(self.heads[node][2])
        return used


def _folded(operator: str, values: list[int]) -> int:
    first, *rest = values
    if operator == "-" and not rest:
        return -first
    for value in rest:
        first = {"+": first + value, "-": first - value, "*": first * value}[operator]
    return first
