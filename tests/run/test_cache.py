"""Files kept by content, and modules loaded from them.

Comes in: texts, folders that are damaged or cannot be written. Goes out: files and modules that hold exactly those texts.
The one idea: whatever happened to the cache, the text that was asked for is the text that runs.
"""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.conftest import ROOT
from tinygpu.run import load as cache
from tinygpu.run.load import load
from tinygpu.runtime.cubins import _cache_folder, _write_whole


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TINYGPU_CACHE", str(tmp_path / "cache"))


def test_a_text_is_its_own_key():
    one, again, other = (cache.keep(text, "modules", "m.py") for text in ("a = 1", "a = 1", "a = 2"))
    assert one == again != other and one.read_text() == "a = 1" and other.name == "m.py"


@pytest.mark.parametrize("damage", [b"", b"a =", b"a = 1\0", "ä".encode("latin-1")])
def test_a_damaged_file_is_written_again(damage):
    path = cache.keep("a = 1", "modules", "m.py")
    path.write_bytes(damage)
    assert cache.keep("a = 1", "modules", "m.py").read_text() == "a = 1"


def test_a_cache_that_cannot_be_written_is_replaced_for_this_process(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("TINYGPU_CACHE", str(tmp_path / "file"))
    path = cache.keep("a = 3", "modules", "m.py")
    assert path.read_text() == "a = 3" and tmp_path not in path.parents


def test_of_a_write_that_failed_nothing_is_left_and_an_old_file_stays(tmp_path, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    old = tmp_path / "out" / "x"
    _write_whole(old, b"old")
    monkeypatch.setattr(os, "replace", full)
    for path in (old, tmp_path / "out" / "y"):
        with pytest.raises(OSError, match="No space"):
            _write_whole(path, b"new")
    assert [*old.parent.iterdir()] == [old] and old.read_text() == "old"


def test_the_usual_folder(monkeypatch):
    monkeypatch.delenv("TINYGPU_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert _cache_folder().as_posix() == "/somewhere/tinygpu"


def test_the_same_text_is_the_same_module():
    first, second = load("value = object()", "m"), load("value = object()", "m")
    assert first is second and first.__file__ and load("value = object() ", "m") is not first


def test_a_module_that_fails_is_not_kept():
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            load("1 // 0", "broken")


def test_threads_load_one_module():
    with ThreadPoolExecutor(8) as pool:
        loaded = list(pool.map(lambda _: load("import time; time.sleep(0.05)", "slow"), range(8)))
    assert len(set(map(id, loaded))) == 1


def test_what_is_compiled_is_found_by_the_next_process(tmp_path):
    """Also of a kernel that calls functions of the runtime, and starts several threads."""
    kernel = (
        "from tinygpu import runtime\nfrom numba import njit, prange\nexp_f32 = runtime.loaded().exp_f32\n"
        "@njit(cache=True, parallel=True)\ndef kernel(x):\n    for i in prange(x.size):\n        x[i] = exp_f32(x[i])\n"
    )
    (tmp_path / "kernel.txt").write_text(kernel, encoding="utf-8")
    code = (
        "import numpy, sys; from tinygpu.run.load import load; made = load(open(sys.argv[1]).read());"
        "made.kernel(numpy.ones(9, 'f')); print(made.kernel.stats.cache_hits.total() if made.kernel.stats.cache_hits else 0)"
    )
    ask = [sys.executable, "-c", code, str(tmp_path / "kernel.txt")]
    env = {**os.environ, "TINYGPU_CACHE": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT)}
    hits = [subprocess.run(ask, env=env, capture_output=True, text=True, check=True).stdout.strip() for _ in range(2)]
    assert hits == ["0", "1"]
