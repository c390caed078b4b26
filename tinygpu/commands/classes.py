"""`tinygpu tune --at SIZES --at SIZES`: a search for each class of sizes, and a choice among what they found.

Comes in: a spec, an op, classes of sizes. Goes out: machines and a choice as text in the user's file. The one idea: where one machine gives way to another one is timed, and that the cases are all sizes, each once, is proved.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from tinygpu.commands.common import PROVED
from tinygpu.commands.first import add_machine, fresh_name, machine_for, receiver
from tinygpu.commands.together import Progress
from tinygpu.commands.trials import opened
from tinygpu.commands.tuned import said, summary, under_name
from tinygpu.diagnostic import Diagnostic, TinygpuError
from tinygpu.record import dataclass, field, replace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tinygpu.model.op import Op
    from tinygpu.pipeline import Loaded
    from tinygpu.tune.classes import Entrant, Part
    from tinygpu.tune.race import Ratio
    from tinygpu.tune.search import Outcome, Search


def told_apart(arguments: argparse.Namespace, op: Op, found: list[dict[str, int]]) -> str:
    """The size that tells classes apart. Raises TG905 for fewer than two, for classes that no size tells apart, and for what is timed nowhere."""
    from tinygpu.tune.classes import telling

    if arguments.device != "cpu" or arguments.cost_only or arguments.report:
        help = "--at goes with neither --device, --cost-only nor --report"
        raise TinygpuError.of("TG905", "classes of sizes are timed, on the CPU that is here", help=help)
    if len(found) < 2:
        help = 'name another one: --at "N=256" --at "N=65536"'
        raise TinygpuError.of("TG905", "one class of sizes leaves nothing to choose", help=help)
    if (by := telling(found)) is None:
        title = f"no size tells the classes apart: {'; '.join(map(said, found))}"
        raise TinygpuError.of("TG905", title, help=f"one of {', '.join(op.sizes)} is to be another one in each")
    return by


@dataclass(slots=True)
class Races:
    """Who is faster at some sizes: each pair is timed there once."""

    op: Op
    now: Callable[[str], None]
    known: dict[tuple[str, str, str], Ratio] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)

    def __call__(self, one: Entrant, other: Entrant, sizes: Mapping[str, int]) -> Ratio:
        """Our time as a part of the other one's. Raises TG914 where they were not timed."""
        from tinygpu.tune.race import raced
        from tinygpu.tune.search import LIMIT

        key = one.kernel.module, other.kernel.module, said(dict(sizes))
        if key not in self.known:
            self.now(f"two machines, in turns, at {said(dict(sizes))}")
            found = raced(one.kernel, other.kernel, self.op, sizes, 2 * LIMIT)
            if found is None:
                title = f"{one.name} and {other.name} were not timed at {said(dict(sizes))}"
                raise TinygpuError.of(
                    "TG914",
                    title,
                    help="their classes are too far apart for the memory or the time that there is: name nearer ones",
                )
            self.known[key] = found
            self.told.append(f"at {key[2]}: {one.name} takes {found} of the time of {other.name}")
        return self.known[key]


def tune_classes(
    arguments: argparse.Namespace,
    spec: Loaded,
    op: Op,
    every: list[dict[str, int]],
    searched: Callable[..., tuple[Outcome, Search, str]],
) -> int:
    """Search each class, then write what is left of the machines, and the choice. Raises TinygpuError."""
    from tinygpu.tune.classes import divided, unmet

    by, into = told_apart(arguments, op, every), receiver(arguments.output or arguments.path, op)
    store, found = opened(arguments.store), []
    for sizes in every:
        outcome, search, name = searched(arguments, spec, op, sizes, store)
        print(summary(outcome, op, sizes, name))
        if outcome.ended:
            return PROVED
        found.append((sizes, entrant(outcome, search, spec, op, name, in_spec=bool(arguments.rival))))
    with Progress() as now:
        race = Races(op, now)
        left = divided(found, by, race, lambda sizes: unmet(op, sizes) is None)
    print("".join(f"{line}\n" for line in race.told), end="")
    if len(left) == 1:
        print("one machine is best at all classes, so there is no choice")
    if len(left) > 1 or left[0].entrant.name == tuned(op):
        print()
        write(into, op, by, left)
    return PROVED


def tuned(op: Op) -> str:
    """What machines that were found are called."""
    return f"{op.family}_tuned"


def entrant(found: Outcome, search: Search, spec: Loaded, op: Op, name: str, in_spec: bool) -> Entrant:
    """What is best in a class: the fastest finalist that is for all sizes, or the incumbent."""
    from tinygpu.tune.classes import Entrant
    from tinygpu.tune.state import read_back

    for machine, ratio in found.finalists:
        state = read_back(machine)
        if ratio.better and state is not None and not state.where and (kernel := search.kernels.get(machine)) is not None:
            return Entrant(tuned(op), kernel, machine)
    return Entrant(name, search.incumbent, "" if in_spec else machine_for(spec, op, device="cpu"))


def write(into: Loaded, op: Op, by: str, left: list[Part]) -> None:
    """Add machines and a choice to a spec. Raises TinygpuError where the cases are not all sizes, each once; nothing is written then."""
    from tinygpu import pipeline
    from tinygpu.proof.choice import covered
    from tinygpu.tune.classes import choice

    whole, texts = into, []
    for at, part in enumerate(left):
        if not part.entrant.text:
            continue
        name = fresh_name(whole, part.entrant.name)
        texts.append("\n".join((*_why(part), under_name(whole, part.entrant.text, name))))
        whole = pipeline.load_text(f"{into.text.rstrip()}\n\n{''.join(texts)}", into.path)
        left[at] = replace(part, entrant=replace(part.entrant, name=name))
    if len(left) > 1:
        texts.append(choice(title := fresh_name(whole, f"{op.family}_by_{by}"), op.family, by, left))
        whole = pipeline.load_text(f"{into.text.rstrip()}\n\n{''.join(texts)}", into.path)
        for one in (one for one in whole.spec.choices if one.name == title):
            if isinstance(verdict := covered(one), Diagnostic):
                raise TinygpuError(verdict)
    if texts:
        add_machine(into, "\n".join(texts))


def _why(part: Part) -> Iterator[str]:
    """The comment of a machine: where it was timed against the next one."""
    if part.why is not None:
        low, high = part.why
        yield f"# Tuned on a CPU: taken at {said(dict(low))}, and the next one at {said(dict(high))}, in turns."
