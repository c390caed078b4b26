"""`tinygpu explain TG203`: the page of an error code, of what is unknown, or of what has limits; or the list of all codes.

Comes in: a code, or nothing. Goes out: the page of `docs/errors`. The one idea: the page ships with the program, and its first line is the title of
the error; a diagnostic's own title says the same of the case at hand.

    TG0 syntax · TG1 names, dtypes, machines · TG2 assignment · TG3 memory · TG4 hardware · TG5 equation · TG6 notes · TG7 numerics
    TG8 building and calling · TG9 the tool
"""

from __future__ import annotations

import argparse
import difflib
from importlib import resources
from pathlib import Path

from tinygpu.commands.common import BAD, PROVED
from tinygpu.diagnostic import Diagnostic, TinygpuError

EXAMPLE = "tinygpu explain TG203"
CHECKOUT = Path(__file__).resolve().parents[2] / "docs"
GENERAL = ("unknown", "limits")  # pages that are about no code


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "code", nargs="?", help="a code such as TG203, or unknown, or limits; without one, every code with its title"
    )


def pages() -> dict[str, str]:
    """`code → page`, sorted by code; from the installed package, or from the checkout."""
    try:
        folder = resources.files("tinygpu.errors")
    except ModuleNotFoundError:
        folder = CHECKOUT / "errors"
    found = [(f.name.removesuffix(".md"), f) for f in folder.iterdir() if f.name.startswith("TG") and f.name.endswith(".md")]
    return {code: page.read_text(encoding="utf-8") for code, page in sorted(found, key=lambda pair: pair[0])}


def general(name: str) -> str:
    """A page that is about no code."""
    try:
        return (resources.files("tinygpu.docs") / f"{name}.md").read_text(encoding="utf-8")
    except (ModuleNotFoundError, FileNotFoundError):
        return (CHECKOUT / f"{name}.md").read_text(encoding="utf-8")


def title(page: str) -> str:
    """The first line of a page without its mark.

    >>> title("# TG203: written twice\\n\\nText.")
    'TG203: written twice'
    """
    return page.lstrip().split("\n", 1)[0].lstrip("# ").strip()


def run(arguments: argparse.Namespace) -> int:
    known = pages()
    if arguments.code is None:
        for page in known.values():
            print(title(page))
        return PROVED if known else BAD
    if arguments.code in GENERAL:
        print(general(arguments.code).strip())
        return PROVED
    code = arguments.code.strip().upper()
    code = code if code.startswith("TG") else f"TG{code}"
    if code not in known:
        near = difflib.get_close_matches(code, known, n=3, cutoff=0.5)
        helps = (f"near it: {', '.join(near)}",) if near else ()
        raise TinygpuError(
            Diagnostic("TG906", f"there is no error {arguments.code}", helps=(*helps, "tinygpu explain lists them all"))
        )
    print(known[code].strip())
    return PROVED
