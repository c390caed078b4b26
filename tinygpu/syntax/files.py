"""Files of specs: what is read of them, and what of another one is written `import "…"`.

Comes in: a path as typed. Goes out: the text of a spec, or why there is none. The one idea: the shipped library has a place of its own,
`tinygpu:std/…`, which is the same on every machine, so messages may name it.
"""

from __future__ import annotations

import os
import re
import sys
from contextlib import nullcontext
from functools import cache
from pathlib import Path, PurePosixPath

from tinygpu.diagnostic import TinygpuError
from tinygpu.syntax.grammar import source

LARGEST = 1 << 24  # bytes of a file that is read
SHIPPED = "tinygpu:"
LIBRARY = "std/"
SUFFIX = ".tgpu"


def read_text(path: str) -> str:
    """The text of a spec; `-` is the standard input. Raises TG903 for what cannot be read, is no UTF-8, is too large, or is no text."""
    try:
        with nullcontext(sys.stdin.buffer) if path == "-" else open(place(path), "rb") as file:
            data = file.read(LARGEST + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", "") or type(error).__name__
        raise TinygpuError.of("TG903", f"{path} cannot be read: {reason.lower()}") from None
    if len(data) > LARGEST:
        raise TinygpuError.of("TG903", f"{path} cannot be read: it has more than {LARGEST} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        title = f"{path} is not UTF-8: byte {data[error.start]:#04x} in line {line}"
        raise TinygpuError.of("TG903", title, help="save the file as UTF-8") from None
    return text.replace("\r\n", "\n")


def place(path: str) -> Path:
    """Where a file lies."""
    return source() / path.removeprefix(SHIPPED) if path.startswith(SHIPPED) else Path(path)


def meant(written: str, importing: str) -> str:
    """The file that an import of another file means: one of the library, or one beside that file; `.tgpu` may be left out.

    >>> meant("std/functions", "specs/gelu.tgpu"), meant("../lib/norms.tgpu", "specs/gelu.tgpu")
    ('tinygpu:std/functions.tgpu', 'specs/../lib/norms.tgpu')
    """
    whole = written if written.endswith(SUFFIX) else written + SUFFIX
    if written.startswith(LIBRARY):
        return SHIPPED + whole
    if importing.startswith(SHIPPED):
        return SHIPPED + str(PurePosixPath(importing.removeprefix(SHIPPED)).parent / whole)
    return os.path.join(os.path.dirname(importing), whole)


@cache
def of_the_library() -> dict[str, str]:
    """The functions of the library, each with what imports it.

    >>> of_the_library()["relu"]
    'std/functions'
    """
    files = (LIBRARY + name.removesuffix(SUFFIX) for name in beside(SHIPPED + LIBRARY + "functions"))
    return {name: path for path in files for name in re.findall(r"(?m)^def (\w+)", read_text(meant(path, "")))}


def beside(path: str) -> list[str]:
    """The specs that lie beside a file."""
    folder = place(path).parent
    return sorted(p.name for p in folder.glob(f"*{SUFFIX}")) if folder.is_dir() else []
