"""`tinygpu show --cost` and `tinygpu check --notes`: pages, plain data, notes, bad input; and devices.

Comes in: shipped specs at given sizes. Goes out: golden pages, numbers that anybody can work out by hand.
The one idea: a prediction is a number that somebody can check.
"""

from __future__ import annotations

import json

import pytest

from tests.emit.test_cuda_prelude import needs_cuda
from tests.program import library
from tinygpu.cli import main
from tinygpu.cost.closed import shown
from tinygpu.cost.measure import measure
from tinygpu.cost.on_device import Assembled, bounds, filled, without_caches
from tinygpu.cost.table import page
from tinygpu.hardware import arch
from tinygpu.hardware.arch import ARCHITECTURES, arch_named, device_named, devices, resident, room_of
from tinygpu.pipeline import program
from tinygpu.program.call import Applied, Sync

BIG = {"M": 4096, "N": 4096, "K": 4096}


def cost_of(spec: str, machine: str, sizes: dict[str, int]):
    return measure(program(library.machine(spec, machine)), sizes)


@pytest.mark.parametrize(
    ("spec", "machine", "sizes"),
    [
        ("matmul_shared", "matmul_128x128", BIG),
        ("softmax", "softmax_warp", {"R": 4096, "N": 4096}),
        ("transpose", "transpose_naive", {"M": 4096, "N": 4095}),
        ("histogram", "histogram_atomic", {"n": 1 << 20, "B": 256}),
        ("tensor_cores", "float8_mma[MI=2]", BIG),
    ],
)
def test_a_page(spec: str, machine: str, sizes: dict[str, int], golden) -> None:
    device, cost = device_named("h100"), cost_of(spec, machine, sizes)
    assert device is not None
    on = filled(cost, device.arch, device, [Assembled(64, 0, 0, c.shared_bytes) for c in cost.launches])
    golden(f"cost/{machine.partition('[')[0]}.txt", page(cost, machine, device, device.arch, on) + "\n")


def test_a_product_of_matrices_by_hand() -> None:
    """Each of 32 columns of blocks reads all of A, and each of 32 rows all of B: 64 MiB, 32 times."""
    cost = cost_of("matmul_shared", "matmul_128x128", BIG)
    whole = 4096 * 4096 * 4
    assert {f.array: f.moved for f in cost.flows} == {"A": 32 * whole, "B": 32 * whole, "C": whole}
    assert cost.once == 3 * whole and cost.flops.number == 2 * 4096**3
    assert cost.launches[0].barriers.number == 2 * 4096 // 8
    device = device_named("h100")
    assert device is not None
    assert bounds(cost, device)[0].seconds == pytest.approx(2 * 4096**3 / 66.9e12, rel=1e-3)
    assert without_caches(cost, device) == pytest.approx(65 * whole / 3.35e12)


def test_a_product_of_the_tensor_cores_by_hand() -> None:
    """No scalar arithmetic, and of each tile of 16 × 16 an `ldmatrix_x4` reads 512 bytes in 4 turns, of which none waits: each warp reads its 64 rows of A and
    columns of B for each step of 16, so 2 × 2 warps read a tile of each twice."""
    cost, device = cost_of("tensor_cores", "half_ring[T=f16, MI=4]", BIG), device_named("h100")
    assert device is not None and [(kind, dtype, c.number) for kind, dtype, c in cost.operations] == [
        ("tensor", "f16→f32", 4096**3)
    ]
    rows = [one for one in cost.lines if one.access.by]
    assert [one.access.by for one in rows] == ["ldmatrix_x4", "ldmatrix_x4_trans"]
    for one in rows:
        assert one.tally is not None and one.tally.worst == 1 and one.asked.number == 2 * 4096**3 // 128
        assert one.tally.units == one.tally.fewest == 4 * one.tally.requests == one.asked.number * 2 // 128
    found = {b.what: b.seconds for b in bounds(cost, device)}
    assert "FP32 arithmetic" not in found
    assert found["tensor arithmetic"] == pytest.approx(2 * 4096**3 / (4096 * 132 * 1.98e9))


