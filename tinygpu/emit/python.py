"""Lines of Python source: the little that the emitters need to write readable text.

Comes in: headers, bodies and names of the user's. Goes out: lists of lines, indented by four, with names that Python allows.
The one idea: a block is a header and its lines, so a generator is an expression and never keeps an indentation.
"""

from __future__ import annotations

import keyword
import re
import textwrap
from collections.abc import Collection, Iterable

from tinygpu.category.text import unused

Lines = list[str]
WIDTH = 132
WORD = re.compile(r"""\"{3}(?s:.*?)\"{3}|"[^"\n]*"|'[^'\n]*'|\#.*|(?<![\w.])([^\W\d]\w*)""")
TAKEN = frozenset(keyword.kwlist) | {"__debug__"}  # the one name that is no word of the language and cannot be given


def indent(lines: Iterable[str]) -> Lines:
    """The lines one level deeper; empty lines stay empty.

    >>> indent(["a", "", "  b"])
    ['    a', '', '      b']
    """
    return ["    " + line if line else "" for line in lines]


def block(header: str, body: Iterable[str]) -> Lines:
    """`header:` and its body, which is `pass` if there is none.

    >>> block("for k in range(K)", ["a += b[k]"])
    ['for k in range(K):', '    a += b[k]']
    """
    return [header + ":", *(indent(body) or ["    pass"])]


def choice(condition: str, then: Iterable[str], otherwise: Iterable[str]) -> Lines:
    """`if condition: then` and, where there is one, `else: otherwise`."""
    rest = list(otherwise)
    return block(f"if {condition}", then) + (block("else", rest) if rest else [])


def comment(text: str, width: int = WIDTH - 24) -> Lines:
    """A sentence as comment lines.

    >>> comment("one two", 8)
    ['# one', '# two']
    """
    return ["# " + line for line in textwrap.wrap(text, width - 2)]


def identifiers(text: str) -> set[str]:
    """The names of a text, and its words: what stands in strings and comments, or behind a dot, is none.

    >>> sorted(identifiers('s = np.exp(x[0])  # of y'))
    ['np', 's', 'x']
    """
    return {*filter(None, WORD.findall(text))}


def docstring(*paragraphs: str) -> Lines:
    """A docstring; the first paragraph is its first line, and lines inside a paragraph are kept."""
    safe = "\n\n".join(p.strip("\n") for p in paragraphs if p).replace("\\", "\\\\").replace('"""', "'''")
    lines = safe.split("\n")
    return ['"""' + lines[0] + '"""'] if len(lines) == 1 else ['"""' + lines[0], *lines[1:], '"""']


def joined_lines(lines: Iterable[str]) -> str:
    """The lines as a text that ends with one newline."""
    return "\n".join(line.rstrip() for line in lines).rstrip("\n") + "\n"


def identifier(name: str) -> str:
    """A title as a Python name.

    >>> identifier("matmul_tile[BM=64]"), identifier("lambda"), identifier("2d")
    ('matmul_tile_BM_64', 'lambda_', '_2d')
    """
    plain = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_") or "_"
    plain = "_" + plain if plain[0].isdigit() else plain
    return plain + "_" if plain in TAKEN else plain


def python_names(names: Iterable[str], reserved: Collection[str] = ()) -> dict[str, str]:
    """Each name with one that Python allows, no two the same and none reserved; the user's own spelling wherever it can stay.

    >>> python_names(["x", "in", "in_", "f32"], reserved={"f32"})
    {'x': 'x', 'in': 'in__', 'in_': 'in_', 'f32': 'f32_'}
    """
    wanted = list(dict.fromkeys(names))
    kept = {n for n in wanted if n not in reserved and identifier(n) == n}
    out: dict[str, str] = {}
    used = set(kept) | set(reserved)
    for name in wanted:
        new = name if name in kept else unused(identifier(name), used)
        used.add(new)
        out[name] = new
    return out
