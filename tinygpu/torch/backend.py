"""A backend of torch.compile that puts proved operators where a graph has room for them, and leaves the rest to torch.

    torch.compile(model, backend=tinygpu.torch.compile_backend, options={"rest": "inductor"})

Comes in: a graph, as Dynamo found it. Goes out: a function that runs it. The one idea: autograd takes the graph apart first, forward and backward, into operators of ATen without views of their own
kind and without writes in place; so a pattern has one form, gradients need no word, and what is not replaced is what torch would have run.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from tinygpu.torch.rewrite import Said, rewritten

RESTS = ("eager", "inductor")


def compiled(graph: Any, inputs: Sequence[Any], options: Mapping[str, Any] | None = None) -> Callable[..., Any]:
    """A graph of Dynamo as a function. Raises ValueError (TG944) for an option that there is not."""
    from torch._functorch.aot_autograd import aot_module_simplified

    unknown = {*(options or {})} - {"rest"}
    rest = (options or {}).get("rest", "eager")
    if unknown or rest not in RESTS:
        said = f"no option {', '.join(sorted(unknown))}" if unknown else f"the rest cannot be left to {rest!r}"
        raise ValueError(f"TG944 compile_backend: {said}; options are {{'rest': 'eager'}} and {{'rest': 'inductor'}}")
    forward, backward = (partial(finished, rest=rest, name=name) for name in ("forward", "backward"))
    return aot_module_simplified(graph, list(inputs), fw_compiler=forward, bw_compiler=backward)  # type: ignore[no-any-return]


def finished(graph: Any, inputs: Sequence[Any], rest: str, name: str) -> Callable[..., Any]:
    """A graph of ATen, with our operators in it, as a function of one list; with TGPU_EXPLAIN=1 what became of it is printed."""
    from torch._functorch.aot_autograd import make_boxed_func

    found, others = rewritten(graph.graph)
    graph.graph.lint()
    graph.recompile()
    if os.environ.get("TGPU_EXPLAIN", "0") not in ("", "0"):
        print(explained(name, rest, found, others), file=sys.stderr)
    if rest == "inductor" and any(True for _ in others):
        return by_inductor(graph, inputs, name)
    return make_boxed_func(graph.forward)  # type: ignore[no-any-return]


def by_inductor(graph: Any, inputs: Sequence[Any], name: str) -> Callable[..., Any]:
    """What is left of a graph compiled by Inductor, which takes operators apart further than the patterns do."""
    from torch._inductor.compile_fx import compile_fx_inner
    from torch._inductor.decomposition import select_decomp_table
    from torch.fx.experimental.proxy_tensor import make_fx

    apart = make_fx(graph, select_decomp_table(), _allow_non_fake_inputs=True)(*inputs)
    return compile_fx_inner(apart, list(inputs), is_backward=name == "backward")  # type: ignore[no-any-return]


def explained(name: str, rest: str, found: Sequence[Said], others: Counter[str]) -> str:
    """What became of a graph, line by line."""
    lines = [f"tinygpu, {name}: {sum(bool(one.taken) for one in found)} taken"]
    lines += [f"  {one}" for one in found]
    if others:
        named = ", ".join(f"{name} {count}" if count > 1 else name for name, count in sorted(others.items()))
        lines.append(f"  left to {rest}, because no pattern of the table is of it: {named}")
    return "\n".join(lines)
