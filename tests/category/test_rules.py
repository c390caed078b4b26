"""Every rule by which an index term becomes another one, or a condition is decided, is proved with z3 for all integers that it is for.

Comes in: a pool of small terms with the boxes and facts where they stand. Goes out: what the functions of `category` make of them, each
change proved equal and each verdict proved true. The one idea: rules are found by running them, and every line that makes a rule has to be
reached by a term of the pool; so a rule that is added without a term here fails this test, and one that is wrong for its term does too.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import product
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

import pytest
import z3

from tinygpu.category import bounds, decide, known, linear, node, settle, simplify, term
from tinygpu.category.known import Known
from tinygpu.category.linear import as_written, joined, polynomial
from tinygpu.category.region import Region, ranges
from tinygpu.category.term import BOOL, FALSE, FOLDED, TRUE, App, Axis, Const, Term, Var, apply, equal, lift, substitute, text, walk
from tinygpu.proof.kernel import ask

g, i, j, q, r, t, n, m, k = map(Var, "gijqrtnmk")
AXES = (Axis("g", n), Axis("i", n), Axis("j", m), Axis("r", lift(8)), Axis("t", lift(32)), Axis("k", lift(3)))
SIZES = (n >= 0, m >= 0)
BUDGET = 4_000_000


@cache
def proved(goal: Term, *given: Term) -> bool:
    """`sizes ≥ 0, the box, given ⊢ goal`, for all integers. What needs no fact is asked without."""
    if given and proved(goal):
        return True
    flips = [t.args for t in walk(goal) if isinstance(t, App) and t.op == "xor"]
    divisors = [t.args[1] for fact in given for t in walk(fact) if isinstance(t, App) and t.op in ("floordiv", "mod", "ceildiv")]
    narrow = [size < 1 << 15 for size in (n, m)] if flips else []  # the solver is told of flips of 16 bits only
    narrow += [App("or", (a < 0, b < 0, App("le", (a ^ b, a + b), BOOL)), BOOL) for a, b in flips]  # the lemma below
    hypotheses = (*SIZES, *ranges(AXES), *given, *(by > 0 for by in divisors), *narrow)
    return bool(ask(hypotheses, goal, BUDGET)[0] == z3.unsat)


def test_a_flip_is_at_most_the_sum() -> None:
    """What `proved` adds of flips, for two numbers of 16 bits, with room for the sum."""
    context = z3.Context()
    a, b = (z3.ZeroExt(1, z3.BitVec(name, 16, context)) for name in "ab")
    solver = z3.Solver(ctx=context)
    solver.add(z3.Not(z3.ULE(a ^ b, a + b), context))
    assert solver.check() == z3.unsat


def negated(condition: Term) -> Term:
    return App("not", (condition,), BOOL)


def numbers(low: int = -3, high: int = 4) -> Iterator[Term]:
    yield from map(lift, range(low, high + 1))


# What the rules are tried on. Only what they change is asked of the solver.
SUMS = (
    i // 8 * 16, i, r, t, n, i + 0, r - 1, r + 1, r - 8, r + 24, i * 4 + r, i * 8 + r, i * 16 + r + 9, i * 8 + r * 2, i * -8 + r, r * 4 + t,
    i * 32 + t, i * 64 + r * 8 + r, g * 32 + t - 1, g * 32 + t + 1, n - i, n - i - 1, i + j - j, 3 + i, i * (2 + lift(1)), i * j, n * m,
    App("mul", (lift(3), i)), i * 4 + r // 2, t // 8 * 8 + t % 8, t // 8 * 8 + t // 4 % 2 * 4 + t % 4, t // 8 % 4 * 8 + t % 8, t // 4 % 2 * 4 + t % 4,
    i // 8 % 4 * 16 + i // 4 % 2 * 8, i % 32 - i // 4 % 8 * 4, i % 32 - i // 4 % 7 * 4, i % 32 - j // 4 % 8 * 4, i % 32 - i // 4 % 8 * 8, i % 8 + i, i % 32, i % 32 + 8, i // 4, i // 4 - 1, i % n, i // n, i % 1, t % 32 * 8 + r,
    (i * 4 + r) * n - j, j - (i + r) * n * m,
)  # fmt: skip
GIVEN: tuple[tuple[Term, ...], ...] = (
    (),
    (r >= 1,),
    (i < 8, equal(n % 4, 0)),
    (i * 4 + r < n, j >= 1),
    (equal(i % 8, 0),),
    (App("not", (i <= 3,), BOOL), App("not", (r > 5,), BOOL), App("not", (t >= 30,), BOOL)),
    (equal(i, j + 1), App("ne", (i, r), BOOL), i > 2, i <= j + 4),
    (Var("p", BOOL), App("or", (i < 3, j < 3), BOOL), n // 4 >= 2, apply("ceildiv", m, 4) >= 2, n // m >= 2),
)


def compared() -> Iterator[Term]:
    """Conditions: some that hold, some that do not, some that nobody knows."""
    sides = ((r, lift(8)), (r, lift(7)), (i, n), (i, i), (i + 1, i), (i * 4 + r, n), (t // 8, lift(4)), (t // 8, lift(3)), (r % 8, r),
             (i % n, n), (n - i, lift(1)), (i, lift(-1)), (i // 4, lift(0)), (i * j, lift(0)), (n, m), (apply("min", i, r), lift(0)),
             (apply("ceildiv", i, 4), lift(0)), (i, j), (j, lift(0)), (n, lift(0)), (i // n, lift(0)), (t * 2, lift(1)),
             (i % (n + 1), lift(0)), (i // (j + 1), lift(0)), (i - n, lift(0)), (r * 2 - 1, lift(0)), (i * 4, n * 4 - 3))  # fmt: skip
    for op, (a, b) in product(("lt", "le", "gt", "ge", "eq", "ne"), sides):
        yield App(op, (a, b), BOOL)
    for a, b, by in ((i, i + 8, 4), (i, i + 3, 4), (i * 4 + 1, j * 4, 4), (i, j, 4)):
        yield equal(App("mod", (a, lift(by))), App("mod", (b, lift(by))))
    yield from (TRUE, FALSE, negated(i < n), Var("p", BOOL))


# ── the lines that make rules ──────────────────────────────────────────────────────────────────────────────────────────────────────


def functions(module: ModuleType) -> tuple[Callable[..., Any], ...]:
    """All that a file defines, so that what is added is seen."""
    own = (inspect.unwrap(f) for _, f in inspect.getmembers(module, callable) if getattr(f, "__module__", "") == module.__name__)
    return tuple(filter(inspect.isfunction, own))


RULE_MAKERS: tuple[Callable[..., Any], ...] = (
    *(f for module in (linear, bounds, settle, decide) for f in functions(module)),
    node.apply, term.conjunction, term.conjuncts, term.negation, term.select,
    simplify._index, simplify._joined, simplify._digits, simplify._comparison, simplify._logic, simplify._complement,
    inspect.unwrap(known.nonnegatives), known._least,
)  # fmt: skip
NO_INDEX = ("Fold(", "Read(")  # arms about values: tests/laws/test_simplify.py runs them


def lines_of(maker: Callable[..., Any]) -> set[int]:
    """The lines of a function that do something, but the arms that are about values."""
    source, first = inspect.getsourcelines(maker)
    tree = ast.parse("".join(source))
    skipped: set[int] = set()
    for found in ast.walk(tree):
        if isinstance(found, ast.match_case) and ast.unparse(found.pattern).startswith(NO_INDEX):
            skipped.update(range(found.pattern.lineno, (found.body[-1].end_lineno or 0) + 1))
    own = {line for code in codes(maker.__code__) for _, _, line in code.co_lines() if line}
    return {line for line in own if line > first and line - first + 1 not in skipped}


def codes(code: CodeType) -> Iterator[CodeType]:
    """The code of a function and of what is written inside of it."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from codes(inner)


