"""Programs with an edit that makes them wrong: the simulator names the fault, the threads, the turns and the element, in lockstep and in other orders.

Comes in: texts, and edits of them. Goes out: a failure where another fault is named, or none. The one idea: what `tests/obligations/together` has of wrong
programs is seen going wrong there; here is what is said of each kind of fault.
"""

from __future__ import annotations

import pytest

from tests.program.library import TEXTS, disagreements, first_disagreement, program, shipped
from tinygpu.program.render import standalone
from tinygpu.program.step import Program
from tinygpu.simulate.fault import Divergent, Fault, Race, sentence
from tinygpu.simulate.inputs import random_inputs
from tinygpu.simulate.simulate import simulate

ALL = TEXTS | {
    name: standalone(shipped(*spec)) for name, spec in {"saxpy": ("saxpy", "saxpy_v4"), "matmul": ("matmul", "matmul_tile")}.items()
}
SIZES = {"n": 256, "m": 7, "M": 40, "N": 40, "K": 20, "R": 4}
TOTAL = TEXTS["total_block"].partition("machine")[0]


def edited(name: str, *pairs: str) -> Program:
    text = ALL[name]
    for old, new in zip(pairs[::2], pairs[1::2], strict=True):
        assert old in text, old
        text = text.replace(old, new)
    return program(text)


def faults(made: Program, order: int | None = None, vectorise: bool = True, **sizes: int) -> tuple[Fault, ...]:
    mine = {s: (SIZES | sizes)[s] for s in made.op.sizes}
    return simulate(made, mine, random_inputs(made.op, mine), order=order, vectorise=vectorise).faults


def kinds(made: Program, order: int | None = None, **sizes: int) -> set[str]:
    return {f"{f.kind} {f.array}" if isinstance(f, Race) else type(f).__name__ for f in faults(made, order, **sizes)}


def one_block(step: str) -> Program:
    lines = "\n".join(f"    {line}" for line in step.splitlines())
    return program(f"{TOTAL}machine m : total {{\n  work block = (t: 64)\n  program {{\n    shared p: f32[64]\n    local a: f32[]\n    p[t] = 0\n    barrier\n{lines}\n    s[] = 0 if t < 1\n  }}\n}}\n")  # fmt: skip


