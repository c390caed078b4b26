"""`tinygpu tune`: a search over machines of an op, on the CPU that is here; what it finds is text in the user's file.

Comes in: a spec, an op, its sizes. Goes out: the machine that won, proved, with how it was measured in a comment. The one idea: what is searched are texts, each of which is proved before a clock is
started, and what is printed as faster has been timed in turns with the incumbent until chance is no answer.
"""

from __future__ import annotations

import argparse
import contextlib
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from tinygpu.commands.common import PROVED
from tinygpu.commands.first import add_machine, fresh_name, machine_for, receiver
from tinygpu.commands.specs import load_sound, op_named, text_of, words
from tinygpu.commands.together import Progress
from tinygpu.commands.trained import learned, train
from tinygpu.diagnostic import TinygpuError

if TYPE_CHECKING:
    from tinygpu.hardware.arch import Device
    from tinygpu.model.op import Op
    from tinygpu.pipeline import Loaded
    from tinygpu.tune.search import Outcome
    from tinygpu.tune.trial import Kernel

EXAMPLE = "tinygpu tune specs/matmul.tgpu --op matmul M=512 N=512 K=512 --budget 120"
USUAL, MINUTES, WANTED = 512, 60.0, 20  # of a size of which nothing is said; seconds; machines


def configure(parser: argparse.ArgumentParser) -> None:
    from tinygpu.tune.engine import ENGINES

    parser.add_argument("path", metavar="PATH", nargs="?", help="a spec")
    parser.add_argument("words", nargs="*", metavar="SIZE=VALUE", help=f"the sizes at which it is timed ({USUAL} each)")
    parser.add_argument("--op", metavar="OP", help="which op (the only one)")
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
    parser.add_argument("--store", metavar="FILE", help="the trials, from which a search goes on (tune.db in the cache)")
    parser.add_argument("--export", action="store_true", help="print all trials of the store as JSON lines, and search nothing")
    parser.add_argument("-o", "--output", metavar="FILE", help="where the winner is added (the spec)")


def run(arguments: argparse.Namespace) -> int:
    from tinygpu.tune.engine import ENGINES, ending
    from tinygpu.tune.moves import Space
    from tinygpu.tune.predict import predicted
    from tinygpu.tune.search import Search
    from tinygpu.tune.store import Store

    if arguments.train:
        return train(arguments.output, arguments.seed)
    if arguments.path is None:
        raise TinygpuError.of("TG905", "tune needs a spec", help=f"such as: {EXAMPLE}")
    store = Store(Path(arguments.store) if arguments.store else default_store())
    if arguments.export:
        print("\n".join(store.lines()))
        return PROVED
    (spec,), _ = load_sound([arguments.path])
    op = op_named(spec, arguments.op)
    into = receiver(arguments.output or arguments.path, op)
    sizes = sizes_of(op, arguments.words)
    device = target(arguments.device, arguments.cost_only)
    if device is not None:
        return predict(arguments, into, op, sizes, device)
    model = learned(store, op, text_of(op), sizes, arguments.device) if arguments.model == "learned" else None
    with Progress() as now:
        now("the incumbent")
        rival, name = incumbent(spec, op, arguments.rival, sizes)
        cost = model or (lambda state: predicted(state, op, sizes))
        engine = ENGINES[arguments.engine or "evolve"](Space(op, arguments.device), Random(arguments.seed), cost)
        search = Search(op, text_of(op), sizes, engine, store, rival, arguments.device, now)
        with interrupts() as stopped:
            search.stopped = stopped
            found = search.run(arguments.budget)
    print(told(found, op, sizes, name))
    if model is not None:
        print(model)
    print(ending(engine), end="")
    if found.winner is not None:
        print()
        add_machine(into, winner(into, op, sizes, found, name))
    return PROVED


@contextlib.contextmanager
def interrupts() -> Iterator[Callable[[], bool]]:
    """Whether somebody has asked for the end: a search ends between two trials, and says what it has."""
    asked_: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: asked_.append(number))
    try:
        yield lambda: bool(asked_)
    finally:
        signal.signal(signal.SIGINT, before)


