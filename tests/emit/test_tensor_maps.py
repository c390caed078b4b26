"""Maps of tensors, which kernels with tensor copies have as parameters: what the driver is told, what a launch passes, and when the other kernel is taken.

Comes in: the table of a launcher with `maps`, arrays that say they are on a GPU, a stand-in for the driver. Goes out: the words of each map, as the launch had them. The one
idea: the stand-in's map is what it was told, so nothing is read that was not passed on.
"""

from __future__ import annotations

import pytest

from tests.conftest import ROOT
from tests.emit import fake_driver
from tests.emit.specs_for_launchers import text
from tinygpu import pipeline
from tinygpu.runtime.tensor_map import _with_maps

OPENING = """
import sys, threading
import numpy as np
from tests.emit.fake_driver import Driver
from tinygpu.run.load import load
fake = Driver()
made = load(open(sys.argv[1], encoding="utf-8").read(), "path")
made.runtime._Cuda.cubin = lambda self, arch, bits, wide: f"{self.key} {bits} {wide} {self.maps}".encode() + bytes(1)
from cuda.bindings import driver
class OnGpu:
    def __init__(self, shape, pointer, strides=None, typestr="<f4"):
        self.__cuda_array_interface__ = {"shape": shape, "typestr": typestr, "data": (pointer, False), "strides": strides, "version": 3}
def launcher(*maps, **other):
    spec = {**made.affine_m_spec, "maps": maps, **other}
    return made.runtime.launcher(spec, vars(made).copy())
BOTH = ("x", (64, 32), 128), ("b", (32,), 0)
seen = []
def launch(call, x, b, y, stream=77, maps=2):
    "The words of each map, and whether the kernel was the one with tensor copies."
    fake.on_launch(9 + maps, lambda *said: seen.append(said), maps)  # three arrays, two sizes, four strides
    call(x, b, y, stream)
    code, *_, values = seen.pop()
    wide = " True" in code
    assert f"{wide} {maps}" in code
    words = [values[9 + 16 * n : 25 + 16 * n] for n in range(maps)] if wide else None
    return words
X, B, Y = OnGpu((100, 64), 4096), OnGpu((64,), 65536), OnGpu((100, 64), 131072)
def axis(extent, box):
    return extent << 16 | box << 4 | 1
kind = driver.CUtensorMapDataType
first, second = (int(kind.CU_TENSOR_MAP_DATA_TYPE_UINT32), 2), (int(kind.CU_TENSOR_MAP_DATA_TYPE_UINT32), 1)
far = int(driver.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_L2_256B)
pattern = int(driver.CUtensorMapSwizzle.CU_TENSOR_MAP_SWIZZLE_128B)
OF_X = [4096, *first, pattern, far, 0, axis(64, 32), axis(100, 64), 0, 0, 0, 256, 0, 0, 0, 0]
OF_B = [65536, *second, 0, far, 0, axis(64, 32), 0, 0, 0, 0, 0, 0, 0, 0, 0]
"""
PLAYS = {
    "what the driver is told is what the kernel has": """
assert launch(launcher(*BOTH), X, B, Y) == [OF_X, OF_B]
rows = OnGpu((100, 64), 4096, (1024, 4))
assert launch(launcher(*BOTH), rows, B, Y) == [[*OF_X[:11], 1024, *OF_X[12:]], OF_B], "strides are those of the array"
one = OnGpu((1, 64), 4096)
assert launch(launcher(*BOTH), one, B, OnGpu((1, 64), 131072))[0][6:12] == [axis(64, 32), axis(1, 64), 0, 0, 0, 256]
assert int(driver.cuCtxGetCurrent()[1]) == 0, "the context of the caller is as it was"
""",
    "a second call asks the driver for nothing but the launch": """
call = launcher(*BOTH)
launch(call, X, B, Y)
fake.noted()
driver.cuCtxSetCurrent(fake.library.fake_context(0))
fake.noted()
assert launch(call, X, B, Y) == [OF_X, OF_B]
assert {*fake.noted()} == {"cuPointerGetAttribute", "cuLaunchKernel"}
assert launch(launcher(*BOTH), X, B, Y) == [OF_X, OF_B]
assert "cuTensorMapEncodeTiled" not in fake.noted(), "what is described was described before"
launch(call, OnGpu((100, 64), 8192), B, Y)
assert fake.noted().count("cuTensorMapEncodeTiled") == 1, "another array is another map"
""",
    # A graph has the bytes, as it has all arguments: nothing is allocated or copied at the capture, and a later call changes nothing of it.
    "a captured launch has its own maps": """
driver.cuInit(0)
call = launcher(*BOTH)
driver.cuStreamBeginCapture(77, driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL)
fake.on_launch(11, lambda *said: seen.append(said), 2)
call(X, B, Y, 77)
assert not seen and not fake.illegal()
asked = fake.noted()
assert "cuTensorMapEncodeTiled" in asked and not any(a.startswith("cuMem") for a in asked), asked
_, graph = driver.cuStreamEndCapture(77)
_, ready = driver.cuGraphInstantiate(graph, 0)
for k in range(300):  # more than are kept
    call(OnGpu((100, 64), 2**20 + 4096 * k), B, Y, 78)
seen.clear()
driver.cuGraphLaunch(ready, 77)
assert seen.pop()[-1][9:] == [*OF_X, *OF_B]
""",
    "arrays that cannot be described take the other kernel": """
call = launcher(*BOTH)
for x in (OnGpu((100, 64), 4100), OnGpu((100, 64), 4096, (260, 4)), OnGpu((100, 64), 4096, (256, 8)), OnGpu((100, 64), 4096, (-256, 4)),
          OnGpu((100, 64), 4096, (0, 4)), OnGpu((100, 64), 4096, (2**40, 4)), OnGpu((64, 100), 4096, (4, 256))):
    assert launch(call, x, B if x.__cuda_array_interface__["shape"][1] == 64 else OnGpu((100,), 65536), OnGpu(x.__cuda_array_interface__["shape"], 2**50)) is None
assert launch(call, X, OnGpu((64,), 65540), Y) is None, "each of them has to be"
assert launch(call, X, B, Y) == [OF_X, OF_B]
short = OnGpu((100, 60), 4096), OnGpu((60,), 65536), OnGpu((100, 60), 131072)
assert launch(call, *short)[0][6:12] == [axis(60, 32), axis(100, 64), 0, 0, 0, 240], "rows of 240 bytes are whole pieces"
odd = OnGpu((100, 61), 4096), OnGpu((61,), 65536), OnGpu((100, 61), 131072)
assert launch(call, *odd) is None
assert "cuTensorMapEncodeTiled" in fake.noted()
launch(call, *odd)
assert "cuTensorMapEncodeTiled" not in fake.noted()
for maps in ((("x", (64, 36), 128), BOTH[1]), (("x", (64, 32), 64), BOTH[1]), (("x", (257, 32), 128), BOTH[1]), (("x", (64, 30), 0), BOTH[1]),
             (("x", (32,), 0), BOTH[1])):
    assert launch(launcher(*maps), X, B, Y) is None, maps
""",
    "where the driver refuses the other kernel is taken": """
fake.library.fake_unmapped(1)
assert launch(launcher(*BOTH), X, B, Y) is None
""",
    "conditions of wide accesses hold for both": """
assert launch(launcher(*BOTH, wide=(("N % 64 == 0",), {})), X, B, Y) == [OF_X, OF_B]
assert launch(launcher(*BOTH, wide=(("N % 128 == 0",), {})), X, B, Y) is None
assert launch(launcher(*BOTH, wide=((), {"b": 65536 * 2})), X, B, Y) is None
assert launch(launcher(*BOTH, wide=((), {})), X, B, Y) == [OF_X, OF_B]
""",
    "each gpu has its own and all threads theirs": """
errors = []
call = launcher(*BOTH)
fake.on_launch(11, lambda *said: seen.append((said[6], said[-1][0], said[-1][9])), 2)
def work(n):
    try:
        for k in range(100):
            call(OnGpu((100, 64), (n % 2 << 60) + 4096 * (1 + n + k)), OnGpu((64,), (n % 2 << 60) + 65536), OnGpu((100, 64), (n % 2 << 60) + 2**40), 77)
    except BaseException as error:
        errors.append(error)
        raise
several = [threading.Thread(target=work, args=(n,)) for n in range(6)]
[t.start() for t in several]
[t.join() for t in several]
assert not errors and len(seen) == 600
assert all(x == described and context == fake.library.fake_context(x >> 60) for context, x, described in seen)
""",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = fake_driver.built(tmp_path_factory.mktemp("driver"))
    (made / "affine.txt").write_text(text("views"), encoding="utf-8")
    return made


@pytest.mark.sampled(3)
@pytest.mark.parametrize("play", PLAYS)
def test_maps_down_to_the_driver(play, folder):
    fake_driver.run(folder, OPENING + PLAYS[play], str(folder / "affine.txt"))


def test_other_texts_of_a_kernel_are_as_they_were():
    text = 'define void @"k"(i64 %"a", i64 %"b")\n{\nentry:\n  ret void\n}\n!nvvm.annotations = !{ !1 }\n!1 = !{ void (i64, i64)* @"k", !"kernel", i32 1 }\n'
    assert _with_maps(text, "other", 1) == text
    made = _with_maps(text, "k", 1)
    assert 'define void @k(i64 %"a", [16 x i64]* byval align 128 %map.0)' in made
    assert 'entry:\n  %"b" = ptrtoint [16 x i64]* %map.0 to i64\n' in made
    assert '!1 = !{ void (i64, [16 x i64]*)* @"k", !"kernel", i32 1 }' in made and made.endswith(
        '!"grid_constant", !3 }\n!3 = !{ i32 2 }\n'
    )


ROLES = """
A, B, C = OnGpu((200, 96), 4096, typestr="<f2"), OnGpu((96, 72), 65536, typestr="<f2"), OnGpu((200, 72), 131072)
def call(a, b, c):
    fake.on_launch(8, lambda *said: seen.append(said), 2)  # three arrays, three sizes, two maps
    made.boxes(a, b, out=c, stream=77)
    code, *_, values = seen.pop()
    return code, [values[6 + 16 * n : 22 + 16 * n] for n in range(2)]
code, (of_a, of_b) = call(A, B, C)
assert " True 2" in code and (of_a[0], of_b[0]) == (4096, 65536)
assert of_a[6:8] == [axis(96, 64), axis(200, 128)] and of_b[6:8] == [axis(72, 64), axis(96, 64)], "the fastest axis first"
assert (of_a[11], of_b[11]) == (192, 144) and of_a[3] == of_b[3] == pattern
code, _ = call(OnGpu((200, 90), 4096, typestr="<f2"), OnGpu((90, 72), 65536, typestr="<f2"), C)
assert " False 2" in code, "rows of 180 bytes are copied by lanes"
"""


def test_a_module_of_roles_down_to_the_driver(folder):
    made = pipeline.load(ROOT / "tests/hardware/specs/roles.tgpu").spec.machine("boxes")
    proof = pipeline.check(made)
    assert isinstance(proof, pipeline.Proof)
    (folder / "roles.txt").write_text(pipeline.module("roles.tgpu", [pipeline.built(proof, made)]), encoding="utf-8")
    fake_driver.run(folder, OPENING + ROLES, str(folder / "roles.txt"))
