"""The launcher of a choice against its cases.

    NAME_spec = the table of the cases;  def NAME(its arguments): return NAME_launch(its arguments);  NAME_launch = what the runtime makes of it

Comes in: a module, and the cases of a choice with the launchers that they call. Goes out: what is different. The one idea: what a launcher does with its cases is the
runtime's, as with launches, so the table is all there is to read; that its cases are all sizes, each once, is proved of the choice.
"""

from __future__ import annotations

import ast
from collections.abc import Collection

from tinygpu.schedule.contract import Cases, table_of_cases
from tinygpu.validate.launcher import assured, compared, formed, solved, table
from tinygpu.validate.module import Module
from tinygpu.validate.typed import Differs


def decides(module: Module, wanted: Cases, launchers: Collection[str]) -> None:
    """That a function of a module takes these cases. Raises Differs."""
    function = module.functions.get(wanted.name)
    if function is None:
        raise Differs(ast.Pass(lineno=1, col_offset=0), f"there is no {wanted.name}", "the choice has a launcher")
    formed(module, function, wanted.program, "chooser")
    found = table(module, wanted.name, function)
    compared(found, table_of_cases(wanted))
    solved(found, wanted.program, assured(wanted.program))
    for _, name in wanted.cases:
        if name not in launchers:
            raise Differs(found.nodes["cases"], f"calls {name}", "a case calls the launcher of a machine")
