"""The texts that the language is known by, one for each construct: some shipped specs, and `examples/`, what no spec says.

Comes in: files. Goes out: `EXAMPLES`, name to text, all of which parse and are in the one style already; trees of what stands in a text.
The one idea: whoever changes the grammar sees here what must stay readable.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from tinygpu.record import fields, is_dataclass, replace
from tinygpu.syntax import tree
from tinygpu.syntax.parse import parse

HERE = Path(__file__).resolve().parent
SPECS = HERE.parents[1] / "specs"
FILES = [
    *(SPECS / f"{name}.tgpu" for name in ("saxpy", "transpose", "matmul_shared", "softmax")),
    *(HERE / "examples").glob("*.tgpu"),
]
EXAMPLES = {path.stem: path.read_text(encoding="utf-8") for path in FILES}


def bare(value: Any, inside: bool = False) -> Any:
    """The tree without parentheses inside expressions: without groups of one expression."""
    if isinstance(value, tuple):
        return tuple(bare(one, inside) for one in value)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    if inside and isinstance(value, tree.Group) and len(value.items) == 1 and not isinstance(value.items[0], tree.Sized):
        return bare(value.items[0], True)
    parts = {
        f.name: bare(getattr(value, f.name), isinstance(value, get_args(tree.Expr))) for f in fields(value) if f.name != "span"
    }
    return replace(value, **parts)


def nodes(value: Any) -> Iterator[Any]:
    """Every node of a tree, comments included."""
    if isinstance(value, tuple):
        for part in value:
            yield from nodes(part)
    elif is_dataclass(value) and not isinstance(value, type):
        yield value
        for field in fields(value):
            if field.name != "span":
                yield from nodes(getattr(value, field.name))


def expression(text: str) -> tree.Expr:
    (param,) = parse(f"param p = {text}").declarations
    assert isinstance(param, tree.Param) and param.value is not None
    return param.value


def step(text: str) -> str:
    """A file with that step."""
    return f"machine m : f {{\n  program {{\n    {text}\n  }}\n}}\n"
