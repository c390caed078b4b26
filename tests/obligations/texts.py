"""Small programs for the tests of the prover: an equation and the body of a program for it, one thread a row or an element.

Comes in: the text of an op and of a body, in which `ROW` is the thread's row or element. Goes out: a program, or what is open about it.
The one idea: what is proved or refuted here is text that a user could have written.
"""

from __future__ import annotations

from tinygpu import pipeline
from tinygpu.program.step import Program
from tinygpu.proof.kernel import Proof, prove

ROW = "g*32 + t"
SUM = "op total(x: f32[R, N]) -> (s: f32[R]) { s[r] = sum[j] x[r, j] }"
MAX = "op most(x: f32[R, N]) -> (s: f32[R]) { s[r] = max[j] x[r, j] }"
COPY = "op copy(x: f32[R]) -> (s: f32[R]) { s[r] = x[r] }"
BUDGET = 3_000_000


def program(op: str, body: str, size: str = "R", guard: bool = True, where: str = "") -> Program:
    """The program of `body`, under `if ROW < size` unless `guard` is false; `local` declarations come first in it, one a line."""
    lines = [line.strip() for line in body.replace("ROW", ROW).strip().splitlines()]
    locals_ = [line for line in lines if line.startswith("local ")]
    rest = "\n".join(line for line in lines if not line.startswith("local "))
    inside = f"if {ROW} < {size} {{\n{rest}\n}}" if guard else rest
    name = op.split("op ", 1)[1].split("(")[0]
    clause = f"where {where}" if where else ""
    work = f"work grid = (g: ceil({size} / 32)), block = (t: 32)"
    declared = "\n".join(locals_)
    text = f"{op}\nmachine m : {name} {{ {work}\n {clause}\n program {{\n{declared}\n{inside}\n}} }}\n"
    return pipeline.program(pipeline.load_text(text).machines[-1])


def open_codes(made: Program) -> set[str]:
    """The codes of what is not proved; none for a proof."""
    result = prove(made, BUDGET)
    return set() if isinstance(result, Proof) else {o.claim.code for o in result}
