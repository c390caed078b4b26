"""Words to a tree: Lark's LALR(1) parser, fed word by word, and asked what it would take.

Comes in: words. Goes out: what the row of the whole file's rule makes, or `Unexpected`; the parser at a place, and what could stand there.
The one idea: the parser's state decides what a word is, so a word is a keyword only where one may stand, and nothing is guessed: every
answer about a place is tried on the parser.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from lark import Token as Terminal
from lark import UnexpectedToken

from tinygpu.syntax.grammar import DEPTH, Grammar, TooDeep, shipped_parser
from tinygpu.syntax.lexer import STRAY, WORD, Token

OPEN = 8 * DEPTH  # what is begun and not ended; a level of nesting begins at most eight parts

Parser = Any  # Lark's parser of this grammar at a place of a text: an `InteractiveParser`


class Unexpected(Exception):
    """A word that cannot stand where it stands, and the state in which the parser refused it."""

    def __init__(self, token: Token, state: int, too_deep: bool = False):
        super().__init__(token.text)
        self.token, self.state, self.too_deep = token, state, too_deep


def at_start() -> Parser:
    """The parser before the first word."""
    return shipped_parser().lark.parse_interactive()


def symbol(token: Token, parser: Parser, grammar: Grammar) -> str:
    """The grammar's symbol of a word: a word is a keyword where its text may stand, and always if it is reserved."""
    if token.kind != WORD:
        return token.kind
    if token.text in grammar.reserved or grammar.literals.get(token.text) in parser.choices():
        return token.text
    return "FOLD" if token.text in grammar.folds else "NAME"


def run(tokens: Iterable[Token], parser: Parser) -> Any:
    """The tree of a text, every rule a `Node`."""
    grammar, state = shipped_parser(), parser.parser_state
    result: Any = None
    for token in tokens:
        name = grammar.terminal(symbol(token, parser, grammar))
        try:
            result = parser.feed_token(Terminal(name, token.text, token.start, 1, 1, 1, 1, token.end))
            if len(state.state_stack) > OPEN:
                raise TooDeep
        except (UnexpectedToken, TooDeep) as refusal:
            raise Unexpected(token, state.position, isinstance(refusal, TooDeep)) from None
    return result


# ── the parser, asked ──────────────────────────────────────────────────────────────────────────────────────────────


def trace(tokens: Iterable[Token]) -> Parser:
    """The parser after words that are known to be accepted. It builds nothing, and so do its copies."""
    parser = at_start()
    for _ in walked(tokens, parser):
        pass
    return parser


def walked(tokens: Iterable[Token], parser: Parser | None = None) -> Iterator[tuple[Token, str]]:
    """Words that are known to be accepted, each with the grammar's symbol of it."""
    parser, grammar = parser or at_start(), shipped_parser()
    parser.parser_state.parse_conf.callbacks = {}
    for token in tokens:
        name = symbol(token, parser, grammar)
        parser.feed_token(Terminal(grammar.terminal(name), ""))
        yield token, name


def advance(parser: Parser, name: str) -> Parser | None:
    """The parser after a symbol, or None where it cannot stand."""
    after = parser.copy(deepcopy_values=False)
    try:
        after.feed_token(Terminal(shipped_parser().terminal(name), ""))
    except UnexpectedToken:
        return None
    return after


def follow(parser: Parser, token: Token) -> Parser | None:
    """The parser after a word, or None where it cannot stand."""
    return None if token.kind == STRAY else advance(parser, symbol(token, parser, shipped_parser()))


def reach(parser: Parser, tokens: Sequence[Token]) -> int:
    """How many of the words can follow."""
    for count, token in enumerate(tokens):
        after = follow(parser, token)
        if after is None:
            return count
        parser = after
    return len(tokens)
