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


STUB = """
const commands = {}, started = [];
const vscode = {
  Uri: { parse: (text) => ({ fsPath: text.replace("file://", "") }) },
  TaskScope: { Workspace: 2 },
  ProcessExecution: function (process, args) { Object.assign(this, { process, args }); },
  Task: function (kind, scope, name, source, execution) { Object.assign(this, { execution }); },
  tasks: { executeTask: (task) => started.push([task.execution.process, ...task.execution.args]) },
  commands: { registerCommand: (name, run) => { commands[name] = run; return {}; } },
  workspace: {
    workspaceFolders: [{ uri: { fsPath: "/w" } }], createFileSystemWatcher: () => ({}),
    getConfiguration: () => ({ get: (_, other) => JSON.parse(process.argv[2]) ?? other }),
  },
  window: { showErrorMessage: () => {} },
};
const client = { LanguageClient: class { start() {} } };
const load = require("module")._load;
require("module")._load = (name, ...more) => (name === "vscode" ? vscode : name.startsWith("vscode-") ? client : load(name, ...more));
require(process.argv[1]).activate({ subscriptions: [] });
commands["tinygpu.show"]("file:///w/a b.tgpu", "m[T=f16]");
console.log(JSON.stringify(started));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")
@pytest.mark.parametrize(
    ("setting", "started"),
    [
        (None, ["tinygpu"]),
        (["${workspaceFolder}/.venv/bin/tinygpu", "lsp"], ["/w/.venv/bin/tinygpu"]),
        (["python", "-m", "tinygpu", "lsp"], ["python", "-m", "tinygpu"]),
    ],
)
def test_the_line_above_a_machine_checks_it_however_the_server_is_started(setting: list[str] | None, started: list[str]):
    command = ["node", "-e", STUB, str(FOLDER / "extension.js"), json.dumps(setting)]
    ran = subprocess.run(command, check=True, capture_output=True, text=True)
    assert json.loads(ran.stdout) == [[*started, "check", "/w/a b.tgpu", "--machine", "m[T=f16]"]]


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")
@pytest.mark.parametrize("name", ["extension.js", "copied.js"])
def test_the_scripts_parse(name: str):
    subprocess.run(["node", "--check", str(FOLDER / name)], check=True)