class Reached:
    """The lines of the rules that have been run."""

    def __init__(self) -> None:
        self.lines: set[tuple[str, int]] = set()
        self.left = {code: {line for _, _, line in code.co_lines() if line} for f in RULE_MAKERS for code in codes(f.__code__)}

    def trace(self, frame: FrameType, event: str, _: object) -> Any:
        left = self.left.get(frame.f_code)
        if not left:
            return None  # none of the rules, or one of which every line was seen
        if event == "line" and frame.f_lineno in left:
            left.remove(frame.f_lineno)
            self.lines.add((frame.f_code.co_filename, frame.f_lineno))
        return self.trace

    @contextmanager
    def watching(self) -> Iterator[None]:
        for remembered in (linear.polynomial, known.nonnegatives):
            remembered.cache_clear()
        before = sys.gettrace()
        sys.settrace(self.trace)
        try:
            yield
        finally:
            sys.settrace(before)


Claims = list[tuple[Term, tuple[Term, ...], str]]  # what has to be true, under which facts, and of what it was made


def changed(old: Term, new: Term, given: Sequence[Term], claims: Claims) -> None:
    if new != old:
        claims.append((equal(old, new), tuple(given), f"{text(old)}  →  {text(new)}"))


def verdict(condition: Term, found: bool | None, given: Sequence[Term], claims: Claims) -> None:
    if found is not None:
        claims.append((condition if found else negated(condition), tuple(given), f"{text(condition)} is {found}"))


