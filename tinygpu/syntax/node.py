"""Nodes of the syntax tree: what all of them have, how a rule of the grammar makes one, and the two ways through a tree.

Comes in: the fields of a class, for each rule of the grammar that makes it the parts of that rule, in order (words as text, absent parts as
None), and how it is shown. Goes out: a frozen record with a span. The one idea: what is written how is one line, the head of the class.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from string import Formatter
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, dataclass_transform

from tinygpu.diagnostic import NOWHERE, Span
from tinygpu.record import MISSING, dataclass, field, fields, is_dataclass, replace

T = TypeVar("T")
BREAK = "\x1f"  # in a text: a space, where a line may be broken
Shown = tuple[tuple[bool, tuple[tuple[str, str | None, str | None], ...]], ...]
LEAVES = (Span, str, type)  # records or not, nothing stands below them: a dtype is a name, also where it is a monoid


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
class Kind(type):
    """A class of nodes: a frozen record of its fields and, last, a span, which takes no part in equality."""

    rules: Mapping[str, tuple[tuple[str, ...], Mapping[str, Any]]] = {}
    shown: tuple[Shown, ...] = ()

    def __new__(
        meta, name: str, bases: tuple[type, ...], inside: dict[str, Any], /, shown: str | tuple[str, ...] = "", **rules: str
    ) -> Any:
        if not bases or "__record__" in inside:
            return super().__new__(meta, name, bases, inside)
        inside["__annotations__"]["span"], inside["span"] = "Span", field(default=NOWHERE, compare=False, repr=False)
        inside["rules"] = {rule: _parts(parts) for rule, parts in rules.items()}
        inside["shown"] = tuple(_shown(text) for text in ((shown,) if isinstance(shown, str) else shown))
        return dataclass(frozen=True, slots=True)(super().__new__(meta, name, bases, inside))


class Node(metaclass=Kind):
    """What every node is. A rule of the grammar that makes one stands in the head of its class, `rule="field field"`: each part of the rule
    fills the field of its name, and `*field` all that the others leave; `field=word` is what every node of that rule has. `shown` is its text,
    or of several texts the first whose fields are there: words, `~` where a line may be broken, and fields in braces, each with the rule of the
    grammar that an expression is there, if it is not any; what stands in ⟨ ⟩ is left out where its fields have their defaults.

    >>> class Note(Node, note="own text", loud="text own=True"):
    ...     text: str
    ...     own: bool = False
    >>> Note("a", True), Note("a").span is NOWHERE, Note.rules["loud"]
    (Note(text='a', own=True), True, (('text',), {'own': True}))
    """

    __slots__ = ()
    if TYPE_CHECKING:
        __dataclass_fields__: ClassVar[dict[str, Any]]
        span: Span = field(kw_only=True, default=NOWHERE)

        shown: ClassVar[tuple[Shown, ...]]

        def __init_subclass__(cls, shown: str | tuple[str, ...] = "", **rules: str) -> None: ...


def _parts(written: str) -> tuple[tuple[str, ...], dict[str, Any]]:
    """`text own=True` as the fields that parts fill, and those that are fixed."""
    fixed = dict(part.split("=") for part in written.split() if "=" in part)
    return tuple(part for part in written.split() if "=" not in part), {n: v == "True" or v for n, v in fixed.items()}


def _shown(text: str) -> Shown:
    """`a {b:term}⟨ in {c}⟩` as its parts, each with whether it may be left out: words, and fields with the rules that they are."""
    parts = re.split("[⟨⟩]", text.replace("~", BREAK))
    return tuple(
        (at % 2 == 1, tuple((word, name, rule) for word, name, rule, _ in Formatter().parse(part))) for at, part in enumerate(parts)
    )


@cache
def absent(kind: type, name: str) -> tuple[Any, ...]:
    """What a field holds where nothing is written of it: its default, or nothing at all."""
    return tuple(one.default for one in fields(kind) if one.name == name and one.default is not MISSING) or (None, ())


class Comment(Node):
    """`# text`, with the place it stood at; `own_line` when nothing stands before it."""

    text: str
    own_line: bool = True


class This(Generic[T]):
    """A node that is equal to none but itself, as where it stands is a part of it."""

    __slots__ = ("node",)

    def __init__(self, node: T) -> None:
        self.node = node

    def __eq__(self, other: object) -> bool:
        return isinstance(other, This) and other.node is self.node

    def __hash__(self) -> int:
        return id(self.node)


def nodes(tree: object) -> Iterator[Any]:
    """The nodes of a tree, each before those below it, in the order of the text."""
    left: list[Any] = [tree]
    while left:
        one = left.pop()
        if one.__class__ is tuple:
            left += reversed(one)
        elif (names := _fields(one.__class__)) is not None:
            yield one
            left += [getattr(one, name) for name in names]


@cache
def _fields(kind: type[Any]) -> tuple[str, ...] | None:
    """The fields of nodes of a class, the last first; None of what is no node."""
    return None if issubclass(kind, LEAVES) or not is_dataclass(kind) else tuple(one.name for one in reversed(fields(kind)))


def parts(node: Any) -> tuple[Any, ...]:
    """What stands in a node, in the order of the text: nodes, words, lists of these."""
    return tuple(getattr(node, one.name) for one in fields(node))


def rewritten(tree: T, change: Callable[[Any], Any]) -> T:
    """The tree with every node changed, those below before those above."""
    if isinstance(tree, tuple):
        return tuple(rewritten(part, change) for part in tree)  # type: ignore[return-value]
    if not is_dataclass(tree) or isinstance(tree, LEAVES):
        return tree
    parts = {one.name: getattr(tree, one.name) for one in fields(tree)}
    new = {name: made for name, part in parts.items() if (made := rewritten(part, change)) is not part and made != part}
    return change(replace(tree, **new) if new else tree)  # type: ignore[type-var, no-any-return]
