"""Messages between processes: a length, and so many bytes.

Comes in: values. Goes out: the same, in another process. The one idea: a message is whole or it is none, so whoever ends in the middle of one has said nothing.
"""

from __future__ import annotations

import os
import pickle
from typing import Any

LENGTH = 4  # bytes of the length of a message


def packed(message: Any) -> bytes:
    """A value as a message."""
    data = pickle.dumps(message)
    return len(data).to_bytes(LENGTH, "little") + data


def send(target: int, message: Any) -> None:
    """Writes a message. Raises OSError where nobody reads any more."""
    rest = memoryview(packed(message))
    while rest:
        rest = rest[os.write(target, rest) :]


def receive(source: int) -> Any:
    """The next message. Raises EOFError where there is none."""
    return pickle.loads(_exactly(source, int.from_bytes(_exactly(source, LENGTH), "little")))


def _exactly(source: int, length: int) -> bytes:
    read = b""
    while len(read) < length:
        part = os.read(source, length - len(read))
        if not part:
            raise EOFError
        read += part
    return read
