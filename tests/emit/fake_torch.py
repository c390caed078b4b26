"""As much of torch as a launcher uses, over numpy.

Comes in: arrays of numpy. Goes out: tensors that say they are on a GPU. The one idea: a launcher knows torch by the names of its types and by
what they answer, so what answers the same is a tensor.
"""

from __future__ import annotations

import contextlib
from types import SimpleNamespace

import numpy as np


class Torch:
    """As much of torch as a launcher uses, over numpy; `Tensor` says that it comes from there."""

    bfloat16, float32, int16 = "bfloat16", "float32", "int16"

    def __init__(self) -> None:
        self.grad, self.on, self.made = True, 0, []
        self.Tensor = Tensor
        self.cuda = SimpleNamespace(
            current_stream=self.current,
            default_stream=lambda device: f"default of {device.index}",
            ExternalStream=self.external,
            stream=self.switch,
        )

    def external(self, handle: int, device: SimpleNamespace) -> int:
        assert handle > 1, "torch has streams of its own for 0, and none for 1"
        return handle

    def is_grad_enabled(self) -> bool:
        return self.grad

    def current(self, device: int) -> SimpleNamespace:
        return SimpleNamespace(cuda_stream=100 + device)

    @contextlib.contextmanager
    def switch(self, handle: int):
        before, self.on = self.on, handle
        yield
        self.on = before

    def empty(self, shape: tuple[int, ...], dtype: str, device: SimpleNamespace) -> Tensor:
        self.made.append(self.on)
        return Tensor(np.empty(shape, dtype), device.index if device.type == "cuda" else -1)


class Tensor:
    """A tensor of `Torch`; on GPU `device`, or on the CPU for -1."""

    def __init__(self, array: np.ndarray, device: int = 0, requires_grad: bool = False):
        self.array, self.requires_grad, self.is_cuda = array, requires_grad, device >= 0
        self.device = SimpleNamespace(type="cuda" if device >= 0 else "cpu", index=device if device >= 0 else None)
        self.shape, self.dtype, self.nbytes, self.negated = array.shape, f"torch.{array.dtype}", array.nbytes, False

    def data_ptr(self) -> int:
        return self.array.ctypes.data

    def is_contiguous(self) -> bool:
        return self.array.flags.c_contiguous

    def stride(self) -> tuple[int, ...]:
        return tuple(step // self.array.itemsize for step in self.array.strides)

    def detach(self) -> Tensor:
        return self

    def is_neg(self) -> bool:
        return self.negated

    def get_device(self) -> int:
        return -1 if self.device.index is None else self.device.index

    def numpy(self) -> np.ndarray:
        return self.array


Tensor.__module__ = "torch"
