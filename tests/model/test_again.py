"""A text that is read again: machines that no edit touches are made once, and all is as if nothing had been read before.

Comes in: texts one after the other, as an editor sends them. Goes out: the spec of each, with all places, against the spec that a process makes that has read nothing else.
The one idea: what a machine is depends on its text, its place and the declarations that are no machines, so nothing else has to be compared.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tinygpu.diagnostic import Span, TinygpuError
from tinygpu.model import elaborate as elaboration
from tinygpu.pipeline import Loaded, load_text
from tinygpu.record import fields, is_dataclass
from tinygpu.syntax import parse as parsing

ROOT = Path(__file__).resolve().parents[2]
FILES = ("saxpy", "matmul_shared", "row_sum", "norm", "launches", "by_hand")
TEXT = """param B = 256
op scale(a: f32, x: f32[n]) -> (y: f32[n]) { y[i] = a * x[i] }
machine one : scale { work grid = (g), block = (t: 256)
  compute i = (g, t) }
machine two : scale { work grid = (g), block = (t: 128)
  compute i = (g, t) }
machine three : scale { work grid = (g), block = (t: B)
  compute i = (g, t) }
"""


@pytest.fixture(autouse=True)
def nothing_read() -> None:
    elaboration.READ.clear()
    parsing._read.cache_clear()


def plain(one: Any) -> Any:
    """Everything in a value, also places, which equality leaves out."""
    if isinstance(one, Span):
        return [one.file, one.start, one.end, one.line, one.column, one.end_line, one.end_column, plain(one.origin)]
    if isinstance(one, tuple | list):
        return [plain(part) for part in one]
    if is_dataclass(one) and not isinstance(one, type):
        return [type(one).__name__, *(plain(getattr(one, field.name)) for field in fields(one))]
    return repr(one)


def read(text: str) -> Any:
    """What a text is: its spec, or what is wrong with it and what is right."""
    try:
        return plain(load_text(text, "a.tgpu").spec)
    except TinygpuError as error:
        rest = error.rest
        return plain(error.diagnostics), plain(rest.spec) if isinstance(rest, Loaded) else None


def alone(text: str) -> Any:
    """The same for who has read nothing else; what was read before is kept."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(elaboration, "READ", {})
        patch.setattr(parsing, "_read", parsing._read.__wrapped__)
        return read(text)


def test_only_what_has_changed_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    made, machines = list[str](), elaboration._machines
    monkeypatch.setattr(elaboration, "_machines", lambda machine, *more: made.append(machine.name) or machines(machine, *more))
    for text, new in (
        (TEXT, ["one", "two", "three"]),
        (TEXT.replace("128", "512"), ["two"]),
        (TEXT.replace("two", "second"), ["second", "three"]),  # which has moved
        (TEXT, []),
        (TEXT.replace("a * x", "x * a").replace("x * a[i]", "x[i] * a"), ["one", "two", "three"]),
        (TEXT.replace("B = 256", "B = 128"), ["one", "two", "three"]),
        (f"# moved\n{TEXT}", ["one", "two", "three"]),
    ):
        made.clear()
        read(text)
        assert made == new


def test_what_is_wrong_in_a_machine_is_said_each_time() -> None:
    """Also where a mistake elsewhere has kept it from being said."""
    idle = TEXT.replace("block = (t: 128)", "block = (t: 128, u: 2)")
    elsewhere = idle.replace("(g), block = (t: 256)", "(g), block = (t: fff)")
    for text in (elsewhere, idle, elsewhere, idle, TEXT, idle):
        assert read(text) == alone(text)


@pytest.mark.parametrize("name", FILES)
def test_a_text_read_after_others_is_as_if_it_were_the_first(name: str) -> None:
    """Edits of one number, a blank, or a line that is gone, one after the other."""
    chance, first = random.Random(name), (ROOT / "specs" / f"{name}.tgpu").read_text(encoding="utf-8")
    text = first
    for _ in range(12):
        lines = text.split("\n")
        at = chance.randrange(len(lines))
        match chance.randrange(4):
            case 0:
                lines[at] = lines[at].replace("16", "32").replace("256", "128")
            case 1:
                lines[at] += " "
            case 2:
                del lines[at]
            case 3:
                lines = first.split("\n")
        text = "\n".join(lines)
        assert read(text) == alone(text)