I, GUARD = "g*1024 + t*4 + v", "if g*1024 + t*4 + v < n"
MAIN = "atomic h[x[g*256 + t]] += 1 if g*256 + t < n"
SAID = {  # an edit, sizes, and what is said first: sizes are those of SIZES where none are said
    "a weak guard": (("saxpy", GUARD, GUARD.replace("<", "<=")), {"n": 1030}, "g=1 t=1 at v=2: x[1030] is outside: axis 0 has extent 1030"),
    "a strong guard": (("saxpy", GUARD, f"if {I} < n - 2"), {"n": 9}, "z[7] is never stored"),
    "twice by one thread": (("saxpy", f"z[{I}]", f"z[{I} % 2]"), {"n": 6}, "g=0 t=0 at v=2: z[0] is stored again, after g=0 t=0 at v=0"),
    "twice by two threads": (("saxpy", f"z[{I}]", "z[g*1024 + v]"), {"n": 8}, "g=0 t=1 at v=0: z[0] is stored again, after g=0 t=0 at v=0"),
    "twice by two blocks": (("saxpy", f"z[{I}]", "z[t*4 + v]"), {"n": 2000}, "g=1 t=0 at v=0: z[0] is stored again, after g=0 t=0 at v=0"),
    "no start": (("matmul", "acc[ri, rj] = 0", "acc[ri, rj] = 0 if ri > 7"), {"M": 3, "N": 3, "K": 2}, "by=0 bx=0 ty=0 tx=0 at k=0 ri=0 rj=0: acc[0, 0] is read before this thread has written it"),
    "no start and no turn": (("matmul", "acc[ri, rj] = 0", "acc[ri, rj] = 0 if ri > 7"), {"M": 3, "N": 3, "K": 0}, "by=0 bx=0 ty=0 tx=0 at ri=0 rj=0: acc[0, 0] is read before this thread has written it"),
    "an output that is updated": (("saxpy", "] = a *", "] += a *", "  z[i] += a", "  z[i] = a"), {"n": 3}, "g=0 t=0 at v=0: z[0] is an output and is read"),
    "a quotient by 0": (("saxpy", f"z[{I}]", f"z[{I} + 0 // ({I} - 5)]"), {"n": 8}, "g=0 t=1 at v=1: division by zero or of a negative number in 0 // (g*1024 + t*4 + v - 5)"),
    "a transposed read": (("matmul", "B[k, bx*64 + tx*8 + rj]", "B[bx*64 + tx*8 + rj, k]"), {"M": 4, "N": 5, "K": 2}, "by=0 bx=0 ty=0 tx=0 at k=0 rj=2: B[2, 0] is outside: axis 0 has extent 2"),
    "a cell behind the last": (("matmul", "{ a[ri]", "{ a[ri + 1]"), {"M": 4, "N": 4, "K": 1}, "by=0 bx=0 ty=0 tx=0 at k=0 ri=7: a[8] is outside: axis 0 has extent 8"),
    "the start of a block": (("ring_difference", "s[t] = x[b*256 + t]", "s[t] = x[b*256 + t] if t > 0"), {"n": 512}, "b=0 t=0: s[0] is read before any thread of the block has written it"),
    "a part that is missing": (("total_two", "part[g] = a[] if t < 1", "part[g] = a[] if t < 1 and g < 200"), {}, "the only thread at g=200: part[200] is read before an earlier launch has written it"),
    "an update of nothing": (("histogram_atomic", "t < m", "t < m - 7"), {"n": 1}, "g=0 t=0: h[0] is read before an earlier launch has written it"),
    "no barrier": (("ring_difference", "    barrier\n", ""), {}, "b=0 t=0: reads s[1], which b=0 t=1 writes, with nothing between them"),
    "no barrier after the readers": (("matmul_tiled", "barrier\n    }", "}"), {}, "by=0 bx=0 ty=0 tx=0 at ko=1: writes a[0, 0], which by=0 bx=0 ty=0 tx=15 at ko=0 ki=0 reads, with nothing between them"),
    "not atomic": (("histogram_atomic", "atomic h[", "h["), {}, "g=0 t=0: writes h[0], which g=0 t=235 reads, with nothing between them"),
    "atomic and not": (("histogram_atomic", MAIN, f"{MAIN}\n h[g*256 + t] = 0 if g*256 + t < m"), {}, "g=0 t=0: writes h[0], which g=0 t=235 updates, with nothing between them"),
    "two updates": (("histogram_atomic", MAIN, f"{MAIN}\n atomic h[0] max= 1"), {}, "g=0 t=0: updates h[0], which g=0 t=235 updates, with nothing between them"),
    "read where it is left": (("total_two", "part[g] = a[] if t < 1", "part[g] = a[] if t < 1\n a[] = part[g]"), {}, "g=0 t=1: reads part[0], which g=0 t=0 writes, with nothing between them"),
    "a fact that is none": (("total_two", "s[] = b[]", "b[] holds sum[k < 0] part[k]\n s[] = b[]"), {}, "the only thread: b[] is 12.376946449279785, not 0.0 as the program says"),
    "a cell that is declared again": (("total_block", "p[t] = a[]\n", "for q < 2 { local e: f32[]\n e[] = 0 if q < 1\n e[] += 1 }\n p[t] = a[]\n"), {}, "t=0 at q=1: e[] is read before this thread has written it"),
    "a warp of 24": (("row_max_warp", "w: 4, lane: 32", "w: 3, lane: 24"), {}, "g=0 w=2 lane=16: the shuffle_xor means a lane that its warp does not have"),
}  # fmt: skip


@pytest.mark.parametrize("name", SAID)
def test_what_is_said(name: str) -> None:
    edits, sizes, said = SAID[name]
    made = edited(*edits)
    first, *_ = faults(made, **sizes)
    assert sentence(first) == said
    for order in (None, 1, 2):
        assert type(first) in {type(f) for f in faults(made, order, vectorise=order is not None, **sizes)}


def test_a_few_faults_of_a_step_are_kept_and_others_have_room() -> None:
    both = edited("matmul", "acc[ri, rj] = 0", "acc[ri, rj] = 0 if ri > 7", "tx*8 + rj < N\n", "tx*8 + rj <= N\n")
    assert kinds(both, M=5, N=5, K=40) == {"Uninitialised", "OutOfBounds"} and len(faults(both, M=5, N=5, K=40)) <= 20
    sizes = {"M": 5, "N": 5, "K": 40}
    assert len(simulate(both, sizes, random_inputs(both.op, sizes), cap=2).faults) == 2
    races = faults(edited("transpose_padded", "    barrier\n", ""), M=64, N=64)
    assert 1 <= len(races) <= 3 and len({(f.at, f.first) for f in races if isinstance(f, Race)}) == len(races)


VALUES = {  # edits without a fault; the reference sees that what is stored is wrong
    "rows of a tile reversed": ("matmul", "{ a[ri] =", "{ a[7 - ri] ="),
    "one operand twice": ("matmul", "a[ri] * b[rj]", "a[ri] * a[ri]"),
    "a tile transposed": ("matmul", "= acc[ri, rj]", "= acc[rj, ri]"),
    "another monoid": ("matmul", "acc[ri, rj] +=", "acc[ri, rj] max="),
    "a loop that is too short": ("matmul", "k < K", "k < K - 1"),
}


