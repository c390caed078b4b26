"""Texts at the front door: a sample of the mutated and grown ones, and texts made to hurt. The long run is `python -m tests.front`.

Comes in: inputs, by number or by hand. Goes out: for each a verdict or a diagnostic, in bounded time and memory, and nothing of a spec is
run, written or opened. The one idea: a worker with limits answers for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.front.fuzz import Worker, fuzz
from tests.front.texts import text_of

SAMPLE = 80
COPY = "op copy(x: f32[n]) -> (z: f32[n]) { z[i] = x[i] }\n"


def tiled(value: str, threads: str = "64", factors: str = "g, t", more: str = "", ins: str = "x: f32[n]") -> str:
    return f"op copy({ins}) -> (z: f32[n]) {{ z[i] = {value} }}\nmachine m : copy {{\n  work grid = (g), block = (t: {threads})\n  compute i = ({factors})\n{more}}}\n"


def by_hand(body: str) -> str:
    last = "z[g*64 + t] = x[g*64 + t] if g*64 + t < n"
    return f"{COPY}machine m : copy {{\n  work grid = (g: ceil(n / 64)), block = (t: 64)\n  program {{\n    local a: f32[]\n    a[] = 0\n{body}\n    {last}\n  }}\n}}\n"


def chain(step: str, count: int) -> str:
    rows = "\n".join(step.format(q + 1, q) for q in range(count))
    return f"op copy(x: f32[n]) -> (z: f32[n]) {{ a0[i] = x[i]\n{rows}\nz[i] = a{count}[i] }}\nmachine m : copy {{\n  work grid = (g), block = (t: 64)\n  compute i = (g, t)\n}}\n"


def listed(count: int) -> str:
    return "(" + ", ".join(map(str, range(count))) + ")"


HOSTILE = {
    "a long loop of nothing": by_hand("for k < 1000000000 { }"),
    "a long loop that is wrong": by_hand("for k < 1000000000 { if n > 0 { a[] = a[]*0.5 + 1 } }\n    z[g*64 + t] = a[] if g*64 + t < n"),
    "a million turns in registers": by_hand("for k < 1000000 in register { a[] += 1 }"),
    "two thousand values": by_hand(f"for k in {listed(2000)} {{ a[] += k }}"),
    "values within values": by_hand("".join(f"for k{q} in {listed(20)} {{ " for q in range(6)) + "a[] += k0" + "}" * 6),
    "400 steps in a chain": by_hand(f"for k in {listed(400)} {{ a[] = exp(a[]) }}"),
    "a value that doubles": by_hand("a[] = a[] * a[] + a[]\n" * 40),
    "9 to the 12 turns": by_hand("".join(f"for k{q} < 9 {{\n" for q in range(12)) + " a[] += 1\n" + "}" * 12),
    "100 barriers": by_hand("shared s: f32[64]\n" + "s[t] = 1\nbarrier\n" * 100),
    "a shared array beyond all": by_hand("shared s: f32[1000000000000]\ns[t] = 0"),
    "a local array beyond all": by_hand("local s: f32[1000000000000]\ns[t] = 0"),
    "a block beyond all": tiled("x[i]", "1" + "0" * 400),
    "a block of no threads": tiled("x[i]", "0"), "a block of fewer": tiled("x[i]", "-64"), "a block divided by 0": tiled("x[i]", "64 // 0"),
    "an element divided by 0": tiled("x[i // 0]"), "a rest by 0": tiled("x[i % (n - n)]"), "a shape by 0": tiled("x[i]", ins="x: f32[n / 0]"),
    "a number of 5000 digits": tiled("x[i] * 1" + "0" * 5000), "an index of 5000 digits": tiled("x[i - 1" + "0" * 5000 + " | 0]"),
    "an exponent of 11 digits": tiled("x[i] * 1e99999999999"), "5000 parentheses": tiled("(" * 5000 + "x[i]" + ")" * 5000),
    "5000 signs": tiled("-" * 5000 + "x[i]"), "5000 terms": tiled(" + ".join(["x[i]"] * 5000)), "3000 choices": tiled("x[i] if x[i] > 1 else " * 3000 + "0"),
    "a register factor of a million": tiled("x[i]", factors="g, t, v: 1000000", more="register v\n"),
    "14 factors in registers": tiled("x[i]", factors="g, " + ", ".join(f"v{q}: 2" for q in range(14)) + ", t", more=f"register {', '.join(f'v{q}' for q in range(14))}\n"),
    "an op of 1000 equations": chain("a{0}[i] = a{1}[i] + 1", 1000), "an equation that doubles": chain("a{0}[i] = a{1}[i] + a{1}[i]", 40),
    "1500 inputs": tiled("x0[i]", ins=", ".join(f"x{q}: f32[n]" for q in range(1500))),
    "a million choices of params": "".join(f"param P{q} in {{{listed(100)[1:-1]}}}\n" for q in range(3)) + tiled("x[i]", "P0*P1*P2 + 1"),
    "an import of a device": f'import "/dev/zero"\n{COPY}', "an import of a secret": f'import "/etc/passwd"\n{COPY}',
    "many mistakes": "op " * 5000, "many braces": "{" * 100000, "many brackets": "x[" * 50000, "a name of a million": "op " + "a" * 1000000,
    "a long comment": "#" + "a" * 1000000 + "\n" + COPY, "an open text": 'import "' + "a" * 100000,
    "a byte order mark": "\ufeff" + tiled("x[i]"), "one within": COPY + "\ufeff" + tiled("x[i]"), "windows": tiled("x[i]").replace("\n", "\r\n"),
    "an old mac": tiled("x[i]").replace("\n", "\r"), "a zero byte": tiled("x[i]") + "\0", "lines of unicode": tiled("x[i]").replace("\n", "\u2028"),
    "turned around": tiled("x[i]") + "# \u202e\n", "spaces of unicode": tiled("x[i]").replace(" ", "\u00a0"), "letters": tiled("é[i]", ins="é: f32[n]"),
    "a surrogate": tiled("x[i]") + "\ud800", "nothing": "", "a newline": "\n",
}  # fmt: skip
PROVED = ("a byte order mark", "windows", "a long loop of nothing", "turned around")


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    one = Worker(tmp_path_factory.mktemp("worker"))
    yield one
    one.end()


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_has_an_answer(worker: Worker, name: str) -> None:
    answer = worker.ask(0, HOSTILE[name].encode("utf-8", "surrogatepass"))
    assert "wrong" not in answer, answer["wrong"]
    assert answer["peak"] < 1 << 20, f"{answer['peak'] >> 10} MiB"
    if name in PROVED:
        assert answer["stage"] == "proved"


def test_a_sample_of_the_long_run(tmp_path: Path) -> None:
    score = fuzz(range(SAMPLE), tmp_path)
    assert not score.findings, "\n".join(f"input {seed}: {text}" for seed, text in score.findings.values())
    assert score.stages.total() == SAMPLE and {"parse", "elaborate"} < set(score.stages)


def test_a_number_is_an_input() -> None:
    assert [text_of(n) for n in range(20)] == [text_of(n) for n in range(20)] and len({text_of(n) for n in range(200)}) > 190


def test_the_worker_hears_what_a_spec_may_not_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is no use if it cannot hear."""
    from tests.front import worker as module

    monkeypatch.setattr(module, "listening", True)
    for event, *arguments in (("open", "x", "w", 0), ("os.system", "ls"), ("compile", b"1 + 1", "<string>"), ("open", "x", "r", 0)):
        module.heard.clear()
        module.listen(event, tuple(arguments))
        assert bool(module.heard) == ("r" not in arguments)
