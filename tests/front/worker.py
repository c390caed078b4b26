"""A process of its own for inputs: with little memory, a limit on its own time, and an ear for what must not happen.

Comes in: on its standard input, one line for each input, `seed path`. Goes out: one JSON line for each. The one idea: what an input may not
do (run a program, write, connect, compile a text) is heard by an audit hook, whatever code does it.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import resource
import signal
import sys
import time
from pathlib import Path
from types import FrameType
from typing import Any

from tests.front.door import Finding, through

SECONDS = 15  # of its own time, for one input
MEMORY = 4 << 30
FORBIDDEN = ("os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "subprocess.Popen", "socket.connect", "os.remove", "os.rename",
             "os.mkdir", "os.rmdir", "shutil.rmtree", "os.chmod", "ctypes.dlopen", "urllib.Request", "builtins.input")  # fmt: skip


class Hang(BaseException):
    """The time is over."""


def over(number: int, frame: FrameType | None) -> None:
    """What the clock does."""
    raise Hang


heard: list[str] = []
listening = False


def listen(event: str, arguments: tuple[Any, ...]) -> None:
    """The audit hook: notes what is forbidden."""
    if not listening:
        return
    if event in FORBIDDEN or (event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")):
        heard.append(f"{event} {arguments!r}"[:200])
    if event == "compile" and arguments[1] in ("<string>", "<stdin>", None) and arguments[0] is not None:
        heard.append(f"compile {arguments!r}"[:200])
    if event == "exec" and getattr(arguments[0], "co_filename", "") == "<string>":
        heard.append("exec of a text")


def everything() -> None:
    """Imports all that could be imported later, so that nothing of it is heard."""
    import numpy.random

    import tinygpu

    assert numpy.random
    home = Path(str(tinygpu.__file__)).parent
    for path in sorted(home.rglob("*.py")):
        if path.stem not in ("__init__", "__main__"):
            with contextlib.suppress(ImportError):  # what needs a GPU's libraries
                importlib.import_module(".".join(("tinygpu", *path.relative_to(home).with_suffix("").parts)))


def main() -> None:
    """Input after input, until there are no more."""
    global listening
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    sys.addaudithook(listen)
    signal.signal(signal.SIGPROF, over)
    everything()
    print("ready", flush=True)
    for line in sys.stdin:
        seed, _, path = line.rstrip("\n").partition(" ")
        begun = time.process_time()
        heard.clear()
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        listening = True
        try:
            stage, found = through(Path(path), int(seed))
        except Hang:
            import traceback

            stage, found = "hang", Finding("hang", traceback.format_exc(limit=-14))
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            listening = False
        if heard and found is None:
            stage, found = "forbidden", Finding("forbidden", heard[0])
        answer = {
            "stage": stage,
            "seconds": time.process_time() - begun,
            "peak": peak(),
        }
        print(json.dumps(answer | ({"kind": found.kind, "text": found.text, "key": found.key} if found else {})), flush=True)


def peak() -> int:
    """The most memory that this process has had, in KiB: of Linux its own, since what getrusage says is also that of who started it."""
    status = Path("/proc/self/status")
    if status.exists():
        return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    main()
