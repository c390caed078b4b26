"""What tests of the language server share: a real client, which talks to a process of its own, and texts that it opens."""

from __future__ import annotations

import asyncio
import itertools
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_lsp
from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities
from pytest_lsp.client import make_test_lsp_client

CACHE = tempfile.TemporaryDirectory(prefix="tinygpu-lsp-")


def make_client() -> LanguageClient:
    """A client that knows what editors know."""
    client = make_test_lsp_client()
    client.feature(types.WORKSPACE_CODE_LENS_REFRESH)(lambda _: None)
    return client


ENVIRONMENT = {**os.environ, "TINYGPU_CACHE": str(Path(CACHE.name) / "cache")}
CONFIG = ClientServerConfig([sys.executable, "-m", "tinygpu", "lsp"], make_client, ENVIRONMENT)
NUMBERS = itertools.count()
PATIENCE = 60.0  # seconds after which a test does not wait any longer


@pytest.fixture(scope="session")
def place() -> Path:
    """A folder for texts, and for what is kept of them."""
    return Path(CACHE.name)


@pytest_lsp.fixture(config=CONFIG, scope="session")
async def client(lsp_client: LanguageClient):
    root = Path(CACHE.name).as_uri()
    await lsp_client.initialize_session(
        types.InitializeParams(capabilities=client_capabilities("visual-studio-code"), root_uri=root)
    )
    yield
    await lsp_client.shutdown_session()


class Text:
    """A text that is open."""

    def __init__(self, client: LanguageClient, uri: str, text: str) -> None:
        self.client, self.uri, self.text, self.version = client, uri, text, 1
        item = types.TextDocumentItem(uri, "tgpu", 1, text)
        client.text_document_did_open(types.DidOpenTextDocumentParams(item))

    @property
    def id(self) -> types.TextDocumentIdentifier:
        return types.TextDocumentIdentifier(self.uri)

    def change(self, old: str, new: str) -> None:
        """Writes something else where `old` stands first, as an editor says it."""
        start = self.text.index(old)
        place = types.Range(self.at(start), self.at(start + len(old)))
        self.text = self.text[:start] + new + self.text[start + len(old) :]
        self.version += 1
        change = types.TextDocumentContentChangePartial(place, new)
        about = types.VersionedTextDocumentIdentifier(self.version, self.uri)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(about, [change]))

    def at(self, offset: int) -> types.Position:
        """A position as this client counts: units of UTF-16."""
        before = self.text[:offset]
        line = before.rpartition("\n")[2]
        return types.Position(before.count("\n"), len(line.encode("utf-16-le")) // 2)

    def here(self, word: str, more: int = 0) -> types.Position:
        """The position of a word, or of something behind its beginning."""
        return self.at(self.text.index(word) + more)

    def held(self, place: types.Range) -> str:
        """The characters of a range."""
        return self.text[self.offset(place.start) : self.offset(place.end)]

    def offset(self, position: types.Position) -> int:
        lines = self.text.split("\n")
        units = lines[position.line].encode("utf-16-le")[: 2 * position.character]
        return sum(len(line) + 1 for line in lines[: position.line]) + len(units.decode("utf-16-le"))

    async def said(self, wanted: Callable[[list[types.Diagnostic]], Any]) -> list[types.Diagnostic]:
        """The messages, once they are as wanted."""
        return await self.until(lambda: self.known(wanted))

    async def known(self, wanted: Callable[[list[types.Diagnostic]], Any]) -> list[types.Diagnostic] | None:
        found = self.client.diagnostics.get(self.uri)
        return [*found] if found is not None and wanted([*found]) else None

    async def lenses(self, wanted: Callable[[str], Any]) -> list[str]:
        """The lines above declarations, once they are as wanted."""

        async def ask() -> list[str] | None:
            found = await self.client.text_document_code_lens_async(types.CodeLensParams(self.id))
            lines = [one.command.title for one in found or () if one.command]
            return lines if wanted("\n".join(lines)) else None

        return await self.until(ask)

    async def until(self, ask: Callable[[], Any]) -> Any:
        """What is asked for, as soon as it is there."""
        end = asyncio.get_running_loop().time() + PATIENCE
        while (found := await ask()) is None:
            assert asyncio.get_running_loop().time() < end, (self.client.diagnostics.get(self.uri), self.text)
            await asyncio.sleep(0.02)
        return found


@pytest.fixture
def opened(client: LanguageClient, place: Path) -> Callable[..., Text]:
    """Opens a text, in a file of its own, or of a name."""

    def make(text: str, name: str = "") -> Text:
        path = place / (name or f"text{next(NUMBERS)}.tgpu")
        path.write_text(text, encoding="utf-8")
        return Text(client, path.as_uri(), text)

    return make
