"""The GPU half of launchers, as far as it goes without a GPU: what is chosen and handed over, and machine code that is really made.

Comes in: arrays that say they are on a GPU, and a recorder where the launch would be. Goes out: variants, blocks, arguments, cubins.
The one idea: everything up to the driver's call is ordinary Python, so it is tested as such.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.emit.fake_torch import Tensor, Torch
from tests.emit.specs_for_launchers import module, text

F = np.float32


class OnGpu:
    """Something with a CUDA array interface: no memory behind it."""

    def __init__(
        self, shape: tuple[int, ...], typestr: str = "<f4", pointer: int = 4096, readonly: bool = False, strides: Any = None
    ):
        self.__cuda_array_interface__ = {
            "shape": shape, "typestr": typestr, "data": (pointer, readonly), "strides": strides, "version": 3,
        }  # fmt: skip


@pytest.fixture
def calls(monkeypatch):
    """Launches of the module `saxpy`, recorded instead of made; every pointer is on GPU pointer // 2**60."""
    made, seen = module("saxpy"), []
    monkeypatch.setattr(made.runtime, "_device_of", lambda pointer: pointer // 2**60)
    monkeypatch.setattr(made.runtime._Cuda, "__call__", lambda _, view, stream, *rest: seen.append((view.device, stream, *rest)))
    return SimpleNamespace(saxpy=made.saxpy, seen=seen)


def test_the_kernels_arguments(calls):
    x, y, z = OnGpu((1000,), pointer=4096), OnGpu((1000,), pointer=2 * 4096), OnGpu((1000,), pointer=3 * 4096)
    assert calls.saxpy(2.0, x, y, out=z) is z
    device, stream, bits, wide, blocks, *arguments = calls.seen[0]
    assert (device, stream, bits, wide, blocks) == (0, 0, 32, True, 4)
    assert arguments == [4096, 8192, 12288, F(2), np.int32(1000)]
    assert [type(a) for a in arguments] == [int, int, int, F, np.int32]


def test_memory_that_is_not_aligned_takes_the_scalar_kernel(calls):
    calls.saxpy(2.0, OnGpu((10,), pointer=4100), OnGpu((10,), pointer=8192), out=OnGpu((10,), pointer=12288))
    assert calls.seen[0][3] is False


@pytest.mark.parametrize(("n", "bits"), [(2**31 - 256, 32), (2**31 - 1, 32), (2**31, 64)])
def test_large_sizes_take_the_kernel_of_64_bits(calls, n, bits):
    x, y, z = (OnGpu((n,), pointer=k * 2**34) for k in (1, 2, 3))
    calls.saxpy(2.0, x, y, out=z)
    assert calls.seen[0][2] == bits and type(calls.seen[0][-1]) is (np.int32 if bits == 32 else np.int64)


def test_too_many_blocks_are_refused(calls):
    n = 2**31 * 256
    x, y, z = (OnGpu((n,), pointer=k * 2**50) for k in (1, 2, 3))
    with pytest.raises(ValueError, match=r"TG810 saxpy_v4: too large: the number of blocks, ceil\(n / 256\), has to be at most"):
        calls.saxpy(2.0, x, y, out=z)


def test_an_empty_array_launches_nothing(calls):
    empty = OnGpu((0,), pointer=0)
    assert calls.saxpy(1.0, empty, empty, out=empty) is empty and not calls.seen


@pytest.mark.parametrize(
    ("stream", "handle"),
    [(None, 0), (77, 77), (SimpleNamespace(cuda_stream=5), 5), (SimpleNamespace(ptr=6), 6), (SimpleNamespace(handle=SimpleNamespace(value=7)), 7),
     (SimpleNamespace(__cuda_stream__=lambda: (0, 8)), 8), (SimpleNamespace(__cuda_stream__=(0, 9)), 9)],
)  # fmt: skip
def test_streams_of_every_library(calls, stream, handle):
    calls.saxpy(1.0, OnGpu((4,)), OnGpu((4,), pointer=8192), out=OnGpu((4,), pointer=12288), stream=stream)
    assert calls.seen[0][1] == handle


WRONG = [
    (lambda f: f(1.0, OnGpu((4,)), np.ones(4, F)), "TG809 saxpy_v4: all arrays have to be on one device; x is on GPU 0 and y is on the CPU"),
    (lambda f: f(1.0, OnGpu((4,)), OnGpu((4,), pointer=2**60)), "TG809 saxpy_v4: all arrays have to be on one device; x is on GPU 0 and y is on GPU 1"),
    (lambda f: f(1.0, np.ones(4, F), np.ones(4, F), out=OnGpu((4,))), "TG809 saxpy_v4: all arrays have to be on one device; x is on the CPU and out is on GPU 0"),
    (lambda f: f(1.0, OnGpu((4,)), OnGpu((4,), "<f8")), "TG802 saxpy_v4: y must be a float32 array of shape [n]; its dtype is float64. Convert it, for example with y.astype('float32')"),
    (lambda f: f(1.0, OnGpu((4,)), OnGpu((4,), strides=(8,))), "TG805 saxpy_v4: y must be a float32 array of shape [n], C-contiguous; its strides are not. Pass a contiguous copy of it"),
    (lambda f: f(1.0, OnGpu((4,)), OnGpu((4,), pointer=4098)), "TG813 saxpy_v4: y must be a float32 array of shape [n]; its memory is not aligned to the 4 bytes of an element"),
    (lambda f: f(1.0, OnGpu((4,)), OnGpu((4,)), out=OnGpu((4,), readonly=True)), "TG806 saxpy_v4: out is read-only, and the kernel writes it"),
    (lambda f: f(1.0, OnGpu((4,)), OnGpu((4,)), out=OnGpu((4,), pointer=4108)), "TG807 saxpy_v4: out shares memory with x; outputs need memory of their own"),
    (lambda f: f(1.0, OnGpu((4,)), OnGpu((4,), pointer=8192)), "TG811 saxpy_v4: cannot make arrays of tests: pass out= with one for z"),
    (lambda f: f(1.0, OnGpu((4,)), OnGpu((4,), pointer=8192), out=OnGpu((4,), pointer=12288), stream="fast"), "TG816 saxpy_v4: stream must be a CUDA stream or its handle, not str"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), WRONG)
def test_wrong_arguments_on_a_gpu(calls, call, message):
    with pytest.raises((TypeError, ValueError)) as caught:
        call(calls.saxpy)
    assert str(caught.value) == message and not calls.seen


@pytest.fixture
def torch(monkeypatch):
    fake = Torch()
    monkeypatch.setitem(sys.modules, "torch", fake)
    return fake


def test_torch_on_a_gpu_takes_its_current_stream(calls, torch):
    got = calls.saxpy(1.0, Tensor(np.ones(8, F), 1), Tensor(np.ones(8, F), 1))
    assert isinstance(got, Tensor) and got.device.index == 1 and calls.seen[0][:2] == (1, 101) and torch.made == [0]


def test_torch_allocates_on_the_stream_of_the_kernel(calls, torch):
    calls.saxpy(1.0, Tensor(np.ones(8, F)), Tensor(np.ones(8, F)), stream=55)
    assert torch.made == [55] and calls.seen[0][1] == 55


@pytest.mark.parametrize("handle", [0, 1, np.int64(0)])
def test_torch_has_a_default_stream_by_another_name(calls, torch, handle):
    calls.saxpy(1.0, Tensor(np.ones(8, F), 1), Tensor(np.ones(8, F), 1), stream=handle)
    assert torch.made == ["default of 1"] and calls.seen[0][1] == handle


def test_tensors_of_others_made_of_torchs_are_on_torchs_stream(calls, torch):
    class Image(Tensor):
        """As torchvision has them."""

    Image.__module__ = "torchvision.tv_tensors"
    got = calls.saxpy(1.0, Image(np.ones(8, F)), Image(np.ones(8, F)))
    assert isinstance(got, Tensor) and calls.seen[0][:2] == (0, 100)


def test_the_stream_is_that_of_the_library_which_has_one(calls, torch):
    out = OnGpu((8,))
    calls.saxpy(1.0, Tensor(np.ones(8, F)), Tensor(np.ones(8, F)), out=out)
    assert calls.seen[0][:2] == (0, 100)


def test_torch_on_the_cpu_takes_the_cpu_kernel(calls, torch):
    got = calls.saxpy(2.0, Tensor(np.ones(8, F), -1), Tensor(np.ones(8, F), -1))
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
    def given() -> Tensor:
        return Tensor(np.ones(8, F))

    calls.saxpy(1.0, given(), given())
    wrong = {name: given() for name in ("negated", "gradient", "strided", "other", "moved")}
    wrong["negated"].negated = wrong["gradient"].requires_grad = True
    wrong["strided"], wrong["other"] = Tensor(np.ones(16, F)[::2]), Tensor(np.ones(8, np.float64))
    wrong["moved"] = Tensor(np.ones(8, F), 1)
    for name, code in zip(wrong, ("TG801", "TG801", "TG805", "TG802", "TG809"), strict=True):
        with pytest.raises((TypeError, ValueError), match=code):
            calls.saxpy(1.0, given(), wrong[name])
    assert len(calls.seen) == 1


def test_16_bit_numbers_are_handed_over_as_bits():
    memory = module("scaled").runtime._memory
    assert memory(F(1.5), "f16") == np.float16(1.5).view(np.uint16) and memory(F(1.5), "bf16") == 0x3FC0
    assert memory(np.bool_(True), "bool").dtype == np.uint8 and memory(np.int32(-1), "i32") == -1


def test_pointers_of_numpys_kind_are_numbers(calls):
    x, y, z = (OnGpu((8,), pointer=np.uint64(k * 4096)) for k in (1, 2, 3))
    for _ in range(2):  # looked at in full, then in short
        calls.saxpy(1.0, x, y, out=z)
    assert [[type(a) for a in seen[5:8]] for seen in calls.seen] == [[int, int, int]] * 2


def test_an_empty_array_is_on_no_gpu(calls):
    def empty(pointer: int) -> OnGpu:
        return OnGpu((0,), pointer=pointer)

    calls.saxpy(1.0, empty(0), empty(2**60), out=empty(2**60))
    with pytest.raises(ValueError, match="TG809"):
        calls.saxpy(1.0, OnGpu((8,)), OnGpu((8,), pointer=2**60), out=OnGpu((8,)))
    with pytest.raises(ValueError, match="TG809"):
        calls.saxpy(1.0, np.ones(0, F), empty(2**60))


def test_the_assembler_may_be_older_than_the_text(monkeypatch):
    nvjitlink = pytest.importorskip("cuda.bindings.nvjitlink")
    lowered = module("saxpy").runtime._for_linker
    text = "//\n.version 9.4\n.target sm_90\n// .version 9.4\n"
    for version, written in (((13, 0), "9.0"), ((13, 4), "9.4"), ((13, 5), "9.4"), ((14, 0), "9.4")):
        monkeypatch.setattr(nvjitlink, "version", lambda version=version: version)
        assert lowered(text) == f"//\n.version {written}\n.target sm_90\n// .version 9.4\n"


def test_a_library_that_no_package_brought_is_known_by_its_file(monkeypatch, tmp_path):
    pathfinder = pytest.importorskip("cuda.pathfinder")
    made = module("saxpy")
    real = made.runtime.metadata.version

    def version(package):
        if package.startswith("nvidia-"):
            raise made.runtime.metadata.PackageNotFoundError(package)
        return real(package)

    (tmp_path / "libnvvm.so").write_bytes(b"1234")
    monkeypatch.setattr(made.runtime.metadata, "version", version)
    monkeypatch.setattr(pathfinder, "load_nvidia_dynamic_lib", lambda _: SimpleNamespace(abs_path=str(tmp_path / "libnvvm.so")))
    made.runtime._toolchain.cache_clear()
    found = made.runtime._toolchain()
    assert len(found) == 5 and found[0] == f"numba {real('numba')}" and found[3].startswith(f"{tmp_path / 'libnvvm.so'} 4 ")
    (tmp_path / "libnvvm.so").unlink()
    made.runtime._toolchain.cache_clear()
    assert made.runtime._toolchain() == (), "what cannot be named cannot be kept"
    made.runtime._toolchain.cache_clear()


def test_a_few_words_are_no_names_in_machine_code():
    kernel = module("saxpy").runtime._Cuda
    assert [kernel(name, None, 32, (8, 0), "").symbol for name in ("_", "WARP_SZ", "_x", "add")] == [
        "__kernel",
        "WARP_SZ_kernel",
        "_x",
        "add",
    ]


@pytest.mark.parametrize(("bits", "wide"), [(32, True), (32, False), (64, True)])
def test_machine_code_is_made_without_a_gpu(tmp_path, monkeypatch, bits, wide):
    pytest.importorskip("cuda.core")
    monkeypatch.setenv("TINYGPU_CACHE", str(tmp_path))
    kernel = module("saxpy").saxpy_v4_launch.cuda[0]
    code = kernel.cubin((8, 0), bits, wide)
    assert code[:4] == b"\x7fELF" and b"saxpy_v4" in code
    (path,) = (tmp_path / "cubin").iterdir()
    monkeypatch.setattr(type(kernel), "compile", lambda *a: pytest.fail("compiled again"))
    assert kernel.cubin((8, 0), bits, wide) == code
    assert path.stat().st_size == len(code) + 32


def test_a_damaged_cubin_is_made_again(tmp_path, monkeypatch):
    monkeypatch.setenv("TINYGPU_CACHE", str(tmp_path))
    kernel = module("saxpy").saxpy_v4_launch.cuda[0]
    monkeypatch.setattr(type(kernel), "compile", lambda self, arch, bits, wide: f"code for {arch}, {bits}, {wide}".encode())
    monkeypatch.setattr(module("saxpy").runtime.metadata, "version", lambda name: "1")
    whole = kernel.cubin((9, 0), 32, True)
    (path,) = (tmp_path / "cubin").iterdir()
    path.write_bytes(path.read_bytes()[:-3])
    assert kernel.cubin((9, 0), 32, True) == whole and path.read_bytes()[32:] == whole
    assert kernel.cubin((9, 0), 64, True) != whole and kernel.cubin((8, 0), 32, True) != whole
    assert len(list((tmp_path / "cubin").iterdir())) == 3


def test_a_cache_that_cannot_be_written_is_only_slower(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TINYGPU_CACHE", str(tmp_path / "file"))
    kernel = module("saxpy").saxpy_v4_launch.cuda[0]
    monkeypatch.setattr(type(kernel), "compile", lambda *a: b"code")
    monkeypatch.setattr(module("saxpy").runtime.metadata, "version", lambda name: "1")
    assert kernel.cubin((9, 0), 32, True) == b"code"


def test_two_processes_load_and_compile_the_same_module_at_once(tmp_path):
    (tmp_path / "source.txt").write_text(text("saxpy"), encoding="utf-8")
    code = (
        "import numpy as np; from tinygpu.run.load import load\n"
        f"made = load(open({str(tmp_path / 'source.txt')!r}, encoding='utf-8').read(), 'twice')\n"
        "print(made.saxpy(2.0, np.ones(3, np.float32), np.ones(3, np.float32)).tolist())"
    )
    env = {**os.environ, "TINYGPU_CACHE": str(tmp_path / "cache"), "PYTHONPATH": os.pathsep.join(sys.path)}
    both = [subprocess.Popen([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert [process.communicate(timeout=120)[0] for process in both] == ["[3.0, 3.0, 3.0]\n"] * 2


def test_a_machine_without_a_driver_says_so():
    with contextlib.suppress(ImportError, RuntimeError):
        from cuda.core import Device

        Device()
        pytest.skip("this machine has a GPU")
    with pytest.raises(RuntimeError, match="TG815"):
        module("saxpy").saxpy(2.0, OnGpu((8,)), OnGpu((8,)), out=OnGpu((8,)))


def test_launches_in_order_with_their_workspaces(monkeypatch):
    """Every launch gets all arrays: inputs, outputs, workspaces, then sizes; what is wide asks for aligned memory of each."""
    made, seen = module("halves"), []
    monkeypatch.setattr(made.runtime, "_device_of", lambda pointer: 0)
    kernels = made.halves_m_launch.cuda
    monkeypatch.setattr(made.runtime._Cuda, "__call__", lambda self, view, stream, *rest: seen.append((kernels.index(self), *rest)))
    x, w, s = OnGpu((8,), pointer=4096), OnGpu((3, 4), pointer=8192), OnGpu((), pointer=12288)
    for pointer, wide in ((20480, True), (20484, False)):
        made.halves(x, w, out=s, workspace=(OnGpu((2,), pointer=16384), OnGpu((4, 4), pointer=pointer)))
        assert [call[:4] for call in seen] == [(0, 32, wide, 1), (1, 32, wide, 1), (2, 32, wide, 1)]
        assert {call[4:] for call in seen} == {(4096, 8192, 12288, 16384, pointer, np.int32(8), np.int32(3))}
        seen.clear()


def test_more_memory_than_a_kernel_has_by_itself_is_asked_for(monkeypatch):
    """The driver is asked once, when the kernel is loaded; what it refuses is an error that says how much was wanted."""
    pytest.importorskip("cuda.bindings", reason="cuda-bindings is not installed: pip install 'tinygpu[cuda]'")
    from cuda.bindings import driver

    kernel, asked = module("saxpy").runtime._Cuda("big", None, 32, (0, 0), "key", 65536), []
    answer = [driver.CUresult.CUDA_SUCCESS]
    monkeypatch.setattr(driver, "cuKernelSetAttribute", lambda *rest: asked.append(rest[1:3]) or (answer[0],))
    code, device = SimpleNamespace(handle=7), SimpleNamespace(device_id=0)
    kernel.allow(code, device)
    assert asked == [(65536, 7)]
    answer[0] = driver.CUresult.CUDA_ERROR_INVALID_VALUE
    with pytest.raises(RuntimeError, match="TG815 big: a block needs 65536 bytes of shared memory, which GPU 0 does not give"):
        kernel.allow(code, device)


def test_the_kernels_of_two_launches_are_never_taken_for_each_other():
    """The second launch has as many threads as the third: what tells their cubins apart is their text."""
    kernels = module("halves").halves_m_launch.cuda
    assert kernels[1].threads == kernels[2].threads and len({k.key for k in kernels}) == 3
