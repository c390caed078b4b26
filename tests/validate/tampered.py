"""Edits of a module's text, one for each place and kind: what somebody could change in it, by hand or by program.

Comes in: the text of a module. Goes out: named texts, each with one place changed. The one idea: the places are the nodes of its tree, the
changes are of its characters, so nothing but that place is another one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import islice

Edit = tuple[str, str]  # what was done, and the text
Change = tuple[str, int, int, str]  # what is done, from and to which byte, and what stands there then
APPENDED = {
    "a function": "def {name}(*given, **named):\n    return None",
    "a lambda": "{name} = lambda *given, **named: None",
    "an annotated value": "{name}: object = print",
    "several values": "{name}, other = print, print",
    "an augmented value": "{name} += 1",
    "a walrus": "({name} := print)",
    "an import": "from math import sqrt as {name}",
    "a star": "from numpy import *",
    "a module": "import antigravity",
    "a call": "print('run')",
    "a class": "class {name}:\n    pass",
    "a class of a call": "class Other(type(print('run'))):\n    pass",
    "a loop": "for {name} in (print,):\n    pass",
    "a loop that waits": "while False:\n    pass",
    "a choice": "if True:\n    {name} = print",
    "a context": "with open('file') as {name}:\n    pass",
    "a try": "try:\n    {name} = print\nexcept Exception as {name}:\n    pass",
    "a deletion": "del {name}",
    "a global": "global {name}",
    "an assertion": "assert print('run')",
    "an attribute": "{name}.__code__ = print.__call__",
    "an element": "globals()['{name}'] = print",
    "a coroutine": "async def {name}():\n    pass",
    "a match": "match print:\n    case {name}:\n        pass",
    "a type": "type_of: print('run') = 1",
    "a string": "'run'",
    "nothing": "pass",
    "a comment": "# a comment",
}


class Source:
    """A text with the places of its nodes."""

    def __init__(self, text: str):
        self.text, self.tree = text, ast.parse(text)
        self.starts = [0]
        for line in text.encode().split(b"\n"):
            self.starts.append(self.starts[-1] + len(line) + 1)

    def place(self, node: ast.AST) -> tuple[int, int]:
        return self.starts[node.lineno - 1] + node.col_offset, self.starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]

    def put(self, node: ast.AST, new: str) -> str:
        """The text with other characters for a node."""
        return self.changed(*self.place(node), new)

    def changed(self, start: int, end: int, new: str) -> str:
        """The text with other characters for some of its bytes."""
        data = self.text.encode()
        return (data[:start] + new.encode() + data[end:]).decode()

    def to(self, what: str, node: ast.AST, new: str) -> Change:
        return what, *self.place(node), new

    def said(self, node: ast.AST) -> str:
        start, end = self.place(node)
        return self.text.encode()[start:end].decode()


def edits(text: str, launcher: str, every: int = 1, outside: int = 1) -> Iterator[Edit]:
    """All edits of a module with this launcher; of those inside functions one in `every`, of others one in `outside`."""
    source = Source(text)
    first = source.tree.body[1]
    for what, more in APPENDED.items():
        added = more.format(name=launcher)
        yield f"{what} at the end", f"{text}\n{added}\n"
        yield f"{what} at the start", source.put(first, f"{added}\n{source.said(first)}")
    top = [*_statements(source, source.tree.body, "")]
    for node in source.tree.body:
        if isinstance(node, ast.FunctionDef):
            top += signatures(source, node)
    for what, start, end, new in [*top[::outside], *islice(within(source), 0, None, every)]:
        yield what, source.changed(start, end, new)


def within(source: Source) -> Iterator[Change]:
    """Edits inside functions: statements, conditions, numbers and names."""
    for node in ast.walk(source.tree):
        at = f"line {getattr(node, 'lineno', 0)}:"
        match node:
            case ast.FunctionDef(body=body) | ast.For(body=body) | ast.If(body=body):
                yield from _statements(source, body, "pass")
            case ast.Constant(value=bool(value)):
                yield source.to(f"{at} {value} turned", node, str(not value))
            case ast.Constant(value=int(value) | float(value)):
                yield source.to(f"{at} {value} and 1", node, str(value + 1))
            case ast.Name(id=name, ctx=ast.Load()):
                yield source.to(f"{at} {name} renamed", node, f"{name}_")
                yield source.to(f"{at} {name} called", node, f"(print('run') or {name})")
        if isinstance(node, ast.If | ast.IfExp):
            test = source.said(node.test)
            yield source.to(f"{at} a condition that runs", node.test, f"(print('run') or ({test}))")
            yield source.to(f"{at} a condition divided by 0", node.test, f"({test}) and 1 // 0 == 0")


def signatures(source: Source, node: ast.FunctionDef) -> Iterator[Change]:
    """Edits of defaults, annotations and decorators of a function at the top."""
    run, at, given = "print('run')", f"line {node.lineno}: of {node.name}", node.args
    for default in (d for d in (*given.defaults, *given.kw_defaults) if d):
        yield source.to(f"{at} a default", default, run)
    for argument in (*given.args, *given.kwonlyargs):
        new = source.to(f"{at} a new annotation", argument, f"{argument.arg}: {run}")
        yield source.to(f"{at} an annotation", argument.annotation, run) if argument.annotation else new
        yield source.to(f"{at} another name", argument, source.said(argument).replace(argument.arg, f"{argument.arg}_", 1))
    if given.args and not given.defaults and not given.vararg:
        yield source.to(f"{at} a new default", given.args[-1], f"{source.said(given.args[-1])}={run}")
    if node.returns:
        yield source.to(f"{at} what it returns", node.returns, run)
    for decorator in node.decorator_list:
        yield source.to(f"{at} a decorator", decorator, run)
    first = node.decorator_list[0] if node.decorator_list else node
    more = "print\n@" if node.decorator_list else "@print\n"
    yield source.to(f"{at} a new decorator", first, more + source.said(first))


def _statements(source: Source, body: list[ast.stmt], instead: str) -> Iterator[Change]:
    """Each statement left out, each two exchanged."""
    for stmt, after in zip(body, [*body[1:], None], strict=True):
        yield source.to(f"line {stmt.lineno}: left out", stmt, instead)
        if after and not any(isinstance(s, ast.FunctionDef | ast.ClassDef) for s in (stmt, after)):
            (start, middle), (begin, end) = source.place(stmt), source.place(after)
            between = source.text.encode()[middle:begin].decode()
            yield f"line {stmt.lineno}: exchanged with the next", start, end, source.said(after) + between + source.said(stmt)
