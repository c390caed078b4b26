"""The checker's own terms and claims: nothing of the prover is used here. Programs of them are in `program`.

Comes in: what `read` builds from the syntax tree. Goes out: values for every other file of this folder.
The one idea: four kinds of terms. `Num` and `Var` are leaves, `Op` is a function of its arguments, `Read` is an element of an array
(or any uninterpreted function of integers), and `Fold` is `⊕ { body | binders, guard }`.

Types: "index" is ℤ, the integer dtypes are ℤ within their range, floats are ℝ, "bool" is 𝔹; any other dtype names a monoid, and its values are tuples.
Operators with a meaning are listed in `MEANING`; every other operator is an uninterpreted function of its name, argument and result types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import TypeAlias

from tinygpu.record import dataclass, replace

INDEX, BOOL = "index", "bool"
FLOATS = ("f64", "f32", "f16", "bf16")
RANGES = {"i8": (-(2**7), 2**7 - 1), "u8": (0, 2**8 - 1), "i32": (-(2**31), 2**31 - 1), "u32": (0, 2**32 - 1),
          "i64": (-(2**63), 2**63 - 1)}  # fmt: skip
LOGIC = ("and", "or", "not")
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
ARITHMETIC = ("add", "sub", "mul", "neg", "min", "max", "abs", "div", "floordiv", "mod", "ceildiv", "xor")
# `wrap` brings an integer into the range of its dtype, modulo 2^bits; `integer` is the index that a value of an integer dtype is, `real`
# the float that an index is; `div` is of floats only, `floordiv`, `mod`, `ceildiv` and `xor` of indices (`xor` of at least 0)
MEANING = (*LOGIC, *COMPARISONS, *ARITHMETIC, "wrap", "integer", "real", "select")


@dataclass(frozen=True, slots=True)
class Num:
    """A number, `True`, `False`; `inf` and `-inf` are `Op("inf", ())` and `Op("-inf", ())` of a float dtype."""

    value: int | Fraction | bool
    dtype: str = INDEX


@dataclass(frozen=True, slots=True)
class Var:
    """A size, an axis of the work, a loop, a binder; in laws a variable of a dtype."""

    name: str
    dtype: str = INDEX


@dataclass(frozen=True, slots=True)
class Op:
    """`op(args)`. `pack` makes a tuple of the dtype's components, `part.c` takes component `c`, `shuffle.xor` and the like are exchanges."""

    op: str
    args: tuple[Term, ...]
    dtype: str


@dataclass(frozen=True, slots=True)
class Read:
    """`array[index]`; an argument of rank 0 has the empty index."""

    array: str
    index: tuple[Term, ...]
    dtype: str


@dataclass(frozen=True, slots=True)
class Axis:
    """`0 ≤ name < extent`."""

    name: str
    extent: Term


@dataclass(frozen=True, slots=True)
class Fold:
    """`⊕ { body | 0 ≤ binder < extent for every binder, guard }`; an extent may mention the binders before it."""

    monoid: str
    binders: tuple[Axis, ...]
    guard: Term
    body: Term
    dtype: str


Term: TypeAlias = Num | Var | Op | Read | Fold
TRUE, FALSE, ZERO, ONE = Num(True, BOOL), Num(False, BOOL), Num(0), Num(1)
Env: TypeAlias = Mapping[str, Term]


def num(value: int) -> Num:
    """An integer of the index type."""
    return Num(value)


def both(*terms: Term) -> Term:
    """The conjunction, flat and without what is true."""
    parts = tuple(dict.fromkeys(p for t in terms for p in conjuncts(t)))
    if FALSE in parts:
        return FALSE
    return TRUE if not parts else parts[0] if len(parts) == 1 else Op("and", parts, BOOL)


def either(*terms: Term) -> Term:
    """The disjunction."""
    parts = tuple(dict.fromkeys(p for t in terms for p in (t.args if isinstance(t, Op) and t.op == "or" else (t,)) if p != FALSE))
    if TRUE in parts:
        return TRUE
    return FALSE if not parts else parts[0] if len(parts) == 1 else Op("or", parts, BOOL)


def negated(term: Term) -> Term:
    """`not term`."""
    match term:
        case Num(bool(value)):
            return FALSE if value else TRUE
        case Op("not", (inner,)):
            return inner
    return Op("not", (term,), BOOL)


def conjuncts(term: Term) -> tuple[Term, ...]:
    """The parts of a conjunction.

    >>> conjuncts(TRUE), len(conjuncts(both(compare("lt", Var("i"), Var("n")), compare("ge", Var("i"), ZERO))))
    ((), 2)
    """
    match term:
        case Num(True):
            return ()
        case Op("and", args):
            return tuple(p for a in args for p in conjuncts(a))
    return (term,)


