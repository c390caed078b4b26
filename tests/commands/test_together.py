"""Work on several cores: in order, complete whatever happens to a process, and the same as on one.

Comes in: work that counts, ends its process, raises, or is interrupted. Goes out: the answers. The one idea: each question is asked in a process
of its own, because one with threads, as a test runner is, is not forked.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

START = "import os, signal, sys, threading, time\nfrom tinygpu.commands.together import together\nhere = os.getpid()\n"
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere one process does all of it")


ENDS = ("os._exit(3)", "os.kill(os.getpid(), signal.SIGKILL)", "1 / 0", "sys.exit(1)")
FIRST = (
    "found = [*together({}, lambda n: (time.monotonic(), time.sleep(0.05))[0], 2, lambda n: n)]\nprint(found[0] > max(found[1:]))"
)
LINES = {  # what is run, and what it prints
    "the answers are in order": (
        "for count, jobs in [(c, j) for c in (0, 1, 2, 3, 40) for j in (-1, 1, 2, 5)]:\n"
        "  found = [*together(count, lambda n: (time.sleep(0.01 * (n == 0)), n, 'x' * n * 9999)[1], jobs)]\n"
        "  if found != [*range(count)]: print(count, jobs, found)",
        "",
    ),
    "several processes do it": (
        "found = [*together(4, lambda n: (time.sleep(0.2), os.getpid())[1], 2)]; print(len({*found}), here in found)",
        "2 True",
    ),
    "the largest are begun first where there are few": (FIRST.format(4), "True"),
    "and not where there are many": (FIRST.format(17), "False"),
    "a large answer arrives whole": (
        "print([len(a) for a in together(3, lambda n: bytes(5_000_000 + n), 2)])",
        "[5000000, 5000001, 5000002]",
    ),
    **{
        f"what a process does not answer is done again: {end}": (
            f"def work(n):\n  if os.getpid() != here and n % 2: {end}\n  return n * n\nprint([*together(6, work, 3)])",
            "[0, 1, 4, 9, 16, 25]",
        )
        for end in ENDS
    },
    "an error is raised where it always is": (
        "def work(n):\n  if n == 2: raise ValueError('two')\n  return n\nfound = []\n"
        "try:\n  for one in together(4, work, 2): found.append(one)\nexcept ValueError as error: print(found, error)",
        "[0, 1] two",
    ),
    "but who only says what is being done is": (
        "from tinygpu.commands.together import Progress\n"
        "with Progress() as now: print(len({*together(4, lambda n: (time.sleep(0.2), os.getpid())[1], 2)}))",
        "2",
    ),
    "who has threads is not forked": (
        "threading.Thread(target=time.sleep, args=(0.5,)).start()\nprint({*together(4, lambda n: os.getpid(), 2)} == {here})",
        "True",
    ),
    "nobody is left when it is over": (
        "answers = together(8, lambda n: (time.sleep(60 * (n > 1)), n)[1], 2)\nprint(next(answers))\nanswers.close()\n"
        "try: os.waitpid(-1, os.WNOHANG)\nexcept ChildProcessError: print('nobody')",
        "0\nnobody",
    ),
}


@pytest.mark.parametrize("name", LINES)
def test_what_is_said(root: Path, name: str) -> None:
    program, wanted = LINES[name]
    done = subprocess.run([sys.executable, "-c", START + program], capture_output=True, text=True, timeout=240, cwd=root)
    assert done.returncode == 0 and done.stdout.strip() == wanted, done.stdout + done.stderr


def test_a_check_on_two_cores_says_what_one_on_one_says(root: Path, tmp_path: Path) -> None:
    wrong = (root / "specs" / "saxpy.tgpu").read_text(encoding="utf-8").replace("compute i = (g, t)", "compute i = (t, g)", 1)
    wrong = wrong.replace("machine saxpy_v4 : saxpy {", "machine saxpy_v4 : saxpy {\n  where n > 2*n", 1)
    (tmp_path / "saxpy.tgpu").write_text(wrong, encoding="utf-8")

    def checked(jobs: int, style: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "tinygpu", "check", str(tmp_path), "--jobs", str(jobs), "--output-format", style]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=root)
        assert "Traceback" not in done.stderr
        return done.returncode, done.stdout

    alone, shared = checked(1, "json"), checked(2, "json")
    rows = [[{k: v for k, v in m.items() if k != "seconds"} for m in json.loads(out)["machines"]] for _, out in (alone, shared)]
    assert alone[0] == shared[0] and rows[0] == rows[1] and all("proof" in r for r in rows[0] if r["verdict"] == "proved")
    assert json.loads(alone[1])["diagnostics"] == json.loads(shared[1])["diagnostics"]
    assert [line.split("(")[0] for line in checked(1, "human")[1].splitlines()] == [
        line.split("(")[0] for line in checked(2, "human")[1].splitlines()
    ]


def test_what_is_asked_beside_a_verdict_is_made_where_it_is_found(root: Path, tmp_path: Path) -> None:
    """Certificates, formulas, reasons and notes: the same by two processes as by one."""

    def checked(jobs: int) -> tuple[list[str], dict[str, bytes]]:
        folder = tmp_path / str(jobs)
        beside = ["--certify", str(folder), "--smt2", "--why", "all", "--notes", "--jobs", str(jobs)]
        command = [sys.executable, "-m", "tinygpu", "check", "specs/transpose.tgpu", "specs/strassen.tgpu", *beside]
        done = subprocess.run(command, capture_output=True, text=True, timeout=240, cwd=root, check=True)
        written = {str(one.relative_to(folder)): one.read_bytes() for one in folder.rglob("*.*")}
        return [re.sub(r"[0-9.]+ s\)", "", line) for line in done.stdout.splitlines()], written

    said, written = checked(1)
    assert (said, written) == checked(2)
    assert any("[structure]" in line for line in said) and any("TG6" in line for line in said)
    assert all((root / "proofs" / name).read_bytes() == text for name, text in written.items() if name.endswith(".json"))
    assert sum(name.startswith("smt2/") for name in written) > 20

    from tinygpu import pipeline
    from tinygpu.commands.beside import Asked
    from tinygpu.commands.judged import judge_light

    spec = pipeline.load(root / "specs" / "transpose.tgpu")
    found = [*judge_light([(spec, m) for m in spec.machines], None, False, 2, asked=Asked(certify=True))]
    assert all(one.verdict is None and one.beside and one.beside.certificate for one in found), "a proof stays where it was found"


@pytest.mark.parametrize("send", [os.killpg, os.kill], ids=["all", "the first"])
def test_an_interrupt_ends_all_of_them(root: Path, send: Callable[[int, int], None]) -> None:
    command = [sys.executable, "-m", "tinygpu", "check", "specs", "--jobs", "2"]
    heard = {"preexec_fn": lambda: signal.signal(signal.SIGINT, signal.default_int_handler), "start_new_session": True}
    checker = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=root, **heard)  # type: ignore[call-overload]
    time.sleep(2)
    send(checker.pid, signal.SIGINT)
    _, err = checker.communicate(timeout=30)  # until the last of them has closed its end
    assert checker.returncode == -signal.SIGINT and "Traceback" not in err
