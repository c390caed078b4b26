"""Families: what is proved of all numbers holds of each, what a point breaks is said, and nothing else is a family.

Comes in: machines with free numbers, right and wrong. Goes out: verdicts, programs of points, messages. The one idea: the machine at a point, derived and checked as any other,
says what is right.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from benchmarks.families import SPEC, drawn
from tinygpu import pipeline
from tinygpu.category.solver import solved
from tinygpu.category.term import TRUE, Const, Var, apply, substitute
from tinygpu.cli import main
from tinygpu.derive.general import general
from tinygpu.diagnostic import TinygpuError
from tinygpu.model.family import machine_at
from tinygpu.model.free import Skeleton
from tinygpu.model.nogood import Nogood
from tinygpu.obligations.obligation import Obligation
from tinygpu.program.call import Sync
from tinygpu.program.numbers import at_point
from tinygpu.program.space import LOCAL
from tinygpu.program.step import Array, Assign, For, If, Launch, Program
from tinygpu.program.traverse import map_steps, map_terms
from tinygpu.proof import everywhere, kernel
from tinygpu.proof.certificate import certify
from tinygpu.proof.check import Refutation, Unknown
from tinygpu.proof.constraints import nogood
from tinygpu.proof.everywhere import MOST, largest, proved_everywhere
from tinygpu.proof.family import Points, derived, judged
from tinygpu.proof.kernel import Family, Proof, by_itself, prove, prove_family
from tinygpu.record import replace

EVERY = {one.title: one for one in pipeline.load(SPEC).spec.families}
COPY = "op copy(x: f32[n]) -> (y: f32[n]) { y[i] = x[i] }\n"
ROWS = "op rows(x: f32[R, N]) -> (s: f32[R]) { s[r] = sum[j] x[r, j] }\n"
RIGHT = "shared s: f32[T]\ns[T - 1 - t] = x[g*T + T - 1 - t] if g*T + T - 1 - t < n\nbarrier\ny[g*T + t] = s[t] if g*T + t < n"
TRANSPOSE = "op transpose(x: f32[M, N]) -> (y: f32[N, M]) { y[j, i] = x[i, j] }\n"


@cache
def family(name: str) -> Family:
    found = judged(EVERY[name])
    assert isinstance(found, Family), found
    return found


def skeleton(text: str) -> Skeleton:
    (one,) = pipeline.load_text(text).spec.families
    return one


def by_hand(body: str, numbers: str = "param T in 2..1024", block: str = "t: T") -> Skeleton:
    return skeleton(
        f"{COPY}machine m : copy {{\n  {numbers}\n  work grid = (g: ceil(n / T)), block = ({block})\n  program {{\n{body}\n  }}\n}}"
    )


def codes(error: TinygpuError) -> list[str]:
    return [d.code for d in error.diagnostics]


@pytest.mark.parametrize("name", EVERY)
def test_a_point_is_the_machine_with_these_numbers(name: str) -> None:
    found, points = family(name), drawn(EVERY[name], Random(name))
    for numbers in (next(points),):
        machine = machine_at(EVERY[name], numbers)
        proof = found.point(numbers)
        direct = pipeline.check(machine)
        if not isinstance(proof, Proof):  # a limit of the hardware, which the machine by itself breaks too
            assert isinstance(direct, Refutation) and direct.diagnostic.code == proof[0].claim.code
            continue
        assert isinstance(direct, Proof) and proof.program == direct.program and proof.program.machine == machine


@pytest.mark.parametrize("name", EVERY)
def test_the_program_with_numbers_in_it_is_the_one_that_is_derived(name: str) -> None:
    found = family(name)
    for point in EVERY[name].points[::3]:
        numbers = EVERY[name].named(point)
        program = pipeline.program(machine_at(EVERY[name], numbers))
        assert replace(at_point(found.program, numbers), name=program.name) == program
        proof = found.point(numbers)
        assert not isinstance(proof, Proof) or dict(proof.numbers) == numbers


def test_where_the_machine_has_another_program_that_is_proved() -> None:
    proof = family("squares").at(T=16)  # its copies are wide
    program = pipeline.program(machine_at(EVERY["squares"], {"T": 16}))
    assert proof.program == program != replace(at_point(family("squares").program, {"T": 16}), name=program.name)
    assert proof.numbers == ()


@pytest.mark.parametrize("name", EVERY)
def test_theorems_are_of_all_numbers_and_the_rest_is_asked_of_a_point(name: str) -> None:
    found = family(name)
    kinds = {t.claim.kind for t in found.theorems}
    assert kinds and not kinds & {"vacuity", "limits", "storage", "alignment", "width"}
    assert {*found.numbers} <= {*found.program.op.sizes}
    proof = found.at(**EVERY[name].named(EVERY[name].points[0]))
    assert {"limits", "vacuity"} <= {t.claim.kind for t in proof.theorems} and proof.theorems[
        : len(found.theorems)
    ] == found.theorems


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("name", "numbers"),
    [("element", {"TY": 4, "TX": 8}), ("panels", {"TI": 2, "RI": 3, "RJ": 2}), ("turned", {"TY": 8, "TX": 16, "U": 3})],
)
def test_a_point_and_the_machine_compute_the_same(name: str, numbers: dict[str, int]) -> None:
    random = np.random.default_rng(1)
    op = EVERY[name].op
    sizes = dict(zip(op.sizes, (37, 29, 41), strict=False))
    inputs = [random.standard_normal([sizes[e.name] for e in t.shape]).astype(np.float32) for t in op.inputs]
    point = pipeline.build(family(name).at(**numbers))
    direct = pipeline.check(machine_at(EVERY[name], numbers))
    assert isinstance(direct, Proof)
    found, wanted = point(*inputs), pipeline.build(direct)(*inputs)
    assert np.array_equal(found, wanted)
    assert np.allclose(found, inputs[0].T if len(inputs) == 1 else inputs[0] @ inputs[1], atol=1e-4)


# ── nothing else is a family ───────────────────────────────────────────────────────────────────────────────────────


def test_a_family_is_made_by_the_kernel_alone() -> None:
    found = family("element")
    for make in (
        lambda: Family(found.program, found.numbers, found.theorems, found.source),
        lambda: Family(found.program, found.numbers, found.theorems, found.source, object()),
        lambda: replace(found, theorems=()),
    ):
        with pytest.raises(TypeError):
            make()
    with pytest.raises(ValueError):
        prove_family(derived(EVERY["element"], (3, 5)), ("TY", "TX"), found.source)  # which are no sizes of it


WRONG = {  # what is stored, and the code of what is wrong
    "TG302": "shared s: f32[T]\ns[T - 1 - t] = x[g*T + T - 1 - t] if g*T + T - 1 - t < n\ny[g*T + t] = s[t] if g*T + t < n",
    "TG203": "shared s: f32[T - 1]\ns[t] = x[g*T + t] if g*T + t < n\nbarrier\ny[g*T + t] = s[t] if g*T + t < n",
    "TG201": "y[g*T + t] = x[g*T + t] if g*T + t < n - 1",
    "TG202": "for c < 2 { y[g*T + t + c] = x[g*T + t + c] if g*T + t + c < n }",
    "TG502": "y[g*T + t] = x[g*T + T - 1 - t] if g*T + t < n and g*T + T - 1 - t < n",
    "TG301": "shared s: f32[T]\ns[t] = x[g*T + t] if g*T + t < n and t > 0\nbarrier\ny[g*T + t] = s[t] if g*T + t < n",
    "TG303": "shared s: f32[T]\nif t < T - 1 {\ns[t] = 1\nbarrier\n}\ny[g*T + t] = x[g*T + t] if g*T + t < n",
}


@pytest.mark.parametrize("code", WRONG)
def test_what_is_wrong_is_refuted_at_its_smallest_point(code: str) -> None:
    one = by_hand(WRONG[code])
    found = judged(one)
    assert isinstance(found, Refutation), found
    assert found.diagnostic.code in (code, "TG201") and "this is its machine with T=" in found.diagnostic.notes[-1]
    assert found.program.machine is not None and dict(found.program.machine.constants)["T"] <= 3


def test_what_is_right_by_hand_is_proved() -> None:
    assert isinstance(judged(by_hand(RIGHT)), Family)


def changed(program: Program, kind: type, change: Callable[[Any], tuple[Any, ...]]) -> list[Program]:
    """The program with one step of a kind changed, for each of them."""
    found = dict.fromkeys(s for s in program.steps if isinstance(s, kind))

    def at(one: Any) -> Program:
        bodies = (map_steps(x.body, lambda step: change(step) if step == one else (step,)) for x in program.launches)
        return replace(program, launches=tuple(replace(x, body=b) for x, b in zip(program.launches, bodies, strict=True)))

    return [at(one) for one in found]


def longer(step: For) -> tuple[For, ...]:
    return (replace(step, axis=replace(step.axis, extent=step.axis.extent + 1)),)


def twice(step: Assign) -> tuple[Assign, ...]:
    return step, step


def unguarded(step: Assign) -> tuple[Assign, ...]:
    return (replace(step, guard=TRUE),)


EDITS: tuple[tuple[type, Callable[[Any], tuple[Any, ...]]], ...] = (
    (Sync, lambda step: ()),
    (Assign, lambda step: ()),
    (Assign, twice),
    (Assign, unguarded),
    (For, longer),
    (If, lambda step: step.body),
)


@pytest.mark.parametrize("name", ["element", "registers", "squares", "tiles", "turned", "row", "split"])
def test_an_edited_family_is_proved_only_if_its_points_are(name: str) -> None:
    """A step left out, done twice, or done elsewhere: what is still proved of all numbers is proved of each by itself, too."""
    found, wrong = family(name), 0
    edited = [p for kind, change in EDITS for p in changed(found.program, kind, change) if p != found.program]
    for program in edited if len(edited) < 6 else Random(name).sample(edited, 6):
        made = prove_family(program, found.numbers, found.source, 400_000, 2.0, 1)
        point = EVERY[name].named(EVERY[name].points[0])
        direct = prove(at_point(program, point), 4_000_000, enough=1)
        wrong += not isinstance(direct, Proof)
        assert not isinstance(made, Family) or isinstance(direct, Proof), list(program.steps)
    assert wrong >= 2


def test_a_name_means_one_thing() -> None:
    """A loop that has the name of a number would be another loop once the number stands there."""
    found = family("element")

    def named(step: For) -> tuple[For, ...]:
        body = map_steps(step.body, lambda one: (map_terms(one, lambda term: substitute(term, {step.axis.name: Var("TY")})),))
        return (replace(step, axis=replace(step.axis, name="TY"), body=body),)

    (program,) = changed(found.program, For, named)
    left = prove_family(program, found.numbers, found.source, enough=1)
    assert not isinstance(left, Family) and left[0].claim.code == "TG168"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (
            f"{COPY}machine m : copy {{\n  param V in 1..16\n  work grid = (g), block = (t: 32)\n  compute i = (g, t, v: V)\n  vector v\n}}",
            "TG168",
        ),
        (
            f"{ROWS}machine m : rows {{\n  param L in 32..64\n  work grid = (r: R), block = (lane: L)\n  program {{\n    local a: f32[]\n    a[] = 0\n"
            "    for c < ceil(N / L) { a[] += x[r, c*L + lane] if c*L + lane < N }\n    a[] += shuffle_xor(a[], 16)\n    s[r] = a[] if lane == 0\n  }\n}",
            "",
        ),
    ],
)
def test_what_is_not_followed_is_no_family(text: str, code: str) -> None:
    found = judged(skeleton(text))
    assert isinstance(found, Unknown | Refutation)
    if code:
        assert isinstance(found, Unknown) and found.diagnostics[0].code == code


def test_forms_of_numbers_are_seen_or_refused() -> None:
    one = EVERY["element"]
    programs = [derived(one, point) for point in one.points]
    with pytest.raises(TinygpuError) as refused:
        general([programs[0], derived(EVERY["squares"], (3,))], [{"T": 3}, {"T": 5}], "m", ())
    assert codes(refused.value) == ["TG168"]
    (again,) = {general(programs, [one.named(p) for p in one.points], "element", one.where)}
    assert {s for a in again.launches[0].block for s in map(str, (a.extent,))} == {str(Var("TY")), str(Var("TX"))}


# ── points ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "numbers",
    [
        {},
        {"TY": 4},
        {"TY": 4, "TX": 4, "TZ": 4},
        {"TY": 0, "TX": 4},
        {"TY": -4, "TX": -4},
        {"TY": 64, "TX": 64},
        {"TY": True, "TX": 4},
        {"TY": 2.0, "TX": 4},
    ],
)
def test_a_point_that_is_none(numbers: dict[str, int]) -> None:
    with pytest.raises(TinygpuError) as refused:
        family("element").at(**numbers)
    assert codes(refused.value) == ["TG167"]


@pytest.mark.parametrize(
    ("clauses", "numbers", "code", "help"),
    [
        ("block = (ty: TY, tx: TX)\n  compute i = (by, ty), j = (bx, tx)", {"TY": 33, "TX": 32}, "TG401", "where TX*TY <= 1024"),
        (
            "block = (t: 32)\n  compute i = (by, tx: TX), j = (bx, t, rj: TY)\n  time tx\n  register rj\n  keep x in register",
            {"TY": 300, "TX": 2},
            "TG402",
            "where TY <= 255",
        ),
    ],
)
def test_what_a_point_breaks_and_what_the_family_may_ask(clauses: str, numbers: dict[str, int], code: str, help: str) -> None:
    one = skeleton(f"{TRANSPOSE}machine m : transpose {{\n  param TY >= 1\n  param TX >= 1\n  work grid = (by, bx), {clauses}\n}}")
    found = judged(one)
    assert isinstance(found, Family)
    with pytest.raises(TinygpuError) as refused:
        found.at(**numbers)
    assert codes(refused.value) == [code] and help in refused.value.diagnostics[0].helps[0]
    left = found.point(numbers)
    assert not isinstance(left, Proof)
    learned = nogood(found.program, left[0], numbers)
    assert learned.excludes({n: number + 1 for n, number in numbers.items()}) and not learned.excludes({"TY": 1, "TX": 1})
    assert isinstance(found.at(TY=4, TX=4), Proof)


def test_a_constraint_that_closes_it_is_tried_and_said() -> None:
    text = f"""{TRANSPOSE}machine m : transpose WHERE {{
  param TY >= 1
  param TX >= 1
  param U in 1..16
  work grid = (bi, bj), block = (ty: TY, tx: TX)
  compute i = (bi, tx), j = (bj, u: U, ty)
  register u
  stage x[i, j] at block in shared {{ compute i = (h: 5, ty), j = (q: 2, tx)
    register h, q }}
}}"""
    found = judged(skeleton(text.replace("WHERE", "")))
    assert isinstance(found, Refutation) and found.diagnostic.helps[0] == "with `where TX <= TY*5, TY*U <= TX*2` it is proved"
    assert isinstance(judged(skeleton(text.replace("WHERE", "where TX <= TY*5, TY*U <= TX*2"))), Family)


def test_points_rise_and_nogoods_take_them_away() -> None:
    found = family("element")
    assert [*found.points(4)] == [{"TY": 1, "TX": 1}, {"TY": 1, "TX": 2}, {"TY": 2, "TX": 1}, {"TY": 1, "TX": 3}]
    learned: list[Nogood] = []
    points = found.points(40, learned)
    assert next(points) == {"TY": 1, "TX": 1}
    learned.append(Nogood(least=(("TX", 2),)))
    assert all(point["TX"] == 1 for point in points)
    assert len([*Points(EVERY["row"]).points(100)]) == 32
    assert not Nogood().excludes({"T": 1}) and Nogood((("T", 1),)).excludes({"T": 1, "R": 2})


def test_a_certificate_of_a_point_is_that_of_its_program() -> None:
    proof = family("element").at(TY=4, TX=8)
    direct = pipeline.check(machine_at(EVERY["element"], {"TY": 4, "TX": 8}))
    assert isinstance(direct, Proof)
    assert by_itself(direct) is direct and certify(by_itself(proof)).text() == certify(direct).text()
    with pytest.raises(ValueError):
        certify(proof)


def test_a_question_has_a_clock_beside_its_budget() -> None:
    names = " ".join(f"(declare-const {v} Int) (assert (> {v} 1))" for v in "abcd")
    text = f"{names} (assert (= (+ (* a a a a a) (* b b b b b) (* c c c c c)) (* d d d d d)))"
    start = time.monotonic()
    assert str(solved(text, 2_000_000_000, 0.2)[0]) == "unknown"
    assert time.monotonic() - start < 60  # the budget alone would take hours


def test_equal_claims_are_asked_once() -> None:
    kernel.ask.cache_clear()
    found = family("tiles")
    again = prove_family(found.program, found.numbers, found.source)
    assert isinstance(again, Family)
    before = kernel.ask.cache_info().misses
    assert isinstance(prove_family(found.program, found.numbers, found.source), Family)
    assert kernel.ask.cache_info().misses == before and before > 0


@pytest.mark.parametrize(
    ("where", "most"),
    [("T*T <= 1024", 33), ("T <= 512", 513), ("T >= 4", None), ("T*R <= 100", 129), ("T*R <= 2000", None), ("T <= R*R", None)],
)
def test_what_is_asked_may_leave_few_of_a_range_without_an_end(where: str, most: int | None) -> None:
    names, block, used = ("param R >= 1", "t: T, u: R", "t, u") if "R" in where else ("", "t: T", "t")
    text = f"param T >= 1\n  {names}\n  work grid = (g), block = ({block})\n  compute i = (g, {used})"
    one = skeleton(f"{COPY}machine m : copy where {where} {{\n  {text}\n}}")
    number = next(n for n in one.numbers if n.name == "T")
    assert largest(one, number) == (most if most is not None else 1 + MOST + 1)


@pytest.mark.parametrize("number", [7, 16, 32])
def test_a_machine_that_is_another_one_at_one_number_is_seen(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever it is in the range: its own program is judged, and the family with it."""
    one = by_hand(RIGHT, "param T >= 1\n  where T*T <= 1024")
    assert isinstance(proved_everywhere(one), Family)

    def other(one: Skeleton, point: tuple[int, ...]) -> Program:
        program = derived(one, point)
        return changed(program, Sync, lambda step: ())[0] if point == (number,) else program

    monkeypatch.setattr(everywhere, "derived", other)
    found = proved_everywhere(one)
    assert isinstance(found, Refutation) and f"this is its machine with T={number}" in found.diagnostic.notes[-1]


