"""Programs by hand, one for each thing that an emitter must get right.

Comes in: `programs.tgpu`. Goes out: programs by name. The one idea: what has a text is given as one.
"""

from __future__ import annotations

from pathlib import Path

from tinygpu import pipeline
from tinygpu.category.layout import Layout
from tinygpu.program.step import Array, Program
from tinygpu.record import replace

PROGRAMS = {m.title: pipeline.program(m) for m in pipeline.load(Path(__file__).parent / "programs.tgpu").machines}


def transpose(layout: Layout, name: str) -> Program:
    """The transposition through a tile of that layout."""
    plain = PROGRAMS["transpose_plain"]
    (launch,) = plain.launches
    body = tuple(replace(s, layout=layout) if isinstance(s, Array) and s.owner == "block" else s for s in launch.body)
    return replace(plain, name=name, launches=(replace(launch, body=body),))
