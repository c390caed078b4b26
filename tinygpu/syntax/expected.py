"""What could stand at a place of a text: the parser asked, and its answer in the user's words.

Comes in: the parser before a word. Goes out: the symbols it would take, a sentence part that names them,
and the one word whose absence would explain the error. The one idea: nothing is guessed, every answer is tried on the parser.
"""

from __future__ import annotations

from collections.abc import Sequence

from lark import Token as Terminal
from lark import UnexpectedToken

from tinygpu.syntax.grammar import END, load
from tinygpu.syntax.lexer import NEWLINE, STRAY, Token
from tinygpu.syntax.reader import Parser, at_start, symbol

CLAUSES = (
    "work",
    "compute",
    "time",
    "register",
    "vector",
    "param",
    "where",
    "stage",
    "layout",
    "launch",
    "equations",
    "reduce",
    "keep",
    "program",
)
STEPS = ("local", "shared", "workspace", "atomic", "for", "if", "barrier", "warp", "commit", "wait", "launch")
KINDS = {
    "NAME": "a name",
    "NUMBER": "a number",
    "STRING": "a file name in quotes",
    NEWLINE: "a new line",
    END: "the end of the file",
}
OPERAND = {"NAME", "NUMBER", "(", "-", "not", "fold", "scan", "where", "FOLD"}
OPERATORS = {"+", "-", "*", "/", "//", "%", "^", "<", "<=", ">", ">=", "==", "!=", "and", "or", "if", ".", "[", "("}
INSERTABLE = (NEWLINE, ")", "]", "}", ",", ":", "=", "(", "[", "{", "->", "else", "in", "at", "by", "over")


def advance(parser: Parser, name: str) -> Parser | None:
    """The parser after a symbol, or None where it cannot stand."""
    after = parser.copy(deepcopy_values=False)
    try:
        after.feed_token(Terminal(load().terminal(name), ""))
    except UnexpectedToken:
        return None
    return after


def follow(parser: Parser, token: Token) -> Parser | None:
    """The parser after a word, or None where it cannot stand."""
    return None if token.kind == STRAY else advance(parser, symbol(token, parser, load()))


def trace(tokens: Sequence[Token]) -> Parser:
    """The parser after words that are known to be accepted. It builds nothing, and so do its copies."""
    parser = at_start()
    parser.parser_state.parse_conf.callbacks = {}
    for token in tokens:
        parser.feed_token(Terminal(load().terminal(symbol(token, parser, load())), ""))
    return parser


def accepted(parser: Parser) -> frozenset[str]:
    """Every symbol that could stand next."""
    return load().symbols(parser.accepts())


def reach(parser: Parser, tokens: Sequence[Token]) -> int:
    """How many of the words can follow."""
    for count, token in enumerate(tokens):
        after = follow(parser, token)
        if after is None:
            return count
        parser = after
    return len(tokens)


def missing(parser: Parser, rest: Sequence[Token]) -> str | None:
    """The one symbol after which the text goes on for four words more (or to its end), if there is one."""
    ahead = rest[:12]
    best, wanted = 0, None
    for name in INSERTABLE:
        after = advance(parser, name)
        if after is not None and (count := reach(after, ahead)) > best:
            best, wanted = count, name
    return wanted if best >= min(4, len(ahead)) else None


def describe(names: frozenset[str], limit: int = 6) -> str:
    """Symbols in words: `a name or `)``.

    >>> describe(frozenset(("NAME", ")")))
    'a name or `)`'
    """
    words, rest = [], set(names)
    if {"NAME", "NUMBER"} <= rest:
        words.append("an expression")
        rest -= OPERAND
    if {"*", "+"} <= rest:
        words.append("an operator")
        rest -= OPERATORS
    for group, title in ((CLAUSES, "a clause (`work`, `compute`, `time`, …)"), (STEPS, "a step (`local`, `for`, `if`, …)")):
        if len(rest & set(group)) > 4:
            words.append(title)
            rest -= {*group, "for", "NAME", "(", "TIME"}
    words += [KINDS[name] for name in sorted(rest & set(KINDS))]
    if "FOLD" in rest:
        words.append("a fold (`sum`, `max`, …)")
    words += [f"`{name}`" for name in sorted(rest - set(KINDS) - {"FOLD"}, key=lambda w: (w.isalpha(), w))]
    words = words[:limit]
    return " or ".join(part for part in (", ".join(words[:-1]), *words[-1:]) if part)


def in_words(name: str) -> str:
    """One symbol in words."""
    return KINDS.get(name, f"`{name}`")
