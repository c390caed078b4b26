"""Every obligation is seen failing: at each place at which a property states a claim there is a program of which it is not proved.

Comes in: the specs of `tests/wrong` and of `open/`, programs made in Python, and the text of `obligations/` itself. Goes out: the open claims.
The one idea: what is stated anywhere is read off the text, place by place, so a new obligation needs its wrong program here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.comments import Wrong, wrongs
from tests.conftest import ROOT
from tests.obligations.places import Recorder, places
from tests.obligations.texts import COPY
from tests.obligations.texts import program as by_hand
from tests.program.library import left_open
from tests.program.library import program as made
from tinygpu.category.layout import Layout
from tinygpu.category.term import Axis, Const, Term, Var
from tinygpu.derive.arena import LINE, arena_of
from tinygpu.derive.wide import wide_accesses
from tinygpu.diagnostic import TinygpuError
from tinygpu.obligations import claims_of_family, memory, storage, store, width
from tinygpu.obligations.choice import claims_of_choice, taken
from tinygpu.obligations.dataflow import execute
from tinygpu.obligations.obligation import Claim
from tinygpu.obligations.pipeline import claims_of_pipeline
from tinygpu.obligations.trace import Trace
from tinygpu.pipeline import load, load_text, program
from tinygpu.program.step import Array, For, If, Program
from tinygpu.proof.kernel import Proof, Theorem, discharge, prove
from tinygpu.record import replace

OPEN = sorted((Path(__file__).parent / "open").glob("*.tgpu"))
MEMORY = {m.title: program(m) for m in load(Path(__file__).parent / "memory.tgpu").machines}


def open_claims(one: Program) -> set[str]:
    """Kind and code of what is not proved."""
    result = prove(one)
    return set() if isinstance(result, Proof) else {f"{o.claim.kind} {o.claim.code}" for o in result}


@pytest.mark.parametrize("wrong", [pytest.param(w, id=f"{p.stem}: {w.title}") for p in OPEN for w in wrongs(p)])
def test_what_is_edited_leaves_it_open(wrong: Wrong) -> None:
    assert left_open(made(wrong.text), wrong.why)


@pytest.mark.parametrize("path", OPEN, ids=lambda path: path.stem)
def test_and_before_it_is_edited_it_is_proved(path: Path) -> None:
    assert not open_claims(made(path.read_text(encoding="utf-8"))) & {wrong.why for wrong in wrongs(path)}


def with_layout(layout: Layout) -> Program:
    """The tiled program with another layout of its array."""
    one = MEMORY["tiled"]
    (launch,) = one.launches
    array, *rest = launch.body
    assert isinstance(array, Array)
    return replace(one, launches=(replace(launch, body=(replace(array, layout=layout), *rest)),))


def held(layout: Layout) -> bool:
    """Whether every claim about where cells lie is a theorem."""
    claims = list(storage.storage(with_layout(layout), Trace()))
    return bool(claims) and all(isinstance(discharge(c), Theorem) for c in claims)


GOOD = (Layout(), Layout(pad=1), Layout(swizzle=(3, 0, 3)), Layout(swizzle=(2, 1, 3)), Layout(swizzle=(4, 3, 1)))
BAD = (Layout(pad=-1), Layout(swizzle=(3, 0, 0)), Layout(swizzle=(0, 3, 1)))


@pytest.mark.parametrize("layout", [*GOOD, *BAD], ids=repr)
def test_a_layout_is_one_to_one_or_is_open(layout: Layout) -> None:
    assert held(layout) == (layout in GOOD)


def by_python() -> tuple[Program, Program, Program]:
    """What no text says: an output that is read, as many threads as there are rows, a loop that hides a worker."""
    one = by_hand(COPY, "local a: f32[]\na[] = x[ROW]\ns[ROW] = x[ROW]")
    (launch,) = one.launches
    local, guarded = launch.body
    assert isinstance(guarded, If)
    first, second = guarded.body
    read = replace(first, value=replace(first.value, tensor="s", index=second.index))  # type: ignore[union-attr, type-var]
    several = replace(launch, block=(Axis("t", Var("R"), "block"),))
    return (
        replace(one, launches=(replace(launch, body=(local, replace(guarded, body=(second, read)))),)),
        replace(one, launches=(several,), where=(Var("R") <= 32,)),
        replace(one, launches=(replace(launch, body=(*launch.body, For(launch.block[0], ()))),)),
    )


def column_major(shape: tuple[Term, ...], index: tuple[Term, ...]) -> Term:
    """The address of an element, with rows for columns."""
    return index[1] * shape[1] + index[0]


CHAIN = """op add(x: f32[n], y: f32[n]) -> (z: f32[n]) { z[i] = x[i] + y[i] }
machine adds : add { work grid = (g), block = (t: 32)
  compute i = (g, t) }
