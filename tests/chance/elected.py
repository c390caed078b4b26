"""Some threads of a block write cells that one thread then reads: which ones, which cells and what is drawn.

Comes in: a hypothesis draw. Goes out: the text of an op and of a machine, right or wrong. The one idea: whether a cell has one writer is
told by a guard and an index together, so both are drawn from relations between two axes.
"""

from __future__ import annotations

from hypothesis import strategies as st

from tests.chance.idioms import Draw, machine, some

COPY = "(x: f32[n]) -> (y: f32[n]) { y[i] = x[i] }"


def relations(many: int, other: int) -> tuple[str, ...]:
    """Conditions on two axes of a block."""
    ties = ("t == u", f"t + u == {other - 1}", "t % 2 == u % 2", "t // 2 == u", "t <= u", f"(t + u) % {other} == 0")
    return (
        *ties,
        "t == 0",
        f"u == {other - 1}",
        f"t*{other} + u == {many}",
        f"t*{other} + u < {many}",
        "t == u and t == 1",
        "t == u or t == 0",
    )


def cells(other: int, count: int) -> tuple[str, ...]:
    """Indices that one or several threads have."""
    return ("0", "t", "u", "t + u", f"t*{other} + u", f"(t*{other} + u) % {count}", "t ^ u", "t // 2", f"u*{other} + t")


def elected(draw: Draw) -> str:
    """A cell of a block that some threads write, and one reads."""
    many, other = draw(st.integers(2, 4)), draw(st.integers(2, 4))
    count = draw(st.sampled_from((1, many, other, many * other, many + other)))
    guard = draw(st.sampled_from((f"t < {many}", *relations(many, other))))
    index = draw(st.sampled_from(cells(other, count)))
    also = draw(st.sampled_from(("", "", " + f32(t - u)", " + f32(t)", " + f32(u)", f" + f32({index})")))
    update = draw(st.sampled_from(("=", "=", "=", "+=")))
    first = some(draw, "if t == 0 and u == 0 { s[0] = 0 }\n    barrier") if update == "+=" else ""
    store = f"s[{index}] {update} x[g]{also}"
    return machine(
        COPY,
        f"work grid = (g: n), block = (t: {many}, u: {other})\n  ",
        f"""    shared s: f32[{count}]
    {first}
    if {guard} {{ {store} }}
    {some(draw, "barrier")}
    if t == 0 and u == 0 {{ y[g] = s[{draw(st.sampled_from((0, 0, 0, count - 1)))}] }}""",
    )
