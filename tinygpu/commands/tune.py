"""`tinygpu tune`: a search over machines of an op, on the CPU that is here; what it finds is text in the user's file.

Comes in: a spec, an op, its sizes. Goes out: the machine that won, proved, with how it was measured in a comment. The one idea: what is searched are texts, each of which is proved before a clock is
started, and what is printed as faster has been timed in turns with the incumbent until chance is no answer.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from tinygpu.commands.classes import tune_classes
from tinygpu.commands.common import PROVED
from tinygpu.commands.first import add_machine, fresh_name, machine_for, receiver
from tinygpu.commands.predict import predict, target
from tinygpu.commands.specs import load_sound, op_named, sides_of, text_of, words
from tinygpu.commands.together import Progress
from tinygpu.commands.trained import learned, train
from tinygpu.commands.trials import export, merge, opened, report, resumed
from tinygpu.commands.tuned import summary, winner
from tinygpu.diagnostic import TinygpuError

if TYPE_CHECKING:
    from tinygpu.model.op import Op
    from tinygpu.pipeline import Loaded
    from tinygpu.tune.hosts import Workers
    from tinygpu.tune.search import Outcome, Search
    from tinygpu.tune.store import Store
    from tinygpu.tune.trial import Said

EXAMPLE = "tinygpu tune specs/matmul.tgpu --op matmul M=512 N=512 K=512 --budget 120"
USUAL, MINUTES, WANTED = 512, 60.0, 20  # of a size of which nothing is said; seconds; machines


def configure(parser: argparse.ArgumentParser) -> None:
    from tinygpu.tune.engine import ENGINES

    parser.add_argument("path", metavar="PATH", nargs="?", help="a spec")
    parser.add_argument("words", nargs="*", metavar="SIZE=VALUE", help=f"the sizes at which it is timed ({USUAL} each)")
    parser.add_argument("--op", metavar="OP", help="which op (the only one)")
    parser.add_argument(
        "--at",
        action="append",
        metavar="SIZES",
        help='a class of sizes, as "N=256 R=64": each is searched, and what they find is chosen by size',
    )
    parser.add_argument(
        "--device", default="cpu", metavar="NAME", help="the CPU that is here, or with --cost-only a device (h100, a100, …)"
    )
    parser.add_argument(
        "--cost-only", action="store_true", help="of a device that is not here: proved, assembled and ordered by cost, not timed"
    )
    parser.add_argument("--wanted", type=int, default=WANTED, metavar="N", help=f"with --cost-only: how many machines ({WANTED})")
    parser.add_argument("--rival", metavar="MACHINE", help="the incumbent, a machine of the spec (one that rules make)")
    parser.add_argument("--engine", choices=tuple(ENGINES), help="who proposes (evolve; beam with --cost-only)")
    parser.add_argument(
        "--model",
        choices=("footprints", "learned"),
        default="footprints",
        help="who predicts: learned is made from the trials of the store",
    )
    parser.add_argument(
        "--train", action="store_true", help="train the policy again, write its weights (or into -o), and search nothing"
    )
    parser.add_argument("--budget", type=float, default=MINUTES, metavar="SECONDS", help=f"how long to search ({MINUTES:g})")
    parser.add_argument("--seed", type=int, default=0, help="of what is drawn at random (0)")
    parser.add_argument("--store", metavar="FILE", help="the trials, from which a search goes on (tune-2.db in the cache)")
    parser.add_argument("--export", action="store_true", help="print all trials of the store as JSON lines, and search nothing")
    parser.add_argument("--merge", action="append", metavar="FILE", help="take the trials of another store, and search nothing")
    parser.add_argument("--report", metavar="FILE", help="draw what the store has of the op at these sizes as a page of HTML")
    parser.add_argument(
        "--resume", action="store_true", help="say first what the store has; that nothing is tried again holds always"
    )
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="how many prove and compile at once; one is timed (1)")
    parser.add_argument("--cluster", metavar="ADDRESS", help="the workers of a dask scheduler instead, tcp://host:8786")
    parser.add_argument("--profile", action="store_true", help="say at the end where the time went")
    parser.add_argument("-o", "--output", metavar="FILE", help="where the winner is added (the spec)")


def run(arguments: argparse.Namespace) -> int:
    from tinygpu.tune.store import Place

    if arguments.train:
        return train(arguments.output, arguments.seed)
    if arguments.merge:
        return merge(opened(arguments.store), arguments.merge)
    if arguments.export:
        return export(opened(arguments.store, there=True))
    if arguments.path is None:
        raise TinygpuError.of(
            "TG905", "nothing to search: a spec is missing", help="name its file, or say --export or --merge FILE"
        )
    if not hasattr(os, "fork"):
        title = "a search needs processes that are forked, which this system has not"
        raise TinygpuError.of(
            "TG948", title, help="search on Linux or macOS: what is found is text, and is proved and built everywhere"
        )
    (spec,), _ = load_sound([arguments.path])
    op = op_named(spec, arguments.op)
    if arguments.at:
        every = [sizes_of(op, [*arguments.words, *one.replace(",", " ").split()]) for one in arguments.at]
        return tune_classes(arguments, spec, op, every, searched)
    sizes = sizes_of(op, arguments.words)
    place = Place.of(text_of(op, *sides_of(spec, op)), arguments.device, sizes)
    if arguments.report:
        return report(opened(arguments.store, there=True), place, op.family, sizes, Path(arguments.report))
    into = receiver(arguments.output or arguments.path, op)
    device = target(arguments.device, arguments.cost_only)
    if device is not None:
        return predict(arguments, into, op, sizes, device)
    store = opened(arguments.store)
    if arguments.resume:
        print(resumed(store, place, op.family, sizes))
    found, _, name = searched(arguments, spec, op, sizes, store)
    print(summary(found, op, sizes, name))
    print("".join(f"{line}\n" for line in found.notes), end="")
    if arguments.profile:
        print("\n".join(found.spent.table(found.seconds)))
    if found.winner is not None:
        print()
        add_machine(into, winner(into, op, sizes, found, name))
    return PROVED


def searched(
    arguments: argparse.Namespace, spec: Loaded, op: Op, sizes: dict[str, int], store: Store
) -> tuple[Outcome, Search, str]:
    """What a search found, the search, and the incumbent's name."""
    from tinygpu.hardware.processor import here
    from tinygpu.tune.bound import Bound, OnCpu
    from tinygpu.tune.engine import ENGINES, ending
    from tinygpu.tune.features import features
    from tinygpu.tune.moves import Space
    from tinygpu.tune.predict import predicted
    from tinygpu.tune.search import Search

    model = learned(store, op, text_of(op), sizes, arguments.device) if arguments.model == "learned" else None
    space = Space(op, arguments.device, () if model else sides_of(spec, op), tuple(sizes.items()))
    cost = model or (lambda state: predicted(state, space.of(state), sizes))
    working = workers(arguments.cluster, arguments.workers)
    with Progress() as now, contextlib.closing(working):
        now("the incumbent")
        rival, name = incumbent(spec, op, arguments.rival, sizes)
        engine = ENGINES[arguments.engine or "evolve"](space, Random(arguments.seed), cost)
        with interrupts() as stopped:
            assert rival.kernel is not None
            if isinstance(engine, Bound) and (cpu := here()) is not None and rival.seconds:
                engine.against(OnCpu(space, sizes, cpu, rival.seconds))
            text, layouts = text_of(op, *space.sides), {rival.layout: 1.0}
            search = Search(op, text, sizes, engine, store, rival.kernel, arguments.device, rival.seconds, now, stopped)
            search.workers, search.cost, search.layouts = working, cost, layouts
            search.features = lambda state: features(state, space.of(state), sizes)
            found = search.run(arguments.budget)
    found.notes = [line for line in (str(model) if model else "", ending(engine)) if line]
    return found, search, name


