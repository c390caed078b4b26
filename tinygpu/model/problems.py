"""The messages of one elaboration, gathered: elaboration goes on after a mistake, and reports everything it found.

Comes in: the name of a message of `grammar/messages.toml`, the places it speaks of, the words that it leaves open. Goes out: `TinygpuError`
with all of them, each once. The one idea: a mistake becomes a term of dtype `?` that every operation passes on in silence, so one mistake
is one message.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, TypeVar

from tinygpu.category.term import Const, text
from tinygpu.diagnostic import Diagnostic, Fix, Label, Span, TinygpuError
from tinygpu.record import dataclass, field, replace
from tinygpu.syntax.grammar import read_grammar_file

T = TypeVar("T")
UNKNOWN = "?"
WRONG = Const(0, UNKNOWN)  # what stands for a term that has been complained about


@dataclass(slots=True)
class Problems:
    """A list of diagnostics that only grows, and one of warnings, which stop nothing.

    >>> problems = Problems()
    >>> _ = problems.say("TG105.operation", Span(), near=["saxpy"], name="saxpi", known=["saxpy"])
    >>> [(d.code, d.title, d.helps) for d in problems.found]
    [('TG105', 'unknown operation saxpi', ('did you mean saxpy?',))]
    """

    found: list[Diagnostic] = field(default_factory=list)
    warnings: list[Diagnostic] = field(default_factory=list, repr=False)
    seen: set[tuple[str, str, Span]] = field(default_factory=set, repr=False)
    told: int = 0  # mistakes, also those that stand there already: one of an op is one of each of its machines
    members: dict[tuple[type, str], str] = field(default_factory=dict, repr=False)  # of families over ranks, what they are
    note: str = field(default="", repr=False)  # what is to be said of the declaration at hand

    def enter(self, declaration: T) -> T:
        """The declaration that the messages after this are of."""
        self.note = self.members.get((type(declaration), getattr(declaration, "name", "")), "")
        return declaration

    def say(
        self,
        message: str,
        span: Span,
        *places: Span | Label | None,
        near: Any = (),
        verdict: Any = "error",
        once: Any = False,
        fixes: Any = (),
        **words: object,
    ) -> Const:
        """Records a message: `span` is what is wrong, `places` are what its labels point at, `words` fill its braces, names as people list them
        and terms as text; `once`, whatever the place. The help is one of the names that are `near`, if there is one. Gives the term that replaces what is wrong."""
        code, _, name = message.partition(".")
        said = {word: _said(one) for word, one in words.items()}
        title, here, help, *labels = (part.format(**said) for part in messages()[code][name])
        found = [place if isinstance(place, Label) else Label(place, labels[at]) for at, place in enumerate(places) if place]
        near_one = closest(said["name"], near) if near else said.get("alias", "")
        help = did_you_mean(near_one) or help
        if once and any(d.title == title for d in self.found):
            self.told += 1
            return WRONG  # where it stands first says enough
        notes = (self.note,) if self.note else ()
        fixes = (Fix(help, span, near_one, said["name"]),) if near_one else fixes
        self.take(
            Diagnostic(code, title, (Label(span, here), *found), verdict, notes=notes, helps=(help,) if help else (), fixes=fixes)
        )
        return WRONG

    def take(self, diagnostic: Diagnostic) -> None:
        """Records a message, unless the same one stands at the same place already; of a family over ranks one at a place is enough."""
        self.told += diagnostic.verdict == "error"
        key = diagnostic.code, diagnostic.title * (not self.note), diagnostic.span.origin or diagnostic.span
        if key not in self.seen:
            self.seen.add(key)
            (self.found if diagnostic.verdict == "error" else self.warnings).append(diagnostic)

    def __len__(self) -> int:
        return self.told

    def stop(self, rest: object = None) -> None:
        """Raises `TinygpuError` with everything found, in the order of the text; does nothing if there is nothing."""
        if self.found:
            error = TinygpuError(*sorted((*self.found, *self.warnings), key=lambda d: (d.span.file, d.span.start)))
            error.rest = rest
            raise error


def refused(message: str, span: Span, *places: Span | Label | None, **words: object) -> TinygpuError:
    """One message, where nothing goes on."""
    problems = Problems()
    problems.say(message, span, *places, **words)
    return TinygpuError(*problems.found)


@cache
def messages() -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    """Every message, by its code and its name."""
    import tomllib  # start-up is part of the user's time, and most texts are right

    return tomllib.loads(read_grammar_file("messages.toml"))


def _said(word: object) -> str:
    """A word of a message."""
    if isinstance(word, str | int):
        return str(word)
    if isinstance(word, float):
        return f"{word:.3g}"
    return listing(word) if isinstance(word, Iterable) else text(word)  # type: ignore[arg-type]


def head(span: Span, text: str) -> Span:
    """The beginning of a declaration, `machine NAME`, to underline instead of all its lines."""
    length = len(text)
    return replace(span, end=span.start + length, end_line=span.line, end_column=span.column + length)


def closest(name: str, known: Iterable[str]) -> str:
    """A known name that is close to a mistyped one; empty if there is none."""
    from difflib import get_close_matches  # late, as above

    close = get_close_matches(name, sorted(set(known)), 1, 0.6)
    return close[0] if close else ""


def suggestion(name: str, known: Iterable[str]) -> str:
    """A known name that is close to a mistyped one, as a help; empty if there is none."""
    return did_you_mean(closest(name, known))


def did_you_mean(name: str) -> str:
    """The help that a name is; empty if there is none."""
    return f"did you mean {name}?" if name else ""


def counted(number: int, word: str) -> str:
    """`1 value`, `2 axes`."""
    return f"{number} {word if number == 1 else {'axis': 'axes', 'index': 'indices'}.get(word, f'{word}s')}"


def listing(names: Iterable[str], word: str = "and") -> str:
    """Names as people list them: `a, b and c`."""
    names = list(names)
    return f"{', '.join(names[:-1])} {word} {names[-1]}" if len(names) > 1 else "".join(names)
