"""What editors are given beside the server: a message where its extra is missing, and the extension of VS Code.

Comes in: the checkout. Goes out: a code of an error; files that name each other rightly.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys

import pytest

from tests.conftest import ROOT
from tinygpu import cli
from tinygpu.lsp.lenses import SHOW

FOLDER = ROOT / "editors" / "vscode"


def test_a_missing_extra_names_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setitem(sys.modules, "pygls", None)
    assert cli.main(["lsp"]) == 2
    said = capsys.readouterr().err
    assert "TG935" in said and "pip install 'tinygpu[lsp]'" in said and "Traceback" not in said


def test_the_extension_names_what_is_there():
    package = json.loads((FOLDER / "package.json").read_text())
    copied = dict(re.findall(r'\["([^"]+)", "([^"]+)"\]', (FOLDER / "copied.js").read_text()))
    assert all((FOLDER / source).is_file() for source in copied)
    (grammar,) = package["contributes"]["grammars"]
    (source,) = [source for source, target in copied.items() if f"./{target}" == grammar["path"]]
    assert json.loads((FOLDER / source).read_text())["scopeName"] == grammar["scopeName"]
    (language,) = package["contributes"]["languages"]
    assert language["id"] == grammar["language"] and json.loads((FOLDER / language["configuration"]).read_text())
    code = (FOLDER / package["main"]).read_text()
    commands = {one["command"] for one in package["contributes"]["commands"]}
    assert {*re.findall(r'registerCommand\("([\w.]+)"', code)} == {*commands, SHOW}
    assert package["scripts"]["vscode:prepublish"] == "node copied.js" and "copied.js" in (FOLDER / ".vscodeignore").read_text()


def test_the_lock_names_no_host():
    assert '"resolved"' not in (FOLDER / "package-lock.json").read_text()


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")
@pytest.mark.parametrize("name", ["extension.js", "copied.js"])
def test_the_scripts_parse(name: str):
    subprocess.run(["node", "--check", str(FOLDER / name)], check=True)
