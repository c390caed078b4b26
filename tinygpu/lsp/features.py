"""What the server answers to: each request of an editor with its function.

Comes in: a server. Goes out: the same, with its features. The one idea: a feature is a line that finds the text, and a function that knows nothing of the protocol's state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

from tinygpu.commands.fmt import formatted
from tinygpu.diagnostic import TinygpuError
from tinygpu.lsp import says
from tinygpu.lsp.colours import LEGEND, tokens
from tinygpu.lsp.complete import complete
from tinygpu.lsp.hover import hover
from tinygpu.lsp.lenses import lenses, outline
from tinygpu.lsp.place import uri_of
from tinygpu.lsp.rename import definition, edits_of, references, renameable
from tinygpu.lsp.server import Server


def register(server: Server) -> Server:
    """The server, which answers."""
    for register_some in (texts, edits, names, pages):
        register_some(server)
    return server


def texts(server: Server) -> None:
    """Texts that are opened, changed, saved and closed."""

    @server.feature(types.INITIALIZED)
    async def initialized(_: types.InitializedParams) -> None:
        await server.worker.begin()

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    async def opened(given: types.DidOpenTextDocumentParams) -> None:
        server.changed(given.text_document.uri, 0.0)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def changed(given: types.DidChangeTextDocumentParams) -> None:
        server.changed(given.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    async def closed(given: types.DidCloseTextDocumentParams) -> None:
        server.closed(given.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def saved(_: types.DidSaveTextDocumentParams) -> None:
        server.imported_changed()

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    async def watched(_: types.DidChangeWatchedFilesParams) -> None:
        server.imported_changed()

    @server.feature(types.SHUTDOWN)
    async def shut(_: None) -> None:
        server.worker.end()


def edits(server: Server) -> None:
    """What changes a text."""

    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions([types.CodeActionKind.QuickFix]))
    async def code_actions(given: types.CodeActionParams) -> Sequence[types.CodeAction]:
        uri = given.text_document.uri
        page, asked = server.page(uri), given.range
        near = [
            (said, one) for said, one in server.said.get(uri, ()) if said.range.start <= asked.end and asked.start <= said.range.end
        ]
        return [action for said, one in near for action in says.actions(uri, page, said, one)]

    @server.feature(types.TEXT_DOCUMENT_FORMATTING)
    async def formatting(given: types.DocumentFormattingParams) -> list[types.TextEdit]:
        page, state = server.page(given.text_document.uri), server.state(given.text_document.uri)
        with suppress(TinygpuError):  # what does not parse stays as it is
            new = formatted(page.text, state.document.path)
            return [types.TextEdit(page.whole, new)] if new != page.text else []
        return []

    @server.feature(types.TEXT_DOCUMENT_PREPARE_RENAME)
    async def prepare(given: types.PrepareRenameParams) -> types.Range:
        page, document = server.page(given.text_document.uri), server.state(given.text_document.uri).document
        with refused():
            one = renameable(document, page.offset(given.position))
        return page.range(one.start, one.end)

    @server.feature(types.TEXT_DOCUMENT_RENAME, types.RenameOptions(prepare_provider=True))
    async def rename(given: types.RenameParams) -> types.WorkspaceEdit:
        page, document = server.page(given.text_document.uri), server.state(given.text_document.uri).document
        with refused():
            found = edits_of(document, page, page.offset(given.position), given.new_name, server.users)
        own = found.pop(uri_of(document.path))
        return types.WorkspaceEdit(changes={given.text_document.uri: own, **found})

    @server.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=[".", "[", "("]))
    async def completion(given: types.CompletionParams) -> types.CompletionList:
        page, document = server.page(given.text_document.uri), server.state(given.text_document.uri).document
        return types.CompletionList(False, complete(document, page.offset(given.position)))


@contextmanager
def refused() -> Iterator[None]:
    """What cannot be done is said in a sentence."""
    try:
        yield
    except TinygpuError as error:
        one = error.diagnostics[0]
        raise JsonRpcInvalidParams("; ".join((one.headline, *one.helps))) from None


def names(server: Server) -> None:
    """What a name is, and where."""

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hovered(given: types.HoverParams) -> types.Hover | None:
        uri = given.text_document.uri
        page, state, at = server.page(uri), server.state(uri), given.position
        found = [one for said, one in server.said.get(uri, ()) if said.range.start <= at <= said.range.end]
        text, one = hover(state, page.offset(at), found)
        place = page.range(one.start, one.end) if one else None
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text), place) if text else None

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    async def defined(given: types.DefinitionParams) -> types.Location | None:
        page = server.page(given.text_document.uri)
        return definition(server.state(given.text_document.uri).document, page, page.offset(given.position))

    @server.feature(types.TEXT_DOCUMENT_REFERENCES)
    async def used(given: types.ReferenceParams) -> list[types.Location]:
        page, document = server.page(given.text_document.uri), server.state(given.text_document.uri).document
        return references(document, page, page.offset(given.position), given.context.include_declaration, server.users)

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT)
    async def highlight(given: types.DocumentHighlightParams) -> list[types.DocumentHighlight]:
        page, document = server.page(given.text_document.uri), server.state(given.text_document.uri).document
        return [types.DocumentHighlight(one.range) for one in references(document, page, page.offset(given.position), True)]


def pages(server: Server) -> None:
    """What is shown of a whole text."""

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    async def code_lens(given: types.CodeLensParams) -> list[types.CodeLens]:
        return lenses(server.state(given.text_document.uri), server.page(given.text_document.uri))

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    async def symbols(given: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
        return outline(server.state(given.text_document.uri), server.page(given.text_document.uri))

    @server.feature(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, LEGEND)
    async def colours(given: types.SemanticTokensParams) -> types.SemanticTokens:
        return tokens(server.state(given.text_document.uri).document.names, server.page(given.text_document.uri))
