"""Reading declarations of arrays: where each kind may stand, and the layout of a shared one.

Comes in: the tree of `local`, `shared` and `workspace`. Goes out: a layout, or a message.
The one idea: a local belongs to a thread, a shared array to a block and so to the whole of a launch, a workspace to the program.
"""

from __future__ import annotations

from collections.abc import Sequence

from tinygpu.category.layout import PLAIN, Layout, fault
from tinygpu.category.term import Const, Term
from tinygpu.diagnostic import Label
from tinygpu.model.problems import UNKNOWN, WRONG, Problems
from tinygpu.model.scope import Scope
from tinygpu.model.value import index
from tinygpu.syntax import tree


def misplaced(statement: tree.Array, depth: int, problems: Problems) -> None:
    """Says where an array is declared that cannot be there. `depth` is 0 in a program, 1 in a launch, and more in its steps."""
    name, span = statement.name, statement.span
    if statement.space == "workspace" and depth:
        fix = "declare it at the top of the program, and write the launches after it: launch (…) { … }"
        problems.add("TG153", f"the workspace {name} is declared in a launch", span, "a workspace outlives its launch", help=fix)
    elif statement.space == "shared" and depth > 1:
        fix = "declare it before the loops and guards: its cells belong to the block for the whole launch"
        problems.add("TG153", f"the shared array {name} is declared inside a step", span, "in a loop or a guard", help=fix)


def laid_out(statement: tree.Array, extents: Sequence[Term], scope: Scope) -> Layout:
    """The layout of an array, plain after a message. `scope` knows numbers and params."""
    place, problems = statement.place, scope.problems
    if statement.order:
        title, fix = "an array is declared with its axes in order", "declare the axes in the order that you want, and index it so"
        problems.add("TG158", title, statement.span, "an order of axes", help=fix)
    if place is None:
        return PLAIN
    if statement.space != "shared":
        fix = "leave it out: a local is registers, a workspace is laid out as its extents say"
        problems.add("TG158", "only a shared array has a layout", place.span, f"{statement.name} is a {statement.space}", help=fix)
        return PLAIN
    numbers = tuple(index(e, scope) for e in place.args)
    if WRONG in numbers or any(e.dtype == UNKNOWN for e in extents):
        return PLAIN
    match place.kind, tuple(int(n.value) for n in numbers if isinstance(n, Const)):
        case "pad", (amount,):
            layout = Layout(pad=amount)
        case "swizzle", (bits, base, shift):
            layout = Layout(swizzle=(bits, base, shift))
        case _:
            fix = "write swizzle(bits, base, shift), such as swizzle(3, 3, 3)"
            problems.add("TG158", "a swizzle takes three numbers", place.span, f"{len(numbers)} given", help=fix)
            return PLAIN
    reason = fault(extents, layout)
    if reason:
        fix = "make the pad 0 or more" if place.kind == "pad" else "take at least 1 bit, and a shift of at least 1"
        title = f"this layout of {statement.name} is not one to one"
        problems.add("TG158", title, place.span, reason, Label(statement.span, f"{statement.name} is declared here"), help=fix)
        return PLAIN
    return layout
