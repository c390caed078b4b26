"""Reading and rendering of what threads do together: the corpus goes to text and back, and each step is what the text says."""

from __future__ import annotations

import pytest

from tests.program.cooperation_texts import SIZES, TEXTS, TOTAL
from tests.program.library import agrees, machines
from tinygpu.category.layout import Layout
from tinygpu.category.term import App, Const, Read, Var, text
from tinygpu.program.read import read
from tinygpu.program.render import render_machine
from tinygpu.program.space import SHARED, WORKSPACE
from tinygpu.program.step import Array, Assign, Program, Sync, steps
from tinygpu.record import replace

STRANGE = f"""{TOTAL}
machine strange : total {{
  param B = 8
  program {{
    workspace part: f32[ceil(n / B)]
    workspace flags: bool[2, n]
    launch (grid = (g: ceil(n / B)), block = (t: 32)) {{
      shared one: i64[]
      shared two: f32[B, B] swizzle(B - 6, 1, 3)
      local v: f32[]
      v[] = shuffle_idx(shuffle_up(2 * x[0], t // 2) + 1, 33) * exp(shuffle_down(exp(t), 3))
      warp barrier
      atomic one[] max= 3
      if g < 1 {{
        barrier
        flags[t % 2, 0] any= shuffle_xor(t < 3, 1)
      }}
      part[g] = shuffle_xor(2, 1)
    }}
    launch (grid = (), block = ()) {{ s[] = part[0] }}
    launch (grid = (), block = ()) {{ part[0] = s[] }}
  }}
}}
"""
ALL = {**TEXTS, "strange": STRANGE, "one_launch": STRANGE.partition("    launch (grid = (), block")[0] + "} }"}


def program(source: str) -> Program:
    (machine,) = machines(source).values()
    return read(machine)


@pytest.mark.parametrize("name", sorted(ALL))
def test_the_text_of_a_program_reads_back_to_it(name: str) -> None:
    made = program(ALL[name])
    again = program(ALL[name].partition("machine")[0] + render_machine(made))
    assert replace(again, name=made.name) == made


@pytest.mark.parametrize("name", sorted(TEXTS))
def test_the_corpus_computes_its_equations(name: str) -> None:
    assert not agrees(program(TEXTS[name]), SIZES[name])


def test_a_layout_stands_behind_its_array() -> None:
    (padded,) = program(TEXTS["transpose_padded"]).shared.values()
    assert padded == Array("s", "f32", (Const(32), Const(32)), SHARED, Layout(pad=1))
    assert program(STRANGE).shared["two"].layout == Layout(swizzle=(2, 1, 3))


def test_barriers_atomics_and_workspaces() -> None:
    strange = program(STRANGE)
    body = tuple(steps(strange.launches[0].body))
    assert [s.scope for s in body if isinstance(s, Sync)] == ["warp", "block"]
    assert [s.target for s in body if isinstance(s, Assign) and s.atomic] == ["one"]
    assert strange.workspaces[1] == Array("flags", "bool", (Const(2), Var("n")), WORKSPACE)
    assert [text(w.extents[0]) for w in strange.workspaces] == ["ceil(n / 8)", "2"]


def test_a_shuffle_is_a_term_of_its_values_dtype() -> None:
    values = [s.value for s in steps(program(STRANGE).launches[0].body) if isinstance(s, Assign)]
    assert values[-1] == App("shuffle_xor", (Const(2.0, "f32"), Const(1)), "f32")
    assert values[-2] == App("shuffle_xor", (Var("t") < 3, Const(1)), "bool")


def test_an_output_is_read_by_the_launches_after_the_one_that_stored_it() -> None:
    last = program(STRANGE).launches[-1].body[0]
    assert isinstance(last, Assign) and last.value == Read("s", (), "f32")
