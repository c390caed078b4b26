"""`check_data=True`: what a launcher looks at in its data before it launches, proved to be what its op promises.

    checked(point)  ⇔  promised(point)      at every point of the axes, which are the same; every promise once, and nothing else

Comes in: the branch of a launcher that checks, and the promises of its program. Goes out: nothing, or a difference at its line.
The one idea: helpers evaluate a condition at all points below extents, and their text is compared elsewhere; so a condition and its extents
are all that is to be read.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

from tinygpu.category.box import box_facts
from tinygpu.category.term import Axis, Term, Var, substitute, text
from tinygpu.obligations.obligation import Obligation
from tinygpu.program.step import Program
from tinygpu.proof.kernel import Open, discharge
from tinygpu.record import dataclass
from tinygpu.validate.numpy_text import Numpy
from tinygpu.validate.promised import Every, every, looks, promises
from tinygpu.validate.seen import Reading
from tinygpu.validate.typed import Differs, unread

BUDGET = 4_000_000


@dataclass(frozen=True, slots=True)
class Check:
    """One call of the helper: what it evaluates, and at which points."""

    node: ast.AST
    claim: Every


def checks_data(reading: Reading, facts: tuple[Term, ...], spelled: Mapping[str, str]) -> None:
    """That every call checks what is promised of scalars, and `if check_data:` the rest. `spelled` are the op's names of sizes. Raises
    Differs."""
    program, function = reading.program, reading.function
    wanted = [one for promise in promises(program) for one in every(promise, program.op)]
    found = {way: [s for s in function.body if looks(s) == way] for way in ("always", "asked")}
    if max(map(len, found.values())) > 1 or (wanted and "check_data" not in {a.arg for a in function.args.kwonlyargs}):
        raise Differs(function, "does not check its data when it is asked to", "it checks all that is promised, once")
    left: list[Every] = []
    for way, branches in found.items():
        owed = left + [one for one in wanted if one.of_scalars == (way == "always")]
        left = _checked(reading, branches[0], owed, facts, spelled) if branches else owed
        if way == "asked" and left:
            raise Differs(
                branches[0] if branches else function, f"does not check {text(left[0].holds)}", "it checks all that is promised"
            )


def _checked(
    reading: Reading, branch: ast.stmt, owed: list[Every], facts: tuple[Term, ...], spelled: Mapping[str, str]
) -> list[Every]:
    """What of the promises a branch leaves unchecked; nothing where it says that it cannot. Raises Differs where it checks anything else."""
    assert isinstance(branch, ast.If)
    at = reading.function.body.index(branch)
    if any(isinstance(n, ast.Return) for s in reading.function.body[:at] if not looks(s) for n in ast.walk(s)):
        raise Differs(branch, "checks its data behind a return", "it does so wherever it is asked to")
    match branch.body:
        case [ast.Expr(ast.Call(ast.Name("_unchecked")))] if owed and looks(branch) == "asked":
            return []  # it does nothing else
        case [ast.Assign([ast.Name("_held")], ast.Dict() as held), *rest]:
            data = _held(reading, held)
        case _:
            raise unread(branch, "no check of data")
    left = list(owed)
    for check in _checks(rest, reading.program, data, _sizes(reading, spelled), facts):
        found = next((one for one in left if _same(one, check.claim, facts) is None), None)
        if found is None:
            nearest = next((one for one in left if _aligned(one, check.claim, facts) is not None), None)
            reason = _same(nearest, check.claim, facts) if nearest is not None else None
            says = f"checks {text(check.claim.holds)} below {', '.join(text(a.extent) for a in check.claim.axes)}"
            more = f"promised is {text(nearest.holds)}" if nearest is not None else "that is not promised"
            raise Differs(check.node, says, more, open_=reason is not None and reason.model is None)
        left.remove(found)
    return left


def _held(reading: Reading, held: ast.Dict) -> set[str]:
    """The inputs that are looked at, each the one of its name and dtype."""
    names: set[str] = set()
    for key, value in zip(held.keys, held.values, strict=True):
        match key, value:
            case (
                ast.Constant(str(name)),
                ast.Call(
                    ast.Name("_data"),
                    [ast.Constant(), ast.Constant(str(said)), ast.Name(view), ast.Constant(str(dtype)), ast.Name("stream")],
                    [],
                ),
            ):
                tensor = reading.tensors.get(view)
                if tensor is None or (tensor.name, tensor.dtype, tensor.role) != (name, dtype, "input") or said != name:
                    raise Differs(value, f"looks at {view} as {name} of {dtype}", "an input is looked at as what it is")
                names.add(name)
            case _:
                raise unread(value, "no input of a check of data")
    return names


def _sizes(reading: Reading, spelled: Mapping[str, str]) -> Callable[[ast.expr], Term]:
    """Numbers of the launcher, in the op's own names."""
    names: dict[str, Term] = {name: Var(size) for name, size in spelled.items()}

    def size(node: ast.expr) -> Term:
        return substitute(reading.whole.number(node), names)

    return size