def workers(cluster: str | None, count: int) -> Workers:
    """Who tries: as many here as are asked for, or all of a cluster. Raises TG905 for none, TG918 for a cluster that does not answer."""
    from tinygpu.tune.hosts import Cluster, Local

    if cluster is not None:
        return Cluster.at(cluster)
    if count < 1:
        raise TinygpuError.of("TG905", f"{count} workers do nothing", help="--workers 1 is what is taken where nothing is said")
    return Local(count)


@contextlib.contextmanager
def interrupts() -> Iterator[Callable[[], bool]]:
    """Whether somebody has asked for the end: a search ends between two trials, and says what it has."""
    asked_: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: asked_.append(number))
    try:
        yield lambda: bool(asked_)
    finally:
        signal.signal(signal.SIGINT, before)


def sizes_of(op: Op, given: list[str]) -> dict[str, int]:
    """Its sizes. Raises TG905 for one that it has not, or for sizes that it does not take."""
    from tinygpu.tune.classes import unmet

    sizes, rest = words(given)
    wrong = [*rest, *(name for name in sizes if name not in op.sizes)]
    if wrong:
        raise TinygpuError.of("TG905", f"{op.family} has no size {wrong[0]}", help=f"its sizes are {', '.join(op.sizes) or 'none'}")
    found = {name: sizes.get(name, USUAL) for name in op.sizes}
    if (guard := unmet(op, found)) is not None:
        raise TinygpuError.of("TG905", f"{op.family} wants {guard}", help="name other sizes")
    return found


def incumbent(spec: Loaded, op: Op, name: str | None, sizes: dict[str, int]) -> tuple[Said, str]:
    """What is known of a machine of the spec, or of one that rules make. Raises TinygpuError where it is none."""
    from tinygpu.tune.trial import Job, attempted

    text = spec.text if name else f"{spec.text}\n\n{machine_for(spec, op, device='cpu')}"
    name = name or fresh_name(spec, f"{op.family}_machine")
    said = attempted(Job(text, name, sizes, op=op.family), 120.0)
    if said.kernel is None or said.seconds is None:
        title = f"the incumbent {name} was not timed: {said.why or said.verdict}"
        raise TinygpuError.of("TG914", title, help="name a machine of the spec with --rival, or other sizes")
    return said, name