@pytest.mark.parametrize("name", VALUES)
def test_what_is_wrong_without_a_fault_is_found_by_the_reference(name: str) -> None:
    made = edited(*VALUES[name])
    assert faults(made, M=64, N=64, K=3) == () and "C[" in first_disagreement(made)


def test_what_does_not_matter_is_no_fault() -> None:
    assert first_disagreement(edited("matmul", "ri < M else 0", "ri < M else 1")) == ""  # what fills a tail is never stored
    weak = edited("saxpy", GUARD, "")
    assert not disagreements(weak, {"n": 1024}) and first_disagreement(weak).startswith("at n = 1: ")
    assert faults(edited("histogram_atomic", MAIN, f"{MAIN}\n{MAIN}")) == ()  # each element twice, and no race


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        ("p[t // 2] = 1", "write-write"),
        ("p[0] = 1", "write-write"),
        ("p[t] = p[(t + 1) % 64]", "read-write"),
        ("p[t % 32] += 1", "read-write"),
        ("p[t] = 1\natomic p[(t + 1) % 64] += 1", "write-write"),
        ("atomic p[t] += 1\np[(t + 1) % 64] = 1", "write-write"),
        ("atomic p[t] += 1\na[] = p[(t + 1) % 64]", "write-read"),
        ("a[] = p[(t + 33) % 64]\natomic p[t] += 1", "read-write"),
        ("warp barrier\np[t] = 1\nwarp barrier\na[] = p[(t + 32) % 64]", "write-read"),
    ],
)
def test_what_is_a_race(step: str, kind: str) -> None:
    made = one_block(step)
    assert kinds(made) == {f"{kind} p"} and any(isinstance(f, Race) for f in faults(made, 1))


@pytest.mark.parametrize(
    "step",
    [
        "p[t] = 1\na[] = p[t]\np[t] += 1",
        "atomic p[t // 2] += 1\natomic p[0] += 1",
        "p[t] = 1\nbarrier\na[] = p[63 - t]\nbarrier\np[t] = 2",
        "p[t] = 1 if t < 1\na[] = p[0] if t < 1",
        "p[t] = 1\nwarp barrier\na[] = p[t // 32 * 32 + (t + 1) % 32]\nwarp barrier\np[t] = 2",
        "atomic p[0] += 1\nbarrier\na[] = p[0]",
        "for k < 3 { p[t] = p[t] + 1 }",
        "if t < 32 { warp barrier }",
        "a[] = 0\nif t // 32 < 1 { a[] = shuffle_down(a[], 1) }",
    ],
)
def test_what_is_none(step: str) -> None:
    assert [kinds(one_block(step), order) for order in (None, 1, 2)] == [set()] * 3


@pytest.mark.parametrize(
    ("step", "word"),
    [
        ("if t < 40 { barrier }", "barrier"),
        ("if t < 40 { warp barrier }", "warp barrier"),
        ("a[] = 0\na[] = shuffle_xor(a[], 1) if t % 32 != 7", "shuffle_xor"),
    ],
)
def test_collectives_want_everybody(step: str, word: str) -> None:
    first = next(f for f in faults(one_block(step)) if isinstance(f, Divergent))
    assert (
        first.collective == word and first.missing is not None and first.missing.lane != first.at.lane and word in sentence(first)
    )


@pytest.mark.parametrize("name", ["ring_difference", "total_block", "transpose_padded"])
def test_without_a_barrier_some_order_gives_another_result(name: str) -> None:
    made = edited(name, "    barrier\n", "")
    mine = {s: SIZES[s] for s in made.op.sizes}
    right, *others = (
        next(iter(simulate(made, mine, random_inputs(made.op, mine), order=o).outputs.values())) for o in (None, 1, 2, 3, 4)
    )
    assert not all((right == other).all() for other in others)


def test_each_element_is_stored_once_in_a_launch_and_is_there_in_the_next() -> None:
    again = "launch (grid = (), block = ()) {{ {} }}"
    last = "machine m : total {{ program {{ {} }} }}"
    for steps, kind in (
        (("s[] = 0", "for k < n { s[] += x[k] }"), {"DoubleStore"}),
        (("s[] = 1", "local a: f32[]\na[] = -1\nfor k < n { a[] += x[k] }\ns[] += a[]", "s[] = s[]"), set()),
        (("s[] += 1",), {"ReadOutput"}),
    ):
        made = program(TOTAL + last.format("\n".join(map(again.format, steps))))
        assert kinds(made) == kind and (kind or not disagreements(made, {"n": 9}))
