"""What is known of each text that is open: what was read of it, the verdicts, and what was said.

Comes in: a text that changed, a verdict that came. Goes out: what is to be proved, and the messages of a text. The one idea: a verdict is of a key; where the text says something else, or
cannot be read, the last verdict stays, and is said to be of before.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

from tinygpu.diagnostic import Diagnostic
from tinygpu.lsp.read import Document, as_document
from tinygpu.lsp.verdicts import Cost, Job, Shown, recalled, subjects
from tinygpu.record import dataclass, field, replace

HEADS = re.compile(r"^(gradient of|machine|choice|pipeline|theorem|lemma)\s+(\w+)", re.MULTILINE)


def heads(text: str) -> Iterator[tuple[str, int, int]]:
    """The declarations of a text that have a verdict: what each is called, and the place of the word that says it.

    >>> list(heads("machine tile : f {}\\ngradient of f is g"))
    [('tile', 8, 12), ('gradient_of_f', 32, 33)]
    """
    for match in HEADS.finditer(text):
        yield match[2] if match[1] != "gradient of" else f"gradient_of_{match[2]}", match.start(2), match.end(2)


@dataclass(slots=True)
class State:
    """A text that is open: `verdicts` are the last ones, by heading; `stated` are those that the text has now, `missing` those that are being found, `failed` what went
    wrong with that; `costs` are by key, and reading took so many `seconds`. Of its numbers, one was `read` and one was `asked` about last."""

    uri: str
    document: Document
    text: str = ""
    number: int = 0
    read: int = 0
    asked: int = 0
    seconds: float = 0.0
    verdicts: dict[str, Shown] = field(default_factory=dict)
    stated: set[str] = field(default_factory=set)
    missing: set[str] = field(default_factory=set)
    costs: dict[str, str] = field(default_factory=dict)
    failed: tuple[Diagnostic, ...] = ()

    def changed(self, text: str, again: bool = False) -> bool:
        """Takes a text, which has another number if it is another one, or what it imports may be; says whether it is."""
        new = again or text != self.text or not self.number
        self.text, self.number = text, self.number + new
        return new

    def job(self) -> Job:
        """What is to be proved, and counted, of the text."""
        return Job(self.uri, self.number, self.document.path, self.text, frozenset(self.costs))

    def refresh(self) -> None:
        """Reads the text, if that has not been done; what has no verdict that is kept is then missing."""
        if self.read == self.number:
            return
        begun = time.perf_counter()
        self.document, self.read = as_document(self.text, self.document.path), self.number
        found, spec = recalled(self.document.loaded), self.document.loaded
        self.failed, self.stated = (), {*found}
        self.missing = {title for title, one in found.items() if one is None}
        for title, one in found.items():
            before = self.verdicts.get(title)
            if one is not None:
                same = before is not None and before.key == one.key
                self.verdicts[title] = replace(before, diagnostics=one.diagnostics) if same and before else one
        wrong = {name for name, _, _ in heads(self.text)} - {one.name for one in subjects(spec).values()}
        self.verdicts = {t: one for t, one in self.verdicts.items() if t in found or one.name in wrong}
        self.seconds = time.perf_counter() - begun

    def answered(self, number: int, found: Shown | Cost | Diagnostic | None) -> bool:
        """What was found of the text with that number; whether it is news."""
        if number != self.number:
            return False
        self.refresh()
        match found:
            case Shown():
                self.verdicts[found.heading] = found
                self.missing.discard(found.heading)
            case Cost(key, said):
                self.costs[key] = said
            case Diagnostic():
                self.failed = (found,)
        return found is not None

    def current(self, one: Shown) -> bool:
        """Whether a verdict is of the text as it is."""
        return one.heading in self.stated and one.heading not in self.missing

    def messages(self) -> Iterator[tuple[Diagnostic, str]]:
        """Everything that is to be said, each with the declaration that it is of, if it is a verdict."""
        yield from ((one, "") for one in (*self.document.diagnostics, *self.failed))
        for shown in self.verdicts.values():
            for one in shown.diagnostics if self.current(shown) else shown.diagnostics[:1]:
                yield one if self.current(shown) else replace(one, labels=(), title=f"before this edit: {one.title}"), shown.name
