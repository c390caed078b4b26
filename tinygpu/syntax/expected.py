"""What could stand at a place of a text: the automaton asked, and its answer in the user's words.

Comes in: the states of the automaton before a word. Goes out: the symbols it would take, a sentence part that names them,
and the one word whose absence would explain the error. The one idea: nothing is guessed, every answer is tried on the automaton.
"""

from __future__ import annotations

from collections.abc import Sequence

from tinygpu.syntax.automaton import symbol
from tinygpu.syntax.lexer import NEWLINE, STRAY, Token
from tinygpu.syntax.tables import END, Tables

Stack = list[int]
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


def step(stack: Stack, name: str, tables: Tables) -> bool:
    """Move the stack over a symbol; False where it cannot stand. The end of a text leads to the state of a whole file."""
    while True:
        action = tables.rows[stack[-1]].get(name)
        if action is None:
            return False
        if action >= 0:
            stack.append(action)
            return True
        rule = tables.rules[-1 - action]
        del stack[len(stack) - rule.size :]
        stack.append(tables.rows[stack[-1]][rule.head])
        if name == END and stack[-1] == tables.end:
            return True


def advance(stack: Stack, name: str, tables: Tables) -> Stack | None:
    """The states after a symbol, or None where it cannot stand."""
    after = list(stack)
    return after if step(after, name, tables) else None


def trace(tokens: Sequence[Token], tables: Tables) -> Stack:
    """The states after words that are known to be accepted."""
    stack = [0]
    for token in tokens:
        known = step(stack, symbol(token, tables.rows[stack[-1]], tables), tables)
        assert known, "the words before an error are accepted"
    return stack


def accepted(stack: Stack, tables: Tables) -> frozenset[str]:
    """Every symbol that could stand next."""
    return frozenset(name for name in tables.rows[stack[-1]] if name[0] != ":" or name == ":" if advance(stack, name, tables))


def reach(stack: Stack, tokens: Sequence[Token], tables: Tables) -> int:
    """How many of the words can follow."""
    for count, token in enumerate(tokens):
        after = None if token.kind == STRAY else advance(stack, symbol(token, tables.rows[stack[-1]], tables), tables)
        if after is None:
            return count
        stack = after
    return len(tokens)


def missing(stack: Stack, rest: Sequence[Token], tables: Tables) -> str | None:
    """The one symbol after which the text goes on for four words more (or to its end), if there is one."""
    ahead = rest[:12]
    best, wanted = 0, None
    for name in INSERTABLE:
        after = advance(stack, name, tables)
        if after is not None and (count := reach(after, ahead, tables)) > best:
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
