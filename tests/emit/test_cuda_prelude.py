"""The prelude: every intrinsic compiles and assembles, conversions are the instructions they claim, sine and cosine keep their error.

Comes in: names of the prelude. Goes out: PTX for sm_80 and sm_90a, and the values of the series run on this machine's CPU.
The one idea: PTX is only trusted after an assembler took it; arithmetic only after it was compared with more digits.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tinygpu import runtime
from tinygpu.program.instruction import CONVERSIONS
from tinygpu.runtime.values import angle_value, conversion_text

ARCHITECTURES: list[Any] = [(8, 0), (9, 0, "a")]
OLDEST = (7, 5)


def needs_cuda() -> Any:
    """numba's cuda module, or a skip that says what is missing."""
    pytest.importorskip("numba_cuda", reason="numba-cuda is not installed: pip install 'tinygpu[cuda]'")
    pytest.importorskip("cuda.core", reason="cuda-core is not installed: pip install 'tinygpu[cuda]'")
    from tinygpu.runtime.kernel import cuda_names

    return cuda_names(32)


def assemble(kernels: Sequence[tuple[str, Any, tuple[Any, ...]]], arch: Any) -> list[tuple[str, str, Any]]:
    """The names of kernels, the PTX of each, and the report of its assembly: all go through the disassembler as one piece of code."""
    from numba import cuda

    from benchmarks.machine_code import assembled

    texts = [(name, cuda.compile_ptx(function, types, cc=arch)[0]) for name, function, types in kernels]
    return [(name, ptx, report) for (name, ptx), report in zip(texts, assembled(texts, arch), strict=True)]


@pytest.mark.parametrize("arch", [OLDEST, ARCHITECTURES[-1]], ids=str)
def test_conversions_assemble(arch: Any) -> None:
    names = needs_cuda()
    from numba import types

    from tinygpu.runtime.values import conversion

    def kernel(name: str) -> Any:
        convert = conversion(name)

        def one(x, y):  # type: ignore[no-untyped-def]
            y[0] = convert(x[0])

        return one

    kernels, wanted = [], []
    for name in CONVERSIONS:
        result, texts = conversion_text(name, arch == OLDEST)
        for source, text in texts.items():
            pointers = [types.CPointer(getattr(types, kind)) for kind in (source, result)]
            kernels.append((f"{name} of {source}", kernel(name), names.void(*pointers)))
            wanted.append({*re.findall(r"cvt[.\w]*", text)})
    for (title, ptx, report), instructions in zip(assemble(kernels, arch), wanted, strict=True):
        assert instructions <= {*re.findall(r"cvt[.\w]*", ptx)}, title
        assert not report.refused(), title


WIDE = [  # how many of which dtype, and in how many accesses of how many bits
    (4, "float32", (1, 128)), (8, "float32", (2, 128)), (8, "uint16", (1, 128)), (16, "uint8", (1, 128)), (4, "uint16", (1, 64)),
    (2, "float64", (1, 128)), (4, "uint8", (1, None)), (2, "uint8", (1, None)), (6, "float32", (3, 64)),
]  # fmt: skip


@pytest.mark.parametrize("arch", ARCHITECTURES, ids=str)
@pytest.mark.parametrize("space", ["global", "streaming"])
def test_wide_accesses_are_as_wide_as_they_say(space: str, arch: Any) -> None:
    names = needs_cuda()
    from numba import cuda, types

    from tinygpu.runtime.memory import wide_load, wide_store

    def kernel(count: int, kind: Any) -> Any:
        load, store = wide_load(count), wide_store(count, space)

        def one(x, y, n):  # type: ignore[no-untyped-def]
            cells = cuda.local.array(count, kind)
            load(cells, x, n)
            store(y, n, cells)

        return one

    kernels = []
    for count, dtype, _ in WIDE:
        kind = getattr(types, dtype)
        pointer = types.CPointer(kind)
        kernels.append((f"{count} of {dtype}", kernel(count, kind), names.void(pointer, pointer, types.int32)))
    for (title, ptx, report), (count, dtype, (number, bits)) in zip(assemble(kernels, arch), WIDE, strict=True):
        assert not report.refused(), title
        assert ("st.global.cs" in ptx) == (space == "streaming" and count * getattr(types, dtype).bitwidth % 32 == 0), title
        if report.instructions:
            assert [report.count("LDG"), report.count("STG")] == [number, number], title
            if bits:
                assert report.wide(False, bits // 8) == report.wide(True, bits // 8) == number, title


def test_the_runtime_is_self_contained() -> None:
    text = runtime.text()
    space: dict[str, Any] = {}
    exec(text, space)
    assert set(space) >= runtime.offered() and space["VERSION"] == runtime.VERSION
    assert not re.search(r"(?:import|from) tinygpu", text)


def test_the_names_that_are_offered_are_those_that_stand_at_the_top() -> None:
    """`offered` reads lines, which is quick; here Python reads the text."""
    top = ast.parse(runtime.text()).body
    given = [node.name for node in top if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    targets = [target for node in top if isinstance(node, ast.Assign) for target in node.targets]
    given += [part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]
    assert runtime.offered() == {name for name in given if not name.startswith("_")}
    assert len(given) == len({*given}), "of two files that are one, neither hides what is the other's"


@pytest.mark.parametrize(
    ("dtype", "turn", "error"), [("float32", 0, 1.5), ("float32", 1, 1.5), ("float64", 0, 1.0), ("float64", 1, 1.0)]
)
def test_sine_and_cosine(dtype: str, turn: int, error: float) -> None:
    """f32: within 1.5 units in the last place of the exact value; f64: within 2⁻⁵² of it, absolutely."""
    mpmath = pytest.importorskip("mpmath")
    from numba import njit, types
    from numba.extending import intrinsic

    kind = getattr(types, dtype)

    @intrinsic
    def angle(typingctx: Any, x: Any) -> Any:
        return kind(kind), lambda context, builder, signature, arguments: angle_value(builder, arguments[0], turn)

    @njit
    def every(x, y):  # type: ignore[no-untyped-def]
        for n in range(len(x)):
            y[n] = angle(x[n])

    chance = np.random.default_rng(7)
    scales = 2.0 ** chance.uniform(-20, 30, 1500)
    near = np.arange(1, 300) * np.pi / 2
    x = np.concatenate([chance.uniform(-1, 1, 1500) * scales, near, -near, [0.0, -0.0, 2.0**30]]).astype(dtype)
    y = np.empty_like(x)
    every(x, y)
    mpmath.mp.prec = 200
    exact = [(mpmath.cos if turn else mpmath.sin)(mpmath.mpf(float(v))) for v in x]
    units = (
        np.spacing(np.abs(np.array([float(e) for e in exact], dtype))).astype(float)
        if dtype == "float32"
        else np.full(len(x), 2.0**-52)
    )
    worst = max(abs(float(e - mpmath.mpf(float(v)))) / u for e, v, u in zip(exact, y, units, strict=True))
    assert worst <= error, worst
    beyond = np.array([2.0**31, np.inf, np.nan], dtype)
    every(beyond, beyond)
    assert np.isnan(beyond).all()
