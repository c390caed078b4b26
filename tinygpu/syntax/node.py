"""Nodes of the syntax tree: what all of them have, how a rule of the grammar makes one, and the two ways through a tree.

Comes in: the parts of a rule, in order: words as text, absent parts as None. Goes out: the node. The one idea: a rule is a row, a
class with the fields that its parts fill, so what is written how is one line beside the class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias, TypeVar

from tinygpu.diagnostic import NOWHERE, Span
from tinygpu.record import MISSING, dataclass, field, fields, is_dataclass, replace

T = TypeVar("T")
LEAVES = (Span, str, type)  # records or not, nothing stands below them: a dtype is a name, also where it is a monoid
Build: TypeAlias = Callable[..., Any]  # a span and the parts of a rule → what the rule means
Rules: TypeAlias = Mapping[str, Build]


def spanned() -> Span:
    """The field that every node has, which takes no part in equality."""
    return field(default=NOWHERE, compare=False, repr=False)  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Comment:
    """`# text`, with the place it stood at; `own_line` when nothing stands before it."""

    text: str
    own_line: bool = True
    span: Span = spanned()


def row(made: Any, names: str, **fixed: object) -> Build:
    """How the parts of a rule become a node: each fills the field of its name, and `*name` all that the others leave. What is absent is the
    field's default, or an empty list; a word that fills a truth value makes it true.

    >>> row(Comment, "own_line text")(NOWHERE, None, "# a")
    Comment(text='# a', own_line=True)
    """
    given = names.split()
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


def nodes(tree: object) -> Iterator[Any]:
    """The nodes of a tree, each before those below it, in the order of the text."""
    if isinstance(tree, tuple):
        for part in tree:
            yield from nodes(part)
    elif is_dataclass(tree) and not isinstance(tree, LEAVES):
        yield tree
        for one in fields(tree):
            yield from nodes(getattr(tree, one.name))


def rewritten(tree: T, change: Callable[[Any], Any]) -> T:
    """The tree with every node changed, those below before those above."""
    if isinstance(tree, tuple):
        return tuple(rewritten(part, change) for part in tree)  # type: ignore[return-value]
    if not is_dataclass(tree) or isinstance(tree, LEAVES):
        return tree
    parts = {one.name: getattr(tree, one.name) for one in fields(tree)}
    new = {name: made for name, part in parts.items() if (made := rewritten(part, change)) is not part and made != part}
    return change(replace(tree, **new) if new else tree)  # type: ignore[type-var, no-any-return]
