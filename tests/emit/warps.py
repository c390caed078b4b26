"""The threads of a block, stepped between the places where they meet.

Comes in: the text of kernels, and for each thread a generator that stops where it waits for others. Goes out: the block, run to its end.
The one idea: a barrier and a shuffle are made `yield`s in the text's own tree, so between them each thread runs alone, in any order.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Generator, Sequence
from types import SimpleNamespace
from typing import Any

WARP, GROUP = 32, 128
MEETINGS = ("cuda.syncthreads", "cuda.syncwarp")
INSTRUCTIONS = (
    "mma_",
    "ldmatrix_",
    "stmatrix_",
    "wgmma_",
    "products_",
    "fence_async",
    "ring_",
    "box_copy",
    "cluster_barrier",
    "tcgen05_",
    *(f"tensor_{step}" for step in ("begin", "barrier", "commit", "wait", "end")),
)
BARRIERS, TENSOR = -1, -2  # where those of the block are, and its tensor memory, beside what warps have begun
Thread = Generator[tuple[Any, ...], Any, None]


class Stops(ast.NodeTransformer):
    """Kernels as generators: `yield (name, arguments…)` in place of each call for which threads wait."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = ast.unparse(node.func)
        if name.startswith(INSTRUCTIONS):  # with its text, which the kernel has given this name
            return ast.Yield(ast.Tuple([ast.Constant("instruction"), node.func, *node.args], ast.Load()))
        if name not in MEETINGS and not name.startswith("shuffle_"):
            return node
        return ast.Yield(ast.Tuple([ast.Constant(name), *node.args], ast.Load()))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        if not any(isinstance(inner, ast.FunctionDef) for inner in node.body):  # a kernel, not its maker
            node.body.insert(0, ast.parse("if False:\n    yield").body[0])
        return node


def stopping(text: str) -> Any:
    """The text's code, with kernels that stop where threads meet."""
    return compile(ast.fix_missing_locations(Stops().visit(ast.parse(text))), "<kernels>", "exec")


class Block:
    """The threads of a block: what they wait for, what they get, and what is under way for them. `begin` makes its memory the one at hand."""

    def __init__(self, begin: Callable[[], None], threads: Sequence[Thread]):
        self.begin, self.threads, self.ended = begin, threads, set[int]()
        self.answers: dict[int, Any] = dict.fromkeys(range(len(threads)))
        self.waiting: dict[int, tuple[Any, ...]] = {}
        self.under_way: dict[int, Any] = {}

    def go(self, position: SimpleNamespace, order: Callable[[int], Sequence[int]]) -> None:
        """All that need not wait go on to where they do."""
        self.begin()
        for number in order(len(self.threads)):
            if number in self.answers:
                position.threadIdx.x = number
                try:
                    self.waiting[number] = self.threads[number].send(self.answers.pop(number))
                except StopIteration:
                    self.ended.add(number)

    def meet(self, all_here: bool) -> bool:
        """Who has met gets what it waits for; whether anybody has. `all_here` says that all of the cluster are at one place."""
        self.answers = dict.fromkeys(self.waiting) if all_here else met(self.waiting, len(self.threads), self.under_way)
        for number in self.answers:
            del self.waiting[number]
        return bool(self.answers)


def run_cluster(position: SimpleNamespace, blocks: Sequence[Block], order: Callable[[int], Sequence[int]]) -> None:
    """Run all threads of blocks that know of each other to their ends; `order(count)` says who comes first each time. Fails where some wait for what others never reach."""
    if len(blocks) > 1:
        every = [barriers(block.under_way) for block in blocks]
        for one in every:
            one.cluster = every
    while any(len(block.ended) < len(block.threads) for block in blocks):
        for number in order(len(blocks)):
            blocks[number].go(position, order)
        asked = {block.waiting.get(n, ())[:2] for block in blocks for n in range(len(block.threads))}
        ready = len(asked) == 1 and is_of_cluster(*asked)
        if ready and "begin" in next(iter(asked))[1]:  # each block makes its own
            for block in blocks:
                barriers(block.under_way).call(block.waiting[0][1], [block.waiting[0][2:]])
        gone = [block.meet(ready) for block in blocks]
        if any(gone):
            continue
        if any(BARRIERS in block.under_way and block.under_way[BARRIERS].land() for block in blocks):
            continue
        waiting = [w for block in blocks for w in block.waiting.values()]
        assert not waiting, f"{len(waiting)} threads wait for ever, first at {waiting[0]}"


