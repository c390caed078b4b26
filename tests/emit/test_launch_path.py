"""The launch path down to the driver, which is a stand-in: contexts, streams, captures, threads, and what a call asks the driver for.

Comes in: emitted modules and arrays that say they are on a GPU. Goes out: the arguments that the driver got, and in which context.
The one idea: cuda.core and cuda.bindings are the real ones; only below them nothing is real.
"""

from __future__ import annotations

import pytest

from tests.emit import fake_driver
from tests.emit.specs_for_launchers import text
from tests.program.library import unproved
from tinygpu.algebra.verdict import judged
from tinygpu.pipeline import load_text, sound
from tinygpu.proof.choice import Covered
from tinygpu.proof.pipeline import Linked

OPENING = """
import ctypes, struct, sys, threading
from types import SimpleNamespace
import numpy as np
from tests.emit.fake_driver import Driver
from tinygpu.run.load import load
fake = Driver()
made = load(open(sys.argv[1], encoding="utf-8").read(), "path")
made.runtime._Cuda.cubin = lambda self, arch, bits, wide: f"{self.key} {arch} {bits} {wide}".encode() + bytes(1)
from cuda.bindings import driver
class OnGpu:
    def __init__(self, shape, pointer, typestr="<f4"):
        self.__cuda_array_interface__ = {"shape": shape, "typestr": typestr, "data": (pointer, False), "strides": None, "version": 3}
def three(device=0, n=1000):
    return [OnGpu((n,), (device << 60) + k * 65536) for k in (1, 2, 3)]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = fake_driver.built(tmp_path_factory.mktemp("driver"))
    (made / "saxpy.txt").write_text(text("saxpy"), encoding="utf-8")
    (made / "chain.txt").write_text(chained(), encoding="utf-8")
    return made


CHAIN = """
op twice(x: f32[n]) -> (y: f32[n]) { y[i] = 2 * x[i] }
op put(k: f32[n], x: f32[n]) -> (y: f32[n] inplace x) { y[i] = k[i] if i % 2 == 0 else x[i] }
machine twice_m : twice {
  work    grid = (g), block = (t: 64)
  compute i = (g, t)
}
machine put_m : put {
  work grid = (g: ceil(n / 128)), block = (t: 64)
  program { if g*128 + 2*t < n { y[g*128 + 2*t] = k[g*128 + 2*t] } }
}
pipeline both(x: f32[n], k: f32[n]) -> (z: f32[n]) {
  t = twice(x)
  u = put(k, t)
  z = twice(u)
}
"""


def chained() -> str:
    """A module with a pipeline, one call of which goes on from what another left."""
    loaded = load_text(CHAIN, "chain.tgpu")
    found = [one for one in map(judged, loaded.spec.joined) if isinstance(one, Covered | Linked)]
    assert len(found) == 1
    return sound("chain.tgpu", tuple(unproved(loaded.machines)), tuple(found))


PACKED = """
import ctypes
class Place(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]
class Kind(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]
class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("place", Place), ("rank", ctypes.c_int), ("kind", Kind),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64)]
class Managed(ctypes.Structure):
    _fields_ = [("tensor", Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]
capsule = ctypes.pythonapi.PyCapsule_New
capsule.restype, capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
class Packed:
    def __init__(self, count, code, bits, pointer):
        self.shape_ = (ctypes.c_int64 * 1)(count)
        self.managed = Managed(Tensor(pointer, Place(2, 0), 1, Kind(code, bits, 1), self.shape_, None, 0), None, None)
    def __dlpack_device__(self):
        return 2, 0
    def __dlpack__(self, **asked):
        assert asked["stream"] == 1, "what is still being computed comes before the default stream, and no host waits"
        return capsule(ctypes.addressof(self.managed), b"dltensor", None)
"""
PLAYS = {
    "arguments context and stream": """
seen = []
fake.on_launch(5, lambda *said: seen.append(said))
x, y, z = three()
made.saxpy(2.0, x, y, out=z)
made.saxpy(2.0, x, y, out=z, stream=77)
(code, name, blocks, threads, shared, stream, context, values), second = seen
assert (name, blocks * threads, shared) == ("saxpy_v4", 256, 0), seen
assert (stream, second[5]) == (1, 77), "the default stream is the legacy one, by name"
assert context == second[6] == fake.library.fake_context(0)
assert values[:3] == [65536, 2 * 65536, 3 * 65536] and values[4] == 1000
assert struct.unpack("f", struct.pack("I", values[3] & 0xFFFFFFFF)) == (2.0,)
assert code.endswith("(9, 0) 32 True"), code
""",
    "numbers of every width": """
seen = []
kernel = made.runtime._Cuda("k", None, 32, (0, 0), "key")
numbers = (7, np.float64(1.5), np.float32(1.5), np.int64(-2), np.int32(-2), np.uint32(2**32 - 1), np.uint16(65535), np.int8(-2), np.uint8(255))
fake.on_launch(len(numbers), lambda *said: seen.append(said[-1]))
for _ in range(2):
    kernel(SimpleNamespace(device=0), 0, 32, True, 1, *numbers)
    for number, value in zip(numbers, seen.pop(), strict=True):
        held = np.asarray(number, np.uint64 if type(number) is int else None).tobytes()
        assert value.to_bytes(8, "little")[:len(held)] == held, number
kernel(SimpleNamespace(device=0), 0, 32, True, 0, *numbers)
assert not seen, "no blocks, no launch"
""",
    "the callers context is as it was": """
contexts = []
fake.on_launch(5, lambda *said: contexts.append(said[6]))
def now():
    return int(driver.cuCtxGetCurrent()[1])
assert now() == 0
for device in (0, 1, 0, 1):
    x, y, z = three(device)
    made.saxpy(2.0, x, y, out=z)
    assert now() == 0, "a thread without a context has none afterwards"
first, second = (fake.library.fake_context(d) for d in (0, 1))
assert contexts == [first, second] * 2
driver.cuCtxSetCurrent(first)
fake.noted()
made.saxpy(2.0, *three(1)[:2], out=three(1)[2])
assert now() == first and contexts[-1] == second and fake.noted().count("cuCtxSetCurrent") == 2
made.saxpy(2.0, *three(0)[:2], out=three(0)[2])
assert "cuCtxSetCurrent" not in fake.noted(), "nothing is switched where nothing has to be"
fake.library.fake_refuse(1)
try:
    made.saxpy(2.0, *three(1)[:2], out=three(1)[2])
except RuntimeError as error:
    assert "TG815 saxpy_v4: the driver refuses the launch: CUDA_ERROR_INVALID_VALUE" in str(error)
else:
    raise AssertionError("a refused launch is an error")
assert now() == first, "also after an error"
""",
    # No allocation, no wait, nothing loaded; so a stream that is captured may be launched on. A first call in a capture loads, and may.
    "a second call asks for nothing but the launch": """
x, y, z = three()
driver.cuInit(0)
driver.cuCtxSetCurrent(fake.library.fake_context(0))
made.saxpy(2.0, x, y, out=z, stream=77)
fake.noted()
driver.cuStreamBeginCapture(77, driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL)
seen = []
fake.on_launch(5, lambda *said: seen.append(said[2]))
for _ in range(3):
    made.saxpy(2.0, x, y, out=z, stream=77)
asked = fake.noted()
assert {*asked} == {"cuPointerGetAttribute", "cuLaunchKernel"} and not fake.illegal() and not seen, (asked, seen)
made.saxpy(2.0, OnGpu((1000,), 4100), y, out=z, stream=77)  # the kernel without wide accesses: not loaded before
assert "cuLibraryLoadData" in fake.noted() and not fake.illegal()
_, graph = driver.cuStreamEndCapture(77)
_, ready = driver.cuGraphInstantiate(graph, 0)
driver.cuGraphLaunch(ready, 77)
assert len(seen) == 4, seen
""",
    "many threads and one first call": """
sums, asked, lock = [], [], threading.Lock()
real = made.runtime._Cuda.cubin
made.runtime._Cuda.cubin = lambda self, *rest: asked.append(rest) or real(self, *rest)
fake.on_launch(5, lambda *said: sums.append((said[-1][4], said[-1][0] == said[-1][4] * 65536, said[6])))
errors = []
def work(n):
    try:
        for _ in range(300):
            made.saxpy(2.0, OnGpu((n,), n * 65536), OnGpu((n,), n * 65536 + 2048), out=OnGpu((n,), n * 65536 + 4096))
    except BaseException as error:
        errors.append(error)
        raise
several = [threading.Thread(target=work, args=(n,)) for n in range(1, 9)]
[t.start() for t in several]
[t.join() for t in several]
assert not errors and len(asked) == 1, "compiled once"
assert len(sums) == 8 * 300 and all(right for _, right, _ in sums), "no thread's arguments are another's"
assert {s[2] for s in sums} == {fake.library.fake_context(0)}
(loaded,) = made.saxpy_v4_launch.cuda[0].loaded.values()
assert 1 <= len(loaded.spare) <= 8
""",
    "a blocks memory is asked for once": """
kernel = made.runtime._Cuda("big", None, 32, (0, 0), "key", 65536)
seen = []
fake.on_launch(1, lambda *said: seen.append(said[4]))
for _ in range(3):
    kernel(SimpleNamespace(device=0), 0, 32, True, 1, 5)
asked = fake.noted()
assert seen == [65536] * 3 and asked.count("cuKernelSetAttribute") == asked.count("cuFuncSetAttribute") == 1
other = made.runtime._Cuda("newer", None, 32, (10, 0), "key")
try:
    other(SimpleNamespace(device=0), 0, 32, True, 1, 5)
except RuntimeError as error:
    assert "TG815 newer: proved on sm_100 and newer; GPU 0 is sm_90" in str(error)
else:
    raise AssertionError("an older GPU is refused")
""",
    "blocks of a cluster are launched together": """
kernel = made.runtime._Cuda("near", None, 384, (9, 0, "a"), "key", 65536, cluster=2)
seen = []
fake.on_launch(1, lambda *said: seen.append(said))
driver.cuInit(0)
for _ in range(2):
    kernel(SimpleNamespace(device=0), 5, 32, True, 6, 7)
assert [(s[2], s[3], s[4], s[5], s[7][0]) for s in seen] == [(6, 384, 65536, 5, 7)] * 2, seen
assert fake.noted().count("cuLaunchKernelEx") == 2
assert [*(ctypes.c_uint * 4).in_dll(fake.library, "fake_cluster")] == [2, 1, 1, 2]
""",
    # numba's own arrays, on its own driver calls: outputs are made by numba, on the GPU of the inputs.
    "arrays of numba are made and taken": """
from numba import cuda
seen = []
fake.on_launch(5, lambda *said: seen.append(said[-1]))
x, y = cuda.device_array(100, np.float32), cuda.device_array(100, np.float32)
for _ in range(2):
    z = made.saxpy(2.0, x, y)
    assert type(z) is type(x) and z.shape == (100,) and z.dtype == np.float32
    pointers = [a.__cuda_array_interface__["data"][0] for a in (x, y, z)]
    assert seen.pop()[:3] == pointers
try:
    made.saxpy(2.0, x, cuda.device_array(100, np.float64))
except TypeError as error:
    assert "TG802" in str(error)
else:
    raise AssertionError("another dtype is refused, also by the second look")
""",
    "arrays of dlpack": PACKED
    + """
seen = []
fake.on_launch(5, lambda *said: seen.append(said[-1]))
x, y, z = (Packed(64, 2, 32, k * 4096) for k in (1, 2, 3))
assert made.saxpy(2.0, x, y, out=z) is z and seen[0][:3] == [4096, 8192, 12288]
try:
    made.saxpy(2.0, x, Packed(64, 2, 64, 8192), out=z)
except TypeError as error:
    assert "TG802" in str(error)
else:
    raise AssertionError("another dtype is refused")
for known in (True, False):
    half = made.runtime._view("f", "h", Packed(64, 4, 16, 4096), "bf16", "[n]", 1)
    assert (half.pointer, half.shape, half.nbytes, half.device) == (4096, (64,), 128, 0)
    sys.modules["ml_dtypes"] = None  # numpy does not know bfloat16 then
""",
    # What begins as a value between two calls is copied on the stream, between their kernels: now, or whenever a graph is launched.
    "a pipeline is captured and goes again": """
chain = load(open(sys.argv[1].replace("saxpy", "chain"), encoding="utf-8").read(), "chain")
chain.runtime._Cuda.cubin = made.runtime._Cuda.cubin
x, k, z, arena = np.zeros(100, np.float32), np.zeros(100, np.float32), np.zeros(100, np.float32), np.zeros(1024 + 64, np.uint8)
start = -arena.ctypes.data % 64
t, u = (arena[start + at : start + at + 400].view(np.float32) for at in (0, 512))
given = [OnGpu((100,), a.ctypes.data) for a in (x, k)]
kept = dict(out=OnGpu((100,), z.ctypes.data), workspace=OnGpu((1024,), arena.ctypes.data + start, "|u1"), stream=77)
number, seen = 5, []
def launched(code, name, blocks, threads, shared, stream, context, values):
    if not seen:
        t[:] = number
    seen.append((name, u[0], u[-1], stream))
fake.on_launch(5, launched)
def went():
    names = [(name, 77) for name in ("twice_m", "put_m", "twice_m")]
    assert [(name, stream) for name, _, _, stream in seen] == names and all(one[1:3] == (number, number) for one in seen[1:]), seen
    seen.clear()
chain.both(*given, **kept)
went()
fake.noted()
driver.cuStreamBeginCapture(77, driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL)
chain.both(*given, **kept)
asked = fake.noted()
assert {*asked} <= {"cuPointerGetAttribute", "cuLaunchKernel", "cuCtxSetCurrent"} and not fake.illegal() and not seen, (asked, seen)
_, graph = driver.cuStreamEndCapture(77)
_, ready = driver.cuGraphInstantiate(graph, 0)
for number in (6, 7):
    driver.cuGraphLaunch(ready, 77)
    went()
fake.library.fake_refuse(1)
try:
    chain.both(*given, **kept)
except RuntimeError as error:
    assert "CUDA_ERROR" in str(error)
else:
    raise AssertionError("what the driver refuses is an error")
""",
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("play", PLAYS)
def test_what_the_driver_is_asked_for(play, folder):
    fake_driver.run(folder, OPENING + PLAYS[play], str(folder / "saxpy.txt"))
