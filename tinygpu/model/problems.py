"""The messages of one elaboration, gathered: elaboration goes on after a mistake, and reports everything it found.

Comes in: a code of the catalogue, a title in words, spans, a fix. Goes out: `TinygpuError` with all of them, each once.
The one idea: a mistake becomes a term of dtype `?` that every operation passes on in silence, so one mistake is one message.
"""

from __future__ import annotations

from collections.abc import Iterable

from tinygpu.category.term import Const
from tinygpu.diagnostic import Diagnostic, Label, Span, TinygpuError
from tinygpu.record import dataclass, field, replace

UNKNOWN = "?"
WRONG = Const(0, UNKNOWN)  # what stands for a term that has been complained about


@dataclass(slots=True)
class Problems:
    """A list of diagnostics that only grows.

    >>> problems = Problems()
    >>> _ = problems.add("TG101", "unknown name q", Span(), "not a size", help="declare it")
    >>> [d.code for d in problems.found]
    ['TG101']
    """

    found: list[Diagnostic] = field(default_factory=list)
    seen: set[tuple[str, str, Span]] = field(default_factory=set, repr=False)
    told: int = 0  # messages, also those that stand there already: a mistake of an op is one of each of its machines

    def add(self, code: str, title: str, span: Span, text: str = "", *labels: Label, help: str = "") -> Const:
        """Records one message, unless the same one stands at the same place already; gives the term that replaces what is wrong."""
        self.told += 1
        self.take(Diagnostic(code, title, (Label(span, text), *labels), helps=(help,) if help else ()))
        return WRONG

    def take(self, diagnostic: Diagnostic) -> None:
        """Records a message that was found elsewhere."""
        key = diagnostic.code, diagnostic.title, diagnostic.span
        if key not in self.seen:
            self.seen.add(key)
            self.found.append(diagnostic)

    def __len__(self) -> int:
        return len(self.found)

    def stop(self, rest: object = None) -> None:
        """Raises `TinygpuError` with everything found, in the order of the text; does nothing if there is nothing."""
        if self.found:
            error = TinygpuError(*sorted(self.found, key=lambda d: (d.span.file, d.span.start)))
            error.rest = rest
            raise error


def head(span: Span, text: str) -> Span:
    """The beginning of a declaration, `machine NAME`, to underline instead of all its lines.

    >>> head(Span("f", 10, 99, 2, 1, 7, 2), "machine m").end_column
    10
    """
    length = len(text)
    return replace(span, end=span.start + length, end_line=span.line, end_column=span.column + length)


def suggestion(name: str, known: Iterable[str]) -> str:
    """A known name that is close to a mistyped one, as a help; empty if there is none.

    >>> suggestion("matmull", ["matmul", "saxpy"])
    'did you mean matmul?'
    """
    from difflib import get_close_matches  # start-up is part of the user's time, and most texts are right

    close = get_close_matches(name, sorted(set(known)), 1, 0.6)
    return f"did you mean {close[0]}?" if close else ""


def listing(names: Iterable[str], word: str = "and") -> str:
    """Names as people list them.

    >>> listing(["a", "b", "c"]), listing(["a"])
    ('a, b and c', 'a')
    """
    names = list(names)
    return f"{', '.join(names[:-1])} {word} {names[-1]}" if len(names) > 1 else "".join(names)