def target(name: str, cost_only: bool) -> Device | None:
    """The device that is not here; None for the CPU. Raises TG905 for what is neither timed nor costed."""
    from tinygpu.hardware.arch import device_named, devices

    if name == "cpu" and not cost_only:
        return None
    device = device_named(name)
    if device is None:
        title = "a CPU is timed, and not costed" if name == "cpu" else f"there is no device {name}"
        raise TinygpuError.of("TG905", title, help=f"the devices are {', '.join(devices())}")
    if not cost_only:
        raise TinygpuError.of(
            "TG907", f"{name} is not timed from here", help="say --cost-only: machines are proved, assembled and ordered by cost"
        )
    return device


def predict(arguments: argparse.Namespace, into: Loaded, op: Op, sizes: dict[str, int], device: Device) -> int:
    """Machines for a device that is not here, with what no run of them is faster than."""
    from tinygpu.tune.bound import Bound, Floor
    from tinygpu.tune.costed import costed
    from tinygpu.tune.engine import ENGINES, ending
    from tinygpu.tune.moves import Space
    from tinygpu.tune.predict import predicted

    with Progress() as now:
        engine = ENGINES[arguments.engine or "beam"](Space(op), Random(arguments.seed), lambda state: predicted(state, op, sizes))
        if isinstance(engine, Bound):
            engine.floor = Floor.of(engine.space, text_of(op), sizes, device).seconds
        found, looked = costed(engine, text_of(op), sizes, device, arguments.budget, arguments.wanted, now)
    print(
        f"{op.family} at {said(sizes)} on {device.name}, predicted: {len(found)} proved and assembled without spills, of {looked}"
    )
    for number, one in enumerate(found, 1):
        beside = f"banks {one.banks * 1e3:.3g} ms, memory without caches {one.moved * 1e3:.3g} ms, {one.registers} registers"
        print(f"  {number:2}  no faster than {one.bound * 1e3:.3g} ms ({one.why}); {beside}")
    print(ending(engine), end="")
    if not found:
        raise TinygpuError.of(
            "TG914", f"no machine of {op.family} was proved and assembled in time", help="--budget gives it more seconds"
        )
    name = fresh_name(into, f"{op.family}_predicted")
    text = f"# Predicted for {device.name} at {said(sizes)}, and not timed: no faster than {found[0].bound * 1e3:.3g} ms.\n"
    text += renamed_to(found[0].machine, name)
    print()
    add_machine(into, text)
    return PROVED


def renamed_to(machine: str, name: str) -> str:
    """A candidate under a name of its own."""
    from tinygpu.tune.search import CANDIDATE

    return machine.replace(f"machine {CANDIDATE} :", f"machine {name} :")


def default_store() -> Path:
    """Where trials are kept if nobody says."""
    from tinygpu.runtime.cubins import _cache_folder

    return Path(_cache_folder()) / "tune.db"


def sizes_of(op: Op, given: list[str]) -> dict[str, int]:
    """Its sizes. Raises TG905 for one that it has not, or for sizes that it does not take."""
    from tinygpu.category.evaluate import evaluate
    from tinygpu.category.term import reads, text

    sizes, rest = words(given)
    wrong = [*rest, *(name for name in sizes if name not in op.sizes)]
    if wrong:
        raise TinygpuError.of("TG905", f"{op.family} has no size {wrong[0]}", help=f"its sizes are {', '.join(op.sizes) or 'none'}")
    found = {name: sizes.get(name, USUAL) for name in op.sizes}
    for guard in (g for g in op.where if not reads(g) and not evaluate(g, found)):
        raise TinygpuError.of("TG905", f"{op.family} wants {text(guard)}", help="name other sizes")
    return found


def incumbent(spec: Loaded, op: Op, name: str | None, sizes: dict[str, int]) -> tuple[Kernel, str]:
    """The kernel of a machine of the spec, or of one that rules make. Raises TinygpuError where it is none."""
    from tinygpu.tune.trial import Job, attempted

    text = spec.text if name else f"{spec.text}\n\n{machine_for(spec, op)}"
    name = name or fresh_name(spec, f"{op.family}_machine")
    said = attempted(Job(text, name, sizes), 120.0)
    if said.kernel is None or said.seconds is None:
        title = f"the incumbent {name} was not timed: {said.why or said.verdict}"
        raise TinygpuError.of("TG914", title, help="name a machine of the spec with --rival, or other sizes")
    return said.kernel, name


def told(found: Outcome, op: Op, sizes: dict[str, int], incumbent: str) -> str:
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
