"""What a search finds is proved, and what it may use is data.

Comes in: textbook ops, and ops that a grammar makes. Goes out: other ops, with verdicts. The one idea: the search is not believed, so what is asked of it is that it finds what people know, that nothing
of what it prints is false, and that it ends.
"""

from __future__ import annotations

import random
from itertools import product
from math import prod

import pytest

from tests.algebra.pairs import pair
from tests.conftest import ROOT
from tests.program.library import loaded
from tinygpu import pipeline
from tinygpu.algebra.polynomial import Unfollowed
from tinygpu.category.term import Axis, Read, Term, Var, text, walk
from tinygpu.commands.rewrite import Answer, answer
from tinygpu.pipeline import Proof, load_text
from tinygpu.rewrite.contract import Plan
from tinygpu.rewrite.graph import INV, MUL, Box, Graph, Leaf, Over
from tinygpu.rewrite.propose import propose
from tinygpu.rewrite.rules import RULES, saturate

LIBRARY = loaded("theorems").spec
LIMIT, SECONDS = 400, 60.0
K = Box((Axis("K#0", Var("K")),))


def found(name: str, **sizes: int) -> Answer:
    op = LIBRARY.op(name)
    return answer(op, {s: sizes.get(s, 1024) for s in op.sizes}, {"j"}, LIMIT, SECONDS, lambda _: None)


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("name", "sizes", "folds"),
    [
        ("softmax", {}, (2, 1)),
        ("attention", {"D": 64, "E": 64}, (4, 2)),
        ("attention_late", {"D": 64, "E": 64}, (4, 2)),
        ("attention_causal", {"D": 64, "E": 64}, (4, 2)),
        ("attention_groups", {"H": 8, "G": 4, "D": 64, "E": 64}, (4, 2)),
        ("layernorm", {}, (2, 1)),
        ("softmax_backward", {}, (3, 1)),
        ("softmax_jacobian", {}, (2, 1)),
        ("linear_attention", {"D": 64, "E": 64}, (2, 2)),
        ("chain_left", {"K": 32, "N": 32}, (2, 2)),
        ("scaled_weights", {}, (1, 1)),
        ("dequantised_first", {}, (1, 1)),
        ("rmsnorm_product", {}, (2, 1)),
    ],
)
def test_what_people_know_is_found_and_proved(name: str, sizes: dict[str, int], folds: tuple[int, int]) -> None:
    one = found(name, **sizes)
    assert one.found is not None and one.text and not one.diagnostics
    assert (one.found.before.folds, one.found.after.folds) == folds and one.found.exact and one.found.complete
    assert one.found.after.operations + 4 * one.found.after.points < one.found.before.operations + 4 * one.found.before.points


@pytest.mark.parametrize("name", ["softmax_shifted", "attention_flash", "linear_attention", "scaled_product", "conv_winograd"])
def test_what_is_as_cheap_as_any_stays_as_it_is(name: str) -> None:
    one = found(name)
    assert one.found is None and not one.diagnostics


def test_which_order_is_cheap_follows_from_the_sizes() -> None:
    assert found("linear_attention", Q=64, K=64, D=512, E=512).found is None
    assert found("linear_attention", Q=4096, K=4096, D=64, E=64).found is not None


def test_flash_attention_is_what_is_derived() -> None:
    one = found("attention", D=64, E=64)
    assert one.found is not None
    machine = f"""machine tiles : attention via {one.found.name} {{
      work    grid = (bi, g), block = (ti: 8, t: 32)
      compute i = (bi, ti), e = (g, t), j = (jo, ji: 32)
      time    jo, ji, d
      stage z[i, j] at jo in shared
      stage v[j, e] at jo in shared
    }}"""
    whole = f"{(ROOT / 'specs' / 'theorems.tgpu').read_text()}\n{one.text}\n{machine}"
    assert isinstance(pipeline.check(load_text(whole).spec.machine("tiles")), Proof)


def test_no_law_names_a_kernel_and_none_moves_what_speaks_of_the_box() -> None:
    assert not [r for r in RULES if "softmax" in r.name or "attention" in r.name]
    graph = Graph(frozenset({"K"}))
    x, c = (graph.add(Leaf(Read(n, i, "f32"))) for n, i in (("x", (Var("K#0"),)), ("c", (Var("i"),))))
    free, bound = graph.add(Over(("sum",), K), graph.add(MUL, x, c)), graph.add(Over(("sum",), K), graph.add(MUL, x, x))
    assert saturate(graph)
    assert (MUL, tuple(sorted((c, graph.add(Over(("sum",), K), x))))) in graph.nodes[graph.find(free)]
    assert all(label != MUL for label, _ in graph.nodes[graph.find(bound)])


