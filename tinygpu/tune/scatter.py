"""Machines by rules for sums that choose where they go.

    h[b] = sum[i] (v(i) if x(i) == b else 0)   ↦   every h[b] is 0;  each i adds v(i) at x(i), by an atomic update
                                           on a core: each i adds v(i) at x(i), or 0 at the end that is next to it

Comes in: an op. Goes out: states whose machines are programs. The one idea: of all the terms of a fold over i one is added, and the comparison says to which element, so the loop over b is not made. A core guesses
where a condition leads, and pays for each wrong guess; what adds 0 needs no guess.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.category.term import TRUE, App, Axis, Const, Fold, Term, Var, substitute, text, variables
from tinygpu.model.op import Equation, Op
from tinygpu.record import dataclass
from tinygpu.syntax import tree
from tinygpu.syntax.parse import parse
from tinygpu.tune.facts import Names, extent_text
from tinygpu.tune.state import CPU, State

THREADS, EACH = 256, 4  # of a block, and elements of one
PART = 4096  # elements of a turn of a core


@dataclass(frozen=True, slots=True)
class Scatter:
    """An equation of that form: the axis of what is chosen, the other ones, that of the fold, what is compared and what is added."""

    equation: Equation
    chosen: Axis
    beside: tuple[Axis, ...]
    along: Axis
    key: Term
    value: Term


def scattered(op: Op, device: str) -> Iterator[State]:
    """Programs, if the one equation of an op is of that form, with at most one index beside what is chosen."""
    found = found_in(op.equations[0]) if len(op.equations) == 1 else None
    if found is not None and len(found.beside) < 2:
        for arch, text_of in ((CPU, _of_cores), ("", _text)) if device == CPU else (("", _text),):
            (machine,) = parse(text_of(found, op)).declarations
            assert isinstance(machine, tree.Machine)
            yield State(op.family, (), arch, body=machine.clauses)


def found_in(equation: Equation) -> Scatter | None:
    """The parts of an equation of that form."""
    match equation.value:
        case Fold("sum", (along,), guard, App("select", (App("eq", (key, App("cast", (Var(name),)))), value, Const(value=zero)))):
            chosen = next((a for a in equation.axes if a.name == name), None)
            beside = tuple(a for a in equation.axes if a.name != name)
            apart = chosen == equation.axes[0] and name not in variables(key) | variables(value) and zero == 0 and guard == TRUE
            if chosen is not None and apart and {a.name for a in beside}.isdisjoint(variables(key)):
                return Scatter(equation, chosen, beside, along, key, value)
    return None


def _text(it: Scatter, op: Op) -> str:
    names = Names(op)
    g, t, u, z, y = (names.new(one, "") for one in "gtuzy")
    name, end, many = it.equation.target, extent_text(it.chosen.extent), extent_text(it.along.extent)
    wide = extent_text(it.beside[0].extent) if it.beside else ""
    if wide:  # a block has a row, and goes along it
        place, fresh = Var(u) * THREADS + Var(t), Var(u) * THREADS + Var(y)
        own = {it.along.name: Var(g), it.beside[0].name: place}
        grids, turns = (end, many), (f"for {u} < ceil({wide} / {THREADS})",) * 2
        store, inside, at = (
            f"{name}[{z}, {text(fresh)}] = 0 if {text(fresh)} < {wide}",
            f"{text(place)} < {wide}",
            f", {text(place)}",
        )
    else:  # a block has some elements of the fold
        whole, place = Var(z) * THREADS + Var(y), Var(g) * (THREADS * EACH) + Var(u) * THREADS + Var(t)
        own = {it.along.name: place}
        grids, turns = (f"ceil({end} / {THREADS})", f"ceil({many} / {THREADS * EACH})"), ("", f"for {u} < {EACH} in register")
        store, inside, at = f"{name}[{text(whole)}] = 0 if {text(whole)} < {end}", f"{text(place)} < {many}", ""
    key, value = (text(substitute(term, own)) for term in (it.key, it.value))
    step = f"if {inside} {{ atomic {name}[{key}{at}] += {value} if 0 <= {key} and {key} < i32({end}) }}"
    first, second = (f"{turn} {{ {one} }}" if turn else one for turn, one in zip(turns, (store, step), strict=True))
    return f"""machine m : {op.family} {{
  program {{
    launch (grid = ({z}: {grids[0]}), block = ({y}: {THREADS})) {{ {first} }}
    launch (grid = ({g}: {grids[1]}), block = ({t}: {THREADS})) {{ {second} }}
  }}
}}"""


def _of_cores(it: Scatter, op: Op) -> str:
    """The elements of a row one by one, where there are rows; else each element somewhere, if there is anywhere to go."""
    names = Names(op)
    g, t, z, y, v = (names.new(one, "") for one in "gtzyv")
    name, end, many = it.equation.target, extent_text(it.chosen.extent), extent_text(it.along.extent)
    if it.beside:
        wide, own = extent_text(it.beside[0].extent), {it.along.name: Var(g), it.beside[0].name: Var(t)}
        key, value = (text(substitute(term, own)) for term in (it.key, it.value))
        first = f"launch (core = ({z}: {end})) {{ for {y} < {wide} {{ {name}[{z}, {y}] = 0 }} }}"
        step = f"for {t} < {wide} {{ atomic {name}[{key}, {t}] += {value} if 0 <= {key} and {key} < i32({end}) }}"
        return f"machine m : {op.family} on cpu {{ program {{ {first}\nlaunch (core = ({g}: {many})) {{ {step} }} }} }}"
    place, fresh = Var(g) * PART + Var(t), Var(z) * PART + Var(y)
    key, value = (text(substitute(term, {it.along.name: place})) for term in (it.key, it.value))
    goes = it.chosen.extent
    last = str(int(goes.value) - 1) if isinstance(goes, Const) else f"i32({end}) - 1"
    adds = f"{v}[] = min(max({key}, 0), {last})\natomic {name}[{v}[]] += {value} if {v}[] == {key} else 0"
    loop = f"for {t} < {PART} {{ if {text(place)} < {many} {{ {adds} }} }}"
    first = f"for {y} < {PART} {{ {name}[{text(fresh)}] = 0 if {text(fresh)} < {end} }}"
    somewhere = loop if isinstance(goes, Const) else f"if {end} > 0 {{ {loop} }}"
    return f"""machine m : {op.family} on cpu {{
  program {{
    launch (core = ({z}: ceil({end} / {PART}))) {{ {first} }}
    launch (core = ({g}: ceil({many} / {PART}))) {{ local {v}: i32[]
      {somewhere} }}
  }}
}}"""
