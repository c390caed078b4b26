"""Every module of the library is what its programs say: kernels, launchers and helpers."""

from __future__ import annotations

import pytest

from tests.program.library import STEMS
from tests.validate.modules import emitted
from tinygpu.validate.check import validate


@pytest.mark.sampled
@pytest.mark.parametrize("spec", STEMS)
def test_a_module_is_what_its_programs_say(spec):
    text, expected = emitted(spec)
    assert validate(text, expected, f"{spec}.py") == ()
