"""How long an editor waits for a verdict: `python -m benchmarks.editor`. From a keystroke in one machine of five to the verdict on it, with the pause after the last key.

Comes in: specs, of each its first five machines. Goes out: a table of medians, of the worst, of the last of several keys, and of how often the median goes into a check of the whole file by a process. The one idea: a real client talks
to the server as an editor does, and what it writes was never proved before.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from lsprotocol import types
from pygls.lsp.client import LanguageClient

from tinygpu import pipeline
from tinygpu.syntax import tree

ROOT = Path(__file__).resolve().parent.parent
SPECS = ("saxpy", "softmax", "matmul", "transpose", "row_sum", "matmul_shared", "norm", "histogram")
MACHINES, KEYS = 5, 12
SEVERAL, APART = 4, 0.12  # keys that are typed quickly, and seconds between two
GOAL = 0.3  # seconds from a keystroke to the verdict


def five(name: str) -> str:
    """A spec with its first five machines, and no choice."""
    path = ROOT / "specs" / f"{name}.tgpu"
    spec = pipeline.load(path)
    machines = [d for d in spec.tree.declarations if isinstance(d, tree.Machine)][:MACHINES]
    kept = [d for d in spec.tree.declarations if d in machines or not isinstance(d, tree.Machine | tree.Choice)]
    return "\n\n".join(spec.text[d.span.start : d.span.end] for d in kept) + "\n"


class Editor(LanguageClient):
    """A client that knows when something was said."""

    def __init__(self) -> None:
        super().__init__("benchmark", "1")
        self.heard = asyncio.Event()
        self.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)(lambda _: self.heard.set())

    async def line(self, uri: str, number: int, whole: bool = False) -> str:
        """What stands above the machine of that number, as soon as there is a verdict on what is written now, or on all of its dtypes."""
        document = types.TextDocumentIdentifier(uri)
        while True:
            found = await self.text_document_code_lens_async(types.CodeLensParams(document)) or ()
            lines = [one.command.title for one in found if one.command]
            current = len(lines) > number and "proved" in lines[number] and "before" not in lines[number]
            if current and not (whole and "…" in lines[number]):
                return lines[number]
            self.heard.clear()
            await asyncio.wait_for(self.heard.wait(), 120)


async def wait(editor: Editor, folder: Path, name: str) -> tuple[int, list[float], list[float]]:
    """How many machines a spec has, and how long each verdict took, the last machine being written: of single keys, and of the last of several."""
    text, path = five(name), folder / f"{name}.tgpu"
    path.write_text(text, encoding="utf-8")
    uri, count = path.as_uri(), text.count("\nmachine ")
    editor.text_document_did_open(types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "tgpu", 0, text)))
    for number in range(count):
        await editor.line(uri, number, whole=True)
    line = text[: text.rindex("\nmachine ")].count("\n") + 1
    head = text.split("\n")[line].rpartition("{")[0].rstrip()
    more = f"{',' if ' where ' in head else ' where'} {pipeline.load_text(text).machines[-1].op.sizes[0]} <= "
    version, end = 0, 0

    async def keys(count_: int) -> float:
        nonlocal version, end
        for number in range(count_):
            await asyncio.sleep(APART if number else 0)
            version, start = version + 1, len(head) + (len(more) if end else 0)
            place = types.Range(types.Position(line, start), types.Position(line, end or start))
            change = types.TextDocumentContentChangePartial(place, f"{'' if end else more}{10**9 + version}")
            end, about = len(head) + len(more) + 10, types.VersionedTextDocumentIdentifier(version, uri)
            begun = time.perf_counter()
            editor.text_document_did_change(types.DidChangeTextDocumentParams(about, [change]))
        await asyncio.sleep(0)
        said = await editor.line(uri, count - 1)
        took = time.perf_counter() - begun
        assert "proved" in said, said
        await editor.line(uri, count - 1, whole=True)
        await asyncio.sleep(0.2)  # until the costs are told
        return took

    return count, [await keys(1) for _ in range(KEYS)], [await keys(SEVERAL) for _ in range(KEYS // 2)]


def whole(folder: Path, name: str) -> float:
    """How long a process takes for the file."""
    begun = time.perf_counter()
    command = (sys.executable, "-m", "tinygpu", "check", str(folder / f"{name}.tgpu"))
    subprocess.run(command, check=True, capture_output=True, cwd=ROOT)
    return time.perf_counter() - begun


async def main() -> None:
    """A row for each spec."""
    print(f"{'five machines of':<18}{'first':>8}{'median':>8}{'worst':>8}{'typed':>8}{'check':>8}{'ratio':>7}")
    with tempfile.TemporaryDirectory() as place:
        editor, folder = Editor(), Path(place)
        environment = {**os.environ, "TINYGPU_CACHE": str(folder / "cache"), "PYTHONPATH": str(ROOT)}
        await editor.start_io(sys.executable, "-m", "tinygpu", "lsp", env=environment)
        await editor.initialize_async(types.InitializeParams(capabilities=types.ClientCapabilities(), root_uri=folder.as_uri()))
        editor.initialized(types.InitializedParams())
        medians = []
        for name in SPECS:
            count, took, typed = await wait(editor, folder, name)
            all_of_it, middle = whole(folder, name), statistics.median(took)
            medians.append(middle)
            row = "".join(f"{1000 * one:>5.0f} ms" for one in (took[0], middle, max(took), statistics.median(typed), all_of_it))
            print(f"{name + f' ({count})':<18}{row}{all_of_it / middle:>6.1f}×", flush=True)
        print(f"{sum(m <= GOAL for m in medians)} of {len(medians)} medians within {1000 * GOAL:.0f} ms")
        await editor.shutdown_async(None)
        editor.exit(None)
        await editor.stop()  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    asyncio.run(main())
