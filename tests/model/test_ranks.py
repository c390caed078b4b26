"""Families over ranks: each op and machine of one is what a person would write for that rank.

Comes in: small families. Goes out: nothing, or one that is another than the text written out. The one idea: `..` is writing out, so the terms, the
programs and the verdicts are equal.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.model.test_composites import value
from tinygpu.diagnostic import TinygpuError
from tinygpu.pipeline import Proof, Refutation, check, load, load_text, program
from tinygpu.program.render import standalone

AXES = "[a in {(L), (H, W)}]"
CONV = (
    f"op conv{AXES}(x: f32[B, C, a..], w: f32[F, C, K_a..]) -> (z: f32[B, F, a + 2*P_a - K_a + 1 ..]) where K_a >= 1 .., a + 2*P_a >= K_a .. "
    "{ z[b, f, p_a..] = sum[c, r_a..] x[b, c, p_a + r_a - P_a .. | 0] * w[f, c, r_a..] }\n"
)
LINE = (
    "op conv_1d(x: f32[B, C, L], w: f32[F, C, KL]) -> (z: f32[B, F, L + 2*PL - KL + 1]) where KL >= 1, L + 2*PL >= KL "
    "{ z[b, f, p] = sum[c, r] x[b, c, p + r - PL | 0] * w[f, c, r] }\n"
)
IMAGE = (
    "op conv_2d(x: f32[B, C, H, W], w: f32[F, C, KH, KW]) -> (z: f32[B, F, H + 2*PH - KH + 1, W + 2*PW - KW + 1]) "
    "where KH >= 1, KW >= 1, H + 2*PH >= KH, W + 2*PW >= KW "
    "{ z[b, f, pH, pW] = sum[c, rH, rW] x[b, c, pH + rH - PH, pW + rW - PW | 0] * w[f, c, rH, rW] }\n"
)


def pair(family: str, written: str, name: str) -> None:
    found, wanted = load_text(family).spec.op(name), load_text(written).spec.op(name)
    assert found.sizes == wanted.sizes
    assert value(found) == value(wanted)


@pytest.mark.parametrize(("name", "written"), [("conv_1d", LINE.replace("p]", "pL]").replace("p +", "pL +").replace("[c, r]", "[c, rL]").replace(" r ", " rL ").replace("c, r]", "c, rL]")), ("conv_2d", IMAGE)])  # fmt: skip
def test_an_op_of_a_family_is_the_op_that_is_written_out(name: str, written: str) -> None:
    pair(CONV, written, name)


@pytest.mark.parametrize(("family", "written"), [
    # a term without a name of an axis is there once for each, too; an operator joins
    ("(x: f32[N..]) -> (y: f32[N..]) { y[i_a..] = x[i_a..] / (f32(N) * ..) }", "(x: f32[N, N]) -> (y: f32[N, N]) { y[iH, iW] = x[iH, iW] / (f32(N) * f32(N)) }"),
    ("(x: f32[a..]) -> (y: f32[a..]) { y[i_a..] = x[i_a..] if i_a >= 1 and i_a < a - 1 and .. else f32(i_a) + .. }",
     "(x: f32[H, W]) -> (y: f32[H, W]) { y[iH, iW] = x[iH, iW] if iH >= 1 and iH < H - 1 and iW >= 1 and iW < W - 1 else f32(iH) + f32(iW) }"),
    # an axis inside of an axis is its own
    ("(x: f32[a..]) -> (y: f32[a..]) where a <= (a * ..) .. { y[i_a..] = x[i_a..] }",
     "(x: f32[H, W]) -> (y: f32[H, W]) where H <= H*W, W <= H*W { y[iH, iW] = x[iH, iW] }"),
    # names for terms, ranges of a left side, views
    ("(x: f32[a..]) -> (y: f32[a..]) { let h_a = a - 1 - i_a ..\n s[i_a < a ..] = x[i_a..]\n y[i_a..] = s[h_a..] }",
     "(x: f32[H, W]) -> (y: f32[H, W]) { s[iH < H, iW < W] = x[iH, iW]\n y[iH, iW] = s[H - 1 - iH, W - 1 - iW] }"),
    ("(x: f32[a * ..]) -> (y: f32[a..]) { v = x as [a..]\n y[i_a..] = v[i_a..] }", "(x: f32[H*W]) -> (y: f32[H, W]) { v = x as [H, W]\n y[iH, iW] = v[iH, iW] }"),
    ("(x: f32[a..]) -> (y: f32[a..]) { y[i_a..] = max(f32(i_a) .., x[i_a..]) }", "(x: f32[H, W]) -> (y: f32[H, W]) { y[iH, iW] = max(f32(iH), f32(iW), x[iH, iW]) }"),
])  # fmt: skip
def test_what_stands_for_the_axes(family: str, written: str) -> None:
    pair(f"op f{AXES}{family}", f"op f_2d{written}", "f_2d")


PIXELS = "{ work grid = (b, f, g), block = (t: 128)\n compute (p_a..) = (g, t)\n time c, r_a.. }"


def test_a_machine_of_a_family_is_one_for_each_rank() -> None:
    machines = load_text(f"{CONV}machine pixels : conv {PIXELS}").spec.machines
    assert [(m.title, m.op.name) for m in machines] == [("pixels_1d", "conv_1d"), ("pixels_2d", "conv_2d")]
    assert all(isinstance(check(m), Proof) for m in machines)
    written = PIXELS.replace("p_a..", "pH, pW").replace("r_a..", "rH, rW")
    (alone,) = load_text(f"{IMAGE}machine pixels_2d : conv_2d {written}").spec.machines
    assert standalone(program(machines[1])) == standalone(program(alone))


def test_a_machine_for_ops_of_one_rank_keeps_its_name() -> None:
    (machine,) = load_text(f"{CONV}op c = conv_2d then exp\nmachine pixels : conv_2d, c {PIXELS}").spec.machines[:1]
    assert machine.title == "pixels[op=conv_2d]"


def test_families_over_dtypes_too_and_ops_one_after_the_other() -> None:
    text = (
        "op chain = doubled then total\n"
        f"op doubled[T in {{f32, f64}}, {AXES[1:-1]}](x: T[R, a..]) -> (y: T[R, a..]) {{ y[r, i_a..] = 2 * x[r, i_a..] }}\n"
        f"op total[{AXES[1:-1]}, T in {{f32, f64}}](y: T[R, a..]) -> (s: T[R]) {{ s[r] = sum[i_a..] y[r, i_a..] }}\n"
        "machine rows : chain { work grid = (g), block = (t: 128)\n compute r = (g, t)\n time i_a.. }"
    )
    machines = load_text(text).spec.machines
    assert [m.title for m in machines] == [f"rows_{d}d[T={t}]" for d in (1, 2) for t in ("f32", "f64")]
    assert [m.op.name for m in machines] == [f"chain_{d}d[{t}]" for d in (1, 2) for t in ("f32", "f64")]
    assert all(isinstance(check(m), Proof) for m in machines)


def test_a_program_by_hand_and_its_wrong_twin() -> None:
    """The border is wrong from the second axis on: of one axis both guards are one."""
    op = f"op inner{AXES}(x: f32[a..]) -> (y: f32[a..]) {{ y[i_a..] = x[i_a..] if i_a >= 1 and .. else 0 }}\n"
    hand = "machine hand : inner {{ work grid = (), block = ()\n program {{ for i_a < a .. {{ y[i_a..] = x[i_a..] if i_a >= 1 {} .. else 0 }} }} }}"
    right, wrong = ([check(m) for m in load_text(op + hand.format(word)).spec.machines] for word in ("and", "or"))
    assert [type(v) for v in right] == [Proof, Proof] and [type(v) for v in wrong] == [Proof, Refutation]


def test_ops_of_a_family_are_imported(tmp_path: Path) -> None:
    (tmp_path / "ops.tgpu").write_text(CONV)
    (tmp_path / "one.tgpu").write_text(f'import "ops"\nop c = conv_2d then exp\nmachine m : c {PIXELS}')
    (tmp_path / "all.tgpu").write_text(f'import "ops"\nop c = conv then exp\nmachine m : c {PIXELS}')
    assert [m.title for m in load(str(tmp_path / "one.tgpu")).spec.machines] == ["m"]
    assert [m.title for m in load(str(tmp_path / "all.tgpu")).spec.machines] == ["m_1d", "m_2d"]


def test_a_mistake_says_of_which_rank_it_is_and_is_told_once() -> None:
    with pytest.raises(TinygpuError) as refused:
        load_text(
            f"op f{AXES}(x: f32[a..]) -> (y: f32[a..]) {{ y[i_a..] = x[i_a..] + x[i_a.., 0] }}\nmachine m : f {{ work grid = (g) }}"
        )
    assert [(d.title, d.notes) for d in refused.value.diagnostics] == [("x has 1 axis, not 2", ("in f_1d, where a is L",))]
    with pytest.raises(TinygpuError) as refused:
        load_text(f"op f{AXES}(x: f32[a..]) -> (y: f32[a..]) {{ y[i_a..] = x[i_a..] + x[0] }}")
    assert ("in f_2d, where a is H and W",) in [d.notes for d in refused.value.diagnostics]