def smart_constructors(claims: Claims) -> None:
    for op in FOLDED:
        for x, c in product((i, i + 1), numbers()):
            for a, b in ((x, c), (c, x)):
                changed(App(op, (a, b), apply(op, a, b).dtype), apply(op, a, b), (), claims)
        for a, b in product(numbers(0 if op == "xor" else -3), numbers(0)):
            if op not in ("floordiv", "mod", "ceildiv") or b != lift(0):
                changed(App(op, (a, b), apply(op, a, b).dtype), apply(op, a, b), (), claims)
    p, other = i < n, j < 3
    for parts in ((), (p,), (p, TRUE), (p, FALSE), (p, p), (p, App("and", (other, p), BOOL)), (p, other)):
        whole = App("and", (TRUE, TRUE, *parts), BOOL)
        changed(whole, term.conjunction(*parts), (), claims)
        changed(whole, term.conjunction(*term.conjuncts(whole)), (), claims)
    for one in (TRUE, FALSE, p, negated(p)):
        changed(negated(one), term.negation(one), (), claims)
        for then, otherwise in ((i, j), (i, i)):
            changed(App("select", (one, then, otherwise)), term.select(one, then, otherwise), (), claims)


def settled(claims: Claims) -> None:
    quotients = (i // 4 < (n + 3) // 4, i // 4 < (n + 2) // 4, (i + r) // 8 < (n + 15) // 8, (i - n) // 4 < i // 4)
    tiles = (i // 4 < apply("ceildiv", n, 4), (i + r) // 4 < apply("ceildiv", n, 4))
    choices = [
        term.select(c, r, t)
        for c in (r < 4, i < n, r >= 8, *quotients, *tiles, App("and", tiles[:1] * 2, BOOL), App("and", tiles, BOOL))
    ]
    for given in GIVEN:
        here = Known.of({a.name: a.extent for a in AXES}, frozenset(given))
        for x in (*SUMS, *choices, App("and", (i < n, r < 7), BOOL)):
            changed(x, as_written(polynomial(x)), given, claims)
            changed(x, as_written(joined(polynomial(x))), given, claims)
            changed(x, settle._settle(x, here), given, claims)
            for op, by in product(("floordiv", "mod"), (2, 4, 8, 32)):
                if x.dtype != BOOL:
                    changed(App(op, (x, lift(by))), settle.divided(op, x, by, here), given, claims)
        least = tuple(
            a < apply("min", b, c) for a, b, c in ((r, n + 8, lift(8)), (i, n, i), (n, n, i), (i, n, i + 1), (lift(-1), i, r))
        )
        for condition in (*compared(), *least):
            verdict(condition, settle._compared(condition, here), given, claims)
            changed(condition, settle._settle(condition, here), given, claims)
        for fact in given:
            assert settle._settle(fact, here) == TRUE and settle._settle(negated(fact), here) == FALSE
    denied, both = negated(App("and", (i < 4, r < 4), BOOL)), App("and", (i < 4, r < 4, j < 5), BOOL)
    changed(both, settle._settle(both, Known.of({a.name: a.extent for a in AXES}, frozenset({denied}))), (denied,), claims)
    for x, by in ((j * n + i, n), (j * n * 3 + n + i, n), (i, n), (j, n), (i + n, lift(4)), (i, lift(0)), (j * n - 1, n)):
        for op in ("floordiv", "mod"):
            here = Known.of({a.name: a.extent for a in AXES})
            changed(App(op, (x, by)), settle.parted(op, x, by, here), (), claims)
            changed(App(op, (x, by)), settle.settle(App(op, (x, by)), here.extents), (), claims)
    inside = settle.within(i, n)
    claims.append((equal(inside, App("and", (i >= 0, i < n), BOOL)), (), text(inside)))
    literals = App("lt", (Const(1.0, "f32"), Const(2.0, "f32")), BOOL)
    verdict(literals, decide.decide(literals, Known.of({})), (), claims)
    chain = (q >= 0, q < g)
    verdict(q <= 0, decide.decide(q <= 0, Known.of({"q": g, "g": n})), chain, claims)
    verdict(q < n, decide.decide(q < n, Known.of({"q": g, "g": n})), chain, claims)
    for a, b, name in (
        (i + r - 1, j, "r"),
        (i * 2, j * 4 + 6, "i"),
        (i * 2, j, "i"),
        (i * j, r, "i"),
        (i * -1, j, "i"),
        (i, j, "r"),
        (i * 2, lift(3), "i"),
        (i * n + r, (j * 3 + 1) * n + r, "i"),
        (i * n, j, "i"),
    ):
        if (found := linear.solve(a, b, name)) is not None:
            claims.append((equal(equal(a, b), equal(Var(name), found)), (), f"{text(a)} = {text(b)} for {name}"))
        if (found := linear.solve(a, b, name, only=False)) is not None:
            claims.append((equal(*(substitute(side, {name: found}) for side in (a, b))), (), f"{text(a)} = {text(b)} at {name}"))


CEILINGS = tuple(apply("ceildiv", a, by) for a in (i, r, i * 8 + r, n, i - n, r - 9, n - 1, n - m) for by in (4, 8))
EXTREMES = tuple(
    apply(op, a, b) for op in ("min", "max") for a, b in ((i, n), (r, lift(9)), (t, r), (i - n, j), (i // (j - 3), r), (n, m))
)
SYMBOLIC = (i // n, i % n, (j * n + i) // n, (j * n + i) % n, i // (j + 1), i % (j + 1), r // (j + 2), r % (k + 8), (i - n) % 4, (i - n) // (j + 1),
            App("table", (k, lift(5), lift(2), lift(9))))  # fmt: skip
FLIPS = tuple(apply("xor", a, b) for a, b in ((r, t), (r, lift(0)), (r, r), (apply("xor", r, t), t), (i - n, r), (i, lift(3))))
BOTH = tuple(App(op, (a, b), BOOL) for op in ("and", "or")
             for a, b in ((i < n, r < 7), (r < 9, r < 9), (r < 7, r < 6), (r > 9, i > n), (r > 7, i < 3)))  # fmt: skip
MOVED = (  # smaller, larger
    (n, apply("ceildiv", n, 4) * 4), (n // 4 * 4, n), (apply("ceildiv", n, 4) * 4, n + 3), (n - 3, n // 4 * 4), (i // 4, n), (n % 8, lift(7)),
    (i * 2 - i % 4, i * 2), (apply("ceildiv", i, 4), n), (apply("ceildiv", n, 4) * 4, n), (n, n // 4 * 4), (lift(-1), i // 4 - 1),
    (lift(0), apply("ceildiv", i, 4) + i), (apply("min", n, m), n), (n, apply("max", n, m)), (m * (n // 4) * 4, m * n),
)  # fmt: skip


def simplified(claims: Claims) -> None:
    for given in GIVEN:
        box = Region(AXES, given)
        for x in (
            *SUMS,
            *EXTREMES,
            *CEILINGS,
            *SYMBOLIC,
            *(() if given else FLIPS),
            term.select(r < 4, r, t),
            term.select(i < 5, i, r),
        ):
            changed(x, simplify.simplify(x, box), given, claims)
            bounded(x, box, given, claims)
        ends = (
            App(op, (x, lift(b)), BOOL) for op, b in (("le", 9), ("lt", 0), ("eq", 0)) for x in (*EXTREMES, *CEILINGS, *SYMBOLIC)
        )
        sides = (App("le", pair, BOOL) for pair in MOVED)
        multiples = (
            equal(n % 4, 0),
            equal((n * 2) % 8, 0),
            equal((i * 4 + r) % 4, 0),
            equal(apply("mod", n * m, 4), 0),
            equal(apply("mod", i, 0), 0),
        )
        for condition in (*compared(), *BOTH, *map(negated, BOTH), *ends, *sides, *multiples):
            verdict(condition, decide.holds(condition, box), given, claims)
        told = Region(AXES, (*given, i < n * 3))
        for condition in (
            i // 3 * 2 < n * 2,
            i // 3 < n - 1,
            i % (j + 1) * 2 <= j * 2,
            i // 4 * 2 < n,
            i % (j - 3) < n,
            equal(i, j),
        ):
            verdict(condition, decide.digits_hold(condition, Known.at(told)) or None, told.guard, claims)
        for condition in (i < n, equal(i, j), r >= 8, *BOTH, *map(negated, BOTH)):
            changed(condition, simplify.simplify(condition, box), given, claims)
    held = (App("cast", (App("cast", (i,), dtype),)) for dtype in ("i32", "i64"))
    for x in (i // (j - 3) * j, r % (j - 3), apply("xor", i, j), *held):
        bounded(x, Region(AXES), (), claims)
    power = App("cast", (App("shl", (Const(3, "i64"), App("cast", (k,), "i64")), "i64"),))
    meant = [
        App("or", (App("ne", (k, lift(at)), BOOL), equal(power, lift(3 << at))), BOOL) for at in range(3)
    ]  # no solver knows it
    bounded(power, Region(AXES), meant, claims)
    for x in (n - 1, apply("ceildiv", n, 4) * 4):
        claims.append((equal(bounds.natural(x), apply("max", x, 0)), (n >= 0,), f"no fewer than none: {text(x)}"))


def bounded(x: Term, box: Region, given: Sequence[Term], claims: Claims) -> None:
    for bound, op in ((bounds.lower(x, box), "le"), (bounds.upper(x, box), "ge")):
        if bound is not None:
            claims.append((App(op, (bound, x), BOOL), tuple(given), f"{text(bound)} bounds {text(x)}"))


@cache
def everything() -> tuple[Claims, frozenset[tuple[str, int]]]:
    """What the rules say of the pool, and the lines that said it."""
    claims: Claims = []
    reached = Reached()
    known._known.cache_clear()
    with reached.watching():
        for part in (smart_constructors, settled, simplified):
            part(claims)
    return list(dict.fromkeys(claims)), frozenset(reached.lines)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("part", range(4))
def test_what_a_rule_says_is_so_for_all_integers(part: int) -> None:
    claims, _ = everything()
    assert len(claims) > 400
    wrong = [f"{said}  where {' and '.join(map(text, given))}" for goal, given, said in claims[part::4] if not proved(goal, *given)]
    assert not wrong, (len(wrong), wrong[:20])


@pytest.mark.parametrize("maker", RULE_MAKERS, ids=lambda f: f"{f.__module__.rpartition('.')[2]}.{f.__name__}")
def test_every_line_that_makes_a_rule_is_reached(maker: Callable[..., Any]) -> None:
    _, reached = everything()
    file = maker.__code__.co_filename
    left = sorted(line for line in lines_of(maker) if (file, line) not in reached)
    shown = Path(file).read_text(encoding="utf-8").splitlines()
    assert not left, [f"{line}: {shown[line - 1].strip()}" for line in left]
