"""The launcher of a choice against its cases, and that of a pipeline against its calls.

    NAME_spec = the table;  def NAME(its arguments): return NAME_launch(its arguments);  NAME_launch = what the runtime makes of it

Comes in: a module, and the cases or calls with the launchers that they name. Goes out: what is different. The one idea: what a launcher does with its table is the
runtime's, as with launches, so the table is all there is to read; that its cases are all sizes, each once, and that its calls fit, is proved.
"""

from __future__ import annotations

import ast
from collections.abc import Collection

from tinygpu.schedule.joined import Calls, Cases, table_of
from tinygpu.validate.launcher import assured, compared, formed, solved, table
from tinygpu.validate.module import Module
from tinygpu.validate.typed import Differs


def decides(module: Module, wanted: Cases | Calls, launchers: Collection[str]) -> None:
    """That a function of a module takes these cases, or makes these calls. Raises Differs."""
    function = module.functions.get(wanted.name)
    what, maker = ("choice", "chooser") if isinstance(wanted, Cases) else ("pipeline", "chain")
    if function is None:
        raise Differs(ast.Pass(lineno=1, col_offset=0), f"there is no {wanted.name}", f"the {what} has a launcher")
    formed(module, function, wanted.program, maker)
    found = table(module, wanted.name, function)
    compared(found, table_of(wanted))
    solved(found, wanted.program, assured(wanted.program))
    for name in wanted.called:
        if name not in launchers:
            raise Differs(
                found.nodes["cases" if isinstance(wanted, Cases) else "calls"],
                f"calls {name}",
                "a launcher of this module is called",
            )
