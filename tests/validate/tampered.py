"""Edits of a module's text, one for each place and kind: what somebody could change in it, by hand or by program.

Comes in: the text of a module. Goes out: named texts, each with one place changed. The one idea: the places are the nodes of its tree, the
changes are of its characters, so nothing but that place is another one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

Edit = tuple[str, str]  # what was done, and the text
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
        start, end = self.place(node)
        data = self.text.encode()
        return (data[:start] + new.encode() + data[end:]).decode()

    def said(self, node: ast.AST) -> str:
        start, end = self.place(node)
        return self.text.encode()[start:end].decode()


def edits(text: str, launcher: str, every: int = 1) -> Iterator[Edit]:
    """All edits of a module with this launcher; of those inside functions one in `every`."""
    source = Source(text)
    first = source.tree.body[1]
    for what, more in APPENDED.items():
        added = more.format(name=launcher)
        yield f"{what} at the end", f"{text}\n{added}\n"
        yield f"{what} at the start", source.put(first, f"{added}\n{source.said(first)}")
    yield from _statements(source, source.tree.body, 1)
    for node in source.tree.body:
        if isinstance(node, ast.FunctionDef):
            yield from signatures(source, node)
    inside = list(within(source))
    yield from inside[::every]


def within(source: Source) -> Iterator[Edit]:
    """Edits inside functions: statements, conditions, numbers and names."""
    for node in ast.walk(source.tree):
        match node:
            case ast.FunctionDef(body=body) | ast.For(body=body) | ast.If(body=body):
                yield from _statements(source, body, 4)
            case ast.Constant(value=bool(value)):
                yield f"line {node.lineno}: {value} turned", source.put(node, str(not value))
            case ast.Constant(value=int(value)):
                yield f"line {node.lineno}: {value} and 1", source.put(node, str(value + 1))
            case ast.Constant(value=float(value)):
                yield f"line {node.lineno}: {value} and 1", source.put(node, str(value + 1))
            case ast.Name(id=name, ctx=ast.Load()):
                yield f"line {node.lineno}: {name} renamed", source.put(node, f"{name}_")
                yield f"line {node.lineno}: {name} called", source.put(node, f"(print('run') or {name})")
        if isinstance(node, ast.If | ast.IfExp):
            test = source.said(node.test)
            yield f"line {node.lineno}: a condition that runs", source.put(node.test, f"(print('run') or ({test}))")
            yield f"line {node.lineno}: a condition divided by 0", source.put(node.test, f"({test}) and 1 // 0 == 0")


def signatures(source: Source, node: ast.FunctionDef) -> Iterator[Edit]:
    """Edits of defaults, annotations and decorators of a function at the top."""
    run, at = "print('run')", f"line {node.lineno}: of {node.name}"
    given = node.args
    for default in (d for d in (*given.defaults, *given.kw_defaults) if d):
        yield f"{at} a default", source.put(default, run)
    for argument in (*given.args, *given.kwonlyargs):
        if argument.annotation:
            yield f"{at} an annotation", source.put(argument.annotation, run)
        else:
            yield f"{at} a new annotation", source.put(argument, f"{argument.arg}: {run}")
        yield f"{at} another name", source.put(argument, source.said(argument).replace(argument.arg, f"{argument.arg}_", 1))
    if given.args and not given.defaults and not given.vararg:
        yield f"{at} a new default", source.put(given.args[-1], f"{source.said(given.args[-1])}={run}")
    if node.returns:
        yield f"{at} what it returns", source.put(node.returns, run)
    for decorator in node.decorator_list:
        yield f"{at} a decorator", source.put(decorator, run)
    first = node.decorator_list[0] if node.decorator_list else node
    more = "print\n@" if node.decorator_list else "@print\n"
    yield f"{at} a new decorator", source.put(first, more + source.said(first))


def _statements(source: Source, body: list[ast.stmt], indent: int) -> Iterator[Edit]:
    """Each statement left out, each two exchanged."""
    for number, stmt in enumerate(body):
        yield f"line {stmt.lineno}: left out", source.put(stmt, "pass" if indent > 1 else "")
        if number + 1 < len(body) and not isinstance(stmt, ast.FunctionDef | ast.ClassDef):
            after = body[number + 1]
            if not isinstance(after, ast.FunctionDef | ast.ClassDef):
                start, _ = source.place(stmt)
                (_, middle), (begin, end) = source.place(stmt), source.place(after)
                data = source.text.encode()
                new = data[begin:end] + data[middle:begin] + data[start:middle]
                yield f"line {stmt.lineno}: exchanged with the next", (data[:start] + new + data[end:]).decode()
