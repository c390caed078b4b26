"""What a project says once: `[tool.tinygpu]` of its pyproject.toml, as what options are where nobody types them.

    [tool.tinygpu]            paths = ["specs"]   output-format   jobs   time      for each command that has them
    [tool.tinygpu.COMMAND]    any option of that command, by its long name

Comes in: a command's options, a folder. Goes out: their values, by the names that argparse has for them. The one idea: a key is an option, so what may
be said, and how, is read off the options; what is typed wins, and a key that means nothing is an error.
"""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tinygpu.commands.common import nearby
from tinygpu.diagnostic import Diagnostic, Label, Span, TinygpuError
from tinygpu.record import dataclass

FILE, TABLE = "pyproject.toml", "tool.tinygpu"
SHARED: Mapping[str, tuple[str, ...]] = {  # keys of all commands, and which take them: () is each that has such an option
    "paths": ("check", "build", "fmt"),
    "output-format": (),
    "jobs": (),
    "time": (),
}
PLACES = ("PATH", "FILE", "FOLDER")  # what options call a place, which in a project is one below the file that names it
WITHOUT = ("completion", "explain", "init", "lsp", "new")  # commands to which a project says nothing


@dataclass(frozen=True, slots=True)
class Settings:
    """The table of a project, and the file and the text that it was read from."""

    file: Path
    text: str
    table: Mapping[str, Any]

    def span(self, table: str, key: str) -> Span:
        """Where a key stands, or a table whose header it is; else the file alone."""
        name, inside, start = nearby(self.file), "", 0
        for number, line in enumerate(self.text.splitlines(keepends=True), 1):
            header = re.match(r"\s*\[([^\[\]]+)\]", line)
            inside = re.sub(r"[\s\"']", "", header[1]) if header else inside
            at = re.match(rf"\s*([\"']?{re.escape(key)}[\"']?)\s*=", line) if inside == table else None
            at = at or (re.match(r"\s*\[([^\[\]]+)\]", line) if header and inside == f"{table}.{key}" else None)
            if at:
                first, end = at.span(1)
                return Span(name, start + first, start + end, number, first + 1, number, end + 1)
            start += len(line)
        return Span(name)


def of_project(folder: Path) -> Settings | None:
    """The settings of the nearest pyproject.toml that has some, of a folder and those above it. Raises TG945 for one that is no TOML."""
    for home in (folder, *folder.parents):
        found = settings_in(home / FILE)
        if found is not None:
            return found
    return None


