"""What emitted modules do for tensor copies: describe a tensor as the unit that copies boxes of it wants, 128 bytes, which a kernel has as a parameter.

Comes in: arrays as they lie, and of each the box and the pattern in which its bytes lie in a block's memory. Goes out: the bytes, or nothing where an array cannot be described, and
then a kernel runs that needs none. The one idea: the bytes say only where an array is and how it lies, so the last few are kept by that; a launch copies them with its
other arguments, so nothing is in a GPU's memory, nothing waits, and a captured launch has its own.
"""

from __future__ import annotations

import ctypes
import functools
import re
from collections.abc import Mapping
from typing import Any

from tinygpu.runtime.views import _HELD, _driver, _rows

_MAP_BYTES, _MAP_ALIGNED = 128, 128
_UNIT = 16  # bytes, of which strides and rows of a box are multiples
_LONGEST, _FARTHEST_ROW, _LARGEST_BOX, _MOST_AXES = 2**32, 2**40, 256, 5


class _Maps:
    """The maps of a launcher, `((name, box, pattern), …)` of a table: a call with the views gives the bytes of each, or nothing, where one array cannot be described."""

    def __init__(self, spec: Mapping[str, Any]):
        arrays = spec["inputs"] | spec["outputs"] | spec["workspaces"]
        self.kinds = [(_HELD[arrays[name][0]][1], box, pattern) for name, box, pattern in spec["maps"]]

    def __call__(self, *views: Any) -> tuple[bytes, ...]:
        found: tuple[bytes, ...] = ()
        for view, kind in zip(views, self.kinds, strict=True):
            made = _tensor_map(view.device, view.pointer, tuple(view.shape), view.steps, *kind)
            if made is None:
                return ()
            found += (made,)
        return found


def _map_strides(shape: tuple[int, ...], steps: tuple[int, ...] | None, size: int) -> list[int] | None:
    """How many bytes neighbours along each axis but the last are apart, the fastest first; None where the unit cannot go so. Of an axis of one any would do.

    >>> _map_strides((5, 64), None, 2), _map_strides((5, 1, 64), (256, 0, 1), 2)
    ([128], [128, 512])
    >>> _map_strides((5, 60), None, 2), _map_strides((5, 64), (0, 1), 2), _map_strides((5, 64), (64, 2), 2)
    (None, None, None)
    """
    *outer, last = _rows(shape) if steps is None else steps
    if shape[-1] > 1 and last != 1:
        return None
    strides, natural = list[int](), -(-shape[-1] * size // _UNIT) * _UNIT
    for extent, step in zip(shape[-2::-1], reversed(outer), strict=True):
        strides.append(natural if extent == 1 else step * size)
        natural = strides[-1] * extent
    return strides if all(0 < s < _FARTHEST_ROW and s % _UNIT == 0 for s in strides) else None


@functools.lru_cache(maxsize=256)
def _tensor_map(
    device: int, pointer: int, shape: tuple[int, ...], steps: tuple[int, ...] | None, size: int, box: tuple[int, ...], pattern: int
) -> bytes | None:
    """The bytes for boxes of an array with elements of so many bytes; None where it cannot be described, also by word of the driver."""
    fits = 1 <= len(shape) == len(box) <= _MOST_AXES and all(1 <= e <= _LONGEST for e in shape) and pointer % _UNIT == 0
    row = box[-1] * size
    if not fits or not all(1 <= b <= _LARGEST_BOX for b in box) or row % _UNIT or row > (pattern or row):
        return None
    strides = _map_strides(shape, steps, size)
    return None if strides is None else _encoded(device, pointer, shape[::-1], strides, size, box[::-1], pattern)


def _encoded(device: int, pointer: int, extents: Any, strides: list[int], size: int, box: Any, pattern: int) -> bytes | None:
    """What the driver makes of it, the fastest axis first; nothing where it refuses. Elements are bits of their size, as only bytes are moved, and what lies outside is
    zeros. The memory is aligned here, since that of an object of the driver's library is not."""
    driver, long, word, number = _driver(), ctypes.c_uint64 * _MOST_AXES, ctypes.c_uint32 * _MOST_AXES, ctypes.c_int
    status, function, *_ = driver.cuGetProcAddress(b"cuTensorMapEncodeTiled", 12000, 0)
    context = _primary(device)
    if int(status) or not int(function) or context is None:
        return None
    memory = (ctypes.c_uint8 * (_MAP_BYTES + _MAP_ALIGNED))()
    place = -(-ctypes.addressof(memory) // _MAP_ALIGNED) * _MAP_ALIGNED
    kind = getattr(driver.CUtensorMapDataType, f"CU_TENSOR_MAP_DATA_TYPE_UINT{8 * size}")
    swizzle = getattr(driver.CUtensorMapSwizzle, f"CU_TENSOR_MAP_SWIZZLE_{pattern}B" if pattern else "CU_TENSOR_MAP_SWIZZLE_NONE")
    promotion = driver.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_L2_256B
    encode = ctypes.CFUNCTYPE(number, ctypes.c_void_p, number, ctypes.c_uint32, *[ctypes.c_void_p] * 5, *[number] * 4)(
        int(function)
    )
    where = place, int(kind), len(extents), pointer, long(*extents), long(*strides), word(*box), word(*[1] * len(extents))
    _, before = driver.cuCtxGetCurrent()
    driver.cuCtxSetCurrent(context)
    try:
        refused = encode(*where, 0, int(swizzle), int(promotion), 0)  # not interleaved, zeros outside
    finally:
        driver.cuCtxSetCurrent(before)
    return None if refused else ctypes.string_at(place, _MAP_BYTES)


@functools.cache
def _primary(device: int) -> Any:
    """The context of a GPU, held for good."""
    status, context = _driver().cuDevicePrimaryCtxRetain(device)
    return None if int(status) else context


def _with_maps(text: str, kernel: str, count: int, typed: bool = False) -> str:
    """A text of LLVM with the last `count` parameters of a kernel, addresses of maps, as the maps themselves: bytes that the launch copies, and that nobody writes. From sm_100 on
    the compiler wants them `typed`, and before it refuses that."""
    found = re.search(rf'(?m)^define void @"?{kernel}"?\((.*)\)$', text)
    if found is None:
        return text
    parameters = found[1].split(", ")
    kinds, names = zip(*(p.rsplit(" ", 1) for p in parameters), strict=True)
    plain, whole = len(parameters) - count, f"[{_MAP_BYTES // 8} x i64]*"
    assert {*kinds[plain:]} == {"i64"}
    by_value = f"byval({whole[:-1]})" if typed else "byval"
    maps = [f"{whole} {by_value} align {_MAP_ALIGNED} %map.{n}" for n in range(count)]
    addresses = "".join(f"  {name} = ptrtoint {whole} %map.{n} to i64\n" for n, name in enumerate(names[plain:]))
    head = f"define void @{kernel}({', '.join([*parameters[:plain], *maps])})"
    text = text.replace(found[0], head).replace("entry:\n", f"entry:\n{addresses}", 1)
    old, new = (f"void ({', '.join([*kinds[:plain], *[kind] * count])})*" for kind in ("i64", whole))
    number = 1 + max(map(int, re.findall(r"!(\d+)", text)))
    text = text.replace(old, new).replace("!nvvm.annotations = !{ ", f"!nvvm.annotations = !{{ !{number}, ", 1)
    which = ", ".join(f"i32 {n + 1}" for n in range(plain, len(parameters)))
    return f'{text}\n!{number} = !{{ {new} @{kernel}, !"grid_constant", !{number + 1} }}\n!{number + 1} = !{{ {which} }}\n'
