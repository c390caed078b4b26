"""Other sides: ops that a theorem says are the same, made by rules, with the theorem beside them.

    y[r, j] = a / b[r]   ↦   inverse[r] = 1 / b[r];  y[r, j] = a * inverse[r]          theorem: they are the same

Comes in: an op. Goes out: declarations to stand beside a machine, and the op that it computes then. The one idea: an op that is cheaper is another op, so it has a text, and a theorem that is proved as any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, TypeAlias

from tinygpu.model.elaborate import elaborate
from tinygpu.model.op import Op
from tinygpu.model.served import mirrored, one_of
from tinygpu.model.source import needed
from tinygpu.record import fields, is_dataclass, replace
from tinygpu.syntax import tree
from tinygpu.tune.facts import Names

Beside: TypeAlias = tuple[tree.Declaration, ...]


@lru_cache(64)
def side(op: Op, declarations: Beside, via: str) -> Op:
    """What the theorem that stands beside a machine says is the same as an op."""
    file = tree.File((*needed(op.source), *declarations))
    theorem = next(t for t in elaborate(file).theorems if t.name == via)
    return one_of(theorem if theorem.left.family == op.family else mirrored(theorem), (), file)


def with_inverses(op: Op) -> Beside | None:
    """An op with an inverse for what many elements are divided by, and the theorem; None where there is nothing of that kind."""
    found = next((d for d in op.source if isinstance(d, tree.Op) and d.name == op.family), None)
    if found is None or found.families or found.parts:
        return None
    names, equations = Names(op), list[tree.Equation | tree.View]()
    for equation in found.equations:
        if isinstance(equation, tree.Equation) and len(equation.targets) == 1:
            equations += _inverted(equation, names)
        else:
            equations.append(equation)
    if len(equations) == len(found.equations):
        return None
    name = f"{op.family}_by_inverses"
    said = tree.Theorem(f"{name}_are_the_same", tree.Name(op.family), tree.Name(name))
    return replace(found, name=name, equations=tuple(equations)), said


def _inverted(equation: tree.Equation, names: Names) -> Iterator[tree.Equation]:
    """The inverses of an equation, and the equation with them."""
    (target,) = equation.targets
    own = [i.name for i in target.index if isinstance(i, tree.Name)]
    made: dict[tree.Expr, tree.Cell] = {}

    def turned_over(node: Any) -> Any:
        if isinstance(node, tree.Binary) and node.op == "/":
            mine = tuple(i for i in own if i in _names(node.right))
            if mine and len(mine) < len(own) and any(isinstance(n, tree.Cell) for n in _nodes(node.right)):
                cell = made.setdefault(node.right, tree.Cell(names.new("inverse", ""), tuple(tree.Name(i) for i in mine)))
                return tree.Binary("*", node.left, cell)
        return node

    value = _mapped(equation.value, turned_over)
    yield from (tree.Equation((cell,), tree.Binary("/", tree.Number("1"), divisor)) for divisor, cell in made.items())
    yield replace(equation, value=value)


def _mapped(node: Any, change: Callable[[Any], Any]) -> Any:
    """A tree with each node changed, the inner ones first."""
    if isinstance(node, tuple):
        return tuple(_mapped(one, change) for one in node)
    if not is_dataclass(node):
        return node
    one: Any = node
    return change(replace(one, **{f.name: _mapped(getattr(node, f.name), change) for f in fields(node) if f.compare}))


def _nodes(node: Any) -> Iterator[Any]:
    if isinstance(node, tuple):
        yield from (inner for one in node for inner in _nodes(one))
    elif is_dataclass(node):
        yield node
        yield from (inner for f in fields(node) if f.compare for inner in _nodes(getattr(node, f.name)))


def _names(node: Any) -> set[str]:
    return {n.name for n in _nodes(node) if isinstance(n, tree.Name)}
