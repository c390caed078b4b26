"""Every obligation is seen failing: for each kind and code that a property states there is a program of which it is not proved.

Comes in: the specs of `tests/wrong`, programs made in Python, and the text of `obligations/` itself. Goes out: the open claims.
The one idea: what is stated anywhere is read off the text, so a new obligation needs its wrong program here.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from tests.conftest import ROOT
from tests.obligations.test_storage import with_layout
from tinygpu.obligations import alignment, storage
from tinygpu.obligations.obligation import Obligation
from tinygpu.obligations.trace import Trace
from tinygpu.pipeline import load_text, program
from tinygpu.program.layout import Layout
from tinygpu.program.step import For, Program
from tinygpu.program.wide import wide_accesses
from tinygpu.proof.kernel import Proof, Theorem, discharge, prove

DIVIDED = """
op halves(x: i32[n]) -> (y: i32[n]) { y[i] = x[i] // 2 }
machine m : halves { work grid = (g), block = (t: 128)
  compute i = (g, t) }
"""
DROPPED = """
op copy(x: u32[n]) -> (y: u32[n]) { y[i] = x[i] }
machine m : copy {
  work grid = (g: ceil(n / 128)), block = (t: 128)
  program {
    local v: u32[]
    v[] = 7 // x[g*128 + t] if g*128 + t < n
    y[g*128 + t] = x[g*128 + t] if g*128 + t < n
  }
}
"""
READ_BACK = """
op twice(x: f32[n]) -> (y: f32[n], z: f32[n]) { y[i] = x[i]
  z[i] = x[i] }
machine m : twice {
  work grid = (g: ceil(n / 128)), block = (t: 128)
  program {
    local v: f32[]
    v[] = x[g*128 + t] if g*128 + t < n else 0
    y[g*128 + t] = v[] if g*128 + t < n
    z[g*128 + t] = v[] if g*128 + t < n
  }
}
"""
NEVER_ZEROED = """
op total(x: f32[n]) -> (s: f32[]) { s[] = sum[i] x[i] }
machine m : total {
  work grid = (g: ceil(n / 128)), block = (t: 128)
  program { atomic s[] += x[g*128 + t] if g*128 + t < n }
}
"""
TOO_LARGE = """
op copy(x: f32[n]) -> (y: f32[n]) { y[i] = x[i] }
machine m : copy {
  work grid = (g: ceil(n / 128)), block = (t: 128)
  program {
    if g*128 + t < n {
      local p: f32[]
      p[] = x[g*128 + t]
      HALVED
      y[g*128 + t] = p[]
    }
  }
}
""".replace("HALVED", "\n      ".join(["p[] = p[]*0.5 + p[]*0.5"] * 13))
WIDE = """
op copy(x: f32[n]) -> (y: f32[n]) { y[i] = x[i] }
machine m : copy { work grid = (g), block = (t: 128)
  compute i = (g, t, v: 4)
  vector v }
"""


def made(text: str) -> Program:
    return program(load_text(text).machines[0])


def reads_its_output() -> Program:
    """The second store stores what the first one did, read from the output instead of the local."""
    one = made(READ_BACK)
    (launch,) = one.launches
    *first, last = launch.body
    back = replace(last, value=replace(first[2].value, tensor="y", index=last.index))  # type: ignore[union-attr, type-var]
    return replace(one, launches=(replace(launch, body=(*first, back)),))


def not_well_formed() -> Program:
    one = made(WIDE)
    return replace(one, launches=(replace(one.launches[0], body=(*one.launches[0].body, For(one.launches[0].block[0], ()))),))


SPECS = {
    ("body", "TG502"): "TG306_two_monoids",
    ("bounds", "TG203"): "TG203_no_guard",
    ("cover", "TG201"): "TG201_no_tail",
    ("dataflow", "TG501"): "TG501_no_closed_form",
    ("followed", "TG301"): "TG501_no_closed_form",
    ("defined", "TG510"): "TG510_undefined",
    ("fold", "TG503"): "TG503_unmatched",
    ("fold", "TG504"): "TG504_outside_the_fold",
    ("fold", "TG505"): "TG505_a_term_is_missing",
    ("fold", "TG506"): "TG506_not_reset",
    ("fold", "TG508"): "TG508_changed_order",
    ("fold", "TG532"): "TG532_mean_of_nothing",
    ("holds", "TG509"): "TG509_does_not_hold",
    ("initialised", "TG301"): "TG301_not_initialised",
    ("limits", "TG401"): "TG401_block_too_large",
    ("limits", "TG402"): "TG402_registers",
    ("limits", "TG406"): "TG406_shared_memory",
    ("memory", "TG305"): "TG305_in_one_launch",
    ("memory", "TG306"): "TG306_two_monoids",
    ("monoid", "TG520"): "TG520_unit_wrong",
    ("once", "TG202"): "TG202_two_blocks_and_a_workspace",
    ("ordered", "TG302"): "TG302_barrier_after_the_read",
    ("store", "TG507"): "TG507_accumulated_in_memory",
    ("uniform", "TG303"): "TG303_tail_stays_away",
    ("uniform", "TG304"): "TG304_half_a_warp",
    ("vacuity", "TG511"): "TG511_for_nothing",
    ("vacuity", "TG512"): "TG512_never_reached",
    ("width", "TG403"): "TG403_width",
    ("width", "TG404"): "TG404_negative_division",
}
MADE: dict[tuple[str, str], Callable[[], Program]] = {
    ("defined", "TG404"): lambda: made(DIVIDED),
    ("store", "TG116"): reads_its_output,
    ("initialised", "TG201"): lambda: made(NEVER_ZEROED),
    ("initialised", "TG501"): lambda: made(TOO_LARGE),
    ("wellformed", "TG513"): not_well_formed,
}

STORAGE = {("storage", "TG307")}


def open_claims(one: Program) -> set[tuple[str, str]]:
    """Kind and code of what is not proved."""
    result = prove(one)
    return set() if isinstance(result, Proof) else {(o.claim.kind, o.claim.code) for o in result}


@pytest.mark.parametrize("which", SPECS, ids=" ".join)
def test_a_wrong_spec_leaves_it_open(which: tuple[str, str]) -> None:
    text = (ROOT / "tests" / "wrong" / f"{SPECS[which]}.tgpu").read_text(encoding="utf-8")
    assert any(which in open_claims(program(machine)) for machine in load_text(text).machines)


@pytest.mark.parametrize("which", MADE, ids=" ".join)
def test_a_wrong_program_leaves_it_open(which: tuple[str, str]) -> None:
    assert which in open_claims(MADE[which]())


def test_a_division_whose_result_is_dropped_is_a_division() -> None:
    assert ("defined", "TG510") in open_claims(made(DROPPED))
    assert not open_claims(made(DROPPED.replace("7 //", "7 +")))


def test_an_access_that_is_not_aligned_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    one = made(WIDE)
    moved = tuple(replace(w, first=(*w.first[:-1], w.first[-1] + 1)) for w in wide_accesses(one))
    assert moved and not open_claims(one)
    monkeypatch.setattr(alignment, "wide_accesses", lambda program: moved)
    assert open_claims(one) == {("alignment", "TG405")}


def test_two_cells_at_one_address_are_open() -> None:
    """What is not well formed is asked nothing else; so this property is asked alone."""
    one = with_layout(Layout(pad=-1))
    assert open_claims(one) == {("wellformed", "TG513")}
    claims = [c for c in storage.state(one, Trace()) if isinstance(c, Obligation)]
    assert {(c.kind, c.code) for c in claims if not isinstance(discharge(c), Theorem)} == STORAGE


def stated() -> Iterator[tuple[str, str]]:
    """Kind and code of every claim that the text of `obligations/` makes with both written out."""
    for path in (ROOT / "tinygpu" / "obligations").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in ("Obligation", "Gap", "Inhabited")
            ):
                kind, code = (a.value if isinstance(a, ast.Constant) else None for a in node.args[:2])
                if isinstance(kind, str) and isinstance(code, str):
                    yield kind, code


def test_nothing_is_stated_that_never_fails() -> None:
    assert set(stated()) <= {*SPECS, *MADE, *STORAGE, ("alignment", "TG405")}
