"""Words in pictures lie beside each other, and inside of the paper.

Comes in: pictures of each kind. Goes out: words that overlap, or are cut. The one idea: of a font whose characters are all as wide one knows how long a line is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree

import pytest

from tests.conftest import ROOT
from tests.program import library
from tinygpu.pictures import draw
from tinygpu.pictures.paper import WIDE
from tinygpu.pipeline import Refutation, check, load
from tinygpu.record import dataclass

SVG = "{http://www.w3.org/2000/svg}"


@dataclass(frozen=True, slots=True)
class Placed:
    """A line of text, and the box that it takes."""

    text: str
    left: float
    top: float
    right: float
    foot: float

    def over(self, other: Placed) -> bool:
        return (
            min(self.right, other.right) - max(self.left, other.left) > 1
            and min(self.foot, other.foot) - max(self.top, other.top) > 1
        )


def texts(node: ElementTree.Element, x: float = 0.0, y: float = 0.0) -> Iterator[Placed]:
    """All words that are not turned."""
    turned = node.get("transform", "")
    if "rotate" in turned:
        return
    if found := re.match(r"translate\((\S+) (\S+)\)", turned):
        x, y = x + float(found[1]), y + float(found[2])
    if node.tag == f"{SVG}text":
        size, kinds = float(node.get("font-size", 0)), (node.get("class") or "").split()
        spans = node.findall(f"{SVG}tspan") or [node]
        for span in spans:
            text = span.text or ""
            wide = len(text) * size * WIDE
            left = x + float(span.get("x", 0)) - (wide / 2 if "m" in kinds else wide if "e" in kinds else 0)
            foot = y + float(node.get("y", 0))
            yield Placed(text, left, foot - 0.75 * size, left + wide, foot + 0.1 * size)
    for inner in node:
        yield from texts(inner, x, y)


def legible(svg: str) -> None:
    root = ElementTree.fromstring(svg)
    wide, tall = float(root.get("width", 0)), float(root.get("height", 0))
    found = [*texts(root)]
    assert found
    for one in found:
        assert one.left > -1 and one.right < wide + 1 and one.top > -1 and one.foot < tall + 1, f"{one.text} is cut"
    near: dict[tuple[int, int], list[Placed]] = {}
    for one in found:
        for column in range(int(one.left // 60), int(one.right // 60) + 1):
            for row in range(int(one.top // 20), int(one.foot // 20) + 1):
                near.setdefault((column, row), []).append(one)
    for group in near.values():
        for number, one in enumerate(group):
            for other in group[:number]:
                assert not one.over(other), f"{one.text} and {other.text} overlap"


@pytest.mark.parametrize(
    ("spec", "name", "kind"),
    [
        ("matmul_ring", "matmul_ring", "partition"),
        ("convolution_shared", "conv_nhwc_scalar", "partition"),
        ("csr", "csr_thread", "partition"),
        ("matmul_cpu", "matmul_core", "partition"),
        ("transpose", "transpose_swizzled", "banks"),
        ("attention", "flash_mma", "banks"),
        ("tensor_cores", "half_wgmma", "fragments"),
        ("tensor_cores", "half_roles", "timeline"),
        ("attention", "flash_mma", "timeline"),
        ("matmul_ring", "matmul_pipelined", "timeline"),
    ],
)
def test_words_lie_beside_each_other(spec: str, name: str, kind: str) -> None:
    legible(draw(library.machine(spec, name), kind).svg)


def test_a_roofline_is_legible() -> None:
    legible(draw(library.loaded("matmul_shared"), "roofline", device="a100").svg)


@pytest.mark.parametrize(
    "name", ["TG202_two_threads", "TG203_no_guard", "TG302_no_barrier", "TG303_divergent_barrier", "TG310_never_waits"]
)
def test_a_counterexample_is_legible(name: str) -> None:
    for machine in load(ROOT / "tests" / "wrong" / f"{name}.tgpu").machines:
        verdict = check(machine)
        if isinstance(verdict, Refutation):
            legible(draw(verdict).svg)
