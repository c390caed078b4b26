"""Without torch: what asks for it names the command that installs it.

Comes in: a process that has no torch, which is played. Goes out: TG940. The one idea: an extra that is missing is one line to install.
"""

from __future__ import annotations

import sys

import pytest

import tinygpu.torch
from tests.emit.specs_for_launchers import module


def test_the_install_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"TG940 torch is not installed: pip install 'tinygpu\[torch\]'"):
        tinygpu.torch.register(module("saxpy"))
    with pytest.raises(ImportError, match="TG940 torch is not installed"):
        tinygpu.torch.compile_backend(None, [])