@pytest.mark.parametrize("machine", ["half_wgmma[T=f16, MI=1]", "float8_wgmma"])
def test_what_units_read_behind_descriptors_by_hand(machine: str) -> None:
    """A product of 64 × N × k reads its tile of each operand once: of B as often as there are 64 rows of C, of A as often as there are N columns."""
    cost, item = cost_of("tensor_cores", machine, BIG), 2 if "half" in machine else 1
    (made,) = {one.begins.instruction for one in cost.program.steps if isinstance(one, Sync) and isinstance(one.begins, Applied)}
    rows, columns = made.operand("c").shape
    assert len(cost.tiles) == 2
    wanted = {4096**3 // columns * item, 4096**3 // rows * item}
    assert {count.number for _, count in cost.tiles} == wanted and all(count.exact for _, count in cost.tiles)
    assert "by descriptors" in page(cost, machine) and not cost_of("tensor_cores", "half_ring[T=f16, MI=2]", BIG).tiles


def test_a_swizzle_far_away_is_counted_at_any_length() -> None:
    """Which tile of the ring it is moves no bank, so a fold of 2²⁴ is counted as one of 32 is."""
    cost = cost_of("tensor_cores", "half_ring[T=f16, MI=2]", {"M": 64, "N": 64, "K": 1 << 24})
    assert {one.tally and one.tally.worst for one in cost.lines if one.shared} == {1}


def test_sizes_that_no_tile_divides() -> None:
    """The form is of all sizes: here the last blocks are nearly empty."""
    sizes = {"M": 129, "N": 257, "K": 5}
    flows = {f.array: f for f in cost_of("matmul_shared", "matmul_128x128", sizes).flows}
    assert shown(flows["A"].asked.closed) == "K·M·⌈N/128⌉" and flows["A"].asked.number == 5 * 129 * 3
    assert flows["C"].asked.number == 129 * 257


def test_plain_data(capsys) -> None:
    assert main(["show", "specs/transpose.tgpu", "--cost", "M=64", "N=64", "--output-format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)["costs"]
    naive = next(one for one in found if one["machine"] == "transpose_naive")
    assert naive["predicted"] and [n["code"] for n in naive["notes"]] == ["TG601"]
    assert [a["sectors"] for a in naive["accesses"]] == [512, 4096]
    assert naive["memory"][0]["asked_elements"] == {"number": 4096, "exact": True, "form": "M·N"}


def test_a_kernel_for_one_architecture_alone_is_assembled_for_it(capsys) -> None:
    """And is none on another device, which is said."""
    needs_cuda()
    assert (
        main(["show", "specs/tensor_cores.tgpu", "half_roles[T=f16, G=2]", "--cost", "M=512", "N=512", "K=512", "--device", "h100"])
        == 0
    )
    assert "registers a thread" in capsys.readouterr().out
    assert main(["show", "specs/tensor_cores.tgpu", "half_roles[T=f16, G=2]", "--cost", "--device", "a100"]) == 0
    assert "is on sm_90a, and does not run on NVIDIA A100" in capsys.readouterr().out


PEAKS = {
    "h100": 66.9,
    "h200": 66.9,
    "a100": 19.5,
    "rtx4090": 82.6,
    "rtx3090": 35.6,
    "l4": 30.3,
    "t4": 8.1,
    "orin": 5.3,
    "b200": 75.0,
    "rtxpro6000": 126.0,
}


@pytest.mark.parametrize("name", devices())
def test_the_peak_of_a_device_is_that_of_its_data_sheet(name: str) -> None:
    device = device_named(name)
    assert device is not None and round(device.fp32_flops / 1e12, 1) == PEAKS[name]


TENSOR = {"h100": 989.4, "h200": 989.4, "a100": 311.9, "rtx4090": 165.2, "rtx3090": 71.2, "l4": 121.1, "t4": 65.1, "orin": 42.6}
TENSOR |= {"b200": 2250.0, "rtxpro6000": 503.8}
TENSOR_CLOCK = {
    "h100": 1830_000_000,
    "h200": 1830_000_000,
    "b200": 1855_000_000,
}  # at which their data sheet counts; they do reach their other one


@pytest.mark.parametrize("name", devices())
def test_the_peak_of_the_tensor_cores_is_that_of_the_data_sheet(name: str) -> None:
    device = device_named(name)
    assert device is not None and (each := device.tensor_flops("f16→f32")) is not None
    clocks = device.multiprocessors * TENSOR_CLOCK.get(name, device.clock_hertz)
    assert each * clocks / 1e12 == pytest.approx(TENSOR[name], rel=2e-3)


def test_the_table_of_limits_is_what_the_files_say() -> None:
    """If not: python -m tinygpu.hardware.arch."""
    assert (arch.HERE / "limits.json").read_text(encoding="utf-8") == arch.table()


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_what_blocks_share_fits_the_limits_of_a_block(name: str) -> None:
    room, limits = room_of(name), arch_named(name)
    assert room.shared_bytes_per_multiprocessor == limits.shared_bytes_per_block_opt_in + room.shared_reserved_bytes
    full = resident(name, limits.threads_per_block, 32, 0)
    assert full.blocks == limits.threads_per_multiprocessor // limits.threads_per_block
    assert resident(name, 32, 255, 0).warps == room.registers_per_multiprocessor // 4 // (255 * 32 // 256 * 256 + 256) * 4
    assert resident(name, 32, 32, limits.shared_bytes_per_block_opt_in).because == "shared memory"
