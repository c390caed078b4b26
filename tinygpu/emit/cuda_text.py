"""Terms as the text of kernels: index terms, guards and values, each with the type that the proof gave it.

Comes in: a term and what the names around it are. Goes out: one Python expression that numba types as intended.
The one idea: numba widens `int32 + int32` to 64 bits, so every index subterm is cast back with `ix(…)` as soon as it is made; a 16-bit
float is its bits in memory and the f32 of the same value in registers, rounded after every operation that may leave its values.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tinygpu.category.term import BOOL, COMPARISONS, FLOATS, INDEX, INTEGERS, SYMBOL, App, Const, Read, Term, Var
from tinygpu.program.address import address

HALVES = ("f16", "bf16")
STORED = {"f16": "u16", "bf16": "u16", BOOL: "u8"}
HELD = {"f16": "f32", "bf16": "f32", BOOL: "u8", INDEX: "ix"}
EXACT = ("select", "min", "max", "abs", "neg", "floor", "cast")  # never need rounding to 16 bits


def stored(dtype: str) -> str:
    """The type of an element in memory, also of a scalar parameter: 16-bit floats as u16, truth values as u8."""
    return STORED.get(dtype, dtype)


def held(dtype: str) -> str:
    """The type of a cell in registers: 16-bit floats as f32."""
    return HELD.get(dtype, dtype)


@dataclass(frozen=True, slots=True)
class Scope:
    """What the names around a term are: Python names, shapes of tensors, local cells, raw cells of wide accesses, and named index terms.

    `uses` collects the names of the prelude that the text needs.
    """

    names: Mapping[str, str]
    shapes: Mapping[str, tuple[Term, ...]]
    locals: frozenset[str] = frozenset()
    raw: frozenset[str] = frozenset()
    bound: Mapping[Term, str] = field(default_factory=dict)
    uses: set[str] = field(default_factory=set)

    def use(self, name: str) -> str:
        """The name of the prelude, noted."""
        self.uses.add(name)
        return name

    def binding(self, term: Term, name: str) -> Scope:
        """The scope in which an index term has a name."""
        return replace(self, bound={**self.bound, term: name})

    def with_raw(self, cells: Mapping[str, str]) -> Scope:
        """The scope with arrays that hold elements as memory has them, by Python's names."""
        return replace(self, names={**self.names, **cells}, raw=self.raw | frozenset(cells))


def index(term: Term, scope: Scope) -> str:
    """An index term as an expression of type `ix`, or a plain number.

    >>> scope = Scope({"g": "g", "t": "t", "n": "n"}, {})
    >>> index((Var("g") * 256 + Var("t")) // Var("n"), scope)
    'ix(ux(ix(ix(g*256) + t)) // ux(n))'
    """
    if term in scope.bound:
        return scope.bound[term]
    match term:
        case Const(number):
            return str(int(number))
        case Var(name):
            return scope.names[name]
        case App("floordiv" | "mod" as op, (a, b)):
            return f"{scope.use('ix')}({_unsigned(a, scope)}{SYMBOL[op][0]}{_unsigned(b, scope)})"
        case App("ceildiv", (a, b)):
            top, bottom = _unsigned(a, scope), _unsigned(b, scope)
            more = str(int(b.value) - 1) if isinstance(b, Const) else f"{bottom} - ux(1)"
            return f"{scope.use('ix')}(ux({top} + {scope.use('ux')}({more})) // {bottom})"
        case App("add" | "sub" | "mul" | "xor" as op, (a, b)):
            left, right = index(a, scope), index(b, scope)
            right = f"({right})" if right.startswith("-") else right
            return f"{scope.use('ix')}({left}{SYMBOL[op][0]}{right})"
        case App("neg", (a,)):
            return f"{scope.use('ix')}(-{index(a, scope)})"
        case App("min" | "max" as op, (a, b)):
            return f"{scope.use('ix')}({op}(ix({index(a, scope)}), ix({index(b, scope)})))"
        case App("select", (condition, a, b)):
            return f"{scope.use('ix')}({index(a, scope)} if {guard(condition, scope)} else {index(b, scope)})"
        case App("table", (place, *entries)):
            chain = index(entries[-1], scope)
            for number, entry in reversed(list(enumerate(entries[:-1]))):
                chain = f"{index(entry, scope)} if {index(place, scope)} == {number} else {chain}"
            return f"{scope.use('ix')}({chain})"
        case App("cast", (a,)):
            return f"{scope.use('ix')}({value(a, scope)})"
    raise ValueError(f"no index term: {term}")


