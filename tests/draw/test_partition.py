"""Who has which element: every cell of a picture is what the simulator sees.

Comes in: shipped machines, and edits of them. Goes out: owners, and the words of an SVG, cell by cell. The one idea: a run shares nothing with the picture but the program.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from tests.draw.watched import Touch, watched
from tests.program import library
from tinygpu.derive.unpack import unpack
from tinygpu.pictures import draw
from tinygpu.pictures.owners import NONE, owners
from tinygpu.pictures.sizes import picture_sizes
from tinygpu.pipeline import load_text, program

SVG = "{http://www.w3.org/2000/svg}"
MACHINES = [
    ("matmul_shared", "matmul_16x16"),
    ("transpose", "transpose_swizzled"),
    ("softmax", "softmax_warp"),
    ("matmul_ring", "matmul_ring_three"),
    ("saxpy", None),
    ("causal", None),
    ("scan", None),
    ("launches", None),
]


def machine_of(spec: str, name: str | None):
    return library.machine(spec, name) if name else library.loaded(spec).machines[0]


def small(made, most: int = 40) -> dict[str, int]:
    """Sizes of a picture; no larger than the simulator likes to be watched at."""
    return {s: min(n, most) for s, n in picture_sizes(made, {}).items()}


@pytest.mark.parametrize(("spec", "name"), MACHINES)
def test_an_element_has_the_owners_that_a_run_shows(spec: str, name: str | None) -> None:
    made = unpack(program(machine_of(spec, name)))
    sizes = small(made)
    tensors = [t for t in made.op.tensors if t.shape]
    seen = watched(made, sizes, {t.name for t in tensors})
    for tensor in tensors:
        one = owners(made, sizes, tensor.name, tensor in made.op.outputs)
        mine = [t for t in seen if t.array == tensor.name and t.stores == one.stores]
        assert not one.left
        agree(one, mine)


def agree(one, mine: list[Touch]) -> None:
    """The picture's owner of each element is one of those of the run, and there are as many of them."""
    there: dict[int, set[tuple[int, int]]] = {}
    for touch in mine:
        there.setdefault(touch.element, set()).add((touch.block, touch.thread))
    for element, (block, thread, place) in enumerate(zip(one.block.flat, one.thread.flat, one.place.flat, strict=True)):
        assert (place == NONE) == (element not in there), element
        if place != NONE:
            assert (block, thread) in there[element], element
            if len(one.accesses) == 1 and one.exact:
                assert (one.threads.flat[element], one.blocks.flat[element]) == (
                    len(there[element]),
                    len({b for b, _ in there[element]}),
                )


def test_the_turn_and_the_register_are_those_of_the_run() -> None:
    made = unpack(program(library.machine("transpose", "transpose_tiled")))
    sizes = {"M": 40, "N": 36}
    one = owners(made, sizes, "y", True)
    for touch in watched(made, sizes, {"y"}):
        assert one.register.flat[touch.element] == touch.turn["u"]


def test_what_is_read_again_has_the_first_place() -> None:
    one = owners(unpack(program(library.machine("softmax", "softmax_warp"))), {"R": 6, "N": 192}, "x", False)
    assert len(one.accesses) == 3 and {*one.place.flat} == {0}  # for the maximum, for the sum, for the quotient


def test_where_there_is_no_block_nobody_reads() -> None:
    said = draw(library.machine("matmul", "matmul_tile"), M=0).svg
    assert "C has no element at these sizes" in said and "nobody" in said


@pytest.mark.parametrize(("spec", "name"), [("matmul_ring", "matmul_ring_three"), ("matmul_ring", "matmul_pipelined")])
def test_of_several_places_the_first_one_is_named(spec: str, name: str) -> None:
    made = unpack(program(library.machine(spec, name)))
    sizes = {"M": 20, "N": 18, "K": 52}
    one = owners(made, sizes, "A", False)
    first: dict[tuple[int, int, int], Touch] = {}
    for touch in watched(made, sizes, {"A"}):
        first.setdefault((touch.element, touch.block, touch.thread), touch)
    assert {*one.place.flat} == {0, 1}
    for element, (place, block, thread) in enumerate(zip(one.place.flat, one.block.flat, one.thread.flat, strict=True)):
        loops = {a.name for a in one.accesses[place].where.axes}
        assert loops == first[element, int(block), int(thread)].turn.keys()


def cells(svg: str) -> list[list[str]]:
    """The words of the large map of the first array, in rows."""
    root = ElementTree.fromstring(svg)
    rows: dict[float, dict[float, list[str]]] = {}
    for text in next(
        g for g in root.iter(f"{SVG}g") if any(t.find(f"{SVG}tspan") is not None for t in g.findall(f"{SVG}text"))
    ).findall(f"{SVG}text"):
        for span in text.findall(f"{SVG}tspan"):
            rows.setdefault(float(text.get("y", 0)) // 23, {}).setdefault(float(span.get("x", 0)), []).append(span.text or "")
    return [[" ".join(row[x]) for x in sorted(row)] for _, row in sorted(rows.items())]


def test_the_words_in_the_cells_are_the_owners() -> None:
    spec = load_text(
        "op f(x: f32[M, N]) -> (y: f32[M, N]) { y[i, j] = x[i, j] + 1 }\n"
        "machine m : f { work grid = (a, b), block = (s: 2, t: 4)\n compute i = (a, s, u: 2), j = (b, t)\n register u }"
    )
    drawn = cells(draw(spec.m, M=6, N=5).svg)
    assert drawn[0] == ["t0 r0", "t1 r0", "t2 r0", "t3 r0", "t0 r0"]
    assert drawn[1] == ["t0 r1", "t1 r1", "t2 r1", "t3 r1", "t0 r1"]
    assert drawn[2] == ["t4 r0", "t5 r0", "t6 r0", "t7 r0", "t4 r0"]
    assert len(drawn) == 6
    assert drawn[3][0] == "t4 r1" and "<title>a 0, b 0, s 1, t 0, u 1</title>" in draw(spec.m, M=6, N=5).svg


def test_names_are_the_users() -> None:
    said = draw(library.machine("transpose", "transpose_tiled")).svg
    assert "y[j, i]: who stores it, at M = 48, N = 48" in said
    assert "t: thread of a block, (ty, tx) in rows" in said
    assert re.search(r">i →<", said) and re.search(r">j ↓<", said)


def test_what_has_a_place_that_is_data_is_said_and_not_drawn() -> None:
    said = draw(machine_of("csr", None)).svg
    assert "not drawn: x[col[z]], whose place is data" in said


def test_a_large_tensor_is_cropped_and_that_is_said() -> None:
    made = draw(library.machine("matmul_shared", "matmul_128x128"), M=1024, N=1024, K=64)
    assert "drawn: 64 of 1024 rows, 64 of 1024 columns" in made.svg
    assert len(made.svg) < 2_500_000


def test_small_sizes_show_a_block_and_its_neighbours() -> None:
    for spec, name, sizes in (
        ("matmul_ring", "matmul_ring", {"M": 96, "K": 24, "N": 96}),
        ("softmax", "softmax_warp", {"R": 6, "N": 192}),
    ):
        assert picture_sizes(program(library.machine(spec, name)), {}) == sizes
    assert picture_sizes(program(library.machine("matmul_ring", "matmul_ring")), {"M": 7}) == {"M": 7, "K": 24, "N": 96}
