"""What is kept between processes, when something happens to it: two builders at once, damage, a full disk, an interrupt, no place to write.

Comes in: caches and folders that are not as they should be. Goes out: the right module and the right result all the same, or a diagnostic;
and no half file. The one idea: what was kept saves time and nothing else.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from tests.emit.specs_for_launchers import SPECS
from tinygpu.runtime import cubins

BUILD = [sys.executable, "-m", "tinygpu", "build", "odd.tgpu", "-o", "out"]
CALL = "import numpy as np, sys; sys.path.insert(0, 'out'); import odd; print(odd.odd(np.arange(7, dtype=np.float32)).tolist())"
WANT = "[1.0, 3.0, 5.0]"
TEXT = SPECS["odd"].replace("WORK", "work grid = (g), block = (t: 64)\n  compute i = (g, t)")


@pytest.fixture
def place(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "odd.tgpu").write_text(TEXT)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(root))
    monkeypatch.setenv("TINYGPU_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    return tmp_path


def called(expect: int = 0, program: str = CALL) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == expect, done.stderr
    return done.stdout.strip()


def built() -> None:
    done = subprocess.run(BUILD, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_builders_at_once_leave_one_whole_module(place: Path) -> None:
    builders = [subprocess.Popen(BUILD, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
    assert [one.wait(timeout=180) for one in builders] == [0, 0]
    assert sorted(p.name for p in (place / "out").iterdir()) == ["odd.py", "tinygpu_runtime.py"]
    callers = [subprocess.Popen([sys.executable, "-c", CALL], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [one.communicate(timeout=180)[0].strip() for one in callers] == [WANT] * 2


def test_a_damaged_cache_of_numba_is_made_again(place: Path) -> None:
    built()
    assert called() == WANT
    kept = [sorted((place / "out" / "__pycache__").glob(f"*.{kind}")) for kind in ("nbi", "nbc")]
    assert all(kept), "numba keeps nothing"
    for turn, damage in enumerate((b"", b"\x80\x05garbage" * 50)):
        for path in kept[turn]:
            path.write_bytes(damage)
        assert called() == WANT


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_build_that_is_stopped_leaves_no_half_module(place: Path, root: Path, number: int) -> None:
    (place / "odd.tgpu").write_text((root / "specs" / "matmul_shared.tgpu").read_text())  # takes seconds
    heard = partial(signal.signal, signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    builder = subprocess.Popen(BUILD, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heard)
    time.sleep(1.5)
    builder.send_signal(number)
    _, said = builder.communicate(timeout=60)
    assert builder.returncode == -number and "Traceback" not in said
    assert not list(place.rglob("*.py")) and not [p for p in place.rglob("*") if p.name.startswith(".")]


def test_an_interrupt_ends_the_process_without_a_word(place: Path) -> None:
    program = "import os, signal; signal.signal(signal.SIGINT, signal.default_int_handler); import tinygpu.pipeline as p; p.watchers.append(lambda *_: os.kill(os.getpid(), signal.SIGINT)); import tinygpu.cli; tinygpu.cli.console()"
    done = subprocess.run([sys.executable, "-c", program, "check", "odd.tgpu"], capture_output=True, text=True, timeout=60)
    assert done.returncode == -signal.SIGINT and not done.stderr


def test_a_full_disk(place: Path) -> None:
    """No file may grow beyond 4 KiB: what the system says then is what it says on a full disk, an OSError in the middle of a write."""
    # Python itself writes half a .pyc then, and does not get over that: it is told to write none
    limit = "import resource, signal, sys; sys.dont_write_bytecode = True; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)); "
    program = limit + "from tinygpu.cli import console; console()"
    done = subprocess.run([sys.executable, "-c", program, *BUILD[3:]], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "TG904" in done.stderr and "Traceback" not in done.stderr
    assert not list((place / "out").iterdir())
    built()
    assert called(program=limit + CALL) == WANT  # numba's own cache cannot be written either
    assert called() == WANT


def test_code_for_gpus_is_kept_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "cubin" / "x.cubin"
    cubins._store(path, b"code")
    assert cubins._stored(path) == b"code"
    whole = path.read_bytes()
    for damage in (b"", whole[:-1], whole + b"x", whole[:31], b"\0" * len(whole)):
        path.write_bytes(damage)
        assert cubins._stored(path) is None
    for error in (OSError(28, "No space left on device"), KeyboardInterrupt()):

        def fail(*_: object, raised: BaseException = error) -> None:
            raise raised

        monkeypatch.setattr(os, "replace", fail)
        if isinstance(error, OSError):
            cubins._store(path, b"more")
        else:
            with pytest.raises(KeyboardInterrupt):
                cubins._store(path, b"more")
        assert [p.name for p in path.parent.iterdir()] == ["x.cubin"]


def test_no_home_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("no home")

    monkeypatch.delenv("TINYGPU_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    assert cubins._cache_folder().name == "tinygpu"
