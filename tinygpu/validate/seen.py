"""What a launcher has looked at so far: the arrays it was given or made, the sizes, and the facts that follow from its checks.

    if x.shape != (n,): _shape_error(…)   ⇒   x.shape[0] = n        from there on

Comes in: statements of a launcher, one kind after the other. Goes out: facts, or an error for a look that is not as it has to be.
The one idea: each way in which an array comes into a launcher gives the same facts: its dtype and rank, its shape, its device, its memory.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from tinygpu.category.term import INTEGERS, Read, Term, Var, conjuncts, equal, text
from tinygpu.model.op import Tensor
from tinygpu.program.step import Program
from tinygpu.record import dataclass, field
from tinygpu.validate.effects import names_in
from tinygpu.validate.same import Here
from tinygpu.validate.typed import Differs, unread
from tinygpu.validate.whole import Whole, extent, refusal

RAISES = ("_shape_error", "_precondition", "_too_large")  # helpers that always raise


@dataclass(slots=True)
class Reading:
    """The launcher's statements so far: views by the tensor they are of, facts, what of arrays was looked at."""

    program: Program
    function: ast.FunctionDef
    tensors: dict[str, Tensor] = field(default_factory=dict)
    facts: list[Term] = field(default_factory=list)
    whole: Whole = field(default_factory=lambda: Whole({}))
    ranks: dict[str, int] = field(default_factory=dict)
    given_sizes: dict[str, str] = field(default_factory=dict)
    made: set[str] = field(default_factory=set)
    apart: set[str] = field(default_factory=set)
    near: set[str] = field(default_factory=set)
    spoiled: set[str] = field(default_factory=set)
    tests: list[tuple[ast.If, tuple[Term, ...]]] = field(default_factory=list)
    narrow: dict[int, tuple[Term, ...]] = field(default_factory=dict)

    # ── arrays ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def view(self, stmt: ast.Assign, name: str, tensor: Tensor, dtype: ast.expr) -> None:
        """A view of an array: of the dtype and rank of its tensor."""
        if ast.dump(dtype) != ast.dump(ast.Constant(tensor.dtype)):
            raise Differs(dtype, f"takes {tensor.name} as {ast.unparse(dtype)}", f"it is {tensor.dtype}")
        self.tensors[name] = tensor
        self.ranks[name] = len(tensor.shape)
        self.whole.ranks = self.ranks
        if tensor.role == "input" and not tensor.shape and tensor.dtype in INTEGERS:
            self.whole.scalars[name] = Read(tensor.name, (), tensor.dtype)
        self.facts += [extent(name, n) >= 0 for n in range(len(tensor.shape))]

    def input(self, stmt: ast.Assign, name: str, call: ast.Call) -> None:
        """`_view(…)` or `_scalar(…)` of a parameter."""
        places = [a.arg for a in self.function.args.args]
        given, dtype = call.args[2], call.args[3]
        if not isinstance(given, ast.Name) or given.id not in places:
            raise unread(stmt, "a view of what is no parameter")
        tensor = self.program.op.inputs[places.index(given.id)]
        self.view(stmt, name, tensor, dtype)
        if len(call.args) == 6 and ast.dump(call.args[5]) != ast.dump(ast.Constant(len(tensor.shape))):
            raise Differs(call.args[5], f"takes {tensor.name} with {ast.unparse(call.args[5])} axes", f"it has {len(tensor.shape)}")

    def arrays(self, stmt: ast.If, keyword: str, tensors: Sequence[Tensor]) -> None:
        """`if out is None: made, else: looked at`."""
        made = [self._made(s, t) for s, t in zip(stmt.body, tensors, strict=False)]
        if len(stmt.body) != len(tensors):
            raise unread(stmt, f"{keyword} has {len(tensors)} arrays")
        shapes = {name: list(facts) for name, facts in made}
        names = [name for name, _ in made]
        before = len(self.facts)
        self._looked(stmt.orelse, keyword, names, tensors)
        seen = tuple(self.facts[before:])
        for name, facts in shapes.items():
            for fact in facts:
                if not Here((), (), (*self.facts,)).holds(fact):
                    raise Differs(stmt, f"the shape of {name} in {keyword} is not compared", f"it is {text(fact)}")
        self.facts[before:] = list(seen) + [f for facts in shapes.values() for f in facts]
        self.made |= set(names)

    def _made(self, stmt: ast.stmt, tensor: Tensor) -> tuple[str, list[Term]]:
        match stmt:
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id="_allocate"), args=[_, _, like, dtype, shape, stream])
            ) if ast.unparse(like) in {"_first", *self.tensors} and ast.unparse(stream) == "stream":
                self.view(stmt, name, tensor, dtype)
                return name, [equal(extent(name, n), e) for n, e in enumerate(self.whole.shape(name, shape))]
        raise unread(stmt, "an array is made by _allocate, of its shape, on the stream")

    def _looked(self, body: Sequence[ast.stmt], keyword: str, names: list[str], tensors: Sequence[Tensor]) -> None:
        """Arrays that were given: taken apart, looked at one by one, on one device, and sharing no memory."""
        taken: list[str] = []
        looked: set[str] = set()
        near: set[str] = set()
        for stmt in body:
            match stmt:
                case ast.Assign(
                    targets=[ast.Tuple(elts=elts)], value=ast.Call(func=ast.Name(id="_given"), args=[_, given, count, *_])
                ):
                    taken = [e.id for e in elts if isinstance(e, ast.Name)]
                    if ast.unparse(given) != keyword or ast.unparse(count) != str(len(names)):
                        raise Differs(
                            stmt, f"takes {ast.unparse(count)} arrays of {ast.unparse(given)}", f"{keyword} has {len(names)}"
                        )
                case ast.Assign(
                    targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id="_writable"), args=[_, _, of, dtype, _, rank])
                ):
                    tensor = tensors[names.index(name)] if name in names else None
                    if tensor is None or ast.unparse(of) != name or name in looked or name not in taken:
                        raise unread(stmt, "an array that was given is looked at under its own name")
                    if ast.unparse(dtype) != repr(tensor.dtype) or ast.unparse(rank) != str(len(tensor.shape)):
                        raise Differs(
                            stmt, f"takes {name} as {ast.unparse(dtype)} of rank {ast.unparse(rank)}", f"it is {tensor.dtype}"
                        )
                    looked.add(name)
                case ast.If():
                    self.check(stmt)
                case ast.Expr(value=ast.Call(func=ast.Name(id="_same_device"), args=[_, views])):
                    if any(isinstance(n, ast.operator) and not isinstance(n, ast.Add) for n in ast.walk(views)):
                        raise unread(views, "arrays are put together with +")
                    near |= names_in(views)
                case ast.Expr(value=ast.Call(func=ast.Name(id="_distinct"), args=[_, mine, others])):
                    missing = self.memory() - names_in(others) - set(names)
                    if names_in(mine) != set(names) or missing:
                        raise Differs(stmt, f"{keyword} may share memory with another array", "outputs have memory of their own")
                    self.apart |= set(names)
                case _:
                    raise unread(stmt, f"{ast.unparse(stmt).splitlines()[0]} is no look at an array")
        at = body[0] if body else self.function
        if taken != names or looked != set(names):
            raise Differs(at, f"{', '.join(sorted(set(names) - looked)) or keyword} is not looked at", f"all of {keyword} is")
        if not set(names) <= self.apart:
            raise Differs(at, f"{keyword} may share memory", "_distinct compares it with all other arrays")
        if not self.memory() - set(names) <= near or not set(names) <= near:
            raise Differs(at, f"{keyword} may be on another device", "_same_device compares it with all other arrays")

    def memory(self) -> set[str]:
        """The views that have memory."""
        return {n for n, t in self.tensors.items() if t.shape or t.role != "input"}

    # ── checks ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def check(self, stmt: ast.If) -> None:
        """`if test: raise`."""
        match stmt:
            case ast.If(body=[ast.Expr(value=ast.Call(func=ast.Name(id=name)))], orelse=[]) if name in RAISES:
                known = conjuncts(refusal(self.whole.test(stmt.test)))
                self.facts += known
                if name != "_too_large":
                    self.tests.append((stmt, known))
                return
        raise unread(stmt, f"if {ast.unparse(stmt.test)} is no check")

    def size(self, name: str, value: Term) -> None:
        """A name for a whole number."""
        if name in self.whole.numbers or name in self.tensors:
            raise unread(self.function, f"{name} is given twice")
        self.whole.numbers.add(name)
        self.facts.append(equal(Var(name), value))

    def holds(self, goal: Term, more: tuple[Term, ...] = ()) -> bool:
        return Here((), (), (*self.facts, *more)).holds(goal)
