// What the extension has of the checkout around it: copied when it is packed, so that there is one of each.

const fs = require("fs");

for (const [from, to] of [
  ["../../LICENSE", "LICENSE"],
  ["../../grammar/tgpu.tmLanguage.json", "syntaxes/tgpu.tmLanguage.json"],
]) {
  fs.mkdirSync(require("path").dirname(to), { recursive: true });
  fs.copyFileSync(from, to);
}
