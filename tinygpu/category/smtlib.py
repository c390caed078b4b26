"""A claim as SMT-LIB 2 text in standard operators, which any solver reads.

Comes in: hypotheses and a goal. Goes out: a script that is unsatisfiable where the goal follows; without a goal, one that is satisfiable
where the hypotheses have a model. The one idea: the text is made of the terms alone, with no solver's help, so that it says the same
to each of them, and its hash names the formula. Axes are bounded integers. Floats are reals; tensors and `exp` and friends are functions of
which nothing is known; integers wrap to their width. A narrowing cast is such a function, and so is a widening one of a value that its
narrower type may have rounded. What makes division and products linear is named, and true of all numbers: `e = q·n + r, 0 ≤ r < n` for
the digits of `e // n` and `e % n`; products with a common factor are monotone; an equation of fractions is one without.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import combinations

from tinygpu.category.bitwise import of_bits
from tinygpu.category.dtype import BITS, RANGE, ROUNDED, SIGNED, WIDER, contains, nearest
from tinygpu.category.operation import KEEPING
from tinygpu.category.sexpr import Builder, Node
from tinygpu.category.term import BOOL, DTYPES, FLOATS, INDEX, INTEGERS, App, Const, Fold, Read, Term, Var, variables

COMPARE = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "="}
BITWISE = {"xor": "bvxor", "bitand": "bvand", "bitor": "bvor"}
HALFWORD = 1 << 16  # below it these are those of bits, elsewhere some function


def script(hypotheses: tuple[Term, ...], goal: Term | None) -> str:
    """The text of one claim.

    >>> i, n = Var("i"), Var("n")
    >>> print(script((i >= 0, i < n), i * 2 < n * 2))
    (set-logic ALL)
    (declare-const |i| Int)
    (declare-const |n| Int)
    (assert (>= |i| 0))
    (assert (< |i| |n|))
    (assert (not (< (* |i| 2) (* |n| 2))))
    (check-sat)
    <BLANKLINE>
    """
    writer = Writer()
    given = [writer.term(h) for h in dict.fromkeys(hypotheses)]
    if goal is not None:
        given.append(writer.denied(goal))
    return writer.script([*given, *writer.facts()])


def name_of(text: str) -> str:
    """The hash that a formula goes by."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


