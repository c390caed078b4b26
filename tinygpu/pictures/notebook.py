"""What a notebook shows: of a machine who has its outputs, of a verdict what it says, with a picture where there is one.

Comes in: a spec, a machine, a choice or a pipeline, a verdict. Goes out: HTML. The one idea: a cell of a notebook never fails because of a picture, so where none can be drawn the words stand alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any

from tinygpu.diagnostic import Diagnostic, TinygpuError
from tinygpu.model.choice import Choice
from tinygpu.model.machine import Machine
from tinygpu.model.pipeline import Pipeline
from tinygpu.pictures.drawn import draw, outputs
from tinygpu.pipeline import Loaded, Proof, Refutation, Unknown
from tinygpu.proof.summary import sizes
from tinygpu.whole import Whole

BOX = "overflow-x:auto;max-height:42em"


def html(one: Any) -> str:
    """`spec, machine or verdict → HTML`."""
    return "\n".join(parts(one))


def parts(one: Any) -> Iterator[str]:
    """Words, then a picture."""
    match one:
        case Loaded():
            joined = [f"{whole.name} : {whole.said}" for whole in one.spec.joined]
            names = dict.fromkeys((*(m.heading for m in one.machines), *joined))
            yield f"<b>{escape(one.path or 'a spec')}</b>: {len(one.spec.ops)} ops, {len(one.machines)} machines"
            yield f"<ul>{''.join(f'<li><code>{escape(name)}</code></li>' for name in names)}</ul>"
        case Machine():
            yield f"<code>{escape(one.heading)}</code>"
            yield picture(one)
        case Choice() | Pipeline():
            yield f"<pre>{escape(one.spelled)}</pre>"
        case Whole(about):
            yield f"<b>proved</b> <code>{escape(about.name)}</code>, {escape(about.sizes)} ({one.obligations} obligations, {len(one.proofs)} machines)"
            yield f"<pre>{escape(about.spelled)}</pre>"
        case Proof():
            yield f"<b>proved</b> <code>{escape(one.program.name)}</code>, {escape(sizes(one.program))} ({len(one.theorems)} obligations)"
            yield picture(one)
        case Refutation():
            yield f"<b>refuted</b> <code>{escape(one.program.name)}</code>"
            yield picture(one)
            yield said(one.diagnostic)
        case Unknown():
            yield f"<b>unknown</b> <code>{escape(one.program.name)}</code>: neither proved nor refuted"
            yield from map(said, one.diagnostics)


def picture(one: Machine | Proof | Refutation) -> str:
    """In a box that scrolls; nothing where it cannot be drawn."""
    try:
        drawn = draw(one) if isinstance(one, Refutation) else outputs(one)
        return f'<div style="{BOX}">{drawn.svg}</div>'
    except TinygpuError as error:
        return said(error.diagnostics[0])


def said(diagnostic: Diagnostic) -> str:
    """A message as words."""
    lines = (diagnostic.headline, *(f"note: {n}" for n in diagnostic.notes), *(f"help: {h}" for h in diagnostic.helps))
    return f"<pre>{escape(chr(10).join(lines))}</pre>"
