"""Machines by rules for attention on the cores of a CPU: arrays in whole tiles, a theorem that nothing is changed by that, and one pass over the keys.

    o[i, e] = Σⱼ exp(z[i, j] − m[i])·v[j, e] / s[i],  z = q·kᵀ   ↦   padded copies of q, k, v;  tiles of z and of exp(z − m), and m, s, o go on side by side

Comes in: an op. Goes out: states, each with the op of its tiles and the theorem. The one idea: what makes a tile whole is an equation like any other, so the machine is derived, and proved by the theorem for
all sizes.
"""

from __future__ import annotations

from collections.abc import Iterator

from tinygpu.category.term import TRUE, App, Fold, Read, Var, substitute, text
from tinygpu.model.op import Op
from tinygpu.record import dataclass, replace
from tinygpu.syntax import tree
from tinygpu.syntax.parse import parse
from tinygpu.tune.facts import extent_text
from tinygpu.tune.state import State, state_of

SHAPES = (  # queries of a core, keys of a turn; rows and vectors of the tile of scores, and of that of values
    (64, 256, 8, 2, 8, 2), (128, 64, 8, 2, 8, 2), (64, 128, 8, 2, 8, 2), (128, 128, 8, 4, 8, 4), (64, 256, 4, 4, 4, 4), (96, 192, 6, 4, 6, 4),
)  # fmt: skip
WIDE, LANES = 64, 16  # columns of values of a core, and numbers of a vector


@dataclass(frozen=True, slots=True)
class Attention:
    """The tensors of an op that is attention, by their roles; how far its indices go; and which keys count, as a condition on i and j."""

    tensors: dict[str, str]
    extents: dict[str, str]
    counts: str


def flashes(op: Op) -> Iterator[State]:
    """States of an op that is attention."""
    found = attention(op)
    for shape in SHAPES if found is not None else ():
        *beside, machine = parse(_text(found, op, shape)).declarations  # type: ignore[arg-type]
        state = state_of(machine) if isinstance(machine, tree.Machine) else None
        assert state is not None
        yield replace(state, beside=tuple(beside))


def attention(op: Op) -> Attention | None:
    """The parts of an op that is attention."""
    if len(op.equations) != 4 or len(op.inputs) != 3 or not _free(op):
        return None
    z, m, s, o = op.equations
    match z.value, m.value, s.value, o.value:
        case (
            Fold("sum", (d,), scored, App("mul", (Read(q, at_q), Read(k, at_k)))),
            Fold("max", (j,), guard, Read(z_m, _)),
            Fold("sum", (_,), guard_s, App("exp", (power,))),
            App("div", (Fold("sum", (_,), guard_o, App("mul", (App("exp", (power_o,)), Read(v, at_v)))), Read(s_o, _))),
        ) if scored == TRUE and (z_m, s_o) == (z.target, s.target):
            i, e = m.axes[0], o.axes[-1]
            row, key = Var(i.name), Var(j.name)
            least = App("sub", (Read(z.target, (row, key), "f32"), Read(m.target, (row,), "f32")), "f32")
            alike = power == power_o == least and guard == guard_s == guard_o and [a.name for a in z.axes] == [i.name, j.name]
            places = at_q == (row, Var(d.name)) and at_k == (key, Var(d.name)) and at_v == (key, Var(e.name))
            if alike and places and [a.name for a in o.axes] == [i.name, e.name]:
                named = {"q": q, "k": k, "v": v, "z": z.target, "m": m.target, "s": s.target, "o": o.target}
                counts = "" if guard == TRUE else f" and {text(substitute(guard, {i.name: Var('i'), j.name: Var('j')}))}"
                return Attention(named, {role: extent_text(a.extent) for role, a in zip("QKDE", (i, j, d, e), strict=True)}, counts)
    return None


def _free(op: Op) -> bool:
    """Whether nothing of an op has a name that is one of the machine's."""
    mine = {
        *["i", "j", "d", "e", "c", "x", "g", "h", "u", "l", "b", "a", "n", "w", "r"],
        "bi",
        "ti",
        "ri",
        "jo",
        "ji",
        "qp",
        "kp",
        "vp",
        "pp",
        "yp",
    }
    return mine.isdisjoint({*op.sizes, *(t.name for t in (*op.tensors, *op.intermediates))})


def _text(it: Attention, op: Op, shape: tuple[int, ...]) -> str:
    """The op in whole tiles, the theorem, and the machine."""
    rows, keys, r, w, ri, u = shape
    q, k, v, z, m, s, o = (it.tensors[name] for name in "qkvzmso")
    many, last, deep, wide = (it.extents[name] for name in "QKDE")
    tiles = f"{op.family}_{rows}_{keys}"
    queries, held, columns = (f"ceil({end} / {side}) * {side}" for end, side in ((many, rows), (last, keys), (wide, WIDE)))
    arguments = ", ".join(f"{t.name}: {t.dtype}[{', '.join(map(text, t.shape))}]" for t in op.inputs)
    (out,) = op.outputs
    where = f" where {', '.join(map(text, op.where))}" if op.where else ""
    return f"""op {tiles}({arguments}) -> ({out.name}: {out.dtype}[{", ".join(map(text, out.shape))}]){where} {{
  qp[i < {queries}, d < {deep}] = {q}[i, d | 0]
  kp[c < ceil({last} / {keys}), d < {deep}, x < {keys}] = {k}[{keys}*c + x, d | 0]
  vp[j < {held}, e < {columns}] = {v}[j, e | 0]
  {z}[i < {queries}, j < {held}] = (sum[d < {deep}] qp[i, d] * kp[j // {keys}, d, j % {keys}]) if j < {last}{it.counts} else -inf
  {m}[i < {queries}] = max[j < {held}] {z}[i, j]
  pp[i < {queries}, j < {held}] = exp({z}[i, j] - {m}[i])
  {s}[i < {queries}] = sum[j < {held}] pp[i, j]
  yp[i < {queries}, e < {columns}] = sum[j < {held}] pp[i, j] * vp[j, e]
  {o}[i < {many}, e < {wide}] = yp[i, e] / {s}[i]
}}
theorem {tiles}_padded : {op.family} == {tiles}
machine m : {op.family} via {tiles}_padded on cpu {{
  launch queries {{
    equations qp
    work core = (c)
    compute i = (c, x: 64)
    time x, d
  }}
  launch keys {{
    equations kp
    work core = (c)
    time d, x
  }}
  launch values {{
    equations vp
    work core = (c)
    compute j = (c, x: 64)
    time x, e
  }}
  launch flash {{
    equations {z}, {m}, pp, {s}, yp, {o}
    work core = (bi, g)
    compute i = (bi, ti: {rows // ri}, ri: {ri}), e = (g, h: {WIDE // (u * LANES)}, u: {u}, l: {LANES}), j = (jo, ji: {keys})
    time jo, ti, h, ji, b, d
    register ri, u
    simd l, x
    stage {z}[i, j] at jo in core {{
      compute i = (a, r: {r}), j = (n, w: {w}, t: {LANES})
      time a, n
      register r, w
      simd t
    }}
    stage pp[i, j] at jo in core {{
      compute i = a, j = n
      time a, n
    }}
    for {m} {{ compute j = (jo, b: {keys // LANES}, x: {LANES}) }}
    for {s} {{ compute j = (jo, b: {keys // LANES}, x: {LANES}) }}
    online {m}, {s}, yp over jo
  }}
}}"""
