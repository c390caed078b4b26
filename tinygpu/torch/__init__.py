"""tinygpu in torch: launchers as operators, and a backend of `torch.compile` that puts proved ones where a graph has room for them.

Comes in: a launcher or a module that was built; a graph of torch. Goes out: an operator, or one for each launcher; a function that runs the graph.
The one idea: torch is a guest here, imported when something is asked for, and a module needs nothing of this folder to be registered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

from tinygpu import runtime

__all__ = ["compile_backend", "register"]


def register(
    launcher: Callable[..., Any] | ModuleType,
    namespace: str = "tinygpu",
    name: str = "",
    backward: Callable[..., Any] | Sequence[Callable[..., Any]] = (),
) -> Any:
    """The operator of a launcher, NAMESPACE::NAME for torch; of a module a dictionary of all of its operators, by name.

    `backward` is a launcher, or several, that give its gradients; without one they are those that its module has proved (`gradient of A is B`). See `torch_op` of the runtime, which does it. Raises ImportError without
    torch (TG940), TypeError for what is no launcher (TG941), ValueError where the name is taken (TG942) or a gradient does not fit (TG943).
    """
    ours = runtime.loaded()
    if isinstance(launcher, ModuleType):
        return ours.torch_ops(launcher, namespace)
    return ours.torch_op(launcher, namespace, name, tuple(backward) if isinstance(backward, Sequence) else (backward,))


def compile_backend(graph: Any, inputs: Sequence[Any], options: Mapping[str, Any] | None = None) -> Callable[..., Any]:
    """A backend of `torch.compile`: `torch.compile(model, backend=tinygpu.torch.compile_backend)`.

    Where a graph has something that a shipped machine is proved to compute, that machine computes it; the rest is run by torch, or compiled by Inductor with
    `options={"rest": "inductor"}`. TGPU_EXPLAIN=1 prints which, and why. Raises ImportError without torch (TG940), ValueError for other options (TG944).
    """
    runtime.loaded()._torch()
    from tinygpu.torch.backend import compiled

    return compiled(graph, inputs, options)
