"""The GPU half of launchers, as far as it goes without a GPU: what is chosen and handed over, and machine code that is really made.

Comes in: arrays that say they are on a GPU, and a recorder where the launch would be. Goes out: variants, blocks, arguments, cubins.
The one idea: everything up to the driver's call is ordinary Python, so it is tested as such.
"""

from __future__ import annotations

import contextlib
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.emit.fake_torch import Tensor, Torch
from tests.emit.specs_for_launchers import module

F = np.float32
ONES = np.ones(4, F)


class OnGpu:
    """Something with a CUDA array interface: no memory behind it. Every pointer is on GPU pointer // 2**60."""

    def __init__(self, shape: Any = (4,), pointer: int = 4096, typestr: str = "<f4", readonly: bool = False, strides: Any = None):
        self.__cuda_array_interface__ = {
            "shape": shape, "typestr": typestr, "data": (pointer, readonly), "strides": strides, "version": 3,
        }  # fmt: skip


def three(n: int = 4, step: int = 4096, first: int = 1) -> list[OnGpu]:
    """Arrays that do not overlap."""
    return [OnGpu((n,), k * step) for k in range(first, first + 3)]


@pytest.fixture
def calls(monkeypatch):
    """Launches of the module `saxpy`, recorded instead of made."""
    made, seen = module("saxpy"), []
    monkeypatch.setattr(made.runtime, "_device_of", lambda pointer: pointer // 2**60)
    monkeypatch.setattr(made.runtime._Cuda, "__call__", lambda _, view, stream, *rest: seen.append((view.device, stream, *rest)))
    return SimpleNamespace(saxpy=made.saxpy, seen=seen)


def test_pointers_of_numpys_kind_are_numbers(calls):
    x, y, z = (OnGpu((8,), np.uint64(k * 4096)) for k in (1, 2, 3))
    for _ in range(2):  # looked at in full, then in short
        calls.saxpy(1.0, x, y, out=z)
    assert [[type(a) for a in seen[5:8]] for seen in calls.seen] == [[int, int, int]] * 2


def test_memory_that_is_not_aligned_takes_the_scalar_kernel(calls):
    calls.saxpy(2.0, OnGpu((10,), 4100), OnGpu((10,), 8192), out=OnGpu((10,), 12288))
    assert calls.seen[0][3] is False


@pytest.mark.parametrize(("n", "bits"), [(2**31 - 256, 32), (2**31 - 1, 32), (2**31, 64)])
def test_large_sizes_take_the_kernel_of_64_bits(calls, n, bits):
    x, y, z = three(n, 2**34)
    calls.saxpy(2.0, x, y, out=z)
    assert calls.seen[0][2] == bits and type(calls.seen[0][-1]) is (np.int32 if bits == 32 else np.int64)


def test_too_many_blocks_are_refused(calls):
    x, y, z = three(2**31 * 256, 2**50)
    with pytest.raises(ValueError, match=r"TG810 saxpy_v4: too large: the number of blocks, ceil\(n / 256\), has to be at most"):
        calls.saxpy(2.0, x, y, out=z)


def test_an_empty_array_launches_nothing_and_is_on_no_gpu(calls):
    empty = OnGpu((0,), 0)
    assert calls.saxpy(1.0, empty, empty, out=empty) is empty
    calls.saxpy(1.0, empty, OnGpu((0,), 2**60), out=OnGpu((0,), 2**60))
    with pytest.raises(ValueError, match="TG809"):
        calls.saxpy(1.0, np.ones(0, F), OnGpu((0,), 2**60))
    assert not calls.seen


@pytest.mark.parametrize(
    ("stream", "handle"),
    [(None, 0), (77, 77), (SimpleNamespace(cuda_stream=5), 5), (SimpleNamespace(ptr=6), 6), (SimpleNamespace(handle=SimpleNamespace(value=7)), 7),
     (SimpleNamespace(__cuda_stream__=lambda: (0, 8)), 8), (SimpleNamespace(__cuda_stream__=(0, 9)), 9)],
)  # fmt: skip
def test_streams_of_every_library(calls, stream, handle):
    x, y, z = three()
    calls.saxpy(1.0, x, y, out=z, stream=stream)
    assert calls.seen[0][1] == handle


TWO, THREE = OnGpu(pointer=8192), OnGpu(pointer=12288)
WRONG = [  # y, what else is said, and the message
    (ONES, {}, "TG809 saxpy_v4: all arrays have to be on one device; x is on GPU 0 and y is on the CPU"),
    (OnGpu(pointer=2**60), {}, "TG809 saxpy_v4: all arrays have to be on one device; x is on GPU 0 and y is on GPU 1"),
    (TWO, {"out": OnGpu(pointer=2**60)}, "TG809 saxpy_v4: all arrays have to be on one device; x is on GPU 0 and out is on GPU 1"),
    (TWO, {"out": np.ones(4, F)}, "TG809 saxpy_v4: all arrays have to be on one device; x is on GPU 0 and out is on the CPU"),
    (OnGpu(typestr="<f8"), {}, "TG802 saxpy_v4: y must be a float32 array of shape [n]; its dtype is float64. Convert it, for example with y.astype('float32')"),
    (OnGpu(strides=(8,)), {}, "TG805 saxpy_v4: y must be a float32 array of shape [n], C-contiguous; its strides are not. Pass ascontiguousarray(y), or say f32[n] strided in the op"),
    (OnGpu(pointer=4098), {}, "TG813 saxpy_v4: y must be a float32 array of shape [n]; its memory is not aligned to the 4 bytes of an element"),
    (TWO, {"out": OnGpu(readonly=True)}, "TG806 saxpy_v4: out is read-only, and the kernel writes it"),
    (TWO, {"out": OnGpu(pointer=4108)}, "TG807 saxpy_v4: out shares memory with x; outputs need memory of their own"),
    (TWO, {}, "TG811 saxpy_v4: cannot make arrays of tests: pass out= with one for z"),
    (TWO, {"out": THREE, "stream": "fast"}, "TG816 saxpy_v4: stream must be a CUDA stream or its handle, not str"),
]  # fmt: skip


@pytest.mark.parametrize(("y", "more", "message"), WRONG)
def test_wrong_arguments_on_a_gpu(calls, y, more, message):
    with pytest.raises((TypeError, ValueError)) as caught:
        calls.saxpy(1.0, OnGpu(), y, **more)
    assert str(caught.value) == message and not calls.seen


@pytest.fixture
def torch(monkeypatch):
    fake = Torch()
    monkeypatch.setitem(sys.modules, "torch", fake)
    return fake


def tensor(device: int = 0) -> Tensor:
    return Tensor(np.ones(8, F), device)


@pytest.mark.parametrize(
    ("more", "device", "handle", "made"),
    [({}, 1, 101, 0), ({"stream": 55}, 0, 55, 55), *(({"stream": h}, 1, h, "default of 1") for h in (0, 1, np.int64(0)))],
)
def test_torch_allocates_on_the_stream_of_the_kernel(calls, torch, more, device, handle, made):
    """Its current stream, unless another one is said; torch has its default stream by another name."""
    got = calls.saxpy(1.0, tensor(device), tensor(device), **more)
    assert isinstance(got, Tensor) and got.device.index == device and calls.seen[0][:2] == (device, handle) and torch.made == [made]


def test_the_stream_is_that_of_the_library_which_has_one(calls, torch):
    class Image(Tensor):
        """As torchvision has them."""

    Image.__module__ = "torchvision.tv_tensors"
    assert isinstance(calls.saxpy(1.0, Image(np.ones(8, F)), Image(np.ones(8, F))), Tensor)
    calls.saxpy(1.0, tensor(), tensor(), out=OnGpu((8,)))
    assert [seen[:2] for seen in calls.seen] == [(0, 100)] * 2


def test_torch_on_the_cpu_takes_the_cpu_kernel(calls, torch):
    got = calls.saxpy(2.0, tensor(-1), tensor(-1))
    assert isinstance(got, Tensor) and np.array_equal(got.array, np.full(8, 3, F)) and not calls.seen


def test_torch_and_gradients(calls, torch):
    x = Tensor(np.ones(8, F), requires_grad=True)
    with pytest.raises(
        TypeError, match=r"TG801 saxpy_v4: x requires a gradient, which the kernel does not give. Pass x.detach\(\)"
    ):
        calls.saxpy(1.0, x, x)
    torch.grad = False
    calls.saxpy(1.0, x, x)
    assert len(calls.seen) == 1


def test_the_second_look_at_a_tensor_is_as_thorough_as_the_first(calls, torch):
    calls.saxpy(1.0, tensor(), tensor())
    wrong = {name: tensor() for name in ("negated", "gradient", "strided", "other", "moved")}
    wrong["negated"].negated = wrong["gradient"].requires_grad = True
    wrong["strided"], wrong["other"] = Tensor(np.ones(16, F)[::2]), Tensor(np.ones(8, np.float64))
    wrong["moved"] = tensor(1)
    for name, code in zip(wrong, ("TG801", "TG801", "TG805", "TG802", "TG809"), strict=True):
        with pytest.raises((TypeError, ValueError), match=code):
            calls.saxpy(1.0, tensor(), wrong[name])
    assert len(calls.seen) == 1


def test_16_bit_numbers_are_handed_over_as_bits():
    memory = module("scaled").runtime._memory
    assert memory(F(1.5), "f16") == np.float16(1.5).view(np.uint16) and memory(F(1.5), "bf16") == 0x3FC0
    assert memory(np.bool_(True), "bool").dtype == np.uint8 and memory(np.int32(-1), "i32") == -1


def test_the_assembler_may_be_older_than_the_text(monkeypatch):
    nvjitlink = pytest.importorskip("cuda.bindings.nvjitlink")
    lowered = module("saxpy").runtime._for_linker
    ptx = "//\n.version 9.4\n.target sm_90\n// .version 9.4\n"
    for version, written in (((13, 0), "9.0"), ((13, 4), "9.4"), ((13, 5), "9.4"), ((14, 0), "9.4")):
        monkeypatch.setattr(nvjitlink, "version", lambda version=version: version)
        assert lowered(ptx) == f"//\n.version {written}\n.target sm_90\n// .version 9.4\n"


def test_a_library_that_no_package_brought_is_known_by_its_file(monkeypatch, tmp_path):
    pathfinder = pytest.importorskip("cuda.pathfinder")
    runtime = module("saxpy").runtime
    real = runtime.metadata.version

    def version(package):
        if package.startswith("nvidia-"):
            raise runtime.metadata.PackageNotFoundError(package)
        return real(package)

    (tmp_path / "libnvvm.so").write_bytes(b"1234")
    monkeypatch.setattr(runtime.metadata, "version", version)
    monkeypatch.setattr(pathfinder, "load_nvidia_dynamic_lib", lambda _: SimpleNamespace(abs_path=str(tmp_path / "libnvvm.so")))
    runtime._toolchain.cache_clear()
    found = runtime._toolchain()
    assert len(found) == 5 and found[0] == f"numba {real('numba')}" and found[3].startswith(f"{tmp_path / 'libnvvm.so'} 4 ")
    (tmp_path / "libnvvm.so").unlink()
    runtime._toolchain.cache_clear()
    assert runtime._toolchain() == (), "what cannot be named cannot be kept"
    runtime._toolchain.cache_clear()


def test_a_few_words_are_no_names_in_machine_code():
    kernel = module("saxpy").runtime._Cuda
    symbols = [kernel(name, None, 32, (8, 0), "").symbol for name in ("_", "WARP_SZ", "_x", "add")]
    assert symbols == ["__kernel", "WARP_SZ_kernel", "_x", "add"]


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    """The kernel of `saxpy`, with a cache of its own."""
    monkeypatch.setenv("TINYGPU_CACHE", str(tmp_path))
    return module("saxpy").saxpy_v4_launch.cuda[0]


@pytest.mark.parametrize(("bits", "wide"), [(32, True), (64, False)])
def test_machine_code_is_made_without_a_gpu(kernel, tmp_path, monkeypatch, bits, wide):
    pytest.importorskip("cuda.core")
    code = kernel.cubin((8, 0), bits, wide)
    assert code[:4] == b"\x7fELF" and b"saxpy_v4" in code
    (path,) = (tmp_path / "cubin").iterdir()
    monkeypatch.setattr(type(kernel), "compile", lambda *a: pytest.fail("compiled again"))
    assert kernel.cubin((8, 0), bits, wide) == code and path.stat().st_size == len(code) + 32


def test_a_damaged_cubin_is_made_again_and_a_cache_that_cannot_be_written_is_only_slower(kernel, tmp_path, monkeypatch):
    monkeypatch.setattr(type(kernel), "compile", lambda self, arch, bits, wide: f"code for {arch}, {bits}, {wide}".encode())
    monkeypatch.setattr(module("saxpy").runtime.metadata, "version", lambda name: "1")
    whole = kernel.cubin((9, 0), 32, True)
    (path,) = (tmp_path / "cubin").iterdir()
    path.write_bytes(path.read_bytes()[:-3])
    assert kernel.cubin((9, 0), 32, True) == whole and path.read_bytes()[32:] == whole
    assert kernel.cubin((9, 0), 64, True) != whole and kernel.cubin((8, 0), 32, True) != whole
    assert len(list((tmp_path / "cubin").iterdir())) == 3
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TINYGPU_CACHE", str(tmp_path / "file"))
    assert kernel.cubin((9, 0), 32, True) == whole


def test_a_machine_without_a_driver_says_so():
    with contextlib.suppress(ImportError, RuntimeError):
        from cuda.core import Device

        Device()
        pytest.skip("this machine has a GPU")
    x, y, z = three()
    with pytest.raises(RuntimeError, match="TG815"):
        module("saxpy").saxpy(2.0, x, y, out=z)


def test_launches_in_order_with_their_workspaces(monkeypatch):
    """Every launch gets all arrays: inputs, outputs, workspaces, then sizes; what is wide asks for aligned memory of each."""
    made, seen = module("halves"), []
    monkeypatch.setattr(made.runtime, "_device_of", lambda pointer: 0)
    kernels = made.halves_m_launch.cuda
    monkeypatch.setattr(made.runtime._Cuda, "__call__", lambda self, view, stream, *rest: seen.append((kernels.index(self), *rest)))
    x, w, s = OnGpu((8,)), OnGpu((3, 4), 8192), OnGpu((), 12288)
    for pointer, wide in ((20480, True), (20484, False)):
        made.halves(x, w, out=s, workspace=(OnGpu((2,), 16384), OnGpu((4, 4), pointer)))
        assert [call[:4] for call in seen] == [(0, 32, wide, 1), (1, 32, wide, 1), (2, 32, wide, 1)]
        assert {call[4:] for call in seen} == {(4096, 8192, 12288, 16384, pointer, np.int32(8), np.int32(3))}
        seen.clear()
    # the second launch has as many threads as the third: what tells their cubins apart is their text
    assert kernels[1].threads == kernels[2].threads and len({k.key for k in kernels}) == 3


def test_more_memory_than_a_kernel_has_by_itself_may_be_refused(monkeypatch):
    pytest.importorskip("cuda.bindings", reason="cuda-bindings is not installed: pip install 'tinygpu[cuda]'")
    from cuda.bindings import driver

    kernel = module("saxpy").runtime._Cuda("big", None, 32, (0, 0), "key", 65536)
    monkeypatch.setattr(driver, "cuKernelSetAttribute", lambda *rest: (driver.CUresult.CUDA_ERROR_INVALID_VALUE,))
    with pytest.raises(RuntimeError, match="TG815 big: a block needs 65536 bytes of shared memory, which GPU 0 does not give"):
        kernel.allow(SimpleNamespace(handle=7), SimpleNamespace(device_id=0))
