"""One input through every door, in a process of its own with little memory, a limit on its own time, and an ear for what must not happen.

Comes in: on its standard input, one line for each input, `seed path`. Goes out: one JSON line for each: how far it came, and what is `wrong`.
The ideas: an answer is a success or a diagnostic whose code is known, whose place is in the text and whose words are for people, all else is a
finding; and what an input may not do (run a program, write, connect, compile a text) is heard by an audit hook, whatever code does it.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import random
import re
import resource
import signal
import sys
import time
import traceback
from functools import cache
from pathlib import Path
from typing import Any

from tinygpu import pipeline
from tinygpu.commands.common import read_text
from tinygpu.commands.explain import pages
from tinygpu.commands.fmt import formatted
from tinygpu.commands.judged import judge
from tinygpu.commands.show import STAGES, stage_text
from tinygpu.diagnostic import Diagnostic, TinygpuError
from tinygpu.report import FORMATS, report

BUDGET = 20_000  # solver steps: enough for the easy claims
MACHINES = 2  # of one text
SECONDS = 15  # of its own time, for one input
MEMORY = 4 << 30
INTERNAL = re.compile(r"Traceback|object at 0x|NoneType|<class '|\bApp\(|\bVar\(|\bConst\(|\bSpan\(|dataclass|assert")
FORBIDDEN = ("os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "subprocess.Popen", "socket.connect", "os.remove", "os.rename",
             "os.mkdir", "os.rmdir", "shutil.rmtree", "os.chmod", "ctypes.dlopen", "urllib.Request", "builtins.input")  # fmt: skip


class Hang(BaseException):
    """The time is over."""


class Complaint(Exception):
    """A message that is not good enough."""


def walked(path: Path, chance: random.Random) -> str:
    """How far an input comes through all doors, as the commands open them. Raises what is wrong."""
    try:
        text = read_text(str(path))
        formatted(text, str(path))
    except TinygpuError as error:
        return said(error.diagnostics, "", path, chance, "parse")
    try:
        spec = pipeline.load_text(text, str(path))
    except TinygpuError as error:
        return said(error.diagnostics, text, path, chance, "elaborate")
    deepest = "elaborated"
    for machine in chance.sample(spec.machines, min(MACHINES, len(spec.machines))):
        judged = judge(str(path), machine, BUDGET)
        deepest = said(judged.diagnostics, text, path, chance, judged.word)
        for stage in STAGES:
            try:
                stage_text(machine, stage)
            except TinygpuError as error:
                said(error.diagnostics, text, path, chance, "shown")
        if isinstance(judged.verdict, pipeline.Proof):
            pipeline.module("made", [pipeline.built(judged.verdict, machine)])
    return deepest


@cache
def known() -> frozenset[str]:
    """The codes that have a page."""
    return frozenset(pages()) - {"TG901"}


def said(diagnostics: tuple[Diagnostic, ...], text: str, path: Path, chance: random.Random, stage: str) -> str:
    """The stage, where every message has a page and its place in the text, and can be written in every form."""
    for one in diagnostics:
        words = " ".join((one.title, *one.notes, *one.helps, *(label.text for label in one.labels)))
        spans = [label.span for label in one.labels if label.span.file == str(path) and text]
        for wrong, what in (
            (one.code not in known(), "has no page"),
            (not one.title or INTERNAL.search(words), f"says: {words[:300]}"),
            (not all(0 <= span.start <= span.end <= len(text) for span in spans), f"is not in the text: {spans}"),
            (not one.labels and text and one.verdict == "error", f"has no place: {one.title}"),
        ):
            if wrong:
                raise Complaint(f"{one.code} {what}")
    for style in FORMATS:
        report(diagnostics, {str(path): text}, style, color=chance.random() < 0.5)
    return stage


heard: list[str] = []
listening = False


def listen(event: str, arguments: tuple[Any, ...]) -> None:
    """The audit hook: notes what is forbidden."""
    writes = event == "open" and isinstance(arguments[1], str) and bool(set(arguments[1]) & set("wax+"))
    compiles = event == "compile" and arguments[1] in ("<string>", "<stdin>", None) and arguments[0] is not None
    runs = event == "exec" and getattr(arguments[0], "co_filename", "") == "<string>"
    if listening and (event in FORBIDDEN or writes or compiles or runs):
        heard.append(f"{event} {arguments!r}"[:200])


def everything() -> None:
    """Imports all that could be imported later, so that nothing of it is heard."""
    importlib.import_module("numpy.random")
    home = Path(str(pipeline.__file__)).parent
    for path in sorted(home.rglob("*.py")):
        if path.stem not in ("__init__", "__main__"):
            with contextlib.suppress(ImportError):  # what needs a GPU's libraries
                importlib.import_module(".".join(("tinygpu", *path.relative_to(home).with_suffix("").parts)))


def answer(seed: int, path: Path) -> dict[str, Any]:
    """What is to be said of an input."""
    global listening
    begun, found = time.process_time(), {}
    heard.clear()
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    listening = True
    try:
        found = {"stage": walked(path, random.Random(seed))}
    except Complaint as complaint:
        found = {"stage": "message", "wrong": str(complaint)}
    except (Hang, Exception) as error:  # noqa: BLE001 (that nothing gets here is what is tested)
        found = {"stage": "hang" if isinstance(error, Hang) else "traceback", "wrong": traceback.format_exc(limit=-14)}
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        listening = False
    if heard and "wrong" not in found:
        found = {"stage": "forbidden", "wrong": heard[0]}
    return {**found, "seconds": time.process_time() - begun, "peak": peak()}


def peak() -> int:
    """The most memory that this process has had, in KiB: of Linux its own, since what getrusage says is also that of who started it."""
    status = Path("/proc/self/status")
    if status.exists():
        return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def over(*_: object) -> None:
    """What the clock does."""
    raise Hang


def main() -> None:
    """Input after input, until there are no more."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    sys.addaudithook(listen)
    signal.signal(signal.SIGPROF, over)
    everything()
    print("ready", flush=True)
    for line in sys.stdin:
        seed, _, path = line.rstrip("\n").partition(" ")
        print(json.dumps(answer(int(seed), Path(path))), flush=True)


if __name__ == "__main__":
    main()
