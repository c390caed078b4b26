"""What a call costs the host beyond its kernel: whole calls of a small saxpy, next to torch's and Triton's.

Comes in: a machine that is ready, and the peers. Goes out: microseconds a call, of the fastest of several hundred batches.
The one idea: a batch is short enough never to fill the queue of the GPU, so what is timed is the host and nothing waits for the GPU.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

from benchmarks.gpu.device import Gpu, in_a_line
from benchmarks.gpu.peers import Library
from benchmarks.gpu.ready import Made, bound
from tinygpu.run.load import load

COUNT = 1024  # elements: a kernel that is over before the next one is launched
BATCH, BATCHES = 32, 200


def per_call(gpu: Gpu, call: Callable[[], Any], batches: int = BATCHES) -> dict[str, float]:
    """Microseconds a call: the median of the batches, and the least."""
    times = []
    for _ in range(batches):
        gpu.synchronize()
        start = time.perf_counter()
        for _ in range(BATCH):
            call()
        times.append((time.perf_counter() - start) / BATCH * 1e6)
    gpu.synchronize()
    return {"us": round(statistics.median(times), 2), "least_us": round(min(times), 2)}


def overheads(gpu: Gpu, ready: Made, peers: Sequence[Library], batches: int = BATCHES) -> dict[str, Any]:
    """The rows of the table: ours with arrays of every library that is here, then what the libraries' own calls cost."""
    inputs = {"x": gpu.empty((COUNT,), "f32").poison(), "y": gpu.empty((COUNT,), "f32").poison(), "a": 2.0}
    run = bound(gpu, ready, {"n": COUNT}, inputs)
    launcher = getattr(load(ready.text, ready.spec), ready.launcher)
    found: dict[str, Any] = {}

    def put(name: str, call: Callable[[], Any]) -> None:
        try:
            call()
            found[name] = per_call(gpu, call, batches)
        except Exception as error:  # noqa: BLE001  # one row less
            found[name] = {"wrong": in_a_line(error)}

    put("ours, an array interface", run.call)
    for library in peers:
        if library.name not in ("torch eager", "CuPy"):
            continue
        x, y, z = (library.view(a) for a in (inputs["x"], inputs["y"], run.outputs[0]))
        short = library.name.split()[0]
        put(f"ours, {short}, out=", lambda x=x, y=y, z=z: launcher(2.0, x, y, out=z))  # type: ignore[misc]
        put(f"ours, {short}", lambda x=x, y=y: launcher(2.0, x, y))  # type: ignore[misc]
    for library in peers:
        one = library.contestant("saxpy", [(inputs, run.outputs)])
        if one:
            put(f"{library.name}, its own", one.calls[0])
    return found
