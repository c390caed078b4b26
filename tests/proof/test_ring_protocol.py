"""The protocol of a ring's barriers, proved once: for any number of warps on either side, any depth, any number of turns; and wrong ones are found, twice.

Comes in: what a protocol waits for, and how many arrivals each barrier expects. Goes out: an inductive invariant, decided by z3; the first clash in a run of small rings.
The one idea: a ring is so many slots, and every warp visits slot t % slots in its round t // slots, so one slot is enough. Of it one filling and one using warp are followed,
and the others are counted by what they may be doing, which is why neither their number nor the slots nor the turns occur.

A barrier's wait for a parity passes where the phase that is going on has another one. P rounds were begun by a filling warp, and G given over; the bytes of L warps have landed, F
rounds are full (phases of `full`, each of W arrivals and the bytes that are expected by then), with some still `late`, C were given back by a using warp, and E are empty again (phases of `empty`, each of m arrivals).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
import z3


@dataclass(frozen=True)
class Protocol:
    """What it is, and what a wrong one changes: arrivals too few, bytes that nobody waits for, slots given back while they are read."""

    fill: Callable[[Any], Any] = lambda round: round + 1  # the parity that is waited for
    use: Callable[[Any], Any] = lambda round: round
    full_lacks: int = 0
    empty_lacks: int = 0
    waits_for_bytes: bool = True
    reads_first: bool = True


RIGHT = Protocol()
WRONG = {
    "filling begins with the wrong parity": Protocol(fill=lambda round: round),
    "using begins with the wrong parity": Protocol(use=lambda round: round + 1),
    "empty expects an arrival too few": Protocol(empty_lacks=1),
    "full expects an arrival too few": Protocol(full_lacks=1),
    "a slot is given back before it is read": Protocol(reads_first=False),
    "full does not wait for all bytes": Protocol(waits_for_bytes=False),
}


class State(NamedTuple):
    """Of one slot. `fills` and `uses` count the other warps: [d][1] of them are at work, [d][0] wait, in the round that is d behind F or E."""

    W: Any
    m: Any
    P: Any
    G: Any
    L: Any
    F: Any
    late: Any
    k: Any
    C: Any
    E: Any
    n: Any
    inside: Any
    fills: tuple[tuple[Any, Any], tuple[Any, Any]]
    uses: tuple[tuple[Any, Any], tuple[Any, Any]]


def moved(counts: Any, out: tuple[int, int], into: tuple[int, int]) -> Any:
    """One of the counted warps does something else."""
    change = {out: -1, into: 1}
    return tuple(tuple(counts[d][w] + change.get((d, w), 0) for w in (0, 1)) for d in (0, 1))


class Step(NamedTuple):
    """`within`: that the counted warps are still in one of the two rounds."""

    name: str
    guard: Any
    after: State
    within: Any = True


def full_steps(s: State, p: Protocol) -> Iterator[Step]:
    """Of who fills, and of the barrier `full`."""
    yield Step("begin", z3.And(s.P == s.G, p.fill(s.P) % 2 != s.E % 2), s._replace(P=s.P + 1))
    yield Step("give over", s.P == s.G + 1, s._replace(G=s.G + 1, k=s.k + 1))
    for d in (0, 1):
        begun = moved(s.fills, (d, 0), (d, 1))
        yield Step(f"another begins, {d}", z3.And(s.fills[d][0] > 0, p.fill(s.F + d) % 2 != s.E % 2), s._replace(fills=begun))
        given = s._replace(fills=moved(s.fills, (d, 1), (1, 0)), k=s.k + 1)
        yield Step(f"another gives over, {d}", s.fills[d][1] > 0, given, within=d == 0)
    yield Step("land", s.k > s.L, s._replace(L=s.L + 1))
    behind = z3.And(s.fills[0][0] == 0, s.fills[0][1] == 0)
    ready = z3.And(s.k > 0, s.k >= s.W - p.full_lacks, z3.Or(s.k == s.L, not p.waits_for_bytes))
    zero = z3.IntVal(0)
    yield Step(
        "full", ready, s._replace(F=s.F + 1, late=s.late + s.W - s.L, L=zero, k=zero, fills=(s.fills[1], (zero, zero))), behind
    )


def empty_steps(s: State, p: Protocol) -> Iterator[Step]:
    """Of who uses, and of the barrier `empty`, whose last arrival ends its phase."""
    reads = int(not p.reads_first)
    yield Step("enter", z3.And(z3.Not(s.inside), p.use(s.C) % 2 != s.F % 2), s._replace(inside=z3.BoolVal(True)))
    yield from arrivals("give back", s.inside, s._replace(C=s.C + 1, inside=z3.And(s.inside, bool(reads))), p)
    for d in (0, 1):
        entered = s._replace(uses=moved(s.uses, (d, 0), (d, 1)))
        yield Step(f"another enters, {d}", z3.And(s.uses[d][0] > 0, p.use(s.E + d) % 2 != s.F % 2), entered)
        left = s._replace(uses=moved(s.uses, (d, 1), (1, reads)))
        yield from arrivals(f"another gives back, {d}", s.uses[d][1] > 0, left, p, d == 0)


def arrivals(name: str, guard: Any, s: State, p: Protocol, within: bool = True) -> Iterator[Step]:
    last = s.n + 1 == s.m - p.empty_lacks
    yield Step(name, z3.And(guard, z3.Not(last)), s._replace(n=s.n + 1), within)
    ended = s._replace(E=s.E + 1, n=z3.IntVal(0), uses=(s.uses[1], (z3.IntVal(0), z3.IntVal(0))))
    yield Step(f"{name}, last", z3.And(guard, last), ended, z3.And(s.uses[0][0] == 0, s.uses[0][1] == 0, within))


def invariant(s: State) -> Any:
    of_fills, of_uses = ([*c[0], *c[1]] for c in (s.fills, s.uses))
    return z3.And(
        s.W >= 1, s.m >= 1, s.E >= 0, *(c >= 0 for c in (*of_fills, *of_uses)), sum(of_fills) == s.W - 1, sum(of_uses) == s.m - 1,
        s.E <= s.F, s.F <= s.E + 1, s.L >= 0, s.k >= s.L, s.late == 0,
        s.F <= s.G, s.G <= s.F + 1, s.G <= s.P, s.P <= s.G + 1, s.P <= s.E + 1,
        s.E <= s.C, s.C <= s.E + 1, s.C <= s.F, z3.Implies(s.inside, s.C < s.F),
        s.k == s.fills[1][0] + s.fills[1][1] + z3.If(s.G == s.F + 1, 1, 0), s.k <= s.W,
        s.n == s.uses[1][0] + s.uses[1][1] + z3.If(s.C == s.E + 1, 1, 0), s.n < s.m,
        s.fills[1][1] == 0, z3.Implies(s.fills[0][1] + s.fills[1][0] > 0, s.F == s.E),
        s.uses[1][1] == 0, z3.Implies(s.uses[0][1] + s.uses[1][0] > 0, s.F == s.E + 1),
    )  # fmt: skip


def wanted(s: State) -> Any:
    """Who reads a slot has its own round there, all of which has landed, and nobody has begun another."""
    return z3.Implies(s.inside, z3.And(s.F == s.C + 1, s.late == 0, s.P == s.F))


def holds(*facts: Any) -> bool:
    """Whether no state has these facts; one that z3 cannot decide is a mistake of this file."""
    solver = z3.Solver()
    solver.set("rlimit", 20_000_000)
    solver.add(*facts)
    found = solver.check()
    assert found != z3.unknown, solver.reason_unknown()
    return bool(found == z3.unsat)


def broken(p: Protocol) -> set[str]:
    """The claims that do not hold of a protocol."""
    numbers = dict(zip(State._fields, map(z3.Int, State._fields), strict=True))
    fills, uses = (tuple(tuple(z3.Int(f"{c}{d}{w}") for w in (0, 1)) for d in (0, 1)) for c in ("fills", "uses"))
    s = State(**numbers | {"inside": z3.Bool("inside"), "fills": fills, "uses": uses})  # type: ignore[arg-type]
    zero = [s.P, s.G, s.L, s.F, s.late, s.k, s.C, s.E, s.n, fills[0][1], *fills[1], uses[0][1], *uses[1]]
    others = z3.And(fills[0][0] == s.W - 1, uses[0][0] == s.m - 1, s.W >= 1, s.m >= 1)
    known = z3.And(invariant(s), wanted(s))
    claims = {
        "start": (others, z3.Not(s.inside), *(z == 0 for z in zero), z3.Not(known)),
        "a wait for full passes for its own round alone": (
            known, z3.Not(s.inside), (p.use(s.C) % 2 != s.F % 2) != (s.F == s.C + 1),
        ),
        "a wait for empty passes for its own round alone": (known, s.P == s.G, (p.fill(s.P) % 2 != s.E % 2) != (s.E == s.P)),
    }  # fmt: skip
    for step in (*full_steps(s, p), *empty_steps(s, p)):
        claims[step.name] = known, step.guard, z3.Not(z3.And(invariant(step.after), wanted(step.after), step.within))
    return {name for name, facts in claims.items() if not holds(*facts)}


def test_the_protocol_is_proved_for_any_number_of_warps_slots_and_turns() -> None:
    assert broken(RIGHT) == set()


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_one_is_not(name: str) -> None:
    assert broken(WRONG[name])


@pytest.mark.parametrize("behind", [False, True])
def test_nobody_waits_for_ever_and_a_slot_is_entered_again_when_it_was_given_back(behind: bool) -> None:
    """Of all warps those that are least far, where a slot is given back d turns later; with d as many as there are slots somebody does."""
    slots, turns, d, filled, used, t = z3.Ints("slots turns d filled used t")
    depth = [slots >= 1, turns >= 0, d >= 0, d <= slots if behind else d < slots]
    known = [*depth, used >= 0, used <= filled, filled <= turns, z3.Implies(filled > slots, filled - slots <= used - d)]
    may_fill = z3.And(filled < turns, z3.Or(filled < slots, used - d >= filled - slots + 1))
    may_use = z3.And(used < turns, used < filled)
    assert holds(*known, z3.Not(z3.And(filled == turns, used == turns)), z3.Not(may_fill), z3.Not(may_use)) == (not behind)
    assert holds(*depth, t >= 0, z3.Not(t + d < t + slots)) == (not behind)


class Ring(NamedTuple):
    """A ring in a run: how many turns each warp has begun and ended, and of each slot L, F, late, k, E, n."""

    filling: tuple[tuple[int, int], ...]
    using: tuple[tuple[int, int], ...]
    slots: tuple[tuple[int, int, int, int, int, int], ...]


def put(values: tuple[Any, ...], at: int, value: Any) -> tuple[Any, ...]:
    return (*values[:at], value, *values[at + 1 :])


def follows(r: Ring, p: Protocol, turns: int, behind: int) -> Iterator[Ring]:
    """All that may happen next. A warp that uses has begun a turn when its wait has passed, and ended it when it gives a slot back."""
    depth = len(r.slots)
    for w, (begun, ended) in enumerate(r.filling):
        *_, k, E, _ = slot = r.slots[(begun if begun == ended else ended) % depth]
        if begun == ended < turns and p.fill(begun // depth) % 2 != E % 2:
            yield r._replace(filling=put(r.filling, w, (begun + 1, ended)))
        if begun > ended:
            given = put(r.slots, ended % depth, put(slot, 3, k + 1))
            yield r._replace(filling=put(r.filling, w, (begun, begun)), slots=given)
    for c, (begun, ended) in enumerate(r.using):
        if begun == ended < turns and r.slots[begun % depth][1] % 2 != p.use(begun // depth) % 2:
            yield r._replace(using=put(r.using, c, (begun + 1, ended)))
        if begun > ended:
            after, back = r._replace(using=put(r.using, c, (begun, begun))), ended - behind
            *fill, E, n = r.slots[back % depth]
            last = n + 1 == len(r.using) - p.empty_lacks
            slot = (*fill, E + last, 0 if last else n + 1)
            yield after._replace(slots=put(r.slots, back % depth, slot)) if back >= 0 else after
    for at, (L, F, late, k, E, n) in enumerate(r.slots):
        if k > L:
            yield r._replace(slots=put(r.slots, at, (L + 1, F, late, k, E, n)))
        if late:
            yield r._replace(slots=put(r.slots, at, (L, F, late - 1, k, E, n)))
        if k and k >= len(r.filling) - p.full_lacks and (k == L or not p.waits_for_bytes):
            yield r._replace(slots=put(r.slots, at, (0, F + 1, late + len(r.filling) - L, 0, E, n)))


def clash(r: Ring, p: Protocol, behind: int) -> bool:
    """Whether a tile that somebody may still read has not landed, or another is written over it."""
    depth = len(r.slots)
    for begun, ended in r.using:
        for tile in range(max(0, ended - behind - (not p.reads_first)), begun):
            newer = any(w_begun > tile + depth for w_begun, _ in r.filling)
            _, full, late, *_ = r.slots[tile % depth]
            if newer or late or full <= tile // depth:
                return True
    return False


def faults(p: Protocol, filling: int, using: int, slots: int, turns: int, behind: int = 0) -> Iterator[str]:
    """What goes wrong in some run: two at one slot, or all wait."""
    start = Ring(((0, 0),) * filling, ((0, 0),) * using, ((0,) * 6,) * slots)
    seen, ahead = {start}, deque([start])
    while ahead:
        now = ahead.popleft()
        if clash(now, p, behind):
            yield "clash"
            continue
        after = [*follows(now, p, turns, behind)]
        if not after and any(warp != (turns, turns) for warp in (*now.filling, *now.using)):
            yield "stuck"
        new = [r for r in dict.fromkeys(after) if r not in seen]
        ahead += new
        seen.update(new)


@pytest.mark.parametrize(("filling", "using"), [(1, 1), (2, 1), (1, 2), (2, 2)])
@pytest.mark.parametrize(("slots", "turns", "behind"), [(1, 3, 0), (2, 5, 0), (2, 5, 1), (3, 7, 2)])
def test_no_run_of_a_small_ring_goes_wrong(filling: int, using: int, slots: int, turns: int, behind: int) -> None:
    assert not [*faults(RIGHT, filling, using, slots, turns, behind)]


def test_a_ring_as_long_as_slots_are_kept_is_stuck() -> None:
    assert {*faults(RIGHT, 1, 1, 2, 5, 2)} == {"stuck"}


@pytest.mark.parametrize("name", WRONG)
def test_a_run_of_a_wrong_one_does(name: str) -> None:
    wanted = "stuck" if name == "filling begins with the wrong parity" else "clash"
    assert wanted in faults(WRONG[name], 2, 2, 2, 4)
