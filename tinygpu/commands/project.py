"""The files of a project that `tinygpu init` writes, beside its spec.

Comes in: the name of an op, the folder of specs, a release. Goes out: texts by their paths. The one idea: each file is as short as one that a person
would write, and is theirs from then on.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

REPOSITORY = "tinygpu/tinygpu"
PROJECT, HOOKS = "pyproject.toml", ".pre-commit-config.yaml"  # files that a project may have already

SETTINGS = """[tool.tinygpu]
paths = ["{specs}"]
time = 120                  # the most seconds that a machine may take; what takes longer is unknown

[tool.tinygpu.build]
output = "kernels"
"""

TEST = '''"""Every machine of {specs}/ is proved, and what is built of {name} computes what numpy does."""

import numpy as np
import pytest
import tinygpu


@pytest.mark.tgpu("{specs}")
def test_proved(machine, assert_proved):
    assert_proved(machine)


def test_numbers(load_machine, assert_proved):
    proof = assert_proved(load_machine("{specs}/{name}.tgpu"))
    {call}
'''

CALLS = {  # by kind of template: what is called, and what it has to be
    "elementwise": """x, y = np.arange(5, dtype=np.float32), np.ones(5, np.float32)
    assert np.allclose(tinygpu.build(proof)(2.0, x, y), 2 * x + y)""",
    "matmul": """A, B = np.ones((5, 3), np.float32), np.ones((3, 7), np.float32)
    assert np.allclose(tinygpu.build(proof)(A, B), A @ B)""",
    "rows": """x = np.arange(15, dtype=np.float32).reshape(3, 5)
    assert np.allclose(tinygpu.build(proof)(x), x.sum(1))""",
}

WORKFLOW = """name: tinygpu
on: [push, pull_request]

jobs:
  check:
    runs-on: ubuntu-latest
    permissions:
      contents: read
      security-events: write    # to show what is not proved beside the lines of a pull request
    steps:
      - uses: actions/checkout@v4
      - uses: {repository}@v{release}
        with:
          paths: {specs}
          upload-sarif: ${{{{ github.event.repository.private == false }}}}
"""

PRE_COMMIT = """repos:
  - repo: https://github.com/{repository}
    rev: v{release}
    hooks:
      - id: tinygpu-fmt
      - id: tinygpu-check
"""


def files(name: str, kind: str, specs: str, version: str) -> Mapping[str, str]:
    """`path → text` of all files but the spec."""
    words = {"name": name, "specs": specs, "repository": REPOSITORY, "release": release(version), "call": CALLS[kind]}
    texts = {PROJECT: SETTINGS, "tests/test_specs.py": TEST, ".github/workflows/tinygpu.yml": WORKFLOW, HOOKS: PRE_COMMIT}
    return {path: text.format(**words) for path, text in texts.items()}


def release(version: str) -> str:
    """The release that a version is, or that it comes before.

    >>> release("0.2.1"), release("0.1.dev17+g1234567"), release("1.2.3rc1")
    ('0.2.1', '0.1.0', '1.2.3')
    """
    found = re.match(r"(\d+)(?:\.(\d+))?(?:\.(\d+))?", version)
    return ".".join(part or "0" for part in found.groups()) if found else "0.1.0"