def test_a_maximum_of_something_else_shifts_nothing() -> None:
    graph = Graph(frozenset({"K"}))
    h, other, v = (graph.add(Leaf(Read(n, (Var("K#0"),), "f32"))) for n in ("h", "g", "v"))
    most = graph.add(Over(("max",), K), other)
    weight = graph.add(("app", "exp"), graph.add(("app", "sub"), h, most))
    whole = graph.add(Over(("sum",), K), graph.add(MUL, weight, v))
    saturate(graph)
    assert not [n for n in graph.nodes[graph.find(whole)] if isinstance(n[0], Over) and n[0].weighted]


def test_equal_classes_make_equal_nodes() -> None:
    graph = Graph()
    a, b = (graph.add(Leaf(Read(n, (), "f32"))) for n in "ab")
    both = [graph.add(INV, x) for x in (a, b)]
    graph.union(a, b)
    graph.rebuild()
    assert graph.find(both[0]) == graph.find(both[1])


@pytest.mark.parametrize("seed", range(12))
def test_the_order_of_a_product_is_the_cheapest_of_all(seed: int) -> None:
    chance = random.Random(seed)
    names, count = "abcdef", chance.randint(2, 4)
    sizes = {n: chance.choice((2, 3, 5, 7)) for n in names}
    factors: list[Term] = [
        Read(f"x{n}", tuple(map(Var, sorted(chance.sample(names, chance.randint(1, 3))))), "f64") for n in range(count)
    ]
    bound = [Axis(n, Var(n.upper())) for n in chance.sample(names, 3)]
    plan = Plan(factors, bound, lambda of: sizes[(of if isinstance(of, str) else text(of)).lower()])
    assert plan.best[plan.whole][0] == _cheapest(
        [frozenset(v.name for v in f.index) for f in factors], {a.name for a in bound}, sizes
    )  # type: ignore[attr-defined]
    value = plan.value()
    assert {t.tensor for t in _reads(value)} == {f"x{n}" for n in range(count)}


def _cheapest(speaks: list[frozenset[str]], bound: set[str], sizes: dict[str, int]) -> int:
    """By every tree."""

    def worth(mine: frozenset[int]) -> tuple[int, frozenset[str]]:
        names = frozenset[str]().union(*(speaks[n] for n in mine))
        others = frozenset[str]().union(*(speaks[n] for n in range(len(speaks)) if n not in mine))
        kept = (names - bound) | (names & others)
        if len(mine) == 1:
            return (prod(sizes[n] for n in names) if kept != names else 0), kept
        first, *rest = sorted(mine)
        costs = []
        for taken in product((False, True), repeat=len(rest)):
            left = frozenset([first, *(n for n, t in zip(rest, taken, strict=True) if t)])
            if left != mine:
                (a, ka), (b, kb) = worth(left), worth(mine - left)
                costs.append(a + b + 2 * prod(sizes[n] for n in ka | kb))
        return min(costs), kept

    return worth(frozenset(range(len(speaks))))[0]


def _reads(term: Term) -> list[Read]:
    return [t for t in walk(term) if isinstance(t, Read)]


@pytest.mark.parametrize("seed", range(40))
def test_what_is_found_for_any_op_is_never_false(seed: int) -> None:
    op = load_text(pair(seed)).spec.op("left")
    one = answer(op, dict.fromkeys(op.sizes, 64), {"x"}, LIMIT, SECONDS, lambda _: None)
    assert all(d.verdict == "unknown" for d in one.diagnostics)
    assert not any("not proved: left and" in d.title or "is no spec" in d.title for d in one.diagnostics), one.diagnostics


def test_it_ends_at_the_limit() -> None:
    op = LIBRARY.op("attention_groups")
    one = propose(op, dict.fromkeys(op.sizes, 64), {"j"}, limit=30)
    assert one is None or not one.complete


def test_what_no_law_speaks_of_is_said() -> None:
    with pytest.raises(Unfollowed):
        propose(LIBRARY.op("loss_shifted"), {"R": 8, "N": 8}, set())