def _checks(
    body: list[ast.stmt], program: Program, data: set[str], size: Callable[[ast.expr], Term], facts: tuple[Term, ...]
) -> list[Check]:
    """The checks of a branch: a function of a point and of inputs, and the call that evaluates it at every point."""
    out: list[Check] = []
    if len(body) % 2:
        raise unread(body[-1], "a check of data without its call")
    for made, call in zip(body[::2], body[1::2], strict=True):
        match made, call:
            case (
                ast.FunctionDef("_holds", arguments, [ast.Return(ast.expr() as value)], []),
                ast.Expr(
                    ast.Call(
                        ast.Name("_promised"),
                        [
                            ast.Constant(),
                            ast.Constant(),
                            ast.Name("_holds"),
                            ast.Tuple(extents),
                            ast.Tuple(given),
                            ast.Name("_sizes") | ast.Dict(),
                        ],
                        [],
                    )
                ),
            ):
                names = [a.arg for a in arguments.args]
                plain = ast.arguments([], [ast.arg(n) for n in names], None, [], [], None, [])
                bare = ast.arguments([], [ast.arg(a.arg) for a in arguments.args], arguments.vararg, arguments.kwonlyargs,
                                     arguments.kw_defaults, arguments.kwarg, arguments.defaults)  # fmt: skip
                inputs = [_input(g, data) for g in given]
                if ast.dump(plain) != ast.dump(bare) or len(set(names)) < len(names) or len(names) != len(extents) + len(inputs):
                    raise unread(made, "a check of data that takes something else than a point and inputs")
                axes = tuple(Axis(f"{n} checked", size(e)) for n, e in zip(names, extents, strict=False))
                tensors = {n: program.op.tensor(i) for n, i in zip(names[len(extents) :], inputs, strict=True)}
                known = (*facts, *box_facts(axes))
                binders = {n: Var(a.name) for n, a in zip(names, axes, strict=False)}
                hidden = set(names)

                def number(node: ast.expr, hidden: set[str] = hidden) -> Term:
                    if any(isinstance(n, ast.Name) and n.id in hidden for n in ast.walk(node)):
                        raise unread(node, f"{ast.unparse(node)} is no number of a check of data")
                    return size(node)

                def inside(index: Term, extent: Term, known: tuple[Term, ...] = known) -> bool:
                    return _proved(known, index >= 0) is None and _proved(known, index < extent) is None

                out.append(Check(value, Every(axes, Numpy(binders, tensors, number, inside).condition(value))))
            case _:
                raise unread(made, "no check of data")
    return out


def _input(node: ast.expr, data: set[str]) -> str:
    match node:
        case ast.Subscript(ast.Name("_held"), ast.Constant(str(name))) if name in data:
            return name
    raise unread(node, "an input that is not held")


def _aligned(wanted: Every, found: Every, facts: tuple[Term, ...]) -> Term | None:
    """The condition that is wanted, over the axes of the one that was found; None where these are other axes."""
    if len(wanted.axes) != len(found.axes) or len({a.name for a in wanted.axes}) < len(wanted.axes):
        return None
    names: dict[str, Term] = {a.name: Var(b.name) for a, b in zip(wanted.axes, found.axes, strict=True)}
    for a, b in zip(wanted.axes, found.axes, strict=True):
        if _proved(facts, a.extent <= b.extent) is not None or _proved(facts, b.extent <= a.extent) is not None:
            return None
    return substitute(wanted.holds, names)


def _same(wanted: Every, found: Every, facts: tuple[Term, ...]) -> Open | None:
    """None where both say the same at every point; what could not be proved elsewhere."""
    holds = _aligned(wanted, found, facts)
    known = (*facts, *box_facts(found.axes))
    if holds is None:
        return Open(Obligation("data", "TG822", "", "", known, found.holds), None, "")
    return _proved((*known, found.holds), holds) or _proved((*known, holds), found.holds)


def _proved(known: tuple[Term, ...], goal: Term) -> Open | None:
    """What is open where a goal is not proved."""
    found = discharge(Obligation("data", "TG822", "", "", known, goal), BUDGET)
    return found if isinstance(found, Open) else None
