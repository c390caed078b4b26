"""A claim as SMT-LIB 2 text, in the operators that every solver has.

    0 ≤ axis < extent,  facts,  not goal,  (check-sat)          `unsat` is a proof; of `Inhabited` the goal is left out and `sat` is one

Comes in: a claim. Goes out: a text that stands alone. The one idea: what solvers are weak at is said in words that they are strong at:
the digits of a division by a term have names, `a = q·n + r, 0 ≤ r < n`, and products with a common factor are said to be monotone.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

from tinygpu.record import dataclass, field
from tinygpu.replay.ir import (
    BOOL,
    FLOATS,
    INDEX,
    RANGES,
    TRUE,
    Claim,
    Inhabited,
    Num,
    Op,
    Read,
    Term,
    Unsupported,
    Var,
    conjuncts,
    within,
)

OPERATORS = {"and": "and", "or": "or", "not": "not", "eq": "=", "ne": "distinct", "lt": "<", "le": "<=", "gt": ">", "ge": ">=",
             "select": "ite", "add": "+", "sub": "-", "neg": "-", "div": "/", "real": "to_real"}  # fmt: skip
LONG = 160  # letters from which on a term gets a name of its own, so that what is shared is written once
BITS = 16  # of two terms that are combined bit by bit


@dataclass(frozen=True, slots=True)
class Written:
    """A claim that is a text already: of bit-vectors, which terms do not have."""

    kind: str
    code: str
    sentence: str
    text: str


def text(claim: Claim | Inhabited | Written) -> str:
    """The text of a claim.

    >>> from tinygpu.replay.ir import Axis, compare
    >>> i, n = Var("i"), Var("n")
    >>> print(text(Claim("bounds", "", "", (Axis("i", n),), (), compare("lt", i, n))).replace("(set-logic ALL)\\n", ""))
    (declare-const |i| Int)
    (declare-const |n| Int)
    (assert (>= |i| 0))
    (assert (< |i| |n|))
    (assert (not (< |i| |n|)))
    (check-sat)
    """
    if isinstance(claim, Written):
        return claim.text
    writer = Writer()
    facts = [f for a in claim.axes for f in conjuncts(within(Var(a.name), a.extent))]
    facts += [f for fact in claim.facts for f in conjuncts(fact)]
    said = [writer.write(f) for f in dict.fromkeys(facts) if f != TRUE]
    if isinstance(claim, Claim):
        said.append(f"(not {writer.write(claim.goal)})")
    lines = [f"(assert {s})" for s in dict.fromkeys(said + writer.known())]
    return "\n".join(["(set-logic ALL)", *writer.lines, *lines, "(check-sat)"])


def sort(dtype: str) -> str:
    """The sort of a type; values of several components have one of their own."""
    if dtype == INDEX or dtype in RANGES:
        return "Int"
    return "Bool" if dtype == BOOL else "Real" if dtype in FLOATS else f"|{dtype} value|"


@dataclass(slots=True)
class Writer:
    """The lines that declare and define, what was written already, and what is known of it."""

    lines: list[str] = field(default_factory=list)
    done: dict[Term, str] = field(default_factory=dict)
    declared: dict[str, None] = field(default_factory=dict)
    products: dict[tuple[str, str], str] = field(default_factory=dict)
    digits: dict[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    facts: list[str] = field(default_factory=list)

    def write(self, term: Term) -> str:
        """The text of a term; a long one is defined once and is a name then."""
        if term not in self.done:
            said = self.term(term)
            if len(said) > LONG:
                name = f"|term {len(self.done)}|"
                self.lines.append(f"(define-fun {name} () {sort(term.dtype)} {said})")
                said = name
            self.done[term] = said
        return self.done[term]

    def term(self, term: Term) -> str:
        match term:
            case Num(value, dtype):
                return number(value, dtype)
            case Var(name, dtype):
                return self.symbol(name, (), (), dtype)
            case Read(array, index, dtype):
                return self.symbol(f"{array}[{len(index)}]", index, tuple(i.dtype for i in index), dtype)
            case Op("integer", (a,)):
                return self.write(a)
            case Op("wrap", (a,), dtype):
                return wrapped(self.write(a), dtype)
            case Op("mul", (a, b)):
                return self.product(a, b)
            case Op("floordiv" | "mod" | "ceildiv" | "xor" as op, (a, b)) if sort(term.dtype) == "Int":
                return self.divided(op, a, b) if op != "xor" else self.exclusive(a, b)
            case Op("min" | "max" as op, (a, b)):
                x, y = self.write(a), self.write(b)
                return f"(ite ({'<=' if op == 'min' else '>='} {x} {y}) {x} {y})"
            case Op("abs", (a,)):
                x = self.write(a)
                return f"(ite (>= {x} {number(0, a.dtype)}) {x} (- {x}))"
            case Op(op, args) if op in OPERATORS:
                return f"({OPERATORS[op]} {' '.join(map(self.write, args))})"
            case Op(op, args, dtype):
                return self.symbol(f"{op} of {' '.join(a.dtype for a in args)}", args, tuple(a.dtype for a in args), dtype)
        raise Unsupported("a fold stands in a formula")

    def symbol(self, name: str, args: tuple[Term, ...], dtypes: tuple[str, ...], dtype: str) -> str:
        """A constant or a function that nothing is known of but the range of its type."""
        said = f"|{name}|" if not name.endswith(" of ") else f"|{name}{dtype}|"
        written = [self.write(a) for a in args]
        sorts = [sort(d) for d in dtypes]
        if said not in self.declared:
            self.declare(sorts + [sort(dtype)])
            self.declared[said] = None
            self.lines.append(
                f"(declare-fun {said} ({' '.join(sorts)}) {sort(dtype)})" if args else f"(declare-const {said} {sort(dtype)})"
            )
        whole = f"({said} {' '.join(written)})" if args else said
        if dtype in RANGES:
            low, high = RANGES[dtype]
            self.facts.append(f"(<= {number(low, INDEX)} {whole} {high})")
        return whole

    def declare(self, sorts: list[str]) -> None:
        """Sorts of their own that are met for the first time."""
        for name in sorts:
            if name.startswith("|") and name not in self.declared:
                self.declared[name] = None
                self.lines.append(f"(declare-sort {name} 0)")

    def product(self, a: Term, b: Term) -> str:
        x, y = sorted((self.write(a), self.write(b)))
        whole = f"(* {x} {y})"
        if sort(a.dtype) == "Int" and not (isinstance(a, Num) or isinstance(b, Num)):
            self.products.setdefault((x, y), whole)
        return whole

    def divided(self, op: str, a: Term, b: Term) -> str:
        """The quotient or the remainder; by a term, both are names."""
        x, n = self.write(a), self.write(b)
        if op == "ceildiv":
            x = f"(+ {x} (- {n} 1))"
        if isinstance(b, Num) and b.value > 0:
            return f"({'mod' if op == 'mod' else 'div'} {x} {n})"
        if (x, n) not in self.digits:
            q, r = (f"|{name} {len(self.digits)}|" for name in ("quotient", "remainder"))
            self.lines += [f"(declare-const {q} Int)", f"(declare-const {r} Int)"]
            self.digits[x, n] = q, r
            whole = self.products.setdefault((min(q, n), max(q, n)), f"(* {min(q, n)} {max(q, n)})")
            self.facts.append(f"(=> (> {n} 0) (and (= {x} (+ {whole} {r})) (<= 0 {r}) (< {r} {n})))")
        return self.digits[x, n][op == "mod"]

    def exclusive(self, a: Term, b: Term) -> str:
        """`a ^ b` of numbers from 0 on: by the bits of the constant, else by those of both, which are taken to be short."""
        x, y = self.write(a), self.write(b)
        if isinstance(b, Num) and b.value >= 0:
            ones = [2**k for k in range(int(b.value).bit_length()) if int(b.value) >> k & 1]
            return f"(+ {x} {' '.join(f'(ite (= (mod (div {x} {d}) 2) 0) {d} (- {d}))' for d in ones)})" if ones else x
        bits = " ".join(f"(* {2**k} (mod (+ (div {x} {2**k}) (div {y} {2**k})) 2))" for k in range(BITS))
        inside = " ".join(f"(<= 0 {v}) (< {v} {2**BITS})" for v in (x, y))
        other = self.symbol("xor of long", (a, b), (INDEX, INDEX), INDEX)
        return f"(ite (and {inside}) (+ {bits}) {other})"

    def known(self) -> list[str]:
        """What is true of everything that was written: ranges, digits, and that products with a common factor are monotone."""
        found = list(self.facts)
        for (x, y), whole in self.products.items():
            found.append(f"(=> (and (>= {x} 0) (>= {y} 0)) (>= {whole} 0))")
        for one, two in combinations(self.products, 2):
            for c in sorted({*one} & {*two}):
                p, q = (pair[1 - pair.index(c)] for pair in (one, two))
                v, w = self.products[one], self.products[two]
                for s, t, small, large in ((p, q, v, w), (q, p, w, v)):
                    found.append(f"(=> (and (>= {c} 0) (<= {s} {t})) (<= {small} {large}))")
                    found.append(f"(=> (and (>= {c} 0) (< {s} {t})) (<= (+ {small} {c}) {large}))")
        return found


def number(value: int | Fraction | bool, dtype: str) -> str:
    """A literal of a type.

    >>> number(-3, "index"), number(Fraction(-1, 2), "f32"), number(2, "f32"), number(True, "bool")
    ('(- 3)', '(- (/ 1.0 2.0))', '2.0', 'true')
    """
    if dtype == BOOL:
        return "true" if value else "false"
    exact = Fraction(value)
    if dtype in FLOATS:
        said = f"{abs(exact.numerator)}.0"
        said = said if exact.denominator == 1 else f"(/ {said} {exact.denominator}.0)"
    else:
        said = str(abs(int(value)))
    return f"(- {said})" if exact < 0 else said


def wrapped(value: str, dtype: str) -> str:
    """An integer in the range of its type, modulo 2^bits."""
    low, high = RANGES[dtype]
    size = high - low + 1
    return f"(mod {value} {size})" if low == 0 else f"(- (mod (+ {value} {-low}) {size}) {-low})"
