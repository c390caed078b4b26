"""Importing on other systems: every module is imported where what only Linux has is hidden.

Comes in: the modules of tinygpu. Goes out: the names of those that cannot be imported. The one idea: what is only asked for inside of a function harms
nobody who does not call it.
"""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT

HIDE = """
import importlib, os, pathlib, signal, sys
hidden = {modules!r}
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name in hidden:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
for name in hidden:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Hidden())
for module, names in {names!r}.items():
    for name in names:
        if hasattr(sys.modules[module], name):
            delattr(sys.modules[module], name)
sys.platform = {platform!r}
failed = []
for path in sorted(pathlib.Path("tinygpu").rglob("*.py")):
    name = ".".join(path.with_suffix("").parts).removesuffix(".__init__")
    if name in {apart!r}:
        continue
    try:
        importlib.import_module(name)
    except Exception as error:
        failed.append(f"{{name}}: {{type(error).__name__}}: {{error}}")
print("\\n".join(failed))
"""
APART = ("tinygpu.__main__",)
LINUX = {
    "os": ("sched_getaffinity", "sched_setaffinity", "memfd_create", "pidfd_open", "posix_fadvise"),
    "signal": ("sigtimedwait",),
}
POSIX = {
    "os": (*LINUX["os"], "fork", "getuid", "geteuid", "uname", "getppid", "waitpid", "killpg", "setsid", "WNOHANG", "mkfifo", "nice"),
    "signal": ("SIGALRM", "SIGKILL", "SIGHUP", "SIGUSR1", "setitimer", "ITIMER_REAL", "alarm", "pthread_sigmask"),
}  # fmt: skip
SYSTEMS = {
    "darwin": ("darwin", (), LINUX),
    "windows": ("win32", ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "readline", "syslog"), POSIX),
}


@pytest.mark.parametrize("system", SYSTEMS)
def test_every_module_is_imported(system):
    platform, modules, names = SYSTEMS[system]
    # of others what they need is imported before it is hidden
    code = (
        "import asyncio, numpy, z3, lark, sympy, numba, pytest, subprocess, tempfile, pathlib, shutil, multiprocessing.connection\n"
        + HIDE.format(platform=platform, modules=modules, names=names, apart=APART)
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0 and not done.stdout.strip(), done.stdout + done.stderr


def test_a_search_where_no_process_can_be_forked_says_so(tmp_path):
    code = "import os; del os.fork; from tinygpu.cli import main; raise SystemExit(main(['tune', 'specs/saxpy.tgpu']))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2 and "TG948" in done.stderr and "TG901" not in done.stderr
