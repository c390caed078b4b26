"""Derived machines whose folds cross workers and launches, and whose values have folds inside folds: proved.

The one idea: `stats_kept` opens a fold inside another one of the same form, so a binder that took the name of one that is open would
make two indices one.
"""

from __future__ import annotations

import pytest

from tests.program.library import here
from tinygpu import pipeline
from tinygpu.proof.kernel import Proof, prove

NAMES = ("nested_both", "two_warp", "causal_split", "causal_two", "stats_launches", "stats_kept", "placed_again")


@pytest.mark.parametrize("name", NAMES)
def test_it_is_proved(name: str) -> None:
    assert isinstance(prove(pipeline.program(here("hard_folds")[name])), Proof)
