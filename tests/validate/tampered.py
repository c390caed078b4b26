"""Texts with something more in a module that is run when it is imported, or that gives a name another meaning, one for each place and kind.

Comes in: the text of a module. Goes out: named texts. The one idea: what stands in functions runs when they are called, and is compared with
programs; what stands around them (the top of the module, defaults, annotations, decorators) would run while somebody imports it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

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


def at_import(text: str, launcher: str) -> Iterator[tuple[str, str]]:
    """What was done, and the text."""
    opening, rest = text.split('"""', 2)[1:] if text.startswith('"""') else ("", text)
    for what, more in APPENDED.items():
        yield f"{what} at the end", f"{text}\n{more.format(name=launcher)}\n"
        future, _, below = rest.partition("annotations\n")
        yield f"{what} at the start", f'"""{opening}"""{future}annotations\n{more.format(name=launcher)}\n{below}'
    for number, node in enumerate(ast.parse(text).body):
        for what in ("a default", "an annotation", "a decorator") if isinstance(node, ast.FunctionDef) else ():
            tree, run = ast.parse(text), ast.parse("print('run')", mode="eval").body
            function = tree.body[number]
            assert isinstance(function, ast.FunctionDef)
            match what, [*function.args.args, *function.args.kwonlyargs]:
                case "a default", [_, *_]:
                    function.args.defaults, function.args.kw_defaults = (
                        [run] * len(function.args.args),
                        [run] * len(function.args.kwonlyargs),
                    )
                case "an annotation", [first, *_]:
                    first.annotation = run
                case "a decorator", _:
                    function.decorator_list.insert(0, run)
                case _:
                    continue
            yield f"{what} of {function.name}", ast.unparse(tree)
