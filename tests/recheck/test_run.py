"""What is wrong is seen in a run at small sizes, and nothing that is right is.

Comes in: machines of the library with one change (`changed/`; of folds whose order counts `ordered/`), programs that once were proved and wrong, programs that are right. Goes out: a failure with
the run. The one idea: a checker that shares nothing with the prover is worth what it finds.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.comments import Wrong, wrongs
from tests.conftest import Whole
from tests.program.library import library
from tinygpu import pipeline
from tinygpu.category.term import App, Const, Read, Var, select
from tinygpu.category.to_numpy import evaluate
from tinygpu.diagnostic import TinygpuError
from tinygpu.program.step import Program
from tinygpu.proof.kernel import Proof, prove
from tinygpu.recheck import Agreement, Disagreement
from tinygpu.recheck.run import WORK, rerun

HERE = Path(__file__).parent
MEANING = HERE.parent / "meaning"
FEW = 6  # sizes
BUDGET = 200_000  # of the prover, for one claim: enough for all claims of what is right
BEYOND = (  # what no run on reals sees: rounding, literals as a dtype has them, what equations divide by, data that is too rare, and more
    "a_root_that_is_taken_for_positive",
    "a_root_that_may_be_0",
    "a_narrow_literal", "atomic_of_two_blocks", "barrier_by_two_sums", "barrier_of_products", "butterfly_of_max_nan", "butterfly_of_welford",
    "cover_of_welford", "fold_extent_divides_by_0", "fold_extent_divides_by_0_in_a_branch", "fold_of_intermediate_infinities",
    "holds_of_integer_under_rounding", "lanes_integer_by_rounding", "sum_of_both_infinities_guard", "workspace_extent_divides_by_0",
    "workspace_extent_negative", "index_inside_a_stored_read", "literal_that_is_rounded",
    "literals_of_bf16", "literals_of_f32", "literals_that_are_one", "max_of_computed_in_two_orders", "max_of_nan", "max_of_two_lanes_in_two_orders",
    "max_order", "merged_onto_minus_zero", "merged_swapped", "minus_zero_literal", "one_sum_in_two_orders_under_a_guard",
    "one_sum_in_two_orders_written_over", "pack_of_a_maximum_over_nothing", "promise_of_what_is_rounded", "root_of_one",
    "shuffled_after_a_quotient", "shuffled_after_rounding", "sums_in_two_brackets", "sums_in_two_nests",
    "sums_in_two_orders", "two_literals_one_text", "u10_remainder", "u1_integer_quotient_of_both",
    "u1_integer_remainder_of_both", "u1_or_guard", "u1_truth_kept", "u5_guarded", "u5_sum", "u5_wide_index_outside",
    "u8_extent_quotient", "u9_fold_of_products", "u9_if", "u9_index_by_rounding", "u9_integer_of_float", "u9_narrow",
    "u9_positive", "u9_shared", "u9_store_by_rounding", "u9_third", "unit_beside_a_fold", "unit_of_a_monoid",
    "window_unit_nan", "window_unit_zero", "zero_sign",
)  # fmt: skip
NOTHING = "never_stored_where_it_wraps"  # an integer without a value, times 0: the runs hold it for 0
LIBRARY = ("saxpy", "row_sum", "softmax", "transpose", "scan", "histogram", "welford", "argmax", "logsumexp", "embedding")


def program_of(text: str) -> Program | None:
    """The program of a text; nothing where it is refused as it is read."""
    try:
        return pipeline.program(pipeline.load_text(text).machines[0])
    except TinygpuError:
        return None


def stem(path: Path) -> str:
    return path.stem


def titled(folder: str, far: str = "") -> list[Any]:
    """The wrong programs of a folder; those of a file that is `far` go wrong at sizes of which a run takes half a minute."""
    marks = {path: [pytest.mark.night] if path.stem == far else [] for path in sorted((HERE / folder).glob("*.tgpu"))}
    return [pytest.param(w, id=f"{path.stem}: {w.title}", marks=mark) for path, mark in marks.items() for w in wrongs(path)]


@pytest.mark.sampled(5)
@pytest.mark.parametrize("wrong", titled("changed") + titled("ordered", far="recurrence_block"))
def test_a_changed_machine_goes_wrong(wrong: Wrong) -> None:
    program = program_of(wrong.text)
    assert program is None or isinstance(rerun(program), Disagreement)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("path", sorted((HERE / "changed").glob("*.tgpu")), ids=stem)
def test_the_machines_that_are_changed_do_not(path: Path, whole: Whole) -> None:
    right = program_of(path.read_text(encoding="utf-8"))
    found = rerun(right, FEW, WORK if whole(path.stem) else WORK // 8) if right else None
    assert isinstance(found, Agreement) and found.runs


@pytest.mark.parametrize("wrong", titled("ordered"))
def test_folds_in_another_order_are_not_proved(wrong: Wrong) -> None:
    """A change of the order alone leaves the same terms, each once, so a checker that took the fold for a set would prove it."""
    program = program_of(wrong.text)
    assert program is not None and not isinstance(prove(program, BUDGET, hasty=True, enough=1), Proof)


@pytest.mark.parametrize("path", [p for p in sorted((MEANING / "unsound").glob("*.tgpu")) if p.stem not in BEYOND], ids=stem)
def test_what_was_proved_and_wrong_goes_wrong(path: Path) -> None:
    program = program_of(path.read_text(encoding="utf-8"))
    assert program is None or isinstance(rerun(program), Disagreement)


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    "path", [p for f in ("right", "undecided") for p in sorted((MEANING / f).glob("*.tgpu")) if p.stem != NOTHING], ids=stem
)
def test_what_is_right_does_not(path: Path, whole: Whole) -> None:
    program = program_of(path.read_text(encoding="utf-8"))
    assert program is not None
    found = rerun(program) if whole(path.stem) else rerun(program, FEW, WORK // 8)
    assert isinstance(found, Agreement) and found.runs, found


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", LIBRARY)
def test_machines_of_the_library_do_not(name: str) -> None:
    for machine in library(name)[:2]:
        found = rerun(pipeline.program(machine), sizes=8)
        assert isinstance(found, Agreement) and found.runs, found


def test_what_has_no_value_is_no_number_and_its_comparisons_are_what_is_wanted() -> None:
    x = Read("x", (), "f32")
    inverse = App("div", (Const(1.0, "f32"), x), "f32")
    choice = select(App("eq", (inverse, inverse), "bool"), Const(5.0, "f32"), Const(7.0, "f32"))
    zero = lambda node, index, mask: np.float64(0)  # noqa: E731
    assert np.isnan(evaluate(inverse, {}, zero, exact=True, undefined=False)) and np.isinf(evaluate(inverse, {}, zero, exact=True))
    assert [float(evaluate(choice, {}, zero, undefined=truth)) for truth in (False, True)] == [7, 5]
    assert np.isnan(evaluate(choice, {}, zero, exact=True, undefined=True))  # of an equation a choice by nothing is nothing
    assert evaluate(Var("i"), {"i": 3}) == 3