pipeline chain(x: f32[n]) -> (z: f32[n]) { a = add(x, x)
  b = add(x, x)
  z = add(a, b) }
"""


def asked_alone(watch: pytest.MonkeyPatch) -> Iterator[Claim]:
    """Claims about what the program cannot say, and the functions that set memory out would have to get wrong."""
    reading, many, _ = by_python()
    yield from store.store(reading, execute(reading))
    yield next(claims_of_family(reading, reading.op.sizes))  # of which the op speaks, so they are no free numbers
    for path in sorted((ROOT / "tests" / "wrong").glob("TG55[1-4]*.tgpu")):
        for choice in load_text(path.read_text(encoding="utf-8")).spec.choices:
            yield from (*claims_of_choice(choice), *taken(choice))
    for path in sorted((ROOT / "tests" / "wrong").glob("TG55[56]*.tgpu")):
        for pipeline in load_text(path.read_text(encoding="utf-8")).spec.pipelines:
            arena = arena_of(pipeline)
            yield from claims_of_pipeline(pipeline, arena)
            yield from claims_of_pipeline(pipeline, replace(arena, bytes=arena.bytes - LINE))
    (chain,) = load_text(CHAIN).spec.pipelines
    yield from claims_of_pipeline(chain, replace(arena_of(chain), offsets=(Const(0), Const(0))))
    yield from storage.limits(many, Trace())
    yield from storage.storage(with_layout(Layout(pad=-1)), Trace())
    yield from storage.storage(with_layout(Layout(swizzle=(3, 0, 0))), Trace())
    with watch.context() as here:
        here.setattr("tinygpu.category.layout.whole", lambda elements, swizzle: elements)
        yield from storage.storage(with_layout(Layout(swizzle=(4, 3, 1))), Trace())
    with watch.context() as here:
        here.setattr(storage, "shared_places", lambda launch: ({"s": 0, "other": 0}, 0))
        one = with_layout(Layout())
        array, *rest = one.launches[0].body
        body = (array, replace(array, name="other"), *rest)  # type: ignore[call-arg]
        yield from storage.storage(replace(one, launches=(replace(one.launches[0], body=body),)), Trace())
    with watch.context() as here:
        here.setattr(width, "address", column_major)
        yield from width.state(MEMORY["matrix"], Trace())
    with watch.context() as here:
        one = MEMORY["wide"]
        assert not open_claims(one)
        moved = tuple(replace(w, first=(*w.first[:-1], w.first[-1] + 1)) for w in wide_accesses(one))
        here.setattr(memory, "wide_accesses", lambda program: moved)
        assert moved and open_claims(one) == {"alignment TG405"}
        yield from memory.alignment(one, Trace())


def wrong_programs() -> Iterator[Program]:
    """All of `tests/wrong` that the prover is asked of, what `open/` is edited to, and what is made in Python."""
    for path in sorted((ROOT / "tests" / "wrong").glob("TG[2-5]*.tgpu")):
        with suppress(TinygpuError):  # refused before it is a program
            yield from [program(machine) for machine in load_text(path.read_text(encoding="utf-8")).machines]
    yield from (made(wrong.text) for path in OPEN for wrong in wrongs(path))
    yield from by_python()


def test_every_place_at_which_a_claim_is_stated_is_seen_failing(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = Recorder(monkeypatch)
    left = [o.claim for one in wrong_programs() for result in (prove(one),) if not isinstance(result, Proof) for o in result]
    left += [claim for claim in asked_alone(monkeypatch) if not isinstance(discharge(claim), Theorem)]
    assert set(places()) - seen.stated_at(left) == set()
    # and no claim, proved or not, is of a kind and a code that is never open
    assert {(claim.kind, claim.code) for claim in seen.of} - {(claim.kind, claim.code) for claim in left} == set()
