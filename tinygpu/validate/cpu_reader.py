"""Expressions of a CPU kernel's text: what numba's types are where helpers are functions of Python, and indices int64.

    x[at(i * K + k)]  ↦  x[i·K + k]        np.float32(0.5)  ↦  0.5 : f32        round_f16(a + b)  ↦  round_f16(a + b : f32)

Comes in: an expression, and what is known where it stands. Goes out: its term. The one idea: it is the reading of CUDA's text under other
names; what is other is listed here: elements lie at `at(…)`, a function takes only what it is for, and an index is what stands where one is needed.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from functools import reduce

from tinygpu.category.dtype import INTEGERS, MEMORY, NATIVE, NUMPY, PACKED, ROUNDED, UNSIGNED
from tinygpu.category.operation import COUNTS, FUNCTION
from tinygpu.category.term import INDEX, App, Const, Term, apply, equal, select
from tinygpu.record import dataclass
from tinygpu.runtime import offered
from tinygpu.validate.cast import converted
from tinygpu.validate.expression import Reader
from tinygpu.validate.same import canonical
from tinygpu.validate.typed import FLOATS, OPERATORS, SIGNED_INDEX, Atom, Pointer, Thing, Value, unread

NUMBERS = {text.removeprefix("np."): name for name, text in NUMPY.items() if name in NATIVE}
ATTRIBUTES: Mapping[str, Atom] = {  # of numpy
    **{name: Atom("type", kind) for name, kind in NUMBERS.items()},
    **{
        row.cpu.removeprefix("np."): Atom("function", row.name, kinds=FLOATS)
        for row in FUNCTION.values()
        if row.cpu.startswith("np.")
    },
    "inf": Atom("inf"),
}
PRELUDE: Mapping[str, Thing] = {
    "np": Atom("np"),
    "quotient": Atom("division", "floordiv"),
    "remainder": Atom("division", "mod"),
    "larger": Atom("extreme", "max"),
    "smaller": Atom("extreme", "min"),
    **{
        name: Atom("of Python", name)
        for name in ("range", "at", "first", "last", *(n for n in offered() if n.lower().startswith("lanes_")))
    },
    **{
        f"{row.name}_{kind}": Atom("function", row.name, kinds=(kind,))
        for row in FUNCTION.values()
        if not row.cpu
        for kind in FLOATS
    },
    **{name: Atom("function", name, kinds=UNSIGNED) for name in COUNTS},
    **{f"to_{kind}": Atom("conversion", f"trunc_{kind}") for kind in INTEGERS},
    **{f"{half}_to_f32": Atom("conversion", f"{half}_value") for half in PACKED},
    **{f"f32_to_{half}": Atom("conversion", f"{half}_bits") for half in PACKED},
    **{f"round_{half}": Atom("conversion", f"round_{half}") for half in ROUNDED},
}


@dataclass(slots=True)
class CpuReader(Reader):
    """`shown` are index terms that the proof of the program has shown to fit; `thread` is the number of the thread at hand in its block."""

    shown: Collection[Term] = ()
    thread: Term = Const(0)

    def thing(self, node: ast.AST) -> Thing:
        """What a name is, or an attribute of numpy."""
        match node:
            case ast.Attribute(value=ast.Name("np"), attr=name) if name in ATTRIBUTES:
                return ATTRIBUTES[name]
        return Reader.thing(self, node)

    def fits(self, term: Term, kind: str) -> bool:
        """Indices have 64 bits."""
        if kind == "ix":
            return canonical(term) in self.shown or self.width.fits(term, "cpu", self.here)
        return self.here.holds(term >= (1 if kind == "positive" else 0))

    def value(self, node: ast.expr) -> Value:
        """An expression as a number; an index that was computed is one."""
        match node:
            case ast.Subscript(value=ast.Tuple(elts=items), slice=place):
                return self._table(node, [self.value(i) for i in items], self.index(place))
            case ast.Call(func=ast.Name(id="min" | "max")):
                return Value(self.index(node), "ix")
        found = Reader.value(self, node)
        return Value(found.term, "ix") if found.kind == "raw ix" else found

    def index(self, node: ast.expr) -> Term:
        """An expression that is an index: parts of it are, and what `np.int64` makes one."""
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name("np"), attr="int64"), args=[inner], keywords=[]):
                value = self.value(inner)
                if value.kind not in (*SIGNED_INDEX, *INTEGERS):
                    raise unread(node, f"an index that is {value.kind}")
                term = value.term if value.term.dtype == INDEX else App("cast", (value.term,), INDEX)
                if value.kind == "u64":
                    self.needs(node, term, "ix")
                return term
            case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
                return self._integer(node, OPERATORS[type(op)], self.index(left), self.index(right), "ix").term
            case ast.Call(func=ast.Name(id="min" | "max" as extreme), args=[first, *rest], keywords=[]) if (
                extreme not in self.names
            ):
                return reduce(lambda a, b: apply(str(extreme), a, self.index(b)), rest, self.index(first))
            case ast.Call(func=ast.Name() as called, args=[number, divisor], keywords=[]):
                match self.thing(called):
                    case Atom("division", division):
                        return self._division(node, division, self.index(number), self.index(divisor)).term
        value = self.value(node)
        if value.kind not in SIGNED_INDEX:
            raise unread(node, f"{ast.unparse(node)} is no index")
        return value.term

    def sides(self, left: ast.expr, right: ast.expr) -> tuple[Value, Value]:
        """Two operands: beside an index `np.int64(…)` makes an index."""
        a, b = self.value(left), self.value(right)
        if a.kind == "i64" and b.kind in SIGNED_INDEX and isinstance(left, ast.Call):
            a = Value(self.index(left), "ix")
        if b.kind == "i64" and a.kind in SIGNED_INDEX and isinstance(right, ast.Call):
            b = Value(self.index(right), "ix")
        return a, b

    def element(self, node: ast.Subscript, base: Thing, place: ast.expr) -> Value:
        """`array[at(number)]`: an element of an array, or what a condition was for this thread."""
        match base, place:
            case Pointer(), _:
                return Reader.element(self, node, base, place)
            case Value(kind="bool"), ast.Call(func=ast.Name(id="at"), args=[number], keywords=[]):
                if self.here.same(self.index(number), self.thread):
                    return base
        raise unread(node, f"{ast.unparse(node)} is no element of an array")

    def place(self, node: ast.expr, memory: Pointer) -> tuple[Term, ...]:
        """`at(number)`; of a strided array, whose strides numba knows, `at(index)` for each axis."""
        parts = node.elts if isinstance(node, ast.Tuple) and memory.axes > 1 else [node]
        numbers = [
            p.args[0]
            for p in parts
            if isinstance(p, ast.Call) and ast.unparse(p.func) == "at" and len(p.args) == 1 and not p.keywords
        ]
        if len(numbers) != (memory.axes or 1) or len(parts) != len(numbers):
            raise unread(node, f"{ast.unparse(node)} is no place in an array")
        return tuple(map(self.index, numbers))

    def _table(self, node: ast.expr, entries: list[Value], place: Term) -> Value:
        """One of several numbers, by its place."""
        if len({e.kind for e in entries}) != 1:
            raise unread(node, "a table of several types")
        term = entries[-1].term
        for number, entry in reversed(list(enumerate(entries[:-1]))):
            term = select(equal(place, number), entry.term, term)
        return Value(term, entries[0].kind)

    def _integer(self, node: ast.BinOp, op: str, a: Term, b: Term, kind: str) -> Value:
        """Arithmetic of indices; a division by 1 or more rounds down."""
        if op in ("floordiv", "mod"):
            self.needs(node, b, "positive")
            return Value(apply(op, a, b), kind)
        return Value(Reader._integer(self, node, op, a, b, kind).term, kind)

    def _call(self, node: ast.Call, function: ast.expr, arguments: list[ast.expr]) -> Value:
        """A call of a helper, of what it is for: numba compiles it for any other number too."""
        match self.names.get(function.id, function) if isinstance(function, ast.Name) else self.thing(function), arguments:
            case Atom("extreme", op), [left, right]:
                a, b = self.value(left), self.value(right)
                if a.kind == b.kind and a.kind in (*INTEGERS, *FLOATS):
                    return Value(App(op, (a.term, b.term), a.kind), a.kind)
            case Atom("division", op), [left, right]:
                a, b = self.value(left), self.value(right)
                if a.kind == b.kind and a.kind in INTEGERS:
                    return Value(App(op, (a.term, b.term), a.kind), f"raw {a.kind}")
                return Value(self.index(node), "ix")
            case Atom("conversion", name), [argument]:
                return self._converted(node, name, argument)
            case _:
                return Reader._call(self, node, function, arguments)
        raise unread(node, f"{ast.unparse(node)} is no call that kernels make")

    def _converted(self, node: ast.Call, name: str, argument: ast.expr) -> Value:
        """To 16 bits it rounds once, also what is wider; from floats to integers it cuts off and saturates."""
        way, _, kind = name.partition("_")
        match argument:
            case ast.Call(func=ast.Name(id="narrow_to_odd"), args=[ast.Call(func=wide, args=[number])]) if way == "round":
                value, made, known = self.value(number), "f32", ast.unparse(wide) == "np.float64"
                known = known and value.kind in (*FLOATS, *INTEGERS, *SIGNED_INDEX)
            case ast.Call(func=wide, args=[number]) if way == "trunc":
                value, made, known = self.value(number), kind, ast.unparse(wide) == "np.float64"
                known = known and value.kind in FLOATS
            case _:
                value = self.value(argument)
                if way != "trunc" and value.kind == (MEMORY[way] if kind == "value" else "f32"):
                    return converted(node, name, value)
                known = False
        if not known:
            raise unread(node, f"{ast.unparse(node)} converts {value.kind}")
        return Value(App(name, (value.term,), made), made)
