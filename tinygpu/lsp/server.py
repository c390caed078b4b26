"""The language server: what an editor asks, and who answers.

Comes in: the editor's notifications and requests. Goes out: messages, and answers. The one idea: nothing is computed here; every answer is a function of what was read of a text, and
of the verdicts on it, and a text is read a little after its last change.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from tinygpu.commands.common import bug
from tinygpu.diagnostic import Diagnostic
from tinygpu.lsp import says
from tinygpu.lsp.elsewhere import User, users
from tinygpu.lsp.jobs import Worker
from tinygpu.lsp.place import Page
from tinygpu.lsp.read import as_document
from tinygpu.lsp.state import State
from tinygpu.lsp.verdicts import Job

PAUSE = 0.01  # seconds without a change, after which a text is proved


class Server(LanguageServer):
    """The texts that are open, and the process that proves."""

    def __init__(self, version: str) -> None:
        super().__init__("tinygpu", version)
        self.states: dict[str, State] = {}
        self.waiting: dict[str, asyncio.Task[None]] = {}
        self.said: dict[str, list[tuple[types.Diagnostic, Diagnostic]]] = {}
        self.worker = Worker(self.answered, self.lost)
        self.refreshing: asyncio.Task[None] | None = None

    def latest(self, uri: str, again: bool = False) -> State:
        """What is known of a text, which may have changed since it was read."""
        document = self.workspace.get_text_document(uri)
        if uri not in self.states:
            self.states[uri] = State(uri, as_document("", document.path))
        self.states[uri].changed(document.source.replace("\r\n", "\n"), again)
        return self.states[uri]

    def state(self, uri: str) -> State:
        """What is known of a text, as it is at this moment; it is proved while it is read here."""
        state = self.latest(uri)
        if uri in self.waiting and self.worker.alive:
            self.prove(state)
        state.refresh()
        return state

    def prove(self, state: State) -> None:
        """Asks for the verdicts of a text, once."""
        if state.asked != state.number:
            state.asked = state.number
            self.worker.send(state.job())

    def page(self, uri: str) -> Page:
        """The text in lines."""
        return Page(self.state(uri).document.text, self.workspace.position_codec)

    def users(self, file: str, name: str) -> Iterator[User]:
        """The files of the folder that is open, or of the file's own, that use a name of a file."""
        texts = {os.path.realpath(one.path): one.source.replace("\r\n", "\n") for one in self.workspace.text_documents.values()}
        return users(file, name, Path(self.workspace.root_path or os.path.dirname(file)), texts)

    def changed(self, uri: str, pause: float = PAUSE) -> None:
        """A text has changed: after a pause its verdicts are asked for, and it is read."""
        if uri in self.waiting:
            self.waiting[uri].cancel()
        self.waiting[uri] = asyncio.get_running_loop().create_task(self.later(uri, pause))

    async def later(self, uri: str, pause: float) -> None:
        """Has a text proved when nothing has changed for a while; what takes long to read is not read here at every key."""
        await asyncio.sleep(pause)
        await self.worker.begin()
        state = self.latest(uri)
        self.prove(state)
        await asyncio.sleep(max(0.0, state.seconds - pause))
        state.refresh()
        self.publish(uri)

    def answered(self, uri: str, number: int, found: Any) -> None:
        """A verdict is there."""
        if uri in self.states and self.states[uri].answered(number, found):
            self.publish(uri)

    def lost(self, code: int) -> None:
        """The process that proves has ended by itself."""
        self.tell(
            Diagnostic("TG937", f"the process that proves has ended, with code {code}", helps=("the next change begins it again",))
        )

    def report_server_error(self, error: Exception, source: Any) -> None:
        """A bug of ours becomes a message."""
        self.tell(bug(error))

    def tell(self, one: Diagnostic) -> None:
        """A message that is of no text."""
        said = "; ".join((one.headline, *one.notes, *one.helps))
        self.window_show_message(types.ShowMessageParams(types.MessageType.Error, said))

    def publish(self, uri: str) -> None:
        """Says what there is to say of a text."""
        state, page = self.states[uri], Page(self.states[uri].document.text, self.workspace.position_codec)
        self.said[uri] = [(says.as_diagnostic(one, state.document, page, name), one) for one, name in state.messages()]
        found = [said for said, _ in self.said[uri]]
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, found))
        capable = self.client_capabilities.workspace
        if capable and capable.code_lens and capable.code_lens.refresh_support:
            self.refreshing = asyncio.get_running_loop().create_task(self.refresh())

    async def refresh(self) -> None:
        """Asks the editor to ask for the lines above machines again."""
        with suppress(JsonRpcException):  # who does not know of it says so
            await self.workspace_code_lens_refresh_async(None)

    def imported_changed(self) -> None:
        """A file has changed on disk, which others may import: all texts are read again."""
        for uri in self.states:
            self.latest(uri, again=True)
            self.changed(uri)

    def closed(self, uri: str) -> None:
        """A text is no longer open."""
        if uri in self.waiting:
            self.waiting.pop(uri).cancel()
        self.states.pop(uri, None)
        self.said.pop(uri, None)
        if self.worker.alive:
            self.worker.send(Job(uri, 0, "", ""))  # which ends what is under way
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))
