"""What each rule of the grammar means: `BUILD`, read off the heads of the classes of nodes, and the few rules that are no class.

Comes in: a tree of Lark's. Goes out: nodes with their spans. The one idea: the grammar alone decides; a rule is a function of its parts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from tinygpu.diagnostic import Span, TinygpuError
from tinygpu.record import MISSING, fields, replace
from tinygpu.syntax import grammar, tree
from tinygpu.syntax.expression import PREFIX
from tinygpu.syntax.lexer import Source
from tinygpu.syntax.node import Kind

Build: TypeAlias = Callable[..., Any]  # a span and the parts of a rule → what the rule means


def build(part: Any, source: Source) -> Any:
    """The value of a part of the tree: what the row of its rule makes of its parts, or the text of a word, or None."""
    if not isinstance(part, grammar.Node):
        return part and part.value
    values = [build(below, source) for below in part.children]
    if part.data[0] == "_":
        return values
    meta = part.meta
    return BUILD[part.data](source.span(0, 0) if meta.empty else source.span(meta.start_pos, meta.end_pos), *values)


def row(made: Any, rule: str) -> Build:
    """How the parts of a rule become a node. What is absent is the field's default, or an empty list; a word that fills a truth value makes
    it true."""
    given, fixed = made.rules[rule]
    places = {name.lstrip("*"): at for at, name in enumerate(given)}
    table = [f for f in fields(made) if f.name != "span"]
    plan = [(places.get(f.name), fixed.get(f.name, () if f.default is MISSING else f.default)) for f in table]
    star = next((at for at, name in enumerate(given) if name[0] == "*"), None)

    def build(span: Span, *parts: Any) -> Any:
        if star is not None:
            end = len(parts) - len(given) + star + 1
            parts = (*parts[:star], parts[star:end], *parts[end:])
        filled = (absent if at is None or parts[at] is None else absent is False or parts[at] for at, absent in plan)
        return made(*filled, span)

    return build


def several(span: Span, *parts: Any) -> tuple[Any, ...]:
    """A list of anything is a tuple."""
    return parts


def only(span: Span, part: Any) -> Any:
    """A rule that is there to be told apart is its part."""
    return part


def fold(span: Span, monoid: str, binders: tuple[tree.Binder, ...], body: tree.Expr) -> tree.FoldExpr:
    """`sum[k] …` and `scan_sum[k <= i] …`."""
    return tree.FoldExpr(monoid.removeprefix(PREFIX), binders, body, False, monoid.startswith(PREFIX), span=span)


def update(span: Span, word: str, equals: str | None = None) -> str:
    """`=`, `+=`, `max=`: the name of the monoid."""
    return next((name for name, sign in tree.SIGNS.items() if sign == word), word)


def for_values(span: Span, name: str, values: tree.Group, body: tuple[tree.Statement, ...]) -> tree.For:
    """`for d in (16, 8, 4) { … }`."""
    return tree.For(name, None, body, "time", values.items, span=span)


def clauses(span: Span, *parts: tree.Clause) -> tuple[tree.Clause, ...]:
    """What stands in braces. Bindings on the lines below a `compute` belong to it."""
    joined: list[tree.Clause] = []
    for part in parts:
        match part, joined:
            case tree.Binding(), [*_, tree.Compute() as last]:
                joined[-1] = replace(last, bindings=(*last.bindings, part), span=last.span.to(part.span))
            case tree.Binding((name, *_)), _:
                title = f"`{name} = …` stands without a clause"
                wanted = f"write `compute {name} = …` for an index, or `work {name} = (…)` for a level, joined by commas to the line above"
                raise TinygpuError.of("TG008", title, part.span, "which clause is this?", wanted)
            case _:
                joined.append(part)
    return tuple(joined)


def monoid_part(span: Span, kind: str, *groups: Any) -> tree.MonoidPart:
    """`unit (…)`, `lift (…) = (…)`: the last group is the value."""
    return tree.MonoidPart(kind, groups[-1], groups[0] if len(groups) > 1 else None, span=span)


BUILD: Mapping[str, Build] = {
    **{rule: row(made, rule) for made in vars(tree).values() if isinstance(made, Kind) for rule in made.rules},
    **dict.fromkeys(("exprs", "items", "binders", "order", "block", "tensors"), several),
    **dict.fromkeys(("equation_name", "ring", "copier", "sort", "arch"), only),
    "fold": fold,
    "update": update,
    "for_values": for_values,
    "sync": lambda span, *words: tree.Sync(" ".join(words), span=span),
    "clauses": clauses,
    "import_": lambda span, path: tree.Import(path[1:-1], span=span),
    "shape": lambda span, extents: extents or (),
    "monoid_part": monoid_part,
}
