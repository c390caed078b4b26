"""Rings of barriers and tensor copies, as kernels call them: of each step the barrier, the parity and the count, and a whole kernel with roles as machine code.

Comes in: steps of a ring at turns that are numbers, and a kernel by hand. Goes out: PTX, read down to numbers; the assembler's report. The one idea: at a turn that
is a number the compiler folds all that a step computes, so what is left can be compared with the definition, turn for turn.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import pytest

from benchmarks.machine_code import assembled, disassembled, disassembler, loops, read_disassembly
from tests.emit.test_cuda_prelude import needs_cuda
from tinygpu import runtime
from tinygpu.run.gate import code_of, linked, report_of

ARCH = (9, 0, "a")
SLOTS = 4


def ptx(step: str, slots: int, counts: tuple[int, ...], turn: int, bits: int = 32) -> str:
    """The PTX of one step at a turn."""
    names, made = needs_cuda(), runtime.loaded()
    call, shared, ix = made.ring(step, slots, *counts), made.shared_memory(4096), getattr(names, f"i{bits}")
    i64 = names.i64

    def kernel() -> None:
        call(shared(i64, 1024), ix(turn))

    return str(made._Cuda("a_step", lambda bits, wide: (kernel, names.void()), 64, ARCH, "").ptx(ARCH, 32, True))


def asked(text: str) -> list[tuple[str, ...]]:
    """The texts of the assembler in it, with numbers for registers; addresses are those in the block's memory."""
    known, found = dict[str, int](), []
    for line in text.splitlines():
        if moved := re.fullmatch(r"\s*(?:mov|cvt\.u32)\.\w+\s+(%\w+), (%rd\d+|shared_memory|-?\d+);", line):
            known[moved[1]] = 0 if moved[2] == "shared_memory" else known[moved[2]] if moved[2] in known else int(moved[2])
        elif added := re.fullmatch(r"\s*add\.s\d+\s+(%\w+), (%\w+), (-?\d+);", line):
            known[added[1]] = known[added[2]] + int(added[3])
        elif line.strip().startswith("{ .reg"):
            numbered = re.sub(r"%\w+", lambda m: str(known.get(m[0], "?")), line)
            found.append(tuple(one.strip() for one in re.findall(r"[^;{}]+(?=;)", numbered)))
    return found


def waits(address: int, parity: int) -> tuple[str, ...]:
    return (".reg .pred p", f"wait: mbarrier.try_wait.parity.shared::cta.b64 p, [{address}], {parity}", "@!p bra wait")


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("slots", [1, 3, 4])
def test_a_turn_is_a_slot_and_a_parity(slots: int, bits: int) -> None:
    for turn in (0, 1, slots, 2 * slots - 1, 2**31 - 1):
        full = 1024 + 8 * (turn % slots)
        empty, odd = full + 8 * slots, turn // slots % 2
        assert asked(ptx("use", slots, (), turn, bits)) == [waits(full, odd)]
        assert asked(ptx("fill", slots, (), turn, bits)) == [waits(empty, 1 - odd)]
        (arrive,) = asked(ptx("filled", slots, (), turn, bits))
        assert arrive[2:] == ("bar.warp.sync 0xffffffff", f"@p mbarrier.arrive.shared::cta.b64 _, [{full}]")
        (arrive,) = asked(ptx("used", slots, (0,), turn, bits))
        assert arrive[2:] == ("bar.warp.sync 0xffffffff", f"@p mbarrier.arrive.shared::cta.b64 _, [{empty}]")


@pytest.mark.parametrize("turn", range(5))
def test_a_slot_is_given_back_later(turn: int) -> None:
    (arrive,) = asked(ptx("used", 3, (2,), turn))
    assert ("setp.ne.u32 p, 0, 0" in arrive) == (turn < 2), arrive  # then no lane arrives
    assert turn < 2 or f"[{1024 + 24 + 8 * ((turn - 2) % 3)}]" in arrive[-1]


def test_the_barriers_are_made_before_anybody_waits() -> None:
    (made,) = asked(ptx("begin", 3, (2, 8), 5))
    counts = [f"@p mbarrier.init.shared::cta.b64 [{1064} + {8 * n}], {2 if n < 3 else 8}" for n in range(6)]
    fences = ("@p fence.mbarrier_init.release.cluster", "@p fence.proxy.async.shared::cta")
    assert made[2:] == (*counts, *fences, "bar.sync 0")


