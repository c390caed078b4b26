"""What the checker says of a text, and what the judge says, asked in a process of its own that may crash or hang.

Comes in: a text. Goes out: an answer, also where the process that looked at it died. The one idea: a process is asked about one text, and is given so
many seconds.
"""

from __future__ import annotations

import multiprocessing
import resource
import traceback
from multiprocessing.connection import Connection
from typing import Any

from tests.meaning.judge import EACH, LOOSE, RIGHT, WORK, WRONG, judge
from tinygpu import pipeline
from tinygpu.diagnostic import TinygpuError
from tinygpu.program.step import Program
from tinygpu.proof.check import Refutation, Unknown
from tinygpu.proof.kernel import Proof, prove

BUDGET, SECONDS, MEMORY = 2_000_000, 60, 5 << 30
CONTEXT = multiprocessing.get_context("fork")
Answer = dict[str, Any]


def said(checker: str, codes: list[str] | None = None, title: str = "", judge: str = "", why: str = "") -> Answer:
    """What both say, in words."""
    return {"checker": checker, "codes": codes or [], "said": title, "judge": judge, "why": why}


def hasty(program: Program, budget: int) -> Proof | None:
    """The proof, if there is one, and no search for a counterexample."""
    found = prove(program, budget, hasty=True, enough=1)
    return found if isinstance(found, Proof) else None


def answer(text: str) -> Answer:
    """The verdicts on the one machine of a text. Of what is not proved it is enough that it is not right; a counterexample is looked for where it is."""
    checker = "elaboration"
    try:
        (machine, *_) = pipeline.load_text(text).machines
        program = pipeline.program(machine)
        checker = "refused"
        proof = hasty(program, BUDGET)
        judged = judge(program, work=WORK // 3, enough=(WRONG,) if proof else (WRONG, LOOSE))
        if proof or judged.kind != RIGHT:
            return said("proved" if proof else "open", judge=judged.kind, why=judged.why)
        found = pipeline.check(machine, BUDGET)
    except TinygpuError as error:
        return said(checker, [d.code for d in error.diagnostics], error.diagnostics[0].title)
    sizes = dict(found.sizes) if isinstance(found, Refutation) else {}
    judged = judge(program, seed=1, each=EACH * 4, work=WORK * 16, enough=(WRONG, LOOSE), also=sizes)
    match found:
        case Refutation(diagnostic=one):
            return said("refuted", [one.code], one.title, judged.kind, judged.why)
        case Unknown(diagnostics=many):
            return said("unknown", [d.code for d in many], many[0].title, judged.kind, judged.why)
    return said("proved", judge=judged.kind, why=judged.why)


def serve(pipe: Connection, text: str) -> None:
    """The process."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    try:
        pipe.send(answer(text))
    except Exception as crash:  # noqa: BLE001
        pipe.send(said("crash", [type(crash).__name__], traceback.format_exc()[-600:]))


def alone(text: str, seconds: int = SECONDS) -> Answer:
    """`text → answer`."""
    pipe, theirs = CONTEXT.Pipe(duplex=False)
    process = CONTEXT.Process(target=serve, args=(theirs, text), daemon=True)
    process.start()
    theirs.close()
    try:
        return pipe.recv() if pipe.poll(seconds) else said("hang")  # type: ignore[no-any-return]
    except EOFError:
        return said("died")
    finally:
        process.kill()
        process.join()
