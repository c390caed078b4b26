"""Values of `fin(ℝ) | −∞ | +∞`, evaluated path by path: every comparison is decided one way, and the other way on another path.

    exp(−∞) = 0      −∞ + x = −∞      −∞ − −∞, 0·∞, x/0 have no value      exp(u − v) = X(u)/X(v) with X > 0

Comes in: terms, and what their variables are. Goes out: for every path the comparisons taken and what a computation gave there.
The one idea: on one path there are no choices left, so a value is an infinity or a fraction of two polynomials, and fractions are compared by
multiplying across.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias, TypeVar

from tinygpu.record import dataclass, field
from tinygpu.replay.ir import BOOL, COMPARISONS, FLOATS, Num, Op, Term, Unsupported, Var, compare, negated
from tinygpu.replay.width import spelled

T = TypeVar("T")
REAL = "f64"  # a dtype whose numbers the text of a claim has as reals
NONE, UNIT = Num(0, REAL), Num(1, REAL)
PATHS = 4000


class NoValue(Exception):
    """What is computed has no value on this path."""


@dataclass(frozen=True, slots=True)
class Fraction:
    """`above / below`, with `below` not 0 on the path; `positive` says that it is more."""

    above: Term
    below: Term = UNIT
    positive: bool = True


@dataclass(frozen=True, slots=True)
class Infinite:
    """`+∞` or `−∞`."""

    sign: int


Value: TypeAlias = Fraction | Infinite
Env: TypeAlias = Mapping[str, Value]


@dataclass(slots=True)
class Path:
    """The answers to be given, and what was asked so far."""

    script: list[bool]
    asked: int = 0
    facts: list[Term] = field(default_factory=list)
    powers: dict[Term, Term] = field(default_factory=dict)

    def choose(self, condition: Term) -> bool:
        """Whether a comparison holds on this path."""
        if isinstance(condition, Num):
            return bool(condition.value)
        for fact in self.facts:
            if fact == condition or negated(fact) == condition:
                return fact == condition
        if self.asked == len(self.script):
            self.script.append(True)
        answer = self.script[self.asked]
        self.asked += 1
        self.facts.append(condition if answer else negated(condition))
        return answer


def paths(run: Callable[[Path], T]) -> Iterator[tuple[Path, T | None]]:
    """Every path of a computation with what it gives there; None where it has no value."""
    script: list[bool] = []
    for _ in range(PATHS):
        path = Path(script)
        try:
            found: T | None = run(path)
        except NoValue:
            found = None
        yield path, found
        script = path.script[: path.asked]
        while script and not script[-1]:
            script.pop()
        if not script:
            return
        script[-1] = False
    raise Unsupported("too many cases of infinities and maxima")


def value(term: Term, env: Env, path: Path) -> Value:
    """What a number is on a path."""
    match term:
        case Num(_, dtype):
            return Fraction(Num(term.value, REAL) if dtype in FLOATS else term)
        case Var(name):
            return env[name]
        case Op("inf" | "-inf" as sign, ()):
            return Infinite(1 if sign == "inf" else -1)
        case Op("select", (condition, then, otherwise)):
            return value(then if truth(condition, env, path) else otherwise, env, path)
        case Op("min" | "max" as op, (a, b)):
            x, y = value(a, env, path), value(b, env, path)
            return (x if op == "min" else y) if at_most(x, y, path) else (y if op == "min" else x)
        case Op(op, args, dtype) if dtype in FLOATS:
            return applied(op, [value(a, env, path) for a in args], path)
        case Op(op, args, dtype) if dtype != BOOL:
            return Fraction(Op(op, tuple(whole(value(a, env, path)) for a in args), dtype))
    raise Unsupported("a law speaks of more than numbers")


def whole(found: Value) -> Term:
    """An integer."""
    if isinstance(found, Infinite) or found.below != UNIT:
        raise Unsupported("a float stands among integers")
    return found.above


def truth(term: Term, env: Env, path: Path) -> bool:
    """Whether a condition holds on a path."""
    match term:
        case Num(answer):
            return bool(answer)
        case Op("not", (a,)):
            return not truth(a, env, path)
        case Op("and", args):
            return all(truth(a, env, path) for a in args)
        case Op("or", args):
            return any(truth(a, env, path) for a in args)
        case Op(op, (a, b)) if op in COMPARISONS:
            x, y = value(a, env, path), value(b, env, path)
            match op:
                case "eq" | "ne":
                    return same(x, y, path) == (op == "eq")
                case "le" | "gt":
                    return at_most(x, y, path) == (op == "le")
            return at_most(y, x, path) == (op == "ge")
    raise Unsupported("a law has a condition that is no comparison")


def same(x: Value, y: Value, path: Path) -> bool:
    """`x = y`."""
    if isinstance(x, Infinite) or isinstance(y, Infinite):
        return x == y
    return path.choose(equality(x, y))


def equality(x: Fraction, y: Fraction) -> Term:
    """Two fractions are equal where the products across are."""
    return compare("eq", times(x.above, y.below), times(y.above, x.below))


def at_most(x: Value, y: Value, path: Path) -> bool:
    """`x ≤ y`."""
    if isinstance(x, Infinite) or isinstance(y, Infinite):
        return x == y or (isinstance(x, Infinite) and x.sign < 0) or (isinstance(y, Infinite) and y.sign > 0)
    left, right = times(x.above, y.below), times(y.above, x.below)
    if not (x.positive and y.positive):
        sign = times(x.below, y.below)
        left, right = times(left, sign), times(right, sign)
    return path.choose(compare("le", left, right))


def applied(op: str, args: list[Value], path: Path) -> Value:
    """An operation of floats on a path."""
    match op, args:
        case "add" | "sub" | "mul" | "div", [x, y]:
            if isinstance(x, Infinite) or isinstance(y, Infinite):
                return beyond(op, x, y, path)
            return finite(op, x, y, path)
        case "neg", [Infinite(sign)]:
            return Infinite(-sign)
        case "neg", [Fraction(above, below, positive)]:
            return Fraction(Op("neg", (above,), REAL), below, positive)
        case "exp" | "exp2", [Infinite(sign)]:
            return Fraction(NONE) if sign < 0 else Infinite(1)
        case "exp" | "exp2", [Fraction(above, below)]:
            return power(op, above, below, path)
        case _ if all(isinstance(a, Fraction) for a in args) and not op.startswith("cast."):
            raise Unsupported(f"a law with {op}")
    raise Unsupported(f"{op} of an infinity")


def finite(op: str, x: Fraction, y: Fraction, path: Path) -> Fraction:
    """An operation of two fractions."""
    match op:
        case "mul":
            return Fraction(times(x.above, y.above), times(x.below, y.below), x.positive and y.positive)
        case "div":
            if path.choose(compare("eq", y.above, NONE)):
                raise NoValue
            return Fraction(times(x.above, y.below), times(x.below, y.above), False)
    if x.below == y.below:
        return Fraction(joined(op, x.above, y.above), x.below, x.positive)
    above = joined(op, times(x.above, y.below), times(y.above, x.below))
    return Fraction(above, times(x.below, y.below), x.positive and y.positive)


def beyond(op: str, x: Value, y: Value, path: Path) -> Value:
    """An operation with an infinity."""
    if op in ("add", "sub"):
        if op == "sub" and isinstance(y, Infinite):
            y = Infinite(-y.sign)
        if isinstance(x, Infinite) and isinstance(y, Infinite) and x != y:
            raise NoValue
        return x if isinstance(x, Infinite) else y
    if isinstance(x, Infinite) and isinstance(y, Infinite):
        if op == "div":
            raise NoValue
        return Infinite(x.sign * y.sign)
    if op == "div" and isinstance(y, Infinite):
        return Fraction(NONE)
    other, sign = (x, y) if isinstance(x, Fraction) else (y, x)
    assert isinstance(other, Fraction) and isinstance(sign, Infinite)
    zero = Fraction(NONE)
    if same(other, zero, path):
        raise NoValue
    return Infinite(-sign.sign if at_most(other, zero, path) else sign.sign)


def power(op: str, above: Term, below: Term, path: Path) -> Fraction:
    """`exp` of a sum: a product of powers of its parts, each a positive number of its own."""
    found: dict[Term, int] = {}
    for sign, part in summands(above, 1) if below == UNIT else [(1, Op("div", (above, below), REAL))]:
        found[part] = found.get(part, 0) + sign
    sides: dict[bool, Term] = {True: UNIT, False: UNIT}
    for part, count in found.items():
        if part != NONE:
            symbol = Var(f"{op} of {spelled(part)}", REAL)
            path.powers[symbol] = part
            for _ in range(abs(count)):
                sides[count > 0] = times(sides[count > 0], symbol)
    return Fraction(sides[True], sides[False])


def summands(term: Term, sign: int) -> Iterator[tuple[int, Term]]:
    """The parts of a sum with their signs."""
    match term:
        case Op("add" | "sub" as op, (a, b)):
            yield from summands(a, sign)
            yield from summands(b, sign if op == "add" else -sign)
        case Op("neg", (a,)):
            yield from summands(a, -sign)
        case _:
            yield sign, term


def times(a: Term, b: Term) -> Term:
    """A product without ones and zeros."""
    if UNIT in (a, b):
        return b if a == UNIT else a
    return NONE if NONE in (a, b) else Op("mul", (a, b), REAL)


def joined(op: str, a: Term, b: Term) -> Term:
    """A sum or a difference without zeros."""
    if b == NONE:
        return a
    return b if a == NONE and op == "add" else Op(op, (a, b), REAL)
