"""What is said of a proof and of a case: sizes, methods, numerics, steps, and the corners in which there is little to say.

Comes in: small programs, and programs made in Python. Goes out: sentences. The one idea: a sentence claims what was proved or run, no more.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.conftest import ROOT
from tests.obligations.texts import COPY, SUM, program
from tinygpu import pipeline
from tinygpu.category.term import App, Axis, Const, Term, Var
from tinygpu.diagnostic import NOWHERE, Label
from tinygpu.obligations.obligation import Obligation
from tinygpu.program.step import For, If, Program, Sync
from tinygpu.proof import confirm, mend, replay, summary
from tinygpu.proof.assumed import numerics_of
from tinygpu.proof.kernel import Proof, prove
from tinygpu.proof.rows import _thread, by_hand, named, refuted, rows, said
from tinygpu.simulate.fault import At, SimulationBudget
from tinygpu.simulate.inputs import ends_inputs
from tinygpu.simulate.tolerance import Mismatch

TEXT = """
op NAME(x: DTYPE[n]) -> (y: DTYPE[n]) { y[i] = x[i] + x[i] }
machine m : NAME { work grid = (g), block = (t: 128)
  compute i = (g, t) }
"""


def derived(dtype: str = "f32") -> Program:
    return pipeline.program(pipeline.load_text(TEXT.replace("NAME", "double").replace("DTYPE", dtype)).machines[0])


def proof(one: Program) -> Proof:
    result = prove(one)
    assert isinstance(result, Proof)
    return result


def test_a_proof_is_summed_up() -> None:
    held = proof(derived())
    assert summary.sizes(derived()) == "all n"
    said = summary.methods(held)
    total = sum(int(word) for word in said.partition(": ")[2].replace(",", "").split() if word.isdigit())
    assert said.startswith(f"{total} obligations: ") and 0 < total <= len(held.theorems)
    assert said in summary.on_cpu(held) and any(said in fact for fact in summary.facts(held))


def test_a_machine_of_one_size() -> None:
    text = TEXT.replace("[n]", "[256]").replace("NAME", "double").replace("DTYPE", "f32")
    one = pipeline.program(pipeline.load_text(text).machines[0])
    assert summary.sizes(one) == "its one size" and isinstance(prove(one), Proof)
    assert not any(name == "" for name, _ in rows(one, {}, Mismatch("y", (3,), 1.0, 2.0)))


def test_numerics_of_integers_and_of_atomics() -> None:
    assert numerics_of(derived("i32")).sentence == "Integers are exact, modulo the width of their type."
    added = next(m for m in pipeline.load(ROOT / "specs" / "dot.tgpu").machines if m.name == "dot_atomic")
    assert "atomic updates come in another order at every call" in numerics_of(pipeline.program(added)).sentence


@pytest.mark.parametrize("raised", [SimulationBudget("too many"), ZeroDivisionError(), IndexError()], ids=repr)
def test_where_nothing_can_be_run_nothing_is_said(raised: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*given: object, **named: object) -> object:
        raise raised

    made, seen = program(SUM, "s[ROW] = x[ROW, 0]"), Mismatch("s", (0,), 1.0, 2.0)

    for module in (confirm, replay):
        monkeypatch.setattr(module, "simulate", fails)
    assert confirm.fitting(made, {"R": 1, "N": 2}, seen, ("TG505", "TG504")) == ("TG505", "TG504")
    assert replay.replay(made, {"R": 1, "N": 2}) is None
    assert mend._faults(made, {"R": 1, "N": 2}) == ()


def test_too_few_terms_are_told_from_too_many() -> None:
    seen = Mismatch("s", (0,), 1.0, 2.0)
    few = program(SUM, "s[ROW] = x[ROW, 0]", where="N >= 2")
    assert confirm.fitting(few, {"R": 1, "N": 3}, seen, ("TG504", "TG505"))[0] == "TG505"
    many = program(SUM, "local a: f32[]\na[] = 0\nfor j < N { a[] += 2*x[ROW, j] }\ns[ROW] = a[]")
    assert confirm.fitting(many, {"R": 1, "N": 3}, seen, ("TG505", "TG504"))[0] == "TG504"


def test_sizes_at_which_a_precondition_has_no_value_are_not_admitted() -> None:
    made = program(COPY, "s[ROW] = x[ROW]")
    divided: Term = App("eq", (Var("R") % (Var("R") - 4), Const(0)), "bool")
    assert not replay.admitted(replace(made, where=(divided,)), {"R": 4})
    assert replay.admitted(replace(made, where=(divided,)), {"R": 8})


def test_a_boolean_input_stands_out_at_its_end() -> None:
    text = "op any_of(x: bool[n]) -> (y: bool[]) { y[] = any[i] x[i] }\nmachine m : any_of { work grid = (), block = (t: 32)\n compute i = (c, t)\n time c }"
    op = pipeline.load_text(text).machines[0].op
    assert ends_inputs(op, {"n": 5})["x"].tolist() == [False] * 4 + [True]


def test_a_law_that_numbers_do_not_break_is_not_refuted() -> None:
    claim = Obligation("monoid", "TG520", "no law of this name", "", (), Const(False, "bool"), (Label(NOWHERE, ""),))
    assert refuted(claim) is None


def test_steps_have_names_with_and_without_a_text() -> None:
    hand = program(SUM, "local a: f32[]\na[] = 0\nfor j < N { a[] += x[ROW, j] }\ns[ROW] = a[]")
    made = pipeline.program(pipeline.load(ROOT / "specs" / "row_sum.tgpu").machines[0])
    assert by_hand(hand) and not by_hand(made)
    loop = next(s for s in made.launches[0].body if isinstance(s, For))
    assert named(made, loop) == f"the loop over {loop.axis.name}"
    assert named(made, Sync()) == "barrier"
    branch = If(Var("t") < 3, ())
    assert named(made, branch) == "`if t < 3`"
    assert named(hand, hand.launches[0].body[-1]).startswith("line ")
    assert mend._named(hand, replace(branch, span=hand.launches[0].body[-1].span)).startswith("the `if` (line ")
    assert said(hand, At(replace(NOWHERE, line=7), 0, (), ())) == "line 7"


def test_a_thread_of_a_block_over_sizes_has_no_number() -> None:
    made = program(COPY, "s[ROW] = x[ROW]")
    launch = replace(made.launches[0], block=(Axis("t", Var("R"), "block"),))

    at = At(NOWHERE, 0, (("g", 0), ("t", 3)), ())
    assert _thread(replace(made, launches=(launch,)), at) is None and _thread(made, at) == 3
