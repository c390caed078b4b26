// The editor's side of tinygpu: starts `tinygpu lsp`, and answers the line above a machine with what the terminal would say.
//
// Comes in: files of the language. Goes out: a client of the language server. The one idea: all that is known is known by the server.

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

/** The command that starts the server, with the folder that is open in it. */
function command() {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? ".";
  const words = vscode.workspace.getConfiguration("tinygpu").get("command", ["tinygpu", "lsp"]);
  return words.map((word) => word.replaceAll("${workspaceFolder}", folder));
}

async function start() {
  const [name, ...args] = command();
  const server = { command: name, args };
  const options = {
    documentSelector: [{ language: "tgpu" }],
    synchronize: { fileEvents: vscode.workspace.createFileSystemWatcher("**/*.tgpu") },
  };
  client = new LanguageClient("tinygpu", "tinygpu", server, options);
  try {
    await client.start();
  } catch (error) {
    const said = `tinygpu: ${[name, ...args].join(" ")} does not start. pip install 'tinygpu[lsp]', or set tinygpu.command.`;
    vscode.window.showErrorMessage(said);
  }
}

/** A check of a file, or of one machine of it, in a terminal: a process and not a line, so that no shell reads the words. */
function check(uri, machine) {
  const file = (uri ? vscode.Uri.parse(uri) : vscode.window.activeTextEditor?.document.uri)?.fsPath;
  if (!file) return;
  const [name, ...args] = command();
  const words = [...args.slice(0, -1), "check", file, ...(machine ? ["--machine", machine] : [])]; // the last one is lsp
  const run = new vscode.ProcessExecution(name, words);
  const task = new vscode.Task({ type: "process" }, vscode.TaskScope.Workspace, machine ?? "check", "tinygpu", run);
  task.presentationOptions = { focus: false, clear: true, showReuseMessage: false };
  return vscode.tasks.executeTask(task);
}

exports.activate = async (context) => {
  context.subscriptions.push(
    vscode.commands.registerCommand("tinygpu.show", check),
    vscode.commands.registerCommand("tinygpu.check", () => check()),
    vscode.commands.registerCommand("tinygpu.restart", async () => {
      await client?.stop();
      await start();
    }),
  );
  await start();
};

exports.deactivate = () => client?.stop();
