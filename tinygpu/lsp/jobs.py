"""The process that proves, as the server sees it.

Comes in: jobs. Goes out: calls of a function with each answer. The one idea: the server waits for nothing: answers come through the loop that also reads what the editor says.
"""

from __future__ import annotations

import asyncio
import pickle
import sys
from collections.abc import Callable
from typing import Any

from tinygpu.lsp.pipes import LENGTH, packed
from tinygpu.lsp.verdicts import Job
from tinygpu.record import dataclass, field

WORKER = "tinygpu.lsp.worker"


@dataclass(slots=True)
class Worker:
    """A process that is begun when it is first needed, and again where it has ended; `lost` is called when nobody has ended it."""

    answer: Callable[[str, int, Any], None]
    lost: Callable[[int], None]
    process: asyncio.subprocess.Process | None = None
    reader: asyncio.Task[None] | None = None
    begun: asyncio.Lock = field(default_factory=asyncio.Lock)
    ending: bool = False

    @property
    def alive(self) -> bool:
        """Whether there is a process."""
        return self.process is not None and self.process.returncode is None

    async def begin(self) -> asyncio.subprocess.Process:
        """The process, which imports and proves what every job would."""
        async with self.begun:
            if not self.alive or self.process is None:
                pipe = asyncio.subprocess.PIPE
                self.process = await asyncio.create_subprocess_exec(sys.executable, "-m", WORKER, stdin=pipe, stdout=pipe)
                self.reader = asyncio.create_task(self.listen(self.process))
            return self.process

    def send(self, job: Job) -> None:
        """Has the process, which has begun, do a job, and end the one before of the same text."""
        assert self.process is not None and self.process.stdin is not None
        self.process.stdin.write(packed(job))  # and nobody waits until it is read

    async def listen(self, process: asyncio.subprocess.Process) -> None:
        """Hands answers on, until the process ends."""
        assert process.stdout is not None
        try:
            while True:
                length = int.from_bytes(await process.stdout.readexactly(LENGTH), "little")
                self.answer(*pickle.loads(await process.stdout.readexactly(length)))
        except asyncio.IncompleteReadError:
            code = await process.wait()
            if not self.ending:
                self.lost(code)

    def end(self) -> None:
        """Ends the process."""
        self.ending = True
        if self.process is not None and self.alive:
            self.process.kill()
