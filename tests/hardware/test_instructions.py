"""The instructions that are shipped: they are what the manual says, and what the assembler takes.

Comes in: the shipped declarations, figures of the PTX ISA typed as formulas, and the assembler. Goes out: every element of every fragment compared,
every row of `ldmatrix` and `stmatrix` followed as the manual's words say, every instruction assembled alone. The one idea: data are tested from outside.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from tinygpu.category.term import Read, Var, reads
from tinygpu.category.to_numpy import evaluate
from tinygpu.model.collective import TOGETHER, Instruction, Operand
from tinygpu.model.instruction import library, shipped

EVERY = [one for name in library() for one in shipped(name)]
Figure = Callable[[int, int, int, int], tuple[int, int]]  # groupID, threadID_in_group, warp of the warpgroup, element → row, column

# ── the figures, as the manual words them: g is groupID, q threadID_in_group, i the number of the element ──────────
# ruff: noqa: E731
C: Figure = lambda g, q, w, i: (g if i < 2 else g + 8, q * 2 + (i & 1))  # "mma.m16n8k8 … C and D", and of all m16
C8: Figure = lambda g, q, w, i: (g, q * 2 + (i & 1))  # of all m8
D: Figure = lambda g, q, w, i: (w * 16 + g + (8 if i % 4 >= 2 else 0), i // 4 * 8 + q * 2 + i % 2)  # "WGMMA .m64nNk16 … D"
A8: Figure = lambda g, q, w, i: (g if i in (0, 2) else g + 8, q if i in (0, 1) else q + 4)  # of f64 and tf32
A16: Figure = lambda g, q, w, i: (g if i in (0, 1, 4, 5) else g + 8, q * 2 + (i & 1) + (8 if i >= 4 else 0))
B16: Figure = lambda g, q, w, i: (q * 2 + (i & 1) + (8 if i >= 2 else 0), g)
A32: Figure = lambda g, q, w, i: (g if 0 <= i < 4 or 8 <= i < 12 else g + 8, q * 4 + (i & 3) + (16 if i >= 8 else 0))
B32: Figure = lambda g, q, w, i: (q * 4 + (i & 3) + (16 if i >= 4 else 0), g)
FIGURES: dict[tuple[str, str], dict[str, Figure]] = {
    ("mma_m8n8k4", "f64"): {"a": lambda g, q, w, i: (g, q), "b": lambda g, q, w, i: (q, g), "c": C8},
    ("mma_m16n8k4", "f64"): {"a": lambda g, q, w, i: (g + 8 * i, q), "b": lambda g, q, w, i: (q, g), "c": C},
    ("mma_m16n8k8", "f64"): {
        "a": A8,
        "b": lambda g, q, w, i: (q if i == 0 else q + 4, g),
        "c": C,
    },
    ("mma_m16n8k16", "f64"): {
        "a": lambda g, q, w, i: (g if i % 2 == 0 else g + 8, q + 4 * (i // 2)),
        "b": lambda g, q, w, i: (q + 4 * i, g),
        "c": C,
    },
    ("mma_m16n8k8", "16"): {"a": C, "b": lambda g, q, w, i: (q * 2 + i, g), "c": C},
    ("mma_m16n8k16", "16"): {"a": A16, "b": B16, "c": C},
    ("mma_m8n8k16", "8"): {"a": lambda g, q, w, i: (g, q * 4 + i), "b": lambda g, q, w, i: (q * 4 + i, g), "c": C8},
    ("mma_m16n8k16", "8"): {
        "a": lambda g, q, w, i: (g if i < 4 else g + 8, q * 4 + (i & 3)),
        "b": lambda g, q, w, i: (q * 4 + i, g),
        "c": C,
    },
    ("mma_m16n8k32", "8"): {"a": A32, "b": B32, "c": C},
    ("mma_m16n8k4", "tf32"): {"a": lambda g, q, w, i: (g + 8 * i, q), "b": lambda g, q, w, i: (q, g), "c": C},
    ("mma_m16n8k8", "tf32"): {"a": A8, "b": lambda g, q, w, i: (q if i == 0 else q + 4, g), "c": C},
    ("mma_m8n8k32", "4"): {"a": lambda g, q, w, i: (g, q * 8 + i), "b": lambda g, q, w, i: (q * 8 + i, g), "c": C8},
    ("mma_m16n8k32", "4"): {
        "a": lambda g, q, w, i: (g if i < 8 else g + 8, q * 8 + (i & 7)),
        "b": lambda g, q, w, i: (q * 8 + (i & 7), g),
        "c": C,
    },
    ("mma_m16n8k64", "4"): {
        "a": lambda g, q, w, i: (g if 0 <= i < 8 or 16 <= i < 24 else g + 8, q * 8 + (i & 7) + (32 if i >= 16 else 0)),
        "b": lambda g, q, w, i: (q * 8 + (i & 7) + (32 if i >= 8 else 0), g),
        "c": C,
    },
    ("wgmma", "tf32"): {"a": lambda g, q, w, i: (w * 16 + A8(g, q, w, i)[0], A8(g, q, w, i)[1]), "c": D},
    ("wgmma", "16"): {"a": lambda g, q, w, i: (w * 16 + A16(g, q, w, i)[0], A16(g, q, w, i)[1]), "c": D},
    ("wgmma", "8"): {"a": lambda g, q, w, i: (w * 16 + A32(g, q, w, i)[0], A32(g, q, w, i)[1]), "c": D},
}
KIND = {
    "f64": "f64",
    "tf32": "tf32",
    "f16": "16",
    "bf16": "16",
    **dict.fromkeys(("i8", "u8", "e4m3", "e5m2"), "8"),
    "i4": "4",
    "u4": "4",
}


def places(operand: Operand, threads: int) -> Any:
    """The index of the element that each lane has in each cell: axis, lane, cell."""
    env = {"lane": np.arange(threads)[:, None], "cell": np.arange(operand.count)[None]}
    found = [evaluate(term, env) for term in operand.index(Var("lane"), Var("cell"))]
    return np.stack([np.broadcast_to(axis, (threads, operand.count)) for axis in found])


def title(one: Instruction) -> str:
    return f"{one.name}[{', '.join(o.dtype for o in one.operands)}]"


PRODUCTS = [one for one in EVERY if "mma" in one.name and one.operand("c").shape[1] in (8, 24, 256)]


@pytest.mark.parametrize("one", PRODUCTS, ids=title)
def test_fragments_are_those_of_the_manual(one: Instruction) -> None:
    name = one.name if one.level == "warp" else "wgmma"
    figures = FIGURES[name, KIND[one.operand("a").dtype]]
    for operand in one.operands:
        if operand.kind != "fragment":
            assert operand.kind == "descriptor" and one.level == "warpgroup"
            continue
        found, figure = places(operand, TOGETHER[one.level]), figures[operand.name]
        for thread, lane in enumerate([*range(32)] * (TOGETHER[one.level] // 32)):
            manual = [figure(lane >> 2, lane % 4, thread // 32, cell) for cell in range(operand.count)]
            assert found[:, thread].T.tolist() == [list(place) for place in manual]


@pytest.mark.parametrize("one", [one for one in EVERY if one.level == "warp"] + PRODUCTS[-2:], ids=title)
def test_fragments_are_one_to_one(one: Instruction) -> None:
    for operand in (o for o in one.operands if o.kind == "fragment"):
        threads = TOGETHER[one.level]
        found = places(operand, threads)
        assert len({*map(tuple, found.reshape(2, -1).T.tolist())}) == threads * operand.count == math.prod(operand.shape)
        there = {"i": found[0], "j": found[1]}
        assert (evaluate(operand.lane([Var("i"), Var("j")]), there) == np.arange(threads)[:, None]).all()
        assert (evaluate(operand.cell([Var("i"), Var("j")]), there) == np.arange(operand.count)).all()


def moved(one: Instruction) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """What the manual says that `ldmatrix` and `stmatrix` move, for `s` and `f` of the declaration: thread 8·m + r names row r of matrix m, and
    thread t has, in register m, of that matrix the 32 bits at number t % 4 of row t / 4; `.trans`, of 16 bits, those of columns."""
    rows, held = one.operand("s"), one.operand("f")
    beside = next(d.extent for line in rows.places for d in line if d.name == "e")  # elements of 16 bytes
    along = next(axis for axis, line in enumerate(rows.places) if any(d.name == "e" for d in line))
    step, trans = beside // 4, one.name.endswith("trans")
    first, second = np.ogrid[: rows.shape[0], : rows.shape[1]]
    lanes = np.broadcast_to(evaluate(rows.cell([Var("i"), Var("j")]), {"i": first, "j": second}), rows.shape)
    named = {int(lanes[i, j]): (i, j) for i, j in reversed([*np.ndindex(rows.shape)])}  # the first element of the row
    mine = places(held, 32)
    for thread in range(32):
        for cell in range(held.count):
            matrix, u = divmod(cell, step)
            row, number = thread // 4, thread % 4 * step + u
            row, number = (number, row) if trans else (row, number)
            start = named[8 * matrix + row]
            yield tuple(x + number * (axis == along) for axis, x in enumerate(start)), tuple(mine[:, thread, cell].tolist())


@pytest.mark.parametrize("one", [one for one in EVERY if "matrix" in one.name], ids=title)
def test_rows_go_where_the_manual_says(one: Instruction) -> None:
    (equation,) = one.op.equations
    (read,) = reads(equation.value)
    assert equation.value == Read(read.tensor, read.index, read.dtype)  # it moves, and nothing else
    for there, here in moved(one):
        target, source = (here, there) if equation.target == "f" else (there, here)
        values = dict(zip((axis.name for axis in equation.axes), target, strict=True))
        assert tuple(values[term.name] for term in read.index if isinstance(term, Var)) == source
    assert len({here for _, here in moved(one)}) == 32 * one.operand("f").count


def kernel(name: str, one: Instruction) -> str:
    """A kernel in PTX that does the instruction alone."""
    words, declared, before, after = {"descriptor": "desc", "rows": "there", "tensor": "there"}, [], [], []
    for operand in (o for o in one.operands if o.kind == "fragment"):
        kind = operand.dtype if operand.dtype in ("f64", "f32") else "b32"
        names = [f"%{operand.name}{n}" for n in range(operand.registers)]
        declared.append(f".reg .{kind} {', '.join(names)};")
        before += [f"ld.global.{kind} {register}, [p+{8 * n}];" for n, register in enumerate(names)]
        after += [f"st.global.{kind} [p+{8 * n}], {register};" for n, register in enumerate(names)]
        words[operand.name] = f"{{{', '.join(names)}}}"
    text = one.ptx.format(**{o.name: words.get(o.name, words.get(o.kind)) for o in one.operands})
    start = ".reg .b64 p, desc; .reg .b32 there; ld.param.u64 p, [q]; mov.u64 desc, p; cvt.u32.u64 there, p;"
    return "\n".join([f".visible .entry {name}(.param .u64 q) {{", *declared, start, *before, text, *after, "ret; }"])


def assembled(some: Sequence[Instruction], arch: str) -> None:
    """All of them go through the assembler for an architecture, each alone, without spills."""
    core = pytest.importorskip("cuda.core", reason="cuda-core is not installed: pip install 'tinygpu[cuda]'")
    text = "\n".join([f".version 8.8\n.target {arch}\n.address_size 64", *(kernel(f"k{n}", one) for n, one in enumerate(some))])
    options = core.LinkerOptions(arch=arch, verbose=True, ptxas_options=["-v"])
    linker = core.Linker(core.ObjectCode.from_ptx(text.encode()), options=options)
    assert some and bytes(linker.link("cubin").code) and "spill" not in linker.get_error_log()


@pytest.mark.parametrize("arch", sorted({arch for one in EVERY for arch in one.archs if "tcgen05" not in one.ptx}))
def test_each_is_taken_by_the_assembler_of_each_architecture_that_it_names(arch: str) -> None:
    mine = [one for one in EVERY if arch in one.archs and "tcgen05" not in one.ptx]
    assembled([one for one in mine if one.level == "warp" or one.operand("c").shape[1] in (8, 24, 256)], arch)
