"""`parse : text → tree.File`, or a `TinygpuError` with code TG0xx that points at the place and says what could stand there.

Comes in: a text, and the name it is to be called by. Goes out: a tree whose nodes all carry their span. The one idea: words, Lark's parser,
nodes, and only when that fails does `explain` ask why. The grammar alone decides: a rule is a function of its parts, `BUILD`, read off the
heads of the classes of nodes, and the few rules that are no class.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any, TypeAlias

from tinygpu.diagnostic import Diagnostic, Span, TinygpuError
from tinygpu.record import MISSING, dataclass, field, fields, replace
from tinygpu.syntax import grammar, tree
from tinygpu.syntax.expression import PREFIX
from tinygpu.syntax.lexer import WORD, Source, Token, scan, significant
from tinygpu.syntax.node import Comment, Kind
from tinygpu.syntax.reader import Unexpected, at_start, run
from tinygpu.syntax.tree import File

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


def fold(span: Span, monoid: str, binders: tuple[tree.Binder, ...], guard: tree.Expr | None, body: tree.Expr) -> tree.FoldExpr:
    """`sum[k] …` and `scan_sum[k <= i] …`."""
    return tree.FoldExpr(monoid.removeprefix(PREFIX), binders, body, False, monoid.startswith(PREFIX), guard, span=span)


def update(span: Span, word: str, equals: str | None = None) -> str:
    """`=`, `+=`, `max=`: the name of the monoid."""
    return next((name for name, sign in tree.SIGNS.items() if sign == word), word)


def for_values(span: Span, name: str, values: tree.Group, body: tuple[tree.Statement, ...]) -> tree.For:
    """`for d in (16, 8, 4) { … }`."""
    return tree.For(name, None, body, "time", values.items, span=span)


def clauses(span: Span, *parts: Any) -> tuple[tree.Clause, ...]:
    """What stands in braces. Bindings on the lines below a `compute` belong to it."""
    joined: list[Any] = []
    for part in parts:
        match part, joined:
            case ((tree.Binding() | tree.Each()), [*_, tree.Compute() as last]):
                below: Any = part
                joined[-1] = replace(last, bindings=(*last.bindings, below), span=last.span.to(part.span))
            case ((tree.Binding((name, *_)) | tree.Each(tree.Binding((name, *_)))), _):
                title = f"`{name} = …` stands without a clause"
                wanted = f"write `compute {name} = …` for an index, or `work {name} = (…)` for a level, joined by commas to the line above"
                raise TinygpuError.of("TG008", title, part.span, "which clause is this?", wanted)
            case _:
                joined.append(part)
    return tuple(joined)


def array(span: Span, name: str, dtype: str, extents: tuple[tree.Expr, ...], order: Any, place: Any) -> tree.Array:
    """`acc: f32[8, 8]`, of which the space stands before it."""
    return tree.Array("", name, dtype, extents, order or (), place, span=span)


def arrays(span: Span, space: str, *parts: tree.Array) -> tree.Array | tree.Arrays:
    """`local acc: f32[8, 8]`, `local a: f32[8], b: f32[8]`."""
    made = tuple(replace(one, space=space) for one in parts)
    return tree.Arrays(made, span=span) if len(made) > 1 else replace(made[0], span=span)


def quoted(kind: str, span: Span, text: str) -> tree.Quoted:
    """`ptx "…"`."""
    return tree.Quoted(text[1:-1], kind, span=span)


def monoid_part(span: Span, kind: str, *groups: Any) -> tree.MonoidPart:
    """`unit (…)`, `lift (…) = (…)`: the last group is the value."""
    return tree.MonoidPart(kind, groups[-1], groups[0] if len(groups) > 1 else None, span=span)


BUILD: Mapping[str, Build] = {
    **{rule: row(made, rule) for made in vars(tree).values() if isinstance(made, Kind) for rule in made.rules},
    **dict.fromkeys(
        ("exprs", "values", "items", "binders", "order", "block", "tensors", "families", "archs", "cases", "gets", "givens"),
        several,
    ),
    **dict.fromkeys(("equation_name", "ring", "copier", "sort", "arch", "way"), only),
    "fold": fold,
    "array": array,
    "arrays": arrays,
    "update": update,
    "for_values": for_values,
    "joined": lambda span, value, op, dots: tree.Joined(value, op, span=span),
    "indices": lambda span, name: f"{name}..",
    "sync": lambda span, *words: tree.Sync(" ".join(words), span=span),
    "clauses": clauses,
    "import_": lambda span, path: tree.Import(path[1:-1], span=span),
    **{kind: partial(quoted, kind) for kind in ("ptx", "isa")},
    "asynchronous": lambda span, word, unit: unit,
    "shape": lambda span, extents: extents or (),
    "monoid_part": monoid_part,
}


DECLARATION = re.compile(
    r"^(?:op|machine|choice|pipeline|theorem|gradient|lemma|scheme|monoid|param|def|import|instruction)\b", re.MULTILINE
)
ENOUGH = 20  # mistakes told of one text
LONGEST = 100  # characters of a name


def parse(text: str, file: str = "") -> File:
    """`text → tree.File`; raises `TinygpuError`.

    >>> parse("param BM = 128").declarations
    (Param(name='BM', value=Number(text='128'), choices=(), low=None, high=None),)
    """
    source = Source(text, file)
    with suppress(Unexpected, TinygpuError):
        parts = [_read(piece) for piece in _pieces(source)]
        comments = tuple(comment for _, said in parts for comment in said)
        return File(tuple(one for found, _ in parts for one in found), comments, span=source.span(0, len(text)))
    return _read_on(source)


@dataclass(frozen=True, slots=True)
class Piece:
    """A text from one declaration to the next, where it stands: what is read of it depends on nothing else of the `source`."""

    text: str
    file: str
    start: int
    line: int
    source: Source = field(compare=False, repr=False)


def _pieces(source: Source) -> Iterator[Piece]:
    """A text in pieces: where all can be read, they are what the whole says."""
    ends = [*(m.start() for m in DECLARATION.finditer(source.text)), len(source.text)]
    for start, end in pairwise(dict.fromkeys((0, *ends))):
        yield Piece(source.text[start:end], source.file, start, source.line(start), source)


@lru_cache(maxsize=256)  # an editor reads a text again after each key
def _read(piece: Piece) -> tuple[tuple[tree.Declaration, ...], tuple[Comment, ...]]:
    """The declarations of a piece, and its comments."""
    comments: list[Token] = []
    words = _bearable(piece.source, piece.start, piece.start + len(piece.text))
    found: File = read_tree(significant(words, comments), piece.source)
    return found.declarations, tuple(_comment(c, piece.source) for c in comments)


def _read_on(source: Source) -> File:
    """A text that is no row of pieces: after each mistake it is read on at the next declaration."""
    comments: list[Token] = []
    problems: dict[Diagnostic, None] = {}
    begin = 0
    while True:
        try:
            result: File = read_tree(significant(_bearable(source, begin), comments), source)
            break
        except Unexpected as unexpected:
            from tinygpu.syntax.explain import explain  # late: a text without mistakes does not need it

            problem, offset = explain(unexpected, source, begin), unexpected.token.start
        except TinygpuError as error:
            problem = error.diagnostics[0]
            offset = problem.span.start
        problems[problem] = None
        after = _next_declaration(source.text, offset, begin if problem.code == "TG003" else offset)
        if after is None or len(problems) == ENOUGH:
            break
        begin = after
    if problems:
        raise TinygpuError(*problems)
    return File(result.declarations, tuple(_comment(c, source) for c in comments), span=source.span(0, len(source.text)))


def _bearable(source: Source, begin: int, end: int | None = None) -> Iterator[Token]:
    """The words of a text, none longer than names may be: they become names of files and of functions."""
    for token in scan(source.text, begin, end):
        if token.kind == WORD and len(token.text) > LONGEST:
            title = f"a name has at most {LONGEST} characters; this one has {len(token.text)}"
            raise TinygpuError.of("TG009", title, source.span(token.start, token.end), help="take a shorter one")
        yield token


def _next_declaration(text: str, offset: int, begin: int) -> int | None:
    """Where to read on after a mistake: the next declaration at the start of a line, behind `begin`; it may be the mistake's own line."""
    line = text.rfind("\n", 0, offset) + 1
    match = DECLARATION.search(text, max(line, begin + 1))
    return match and match.start()


def _comment(token: Token, source: Source) -> Comment:
    span = source.span(token.start, token.end)
    own_line = not source.text[token.start - span.column + 1 : token.start].strip()
    return Comment(token.text.rstrip(), own_line, span=span)


def read_tree(tokens: Iterable[Token], source: Source) -> Any:
    """What the whole text means. Of two mistakes the first is told: what was read before a refusal is built all the same."""
    parser = at_start()
    try:
        whole = run(tokens, parser)
    except Exception:
        for part in parser.parser_state.value_stack:
            build(part, source)
        raise
    return build(whole, source)
