"""What is known of each text that is open: what was read of it, the verdicts, and what was said.

Comes in: a text that changed, a verdict that came. Goes out: what is to be proved, and the messages of a text. The one idea: a verdict is of a key; where the text says something else, or
cannot be read, the last verdict stays, and is said to be of before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tinygpu.diagnostic import Diagnostic
from tinygpu.lsp.read import Document, read
from tinygpu.lsp.verdicts import Cost, Job, Shown, known, subjects
from tinygpu.record import dataclass, field, replace

HEADS = re.compile(r"^(?:machine|choice|theorem|lemma)\s+(\w+)", re.MULTILINE)


@dataclass(slots=True)
class State:
    """A text that is open: `verdicts` are the last ones, by heading; `stated` are those that the text has now, `missing` those that are being found, `failed` what went
    wrong with that; `costs` are by key."""

    uri: str
    document: Document
    number: int = 0
    verdicts: dict[str, Shown] = field(default_factory=dict)
    stated: set[str] = field(default_factory=set)
    missing: set[str] = field(default_factory=set)
    costs: dict[str, str] = field(default_factory=dict)
    failed: tuple[Diagnostic, ...] = ()

    def refresh(self, text: str) -> Document:
        """What was read of a text, which is read if it is another one."""
        if text != self.document.text:
            self.document = read(text, self.document.path)
        return self.document

    def asked(self) -> Job:
        """What is to be proved of the text: whatever has no verdict that is kept."""
        spec = self.document.loaded
        found = known(spec) if spec else {}
        self.number, self.failed, self.stated = self.number + 1, (), {*found}
        self.missing = {title for title, one in found.items() if one is None}
        for title, one in found.items():
            before = self.verdicts.get(title)
            if one is not None:
                same = before is not None and before.key == one.key
                self.verdicts[title] = replace(before, diagnostics=one.diagnostics) if same and before else one
        wrong = {*HEADS.findall(self.document.text)} - ({one.name for one in subjects(spec).values()} if spec else set())
        self.verdicts = {t: one for t, one in self.verdicts.items() if t in found or one.name in wrong}
        uncounted = tuple(t for t, one in found.items() if one and one.word == "proved" and one.key not in self.costs)
        return Job(
            self.uri, self.number, self.document.path, self.document.text, tuple(t for t in found if t in self.missing), uncounted
        )

    def answered(self, number: int, found: Shown | Cost | Diagnostic | None) -> bool:
        """What was found of the text with that number; whether it is news."""
        if number != self.number:
            return False
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
