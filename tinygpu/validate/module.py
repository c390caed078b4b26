"""A module's text as a tree: what stands at its top, and where; nothing of it runs when it is imported.

Comes in: the text. Goes out: its functions, its other statements by the name they give, spans of nodes for diagnostics, and each line at the
top that is none of a module's. The one idea: at the top every name is given once, so that a name in a kernel or launcher means what is found
here; what kernels call is the runtime's, which is known by its version.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property, lru_cache

from tinygpu.diagnostic import Diagnostic, Label, Span
from tinygpu.record import dataclass
from tinygpu.runtime import HEAD, offered
from tinygpu.validate.inside import parts_of
from tinygpu.validate.typed import Differs, unread

KERNELS = re.compile(r"_cpu|(_\d+)?_(work|items|parallel)|_kernel(_\d+)?")  # what is called after a launcher


@dataclass(frozen=True)
class Module:
    """The tree of a module's text; `file` is what diagnostics call it."""

    text: str
    tree: ast.Module
    file: str = ""

    @cached_property
    def functions(self) -> dict[str, ast.FunctionDef]:
        """The functions at the top, by name."""
        return {node.name: node for node in self.tree.body if isinstance(node, ast.FunctionDef)}

    @cached_property
    def values(self) -> dict[str, ast.Assign | ast.AnnAssign]:
        """The statements at the top that give one name a value."""
        return {name: node for node in self.tree.body if isinstance(node, ast.Assign | ast.AnnAssign) for name in names_of(node)}

    @cached_property
    def names(self) -> frozenset[str]:
        """What is given a meaning at the top."""
        return frozenset(name for node in self.tree.body for name in names_of(node))

    @cached_property
    def _starts(self) -> list[int]:
        starts = [0]
        for line in self.lines:
            starts.append(starts[-1] + len(line) + 1)
        return starts

    @cached_property
    def lines(self) -> list[str]:
        """The text line by line."""
        return self.text.split("\n")

    def text_of(self, node: ast.FunctionDef) -> str:
        """A function's text, decorators included."""
        first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
        return "\n".join(self.lines[first - 1 : node.end_lineno]) + "\n"

    def span(self, node: ast.AST) -> Span:
        """Where a node stands."""
        line, column = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        end_line, end = getattr(node, "end_lineno", None) or line, getattr(node, "end_col_offset", None) or 0
        column, end = self._column(line, column), self._column(end_line, end)
        start, stop = self._starts[line - 1] + column, self._starts[end_line - 1] + end
        return Span(self.file, start, stop, line, column + 1, end_line, end + 1)

    def _column(self, line: int, offset: int) -> int:
        """`ast` counts bytes of UTF-8; people count characters."""
        whole = self.lines[line - 1] if line <= len(self.lines) else ""
        return offset if whole.isascii() else len(whole.encode()[:offset].decode())

    def wrong(self, code: str, title: str, node: ast.AST, says: str, *notes: str, known: bool = True) -> Diagnostic:
        """A diagnostic at a node: what it does, and as notes what was wanted. It is unknown, and no error, where a bound was not shown."""
        return Diagnostic(code, title, (Label(self.span(node), says),), "error" if known else "unknown", notes=notes)


