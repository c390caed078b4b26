"""Every property of a program is seen to hold and to fail.

Comes in: for each property a program without it, and one that has them all. Goes out: the codes that are open.
The one idea: a property that no program fails is not checked.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

import tinygpu.obligations.access as access
from tests.obligations.texts import COPY, SUM, open_codes, program
from tinygpu import pipeline
from tinygpu.category.term import Read
from tinygpu.derive.wide import wide_accesses
from tinygpu.obligations import PROPERTIES, state
from tinygpu.obligations.dataflow import execute
from tinygpu.obligations.obligation import Gap, Inhabited, Obligation
from tinygpu.obligations.width import size_limits
from tinygpu.program.step import Assign, If, Program
from tinygpu.proof.kernel import Proof, prove

TWO = "op two(x: f32[R]) -> (s: f32[R], u: f32[R]) { s[r] = x[r]\nu[r] = x[r] }"
WIDE = """
op copy4(x: f32[n]) -> (s: f32[n]) { s[i] = x[i] }
machine m : copy4 {
  work grid = (g), block = (t: 32)
  compute i = (g, t, v: 4)
  vector v
}
"""
GATHER = "op gather(x: f32[S], idx: i32[R]) -> (s: f32[R]) where all[t < R] (0 <= idx[t] and idx[t] < S) { s[r] = x[idx[r]] }"
GOOD = (
    SUM,
    "local a: f32[2]\na[0] = 0\na[1] = 0\nfor k < N { a[k % 2] = a[k % 2] + x[ROW, k] }\ns[ROW] = a[0] + a[1]",
)


def test_every_property_is_stated_and_proved_of_a_good_program() -> None:
    made = pipeline.program(pipeline.load_text(WIDE).machines[0])
    proof = prove(made)
    assert isinstance(proof, Proof)
    kinds = {t.claim.kind for t in proof.theorems}
    assert {"vacuity", "limits", "bounds", "once", "cover", "body", "alignment", "width"} <= kinds
    assert {t.method for t in proof.theorems} <= {"structure", "z3", "model"}


def test_a_fold_is_stated_and_proved() -> None:
    proof = prove(
        program(SUM, "local a: f32[]\na[] = 0\nfor k < N { a[] += x[ROW, k] }\na[] holds sum[q < N] x[ROW, q]\ns[ROW] = a[]")
    )
    assert isinstance(proof, Proof)
    assert {"fold", "holds"} <= {t.claim.kind for t in proof.theorems}


def test_what_cannot_be_stated_is_open() -> None:
    # cells chosen by a remainder have no closed form here, and a loop over a size is not unrolled
    assert "TG501" in open_codes(program(*GOOD))


def test_an_output_that_is_read() -> None:
    made = program(COPY, "local a: f32[]\na[] = x[ROW]\ns[ROW] = x[ROW]")
    (launch,) = made.launches
    local, guarded = launch.body
    assert isinstance(guarded, If)
    first, second = guarded.body
    assert isinstance(first, Assign) and isinstance(second, Assign)
    read = replace(first, value=Read("s", second.index, "f32"))
    body = (local, replace(guarded, body=(second, read)))
    assert open_codes(replace(made, launches=(replace(launch, body=body),))) == {"TG116"}


def test_sizes_that_nothing_satisfies() -> None:
    assert "TG511" in open_codes(program(COPY, "s[ROW] = x[ROW]", where="R > 4 and R < 3"))


def test_too_many_threads() -> None:
    text = f"{COPY}\nmachine m : copy {{ work grid = (g), block = (t: 2048)\n compute r = (g, t) }}"
    assert "TG401" in open_codes(pipeline.program(pipeline.load_text(text).machines[0]))


def test_a_wide_access_that_is_not_aligned(monkeypatch: pytest.MonkeyPatch) -> None:
    made = pipeline.program(pipeline.load_text(WIDE).machines[0])

    def shifted(program: Program) -> object:
        return tuple(replace(w, first=(*w.first[:-1], w.first[-1] + 1)) for w in wide_accesses(program))

    assert wide_accesses(made) and not open_codes(made)
    monkeypatch.setattr(access, "wide_accesses", shifted)
    assert open_codes(made) == {"TG405"}


def test_promises_are_what_a_gather_is_proved_by() -> None:
    good = program(GATHER, "s[ROW] = x[idx[ROW]]")
    assert good.op.promises and not open_codes(good)
    assert "TG203" in open_codes(replace(good, op=replace(good.op, promises=())))


def test_promises_that_no_data_keeps_prove_nothing() -> None:
    assert "TG511" in open_codes(program(GATHER.replace("idx[t] < S", "idx[t] < 0"), "s[ROW] = x[idx[ROW]]"))


def test_a_promise_is_about_the_tensor_that_it_names() -> None:
    other = GATHER.replace("idx: i32[R])", "idx: i32[R], other: i32[R])").replace("x[idx[r]]", "x[idx[r]] + f32(other[r])")
    assert not open_codes(program(other, "s[ROW] = x[idx[ROW]] + f32(other[ROW])"))
    assert "TG203" in open_codes(program(other, "s[ROW] = x[other[ROW]] + f32(other[ROW])"))


def test_the_index_terms_of_decided_conditions_have_to_fit_too() -> None:
    # that ceil(R / 48) * 48 is more than every row is decided, and computed all the same
    body = "s[ROW] = x[ROW] if ROW < ceil(R / 48) * 48 else 0"
    made = program(COPY, body)
    computed = {t for t, _, _ in execute(made).computed}
    assert any("ceildiv" in repr(t) for t in computed)
    assert any("ceildiv" in repr(t) for t in size_limits(made, execute(made)))


def test_claims_come_in_one_order_and_each_once() -> None:
    made = pipeline.program(pipeline.load_text(WIDE).machines[0])
    claims = list(state(made))
    assert claims == list(state(made)) and len(set(claims)) == len(claims)
    assert all(isinstance(c, Obligation | Inhabited | Gap) and c.code.startswith("TG") for c in claims)
    assert len(dict(PROPERTIES)) == len(PROPERTIES)