def settings_in(file: Path) -> Settings | None:
    """The settings of a file; nothing where it has none, or cannot be read. Raises TG945."""
    try:
        return settings_of(file, file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def settings_of(file: Path, text: str) -> Settings | None:
    """The settings of a file with this text. Raises TG945."""
    if "tinygpu" not in text:  # and TOML is not even imported
        return None
    import tomllib

    try:
        tool = tomllib.loads(text).get("tool", {})
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        title = f"{nearby(file)} is no TOML: {str(error)[:1].lower()}{str(error)[1:]}"
        raise TinygpuError.of("TG945", title, help="nothing of it was taken, so nothing was done") from None
    table = tool.get("tinygpu") if isinstance(tool, dict) else None
    if table is None:
        return None
    settings = Settings(file, text, table if isinstance(table, dict) else {})
    if not isinstance(table, dict):
        raise wrong(settings, "tool", "tinygpu", f"tool.tinygpu is a table, and not {table!r}")
    return settings


def settled(command: argparse.ArgumentParser, name: str, commands: Iterable[str], folder: Path) -> dict[str, Any]:
    """What a project says of the options of one of the commands, by their names in the arguments. Raises TG945, TG946 for a key that means nothing, TG947
    for a value that the option does not take."""
    settings = None if name in WITHOUT else of_project(folder)
    if settings is None:
        return {}
    options = {key: action for action in command._actions if (key := key_of(action))}
    known(settings, TABLE, settings.table, [*SHARED, *(one for one in commands if one not in WITHOUT)])
    own = settings.table.get(name, {})
    if not isinstance(own, dict):
        raise wrong(settings, TABLE, name, f"{name} is a command, so {TABLE}.{name} is a table of its options")
    known(settings, f"{TABLE}.{name}", own, options)
    shared = {key: settings.table[key] for key, of in SHARED.items() if key in settings.table and (not of or name in of)}
    said = [(TABLE, shared), (f"{TABLE}.{name}", own)]
    return {
        options[key].dest: value(settings, table, options[key], key, given)
        for table, keys in said
        for key, given in keys.items()
        if key in options
    }


def key_of(action: argparse.Action) -> str:
    """`--output-format → output-format`; of what is given by its place only `paths`; "" for what no project settles."""
    long = next((word[2:] for word in action.option_strings if word.startswith("--")), "")
    if action.dest in ("help", "debug"):
        return ""
    return long or ("paths" if action.dest == "paths" else "")


def known(settings: Settings, table: str, given: Mapping[str, Any], keys: Iterable[str]) -> None:
    """Raises TG946 with all keys that mean nothing, and what may be meant."""
    names = [*keys]
    strange = [key for key in given if key not in names]
    if strange:
        raise TinygpuError(
            *(stranger(settings, table, key, names) for key in strange), texts={nearby(settings.file): settings.text}
        )


def stranger(settings: Settings, table: str, key: str, names: list[str]) -> Diagnostic:
    """What is said of a key that means nothing."""
    near = difflib.get_close_matches(key, names, n=1)
    owners = [] if table != TABLE else [f"[{TABLE}.{name}]" for name in names if name not in SHARED and key in options_of(name)]
    if owners:
        help = f"it is an option of some commands: say it under {' or '.join(owners)}"
    elif near:
        help = f"did you mean {near[0]}?"
    else:
        help = f"there is {', '.join(sorted(names))}"
    return Diagnostic(
        "TG946", f"[{table}] has no key {key}", (Label(settings.span(table, key), "nothing is called so"),), helps=(help,)
    )


def options_of(name: str) -> set[str]:
    """The keys of a command."""
    from importlib import import_module

    parser = argparse.ArgumentParser()
    import_module(f"tinygpu.commands.{name}").configure(parser)
    return {key_of(action) for action in parser._actions}


def value(settings: Settings, table: str, action: argparse.Action, key: str, given: object) -> Any:
    """The value of an option, as the command line would have made it. Raises TG947."""
    many = isinstance(action, argparse._AppendAction) or action.nargs in ("*", "+")
    if action.nargs == 0:
        if isinstance(given, bool):
            return given
        raise wrong(settings, table, key, f"{key} is true or false, and not {given!r}")
    if many:
        if isinstance(given, list) and all(isinstance(one, str) for one in given):
            return [placed(settings, action, one) for one in given]
        raise wrong(settings, table, key, f"{key} is a list of texts, and not {given!r}")
    if action.choices is not None:
        if given in action.choices:
            return given
        raise wrong(settings, table, key, f"{key} is one of {', '.join(map(str, action.choices))}, and not {given!r}")
    if action.type is None:
        if isinstance(given, str):
            return placed(settings, action, given)
        raise wrong(settings, table, key, f"{key} is a text, and not {given!r}")
    try:
        if isinstance(given, int | float) and not isinstance(given, bool) and callable(action.type):
            return action.type(str(given))
    except ValueError:
        pass
    kind = "a whole number" if action.type is int else "a number above 0"
    raise wrong(settings, table, key, f"{key} is {kind}, and not {given!r}")


def placed(settings: Settings, action: argparse.Action, given: str) -> str:
    """A place as the command finds it from where it is run."""
    return given if action.metavar not in PLACES or given == "-" else nearby(settings.file.parent / given)


def wrong(settings: Settings, table: str, key: str, title: str) -> TinygpuError:
    """What is said of a value that does not fit."""
    label = Label(settings.span(table, key), "this one")
    return TinygpuError(Diagnostic("TG947", title, (label,)), texts={nearby(settings.file): settings.text})


def prepared(command: argparse.ArgumentParser, given: Mapping[str, Any]) -> None:
    """Makes a parser of one whose options a project has settled: it need not be told them, and a flag can be taken back by `--no-FLAG`."""
    for action in [a for a in command._actions if a.dest in given]:
        action.required = False
        if not action.option_strings:
            action.nargs, action.default = "*", []
        elif action.nargs == 0:
            command.add_argument(f"--no-{key_of(action)}", dest=action.dest, action="store_false", help=argparse.SUPPRESS)
            action.default = argparse.SUPPRESS
        else:
            action.default = argparse.SUPPRESS


def filled(arguments: argparse.Namespace, given: Mapping[str, Any]) -> None:
    """Gives arguments what was settled, where nothing was typed."""
    for name, one in given.items():
        if not hasattr(arguments, name) or (name == "paths" and not arguments.paths):
            setattr(arguments, name, one)
