"""Bilinear schemes: a product of matrices of blocks by fewer products of blocks.

    Σᵣ Cᵣ · (Σ Aᵣ·A)(Σ Bᵣ·B)  =  A·B          as an identity of words, so letters may be blocks, which do not commute

Comes in: `scheme NAME : OP by m, p, n { rows }`. Goes out: the op that computes OP so, called NAME, and the theorem of that name that says it is the same. The one idea: a scheme is three
tables of integers, and whether it is one is an equation of integers for each pair of blocks and each block of C; what it makes is an op like any other, so nothing behind this knows of schemes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from tinygpu.model.problems import Problems, head
from tinygpu.record import dataclass, replace
from tinygpu.syntax import tree

Table = tuple[tuple[int, ...], ...]  # a row of coefficients for each product
MOST = 64  # blocks along an index


def without_schemes(file: tree.File, problems: Problems) -> tree.File:
    """`tree.File → tree.File` with an op and a theorem for each scheme. Mistakes are added to `problems`."""
    if not any(isinstance(d, tree.Scheme) for d in file.declarations):
        return file
    ops = {d.name: d for d in reversed(file.declarations) if isinstance(d, tree.Op)}
    made: list[tree.Declaration] = []
    for one in file.declarations:
        made += [one] if not isinstance(one, tree.Scheme) else _declared(problems.enter(one), ops, problems)
    return replace(file, declarations=tuple(made))


def _declared(one: tree.Scheme, ops: dict[str, tree.Op], problems: Problems) -> list[tree.Declaration]:
    """The op and the theorem; nothing after a message."""
    before, op = len(problems), ops.get(one.op.name)
    if op is None:
        problems.say("TG105.operation", one.op.span, near=ops, name=one.op.name, known=sorted(ops))
        return []
    found = _product(op)
    if found is None:
        problems.say("TG564.product", one.op.span, head(op.span, f"op {op.name}"), name=op.name)
        return []
    cuts = [_number(c, problems) for c in one.cuts]
    if len(problems) > before or len(cuts) != 3 or not all(0 < c <= MOST for c in cuts):
        problems.say("TG564.cuts", one.cuts[0].span, name=op.name, most=MOST)
        return []
    m, p, n = cuts
    shapes = (m * p, p * n, m * n)
    tables = [
        [_row(part, size, problems) for part, size in zip((row.left, row.right, row.into), shapes, strict=True)] for row in one.rows
    ]
    if len(problems) > before:
        return []
    if wrong := _wrong([tuple(map(tuple, t)) for t in zip(*tables, strict=True)], m, p, n):
        problems.say("TG564.identity", head(one.span, f"scheme {one.name}"), name=one.name, **wrong)
        return []
    parts = [_part(extent, by) for extent, by in zip(found.extents, cuts, strict=True)]
    if None in parts:
        extent = found.extents[parts.index(None)]
        problems.say("TG564.extent", extent.span, by=cuts[parts.index(None)], name=op.name)
        return []
    made = Made(one, op, found, (m, p, n), tuple(part for part in parts if part is not None)).op(tables)
    name = tree.Name(one.name, span=one.op.span)
    return [made, tree.Theorem(one.name, tree.Name(op.name, span=one.op.span), name, within=one.within, span=one.span)]


@dataclass(frozen=True, slots=True)
class Found:
    """A product of matrices as an op: its tensors, its indices (i, p, j), and how far these go."""

    left: str
    right: str
    into: str
    indices: tuple[str, str, str]
    extents: tuple[tree.Expr, tree.Expr, tree.Expr]


def _product(op: tree.Op) -> Found | None:
    """`C[i, j] = sum[p] A[i, p] * B[p, j]`, and nothing else."""
    match op:
        case tree.Op(
            inputs=(tree.TensorDecl(left, _, (rows, inner)), tree.TensorDecl(right, _, (_, columns))),
            outputs=(tree.TensorDecl(into),),
            equations=(
                tree.Equation((tree.Cell(target, (tree.Name(i), tree.Name(j))),), tree.FoldExpr("sum", (tree.Binder(p),), body)),
            ),
        ) if target == into:
            match body:
                case tree.Binary("*", tree.Cell(a, (tree.Name(x), tree.Name(y))), tree.Cell(b, (tree.Name(z), tree.Name(w)))):
                    if (a, x, y, b, z, w) == (left, i, p, right, p, j):
                        return Found(left, right, into, (i, p, j), (rows, inner, columns))
    return None


def _number(expr: tree.Expr, problems: Problems) -> int:
    match expr:
        case tree.Number(text) if text.isdigit():
            return int(text)
        case tree.Unary("-", tree.Number(text)) if text.isdigit():
            return -int(text)
    problems.say("TG564.number", expr.span)
    return 0


def _row(part: Sequence[tree.Expr], size: int, problems: Problems) -> list[int]:
    """The coefficients of one product for the blocks of one matrix, row by row."""
    if len(part) != size:
        problems.say("TG564.count", part[0].span, given=len(part), wanted=size)
    return [_number(one, problems) for one in part]


def _wrong(tables: Sequence[Table], m: int, p: int, n: int) -> dict[str, object]:
    """The first pair of blocks that some block of C has another multiple of than A·B has; nothing where it is a scheme.

    >>> _wrong([((1,),), ((1,),), ((1,),)], 1, 1, 1), _wrong([((2,),), ((1,),), ((1,),)], 1, 1, 1)["times"]
    ({}, 2)
    """
    a, b, c = tables
    for (i, k), (l, j), (u, v) in product(product(range(m), range(p)), product(range(p), range(n)), product(range(m), range(n))):
        times = sum(x[i * p + k] * y[l * n + j] * z[u * n + v] for x, y, z in zip(a, b, c, strict=True))
        wanted = int(k == l and i == u and j == v)
        if times != wanted:
            return {"block": f"C[{u}, {v}]", "pair": f"A[{i}, {k}]·B[{l}, {j}]", "times": times, "wanted": wanted}
    return {}


def _part(extent: tree.Expr, by: int) -> tree.Expr | None:
    """An extent in so many parts: `2*m` by 2 is m, and 128 is 64."""
    match extent:
        case _ if by == 1:
            return extent
        case tree.Number(text) if text.isdigit() and int(text) % by == 0:
            return tree.Number(str(int(text) // by), span=extent.span)
        case tree.Binary("*", tree.Number(text), rest) if text.isdigit() and int(text) % by == 0:
            times = int(text) // by
            return rest if times == 1 else tree.Binary("*", tree.Number(str(times)), rest, span=extent.span)
    return None


@dataclass(frozen=True, slots=True)
class Made:
    """The op of a scheme, of so many blocks along each index, whose extents are `parts`."""

    scheme: tree.Scheme
    source: tree.Op
    found: Found
    cuts: tuple[int, int, int]
    parts: tuple[tree.Expr, ...]

    def op(self, tables: Sequence[Sequence[Sequence[int]]]) -> tree.Op:
        """Sums of blocks S1, S2, … of A, T1, … of B, products M1, …, and C."""
        (i, p, j), (m, k, n) = self.found.indices, self.parts
        lines: list[tree.Equation] = []
        for number, (left, right, _) in enumerate(tables, 1):
            lines.append(self.line(f"S{number}", {i: m, p: k}, self.sum(self.found.left, left, (i, p), (m, k), self.cuts[1])))
            lines.append(self.line(f"T{number}", {p: k, j: n}, self.sum(self.found.right, right, (p, j), (k, n), self.cuts[2])))
        for number in range(1, len(tables) + 1):
            body = tree.Binary("*", tree.Cell(f"S{number}", _names(i, p)), tree.Cell(f"T{number}", _names(p, j)))
            lines.append(self.line(f"M{number}", {i: m, j: n}, tree.FoldExpr("sum", (tree.Binder(p, "<", k),), body)))
        lines.append(tree.Equation((tree.Cell(self.found.into, _names(i, j)),), self.chosen([row[2] for row in tables])))
        lines = [replace(line, span=self.scheme.span) for line in lines]
        return replace(self.source, name=self.scheme.name, equations=tuple(lines), span=self.scheme.span)

    def line(self, name: str, axes: dict[str, tree.Expr], value: tree.Expr) -> tree.Equation:
        index = tuple(tree.Binary("<", tree.Name(axis), extent) for axis, extent in axes.items())
        return tree.Equation((tree.Cell(name, index),), value)

    def sum(
        self, name: str, row: Sequence[int], indices: tuple[str, str], parts: tuple[tree.Expr, tree.Expr], columns: int
    ) -> tree.Expr:
        """A sum of blocks of a matrix, at one place in each."""
        terms = [
            (
                c,
                tree.Cell(
                    name, tuple(_moved(x, n, part) for x, n, part in zip(indices, divmod(place, columns), parts, strict=True))
                ),
            )
            for place, c in enumerate(row)
            if c
        ]
        return _added(terms)

    def chosen(self, into: Sequence[Sequence[int]]) -> tree.Expr:
        """C, block by block: the last ones otherwise."""
        (rows, _, columns), (i, _, j), (m, _, n) = self.cuts, self.found.indices, self.parts

        def block(u: int, v: int) -> tree.Expr:
            index = (_moved(i, -u, m), _moved(j, -v, n))
            return _added(
                [(row[u * columns + v], tree.Cell(f"M{r}", index)) for r, row in enumerate(into, 1) if row[u * columns + v]]
            )

        def along(u: int) -> tree.Expr:
            return _cases([block(u, v) for v in range(columns)], j, n)

        return _cases([along(u) for u in range(rows)], i, m)


def _names(*names: str) -> tuple[tree.Expr, ...]:
    return tuple(map(tree.Name, names))


def _times(number: int, part: tree.Expr) -> tree.Expr:
    return part if number == 1 else tree.Binary("*", tree.Number(str(number)), part)


def _moved(index: str, by: int, part: tree.Expr) -> tree.Expr:
    """`i + 2*m`."""
    return tree.Binary("+" if by > 0 else "-", tree.Name(index), _times(abs(by), part)) if by else tree.Name(index)


def _cases(values: Sequence[tree.Expr], index: str, part: tree.Expr) -> tree.Expr:
    """Which value where an index is in which block."""
    whole = values[-1]
    for number in reversed(range(1, len(values))):
        whole = tree.IfElse(values[number - 1], tree.Binary("<", tree.Name(index), _times(number, part)), whole)
    return whole


def _added(terms: Sequence[tuple[int, tree.Expr]]) -> tree.Expr:
    """`a - 2*b`; of nothing, 0."""
    whole: tree.Expr | None = None
    for c, term in sorted(terms, key=lambda t: t[0] < 0):  # the first one has no sign before it, if any has none
        one = term if abs(c) == 1 else tree.Binary("*", tree.Number(str(abs(c))), term)
        whole = (one if c > 0 else tree.Unary("-", one)) if whole is None else tree.Binary("+" if c > 0 else "-", whole, one)
    return tree.Number("0") if whole is None else whole
