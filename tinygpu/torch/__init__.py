"""tinygpu in torch: launchers as operators, and a backend of `torch.compile` that puts proved ones where a graph has room for them.

Comes in: a launcher or a module that was built; a graph of torch. Goes out: an operator, or one for each launcher; a function that runs the graph.
The one idea: torch is a guest here, imported when something is asked for, and a module needs nothing of this folder to be registered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from tinygpu import runtime

__all__ = ["register"]


def register(
    launcher: Callable[..., Any] | ModuleType,
    namespace: str = "tinygpu",
    name: str = "",
    backward: Callable[..., Any] | Sequence[Callable[..., Any]] = (),
) -> Any:
    """The operator of a launcher, NAMESPACE::NAME for torch; of a module a dictionary of all of its operators, by name.

    `backward` is a launcher, or several, that give its gradients: see `torch_op` of the runtime, which does it. Raises ImportError without
    torch (TG940), TypeError for what is no launcher (TG941), ValueError where the name is taken (TG942) or a gradient does not fit (TG943).
    """
    ours = runtime.loaded()
    if isinstance(launcher, ModuleType):
        return ours.torch_ops(launcher, namespace)
    return ours.torch_op(launcher, namespace, name, (backward,) if callable(backward) else tuple(backward))