def product(roles: bool) -> Any:
    """The kernel of a product of halves: a warpgroup copies boxes of both operands, two multiply."""

    def make(bits: int, wide: bool) -> Any:
        names, ours = needs_cuda(), runtime.loaded()
        names = ours.cuda_names(bits)
        cuda, ix, i64, u16, f32 = names.cuda, names.ix, names.i64, names.u16, names.f32
        div, mod, ceil = (ours.division(what) for what in ("div", "mod", "ceil"))
        shared, upto, unrolled = ours.shared_memory(0), ours.counted(), ours.counted("unrolled")
        begin, fill = ours.ring("begin", SLOTS, 4, 8), ours.ring("fill", SLOTS)
        filled, use, used = ours.ring("filled", SLOTS), ours.ring("use", SLOTS), ours.ring("used", SLOTS, 1)
        few, many = ours.registers(40, "dec"), ours.registers(232, "inc")
        copy = ours.tensor_copy(2, SLOTS, 2 * 32 * 64)
        held = "acc:rw:64"
        fence, wait = ours.matrix("wgmma.fence.sync.aligned;", held), ours.matrix("wgmma.wait_group.sync.aligned 1;", held)
        commit, last = ours.matrix("wgmma.commit_group.sync.aligned;", ""), ours.matrix("wgmma.wait_group.sync.aligned 0;", held)
        tile = f"tile:{1 << 62 | 64 << 32 | 1 << 16}"
        multiply = ours.matrix(
            "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {c}, {a}, {b}, 1, 1, 1, 0, 1;", f"c:rw:64 a:{tile} b:{tile}"
        )

        def kernel(C, K, of_a, of_b):  # type: ignore[no-untyped-def]
            thread = ix(cuda.threadIdx.x)
            group, warp, row = div(thread, ix(128)), mod(div(thread, ix(32)), ix(4)), ix(cuda.blockIdx.x) * ix(128)
            tiles, sA, sB = shared(i64, 0), shared(u16, 1024), shared(u16, 1024 + 4 * 2 * 128 * 64)
            acc = cuda.local.array(64, f32)
            begin(tiles, ix(0))
            if group == ix(2):
                if roles:
                    few()
                for ko in upto(ceil(K, ix(64))):
                    fill(tiles, ko)
                    slot = mod(ko, ix(4)) * ix(8192) + warp * ix(2048)
                    copy(sA, slot, tiles, ko, of_a, row + warp * ix(32), ko * ix(64))
                    copy(sB, slot, tiles, ko, of_b, ko * ix(64) + warp * ix(16), ix(0))
                    filled(tiles, ko)
            else:
                if roles:
                    many()
                for n in unrolled(ix(64)):
                    acc[n] = f32(0)
                for ko in upto(ceil(K, ix(64))):
                    use(tiles, ko)
                    fence(acc, ix(0))
                    for kk in unrolled(ix(4)):
                        slot = mod(ko, ix(4)) * ix(8192)
                        multiply(acc, ix(0), sA, slot + group * ix(4096) + kk * ix(16), sB, slot + kk * ix(2048))
                    commit()
                    wait(acc, ix(0))
                    used(tiles, ko)
                last(acc, ix(0))
                for n in unrolled(ix(64)):
                    C[thread * ix(64) + n] = acc[n]

        return kernel, names.void(names.pointer(f32), ix, names.u64, names.u64)

    return make


@pytest.mark.parametrize("bits", [32, 64])
def test_a_kernel_of_roles_is_what_one_would_write(bits: int) -> None:
    needs_cuda()
    kernel = runtime.loaded()._Cuda("a_product", product(True), 384, ARCH, "", 2**17 + 1024, maps=2)
    assert [kernel.ptx(ARCH, bits, wide).count(".param .align 128 .b8 a_product_param_") for wide in (True, False)] == [2, 0]
    code = code_of(kernel.library(ARCH, bits, True), ARCH)
    assert isinstance(code, bytes) and not re.search(r"ignored|serializ", str(linked([code], ARCH)))
    (report,) = assembled([("a_product", code)], ARCH)
    assert (report.registers, report.stack_bytes, report.spill_bytes) == (168, 0, 0)
    if not disassembler():
        return
    (instructions,) = read_disassembly(disassembled(kernel.compile(ARCH, bits, True))).values()
    assert [i.name for i in instructions] == [i.name for i in report.instructions]
    named = Counter(i.name.split(".")[0] for i in instructions)
    assert named["USETMAXREG"] == 2 and not named["LDL"] + named["STL"]
    inside = [Counter(i.name.split(".")[0] for i in loop) for loop in loops(instructions)]
    assert any(loop["HGMMA"] == 4 and loop["SYNCS"] == 2 for loop in inside)  # a wait that passes, an arrival
    assert any(loop["UTMALDG"] >= 2 and loop["SYNCS"] == loop["UTMALDG"] * 2 for loop in inside), inside  # each is expected, too


def test_a_text_alone_may_be_part_of_a_program_and_so_leaves_registers_as_they_are() -> None:
    """Which is why such a kernel is assembled from what comes before its text."""
    needs_cuda()
    for roles in (True, False):
        kernel = runtime.loaded()._Cuda("a_product", product(roles), 384, ARCH, "")
        _, said = linked([kernel.ptx(ARCH, 32, True)], ARCH)
        assert report_of("a_product", said["a_product"]).stack_bytes == 0
        assert ("'setmaxnreg' ignored" in said[""]) == roles
