"""The table of the benchmark on a GPU.

Comes in: what the stages have found, as it stands in the file. Goes out: text. The one idea: the goals come last, one line each with a mark, so
that the end of the output is the answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

MARKS = {True: "met", False: "MISSED", None: "not compared"}


def table(found: Mapping[str, Any]) -> str:
    """Identity, ceilings, correctness, times, the host's share, what failed, goals."""
    parts = [
        identity(found),
        ceilings(found),
        correctness(found),
        times(found.get("cases", ())),
        host(found),
        lost(found),
        goals(found),
    ]
    return "\n\n".join(part for part in parts if part)


def identity(found: Mapping[str, Any]) -> str:
    gpu, versions = found.get("gpu"), found.get("versions", {})
    if not gpu:
        return ""
    said = ", ".join(f"{name} {version}" for name, version in versions.items())
    arch = "sm_{}{}".format(*gpu["capability"])
    first = f"{gpu['name']}, {arch}, {gpu['multiprocessors']} multiprocessors, L2 {gpu['l2_bytes'] >> 20} MiB, driver for CUDA {gpu['driver']}"
    absent = [f"no {name}: {why}" for name, why in found.get("absent", {}).items()]
    return "\n".join([first, said, *absent])


def ceilings(found: Mapping[str, Any]) -> str:
    lines = []
    for name, speed in found.get("ceilings", {}).items():
        unit = "GFLOP/s" if name.startswith("product") else "GB/s"
        lines.append(f"{name:44} " + (f"failed: {speed}" if isinstance(speed, str) else f"{speed:9.1f} {unit}"))
    return "\n".join(lines)


def correctness(found: Mapping[str, Any]) -> str:
    seen = found.get("correct")
    if seen is None:
        return ""
    lines = [f"{title}: WRONG: {why}" for title, why in seen["wrong"].items()]
    lines += [f"{title}: not run: {why}" for title, why in seen["refused"].items()]
    rest = f"; no time for {', '.join(seen['left'])}" if seen.get("left") else ""
    return "\n".join([*lines, f"{seen['right']} machines right at every size that was tried, {len(seen['wrong'])} wrong{rest}"])


def times(rows: Sequence[Mapping[str, Any]]) -> str:
    """A line for each machine: its time, bandwidth, and how many times faster it is than each peer."""
    if not rows:
        return ""
    width = max(len(r["machine"]) for r in rows)
    lines = [f"{'case':22} {'machine':{width}} {'µs':>10} {'±':>5} {'GB/s':>7}  times as fast as"]
    for r in rows:
        start = f"{r['case']:22} {r['machine']:{width}}"
        if "wrong" in r:
            lines.append(f"{start} WRONG: {r['wrong']}")
            continue
        against = [_against(name, peer, r["us"]) for name, peer in r["peers"].items()]
        note = "" if r["graph"] else " (no graph)"
        lines.append(f"{start} {r['us']:10.1f} {100 * r['spread']:4.1f}% {r['gb_s']:7.0f}  {', '.join(against)}{note}")
    return "\n".join(lines)


def _against(name: str, peer: Mapping[str, Any], mine: float) -> str:
    if "wrong" in peer:
        return f"{name} failed: {peer['wrong']}"
    return f"{name} {peer['us'] / mine:.2f}{'' if peer['graph'] else ' (no graph)'}"


def host(found: Mapping[str, Any]) -> str:
    """The host's share of a call."""
    lines = []
    for name, row in found.get("host", {}).items():
        lines.append(
            f"{name:32} "
            + (f"failed: {row['wrong']}" if "wrong" in row else f"{row['us']:6.2f} µs a call, least {row['least_us']:.2f}")
        )
    return "\n".join(["calls of a saxpy of 1024 elements, the host's time", *lines]) if lines else ""


def lost(found: Mapping[str, Any]) -> str:
    """The stages that failed, and the cases that there was no time for: their goals are not met."""
    lines = [f"{name}: FAILED: {why}" for name, why in found.get("failed", {}).items()]
    if found.get("dead"):
        lines.append(f"the GPU answers nothing since {found['dead']}: run again with --without")
    if found.get("not_reached"):
        lines.append(f"no time for {', '.join(found['not_reached'])}")
    return "\n".join(lines)


def goals(found: Mapping[str, Any]) -> str:
    """Each goal of each case, by the case's fastest machine, then that of the host."""
    lines = []
    best: dict[str, Mapping[str, Any]] = {}
    for r in found.get("cases", ()):
        if "goals" in r and (r["case"] not in best or r["us"] < best[r["case"]]["us"]):
            best[r["case"]] = r
    for case, r in best.items():
        for goal in r["goals"]:
            has = "" if goal["share"] is None else f"{goal['share']:.2f}"
            lines.append(f"{case:22} {goal['goal']:24} {has:>6}  {MARKS[goal['met']]:12} {r['machine']}")
    without = [r["case"] for r in found.get("cases", ()) if r["case"] not in best]
    lines += [
        f"{case:22} {'nothing was timed':24} {'':6}  MISSED" for case in dict.fromkeys([*without, *found.get("not_reached", ())])
    ]
    for name, row in found.get("host", {}).items():
        if name.startswith("ours") and "us" in row:
            lines.append(f"{'a call':22} {'≤ 10 µs of the host':24} {row['us']:6.2f}  {MARKS[row['us'] <= 10]:12} {name}")
    counts = [sum(mark in line for line in lines) for mark in (" met ", "MISSED", "not compared")]
    return "\n".join([*lines, "{} goals met, {} missed, {} not compared".format(*counts)]) if lines else ""
