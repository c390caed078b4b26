"""The block of a transformer of `specs/`, as numpy computes it in f64, at odd sizes.

Comes in: the spec, random weights. Goes out: the difference. The one idea: a chain of ten proved launches is one function of arrays, and nobody who calls it sees the chain.
"""

from __future__ import annotations

from functools import cache
from types import ModuleType

import numpy as np
import pytest

from tests.program.library import loaded
from tinygpu import pipeline
from tinygpu.algebra.verdict import judged
from tinygpu.proof.pipeline import Linked
from tinygpu.run.load import load

WEIGHTS = ("g1", "b1", "wq", "bq", "wk", "bk", "wv", "bv", "wo", "bo", "g2", "b2", "w1", "c1", "w2", "c2")


@cache
def module() -> ModuleType:
    spec = loaded("transformer").spec
    found = [one for one in map(judged, spec.pipelines) if isinstance(one, Linked)]
    proofs = [(pipeline.check(machine), machine) for machine in spec.machines]
    built = [pipeline.built(proof, machine) for proof, machine in proofs if isinstance(proof, pipeline.Proof)]
    assert len(found) == len(spec.pipelines) and len(built) == len(proofs)
    return load(pipeline.module("transformer.tgpu", built, found), "transformer")


def weights(T: int, H: int, F: int) -> dict[str, np.ndarray]:
    rng, D = np.random.default_rng(T), 64 * H
    shapes = {"x": (T, D), "g1": (D,), "b1": (D,), **{f"w{c}": (D, H, 64) for c in "qkv"}, **{f"b{c}": (H, 64) for c in "qkv"}}
    shapes |= {"wo": (H, 64, D), "bo": (D,), "g2": (D,), "b2": (D,), "w1": (D, F), "c1": (F,), "w2": (F, D), "c2": (D,)}
    return {name: (rng.standard_normal(shape) * (1 if name == "x" else 0.05)).astype(np.float32) for name, shape in shapes.items()}


def norm(x: np.ndarray, g: np.ndarray, b: np.ndarray) -> np.ndarray:
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5) * g + b


def expected(p: dict[str, np.ndarray]) -> np.ndarray:
    w = {name: a.astype(np.float64) for name, a in p.items()}
    n = norm(w["x"], w["g1"], w["b1"])
    q, k, v = (np.einsum("td,dhe->hte", n, w[f"w{c}"]) + w[f"b{c}"][:, None] for c in "qkv")
    z = np.where(np.tri(len(n), dtype=bool), np.einsum("hie,hje->hij", q, k) / 8, -np.inf)
    a = np.exp(z - z.max(axis=2, keepdims=True))
    o = np.einsum("hij,hje->ihe", a / a.sum(axis=2, keepdims=True), v)
    r = w["x"] + np.einsum("the,hed->td", o, w["wo"]) + w["bo"]
    m = norm(r, w["g2"], w["b2"]) @ w["w1"] + w["c1"]
    return r + (0.5 * m * (1 + np.tanh(0.7978845608028654 * (m + 0.044715 * m**3)))) @ w["w2"] + w["c2"]


@pytest.mark.sampled
@pytest.mark.parametrize("name", ["transformer_block", "transformer_core"])
def test_a_block_is_what_numpy_computes(name: str) -> None:
    for sizes in ((1, 1, 1), (7, 1, 33), (65, 2, 129), (130, 1, 64)):
        given = weights(*sizes)
        found, right = getattr(module(), name)(given["x"], *(given[w] for w in WEIGHTS)), expected(given)
        assert np.abs(found - right).max() <= 3e-6 * np.abs(right).max(), sizes
