"""What is made when the site is built: its first page of the README, the lists of errors and decisions, the gallery.

Comes in: mkdocs' list of files. Goes out: the same with pages that lie nowhere. The one idea: a page has one text, so the site has no copy of any.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))  # mkdocs loads this file alone

from docs.site.gallery import gallery, specs  # noqa: E402
from tinygpu.commands.explain import pages, title  # noqa: E402

KINDS = {
    "TG0": "Syntax",
    "TG1": "Names, dtypes, machines",
    "TG2": "Assignment",
    "TG3": "Memory",
    "TG4": "Hardware",
    "TG5": "Equation",
    "TG6": "Notes",
    "TG7": "Numerics",
    "TG8": "Building and calling",
    "TG9": "The tool",
}


def first_page(readme: str) -> str:
    """The README, with its links to pages as they lie in the site."""
    return readme.replace("](docs/", "](")


def errors() -> str:
    """Every code with its title, by kinds."""
    parts = ["# Errors\n\nEvery message has a code, and every code a page: `tinygpu explain TG203` prints it.\n"]
    known = {code: title(page).partition(": ")[2] for code, page in pages().items()}
    for kind, name in KINDS.items():
        mine = [f"| [{code}]({code}.md) | {words} |" for code, words in known.items() if code.startswith(kind)]
        if mine:
            parts.append("\n".join([f"## {name}\n", "| | |", "|---|---|", *mine]) + "\n")
    return "\n".join(parts)


def decisions() -> str:
    """Every decision with its title."""
    parts = ["# Decisions\n\nWhat was decided, when there was another way, and why.\n", "| | |", "|---|---|"]
    for path in sorted((ROOT / "docs" / "decisions").glob("*.md")):
        parts.append(f"| [{path.stem[:4]}]({path.name}) | {title(path.read_text(encoding='utf-8')).partition('. ')[2]} |")
    return "\n".join(parts) + "\n"


def as_a_table_has_it(line: str) -> str:
    r"""A bar inside of code, which GitHub wants escaped in a table, and the site does not.

    >>> as_a_table_has_it(r"| `a \| b` | c |")
    '| `a | b` | c |'
    """
    return re.sub(r"`[^`]*`", lambda code: code[0].replace("\\|", "|"), line) if line.startswith("|") else line


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """The pages that are made."""
    from mkdocs.structure.files import File

    made: dict[str, str | bytes] = {
        "index.md": first_page((ROOT / "README.md").read_text(encoding="utf-8")),
        "errors/index.md": errors(),
        "decisions/index.md": decisions(),
        **{f"gallery/{name}": content for name, content in gallery(tuple(specs())).items()},
    }
    for path, content in made.items():
        files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Where code stands beside code, it has the room of the navigation; bars in tables are as the site reads them."""
    if 'class="grid"' in markdown:
        page.meta["hide"] = ["navigation"]
    return "\n".join(map(as_a_table_has_it, markdown.split("\n")))
