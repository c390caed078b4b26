"""Pairs of operations made by a grammar: some are equal by rewriting one, some differ in one place, and what is drawn decides which.

Comes in: a number. Goes out: a spec with two ops and a theorem that they are the same. The one idea: a value is a small tree; an equal one is made by laws that everybody knows, without
their conditions, and another one by exchanging a leaf or an index.
"""

from __future__ import annotations

import random
import re
from typing import TypeAlias

Tree: TypeAlias = tuple  # type: ignore[type-arg]
WIDE = 20  # of a part: more than what is written out
INPUTS = "x: f32[n], y: f32[n], A: f32[n, n], c: f32"


def pair(seed: int) -> str:
    """The spec of one number."""
    chance = random.Random(seed)
    left: Tree = value(chance, ("i",), 4) if chance.random() < 0.7 else ("sum", "k1", "", value(chance, ("i", "k1"), 2))
    right = left
    for _ in range(chance.randint(1, 3)):
        right = rewritten(chance, right)
    if chance.random() < 0.4:
        right = changed(chance, right, ("i",))
    ops = "\n\n".join(
        f"op {name}({INPUTS}) -> (z: f32[n]) where n >= 1 {{\n  z[i] = {text(tree)} + 0 * (x[i] + y[i] + A[i, i] + c)\n}}"
        for name, tree in (("left", left), ("right", right))
    )
    return f"{ops}\n\ntheorem same : left == right\n"


def value(chance: random.Random, names: tuple[str, ...], depth: int) -> Tree:
    """A value that speaks of these indices."""
    kind = chance.choice(("leaf", "add", "sub", "mul", "mul", "sum", "sum", "max", "exp", "div", "if")) if depth else "leaf"
    match kind:
        case "leaf":
            return leaf(chance, names)
        case "add" | "sub" | "mul":
            return (kind, value(chance, names, depth - 1), value(chance, names, depth - 1))
        case "sum" | "max":
            name = f"k{len(names)}"
            guard, body = chance.choice(("", "", f" <= {names[-1]}")), value(chance, (*names, name), depth - 1)
            if kind == "max" and chance.random() < 0.5:
                body = ("if", f"{name} {chance.choice(('<', '!='))} {names[-1]}", body, ("number", "-inf"))
            return (kind, name, guard, body)
        case "exp":
            power = ("mul", ("number", "0.5"), leaf(chance, names))
            mask = ("if", f"{names[0]} <= {names[-1]}", power, ("number", "-inf"))
            return ("exp", power if chance.random() < 0.7 else mask)
        case "div":
            name = f"k{len(names)}"
            return ("div", value(chance, names, depth - 1), ("sum", name, "", ("exp", leaf(chance, (*names, name)))))
    return (
        "if",
        f"{chance.choice(names)} {chance.choice(('<', '<=', '=='))} {chance.choice(names)}",
        value(chance, names, depth - 1),
        value(chance, names, depth - 1),
    )


def leaf(chance: random.Random, names: tuple[str, ...]) -> Tree:
    i, j = chance.choice(names), chance.choice(names)
    return chance.choice(
        (("read", "x", i), ("read", "y", i), ("read", "A", i, j), ("scalar", "c"), ("number", chance.choice("123")))
    )


