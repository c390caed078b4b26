"""Promises of data as numpy text that a launcher evaluates where it is asked to.

Comes in: a program with its Python names. Goes out: lines for the launcher, and which promises numpy cannot check exactly.
The one idea: numpy compares integers of any dtypes as the numbers they are, and computes with those of a dtype as the kernel does; floats
are only compared, since a rounded result would say nothing about real numbers.
"""

from __future__ import annotations

from collections.abc import Mapping

from tinygpu.category.term import (
    BOOL,
    COMPARISONS,
    FLOATS,
    INDEX,
    INTEGERS,
    App,
    Const,
    Read,
    Term,
    reads,
    text,
    variables,
    walk,
)
from tinygpu.category.to_source import ATOM, Form, Source, called, plain
from tinygpu.emit.data import Checked, Part, of_data, of_scalars, parts, promises
from tinygpu.emit.python import Lines, block, fresh
from tinygpu.emit.sizes import python
from tinygpu.emit.spelled import TAKEN, Spelled, quoted

NUMPY: Mapping[str, str] = {"f64": "float64", "bool": "bool_", INDEX: "int64"} | {
    f"{sign}{bits}": f"{word}{bits}" for sign, word in (("i", "int"), ("u", "uint")) for bits in (8, 32, 64)
}
FUNCTIONS: Mapping[str, Form] = {
    "select": ("np.where({0}, {1}, {2})", ATOM, (0, 0, 0)),
    "min": ("np.minimum({0}, {1})", ATOM, (0, 0)),
    "max": ("np.maximum({0}, {1})", ATOM, (0, 0)),
    "abs": ("np.abs({0})", ATOM, (0,)),
    "not": ("np.logical_not({0})", ATOM, (0,)),
}
EXACT = ("select", "min", "max", "abs", "neg")  # of floats


def most(term: Term) -> int:
    """No integer of the term is larger; of indices, what arrays in memory allow."""
    match term:
        case Const(value):
            return abs(int(value))
        case App("cast", (inner,)) if inner.dtype in INTEGERS:
            return 2 ** (int(inner.dtype[1:]) - inner.dtype.startswith("i"))
        case App("select", (_, *args)) | App("min" | "max", args):
            return max(map(most, args))
        case App("xor" | "add" | "sub" | "neg" | "abs", args):
            return sum(map(most, args)) * (2 if term.op == "xor" else 1) + 1  # -2⁶³ has no opposite
        case App("mul", (a, b)):
            return most(a) * most(b)
        case App("floordiv" | "mod" | "ceildiv", args):
            return max(map(most, args))  # one of what is not negative, by a positive one
    return 2**40


def wide(term: Term) -> bool:
    """Whether an index that is computed from data may be beyond 64 bits: then Python's integers do it, one by one."""
    computed = (t for t in walk(term) if isinstance(t, App) and t.dtype == INDEX and t.op != "cast" and reads(t))
    return any(most(t) > 2**63 for t in computed)


def numpy_text(term: Term, names: Mapping[str, str]) -> str:
    """A condition over index arrays and inputs as Python. Raises ValueError for what numpy does not do exactly.

    >>> from tinygpu.category.term import Var, conjunction
    >>> x = Read("x", (Var("t"),), "i32")
    >>> bounds = App("ge", (x, Const(0, "i32")), BOOL), App("lt", (x, App("cast", (Var("V"),), "i32")), BOOL)
    >>> numpy_text(conjunction(*bounds), {"V": "V_"})
    '(x[t] >= 0) & (x[t] < _cast(V_, np.int32))'
    """
    form = _form_wide if wide(term) else _form
    source = Source(names=names, lower=_lower, form=form, literal=_literal, read=lambda read: _read(source, read, names))
    return source.term(term)


def _read(source: Source, read: Read, names: Mapping[str, str]) -> str:
    return f"{names.get(read.tensor, read.tensor)}[{', '.join(map(source.term, read.index)) or '()'}]"


def _lower(term: Term) -> Term:
    """numpy compares integers of any two dtypes as what they are."""
    return App(term.op, tuple(map(_compared, term.args)), BOOL) if isinstance(term, App) and term.op in COMPARISONS else term


def _compared(term: Term) -> Term:
    match term:
        case App("cast", (inner,), "index") if inner.dtype in INTEGERS:
            return inner
        case Const(value, dtype) if dtype in INTEGERS:
            return Const(int(value))
    return term


def _form_wide(term: App) -> Form:
    return called("_cast", ("{0}, object", 0, (0,))) if term.op == "cast" and term.dtype == INDEX else _form(term)


def _literal(constant: Const) -> str:
    if constant.dtype in FLOATS:
        value = float(constant.value)
        return repr(value) if abs(value) != float("inf") else "np.inf" if value > 0 else "-np.inf"
    return f"np.{NUMPY[constant.dtype]}({constant.value})" if constant.dtype in INTEGERS else repr(constant.value)


