"""Every obligation is seen failing: for each kind and code that a property states there is a program of which it is not proved.

Comes in: the specs of `tests/wrong`, programs made in Python, and the text of `obligations/` itself. Goes out: the open claims.
The one idea: what is stated anywhere is read off the text, place by place, so a new obligation needs its wrong program here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace

import pytest

from tests.conftest import ROOT
from tests.obligations.places import Recorder, places
from tests.obligations.test_storage import with_layout
from tests.obligations.texts import COPY as COPIED
from tests.obligations.texts import program as by_hand
from tinygpu.category.term import Axis, Term, Var
from tinygpu.derive.wide import wide_accesses
from tinygpu.diagnostic import TinygpuError
from tinygpu.obligations import access, storage, width
from tinygpu.obligations.obligation import Claim, Obligation
from tinygpu.obligations.trace import Trace
from tinygpu.pipeline import load_text, program
from tinygpu.program.layout import Layout
from tinygpu.program.step import Array, For, Program
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
STORED_BY_TWO = """
op copy(x: f32[8]) -> (y: f32[8]) { y[i] = x[i] }
machine m : copy {
  program {
    launch (grid = (), block = (u: 8)) { y[u] = x[u] }
    launch (grid = (), block = (t: 8)) { y[t * 3 % 8] = 7 if t == 3 or t == 4 }
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
MATRIX = """
op copy(x: f32[M, N]) -> (y: f32[M, N]) { y[i, j] = x[i, j] }
machine m : copy { work grid = (g), block = (t: 128)
  compute (i, j) = (g, t) }
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
    ("equation", "TG514"): "TG514_outside",
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
    ("memory", "TG507"): "TG507_accumulated_in_memory",
    ("uniform", "TG303"): "TG303_tail_stays_away",
    ("uniform", "TG304"): "TG304_half_a_warp",
    ("vacuity", "TG511"): "TG511_for_nothing",
    ("vacuity", "TG512"): "TG512_never_reached",
    ("width", "TG403"): "TG403_width",
    ("width", "TG404"): "TG404_negative_division",
}
MADE: dict[tuple[str, str], Callable[[], Program]] = {
    ("defined", "TG404"): lambda: made(DIVIDED),
    ("defined", "TG510"): lambda: made(DROPPED),
    ("limits", "TG401"): lambda: block_of_a_size(),
    ("store", "TG116"): reads_its_output,
    ("initialised", "TG201"): lambda: made(NEVER_ZEROED),
    ("once", "TG202"): lambda: made(STORED_BY_TWO),
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
    monkeypatch.setattr(access, "wide_accesses", lambda program: moved)
    assert open_claims(one) == {("alignment", "TG405")}


def test_two_cells_at_one_address_are_open() -> None:
    """What is not well formed is asked nothing else; so this property is asked alone."""
    one = with_layout(Layout(pad=-1))
    assert open_claims(one) == {("wellformed", "TG513")}
    claims = [c for c in storage.storage(one, Trace()) if isinstance(c, Obligation)]
    assert {(c.kind, c.code) for c in claims if not isinstance(discharge(c), Theorem)} == STORAGE


def block_of_a_size() -> Program:
    """As many threads as there are rows, and there may be none."""
    one = by_hand(COPIED, "s[ROW] = x[ROW]")
    (launch,) = one.launches
    return replace(one, launches=(replace(launch, block=(Axis("t", Var("R"), "block"),)),), where=(Var("R") <= 32,))


def two_arrays() -> Program:
    one = with_layout(Layout())
    (launch,) = one.launches
    array = launch.body[0]
    assert isinstance(array, Array) and array.owner == "block"
    return replace(one, launches=(replace(launch, body=(array, replace(array, name="other"), *launch.body[1:])),))


def column_major(shape: tuple[Term, ...], index: tuple[Term, ...]) -> Term:
    """The address of an element, with rows for columns."""
    return index[1] * shape[1] + index[0]


def asked_alone(watch: pytest.MonkeyPatch) -> Iterator[Claim]:
    """Claims about what the program cannot say, and the functions that set memory out would have to get wrong."""
    yield from storage.storage(with_layout(Layout(pad=-1)), Trace())
    yield from storage.storage(with_layout(Layout(swizzle=(3, 0, 0))), Trace())
    with watch.context() as here:
        here.setattr("tinygpu.program.layout.whole", lambda elements, swizzle: elements)
        yield from storage.storage(with_layout(Layout(swizzle=(4, 3, 1))), Trace())
    with watch.context() as here:
        here.setattr(storage, "shared_places", lambda launch: ({"s": 0, "other": 0}, 0))
        yield from storage.storage(two_arrays(), Trace())
    with watch.context() as here:
        here.setattr(width, "address", column_major)
        yield from width.state(made(MATRIX), Trace())
    with watch.context() as here:
        one = made(WIDE)
        moved = tuple(replace(w, first=(*w.first[:-1], w.first[-1] + 1)) for w in wide_accesses(one))
        here.setattr(access, "wide_accesses", lambda program: moved)
        yield from access.alignment(one, Trace())


def wrong_programs() -> Iterator[Program]:
    """All of `tests/wrong` that the prover is asked of, and what is made in Python."""
    for path in sorted((ROOT / "tests" / "wrong").glob("TG[2-5]*.tgpu")):
        with suppress(TinygpuError):  # refused before it is a program
            yield from [program(machine) for machine in load_text(path.read_text(encoding="utf-8")).machines]
    yield from (make() for make in MADE.values())


def test_every_place_at_which_a_claim_is_stated_is_seen_failing(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = Recorder(monkeypatch)
    left = [o.claim for one in wrong_programs() for result in (prove(one),) if not isinstance(result, Proof) for o in result]
    left += [claim for claim in asked_alone(monkeypatch) if not isinstance(discharge(claim), Theorem)]
    assert set(places()) - seen.stated_at(left) == set()
    # and no claim, proved or not, is of a kind and a code that none of the tests above sees open
    assert {(claim.kind, claim.code) for claim in seen.of} <= {*SPECS, *MADE, *STORAGE, ("alignment", "TG405")}
