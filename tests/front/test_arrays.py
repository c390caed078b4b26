"""Launchers and whatever may be handed to them: a right result, or an error with a code; never a write where there is an error.

Comes in: arrays and objects that are odd in one way each. Goes out: `TG8..` in a TypeError or ValueError. The one idea: what describes
itself may lie, raise, or be of another library altogether.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.emit.specs_for_launchers import module

F = np.float32
FINE: dict[str, Any] = {"shape": (8,), "typestr": "<f4", "data": (64, False), "version": 3}


def ramp(n: int = 8) -> np.ndarray:
    return np.arange(n, dtype=F)


class Sub(np.ndarray):
    """A subclass."""


class Liar(np.ndarray):
    """Says another shape than it has."""

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        return (5, 5)


class Interface:
    """On a GPU, as it says."""

    def __init__(self, said: Any):
        self.__cuda_array_interface__ = said


class Pack:
    """Of DLPack, as it says."""

    def __init__(self, device: Any):
        self.device = device

    def __dlpack_device__(self) -> Any:
        if isinstance(self.device, Exception):
            raise self.device
        return self.device

    def __dlpack__(self, **_: Any) -> Any:
        raise BufferError("nothing to give")


class Angry:
    """Raises whatever it is asked."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(f"no {name}")


class Torch:
    """A tensor of a torch that is not loaded."""

    requires_grad, is_cuda, dtype, shape = False, False, "torch.float32", (8,)

    def data_ptr(self) -> int:
        return 0


Torch.__module__ = "torch"


def strided(extent: int) -> np.ndarray:
    return np.lib.stride_tricks.as_strided(np.zeros(1, F), (extent,), (0,))


TAKEN: dict[str, Callable[[], Any]] = {
    "plain": ramp, "a subclass": lambda: ramp().view(Sub), "a liar": lambda: ramp().view(Liar), "records": lambda: np.rec.array(ramp()),
}  # fmt: skip
REFUSED: dict[str, Callable[[], Any]] = {
    "backwards": lambda: ramp()[::-1], "every other": lambda: ramp(16)[::2], "by columns": lambda: np.zeros((8, 2), F, order="F"),
    "other bytes": lambda: ramp().astype(">f4"), "objects": lambda: ramp().astype(object), "doubles": lambda: ramp().astype(float),
    "complex": lambda: ramp().astype(np.complex64), "fields": lambda: np.zeros(8, [("a", "f4")]), "raw": lambda: np.zeros(8, "V4"),
    "masked": lambda: np.ma.array(ramp()), "a matrix": lambda: np.asmatrix(ramp()), "spread": lambda: np.broadcast_to(F(1), (8,)),
    "spread far": lambda: strided(1 << 60), "between": lambda: np.zeros(33, np.uint8)[1:].view(F), "rank 0": lambda: np.array(1, F),
    "dates": lambda: np.zeros(8, "M8[s]"), "words": lambda: np.zeros(8, "U3"), "a list": lambda: [1.0] * 8, "nothing": lambda: None,
    "a text": lambda: "abc", "bytes": lambda: b"abc", "a view of memory": lambda: memoryview(ramp()), "a type": lambda: F, "a module": lambda: np,
    "angry": Angry, "a torch": Torch, "nowhere": type("Nowhere", (), {"__module__": None}), "pack raises": lambda: Pack(RuntimeError("x")), "pack on the CPU": lambda: Pack((1, 0)),
    "pack on another GPU": lambda: Pack((10, 0)), "pack of nothing": lambda: Pack(None), "pack of an empty tuple": lambda: Pack(()),
    "interface of nothing": lambda: Interface({}), "interface of a text": lambda: Interface("x"),
    "no data": lambda: Interface({**FINE, "data": None}), "a pointer that is a text": lambda: Interface({**FINE, "data": ("a", False)}),
    "a pointer below 0": lambda: Interface({**FINE, "data": (-4, False)}), "a pointer beyond all": lambda: Interface({**FINE, "data": (1 << 70, False)}),
    "no such type": lambda: Interface({**FINE, "typestr": "zz"}), "a shape below 0": lambda: Interface({**FINE, "shape": (-1,)}),
    "a shape that is a number": lambda: Interface({**FINE, "shape": 8}), "two strides": lambda: Interface({**FINE, "strides": (4, 4)}),
    "a mask": lambda: Interface({**FINE, "mask": ramp()}),
}  # fmt: skip
NUMBERS: dict[str, Any] = {
    "a decimal": Decimal(1), "a fraction": Fraction(1, 3), "huge": 10**5000, "complex": 1j, "a truth": np.bool_(True), "an array": np.ones(1),
    "an object": np.array(None, object), "nothing": None, "a text": "1", "numpy's text": np.str_("1"), "a date": np.datetime64("2020-01-01"),
    "raw": np.void(b"abcd"), "beyond": 1e39,
}  # fmt: skip


@pytest.mark.parametrize("name", TAKEN)
def test_what_is_an_array_is_one(name: str) -> None:
    call = module("saxpy").saxpy
    assert np.array_equal(call(2.0, TAKEN[name](), ramp()), 3 * ramp()) and np.array_equal(
        call(2.0, ramp(), TAKEN[name]()), 3 * ramp()
    )
    out = TAKEN[name]()
    assert call(1.0, ramp(), ramp(), out=out) is out and np.array_equal(np.asarray(out.view(np.ndarray)), 2 * ramp())


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_none_is_refused(name: str) -> None:
    call, out = module("saxpy").saxpy, np.full(8, 7, F)
    calls = [
        lambda odd: call(1.0, odd, ramp(), out=out),
        lambda odd: call(1.0, ramp(), odd, out=out),
        lambda odd: call(1.0, odd, odd, out=out),
    ]
    if name != "nothing":  # out=None asks for a new array
        calls.append(lambda odd: call(1.0, ramp(), ramp(), out=odd))
    for one in calls:
        with pytest.raises((TypeError, ValueError), match=r"^TG8[01][0-9] saxpy_v4: ") as caught:
            one(REFUSED[name]())
        assert type(caught.value) in (TypeError, ValueError) and len(str(caught.value)) < 500
    assert (out == 7).all()


@pytest.mark.parametrize("name", NUMBERS)
def test_what_is_no_number_is_refused(name: str) -> None:
    with pytest.raises((TypeError, ValueError), match=r"^TG812 saxpy_v4: "):
        module("saxpy").saxpy(NUMBERS[name], ramp(), ramp())
