"""What a family's numbers have to satisfy, in closed form, read off its program.

    threads     ∏ block extents ≤ those of the architecture         registers   Σ words of the cells ≤ those of a thread
    memory      Σ bytes of the shared arrays ≤ those of a block     a copy      extent of the tile ≤ extents of the copy, multiplied out

Comes in: a program with free numbers. Goes out: comparisons that may be pasted into a `where`. The one idea: a suggestion is tried before it is said, so it need not be right.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tinygpu.category.dtype import BYTES
from tinygpu.category.layout import distances
from tinygpu.category.linear import polynomial, term_of
from tinygpu.category.region import points
from tinygpu.category.term import App, Const, Term, Var, substitute, variables
from tinygpu.derive.unpack import unpack
from tinygpu.hardware.arch import arch_named
from tinygpu.model.nogood import Nogood
from tinygpu.obligations.storage import words_of
from tinygpu.program.arrays import in_block
from tinygpu.program.step import Array, Assign, Program
from tinygpu.program.traverse import walk_steps
from tinygpu.proof.kernel import Open


def limits_on(program: Program) -> Iterator[tuple[str, Term, Term]]:
    """For each limit of the hardware that its numbers decide: the code, what is bounded, and by what."""
    arch, program = arch_named(program.arch), unpack(program)
    for launch in program.launches:
        bytes_ = sum((_elements(a) * BYTES[a.dtype] for a in in_block(launch)), start=Const(0))
        yield "TG401", points(launch.block), Const(arch.threads_per_block)
        yield "TG402", words_of(launch), Const(arch.registers_per_thread)
        yield "TG406", bytes_, Const(arch.shared_bytes_per_block_opt_in)


def _elements(array: Array) -> Term:
    return distances((Const(1), *array.extents), array.layout)[0]


def limit(program: Program, code: str) -> Term | None:
    """What keeps a limit, where it is one of numbers.

    >>> from tinygpu.model.op import Op
    >>> from tinygpu.program.step import Launch
    >>> from tinygpu.category.term import Axis, Var, text
    >>> block = (Axis("t", Var("T"), "block"), Axis("u", Var("T"), "block"))
    >>> text(limit(Program("m", Op("o", ("T",), (), (), (), ()), (Launch((), block, ()),)), "TG401"))
    'T*T <= 1024'
    """
    bounds = (term_of(polynomial(left)) <= right for other, left, right in limits_on(program) if other == code and variables(left))
    return next(bounds, None)


def copies(program: Program) -> Iterator[Term]:
    """That what is copied to a block's array covers it: along each axis, as far as threads and loops reach."""
    for launch in program.launches:
        outer: dict[str, Term] = {a.name: a.extent for a in (*launch.grid, *launch.block)}
        for array in in_block(launch):
            stores = [(s, r.extents) for s, r, _ in walk_steps(launch.body) if isinstance(s, Assign) and s.target == array.name]
            for step, inner in stores if len(stores) == 1 else ():
                for extent, index in zip(array.extents, step.index, strict=True):
                    far = _reach(index, {**outer, **inner})
                    if polynomial(far) != polynomial(extent) and variables(far) | variables(extent):
                        yield extent <= far


def _reach(index: Term, extents: Mapping[str, Term]) -> Term:
    """How many values an index has from 0 on, where it grows with each of its axes."""
    last = substitute(index, {name: extents[name] - 1 for name in variables(index) if name in extents})
    return term_of(polynomial(last + 1))


def nogood(program: Program, open: Open, numbers: Mapping[str, int]) -> Nogood:
    """What a claim that is open at a point says of others: of a limit, that what is no less in any of its numbers breaks it too, if what is bounded grows with
    each; else, only of this point."""
    bound = limit(program, open.claim.code)
    if open.model is None or bound is None or open.claim.kind != "limits" or not _grows(bound):
        return Nogood(equal=tuple(sorted(numbers.items())))
    return Nogood(least=tuple(sorted((name, numbers[name]) for name in variables(bound) if name in numbers)))


def _grows(bound: Term) -> bool:
    """Whether the left side of a bound is a sum of products of numbers, which is no less where they are no less."""
    assert isinstance(bound, App)
    form = polynomial(bound.args[0])
    return all(times >= 0 and all(isinstance(atom, Var) for atom in product) for product, times in form.items() if product)
