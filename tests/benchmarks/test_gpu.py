"""The benchmark on a GPU, driven from end to end on a driver that is a stand-in: every stage runs, and what it finds is what is there.

Comes in: `python -m benchmarks.gpu --quick`, with no GPU and no other library. Goes out: its table and its file.
The one idea: at a launch the stand-in computes the equation, so a machine is right, or wrong where the test says so; no time means anything.
"""

from __future__ import annotations

import json
import time

import pytest

from benchmarks.gpu import correct, proxies
from benchmarks.gpu.cases import CASES
from benchmarks.gpu.ready import Made, machines
from benchmarks.gpu.table import table
from benchmarks.gpu.timing import Timed
from tests.emit import fake_driver

PLAY = """
import ctypes, sys
from pathlib import Path
import numpy as np
from benchmarks.gpu import __main__ as command, host, ready
from benchmarks.gpu.device import TYPES
from tests.emit.fake_driver import Driver
from tinygpu.category.evaluate import evaluate
from tinygpu.emit.cuda import kernel_parameters
from tinygpu.simulate.reference import reference

BROKEN, folder = sys.argv[1], Path(sys.argv[2])
fake, real, works, done = Driver(), ready.load, {}, set()

def named(text, spec):
    module = real(text, spec)
    title = next(t for t in ready.machines(spec) if f"{t} : " in text.split('\"\"\"')[1])
    objects = [one for name, value in vars(module).items() if name.endswith("_launch") for one in value.cuda]
    for number, one in enumerate(objects):
        works[one.key] = spec, title, number + 1 == len(objects)
        one.cubin = lambda arch, bits, wide, key=one.key: key.encode() + bytes(1)
    return module

def at(pointer, shape, dtype):
    count = int(np.prod(shape, dtype=np.int64)) * np.dtype(TYPES[dtype]).itemsize
    raw = (ctypes.c_uint8 * max(1, count)).from_address(pointer)
    return np.frombuffer(raw, np.uint8, count).view(TYPES[dtype]).reshape(shape)

def number(value, dtype):
    return np.frombuffer(value.to_bytes(8, "little"), TYPES[dtype], 1)[0]

def launched(code, name, blocks, threads, shared, stream, context, values):
    if (code, *values) in done or code not in works:
        return
    spec, title, last = works[code]
    if not last:
        return
    done.add((code, *values))
    work = ready.program(spec, title)
    op, given = work.op, dict(zip([p.name for p in kernel_parameters(work, work.launches[-1])], values))
    sizes = {s: int(given[s]) for s in op.sizes}
    def shape(tensor):
        return tuple(int(evaluate(e, sizes)) for e in tensor.shape)
    def held(tensor):
        if not tensor.shape:
            return number(given[tensor.name], tensor.dtype)
        values = at(given[tensor.name], shape(tensor), tensor.dtype)
        return (values.astype(np.uint32) << 16).view(np.float32) if tensor.dtype == "bf16" else values
    want = reference(op, sizes, {t.name: held(t) for t in op.inputs})
    for tensor in op.outputs:
        values = np.asarray(want[tensor.name])
        if title == BROKEN and values.size:
            values = np.array(values)
            values.flat[-1] += 1000
        if tensor.dtype == "bf16":
            values = (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        at(given[tensor.name], shape(tensor), tensor.dtype)[...] = values.astype(TYPES[tensor.dtype])

ready.load = host.load = named
fake.on_launch(16, launched)
status = command.main(sys.argv[3:], folder)
assert fake.noted().count("cuLaunchKernel") > 10
print("status", status)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return fake_driver.built(tmp_path_factory.mktemp("driver"))


def played(folder, broken, *arguments):
    out = fake_driver.run(folder, PLAY, broken, str(folder), *arguments, "--quick", "--workers", "0", "--no-peers", seconds=900)
    return out, json.loads((folder / "gpu.json").read_text(encoding="utf-8"))


def test_every_stage_runs(folder):
    out, found = played(folder, "", "--only", "^(saxpy|total|cast|histogram)$")
    assert "failed" not in found and out.endswith("status 0\n"), out
    assert found["gpu"]["name"] == "no GPU at all" and found["gpu"]["capability"] == [9, 0]
    assert found["ceilings"]["copy, the driver's copy"] > 0 and found["ceilings"]["read, a kernel that reads"] > 0
    machines_ = {t for spec in ("saxpy", "total", "cast", "histogram") for t in machines(spec)}
    assert found["correct"]["right"] == len(machines_) + len(machines("cast")) - len({*machines("cast")})
    assert not found["correct"]["wrong"] and not found["correct"]["refused"] and not found["correct"]["left"]
    names = [case.name for case in CASES if case.spec in ("saxpy", "total", "cast", "histogram")]
    assert {r["case"] for r in found["cases"]} == {*names} and all(r["us"] > 0 and r["graph"] for r in found["cases"])
    assert found["host"]["ours, an array interface"]["us"] > 0
    assert "saxpy_v4" in out and "≥ 0.97 of copy ceiling" in out and "≥ 0.80 of CUB" in out and "not compared" in out


def test_what_is_wrong_has_no_time_and_a_status(folder):
    out, found = played(folder, "saxpy_stride", "--only", "^saxpy$")
    assert out.endswith("status 1\n")
    assert {*found["correct"]["wrong"]} == {"saxpy_stride of saxpy"}
    assert [r["machine"] for r in found["cases"] if "wrong" in r] == ["saxpy_stride"]
    assert "saxpy_stride of saxpy: WRONG: at n = " in out


def test_no_time_is_said(folder):
    out, found = played(folder, "", "--only", "^saxpy$", "--minutes", "0")
    assert found["not_reached"] == ["saxpy"] and found["correct"]["left"] == ["saxpy"] and "no time for saxpy" in out


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_every_case_has_machines_and_sizes(case):
    taken = [m for t, m in machines(case.spec).items() if case.takes(t, m.op.name)]
    assert taken and {*taken[0].op.sizes} == {*case.sizes} == {*case.small()}


def test_without_a_gpu_the_command_says_what_it_needs(monkeypatch, tmp_path, capsys):
    from benchmarks.gpu import __main__ as command
    from benchmarks.gpu.device import NoGpu

    def none() -> None:
        raise NoGpu("no driver")

    monkeypatch.setattr(command, "Gpu", none)
    monkeypatch.setattr(proxies, "rows", lambda *_: ([], {}))
    assert command.main(["--only", "^saxpy$"], tmp_path) == 2
    assert "needs a Linux host with an NVIDIA GPU" in capsys.readouterr().out
    assert json.loads((tmp_path / "gpu.json").read_text(encoding="utf-8"))["no_gpu"] == "no driver"


def dies(pipe, seed):
    pipe.recv()


def hangs(pipe, seed):
    time.sleep(600)


def counts(pipe, seed):
    for turn in range(2):
        pipe.send((f"{pipe.recv().title} {seed} {turn}", turn == 0))
    pipe.recv()


def test_a_machine_that_takes_the_gpu_with_it_leaves_the_others(monkeypatch):
    one, judge = Made("saxpy", "m"), correct.Judge(7)
    monkeypatch.setattr(correct, "judged", dies)
    assert judge(one) == "its process died" and judge.process is None
    monkeypatch.setattr(correct, "judged", hangs)
    monkeypatch.setattr(correct, "PATIENCE", 0.1)
    assert judge(one) == "no answer in 0.1 s" and judge.process is None
    monkeypatch.setattr(correct, "judged", counts)
    monkeypatch.setattr(correct, "PATIENCE", 60)
    assert [judge(one) for _ in range(3)] == ["m 7 0", "m 7 1", "m 7 0"], "after the second the GPU did not answer"
    judge.close()


def test_what_was_not_timed_is_missed():
    found = {"cases": [{"case": "c", "machine": "m", "wrong": "no"}], "not_reached": ["d"], "failed": {"times": "x"}, "dead": "c"}
    text = table(found)
    assert text.endswith("0 goals met, 2 missed, 0 not compared") and "times: FAILED: x" in text and "no time for d" in text


def test_the_table_of_goals():
    goals = [
        {"goal": "≥ 0.97 of copy ceiling", "share": 0.98, "met": True},
        {"goal": "≥ 1.00 of Triton", "share": None, "met": None},
    ]
    row = {"case": "c", "machine": "m", "us": 10.0, "spread": 0.01, "gb_s": 3000.0, "graph": True, "goals": goals}
    row["peers"] = {"torch eager": {"us": 20.0, "spread": 0.0, "graph": False}, "CuPy": {"wrong": "no"}}
    slow = {**row, "machine": "slow", "us": 11.0, "goals": [{**goals[0], "met": False}]}
    text = table({"cases": [slow, row], "host": {"ours": {"us": 11.0, "least_us": 9.0}, "torch": {"wrong": "no"}}})
    assert "torch eager 2.00 (no graph), CuPy failed: no" in text
    assert text.endswith("1 goals met, 1 missed, 1 not compared") and "MISSED" in text and Timed((1.0, 2.0, 3.0)).median == 2.0
