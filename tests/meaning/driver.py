"""Many texts, each in a process that may crash or hang: what the checker says, and what the judge says.

Comes in: texts. Goes out: an answer for each, also where the process that looked at it died. The one idea: a process is asked one text at a
time, is given so many seconds, and is replaced when it does not answer.
"""

from __future__ import annotations

import multiprocessing
import resource
import time
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection, wait
from typing import Any

from tests.meaning.judge import EACH, LOOSE, RIGHT, WORK, WRONG, judge
from tinygpu import pipeline
from tinygpu.diagnostic import TinygpuError
from tinygpu.program.step import Program
from tinygpu.proof.check import Refutation, Unknown, Verdict
from tinygpu.proof.kernel import Proof, prove

BUDGET, SECONDS, MEMORY = 2_000_000, 60, 5 << 30


def answer(text: str, budget: int = BUDGET) -> dict[str, Any]:
    """The verdicts on the one machine of a text. Of what is not proved it is enough that it is not right; a counterexample is looked for where it is."""
    try:
        (machine, *_) = pipeline.load_text(text).machines
        program = pipeline.program(machine)
    except TinygpuError as error:
        return {
            "checker": "elaboration",
            "codes": [d.code for d in error.diagnostics],
            "judge": "",
            "why": str(error.diagnostics[0]),
        }
    start = time.perf_counter()
    checker, codes, why, _ = asked(lambda: hasty(program, budget))
    middle = time.perf_counter()
    judged = judge(program, work=WORK // 3, enough=(WRONG,) if checker == "proved" else (WRONG, LOOSE))
    times = [round(middle - start, 2), round(time.perf_counter() - middle, 2)]
    if checker == "open" and judged.kind == RIGHT:
        checker, codes, why, case = asked(lambda: pipeline.check(machine, budget))
        if checker != "crash":
            judged = judge(program, seed=1, each=EACH * 4, work=WORK * 16, enough=(WRONG, LOOSE), also=case)
    return {"checker": checker, "codes": codes, "said": why, "judge": judged.kind, "why": judged.why, "seconds": times}


def hasty(program: Program, budget: int) -> Proof | None:
    """The proof, if there is one, and no search for a counterexample."""
    found = prove(program, budget, hasty=True)
    return found if isinstance(found, Proof) else None


def asked(ask: Callable[[], Verdict | None]) -> tuple[str, list[str], str, dict[str, int]]:
    """What the checker says: a verdict, its codes, a sentence; and what a counterexample says of whole numbers, such as sizes."""
    try:
        match ask():
            case Proof():
                return "proved", [], "", {}
            case Refutation(diagnostic=one):
                rows = one.case.rows if one.case else ()
                pairs = ((n, v) for names, said in rows for n, v in zip(names.split(", "), said[0].split(", "), strict=False))
                return "refuted", [one.code], one.title, {name: int(value) for name, value in pairs if value.isdecimal()}
            case Unknown(diagnostics=many):
                return "unknown", [d.code for d in many], many[0].title, {}
            case None:
                return "open", [], "", {}
    except TinygpuError as error:
        return "refused", [d.code for d in error.diagnostics], error.diagnostics[0].title, {}
    except Exception as crash:  # noqa: BLE001
        return "crash", [type(crash).__name__], str(crash)[:400], {}
    raise AssertionError("no verdict")


def serve(pipe: Connection) -> None:
    """One process: texts in, answers out."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    while True:
        number, text = pipe.recv()
        try:
            found = answer(text)
        except Exception as crash:  # noqa: BLE001
            import traceback

            found = {
                "checker": "crash",
                "codes": [type(crash).__name__],
                "said": traceback.format_exc()[-600:],
                "judge": "",
                "why": "",
            }
        pipe.send((number, found))


class Worker:
    """A process with the text that it looks at."""

    def __init__(self, context: Any) -> None:
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()
        self.since, self.number = 0.0, -1

    def give(self, number: int, text: str) -> None:
        self.number, self.since = number, time.monotonic()
        self.pipe.send((number, text))

    def end(self) -> None:
        self.process.kill()
        self.process.join()


def answers(texts: Iterable[str], processes: int, seconds: int = SECONDS) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """`texts → (number, text, answer)`, in the order in which they come."""
    context = multiprocessing.get_context("fork")
    waiting = iter(enumerate(texts))
    given: dict[int, str] = {}
    workers = [Worker(context) for _ in range(processes)]
    idle, more = list(workers), True
    while more or given:
        while idle and more:
            number, text = next(waiting, (-1, ""))
            more = number >= 0
            if more:
                given[number] = text
                idle.pop().give(number, text)
        busy = [w for w in workers if w.number >= 0]
        ready = wait([w.pipe for w in busy], timeout=1)
        for worker in busy:
            found = taken(worker, worker.pipe in ready, seconds)
            if found is None:
                continue
            number, worker.number = worker.number, -1
            if found["checker"] in ("died", "hang"):
                worker.end()
                workers.remove(worker)
                worker = Worker(context)
                workers.append(worker)
            idle.append(worker)
            yield number, given.pop(number), found
    for worker in workers:
        worker.end()


def taken(worker: Worker, ready: bool, seconds: int) -> dict[str, Any] | None:
    """What a busy process has to say, if anything."""
    if ready:
        try:
            return worker.pipe.recv()[1]  # type: ignore[no-any-return]
        except EOFError:
            return {"checker": "died", "codes": [], "judge": "", "why": ""}
    if time.monotonic() - worker.since > seconds:
        return {"checker": "hang", "codes": [], "judge": "", "why": ""}
    return None
