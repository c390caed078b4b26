"""`tinygpu completion SHELL`: the script by which a shell completes commands, their options, what options take, and names of machines.

Comes in: the parsers of all commands. Goes out: a script for bash, zsh or fish. The one idea: everything that may be said is read off the parsers once,
when the script is made; names of machines are read off the spec that stands on the line, by `sed`, so nothing is started while somebody types.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator

from tinygpu.commands.common import PROVED
from tinygpu.commands.explain import GENERAL, pages
from tinygpu.commands.settings import PLACES
from tinygpu.record import dataclass

EXAMPLE = "tinygpu completion bash > ~/.local/share/bash-completion/completions/tinygpu"
NAMES = r"s/^ *(machine|op|theorem|lemma|choice|pipeline) +([A-Za-z_0-9]+).*/\2/p"  # what commands take for a name
NAMED = ("machine", "machines", "words", "op", "rival")  # arguments that are names of the spec, or may be
FILES = ("tgpu", "json", "py", "toml")  # what commands read


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell")


def run(arguments: argparse.Namespace) -> int:
    match arguments.shell:
        case "bash":
            print(bash())
        case "zsh":
            print(f"{ZSH}\n{bash()}")
        case _:
            print(fish())
    return PROVED


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a command: how it is written, what it is for, and what it takes: nothing "", a word of some, or a place, a name, anything else."""

    words: tuple[str, ...]
    help: str
    takes: str = ""
    choices: tuple[str, ...] = ()

    @classmethod
    def of(cls, action: argparse.Action) -> Option:
        choices = tuple(map(str, action.choices or ())) if action.dest != "code" else (*GENERAL, *pages())
        takes = "choice" if choices else "place" if action.metavar in PLACES else "name" if action.dest in NAMED else "word"
        help = (action.help or "").replace("%%", "%").split(" (")[0].split(";")[0]
        return cls(tuple(action.option_strings), help, takes if action.nargs != 0 else "", choices)


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its purpose, its options, and whether words without a dash may be places, or names of a spec."""

    name: str
    help: str
    options: tuple[Option, ...]
    words: tuple[Option, ...]


def commands() -> tuple[Command, ...]:
    """All of them, as their parsers have them."""
    from tinygpu.cli import parser

    (below,) = (a for a in parser()._actions if isinstance(a, argparse._SubParsersAction))
    helps = {one.dest: one.help or "" for one in below._choices_actions}
    return tuple(Command(name, helps[name], *options(of)) for name, of in below.choices.items())


def options(parser: argparse.ArgumentParser) -> tuple[tuple[Option, ...], tuple[Option, ...]]:
    """Options, and what stands without one."""
    said = [Option.of(action) for action in parser._actions if action.help != argparse.SUPPRESS]
    return tuple(one for one in said if one.words), tuple(one for one in said if not one.words)


# ── bash, and zsh by way of it ─────────────────────────────────────────────────────────────────────────────────────

ZSH = "(( $+functions[compdef] )) || { autoload -U compinit && compinit; }\nautoload -U +X bashcompinit && bashcompinit"
BASH = r"""_tinygpu_names() {
  local word
  for word in "${COMP_WORDS[@]:2}"; do
    [[ $word == *.tgpu && -f $word ]] && sed -nE '@NAMES@' "$word"
  done
}
_tinygpu_places() { compgen -d -S / -- "$1"; @FILES@; }
_tinygpu() {
  local here=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} found
  if [[ $before == '=' ]]; then before=${COMP_WORDS[COMP_CWORD-2]}; fi
  if [[ $here == '=' ]]; then before=${COMP_WORDS[COMP_CWORD-1]}; here=; fi
  if (( COMP_CWORD == 1 )); then
    found=$(compgen -W '@COMMANDS@ --help --version' -- "$here")
  else
    case "$command $before" in
@VALUES@
    *)
      case $command in
@OPTIONS@
      esac
      if [[ $here != -* ]]; then
        case $command in
@WORDS@
        *) ;;
        esac
      else
        found=$(compgen -W "$found" -- "$here")
      fi ;;
    esac
  fi
  local IFS=$'\n'
  COMPREPLY=($found)
  if [[ ${#COMPREPLY[@]} == 1 && $COMPREPLY == */ ]]; then compopt -o nospace 2>/dev/null; fi
}
complete -F _tinygpu tinygpu"""


def bash() -> str:
    """The script for bash."""
    every = commands()
    parts = {
        "@NAMES@": NAMES,
        "@FILES@": "; ".join(f"compgen -f -X '!*.{suffix}' -- \"$1\"" for suffix in FILES),
        "@COMMANDS@": " ".join(one.name for one in every),
        "@VALUES@": "\n".join(line for one in every for line in values(one)),
        "@OPTIONS@": "\n".join(
            f"      {one.name}) found='{' '.join(w for o in one.options for w in o.words)}' ;;" for one in every
        ),
        "@WORDS@": "\n".join(
            f"        {one.name}) found=$({'; '.join(dict.fromkeys(map(offered, one.words)))}) ;;" for one in every if one.words
        ),
    }
    script = BASH
    for mark, text in parts.items():
        script = script.replace(mark, text)
    return script


def values(command: Command) -> Iterator[str]:
    """Cases of what stands behind an option that takes something."""
    for option in command.options:
        if option.takes:
            yield f"    {'|'.join(shlex.quote(f'{command.name} {word}') for word in option.words)}) found=$({offered(option)}) ;;"


def offered(option: Option) -> str:
    """What bash is asked for: words of some, names of the spec, or places."""
    match option.takes:
        case "choice":
            return f'compgen -W {shlex.quote(" ".join(option.choices))} -- "$here"'
        case "name":
            return 'compgen -W "$(_tinygpu_names)" -- "$here"'
        case "place":
            return '_tinygpu_places "$here"'
        case _:
            return ":"


# ── fish ───────────────────────────────────────────────────────────────────────────────────────────────────────────

FISH = """function __tinygpu_names
  for word in (commandline -opc)
    string match -q '*.tgpu' -- $word; and test -f $word; and sed -nE '{names}' $word
  end
end
complete -c tinygpu -f
complete -c tinygpu -n __fish_use_subcommand -l version -d 'print the version'"""


def fish() -> str:
    """The script for fish."""
    lines = [FISH.format(names=NAMES.replace("\\", "\\\\"))]
    for command in commands():
        lines.append(f"complete -c tinygpu -n __fish_use_subcommand -a {command.name} -d {quoted(command.help)}")
        start = f"complete -c tinygpu -n '__fish_seen_subcommand_from {command.name}'"
        for option in command.options:
            words = " ".join(f"-l {word[2:]}" if word.startswith("--") else f"-s {word[1:]}" for word in option.words)
            lines.append(f"{start} {words}{taken(option)} -d {quoted(option.help)}")
        lines += [f"{start}{said}" for said in dict.fromkeys(taken(word) for word in command.words) if said not in ("", " -x")]
    return "\n".join(lines)


def taken(option: Option) -> str:
    """What fish offers: words of some, names of the spec, or places."""
    match option.takes:
        case "":
            return ""
        case "choice":
            return f" {'-x ' if option.words else ''}-a {quoted(' '.join(option.choices))}"
        case "name":
            return f" {'-x ' if option.words else ''}-a '(__tinygpu_names)'"
        case "place":
            return " -r -F" if option.words else " -F"
        case _:
            return " -x"


def quoted(text: str) -> str:
    """A text in the quotes of fish."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
