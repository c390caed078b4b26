"""Messages and their fixes as an editor shows them.

Comes in: a `Diagnostic` and the text that it points into. Goes out: the same for an editor, and the edits that it offers. The one idea: an editor is one more reader of `Diagnostic`; what is
wrong elsewhere is said at the import that brought it, or at the head of what is judged.
"""

from __future__ import annotations

from collections.abc import Iterable

from lsprotocol import types

from tinygpu.diagnostic import Diagnostic, Label, Span, TinygpuError
from tinygpu.lsp.place import START, Page, location, uri_of
from tinygpu.lsp.read import Document
from tinygpu.syntax import tree

SEVERITY = {
    "error": types.DiagnosticSeverity.Error,
    "refuted": types.DiagnosticSeverity.Error,
    "unknown": types.DiagnosticSeverity.Warning,
    "warning": types.DiagnosticSeverity.Warning,
    "note": types.DiagnosticSeverity.Information,
}
UNUSED = "TG104"


def message(one: Diagnostic) -> str:
    """The title, what the place says, the smallest case, and the helps."""
    lines = [one.title]
    if one.labels and one.labels[0].text:
        lines.append(one.labels[0].text)
    if one.case is not None:
        width = max(len(name) for name, _ in one.case.rows)
        lines += [
            "",
            "smallest counterexample",
            *(f"  {name:<{width}}  {'   and   '.join(values)}" for name, values in one.case.rows),
        ]
    lines += [f"note: {note}" for note in one.notes] + [f"help: {help}" for help in one.helps]
    return "\n".join(lines)


def as_diagnostic(one: Diagnostic, document: Document, page: Page, name: str = "") -> types.Diagnostic:
    """A message for the editor; `name` is the declaration that it is of, where it has no place in the text itself."""
    here = next((label for label in one.places if label.span.file == document.path and label.span.line), None)
    own = here is not None and here is one.places[0]
    return types.Diagnostic(
        page.span(here.span) if own and here else head(document, page, name),
        message(one),
        SEVERITY.get(one.verdict, types.DiagnosticSeverity.Error),
        one.code,
        source="tinygpu",
        tags=[types.DiagnosticTag.Unnecessary] if one.code == UNUSED else None,
        related_information=list(related(one.places[1:] if own else one.places, document, page)),
    )


def head(document: Document, page: Page, name: str) -> types.Range:
    """Where a declaration has its name; without one, what the first import says, or the beginning."""
    for one in document.tree.declarations:
        if (name and getattr(one, "name", "") == name) or (not name and isinstance(one, tree.Import)):
            start = document.names.defined.get((-1, name), one.span.start)
            return page.range(start, start + len(name)) if name else page.span(one.span)
    return START


def related(labels: Iterable[Label], document: Document, page: Page) -> Iterable[types.DiagnosticRelatedInformation]:
    """The other places of a message."""
    for label in labels:
        if not label.span.line:
            continue
        try:
            where = location_of(label.span, document, page)
        except TinygpuError:  # a file that is gone
            continue
        yield types.DiagnosticRelatedInformation(where, label.text or "here")


def location_of(span: Span, document: Document, page: Page) -> types.Location:
    """A place in this text or in another one."""
    if span.file == document.path:
        return types.Location(uri_of(span.file), page.span(span))
    return location(span, page.codec)


def actions(uri: str, page: Page, said: types.Diagnostic, one: Diagnostic) -> list[types.CodeAction]:
    """The fixes of a message; one alone is preferred."""
    made = []
    for fix in one.fixes:
        if (place := fix.place(page.text)) is not None:
            edit = types.TextEdit(page.range(*place), fix.text)
            change = types.WorkspaceEdit(changes={uri: [edit]})
            alone = len(one.fixes) == 1
            made.append(types.CodeAction(fix.title, types.CodeActionKind.QuickFix, [said], is_preferred=alone, edit=change))
    return made
