"""Notes: a spec that provokes each, their exact text, the pages' examples, and what is noted about the shipped machines.

Comes in: `notes/TG6nn_name.tgpu`, whose first line says at which sizes and on what. Goes out: the comparison with golden files.
The one idea: a note that nothing provokes says nothing, and a shipped machine that gets another one has become slower or better.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import GOLDEN, ROOT
from tests.program.library import STEMS, library
from tinygpu.category.evaluate import evaluate
from tinygpu.category.term import reads
from tinygpu.commands.costs import MOST
from tinygpu.commands.explain import pages
from tinygpu.commands.specs import usual_sizes
from tinygpu.cost.measure import measure
from tinygpu.cost.notes import RULES, notes
from tinygpu.cost.on_device import Assembled, filled
from tinygpu.diagnostic import Diagnostic
from tinygpu.hardware.arch import CPU, device_named
from tinygpu.model.machine import Machine
from tinygpu.pipeline import Proof, check, load, load_text, program
from tinygpu.report import render
from tinygpu.report.formats import concise

NOTES = sorted((ROOT / "tests" / "cost" / "notes").glob("TG6*.tgpu"))
CODES = [code for code in pages() if "TG600" < code < "TG700"]


def noted(text: str, file: str, at: str) -> tuple[Diagnostic, ...]:
    """The notes on the machines of a text: `n = 64, on h100, with 255 registers, 8 bytes spilled`."""
    sizes = {name: int(value) for name, value in re.findall(r"(\w+) = (\d+)", at)}
    name, registers, spilled = (re.search(p, at) for p in (r"on (\w+)", r"with (\d+) registers", r"(\d+) bytes spilled"))
    device = device_named(name[1]) if name else None
    found: list[Diagnostic] = []
    for machine in load_text(text, file).machines:
        cost = measure(program(machine), sizes)
        said = Assembled(int(registers[1]), int(spilled[1]) if spilled else 0, 0, 0) if registers else None
        on = filled(cost, device.arch, device, [said] * len(cost.launches) if said else ()) if device else ()
        found += notes(cost, device, on)
    return tuple(found)


def at_of(text: str) -> str:
    return text.split("\n", 1)[0].removeprefix("# at ")


@pytest.mark.parametrize("path", NOTES, ids=lambda p: p.stem)
def test_the_note(path: Path, golden: Callable[[Path, str], None]) -> None:
    text = path.read_text(encoding="utf-8")
    found = noted(text, path.name, at_of(text))
    assert path.stem[:5] in {d.code for d in found}, [d.code for d in found]
    assert all(d.verdict == "note" and d.span.line and d.labels[0].text and d.helps for d in found)
    golden(path.with_suffix(".txt"), "\n\n".join(render(d, {path.name: text}) for d in found) + "\n")


@pytest.mark.parametrize("path", NOTES, ids=lambda p: p.stem)
def test_a_note_is_no_error(path: Path) -> None:
    assert all(isinstance(check(m), Proof) for m in load(path).machines)


def test_every_note_has_a_spec_and_a_rule() -> None:
    assert [p.stem[:5] for p in NOTES] == CODES and len(RULES) == len(CODES)


@pytest.mark.parametrize("code", CODES)
def test_the_examples_of_a_page(code: str) -> None:
    page = (ROOT / "docs" / "errors" / f"{code}.md").read_text(encoding="utf-8")
    assert page.startswith(f"# {code}: ")
    at = at_of(next(p for p in NOTES if p.stem.startswith(code)).read_text(encoding="utf-8"))
    bad, *good = re.findall(r"```tgpu\n(.*?)```", page, re.DOTALL)
    assert code in [d.code for d in noted(bad, "bad", at)]
    for text in good:
        assert code not in [d.code for d in noted(text, "good", at)]
        assert all(isinstance(check(m), Proof) for m in load_text(text, "good").machines)


ROWS = """op product(A: f16[M, K], B: f16[K, N]) -> (C: f32[M, N]) { C[i, j] = sum[k] f32(A[i, k]) * f32(B[k, j]) }

