"""Makes each seeded defect in a copy of the checkout, and asks the test that is named: `python -m tests.seeded [words of titles]`.

Comes in: the checkout. Goes out: a line for each defect, and exit code 1 where a test did not fail. The one idea: a test that cannot fail is none.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.seeded.defects import DEFECTS, Defect

ROOT = Path(__file__).resolve().parent.parent.parent
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache")


def caught(defect: Defect, copy: Path) -> bool:
    """Whether the named test fails on the copy with the defect in it, which is put right again."""
    path = copy / "tinygpu" / defect.file
    right = path.read_text(encoding="utf-8")
    path.write_text(right.replace(defect.old, defect.new, 1), encoding="utf-8")
    try:
        command = [sys.executable, "-m", "pytest", "-q", "-x", "--no-header", "-p", "no:cacheprovider", defect.test]
        return subprocess.run(command, cwd=copy, capture_output=True, check=False).returncode == 1
    finally:
        path.write_text(right, encoding="utf-8")


def main(words: list[str]) -> int:
    """The run, printed as it goes."""
    chosen = [d for d in DEFECTS if all(word in f"{d.title} {d.file}" for word in words)]
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        shutil.copytree(ROOT, copy, ignore=LEFT_OUT)
        for defect in chosen:
            found = caught(defect, copy)
            missed += not found
            print(f"{'caught' if found else 'MISSED'}  {defect.title}  ({defect.file}; {defect.test})", flush=True)
    print(f"{len(chosen)} defects: {len(chosen) - missed} caught")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
