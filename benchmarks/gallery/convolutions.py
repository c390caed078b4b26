"""The 34 convolutions of the gallery: images, windows, and steps, borders, distances and groups.

Goes out: `rows()`, what a row is made of. The one idea: all of one rank are one op, whose numbers stand in a table; torch's call has the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

Numbers = tuple[int, ...]
AXES = {1: ("L",), 2: ("H", "W"), 3: ("T", "H", "W")}  # sizes, and their letters in the names of others
Parts = tuple[str, str, str, str, dict[str, int], Callable[[Any, Mapping[str, Any]], Any]]

# rank, what, (images, groups, channels in and out of a group), image, window, and what differs from steps of 1, no border, neighbours
TABLE: tuple[tuple[int, str, Numbers, Numbers, Numbers, dict[str, Numbers]], ...] = (
    (3, "conv, cubes", (2, 1, 3, 33), (33, 33, 33), (3, 3, 3), {}),
    (2, "conv, asymmetric image", (4, 1, 17, 33), (65, 129), (3, 3), {}),
    (2, "conv, asymmetric", (4, 1, 17, 33), (65, 129), (3, 5), {}),
    (2, "transposed", (3, 1, 17, 33), (65, 65), (3, 3), {}),
    (3, "transposed, asymmetric", (2, 1, 9, 17), (11, 17, 33), (3, 5, 7), {}),
    (3, "conv, asymmetric volume", (2, 1, 3, 33), (11, 33, 65), (3, 3, 3), {}),
    (3, "conv, asymmetric window", (2, 1, 3, 33), (33, 33, 33), (3, 5, 7), {}),
    (3, "transposed, cubes", (2, 1, 9, 17), (17, 17, 17), (3, 3, 3), {}),
    (2, "conv, asymmetric window", (4, 1, 17, 33), (67, 67), (5, 7), {}),
    (2, "conv, squares", (4, 1, 17, 33), (67, 67), (3, 3), {}),
    (1, "transposed", (5, 1, 33, 31), (1025,), (3,), {}),
    (2, "transposed, asymmetric window", (3, 1, 17, 33), (65, 65), (3, 7), {}),
    (3, "conv, asymmetric", (2, 1, 3, 33), (11, 33, 65), (3, 5, 7), {}),
    (1, "conv", (5, 1, 33, 65), (1025,), (3,), {}),
    (3, "transposed, asymmetric window", (2, 1, 9, 17), (17, 17, 17), (3, 5, 5), {}),
    (2, "transposed, asymmetric image and window", (3, 1, 17, 33), (33, 65), (3, 5), {}),
    (3, "transposed, asymmetric volume", (2, 1, 9, 17), (11, 17, 33), (3, 3, 3), {}),
    (2, "transposed, asymmetric image", (3, 1, 17, 33), (33, 65), (3, 3), {}),
    (3, "transposed, strided, padded, grouped, asymmetric", (2, 4, 5, 7), (9, 11, 17), (3, 5, 7), {"S": (2, 2, 2), "P": (1, 2, 3), "O": (1, 1, 1)}),
    (3, "transposed, strided, padded, grouped", (2, 4, 5, 7), (9, 11, 17), (3, 3, 3), {"S": (2, 2, 2), "P": (1, 1, 1)}),
    (1, "transposed, dilated", (5, 1, 33, 31), (1025,), (5,), {"D": (3,)}),
    (2, "transposed, strided, grouped, padded, dilated", (3, 4, 5, 9), (33, 65), (3, 5), {"S": (2, 3), "P": (1, 2), "D": (2, 1)}),
    (1, "conv, dilated, strided", (5, 1, 33, 65), (1025,), (3,), {"S": (3,), "D": (4,)}),
    (3, "transposed, padded, dilated, strided", (2, 1, 9, 17), (11, 13, 15), (3, 3, 3), {"S": (2, 2, 2), "P": (1, 1, 1), "D": (2, 2, 2)}),
    (2, "transposed, padded", (3, 1, 17, 33), (33, 65), (3, 7), {"P": (1, 3)}),
    (1, "transposed, padded, strided, dilated", (5, 1, 33, 31), (515,), (5,), {"S": (2,), "P": (1,), "D": (2,)}),
    (2, "conv, dilated, padded", (4, 1, 17, 33), (67, 67), (5, 9), {"P": (2, 4), "D": (2, 3)}),
    (2, "transposed, dilated, padded, strided", (3, 1, 17, 33), (33, 35), (3, 3), {"S": (5, 5), "P": (1, 1), "D": (2, 2)}),
)  # fmt: skip
DEPTHWISE = (
    ("depthwise, squares", (67, 67), (3, 3)),
    ("depthwise, asymmetric window", (67, 67), (3, 7)),
    ("depthwise, asymmetric image", (65, 129), (3, 3)),
    ("depthwise, asymmetric", (65, 129), (3, 5)),
)


def named(letter: str, rank: int, values: Numbers) -> dict[str, int]:
    """A number for each axis.

    >>> named("S", 2, (1, 3))
    {'SH': 1, 'SW': 3}
    """
    return {letter + axis: value for axis, value in zip(AXES[rank], values, strict=True)}


def rows() -> Iterator[Parts]:
    """Name, spec, op, machine, sizes, torch's expression."""
    for rank, what, groups, image, window, different in TABLE:
        transposed = what.startswith("transposed")
        usual = {"S": (1,) * rank, "P": (0,) * rank, "D": (1,) * rank, **({"O": (0,) * rank} if transposed else {})} | different
        sizes = dict(zip("BGCF", groups, strict=True)) | dict(zip(AXES[rank], image, strict=True)) | named("K", rank, window)
        for letter, values in usual.items():
            sizes |= named(letter, rank, values)
        op = f"conv_transposed_{rank}d" if transposed else f"conv_{rank}d"
        yield f"{what}, {rank}d", "convolutions", op, f"filters_{rank}d", sizes, convolution(rank, transposed)
    steps = {"SH": 1, "SW": 1, "PH": 1, "PW": 1, "DH": 1, "DW": 1}
    for what, image, window in DEPTHWISE:
        sizes = {"B": 5, "C": 33} | dict(zip("HW", image, strict=True)) | named("K", 2, window) | steps
        yield f"{what}, 2d", "convolution_channels", "depthwise_2d", "channel_a_block", sizes, depthwise
    sizes = {"B": 5, "C": 33, "F": 65, "H": 67, "W": 67, "KH": 3, "KW": 3} | steps
    yield "depthwise separable, 2d", "convolution_channels", "separable_2d", "one_after_the_other", sizes, separable
    pixels = {"B": 5, "C": 65, "F": 129, "N": 67 * 67}
    yield "pointwise, 2d", "convolution_channels", "pointwise", "pixels", pixels, pointwise