def names_of(node: ast.stmt) -> list[str]:
    """The names that a statement at the top gives a meaning."""
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.AsyncFunctionDef(name=name):
            return [name]
        case ast.Assign(targets=targets):
            return [n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            return [a.asname or a.name for a in aliases]
    return []


@lru_cache(maxsize=1)  # kernels of both kinds are read from one text
def read(text: str, file: str = "") -> Module:
    """`text → module`. Raises SyntaxError."""
    return Module(text, ast.parse(text), file)


# ── the top ────────────────────────────────────────────────────────────────────────────────────────────────────────


def check(
    module: Module, launchers: Collection[str], short: Collection[str], gradients: Mapping[str, tuple[str, ...]]
) -> Iterator[Differs]:
    """What at the top of a module is none of a module's. Launchers, their short names and their kernels are looked at elsewhere."""
    own = {name + part for name in launchers for part in ("", "_spec", "_launch")} | {*short}
    seen, head = {"runtime"}, [ast.unparse(node) for node in ast.parse(HEAD).body]
    for number, node in enumerate(module.tree.body):
        names = names_of(node)
        for name in names:
            if name in seen:
                yield Differs(node, f"{name} is given a second time", "every name of a module has one meaning")
            if name in vars(builtins) and name not in own:
                yield Differs(node, f"{name} hides a name of Python", "every name of a module has one meaning")
            seen.add(name)
        match node:
            case ast.Expr(value=ast.Constant(value=str())) if number == 0:
                continue
            case _ if 0 < number <= len(head):
                if ast.unparse(node) != head[number - 1] and isinstance(node, ast.If):
                    yield Differs(node, "takes another runtime", "a module takes the one that it is built with, from beside it")
                elif ast.unparse(node) != head[number - 1]:
                    yield unread(node, "is not how a module begins")
            case _ if offered() & {*names}:
                yield from taken(node)
            case ast.Assign() if names == ["__all__"]:
                yield from _offered(node, own)
            case ast.Assign() if names == ["gradients"] and gradients:
                if ast.unparse(node.value) != repr(dict(gradients)):
                    yield Differs(node, "pairs launchers otherwise", "who gives which gradient is proved")
            case ast.AnnAssign() if names == ["Array"]:
                if ast.unparse(node) != "Array: TypeAlias = Any":
                    yield unread(node, "Array is Any")
            case ast.FunctionDef(name=name) if _still(node) and any(
                name.startswith(one) and KERNELS.fullmatch(name.removeprefix(one)) for one in launchers
            ):
                continue
            case ast.FunctionDef() | ast.Assign() if names and own.issuperset(names):
                continue
            case _:
                yield unread(node, f"{', '.join(names) or 'this'} is nothing of a module")
    if gradients and "gradients" not in seen:
        yield unread(module.tree.body[0], "a module of gradients says which launchers give them")
    if len(module.tree.body) <= len(head):
        yield unread(module.tree.body[0], "a module takes the runtime from beside it")


def taken(node: ast.stmt) -> Iterator[Differs]:
    """That a name of the runtime is the runtime's, where a statement gives one a meaning."""
    for name in names_of(node):
        if name in offered() and ast.unparse(node) != f"{name} = runtime.{name}":
            yield Differs(node, f"{name} is not the helper of that name", "it is the runtime's")


def _still(function: ast.FunctionDef) -> bool:
    """Whether nothing is run where a kernel is defined: it has no defaults, annotations call nothing, and flags of numba are literals."""
    made = [d.func for d in function.decorator_list if isinstance(d, ast.Call)]
    flags = [k.value for d in function.decorator_list if isinstance(d, ast.Call) for k in d.keywords]
    plain = all(isinstance(n, ast.Constant | ast.Set | ast.expr_context) for flag in flags for n in ast.walk(flag))
    named = [ast.unparse(d) for d in made] == ["njit"] * len(function.decorator_list)
    called = any(isinstance(n, ast.Call) for n in ast.walk(function.args))
    return plain and named and not called and not function.args.defaults and not any(function.args.kw_defaults)


def _offered(node: ast.Assign, launchers: Collection[str]) -> Iterator[Differs]:
    """`__all__`: launchers and their short names, so that what a user imports is what was looked at."""
    match node.value:
        case ast.List(elts=elts):
            names = [e.value if isinstance(e, ast.Constant) else "" for e in elts]
            wrong = [e for e, name in zip(elts, names, strict=True) if name not in launchers]
            if wrong:
                yield Differs(wrong[0], f"offers {ast.unparse(wrong[0])}", "a module offers launchers")
        case _:
            yield unread(node, "__all__ is a list")


def missing(module: Module) -> Iterator[Differs]:
    """Names that nothing gives a meaning: neither the module, nor a function of it, nor Python."""
    every = [n for node in module.tree.body for n in parts_of(node)]
    own = {*module.names, *vars(builtins), "__file__", "__name__", "runtime"}
    own |= {n.arg for n in every if isinstance(n, ast.arg)} | {n.name for n in every if isinstance(n, ast.FunctionDef)}
    own |= {n.id for n in every if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    for name, node in {n.id: n for n in every if isinstance(n, ast.Name) and n.id not in own}.items():
        yield Differs(node, f"uses {name}, which has no meaning here", "what a module uses is in it")
