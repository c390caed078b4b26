"""Imports: what another file declares is what stands in the file itself; each file is read once, and a mistake is told where it is.

Comes in: folders of small files. Goes out: programs, certificates, messages. The one idea: a file with an import and the same text in one file
are one machine.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from tinygpu import pipeline
from tinygpu.diagnostic import TinygpuError
from tinygpu.proof.certificate import certify

OP = "op f(x: f32[n]) -> (y: f32[n]) { y[i] = act(x[i]) * f32(B) }"
MACHINE = "machine m : f {\n  work grid = (g), block = (t: 128)\n  compute i = (g, t)\n}"
FILES = {
    "ops/f.tgpu": f'import "../act"\n{OP}\n{MACHINE}\nop unused(z: f32[n]) -> (y: f32[n]) {{ y[i] = z[i] }}',
    "act.tgpu": "def act(x) = x * x\nparam B = 4\nparam C = 5",
    "main.tgpu": f'import "ops/f.tgpu"\nimport "act.tgpu"\n{MACHINE}',
    "whole.tgpu": f"def act(x) = x * x\nparam B = 4\n{OP}\n{MACHINE}",
}


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def told(path: Path) -> list[tuple[str, str, int]]:
    """What is said of a file: the codes, with the file and the line of each."""
    with pytest.raises(TinygpuError) as refused:
        pipeline.load(path)
    return [(d.code, Path(d.span.file).name, d.span.line) for d in refused.value.diagnostics]


def test_what_is_imported_is_what_stands_in_the_file(tmp_path: Path) -> None:
    folder = written(tmp_path, FILES)
    apart, whole = (pipeline.load(folder / name) for name in ("main.tgpu", "whole.tgpu"))
    assert [m.title for m in apart.machines] == ["m"] and [op.name for op in apart.spec.ops] == ["f"] and not apart.spec.warnings
    assert pipeline.program(apart.machines[0]) == pipeline.program(whole.machines[0])
    texts = [certificate(spec) for spec in (apart, whole)]
    assert texts[0] == texts[1]
    (folder / "act.tgpu").write_text("def act(x) = x + x\nparam B = 4", encoding="utf-8")
    assert certificate(pipeline.load(folder / "main.tgpu")) != texts[0]


def certificate(spec: pipeline.Loaded) -> str:
    proof = pipeline.check(spec.machines[0])
    assert isinstance(proof, pipeline.Proof)
    from tinygpu.model.source import said

    return certify(proof, said(spec.spec.tree, "m")).text()


@pytest.mark.parametrize(("files", "found"), [
    ({"main.tgpu": 'import "b"', "b.tgpu": '\nimport "c"', "c.tgpu": '\n\nimport "./b"'}, [("TG170", "c.tgpu", 3)]),
    ({"main.tgpu": 'import "main"'}, [("TG170", "main.tgpu", 1)]),
    ({"main.tgpu": '\nimport "b"', "b.tgpu": "def f(x) = )"}, [("TG003", "b.tgpu", 1)]),
    ({"main.tgpu": 'import "b"\ndef act(x) = x', "b.tgpu": 'import "c"\ndef act(x) = x', "c.tgpu": ""}, [("TG102", "main.tgpu", 2)]),
    ({"main.tgpu": f'import "b"\n{OP}\n{OP}', "b.tgpu": "param B = 2\ndef act(x) = x // 2"}, [("TG122", "main.tgpu", 2), ("TG102", "main.tgpu", 3)]),
    ({"main.tgpu": f'import "b"\n{MACHINE}', "b.tgpu": f"\ndef act(x) = x\n{OP}"}, [("TG101", "b.tgpu", 3)]),
], ids=["circle", "itself", "malformed", "twice", "dtype", "unknown"])  # fmt: skip
def test_a_mistake_is_told_in_the_file_where_it_is(
    tmp_path: Path, files: dict[str, str], found: Iterable[tuple[str, str, int]]
) -> None:
    assert told(written(tmp_path, files) / "main.tgpu") == found


def test_a_text_in_no_file_imports_the_library_alone() -> None:
    op = "op f(x: f32[n]) -> (y: f32[n]) { y[i] = relu(x[i]) }"
    assert pipeline.load_text(f'import "std/functions"\n{op}').spec.ops
    with pytest.raises(TinygpuError, match="TG170"):
        pipeline.load_text(f'import "functions"\n{op}')