def compare(op: str, a: Term, b: Term) -> Term:
    """`a op b` for a comparison; two equal sides and two numbers are decided."""
    if isinstance(a, Num) and isinstance(b, Num):
        x, y = a.value, b.value
        return Num({"eq": x == y, "ne": x != y, "lt": x < y, "le": x <= y, "gt": x > y, "ge": x >= y}[op], BOOL)
    if a == b:
        return Num(op in ("eq", "le", "ge"), BOOL)
    return Op(op, (a, b), BOOL)


def select(condition: Term, then: Term, otherwise: Term) -> Term:
    """`then if condition else otherwise`."""
    if condition == TRUE or then == otherwise:
        return then
    return otherwise if condition == FALSE else Op("select", (condition, then, otherwise), then.dtype)


def fold_of(term: Term, change: Callable[[Term], Term], dtype: str) -> Term:
    """A fold with another body and type."""
    assert isinstance(term, Fold)
    return replace(term, body=change(term.body), dtype=dtype)


def within(index: Term, extent: Term) -> Term:
    """`0 ≤ index < extent`."""
    return both(compare("ge", index, ZERO), compare("lt", index, extent))


def children(term: Term) -> tuple[Term, ...]:
    """The terms directly inside."""
    match term:
        case Op(_, args) | Read(_, args):
            return args
        case Fold(_, binders, guard, body):
            return (*(b.extent for b in binders), guard, body)
    return ()


def rebuild(term: Term, change: Callable[[Term], Term]) -> Term:
    """The same node with its children changed."""
    match term:
        case Op(op, args, dtype):
            return Op(op, tuple(map(change, args)), dtype)
        case Read(array, index, dtype):
            return Read(array, tuple(map(change, index)), dtype)
        case Fold(monoid, binders, guard, body, dtype):
            return Fold(monoid, tuple(Axis(b.name, change(b.extent)) for b in binders), change(guard), change(body), dtype)
    return term


def walk(term: Term) -> Iterator[Term]:
    """The term and everything in it, outermost first."""
    yield term
    for child in children(term):
        yield from walk(child)


def free(term: Term) -> frozenset[str]:
    """The variables that are not bound in the term."""
    match term:
        case Var(name):
            return frozenset({name})
        case Fold(_, binders):
            inside = frozenset().union(*map(free, children(term)))
            return inside - {b.name for b in binders}
    return frozenset().union(*map(free, children(term)))


def put(term: Term, env: Env) -> Term:
    """Substitution. Binders are renamed apart by `read` and `fresh`, so that none is captured; that is checked.

    >>> put(Op("add", (Var("i"), ONE), INDEX), {"i": Var("j")})
    Op(op='add', args=(Var(name='j', dtype='index'), Num(value=1, dtype='index')), dtype='index')
    """
    if not env:
        return term
    match term:
        case Var(name):
            return env.get(name, term)
        case Fold(_, binders):
            names = {b.name for b in binders}
            env = {n: t for n, t in env.items() if n not in names}
            used = free(term) & set(env)
            if any(names & free(env[n]) for n in used):
                raise Unsupported("a binder would be captured")
            return rebuild(term, lambda t: put(t, env))
    return rebuild(term, lambda t: put(t, env))


@dataclass(slots=True)
class Names:
    """A supply of names that no text can have."""

    last: int = 0

    def fresh(self, name: str) -> str:
        self.last += 1
        return f"{name.partition('!')[0]}!{self.last}"

    def apart(self, fold: Fold) -> Fold:
        """The same fold with new names for its binders."""
        env: dict[str, Term] = {}
        binders = []
        for binder in fold.binders:
            name = self.fresh(binder.name)
            binders.append(Axis(name, put(binder.extent, env)))
            env[binder.name] = Var(name)
        return replace(fold, binders=tuple(binders), guard=put(fold.guard, env), body=put(fold.body, env))


# ── what is to be proved ──


@dataclass(frozen=True, slots=True)
class Claim:
    """`0 ≤ axis < extent, facts ⊢ goal`, without folds and quantifiers. Variables that are in no axis are any integers."""

    kind: str
    code: str
    sentence: str
    axes: tuple[Axis, ...]
    facts: tuple[Term, ...]
    goal: Term


@dataclass(frozen=True, slots=True)
class Inhabited:
    """Some point satisfies the facts: the negation of a claim, so that a proof is not about nothing."""

    kind: str
    code: str
    sentence: str
    axes: tuple[Axis, ...]
    facts: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Open:
    """What could not be stated, and why. It is never counted as proved."""

    kind: str
    code: str
    reason: str


Stated: TypeAlias = Claim | Inhabited | Open


class Unsupported(Exception):
    """The text has something that this checker does not know; the message says what."""