class Writer(Builder):
    """Terms to expressions of SMT-LIB, each once, and the theorems that they bring: ranges, digits, products."""

    def __init__(self) -> None:
        super().__init__()
        self.memo: dict[Term, Node] = {}
        self.digits: dict[tuple[Term, Term], tuple[Node, Node, Node, Node]] = {}
        self.products: dict[tuple[Node, Node], Node] = {}
        self.folds: dict[Fold, int] = {}
        self.held: dict[Node, str] = {}
        self.equated: dict[tuple[Node, Node], None] = {}
        self.bits: dict[Node, tuple[str, tuple[Node, ...]]] = {}

    def term(self, term: Term) -> Node:
        """`Term → expression`."""
        found = self.memo.get(term)
        if found is None:
            found = self.memo[term] = self._term(term)
        return found

    def denied(self, goal: Term) -> Node:
        """The opposite of a goal."""
        return self.make("Bool", "not", self.term(goal))

    def facts(self) -> list[Node]:
        """Theorems of arithmetic about what stands in the script."""
        out = []
        for value, dtype in self.held.items():
            low, high = RANGE[dtype]
            bounds = self.compare("<=", self.number(low), value), self.compare("<", value, self.number(high + 1))
            out.append(self.both(*bounds))
        for a, n, q, r in self.digits.values():
            sum_ = self.make("Int", "+", self.product(q, n), r)
            right = self.both(self.make("Bool", "=", a, sum_), self.compare(">=", r, self.number(0)), self.compare("<", r, n))
            out.append(self.implies(self.compare(">", n, self.number(0)), right))
        out += [fact for value, made in self.bits.items() for fact in of_bits(self, value, *made)]
        for (u_v, uv), (x_y, xy) in combinations(self.products.items(), 2):
            (x, y), (u, v) = x_y, u_v
            for p, c, q, d in ((x, y, u, v), (x, y, v, u), (y, x, u, v), (y, x, v, u)):
                if c == d and p != q:
                    out += self._monotone(p, q, c, xy, uv)
        out += [fact for a, b in self.equated if (fact := self.cleared(a, b)) is not None]
        return out

    def _monotone(self, p: Node, q: Node, c: Node, pc: Node, qc: Node) -> Iterator[Node]:
        """`c ≥ 0 ⊢ p ≤ q → pc ≤ qc`, and by a whole `c` where `p < q`."""
        one, natural = self.number(1), self.compare(">=", c, self.number(0))
        for lower, upper, low, high in ((p, q, pc, qc), (q, p, qc, pc)):
            yield self.implies(self.both(natural, self.compare("<=", lower, upper)), self.compare("<=", low, high))
            above = self.make("Int", "+", lower, one)
            step = self.make("Int", "+", low, c)
            yield self.implies(self.both(natural, self.compare("<=", above, upper)), self.compare("<=", step, high))

    def product(self, x: Node, y: Node) -> Node:
        """`x·y`, remembered for what is said of products unless one factor is a number."""
        if self.literal(x) is not None or self.literal(y) is not None:
            return self.make("Int", "*", x, y)
        if (x, y) not in self.products:
            self.products[x, y] = self.make("Int", "*", x, y)
        return self.products[x, y]

    def sort(self, dtype: str) -> str:
        """Integers for index and integer types, reals for floats, a sort of its own for a carrier."""
        if dtype == BOOL:
            return "Bool"
        if dtype not in DTYPES and dtype != INDEX:
            return self.declare_sort(dtype)
        return "Real" if dtype in FLOATS else "Int"

    def _term(self, term: Term) -> Node:
        match term:
            case Const(value, dtype):
                return self._constant(value, dtype)
            case Var(name, dtype):
                return self._held(self.declare(name, (), self.sort(dtype)), dtype)
            case Read(tensor, index, dtype):
                return self._unknown(tensor, tuple(map(self.term, index)), dtype)
            case Fold(_, _, _, _, dtype):  # one that nothing matched is some function of its free variables
                number = self.folds.setdefault(term, len(self.folds))
                return self._unknown(f"fold {number}", tuple(self.term(Var(v)) for v in sorted(variables(term))), dtype)
            case application:
                return self._apply(application.op, application.args, application.dtype)

    def _constant(self, value: int | float | bool, dtype: str) -> Node:
        if dtype == BOOL:
            return self.truth(bool(value))
        if dtype in FLOATS:
            number = nearest(value, dtype)
            if number is None:
                infinity = self.declare("infinity", (), "Real")
                return infinity if value > 0 else self.make("Real", "-", infinity)
            return self.real(number)
        return self._wrap(self.number(int(value)), dtype)

    def _unknown(self, name: str, args: tuple[Node, ...], dtype: str) -> Node:
        return self._held(self.declare(f"{name}[{len(args) or ''}]", args, self.sort(dtype)), dtype)

    def _held(self, value: Node, dtype: str) -> Node:
        """A value of a machine's type, whose range is known."""
        if dtype in BITS:
            self.held[value] = dtype
        return value

    def _apply(self, op: str, args: tuple[Term, ...], dtype: str) -> Node:
        a = tuple(map(self.term, args))
        match op:
            case "and":
                return self.both(*a)
            case "or":
                return self.make("Bool", "or", *a) if len(a) > 1 else a[0]
            case "not":
                return self.make("Bool", "not", a[0])
            case "select":
                return self.choice(a[0], a[1], a[2])
            case "cast":
                return self._cast(a[0], args[0], dtype)
            case "table":
                out = a[-1]
                for position, entry in reversed(list(enumerate(a[1:-1]))):
                    out = self.choice(self.make("Bool", "=", a[0], self.number(position)), entry, out)
                return out
            case "ne":
                return self.make("Bool", "not", self.compare("=", *a))
            case _ if op in COMPARE:
                if op == "eq" and args[0].dtype in FLOATS:
                    self.equated[a[0], a[1]] = None
                return self.compare(COMPARE[op], *a)
        return self._wrap(self._arithmetic(op, args, a, dtype), dtype)

    def _arithmetic(self, op: str, args: tuple[Term, ...], a: tuple[Node, ...], dtype: str) -> Node:
        integer, sort = dtype == INDEX or dtype in INTEGERS, self.sort(dtype)
        match op:
            case "add":
                return self.make(sort, "+", *a)
            case "sub" | "neg":
                return self.make(sort, "-", *a)
            case "mul" if integer:
                return self.product(*a)
            case "mul":
                return self.make(sort, "*", *a)
            case "div":
                return self.make(sort, "/", *a)
            case "min":
                return self.choice(self.compare("<=", *a), *a)
            case "max":
                return self.choice(self.compare(">=", *a), *a)
            case "abs":
                return self.choice(self.compare(">=", a[0], self._zero(sort)), a[0], self.make(sort, "-", a[0]))
            case "floordiv" if integer:
                return self._digits(args[0], args[1])[0]
            case "mod" if integer:
                return self._digits(args[0], args[1])[1]
            case "ceildiv":
                return self._digits(App("add", (args[0], App("sub", (args[1], Const(1))))), args[1])[0]
            case "bitand" if (mask := self.literal(a[1])) is not None and mask >= 0 and mask & (mask + 1) == 0:
                return self.make("Int", "mod", a[0], self.number(mask + 1))
            case "shr" if (distance := self.literal(a[1])) is not None and 0 <= distance < BITS.get(dtype, 0):
                return self.make("Int", "div", a[0], self.number(1 << distance))
            case "xor" | "bitand" | "bitor" if integer:
                return self._bitwise(op, *a)
            case "popcount":
                counted = self._unknown(f"{op} {dtype}", a, dtype)
                return self.choice(self.make("Bool", "=", a[0], self.number(0)), self.number(0), counted)
        found = self._unknown(f"{op} {dtype}", a, dtype)
        if op == "shl":
            self.bits[found] = (f"shl {BITS[dtype] - (dtype in SIGNED)}", a)
        return found

    def _zero(self, sort: str) -> Node:
        return self.number(0) if sort == "Int" else self.real(0)

    def _digits(self, a: Term, n: Term) -> tuple[Node, Node]:
        numerator, divisor = self.term(a), self.term(n)
        if self.literal(divisor) is not None:
            return self.make("Int", "div", numerator, divisor), self.make("Int", "mod", numerator, divisor)
        if (a, n) not in self.digits:
            q, r = (self.declare(f"{name} {len(self.digits)}", (), "Int") for name in ("quotient", "remainder"))
            self.digits[a, n] = (numerator, divisor, q, r)
        _, _, q, r = self.digits[a, n]
        return q, r

    def _bitwise(self, op: str, *args: Node) -> Node:
        a, b = sorted(args)  # whichever stands first
        low, high = self.number(0), self.number(HALFWORD)
        inside = self.both(*(c for x in (a, b) for c in (self.compare(">=", x, low), self.compare("<", x, high))))
        bits = (self.make("(_ BitVec 16)", "(_ int_to_bv 16)", x) for x in (a, b))
        value = self.make("Int", "ubv_to_int", self.make("(_ BitVec 16)", BITWISE[op], *bits))
        found = self.choice(inside, value, self.declare(f"{op} of[2]", (a, b), "Int"))
        self.bits[found] = (op, (a, b))
        return found

    def _wrap(self, value: Node, dtype: str) -> Node:
        if dtype not in BITS:
            return value
        size = 1 << BITS[dtype]
        known = self.literal(value)
        if known is not None:
            return self.number((known + size // 2) % size - size // 2 if dtype in SIGNED else known % size)
        if dtype not in SIGNED:
            return self.make("Int", "mod", value, self.number(size))
        half = self.number(size // 2)
        return self.make("Int", "-", self.make("Int", "mod", self.make("Int", "+", value, half), self.number(size)), half)

    def _cast(self, value: Node, inner: Term, target: str) -> Node:
        source = inner.dtype
        if source == target:
            return value
        if (source, target) in WIDER:
            return value if unrounded(inner) else self._unknown(f"rounded {source}", (value,), target)
        if source == BOOL:
            zero, one = (self._constant(v, target) for v in (0, 1))
            return self.choice(value, one, zero)
        if target == BOOL:
            return self.make("Bool", "not", self.make("Bool", "=", value, self._zero(self.sort(source))))
        if target in FLOATS:
            exact = value if source in FLOATS else self.make("Real", "to_real", value)
            if source not in FLOATS and (target in ("f32", "f64") or contains(target, source)):
                return exact
            return self._unknown(f"round {target}", (exact,), target)
        if source in FLOATS:
            return self._unknown(f"truncate {target}", (value,), target)
        return self._wrap(value, target)


def unrounded(term: Term) -> bool:
    """Whether a float is in its dtype as it is: read, chosen or converted without loss, not the result of arithmetic.

    >>> a = Read("a", (), "f16")
    >>> unrounded(a), unrounded(App("mul", (a, a), "f16")), unrounded(App("max", (a, a), "f16"))
    (True, False, True)
    """
    match term:
        case Const() | Var() | Read() | Fold():
            return True
        case App("select", (_, then, otherwise)):
            return unrounded(then) and unrounded(otherwise)
        case App("cast", (inner,), dtype) if dtype in FLOATS:
            if inner.dtype in FLOATS:
                # the narrowing cast is a symbol of its own, so its result is what it says
                return (inner.dtype, dtype) not in WIDER or unrounded(inner)
            return dtype in ROUNDED or contains(dtype, inner.dtype)
        case App(op, args) if op in KEEPING:
            return all(map(unrounded, args))
    return False