def rewritten(chance: random.Random, tree: Tree) -> Tree:
    """An equal value, at a place that chance finds."""
    if chance.random() < 0.5:
        at = [n for n, part in enumerate(tree) if isinstance(part, tuple)]
        if at:
            n = chance.choice(at)
            return (*tree[:n], rewritten(chance, tree[n]), *tree[n + 1 :])
    match tree:
        case ("sum", name, "", body) if chance.random() < 0.4:  # in parts of so many, or those up to another index and the others
            return chance.choice((("parts", name, WIDE, WIDE, body), ("halves", name, "i", ">", body)))
        case ("mul", a, ("add" | "sub" as op, b, d)):
            return (op, ("mul", a, b), ("mul", a, d))
        case ("mul", a, ("sum", name, guard, body)) if name not in text(a):
            return ("sum", name, guard, ("mul", a, body))
        case ("sum", name, guard, ("add" | "sub" as op, a, b)):
            return (op, ("sum", name, guard, a), ("sum", name, guard, b))
        case ("sum", name, guard, ("sum", other, "", body)) if name not in guard + other:
            return ("sum", other, "", ("sum", name, guard, body)) if other not in guard else tree
        case ("div", ("add" | "sub" as op, a, b), d):
            return (op, ("div", a, d), ("div", b, d))
        case ("div", ("sum", name, guard, body), d) if name not in text(d):
            return ("sum", name, guard, ("div", body, d))
        case ("add" | "mul" as op, a, b):
            return (op, b, a)
        case ("exp", ("add", a, b)):
            return ("mul", ("exp", a), ("exp", b))
        case ("exp", ("if", g, a, ("number", "-inf"))):
            return ("if", g, ("exp", a), ("number", "0"))
        case ("max", name, "", ("if", g, a, ("number", "-inf"))):
            return ("max", name, f" < n : {g}", a)
        case ("if", g, a, b) if a != b and b != ("number", "-inf"):
            return ("add", ("if", g, a, ("number", "0")), ("if", g, ("number", "0"), b))
    return ("sub", ("add", tree, ("scalar", "c")), ("scalar", "c"))


def changed(chance: random.Random, tree: Tree, names: tuple[str, ...]) -> Tree:
    """The value with something else at one place."""
    match tree:
        case ("read" | "scalar" | "number", *_):
            return leaf(chance, names)
        case ("sum" | "max" as kind, name, guard, body):
            if chance.random() < 0.2:
                return (kind, name, f" <= {names[-1]}" if not guard else "", body)
            return (kind, name, guard, changed(chance, body, (*names, name)))
        case ("parts", name, wide, stride, body) if chance.random() < 0.5:
            return ("parts", name, wide, stride + chance.choice((-1, 1)), body)
        case ("halves", name, at, _, body) if chance.random() < 0.5:
            return ("halves", name, at, chance.choice((">=", "!=")), body)
        case ("parts" | "halves", name, *_, _):
            return (*tree[:-1], changed(chance, tree[-1], (*names, name)))
    n = chance.choice([n for n, part in enumerate(tree) if isinstance(part, tuple)])
    return (*tree[:n], changed(chance, tree[n], names), *tree[n + 1 :])


def text(tree: Tree) -> str:
    """As it is written."""
    match tree:
        case ("read", name, *index):
            return f"{name}[{', '.join(index)}]"
        case ("scalar" | "number", word):
            return str(word)
        case ("add" | "sub" | "mul" | "div" as op, a, b):
            sign = {"add": "+", "sub": "-", "mul": "*", "div": "/"}[op]
            return f"({text(a)} {sign} {text(b)})"
        case ("sum" | "max" as kind, name, guard, body):
            bound = guard if guard.startswith(" < n") else f" < n : {name}{guard}" if guard else " < n"
            return f"({kind}[{name}{bound}] ({text(body)}))"
        case ("parts", name, wide, stride, body):
            place = f"({stride}*{name}a + {name}u)"
            inside = re.sub(rf"\b{name}\b", place, text(body))
            return f"(sum[{name}a < ceil(n / {wide}), {name}u < {wide} : {place} < n] ({inside}))"
        case ("halves", name, at, other, body):
            return f"((sum[{name} < n : {name} <= {at}] ({text(body)})) + (sum[{name} < n : {name} {other} {at}] ({text(body)})))"
        case ("exp", a):
            return f"exp({text(a)})"
        case ("if", guard, a, b):
            return f"({text(a)} if {guard} else {text(b)})"
    raise AssertionError(tree)
