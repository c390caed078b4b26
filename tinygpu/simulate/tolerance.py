"""How far a computed element may be from the exact one, and which elements of a result are further away.

Comes in: an op and its sizes. Goes out: `rtol, atol` for `|got − want| <= atol + rtol·|want|`, and the list of mismatches. The one
idea: rounding grows with the coarsest dtype that the equation passes through and with the length of its folds.

Values are taken to be of order one, as `random_inputs` makes them. A pointwise expression of a dtype with epsilon ε (the gap above 1)
is allowed 16·ε relative and 16·ε absolute. A fold of length L, summed in any order, is a walk of L roundings: √L·ε relative
where the terms have one sign, and L·ε absolute where they cancel; both are allowed 8 times over.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tinygpu.category.dtype import EPSILON, STORAGE
from tinygpu.category.evaluate import evaluate
from tinygpu.category.monoid import Carrier, components
from tinygpu.category.term import FLOATS, Fold, Read, Term, children, reads, variables, walk
from tinygpu.model.op import Op
from tinygpu.record import dataclass


@dataclass(frozen=True, slots=True)
class Mismatch:
    """An element that differs too much, and the few elements of inputs that it should be made of, if they are known; for an array of the
    wrong shape the index is empty and the values are NaN."""

    tensor: str
    index: tuple[int, ...]
    got: float
    want: float
    operands: tuple[tuple[str, float], ...] = ()

    def __str__(self) -> str:
        """
        >>> str(Mismatch("C", (0, 3), 1.5, 2.0))
        'C[0, 3] is 1.5, not 2.0'
        """
        return f"{self.tensor}[{', '.join(map(str, self.index))}] is {self.got!r}, not {self.want!r}"


def fold_length(term: Term, env: Mapping[str, Any]) -> int:
    """The longest chain of combinations in the term: extents of nested folds multiply.

    >>> from tinygpu.category.term import TRUE, Axis, Const, Var
    >>> fold_length(Fold("sum", (Axis("k", Var("K")),), TRUE, Const(1.0, "f32"), "f32"), {"K": 10})
    10
    """
    longest = max((fold_length(child, env) for child in children(term)), default=1)
    if not isinstance(term, Fold):
        return longest
    here = 1
    for axis in term.axes:
        here *= max(1, _most(axis.extent, env))
    return here * longest


def _most(extent: Term, env: Mapping[str, Any]) -> int:
    """The largest of an extent's values."""
    if all(isinstance(env[name], int) for name in variables(extent)) and not reads(extent):
        return evaluate(extent, env)
    import numpy as np  # only a run has extents that are arrays

    from tinygpu.category.to_numpy import evaluate as in_numpy

    return int(np.max(in_numpy(extent, env), initial=0))


def tolerances(dtype: str, length: int) -> tuple[float, float]:
    """`rtol, atol` of a value of that dtype at the end of a fold of that length; exact for integers, a carrier's those of its components.

    >>> tolerances("i32", 1000), tolerances("f64", 1)
    ((0.0, 0.0), (3.552713678800501e-15, 3.552713678800501e-15))
    """
    if isinstance(dtype, Carrier):
        each = [tolerances(component, length) for _, component in components(dtype)]
        return max(rtol for rtol, _ in each), max(atol for _, atol in each)
    if dtype not in FLOATS:
        return 0.0, 0.0
    epsilon = EPSILON[dtype]
    walked = 0 if length <= 1 else length
    return epsilon * (16 + 8 * float(walked) ** 0.5), epsilon * (16 + 8 * walked)


def tolerance(op: Op, sizes: Mapping[str, int]) -> tuple[float, float]:
    """`rtol, atol` that serve every output of the op at these sizes. Both are 0 if no output is a float."""
    each = [_output_tolerance(op, output.name, sizes, frozenset()) for output in op.outputs]
    return max((r for r, _ in each), default=0.0), max((a for _, a in each), default=0.0)


def _output_tolerance(op: Op, name: str, sizes: Mapping[str, int], around: frozenset[str]) -> tuple[float, float]:
    """The sum of what the equation's own nodes bring and what the tensors it reads bring, but those that it is read by: of a state one turn."""
    if op.tensor(name).dtype not in FLOATS:
        return 0.0, 0.0
    value = op.equation(name).value
    kept = {node for node in walk(value) if isinstance(node, Read) and node.dtype in STORAGE}  # which is exact
    dtypes = {op.tensor(name).dtype} | {node.dtype for node in walk(value) if node.dtype in FLOATS and node not in kept}
    rtol, atol = tolerances(max(dtypes, key=EPSILON.__getitem__), 1)
    more = [tolerances(fold.dtype, fold_length(fold, dict(sizes))) for fold in walk(value) if isinstance(fold, Fold)]
    defined = {equation.target for equation in op.equations} - {name, *around}
    for tensor in sorted({read.tensor for read in reads(value)} & defined):
        more.append(_output_tolerance(op, tensor, sizes, around | {name}))
    return rtol + sum(relative for relative, _ in more), atol + sum(absolute for _, absolute in more)


def compare(
    op: Op,
    got: Mapping[str, Any],
    want: Mapping[str, Any],
    *,
    sample: Mapping[str, tuple[Any, ...]] | None = None,
    rtol: float = 0.0,
    atol: float = 0.0,
    bounds: Mapping[str, Any] | None = None,
    cap: int = 10,
) -> list[Mismatch]:
    """The elements of the outputs in `want` where `got` differs: floats beyond the tolerance, integers and truth values at all.

    With `sample`, as in `reference`, `want` holds the sampled elements only and `got` the whole arrays. With `bounds`, each element has its own
    tolerance, integers too; it is infinite where it is no number. NaN equals NaN.
    """
    import numpy as np  # who wants to know how near is near need not load it

    from tinygpu.category.number import load

    found: list[Mismatch] = []
    for tensor in (t for t in op.outputs if t.name in want):
        exact, array = np.asarray(want[tensor.name]), load(got[tensor.name], tensor.dtype, exact=True)
        places = None if sample is None else tuple(np.asarray(i) for i in sample[tensor.name])
        values = array if places is None else array[places]
        if values.shape != exact.shape:
            found.append(Mismatch(tensor.name, (), float("nan"), float("nan")))
            continue
        with np.errstate(all="ignore"):
            same = (values == exact) | ((values != values) & (exact != exact))
            if tensor.dtype in FLOATS:
                same |= np.isfinite(exact) & (np.abs(values - exact) <= atol + rtol * np.abs(exact))
            if bounds is not None:
                apart, most = np.abs(np.subtract(values, exact, dtype=np.float64)), np.asarray(bounds[tensor.name])
                same |= (apart <= most) | (most != most) | (most == np.inf)
        for spot in np.argwhere(np.logical_not(same)):
            at = tuple(map(int, spot))
            index = at if places is None else tuple(int(np.broadcast_to(p, exact.shape)[at]) for p in places)
            found.append(Mismatch(tensor.name, index, values[at].item(), exact[at].item()))
            if len(found) >= cap:
                return found
    return found
