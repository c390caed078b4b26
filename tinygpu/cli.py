"""The command line: `tinygpu check build run show draw tune rewrite replay audit explain fmt lsp puzzle new init completion`.

Comes in: arguments. Goes out: an exit code: 0 proved or done, 1 refuted, 2 bad input or usage, 3 unknown.
The one idea: whatever happens, the user sees a diagnostic and never a traceback (but with `--debug`, which is for us).
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn, TypeVar

from tinygpu.commands.common import BAD, PROVED, bug, prepare, show
from tinygpu.commands.settings import filled, prepared, settled
from tinygpu.diagnostic import TinygpuError

T = TypeVar("T")

STACK = 1 << 17  # words: 1 MiB
COMMANDS = {
    "check": "prove each machine, for all sizes",
    "build": "write proved machines as Python modules for CUDA and the CPU",
    "run": "build a machine, run it, and compare it with its equation",
    "show": "print a stage of a machine: its work, its program, its kernels, or its cost",
    "draw": "draw a machine as SVG: who has which element, banks, fragments, a pipeline, a roofline, a counterexample",
    "tune": "search for a faster machine of an op, each proved before it is timed",
    "rewrite": "find ops that are equal and cheaper, and prove them equal",
    "replay": "prove certificates, specs and emitted modules again, with two solvers",
    "audit": "list what proved machines still rest on",
    "explain": "print the page of an error code",
    "fmt": "write specs in the one style",
    "lsp": "serve an editor: messages, verdicts, names",
    "puzzle": "learn by repairing machines, with answers that are proved",
    "new": "start a spec from a template that is proved",
    "init": "start a project of specs: settings, a test, and what runs on every push",
    "completion": "print the completions of bash, zsh or fish",
}


def parser(only: str = "", project: bool = False) -> argparse.ArgumentParser:
    """The arguments of every command, or of one: the others are then not even imported, and those that the project settles need not be given."""
    top = argparse.ArgumentParser(
        prog="tinygpu",
        description="A language for tiny GPU machines: each proved for all sizes, then built for CUDA and the CPU.",
        epilog="example:\n  tinygpu check specs/\n\nexit codes: 0 proved or done, 1 refuted, 2 bad input or usage, 3 unknown",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="store_true", help="print the version")
    top.add_argument("--debug", action="store_true", help="show the traceback of a bug of tinygpu")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name, purpose in COMMANDS.items():
        if only in COMMANDS and name != only:
            continue
        module = importlib.import_module(f"tinygpu.commands.{name}")
        command = commands.add_parser(
            name,
            help=purpose,
            description=f"{purpose[0].upper()}{purpose[1:]}.",
            epilog=f"example:\n  {module.EXAMPLE}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.configure(command)
        if name == only and project:
            given = settled(command, name, COMMANDS, Path.cwd())
            prepared(command, given)
            command.set_defaults(settled=given)
        command.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
        command.set_defaults(run=module.run)
    return top


def parsed(given: Sequence[str]) -> argparse.Namespace:
    """The arguments; those of which there may be several stand before options and behind them. Raises TinygpuError for what the project says."""
    only = next((word for word in given if not word.startswith("-")), "")
    top = parser(only, project=not {"-h", "--help"} & {*given})
    arguments, behind = top.parse_known_args(given)
    many = next((name for name in ("words", "machines", "paths") if isinstance(getattr(arguments, name, None), list)), "")
    if behind and (not many or any(word.startswith("-") for word in behind)):
        top.error(f"unrecognized arguments: {' '.join(behind)}")
    if behind:
        setattr(arguments, many, [*getattr(arguments, many), *behind])
    filled(arguments, getattr(arguments, "settled", {}))
    return arguments


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command: `arguments → exit code`. argparse itself exits with 2 on bad usage and with 0 after `--help`."""
    prepare()
    _plain_streams()
    given = sys.argv[1:] if argv is None else argv
    arguments = argparse.Namespace(debug="--debug" in given)
    try:
        arguments = parsed(given)
        code = done(arguments)
        sys.stdout.flush()
        return code
    except TinygpuError as error:
        show(error.diagnostics, getattr(arguments, "output_format", "human"), error.texts)
        return BAD
    except BrokenPipeError:  # the reader of our output left, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BAD
    except Exception as error:  # the edge of the program: a bug of ours becomes a message
        if arguments.debug:
            raise
        show((bug(error),), getattr(arguments, "output_format", "human"))
        return BAD


def done(arguments: argparse.Namespace) -> int:
    """What was asked for: a command, the version, or else the help."""
    if arguments.version:
        from tinygpu import __version__

        print(f"tinygpu {__version__}")
        return PROVED
    if arguments.command is None:
        parser().print_help()
        return BAD
    return int(arguments.run(arguments))


def on_one_piece(function: Callable[[], T]) -> Callable[[], T]:
    """The same function, of which the interpreter finds the frames that it calls in one piece of memory. It keeps frames in pieces of 16 KiB, and gives
    each back when nothing is in it: where a loop calls from the end of one, that is two calls of the system for each turn, a twentieth of a build. A
    frame that asks for more gets a larger piece, with as much room behind it; what nobody touches costs nothing."""

    def run() -> T:
        return function()

    run.__code__ = run.__code__.replace(co_stacksize=STACK)
    return run


def console() -> NoReturn:
    """The `tinygpu` command. The process ends without taking its modules and solvers apart, which would cost a tenth of a check.

    An interrupt ends it where it is, as it ends a program in C: an exception would be lost where a destructor runs, and a process that may be
    killed at any time leaves no half file anyway.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        code = on_one_piece(main)()
    except SystemExit as stop:  # argparse: bad usage, or help
        code = stop.code if isinstance(stop.code, int) else BAD
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _plain_streams() -> None:
    """Output that cannot be written in the terminal's encoding is replaced, not an error."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
