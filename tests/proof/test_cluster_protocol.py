"""The protocol of rings whose slots blocks of a cluster fill together, proved once: for any number of blocks and warps, any depth, any number of turns; and wrong ones are found.

Comes in: a protocol, right or wrong. Goes out: an inductive invariant, decided by z3; the first clash in a run of a small cluster. The one idea: as for one block
(`test_ring_protocol.py`) a ring is so many slots, of which one is enough. Two blocks a and b are followed, that fill for each other, and of each one warp that uses; of all warps that use
it is counted how many are least far. A warp that is done with a slot arrives at the barrier `empty` of every block, in any order, and late.

Of a block: P rounds are begun by the warp that fills, F are full, E are empty again, and O arrivals are on their way to it. Of a warp that uses D rounds are done; of all N such warps
`lows` have done only mu rounds, the others one more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
import z3

from tests.proof.test_ring_protocol import holds, put


class State(NamedTuple):
    """Of one slot of two blocks; e uses in a, and c in b."""

    N: Any
    mu: Any
    lows: Any
    Pa: Any
    Pb: Any
    Fa: Any
    Fb: Any
    Ea: Any
    Eb: Any
    Oa: Any
    Ob: Any
    De: Any
    Dc: Any


def arrived(s: State, E: Any, O: Any) -> Any:
    """How many have arrived in the phase that is going on: all N have in mu + 1 rounds, but for those that are least far and those on their way."""
    return z3.If(s.mu == E, s.N, 2 * s.N) - s.lows - O


def invariant(s: State) -> Any:
    followed = z3.If(s.De == s.mu, 1, 0) + z3.If(s.Dc == s.mu, 1, 0)
    blocks = [(s.Pa, s.Fa, s.Ea, s.Oa, s.De), (s.Pb, s.Fb, s.Eb, s.Ob, s.Dc)]
    return z3.And(
        s.N >= 2, s.mu >= 0, s.lows >= 1, followed <= s.lows, s.lows - followed <= s.N - 2,
        s.Fa <= s.Pb, s.Fb <= s.Pa,  # they fill for each other
        *(
            z3.And(E >= 0, F <= P, P <= E + 1, s.mu >= E, O >= 0, D <= F, s.mu <= D, s.mu + 1 >= D, arrived(s, E, O) >= 0, arrived(s, E, O) < s.N)
            for P, F, E, O, D in blocks
        ),
    )  # fmt: skip


def wanted(s: State) -> Any:
    """While a warp may read a slot, nobody that fills it has begun another round."""
    reads_a, reads_b = s.De + 1 == s.Fa, s.Dc + 1 == s.Fb
    return z3.And(*(z3.Implies(reads, z3.And(s.Pa == F, s.Pb == F)) for reads, F in ((reads_a, s.Fa), (reads_b, s.Fb))))


def done(s: State) -> State:
    """One of those that are least far is done: an arrival is on its way to each block; if it was the last one, all are as far."""
    last = s.lows == 1
    return s._replace(lows=z3.If(last, s.N, s.lows - 1), mu=z3.If(last, s.mu + 1, s.mu), Oa=s.Oa + 1, Ob=s.Ob + 1)


def moves(s: State) -> Iterator[tuple[str, Any, State, Any]]:
    """What may happen, where, what is then so, and what has to be so before."""
    yield "a fills", (s.Pa + 1) % 2 != s.Ea % 2, s._replace(Pa=s.Pa + 1), z3.And(s.Ea == s.Pa, s.Fa == s.Pa, s.Fb == s.Pa)
    yield "a is full", z3.And(s.Pa > s.Fa, s.Pb > s.Fa), s._replace(Fa=s.Fa + 1), True
    yield "e is done", s.De % 2 != s.Fa % 2, done(s._replace(De=s.De + 1)), z3.And(s.Fa == s.De + 1, s.De == s.mu)
    others = s.lows - z3.If(s.De == s.mu, 1, 0) - z3.If(s.Dc == s.mu, 1, 0)
    yield "another is done", others > 0, done(s), True
    last = arrived(s, s.Ea, s.Oa) + 1 == s.N
    yield "one arrives at a", z3.And(s.Oa > 0, z3.Not(last)), s._replace(Oa=s.Oa - 1), True
    yield "the last arrives at a", z3.And(s.Oa > 0, last), s._replace(Oa=s.Oa - 1, Ea=s.Ea + 1), s.Ea < s.mu


def test_the_protocol_is_proved_for_any_cluster() -> None:
    """Both blocks are alike, so what a does stands for what b does."""
    s = State(*map(z3.Int, State._fields))
    known = z3.And(invariant(s), wanted(s))
    start = [s.N >= 2, s.lows == s.N, *(z == 0 for z in (s.mu, *s[3:]))]
    assert holds(*start, z3.Not(known)) and not holds(*start)
    for name, guard, after, before in moves(s):
        assert holds(known, guard, z3.Not(z3.And(before, invariant(after), wanted(after)))), name
        assert not holds(known, guard), f"{name} is possible"


@dataclass(frozen=True)
class Protocol:
    """What is done, and what a wrong one changes."""

    tells_all: bool = True
    expects_all: bool = True
    waits_for_all_parts: bool = True


RIGHT = Protocol()
WRONG = {
    "only the own block is told": Protocol(tells_all=False, expects_all=False),
    "empty expects the own warps alone": Protocol(expects_all=False),
    "full does not wait for what the neighbour sends": Protocol(waits_for_all_parts=False),
    "warps tell their own block, which waits for all": Protocol(tells_all=False),
}


class Cluster(NamedTuple):
    """Of each block the turns that its filling warp has begun and given over; of each using warp those begun and ended; arrivals and parts on their way; of each slot of a
    block how often it was full, whether it was given over, the parts that have landed, how often it was empty again, and who has arrived."""

    filling: tuple[tuple[int, int], ...]
    using: tuple[tuple[int, int], ...]
    told: frozenset[tuple[int, int, int]]
    sent: frozenset[tuple[int, int, int]]
    slots: tuple[tuple[tuple[int, int, int, int, int], ...], ...]


def changed(r: Cluster, block: int, at: int, **slot: int) -> Cluster:
    names = ("full", "given", "landed", "empty", "arrived")
    mine = r.slots[block]
    return r._replace(slots=put(r.slots, block, put(mine, at, tuple(slot.get(n, v) for n, v in zip(names, mine[at], strict=True)))))


def follows(r: Cluster, p: Protocol, turns: int) -> Iterator[tuple[Cluster, str]]:
    """All that may happen next, and what is wrong with it."""
    blocks, depth = range(len(r.slots)), len(r.slots[0])
    warps = len(r.using) // len(r.slots)
    for b, (begun, given) in enumerate(r.filling):
        at = (begun if begun == given else given) % depth
        full, _, landed, empty, arrived = r.slots[b][at]
        if begun == given < turns and (begun // depth + 1) % 2 != empty % 2:
            sends = r._replace(filling=put(r.filling, b, (begun + 1, given)), sent=r.sent | {(b, to, begun) for to in blocks})
            readers = ((w, a, e) for w, (a, e) in enumerate(r.using) if a > e)
            yield sends, "clash" if any(e % depth == at and e < begun for _, _, e in readers) else ""
        if begun > given:
            yield changed(r._replace(filling=put(r.filling, b, (begun, begun))), b, at, given=1), ""
    for w, (begun, ended) in enumerate(r.using):
        b = w // warps
        if begun == ended < turns and r.slots[b][begun % depth][0] % 2 != begun // depth % 2:
            missing = any(to == b and t == begun for _, to, t in r.sent) or any(begun >= P for P, _ in r.filling)
            newer = any(begun + depth < P for P, _ in r.filling)
            yield r._replace(using=put(r.using, w, (begun + 1, ended))), "clash" if missing or newer else ""
        if begun > ended:
            whom = blocks if p.tells_all else [b]
            yield r._replace(using=put(r.using, w, (begun, begun)), told=r.told | {(w, to, ended) for to in whom}), ""
    for one in r.told:
        _, to, turn = one
        *_, empty, arrived = r.slots[to][turn % depth]
        last = arrived + 1 == warps * (len(r.slots) if p.expects_all else 1)
        more = {"empty": empty + 1, "arrived": 0} if last else {"arrived": arrived + 1}
        yield changed(r._replace(told=r.told - {one}), to, turn % depth, **more), ""
    for one in r.sent:
        _, to, turn = one
        full, _, landed, *_ = r.slots[to][turn % depth]
        yield (
            changed(r._replace(sent=r.sent - {one}), to, turn % depth, landed=landed + 1),
            "" if full == turn // depth else "clash",
        )
    for b in blocks:
        for at, (full, given, landed, *_) in enumerate(r.slots[b]):
            if given and landed >= (len(r.slots) if p.waits_for_all_parts else 1):
                yield changed(r, b, at, full=full + 1, given=0, landed=0), ""


def faults(p: Protocol, blocks: int, warps: int, slots: int, turns: int) -> set[str]:
    """What goes wrong in some run: two at one slot, or all wait."""
    start = Cluster(((0, 0),) * blocks, ((0, 0),) * (blocks * warps), frozenset(), frozenset(), (((0,) * 5,) * slots,) * blocks)
    seen, ahead, found = {start}, deque([start]), set[str]()
    while ahead and not found:
        now = ahead.popleft()
        after = [*follows(now, p, turns)]
        found |= {wrong for _, wrong in after if wrong}
        if not after and any(warp != (turns, turns) for warp in (*now.filling, *now.using)):
            found.add("stuck")
        new = [r for r in dict.fromkeys(r for r, _ in after) if r not in seen]
        ahead += new
        seen.update(new)
    return found


@pytest.mark.parametrize(("blocks", "warps", "slots", "turns"), [(2, 1, 1, 3), (2, 2, 1, 2), (2, 1, 2, 3), (3, 1, 1, 2)])
def test_no_run_of_a_small_cluster_goes_wrong(blocks: int, warps: int, slots: int, turns: int) -> None:
    assert not faults(RIGHT, blocks, warps, slots, turns)


@pytest.mark.parametrize("name", WRONG)
def test_a_run_of_a_wrong_one_does(name: str) -> None:
    assert faults(WRONG[name], 2, 1, 1, 3) == {"stuck" if name.startswith("warps tell") else "clash"}