def _unsigned(term: Term, scope: Scope) -> str:
    """An index term that is proved not to be negative, in the unsigned type, whose division needs no correction."""
    return f"{scope.use('ux')}({index(term, scope)})"


def guard(term: Term, scope: Scope, level: int = 0) -> str:
    """A condition. Python's `and` and `or` evaluate from the left, and no further than they must, like the language's.

    >>> scope = Scope({"i": "i", "n": "n"}, {})
    >>> guard(App("and", (Var("i") < Var("n"), App("not", (Var("i") < 1,), BOOL)), BOOL), scope)
    'i < n and not i < 1'
    """
    match term:
        case Const(truth):
            return str(bool(truth))
        case App("and" | "or" | "not" as op, args):
            symbol, rank = SYMBOL[op]
            inner = [guard(a, scope, rank + (n > 0)) for n, a in enumerate(args)]
            text = symbol.join(inner) if op != "not" else symbol + inner[0]
            return f"({text})" if rank < level else text
        case App(op, (a, b)) if op in COMPARISONS:
            sides = [index(x, scope) if x.dtype == INDEX else value(x, scope, 5) for x in (a, b)]
            text = SYMBOL[op][0].join(sides)
            return f"({text})" if level > SYMBOL[op][1] else text
        case App("select", (condition, a, b)):
            return f"({guard(a, scope, 1)} if {guard(condition, scope, 1)} else {guard(b, scope)})"
        case App("cast", (a,)):
            return f"{index(a, scope) if a.dtype == INDEX else value(a, scope, 5)} != 0"
        case Read():
            text = f"{place(term.tensor, term.index, scope)} != 0"
            return f"({text})" if level > 4 else text
    raise ValueError(f"no condition: {term}")


def place(name: str, at: tuple[Term, ...], scope: Scope) -> str:
    """The Python text of a cell: a variable, a local array's cell, or a tensor's element through its pointer."""
    if name in scope.locals or name in scope.raw:
        inside = ", ".join(index(t, scope) for t in at)
        return f"{scope.names[name]}[{inside}]" if at else scope.names[name]
    if not at and name not in scope.shapes:
        return scope.names[name]  # a scalar parameter
    return f"{scope.names[name]}[{index(address(scope.shapes[name], at), scope)}]"


def read(term: Read, scope: Scope) -> str:
    """The value of a cell or element as it is held in registers."""
    text = place(term.tensor, term.index, scope)
    if term.dtype == BOOL:
        return f"{text} != 0"
    if term.dtype in HALVES and term.tensor not in scope.locals:
        return f"{scope.use(term.dtype + '_value')}({text})"
    return text


def value(term: Term, scope: Scope, level: int = 0) -> str:
    """A value of the dtype that the term has, as it is held in registers."""
    dtype = term.dtype
    if dtype == INDEX:
        return index(term, scope)
    if dtype == BOOL:
        return guard(term, scope, level)
    match term:
        case Const(number):
            return literal(number, dtype, scope)
        case Read():
            return read(term, scope)
        case App(op) if dtype in HALVES and op not in EXACT:
            return f"{scope.use('round_' + dtype)}({operation(term, 'f32', scope, 0)})"
        case App("cast", (inner,)):
            return cast(inner, dtype, scope)
        case App():
            return operation(term, held(dtype), scope, level)
    raise ValueError(f"no value: {term}")


def operation(term: App, dtype: str, scope: Scope, level: int) -> str:
    """One operation, not yet rounded: arithmetic of floats as Python writes it, of integers cast back to their width."""
    op, args = term.op, term.args
    if op == "select":
        condition, then, otherwise = args
        text = f"{value(then, scope, 1)} if {guard(condition, scope, 1)} else {value(otherwise, scope)}"
        return f"({text})" if level else text
    if op in ("min", "max"):
        text = f"{op}({value(args[0], scope)}, {value(args[1], scope)})"
        return text if dtype in FLOATS else f"{scope.use(dtype)}({text})"
    if op == "neg":
        text = f"-{value(args[0], scope, 8)}"
        return f"{scope.use(dtype)}({text})" if dtype in INTEGERS else f"({text})" if level else text
    if op == "ceildiv":
        return f"{scope.use(dtype)}(-(-{value(args[0], scope, 8)} // {value(args[1], scope, 8)}))"
    if op in SYMBOL:
        symbol, rank = SYMBOL[op]
        text = symbol.join((value(args[0], scope, rank), value(args[1], scope, rank + 1)))
        if dtype in INTEGERS:
            return f"{scope.use(dtype)}({text})"
        return f"({text})" if rank < level else text
    return function(op, args[0], dtype, scope, level)


