"""The peers that are installed, and the calls of each for a case: torch eager and compiled, Triton, CuPy with CUB.

Comes in: the name that a case has among peers, and its arrays on the GPU. Goes out: contestants, which see the same memory as ours.
The one idea: a library that is not there, or has nothing for a case, is an absent row and never an error.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

from benchmarks.gpu.device import Gpu, in_a_line
from benchmarks.gpu.timing import Contestant

Sets = Sequence[tuple[Mapping[str, Any], Sequence[Any]]]  # of each set of arrays the inputs by name, and the outputs


@dataclass(frozen=True, slots=True)
class Library:
    """A peer's library: `forms` are its calls by the name of a case, each `(inputs, outputs) → call`; `view` makes its array of ours."""

    name: str
    version: str
    forms: Mapping[str, Callable[[Mapping[str, Any], Sequence[Any]], Callable[[], Any]]]
    view: Callable[[Any], Any]
    capture: Callable[[Callable[[], Any]], Callable[[], Any]]

    def contestant(self, case: str, sets: Sets) -> Contestant | None:
        """The library's way to compute a case, on all sets; None where it has none."""
        form = self.forms.get(case)
        if form is None:
            return None
        try:
            views = [({n: self.seen(v) for n, v in i.items()}, [self.view(a) for a in o]) for i, o in sets]
            calls = [form(inputs, outputs) for inputs, outputs in views]
        except Exception as error:  # noqa: BLE001  # it fails as its calls would
            calls = [partial(_raise, error)]
        return Contestant(self.name, calls, self.capture)

    def seen(self, value: Any) -> Any:
        return self.view(value) if hasattr(value, "pointer") else value


def _raise(error: Exception) -> None:
    raise error


def libraries(gpu: Gpu) -> tuple[tuple[Library, ...], dict[str, str]]:
    """The peers that can be used, all on the GPU's stream, and of the others why not."""
    found: list[Library] = []
    absent: dict[str, str] = {}
    for name, make in {"torch": torch_eager, "triton": triton_kernels, "cupy": cupy_cub}.items():
        try:
            found.append(make(gpu, importlib.import_module(name)))
        except Exception as error:  # noqa: BLE001  # an installation that is broken is as one that is missing
            absent[name] = in_a_line(error)
    return tuple(found), absent


def torch_stream(gpu: Gpu, torch: Any) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """torch on the GPU's stream; its graphs are captured on a stream of its own, as it wants it, and replayed on this one."""
    torch.cuda.set_device(gpu.ordinal)
    torch.cuda.set_stream(torch.cuda.ExternalStream(gpu.stream))

    def capture(work: Callable[[], Any]) -> Callable[[], Any]:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            work()
        return lambda: graph.replay()

    return capture


def torch_view(torch: Any) -> Callable[[Any], Any]:
    """Our array as a tensor; bf16 is handed over as 16 bits."""

    def view(array: Any) -> Any:
        tensor = torch.as_tensor(array, device="cuda")
        return tensor.view(torch.bfloat16) if array.dtype == "bf16" else tensor

    return view


def torch_eager(gpu: Gpu, torch: Any) -> Library:
    from benchmarks.gpu.peers_torch import forms

    if not torch.cuda.is_available():
        raise RuntimeError("torch sees no GPU")
    torch.set_grad_enabled(False)
    torch.backends.cuda.matmul.allow_tf32 = False
    return Library("torch eager", torch.__version__, forms(torch), torch_view(torch), torch_stream(gpu, torch))


def torch_compiled(eager: Library, torch: Any) -> Library:
    """The same through torch.compile. Compiling takes seconds for each form, so it is asked for last."""
    from benchmarks.gpu.peers_torch import compiled

    return Library("torch compiled", eager.version, compiled(torch), eager.view, eager.capture)


def triton_kernels(gpu: Gpu, triton: ModuleType) -> Library:
    import torch

    from benchmarks.gpu.peers_triton import forms

    return Library("Triton", triton.__version__, forms(), torch_view(torch), torch_stream(gpu, torch))


def cupy_cub(gpu: Gpu, cupy: Any) -> Library:
    from benchmarks.gpu.peers_cupy import forms

    cupy.cuda.Device(gpu.ordinal).use()
    stream = cupy.cuda.ExternalStream(gpu.stream)
    stream.use()

    def capture(work: Callable[[], Any]) -> Callable[[], Any]:
        stream.begin_capture()
        try:
            work()
        finally:
            graph = stream.end_capture()
        return lambda: graph.launch(stream)

    def view(array: Any) -> Any:
        return cupy.asarray(array)

    return Library("CuPy", cupy.__version__, forms(cupy), view, capture)


def before_import() -> None:
    """CuPy takes CUB where it is told to before it is imported."""
    os.environ.setdefault("CUPY_ACCELERATORS", "cub")