def _form(term: App) -> Form:
    given = {a.dtype for a in term.args}
    match term.op:
        case "and" | "or" as word:
            operands = [f"{{{number}}}" for number in range(len(term.args))]
            return (" & " if word == "and" else " | ").join(operands), 1, (ATOM,) * len(operands)
        case "cast" if term.dtype in (*INTEGERS, INDEX) and not given & set(FLOATS):
            return called("_cast", (f"{{0}}, np.{NUMPY[term.dtype]}", 0, (0,)))
        case "floordiv" | "mod" | "ceildiv" if not (isinstance(term.args[1], Const) and term.args[1].value > 0):
            form, rank, levels = plain(term)  # a divisor that is not positive keeps no promise, but is no fault either
            return form.replace("{1}", "np.maximum({1}, 1)"), rank, (levels[0], 0)
        case "div" | "cast" | "table":
            pass
        case op if term.dtype in FLOATS and op not in EXACT:
            pass
        case op if op in FUNCTIONS:
            return FUNCTIONS[op]
        case _:
            return plain(term)
    raise ValueError(f"numpy does not do {text(term)} exactly")


def part_lines(spelled: Spelled, promise: Term, part: Part) -> Lines:
    """A function of the binders and of the inputs that are read, and the call that evaluates it. Raises ValueError."""
    op = spelled.program.op
    taken = {*TAKEN, *spelled.names.values(), *spelled.views.values(), "check_data", "workspace"}
    names = dict(spelled.names)
    for axis in part.axes:
        if (
            not variables(axis.extent) <= set(op.sizes)
            or of_data(axis.extent)
            or axis.name in (*op.sizes, *(a.name for a in part.axes if a is not axis))
        ):
            raise ValueError(f"the range of {axis.name} is not one of sizes")
        names[axis.name] = fresh(axis.name, taken)
        taken.add(names[axis.name])
    term = Checked(op, {a.name: a.extent for a in part.axes}).normal(part.holds)
    used = [t for t in op.inputs if t.name in {r.tensor for r in reads(part.holds)}]
    given = [*(names[a.name] for a in part.axes), *(names[t.name] for t in used)]
    extents, data = (
        _tuple([python(a.extent, spelled.names) for a in part.axes]),
        _tuple([f"_held[{quoted(t.name)}]" for t in used]),
    )
    sizes = "_sizes" if op.sizes else "{}"
    lines = block(f"def _holds({', '.join(f'{g}: Any' for g in given)}) -> Any", [f"return {numpy_text(term, names)}"])
    return [*lines, f"_promised({spelled.title}, {quoted(text(promise))}, _holds, {extents}, {data}, {sizes})"]


def check_lines(spelled: Spelled) -> tuple[Lines, tuple[Term, ...]]:
    """`(what the launcher does at each call and with check_data=True, the promises that it cannot check)`. What is said of scalars alone
    costs nothing to look at, so it is looked at in every call; where there is a promise that no call can check, check_data says only so."""
    always: list[tuple[Part, Lines]] = []
    asked: list[tuple[Part, Lines]] = []
    unchecked: list[Term] = []
    for promise in promises(spelled.program):
        try:
            found = [(part, part_lines(spelled, promise, part)) for part in parts(promise)]
        except ValueError:
            unchecked.append(promise)
            continue
        for one in found:
            (always if of_scalars(one[0]) else asked).append(one)
    lines = block("if True", _looked_at(spelled, always)) if always else []
    if unchecked:
        return [*lines, *block("if check_data", [f"_unchecked({spelled.title}, {quoted(text(unchecked[0]))})"])], tuple(unchecked)
    return [*lines, *(block("if check_data", _looked_at(spelled, asked)) if asked else [])], ()


def _looked_at(spelled: Spelled, several: list[tuple[Part, Lines]]) -> Lines:
    """The inputs that some parts read, and the checks of these parts."""
    read = {r.tensor for part, _ in several for r in reads(part.holds)}
    held = [
        f"{quoted(t.name)}: _data({spelled.title}, {quoted(t.name)}, {spelled.view(t)}, {quoted(t.dtype)}, stream)"
        for t in spelled.program.op.inputs
        if t.name in read
    ]
    return [f"_held = {{{', '.join(held)}}}", *(line for _, lines in several for line in lines)]


def paragraph(spelled: Spelled) -> str:
    """What a docstring says of the promises; nothing where there are none."""
    every, (lines, unchecked) = promises(spelled.program), check_lines(spelled)
    if not every:
        return ""
    said = "Promised of the data: " + " and ".join(map(text, every)) + ".\n"
    if "if True:" in lines:
        said += "What is said of scalars alone is checked at each call.\n"
    if unchecked:
        return said + "Assumed: no call can check " + " and ".join(map(text, unchecked)) + ", so check_data=True is refused."
    if "if check_data:" not in lines:
        return said
    return (
        said
        + "Assumed, unless check_data=True: then it is checked before anything is launched. On a GPU that copies the inputs it\n"
        "speaks of to the host, and waits for the stream."
    )


def _tuple(items: list[str]) -> str:
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"