def is_of_cluster(asked: tuple[Any, ...]) -> bool:
    """Whether the threads of all blocks of a cluster meet there: at a barrier of it, or where barriers are made to which others come."""
    what = asked[1] if asked[:1] == ("instruction",) else ""
    return what.startswith("barrier.cluster") if isinstance(what, str) else what[:2] == ("ring", "begin") and len(what) > 5


def met(waiting: dict[int, tuple[Any, ...]], count: int, under_way: dict[int, Any]) -> dict[int, Any]:
    """What those get who have met: nothing after a barrier, the other lane's value after a shuffle; what warps have begun is `under_way`."""
    out: dict[int, Any] = {}
    if len(waiting) == count and all(w[0] == "cuda.syncthreads" for w in waiting.values()):
        return dict.fromkeys(waiting)
    for first in range(0, count, WARP):
        lanes = range(first, min(first + WARP, count))
        asked = {waiting[n][0] for n in lanes if n in waiting}
        if "cuda.syncthreads" in asked or not all(n in waiting for n in lanes):
            continue
        assert len(asked) == 1, f"lanes of one warp are at different places: {asked}"
        if asked == {"cuda.syncwarp"}:
            out |= dict.fromkeys(lanes)
        elif asked == {"instruction"}:
            from tests.hardware.lanes import perform

            texts = {waiting[n][1] for n in lanes}
            assert len(texts) == 1 and len(lanes) == WARP, f"lanes of one warp run {texts}"
            given, (text,) = [waiting[n][2:] for n in lanes], texts
            if is_of_cluster(("instruction", text)):
                continue
            if not isinstance(text, str) and text[0] == "tensor":
                from tests.hardware.fifth import together

                if together(text) and any(waiting.get(n, ())[:2] != ("instruction", text) for n in range(count)):
                    continue  # a barrier of the block is in it
                tensor_memory(under_way).call(text, first // WARP)
                out |= dict.fromkeys(lanes)
                continue
            if not isinstance(text, str):
                if text[:2] == ("ring", "begin") and any(waiting.get(n, ())[:2] != ("instruction", text) for n in range(count)):
                    continue  # a barrier of the block is in it
                if barriers(under_way).call(text, given):
                    out |= dict.fromkeys(lanes)
                continue
            if text.startswith("tcgen05."):
                tensor_memory(under_way).run(text, given, first // WARP)
                out |= dict.fromkeys(lanes)
                continue
            if text.startswith(("wgmma.", "fence.")):
                group = range(first // GROUP * GROUP, first // GROUP * GROUP + GROUP)
                if "mma_async" in text and any(waiting.get(n, ())[:2] != ("instruction", text) for n in group):
                    continue  # a warpgroup begins a product together
                later(text, given, first // WARP, under_way)
            else:
                perform(text, given)
            out |= dict.fromkeys(lanes)
        else:
            out |= {n: exchanged(waiting[n], n - first, [waiting[m][1] for m in lanes]) for n in lanes}
    return out


def tensor_memory(under_way: dict[Any, Any]) -> Any:
    """That of the block."""
    from tests.hardware.fifth import Tensor

    return under_way.setdefault(TENSOR, Tensor())


def barriers(under_way: dict[Any, Any]) -> Any:
    """Those of the block."""
    from tests.hardware.rings import Barriers

    return under_way.setdefault(BARRIERS, Barriers())


def later(text: str, given: list[Any], warp: int, under_way: dict[int, Any]) -> None:
    """What a warp does about products that land later."""
    from tests.hardware.products import Group

    mine = under_way.setdefault(warp, Group())
    if "mma_async" in text:
        mine.begin(text, given, warp % (GROUP // WARP))
    elif "commit" in text:
        mine.groups.append([])
    elif "wait" in text:
        mine.wait(int(text.split("|")[0].split()[1].rstrip(";")))


def exchanged(asked: tuple[Any, ...], lane: int, values: list[Any]) -> Any:
    """What a lane gets. Only `_any` takes a distance that the instruction itself would take modulo 32."""
    name, own, by = asked
    _, mode, *any_distance = name.split("_")
    assert any_distance or mode == "idx" or 0 <= int(by) < WARP, f"{name} by {by}"
    other = {"xor": lane ^ int(by), "up": lane - int(by), "down": lane + int(by), "idx": int(by) % WARP}[mode]
    if 0 <= other < len(values):
        return values[other]
    assert mode in ("up", "down"), f"{name} of lane {other} in a warp of {len(values)}"
    return own
