"""Places of a text as editors count them.

Comes in: characters, spans, an editor's positions. Goes out: the other of these. The one idea: a line is a line everywhere; within it an editor counts the units of an encoding, in which
a sign beyond the first plane is two of UTF-16.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from itertools import accumulate

from lsprotocol import types
from pygls.uris import from_fs_path
from pygls.workspace import PositionCodec
from pygls.workspace.position_codec import ServerTextPosition

from tinygpu.diagnostic import Span
from tinygpu.syntax.files import SHIPPED, place, read_text

START = types.Range(types.Position(0, 0), types.Position(0, 0))


class Page:
    """A text in lines, for an editor that counts as `codec` does."""

    __slots__ = ("codec", "lines", "starts", "text")

    def __init__(self, text: str, codec: PositionCodec) -> None:
        self.text, self.codec, self.lines = text, codec, text.split("\n")
        self.starts = [0, *accumulate(len(line) + 1 for line in self.lines)]

    def position(self, offset: int) -> types.Position:
        """Where a character is."""
        line = min(bisect_right(self.starts, offset), len(self.lines)) - 1
        return self.codec.position_to_client_units(self.lines, types.Position(line, offset - self.starts[line]))

    def range(self, start: int, end: int) -> types.Range:
        """Where characters are."""
        return types.Range(self.position(start), self.position(end))

    def span(self, span: Span) -> types.Range:
        """Where a span is; an empty one is the character behind it."""
        return self.range(span.start, max(span.end, span.start))

    def offset(self, position: types.Position) -> int:
        """The character at a position of an editor; its own is left as it is."""
        if position.line >= len(self.lines):
            return len(self.text)
        here = types.Position(position.line, position.character)
        found: ServerTextPosition = self.codec.position_from_client_units(self.lines, here)
        line = self.lines[position.line]
        behind = position.character >= self.codec.client_num_units(line)
        return self.starts[position.line] + (len(line) if behind else found.character)

    @property
    def whole(self) -> types.Range:
        """All of it."""
        return self.range(0, len(self.text))


def uri_of(file: str) -> str:
    """The address of a file, also of one of the library."""
    found = place(file) if file.startswith(SHIPPED) else file
    return from_fs_path(os.path.abspath(found)) or ""


def location(span: Span, codec: PositionCodec) -> types.Location:
    """A place in another file, as that file is now."""
    return types.Location(uri_of(span.file), Page(read_text(span.file), codec).span(span))
