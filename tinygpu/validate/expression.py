"""Expressions of a kernel's text, read as terms of the machine.

    ix(ix(g*256) + t)  ↦  g·256 + t : index        f32(0.0)  ↦  0 : f32        x[ix(i*K)]  ↦  x[i·K]

Comes in: an expression, what its names are, and what is known where it stands. Goes out: its term and its type in numba.
The one idea: what numba does with types is written out here, form by form: any other form is refused, and every integer that is computed
is shown to fit its type, so a term of mathematics can stand for it.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Collection, Mapping
from functools import partial

from tinygpu.category.dtype import INTEGERS
from tinygpu.category.term import BOOL, INDEX, App, Const, Read, Term, apply, text
from tinygpu.record import dataclass, field, replace
from tinygpu.validate.cast import as_index, as_kind, beside, converted, extreme, paced
from tinygpu.validate.rows import Rows, rows_of
from tinygpu.validate.same import Here
from tinygpu.validate.typed import (
    FLOATS,
    OPERATORS,
    SIGNED_INDEX,
    WORD_INDEX,
    Atom,
    Cells,
    Differs,
    Loaded,
    Number,
    Pointer,
    Stale,
    Thing,
    Value,
    unread,
)
from tinygpu.validate.width import NAMED, Unasked, Width

WRAPS = ("add", "sub", "mul")  # modulo 2⁶⁴ these are the same of signed and of unsigned numbers
RESULT = {SIGNED_INDEX: "ix", WORD_INDEX: "u32"}


@dataclass(slots=True)
class Reader:
    """What the names of a place are. `digit` knows what a division of the flat number of a block or thread gives, and `flat` are these
    numbers: there are less than 2³¹ of each. What is accessed here is `within` its array, as is proved."""

    names: Mapping[str, Thing]
    here: Here
    width: Width
    digit: Callable[[ast.AST, str, Term, Term], Term | None] = lambda node, op, a, b: None
    flat: Collection[Term] = ()
    lazy: int = 0  # inside of how many operands that Python may leave out
    shuffles: list[ast.Call] = field(default_factory=list)
    within: Rows | None = None
    quick: bool = False  # whether the solver is not asked

    def thing(self, node: ast.AST) -> Thing:
        """What a name, or an attribute of `cuda`, is."""
        match node:
            case ast.Name(id=name):
                found = self.names.get(name)
                if found is None:
                    raise unread(node, f"{name} is no name of this kernel")
                if isinstance(found, Stale):
                    raise Differs(node, f"{name} is used here, but {found.why}")
                return found
            case ast.Attribute(value=ast.Attribute(value=ast.Name() as base, attr=register), attr="x"):
                if self.thing(base) == Atom("cuda") and register in ("blockIdx", "threadIdx"):
                    return self.names[register]
        raise unread(node, f"{ast.unparse(node)} is not read here")

    def value(self, node: ast.expr) -> Value:
        """An expression as a number."""
        match node:
            case ast.Constant(value=bool(value)):
                return Value(Const(value, BOOL), "bool")
            case ast.Constant(value=int(value)):
                return Value(Const(value), "lit")
            case ast.Constant(value=float(value)):
                return Value(Const(value, "f64"), "float lit")
            case ast.Name() | ast.Attribute():
                return self._named(node)
            case ast.UnaryOp(op=op, operand=operand):
                return self._unary(node, op, self.value(operand))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
                return self._binary(node, OPERATORS[type(op)], *self.sides(left, right))
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in OPERATORS:
                return self._compare(node, OPERATORS[type(op)], *self.sides(left, right))
            case ast.BoolOp(op=op, values=[first, *others]):
                parts, here, both = [self.guard(first)], self.here, isinstance(op, ast.And)
                self.lazy += 1
                for other in others:  # asked only where those before it do not decide
                    self.here = self.here.under(parts[-1] if both else App("not", (parts[-1],), BOOL))
                    parts.append(self.guard(other))
                self.here, self.lazy = here, self.lazy - 1
                return Value(App("and" if both else "or", tuple(parts), BOOL), "bool")
            case ast.IfExp(test=test, body=body, orelse=other):
                return self._choice(node, self.guard(test), body, other)
            case ast.Subscript(value=ast.Name() as base, slice=place):
                return self.element(node, self.thing(base), place)
            case ast.Call(func=function, args=arguments, keywords=[]):
                return self._call(node, function, arguments)
        raise unread(node, f"{ast.unparse(node)} is no expression of a kernel")

    def guard(self, node: ast.expr) -> Term:
        """An expression as a truth value."""
        value = self.value(node)
        if value.kind != "bool":
            raise unread(node, f"{ast.unparse(node)} is no truth value")
        return value.term

    def index(self, node: ast.expr) -> Term:
        """An expression as an index: of that type, or a number."""
        value = self.value(node)
        if value.kind not in ("ix", "lit"):
            raise unread(node, f"{ast.unparse(node)} is no index of the kernel's type")
        return value.term

    def number(self, node: ast.expr, kind: str) -> Term:
        """An expression as a value of that type."""
        return as_kind(node, self.value(node), kind)

    def sides(self, left: ast.expr, right: ast.expr) -> tuple[Value, Value]:
        """Two operands."""
        return self.value(left), self.value(right)

    def fits(self, term: Term, kind: str) -> bool:
        """Whether an integer is seen, or proved, to fit."""
        shown = partial(self.width.fits, quick=self.quick)
        return shown(term, kind, self.here) if self.within is None else self.within.fits(term, kind, self.here, shown)

    def needs(self, node: ast.AST, term: Term, kind: str) -> None:
        """That an integer fits, or the error."""
        if not self.fits(term, kind):
            says = f"{text(term)} is computed here, and may not be {NAMED[kind]}"
            raise Differs(node, says, "every integer of a kernel fits its type", open_=True)

    def element(self, node: ast.Subscript, base: Thing, place: ast.expr) -> Value:
        """A cell of memory or of the thread."""
        match base:
            case Pointer(array, item):
                return Value(Read(array, self.place(place, base), item), item)
            case Cells(array, item, shape) if array:
                index = place.elts if isinstance(place, ast.Tuple) else [place]
                if len(index) != len(shape):
                    raise unread(node, f"{ast.unparse(node)} has {len(index)} indices, of {len(shape)}")
                return Value(Read(array, tuple(map(self.index, index)), item), item)
            case Loaded(pointer, offset, count):
                at = self.index(place)
                if not self.here.holds(App("and", (at >= 0, at < count), BOOL)):
                    raise Differs(node, f"{ast.unparse(node)} may be outside of the {count} elements that were loaded")
                return Value(Read(pointer.array, (offset + at,), pointer.item), pointer.item)
        raise Differs(node, f"{ast.unparse(node)} is read here, and holds nothing that the program says")

    def place(self, node: ast.expr, memory: Pointer) -> tuple[Term, ...]:
        """Where an element lies: at an offset; of a strided array at an index for each axis."""
        if memory.axes:
            return tuple(map(self.index, paced(node, memory, self.thing)))
        read, around = replace(self, width=Unasked(())).index, (self.quick, self.within)
        self.quick, self.within = True, rows_of(node, memory.extents, self.here, self.width, read)
        try:
            return (self.index(node),)
        except Differs as error:
            if around[0] or not error.open_:
                raise
            self.quick = False  # what is not seen by the form of the place is asked
            return (self.index(node),)
        finally:
            self.quick, self.within = around

    def _named(self, node: ast.Name | ast.Attribute) -> Value:
        match self.thing(node):
            case Value() as value:
                return value
            case Number(array, item):
                return Value(Read(array, (), item), item)
            case Atom("inf"):
                return Value(Const(math.inf, "f64"), "float lit")
        raise unread(node, f"{ast.unparse(node)} is no number")

    def _unary(self, node: ast.UnaryOp, op: ast.unaryop, value: Value) -> Value:
        term, kind = value.term, value.kind
        if isinstance(op, ast.Not) and kind == "bool":
            return Value(App("not", (term,), BOOL), "bool")
        if isinstance(op, ast.USub):
            if isinstance(term, Const) and kind in ("lit", "float lit") and term.value != 0:
                return Value(Const(-term.value, term.dtype), kind)
            if kind in SIGNED_INDEX:
                self.needs(node, App("neg", (term,)), "ix")
                return Value(App("neg", (term,)), "raw ix")
            if kind in FLOATS:
                return Value(App("neg", (term,), kind), kind)
            if kind in INTEGERS:
                return Value(App("neg", (term,), kind), f"raw {kind}")
        raise unread(node, f"{ast.unparse(node)} is no expression of a kernel")

    def _binary(self, node: ast.BinOp, op: str, a: Value, b: Value) -> Value:
        a, b = beside(a, b), beside(b, a)
        for kinds, kind in RESULT.items():
            if a.kind in kinds and b.kind in kinds and a.term.dtype == b.term.dtype == INDEX:
                return self._integer(node, op, a.term, b.term, kind)
        if a.kind == b.kind and a.kind in FLOATS and op in ("add", "sub", "mul", "div"):
            return Value(App(op, (a.term, b.term), a.kind), a.kind)
        if a.kind == b.kind == "i64" and op in WRAPS:
            raise Differs(node, f"{ast.unparse(node)} is undefined where it does not fit 64 bits", "i64 wraps: u64 is unsigned")
        if a.kind == b.kind and a.kind in INTEGERS and op != "div":
            return Value(App(op, (a.term, b.term), a.kind), f"raw {a.kind}")
        raise unread(node, f"{ast.unparse(node)} mixes {a.kind} and {b.kind}")

    def _integer(self, node: ast.BinOp, op: str, a: Term, b: Term, kind: str) -> Value:
        """Arithmetic of indices: the result fits, so do the operands of an exclusive or."""
        if op in ("floordiv", "mod"):
            raise unread(node, f"{ast.unparse(node)} divides numbers that may be negative, by what may be 0")
        if op == "xor":
            self.needs(node, a, "natural")
            self.needs(node, b, "natural")
        elif op not in WRAPS:
            raise unread(node, f"{ast.unparse(node)} is no index")
        term = apply(op, a, b)
        self.needs(node, term, kind)
        return Value(term, f"raw {kind}")

    def _division(self, node: ast.Call, op: str, a: Term, b: Term) -> Value:
        """A division of indices, which is one of unsigned numbers; the result is between 0 and what is divided, or the divisor."""
        digit = self.digit(node, op, a, b)
        if digit is not None:
            return Value(digit, "ix")
        self.needs(node.args[0], a, "natural")
        self.needs(node.args[1], b, "positive")
        return Value(apply(op, a, b), "ix")

    def _compare(self, node: ast.Compare, op: str, a: Value, b: Value) -> Value:
        a, b = beside(a, b), beside(b, a)
        indices = any(a.kind in kinds and b.kind in kinds for kinds in RESULT)
        if not indices:
            if a.kind == "lit" and b.kind in (*INTEGERS, "u16"):
                a = Value(Const(a.term.value, b.kind), b.kind)  # type: ignore[union-attr]
            if b.kind == "lit" and a.kind in (*INTEGERS, "u16"):
                b = Value(Const(b.term.value, a.kind), a.kind)  # type: ignore[union-attr]
        kinds = (*INTEGERS, *FLOATS, *(("bool",) if op in ("eq", "ne") else ()))
        if a.term.dtype != b.term.dtype or not (indices or (a.kind == b.kind and a.kind in kinds)):
            raise unread(node, f"{ast.unparse(node)} compares {a.kind} and {b.kind}")
        return Value(App(op, (a.term, b.term), BOOL), "bool")

    def _choice(self, node: ast.IfExp, test: Term, body: ast.expr, other: ast.expr) -> Value:
        self.lazy += 1
        here, sides = self.here, list[Value]()
        for part, guard in ((body, test), (other, App("not", (test,), BOOL))):
            self.here = here.under(guard)
            sides.append(self.value(part))
        self.here = here
        self.lazy -= 1
        a, b = beside(sides[0], sides[1]), beside(sides[1], sides[0])
        kind = "raw ix" if {a.kind, b.kind} <= set(SIGNED_INDEX) else a.kind
        if a.term.dtype != b.term.dtype or (kind != "raw ix" and a.kind != b.kind):
            raise unread(node, f"{ast.unparse(node)} chooses between {a.kind} and {b.kind}")
        return Value(App("select", (test, a.term, b.term), a.term.dtype), kind)

    def _call(self, node: ast.Call, function: ast.expr, arguments: list[ast.expr]) -> Value:
        if isinstance(function, ast.Name) and function.id in ("min", "max", "abs") and function.id not in self.names:
            return extreme(node, function.id, [self.value(a) for a in arguments])
        found = self.thing(function)
        match found, arguments:
            case Atom("type", kind), [argument]:
                return self._cast(node, kind, self.value(argument))
            case Atom("division", op), [number, divisor]:
                return self._division(node, op, self.index(number), self.index(divisor))
            case Atom("function", op, kinds=kinds), [argument]:
                value = self.value(argument)
                if value.kind in kinds:
                    return Value(App(op, (value.term,), value.kind), value.kind)
            case Atom("conversion", name), [argument]:
                return converted(node, name, self.value(argument))
            case Atom("uniform"), [given] if self.digit(node, "uniform", (value := self.value(given)).term, Const(32)) is not None:
                return value
            case Atom("shuffle", name), [given, lanes]:
                if self.lazy:
                    raise Differs(node, "some lanes may leave this shuffle out", "all lanes of the warp take part in a shuffle")
                self.shuffles.append(node)
                value, by = self.value(given), self.index(lanes)
                way, _, free = name.partition("_")
                if way in ("up", "down") and not free:
                    self.needs(lanes, by, "lane")
                if value.kind not in (*INTEGERS, *FLOATS):
                    raise unread(node, f"a shuffle of {value.kind}")
                return Value(App(f"shuffle_{way}", (value.term, by), value.kind), value.kind)
        raise unread(node, f"{ast.unparse(node)} is no expression of a kernel")

    def _cast(self, node: ast.Call, kind: str, value: Value) -> Value:
        """A call of a type: of an index, to an index, or of one number to another."""
        if kind == "ix":
            term, whole = as_index(node, value)
            if not whole and term not in self.flat:
                self.needs(node, term, "ix")
            return Value(term, kind)
        return Value(as_kind(node, value, kind), kind)