machine rows : product on sm_80 {
  work grid = (by: ceil(M / 64), bx: ceil(N / 8)), block = (w: 4, lane: 32)
  program {
    shared sA: f16[64, 32]
    fragment acc: f32[16, 8] of mma_m16n8k16.c
    fragment a: f16[16, 16] of mma_m16n8k16.a
    fragment b: f16[16, 8] of mma_m16n8k16.b
    for i, j in acc { acc[i, j] = 0 }
    for ko < ceil(K / 32) {
      copy sA[i, k] = A[by*64 + i, ko*32 + k | 0]
      barrier
      for kk < 2 {
        ldmatrix_x4(a[0, 0], sA[w*16, kk*16])
        for k, j in b { b[k, j] = B[ko*32 + kk*16 + k, bx*8 + j | 0] }
        mma_m16n8k16(acc[0, 0], a[0, 0], b[0, 0])
      }
      barrier
    }
    for i, j in acc { C[by*64 + w*16 + i, bx*8 + j] = acc[i, j] if by*64 + w*16 + i < M and bx*8 + j < N }
  }
}
"""


@pytest.mark.parametrize("layout", ["", " swizzle(2, 3, 3)", " pad 8"])
def test_rows_of_an_instruction_that_meet_a_bank(layout: str) -> None:
    """Rows of 64 bytes lie in two halves of the banks: of 8 rows 4 meet. With a pad of 16 bytes the rows do not, but what is stored does."""
    text = ROWS.replace("sA: f16[64, 32]", f"sA: f16[64, 32]{layout}")
    found = {d.title: d for d in noted(text, "rows", "M = 512, N = 512, K = 512") if d.code == "TG602"}
    help = "with the layout swizzle(2, 3, 3) no access to sA meets a bank twice"
    turns = {"": {"ldmatrix_x4 of": 4}, " swizzle(2, 3, 3)": {}, " pad 8": {"store to": 2}}[layout]
    assert set(found) == {f"a warp's {what} sA takes up to {n} turns instead of 1" for what, n in turns.items()}
    assert {d.helps for d in found.values()} <= {(help,)}


COPY = """op same(x: TYPE[R, N], at: i32[R]) -> (y: TYPE[R, N]) where N % 64 == 0, all[r] (at[r] >= 0 and at[r] < R) { y[r, j] = x[ROW, j] }

machine copied : same on sm_80 {
  work grid = (r: R, g: N // 64), block = (t: 16)
  program {
    shared s: TYPE[68] LAYOUT
    for v < WIDTH in vector { BODY }
    commit
    wait 0
    barrier
    for q < 4 in register { y[r, g*64 + t*4 + q] = s[t*4 + q] }
  }
}
"""
BODY = "async s[t*4 + v] = x[ROW, g*64 + t*4 + v]"
PASSING = {  # by what the note says: what stands in the text
    "": {},
    "the loop over v has other steps too": {"BODY": f"{BODY}\ns[64] = 0 if t == 0 and v == 0"},
    "at[r] decides where and whether it copies": {"ROW": "at[r]"},
    "2 bytes at once, and the hardware moves at least 4": {
        "TYPE": "f16",
        "BODY": "async s[t + v] = x[ROW, g*64 + t + v]",
        "WIDTH": "1",
    },
    "whether all 4 neighbours are copied is not seen of (t*4 + v) % 2 == 0": {"BODY": f"{BODY} if (t*4 + v) % 2 == 0 else 0"},
    "the layout of s parts 4 neighbours": {"LAYOUT": "swizzle(2, 1, 3)"},
    "that a thread begins at a multiple of 4 is not seen": {"BODY": "async s[t*4 + v + 1] = x[ROW, g*64 + t*4 + v]"},
}


@pytest.mark.parametrize("said", PASSING)
def test_why_a_copy_passes_registers(said: str) -> None:
    """The count says the same: only what passes no register is under way."""
    text = COPY
    for word, one in {"BODY": BODY, "ROW": "r", "TYPE": "f32", "LAYOUT": "", "WIDTH": "4"}.items():
        text = text.replace(word, PASSING[said].get(word, one))
    sizes = {"R": 64, "N": 256}
    (made,) = load_text(text, "copied").machines
    found = [d.labels[0].text for d in noted(text, "copied", "R = 64, N = 256") if d.code == "TG614"]
    assert found == [said] * bool(said)
    assert (measure(program(made), sizes).launches[0].underway is None) == bool(said)


@pytest.mark.parametrize(("arch", "many"), [("sm_75", 0), ("sm_80", 1)])
def test_no_note_where_nothing_copies(arch: str, many: int) -> None:
    text = next(p for p in NOTES if p.stem.startswith("TG614")).read_text(encoding="utf-8").replace("sm_80", arch)
    found = [d.code for d in noted(text, "older", "R = 132, N = 65536, M = 1024")]
    assert found.count("TG614") == 2 * many


def moderate(machine: Machine) -> dict[str, int]:
    """A size each that is quick to count; others where the preconditions want others."""
    sizes = dict.fromkeys(machine.op.sizes, {1: 1 << 20, 2: 1024, 3: 512}.get(len(machine.op.sizes), 64))
    return sizes if all(evaluate(w, sizes) for w in machine.op.where if not reads(w)) else usual_sizes(machine.op, {}, 128, MOST)


@pytest.mark.sampled
@pytest.mark.parametrize("spec", STEMS)
def test_the_notes_on_the_shipped_machines(spec: str, golden) -> None:
    """At moderate sizes, on an H100, without the assembler."""
    device, lines = device_named("h100"), []
    assert device is not None
    for machine in (m for m in library(spec) if m.arch != CPU):
        cost = measure(program(machine), moderate(machine))
        at = ", ".join(f"{name}={value}" for name, value in cost.sizes.items())
        said = [concise(d).split(": ", 1)[-1] for d in notes(cost, device, filled(cost, device.arch, device, ()))]
        lines += [f"{machine.title} {at}"] * bool(said) + [f"  {one}" for one in said]
    if lines or (GOLDEN / "notes" / f"{spec}.txt").exists():
        golden(f"notes/{spec}.txt", "\n".join(lines) + "\n")