def convolution(rank: int, transposed: bool) -> Callable[[Any, Mapping[str, Any]], Any]:
    """torch's call, of groups as an axis."""

    def call(t: Any, i: Mapping[str, Any]) -> Any:
        x, w = i["x"], i["w"]
        function = getattr(t.nn.functional, f"conv{'_transpose' if transposed else ''}{rank}d")
        options = {"stride": "S", "padding": "P", "dilation": "D", **({"output_padding": "O"} if transposed else {})}
        numbers = {name: tuple(i[letter + axis] for axis in AXES[rank]) for name, letter in options.items()}
        found = function(x.flatten(1, 2), w.flatten(0, 1), groups=x.shape[1], **numbers)
        return found.unflatten(1, (x.shape[1], found.shape[1] // x.shape[1]))

    return call


def depthwise(t: Any, i: Mapping[str, Any]) -> Any:
    numbers = {
        name: (i[letter + "H"], i[letter + "W"]) for name, letter in {"stride": "S", "padding": "P", "dilation": "D"}.items()
    }
    return t.nn.functional.conv2d(i["x"], i["w"][:, None], groups=i["x"].shape[1], **numbers)


def separable(t: Any, i: Mapping[str, Any]) -> Any:
    return t.nn.functional.conv2d(depthwise(t, i), i["u"][:, :, None, None])


def pointwise(t: Any, i: Mapping[str, Any]) -> Any:
    return t.nn.functional.conv1d(i["x"], i["w"][:, :, None])
