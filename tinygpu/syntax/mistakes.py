"""Why a text is not a program of the language, in the user's words."""

from __future__ import annotations

from tinygpu.diagnostic import Diagnostic, Label
from tinygpu.syntax.automaton import Unexpected
from tinygpu.syntax.lexer import Source


def explain(unexpected: Unexpected, source: Source) -> Diagnostic:
    """The diagnostic of a word that cannot stand where it stands."""
    token = unexpected.token
    return Diagnostic("TG001", f"unexpected {token.text!r}", (Label(source.span(token.start, token.end)),))