def function(op: str, argument: Term, dtype: str, scope: Scope, level: int) -> str:
    """A function of the language by libdevice's name: `expf` for f32, `exp` for f64."""
    if op == "abs" and dtype in INTEGERS:
        return f"{scope.use(dtype)}(abs({value(argument, scope)}))"
    if op == "sigmoid":
        one, exp = f"{scope.use(dtype)}(1.0)", _named("exp", dtype, scope)
        text = f"{one} / ({one} + {exp}(-{value(argument, scope, 8)}))"
        return f"({text})" if level > SYMBOL["div"][1] else text
    return f"{_named({'abs': 'fabs'}.get(op, op), dtype, scope)}({value(argument, scope)})"


def _named(function: str, dtype: str, scope: Scope) -> str:
    return scope.use(function + "f" if dtype == "f32" else function)


def literal(number: int | float | bool, dtype: str, scope: Scope) -> str:
    """A number of a dtype; those of 16 bits are rounded here.

    >>> literal(0.1, "f16", Scope({}, {})), literal(float("-inf"), "f32", Scope({}, {})), literal(3, "i32", Scope({}, {}))
    ('f32(0.0999755859375)', 'f32(-inf)', 'i32(3)')
    """
    kind = scope.use(held(dtype))
    if dtype not in FLOATS:
        return f"{kind}({int(number)})"
    exact = rounded(float(number), dtype)
    if exact in (float("inf"), float("-inf")):
        return f"{kind}({'-' if exact < 0 else ''}{scope.use('inf')})"
    return f"{kind}({exact!r})"


def rounded(number: float, dtype: str) -> float:
    """A literal rounded once to its dtype, to nearest even; f32 is left to the compiler, which does the same.

    >>> rounded(1 / 3, "bf16"), rounded(70000.0, "f16")
    (0.333984375, inf)
    """
    if dtype == "f16":
        try:
            return float(struct.unpack("e", struct.pack("e", number))[0])
        except OverflowError:
            return float("inf") if number > 0 else float("-inf")
    if dtype != "bf16" or number in (float("inf"), float("-inf")):
        return number
    import math

    _, exponent = math.frexp(number)
    step = 2.0 ** (max(exponent, -125) - 8)
    near = round(number / step) * step
    return near if abs(near) < 2.0**128 else math.copysign(math.inf, near)


def cast(inner: Term, dtype: str, scope: Scope) -> str:
    """A cast to a number: floats round to nearest even, floats become integers towards zero and saturate, integers wrap."""
    source = inner.dtype
    text = value(inner, scope)
    if source == dtype:
        return text
    if dtype in HALVES:
        exact = source in (BOOL, "i8", "u8")
        return f"{scope.use('f32')}({text})" if exact else f"{scope.use('round_' + dtype)}({_to_round(inner, scope)})"
    if source in FLOATS and dtype in ("i8", "u8"):
        low, high = (-128, 127) if dtype == "i8" else (0, 255)
        return f"{scope.use(dtype)}(min(max({scope.use('trunc_i32')}({text}), {low}), {high}))"
    if source in FLOATS and dtype in INTEGERS:
        return f"{scope.use('trunc_' + dtype)}({text})"
    if source in HALVES and dtype == "f32":
        return text
    return f"{scope.use(dtype)}({text})"


def _to_round(inner: Term, scope: Scope) -> str:
    """A number in a type that the conversion takes without rounding it first: f32, f64 or i64."""
    text = value(inner, scope)
    if inner.dtype in (*HALVES, "f32", "f64", "i64"):
        return text
    return f"{scope.use('i64')}({text})"


def to_store(term: Term, dtype: str, scope: Scope) -> str:
    """A value as memory has it: the bits of a 16-bit float (rounded once), a byte for a truth value."""
    if dtype == BOOL:
        return f"{scope.use('u8')}({guard(term, scope)})"
    if dtype not in HALVES:
        return value(term, scope)
    bits = scope.use(dtype + "_bits")
    match term:
        case Read() if term.tensor not in scope.locals:
            return place(term.tensor, term.index, scope)
        case App("cast", (inner,)) if inner.dtype not in (BOOL, "i8", "u8"):
            return f"{bits}({_to_round(inner, scope)})"
        case App(op) if op not in EXACT:
            return f"{bits}({operation(term, 'f32', scope, 0)})"
    return f"{bits}({value(term, scope)})"