def test_what_is_bounded_is_a_sum_of_products_where_a_nogood_speaks_of_larger_numbers() -> None:
    """Of cells that are fewer with more threads nothing is said but of the point itself."""
    grown, shared = (
        Program("m", EVERY["element"].op, (Launch((), (), (Array("a", "f32", (extent,), LOCAL),)),))
        for extent in (Var("TY") * Var("TX") * 2, apply("ceildiv", Const(4096), Var("TX")))
    )
    numbers = {"TY": 16, "TX": 16}
    claim = Obligation("limits", "TG402", "", "", (), TRUE)
    assert nogood(grown, kernel.Open(claim, {}), numbers).least == (("TX", 16), ("TY", 16))
    assert nogood(shared, kernel.Open(claim, {}), numbers) == Nogood(equal=(("TX", 16), ("TY", 16)))


# ── the commands ───────────────────────────────────────────────────────────────────────────────────────────────────


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = main([*words])
    out = capsys.readouterr()
    return code, out.out, out.err


@pytest.mark.sampled(3)
def test_check_and_build_at_numbers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = str(SPEC)
    code, out, _ = run(capsys, "check", spec, "--machine", "element")
    assert code == 3 and "TG168 the program of element is proved for all TY, TX; that all of its machines have it is not" in out
    code, out, _ = run(capsys, "check", spec, "--machine", "element", "--output-format", "json")
    (row,) = json.loads(out)["families"]
    assert code == 3 and row["verdict"] == "unknown" and row["numbers"] == ["TY >= 1", "TX >= 1"]
    code, out, _ = run(capsys, "check", spec, "--machine", "tiles")  # T*T <= 1024 leaves 32 of them
    assert code == 0 and "all T >= 1 with T*T <= 1024" in out
    narrow = tmp_path / "narrow.tgpu"
    narrow.write_text(
        SPEC.read_text().replace("param   TY >= 1", "param   TY in 1..8").replace("param   TX >= 1", "param   TX in 1..40")
    )
    code, out, _ = run(capsys, "check", str(narrow), "--machine", "element")
    assert code == 0 and "all TY in 1..8, TX in 1..40 with TY*TX <= 1024" in out
    code, out, _ = run(capsys, "check", spec, "element", "TY=4", "TX=8")
    assert code == 0 and out.startswith("proved   element[TY=4, TX=8] : matmul")
    code, out, _ = run(capsys, "build", spec, "element", "TY=4", "TX=8", "-o", str(tmp_path))
    assert code == 0 and (tmp_path / "families.py").is_file()
    code, out, _ = run(capsys, "replay", str(tmp_path / "families.py"))
    assert code == 0, out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("build", "SPEC"), "TG167"),
        (("build", "SPEC", "--machine", "element"), "say which: element TY=3 TX=5"),
        (("build", "SPEC", "element", "TY=4"), "TG167"),
        (("build", "SPEC", "element", "TY=64", "TX=64"), "TY*TX <= 1024 does not hold"),
        (("build", "SPEC", "panels", "TI=17", "RI=1", "RJ=1"), "TI <= 16 does not hold"),
        (("check", "SPEC", "element", "TY=4", "TX=8", "Q=3"), "no machine has a free number Q"),
        (("run", "SPEC", "element"), "TG167"),
        (("show", "SPEC", "element"), "TG167"),
    ],
)
def test_numbers_that_are_missing_or_wrong(words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, *(str(SPEC) if w == "SPEC" else w for w in words))
    assert code == 2 and said in out + err and "TG901" not in out + err


def test_show_at_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "show", str(SPEC), "element", "TY=4", "TX=8")
    assert code == 0 and "by*4 + ty" in out
