"""`tinygpu lsp`: the language server, on standard input and output.

Comes in: what an editor says. Goes out: messages and answers. The one idea: an editor starts it, nobody types to it.
"""

from __future__ import annotations

import argparse
import os
import sys

from tinygpu.commands.common import PROVED
from tinygpu.diagnostic import TinygpuError

EXAMPLE = "tinygpu lsp        # docs/editor.md says how editors start it"


def configure(parser: argparse.ArgumentParser) -> None:
    help = "what some editors say; it is so anyway"
    parser.add_argument("--stdio", action="store_true", help=help)


def run(arguments: argparse.Namespace) -> int:
    try:
        import pygls  # noqa: F401
    except ModuleNotFoundError:
        help = "pip install 'tinygpu[lsp]'"
        raise TinygpuError.of("TG935", "the language server needs pygls, which is not installed", help=help) from None
    from tinygpu import __version__
    from tinygpu.lsp.features import register
    from tinygpu.lsp.server import Server

    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # who prints is not understood
    register(Server(__version__)).start_io(stdout=out)
    return PROVED
