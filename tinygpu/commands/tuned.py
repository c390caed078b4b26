"""What a search says: what it tried, how the finalists did, and the machine that won.

Comes in: an `Outcome`. Goes out: text. The one idea: a figure is said with the interval in which it lies, or not at all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tinygpu.commands.first import fresh_name
from tinygpu.record import replace

if TYPE_CHECKING:
    from tinygpu.model.op import Op
    from tinygpu.pipeline import Loaded
    from tinygpu.tune.search import Outcome


def summary(found: Outcome, op: Op, sizes: dict[str, int], incumbent: str) -> str:
    """What was tried, and how the finalists did."""
    tried = sum(found.verdicts.values())
    rate = 60 * tried / found.seconds if found.seconds else 0.0
    words_ = ", ".join(f"{n} {word}" for word, n in found.verdicts.most_common()) or "nothing new"
    lines = [f"{op.family} at {said(sizes)}: {tried} tried in {found.seconds:.0f} s ({rate:.0f} a minute): {words_}"]
    lines += [f"  finalist {n}: {ratio} of the time of {incumbent}" for n, (_, ratio) in enumerate(found.finalists, 1)]
    if found.ended:
        lines.append("ended before its time: what was tried is in the store, and the same command goes on from there")
    elif found.winner is None:
        lines.append(f"nothing is faster than {incumbent}, and not by chance")
    return "\n".join(lines)


def said(sizes: dict[str, int]) -> str:
    """`M = 512, N = 512`."""
    return ", ".join(f"{name} = {n}" for name, n in sizes.items()) or "its one size"


def winner(into: Loaded, op: Op, sizes: dict[str, int], found: Outcome, incumbent: str) -> str:
    """The machine that won under a name of its own, with how it was measured."""
    assert found.winner is not None
    machine, ratio = found.winner
    name = fresh_name(into, f"{op.family}_tuned")
    comment = f"# Tuned on a CPU at {said(sizes)}: {ratio} of the time of {incumbent}, in turns."
    return f"{comment}\n{renamed_to(machine, name)}"


def under_name(into: Loaded, machine: str, name: str) -> str:
    """A machine under a name of its own, without what the spec has that stands beside it."""
    from tinygpu.syntax import tree
    from tinygpu.syntax.format import format_file
    from tinygpu.syntax.parse import parse

    *beside, one = parse(machine).declarations
    assert isinstance(one, tree.Machine)
    there = {getattr(d, "name", "") for d in into.tree.declarations}
    new = (d for d in beside if getattr(d, "name", None) not in there)
    return format_file(tree.File((*new, replace(one, name=name))))


def renamed_to(machine: str, name: str) -> str:
    """A candidate under a name of its own."""
    from tinygpu.tune.search import CANDIDATE

    return machine.replace(f"machine {CANDIDATE} :", f"machine {name} :")
